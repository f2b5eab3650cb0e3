"""Everything that can be asked of one partition's directory without changing it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from barnabas.cli.log.files import INDEX_ROW, TIME_ROW, segment_bases
from barnabas.cli.log.findings import Finding
from barnabas.cli.log.index_checks import (
    check_offset_index,
    check_snapshot,
    check_time_index,
    check_transaction_index,
    rows_of,
)
from barnabas.cli.log.scanning import Scan, Writer, scan_segment
from barnabas.cli.log.settings import Settings
from barnabas.coordination.cluster.snapshot_file import SnapshotId, decode_snapshot
from barnabas.protocol.errors import MalformedFrame
from barnabas.storage.checkpoints import MalformedFile
from barnabas.storage.directory_names import METADATA_TOPIC, TopicPartition
from barnabas.storage.disk import ReadOnlyDisk
from barnabas.storage.epochs_file import LEADER_EPOCH_CHECKPOINT, EpochsFile
from barnabas.storage.partition_metadata import PARTITION_METADATA, read_partition_metadata
from barnabas.storage.producer_snapshots import CorruptSnapshot
from barnabas.storage.producer_snapshots import decode_snapshot as decode_producers

__all__ = ["Checked", "check_partition"]

_INTERVAL = 4096
_MOST_EPOCHS = 5
_REBUILT = "a start builds it anew"


@dataclass(slots=True)
class Checked:
    directory: Path
    partition: TopicPartition
    end_offset: int
    segments: int
    batches: int
    findings: list[Finding]


def check_partition(
    directory: Path,
    partition: TopicPartition,
    settings: Settings,
    advance: Callable[[int], None],
    *,
    start_offset: int,
    in_use: bool,
    clean: bool,
    recovery_point: int | None,
    deep: bool,
) -> Checked:
    """`recovery_point`: from where a start reads the records again; None if it does not."""
    scan = Scan(deep=deep)
    bases = segment_bases(directory)
    if bases:
        scan.writers = _writers_at(directory, bases[0])
    else:
        scan.findings.append(Finding(directory, None, "there is no segment", "a start begins an empty log"))
    for number, base in enumerate(bases):
        following = bases[number + 1] if number + 1 < len(bases) else None
        try:
            _check_segment(
                directory,
                partition,
                base,
                following,
                scan,
                settings,
                advance,
                start_offset=start_offset,
                sealed=following is not None or clean,
                in_use=in_use,
            )
        except FileNotFoundError:
            if not in_use:
                raise
    findings = [
        *scan.findings,
        *_check_epochs(directory, scan, recovery_point, in_use=in_use),
        *_check_names(directory, in_use=in_use),
    ]
    findings += _check_identity(directory, partition, settings)
    if partition.topic == METADATA_TOPIC:
        findings += _check_metadata_snapshots(directory)
    return Checked(directory, partition, scan.next_offset, len(bases), scan.batches, findings)


def _writers_at(directory: Path, offset: int) -> dict[int, Writer]:
    """What was known of producers where the log begins."""
    try:
        entries = decode_producers((directory / f"{offset:020d}.snapshot").read_bytes())
    except (FileNotFoundError, CorruptSnapshot):
        return {}
    return {
        entry.producer_id: Writer(
            entry.epoch,
            entry.last_sequence,
            entry.last_offset,
            entry.current_txn_first_offset if entry.current_txn_first_offset >= 0 else None,
        )
        for entry in entries
    }


def _check_segment(
    directory: Path,
    partition: TopicPartition,
    base: int,
    following: int | None,
    scan: Scan,
    settings: Settings,
    advance: Callable[[int], None],
    *,
    start_offset: int,
    sealed: bool,
    in_use: bool,
) -> None:
    log = directory / f"{base:020d}.log"
    config = settings.of(partition.topic)
    rows, findings = rows_of(log.with_suffix(".index"), INDEX_ROW)
    times, more = rows_of(log.with_suffix(".timeindex"), TIME_ROW)
    size = scan_segment(
        scan,
        log,
        base,
        following,
        {position for _, position in rows or ()},
        advance,
        grows=in_use and following is None,
        spare=following is None and (in_use or config.preallocate),
    )
    findings += more
    for found, suffix in ((rows, ".index"), (times, ".timeindex")):
        # The one that is appended to gets an index with its first row.
        if found is None and size and sealed:
            findings.append(Finding(log.with_suffix(suffix), None, "it is missing", _REBUILT))
    if rows is not None:
        interval = max(config.index_interval_bytes, _INTERVAL)
        findings += check_offset_index(log.with_suffix(".index"), base, rows, scan, size, interval)
    if times is not None:
        findings += check_time_index(log.with_suffix(".timeindex"), base, times, scan, sealed=sealed)
    findings += check_transaction_index(log.with_suffix(".txnindex"), base, scan, start_offset)
    findings += check_snapshot(directory / f"{following or scan.next_offset:020d}.snapshot", scan, start_offset)
    scan.findings += findings


def _check_epochs(directory: Path, scan: Scan, recovery_point: int | None, *, in_use: bool) -> Iterator[Finding]:
    """Where the records say that an epoch begins, the file has to say so too, unless a start learns it from them."""
    path = directory / LEADER_EPOCH_CHECKPOINT
    try:
        epochs = EpochsFile.load(ReadOnlyDisk(), directory).epochs
    except MalformedFile as error:
        yield Finding(path, None, error.reason, "the epochs are read from the records again")
        return
    wrong = 0
    for epoch, base, log, position in scan.epochs:
        if recovery_point is not None and base >= recovery_point:
            epochs.learn(epoch, base)
        known = epochs.epoch_for_offset(base)
        if epoch < 0 or known == epoch:
            continue
        if in_use and known is None and epochs.entries:
            continue  # records were deleted up to there, and the checkpoint of the log's start is written later
        wrong += 1
        if wrong <= _MOST_EPOCHS:
            says = "knows nothing" if known is None else f"says leader epoch {known}"
            what = f"{says} of offset {base}, which is of epoch {epoch} ({log.name}, byte {position})"
            yield Finding(path, None, what, "followers and consumers may be told to cut off the wrong records")


def _check_names(directory: Path, *, in_use: bool) -> Iterator[Finding]:
    names = os.listdir(directory)  # noqa: PTH208 - names alone
    for name in sorted(names):
        if name.endswith((".cleaned", ".swap")) and not in_use:
            what = "a compaction was interrupted"
            yield Finding(directory / name, None, what, "a start completes it, or throws it away")
        found = re.fullmatch(r"(\d{20})\.(index|timeindex|txnindex)", name)
        if found and f"{found[1]}.log" not in names and not (in_use and not (directory / name).exists()):
            yield Finding(directory / name, None, "it is of no segment", "a start deletes it")


def _check_identity(directory: Path, partition: TopicPartition, settings: Settings) -> Iterator[Finding]:
    path = directory / PARTITION_METADATA
    try:
        topic_id = read_partition_metadata(ReadOnlyDisk(), directory)
    except MalformedFile as error:
        yield Finding(path, error.line, error.reason, error.remedy)
        return
    image = settings.image
    if image is None or partition.topic == METADATA_TOPIC:
        return
    aside = "a start sets the directory aside, under another name"
    topic = image.topics.by_name.get(partition.topic)
    if topic is None:
        yield Finding(directory, None, f"the cluster has no topic {partition.topic}", aside)
    elif topic_id is None:
        yield Finding(path, None, "it is missing", "a start writes it again, with the id of the topic of that name")
    elif topic.id != topic_id:
        what = f"it says topic id {topic_id}, and the cluster's {partition.topic} has {topic.id}"
        yield Finding(path, None, what, aside)


def _check_metadata_snapshots(directory: Path) -> Iterator[Finding]:
    for path in sorted(directory.iterdir()):
        if SnapshotId.parse(path.name) is None:
            continue
        try:
            decode_snapshot(path.read_bytes())
        except MalformedFrame as error:
            yield Finding(path, None, str(error), "it is put aside, and the one before it counts")
        except FileNotFoundError:
            continue


def check_offsets(
    file: Path, what: str, then: str, offsets: Mapping[tuple[str, int], int], checked: list[Checked]
) -> Iterator[Finding]:
    """A checkpoint that says more of a log than there is."""
    ends = {(one.partition.topic, one.partition.partition): one for one in checked}
    for key, offset in offsets.items():
        one = ends.get(key)
        if one is not None and offset > one.end_offset:
            says = f"{one.partition} {what} {offset}, and its log ends at {one.end_offset}"
            yield Finding(file, None, says, then)
