"""A byte that is not what it was, anywhere: the right data, a clear error, or a mended log that says what was done.

What no file format of Kafka's protects is told here too (`UNPROTECTED`): a batch's base offset and leader epoch, which
lie before its checksum, and numbers in the small text files that become other numbers.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from barnabas.protocol.batches import Batch, iterate_batches
from barnabas.protocol.control import ControlRecordType, build_end_transaction_marker
from barnabas.protocol.errors import KafkaError, MalformedFrame
from barnabas.protocol.record import read_records
from barnabas.storage.checkpoints import MalformedFile
from barnabas.storage.log import Log
from barnabas.storage.producer_state import AppendOrigin
from barnabas.storage.topic_config import TopicConfig

from .faulty_disk import FaultyDisk, everything
from .test_durability import NAME, ROOT, State, boot, new_disk, stop, sync, visible, write_checkpoints
from .test_log import NOW, batch_of

THOROUGH = os.environ.get("BARNABAS_THOROUGH") == "1"
CONFIG = TopicConfig.load({"internal.segment.bytes": "900", "index.interval.bytes": "100", "retention.ms": "-1"})
DIRECTORY = ROOT / NAME


def written() -> tuple[FaultyDisk, Log]:
    """Three segments and a half, with producers, an aborted transaction in the middle, and two epochs."""
    disk = new_disk()
    log = boot(disk, config=CONFIG)

    def put(number: int, **more: int | bool) -> None:
        value = b"%03d" % number + b"x" * 40
        log.append_as_leader([batch_of([value, value + b"!"], timestamp=NOW + 10 * number, **more)], number // 9, NOW)

    for number in range(7):
        put(number)
    put(7, producer_id=9, producer_epoch=0, base_sequence=0, transactional=True)
    put(8, producer_id=7, producer_epoch=0, base_sequence=0)
    marker = build_end_transaction_marker(
        ControlRecordType.ABORT, producer_id=9, producer_epoch=0, coordinator_epoch=1, timestamp=NOW
    )
    log.append_as_leader([Batch(marker)], 0, NOW, origin=AppendOrigin.COORDINATOR, transaction_version=1)
    for number in range(9, 19):
        put(number)
        if number == 14:
            sync(log)
            write_checkpoints(log)
    return disk, log


def stopped_cleanly() -> FaultyDisk:
    disk, log = written()
    stop(log)
    return disk.crashed(everything)


def killed() -> FaultyDisk:
    disk, _ = written()
    return disk.crashed(everything)


DONE = (
    "are cut off",
    "are deleted",
    "are not known",
    "built anew",
    "is not known",
    "is recovered",
    "is removed",
    "read from the records again",
    "stays where it is",
)

MADE = {"stopped": stopped_cleanly, "killed": killed}


def names_of(disk: FaultyDisk) -> list[Path]:
    paths = [DIRECTORY / name for name in disk.names(DIRECTORY)]
    paths += [ROOT / name for name in disk.names(ROOT) if name != NAME]
    return [path for path in paths if disk.size(path)]


def read_what_can_be(log: Log) -> tuple[State, list[str]]:
    """As clients do: a batch whose checksum is wrong is not believed, and the next one is asked for."""
    found: State = {}
    errors = []
    # A base offset that was damaged may have moved the end of the log very far away.
    near = range(log.start_offset, min(log.end_offset, 60))
    for offset in [*near, log.end_offset - 1] if log.end_offset > 60 else near:
        try:
            batch = next(iterate_batches(log.read(offset, 1).read()))
            batch.check()
            found.update(
                {record.offset: record.value or b"" for record in read_records(batch) if record.offset == offset}
            )
        except (MalformedFrame, KafkaError) as error:
            errors.append(str(error))
        except StopIteration:
            errors.append(f"nothing at {offset}")
    return found, errors


class Original:
    def __init__(self, make: Callable[[], FaultyDisk]) -> None:
        self.disk = make()
        log = boot(self.disk.crashed(everything), config=CONFIG)
        assert len(log.segments) >= 3
        self.state = visible(log)
        self.aborted = log.aborted_transactions(0, log.end_offset)
        self.latest = [segment.latest for segment in log.segments]
        self.times = [log.find_timestamp(NOW + 10 * number - 5) for number in range(21)]
        self.epochs = log.epochs.entries
        assert self.aborted and len(self.epochs) == 3

    def check(self, path: Path, position: int, mask: int) -> str:
        """What was found: right, mended, or error."""
        disk = self.disk.crashed(everything)
        data = bytearray(disk.read_file(path))
        data[position] ^= mask
        disk.damage(path, bytes(data))
        try:
            outcome = self.judge(disk, path, position, bytes(data))
            # Once more, over what the first has left.
            self.judge(disk.crashed(everything), path, position, bytes(data), mended=outcome == "mended")
        except BaseException as error:
            error.add_note(f"{path.name}, byte {position} of {len(data)} xor {mask:#x}")
            raise
        return outcome

    def judge(self, disk: FaultyDisk, path: Path, position: int, data: bytes, *, mended: bool = False) -> str:
        lines: list[str] = []
        try:
            log = boot(disk, config=CONFIG, lines=lines)
        except MalformedFile as error:
            assert path.name in str(error) and path.parent == ROOT
            return "error"
        self.check_told(path, lines)
        found, errors = read_what_can_be(log)
        found = {at: value for at, value in found.items() if value != b"more"}
        if path.suffix == ".log":
            unprotected = self.is_unprotected(position, path)
            assert unprotected or found.items() <= self.state.items()
            assert found == self.state or errors or lines or unprotected or mended
            self.search(log)
        elif path.parent == DIRECTORY:
            assert found == self.state
            assert not errors
            self.check_derived(log, path)
        else:
            assert found.items() <= self.state.items()
        end = log.append_as_leader([batch_of([b"more"])], 9, NOW).first_offset
        assert read_what_can_be(log)[0][end] == b"more"
        log.close()
        return "mended" if lines else "error" if errors else "right"

    def check_told(self, path: Path, lines: list[str]) -> None:
        """A line names the file, where in it, and what was done."""
        for line in lines:
            assert str(path.parent) in line, line
            assert any(done in line for done in DONE), line
        named = [line for line in lines if path.name in line]
        assert named or not lines or path.suffix == ".log", lines
        if path.suffix == ".log":
            assert all("byte" in line or "indexes" in line or "are deleted" in line for line in named), lines

    def check_derived(self, log: Log, path: Path) -> None:
        # A lower last stable offset makes the search longer, and that is all.
        assert [each[:3] for each in log.aborted_transactions(0, log.end_offset)] == [each[:3] for each in self.aborted]
        assert [segment.latest[0] for segment in log.segments] == [timestamp for timestamp, _ in self.latest]
        assert [log.find_timestamp(NOW + 10 * number - 5) for number in range(21)] == self.times
        if path.name != "leader-epoch-checkpoint":  # a digit may have become another
            assert log.epochs.entries[:3] == self.epochs
        assert set(log.producers.producers) == {7, 9}

    def search(self, log: Log) -> None:
        """Times are asked for, and truncation is tried: an error of Kafka's or an answer."""
        for number in range(0, 21, 4):
            try:
                log.find_timestamp(NOW + 10 * number - 5)
            except KafkaError:
                continue

    def is_unprotected(self, position: int, path: Path) -> bool:
        """Base offset and leader epoch of a batch."""
        at = 0
        data = self.disk.read_file(path)
        for batch in iterate_batches(data):
            if at <= position < at + 8 or at + 12 <= position < at + 16:
                return True
            at += batch.size
        return False


ORIGINALS: dict[str, Original] = {}


def original(how: str) -> Original:
    if how not in ORIGINALS:
        ORIGINALS[how] = Original(MADE[how])
    return ORIGINALS[how]


def sweep(how: str, wanted: Callable[[Path], bool], step: int, masks: tuple[int, ...]) -> dict[str, int]:
    made = original(how)
    counts: dict[str, int] = {}
    seen = 0
    for path in names_of(made.disk):
        if wanted(path):
            for position in range(seen % step, made.disk.size(path), step):
                for mask in masks:
                    outcome = made.check(path, position, mask)
                    counts[outcome] = counts.get(outcome, 0) + 1
            seen += 1
    assert seen
    print(how, counts)
    return counts


@pytest.mark.parametrize("how", MADE)
@pytest.mark.parametrize("suffix", [".index", ".timeindex", ".txnindex", ".snapshot"])
@pytest.mark.slow
def test_every_byte_of_what_is_derived(how: str, suffix: str) -> None:
    """Indexes, aborted transactions, producers: always the right answers, because the batches know better."""
    sparse = how == "killed" and suffix in (".index", ".timeindex")  # these have room for rows to come
    step = 1 if THOROUGH or not sparse else 61
    sweep(how, lambda path: path.suffix == suffix, step, (0x01, 0x40, 0xFF) if THOROUGH else (0x01, 0x80))


@pytest.mark.parametrize("how", MADE)
@pytest.mark.slow
def test_bytes_of_the_log(how: str) -> None:
    counts = sweep(how, lambda path: path.suffix == ".log", 1 if THOROUGH else 5, (0x01, 0x80))
    assert counts["error"] + counts["mended"] > counts.get("right", 0)


@pytest.mark.parametrize("how", MADE)
@pytest.mark.slow
def test_every_byte_of_the_small_files(how: str) -> None:
    sweep(how, lambda path: path.parent == ROOT or path.name == "leader-epoch-checkpoint", 1, (0x01, 0x80, 0xFF))


@pytest.mark.parametrize("how", MADE)
def test_some_bytes_of_each_file(how: str) -> None:
    sweep(how, lambda path: path.suffix != ".log", 97, (0x10,))
    sweep(how, lambda path: path.suffix == ".log", 131, (0x10,))
