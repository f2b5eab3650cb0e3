"""Segments that were synced lose their indexes, or have damaged batches: nothing of them is ever cut off."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from barnabas.protocol.batches import Batch, iterate_batches
from barnabas.protocol.control import ControlRecordType, build_end_transaction_marker
from barnabas.protocol.errors import ErrorCode, KafkaError, MalformedFrame
from barnabas.storage.log import Log
from barnabas.storage.producer_state import AppendOrigin
from barnabas.storage.segment_reading import file_name

from .faulty_disk import FaultyDisk, everything, nothing, random_part
from .test_durability import (
    NAME,
    ROOT,
    State,
    boot,
    check_whole,
    new_disk,
    sync,
    visible,
    write_checkpoints,
)
from .test_log import NOW, batch_of

DIRECTORY = ROOT / NAME


def put(log: Log, number: int, **more: int | bool) -> None:
    log.append_as_leader([batch_of([b"%03d" % number + b"x" * 40], timestamp=NOW + 10 * number, **more)], 0, NOW)


def synced(*, sealed: bool = False) -> tuple[FaultyDisk, State]:
    """Some segments with an aborted transaction, all synced, and the recovery point behind the last record. `sealed`,
    that is where the active segment begins, and it is empty."""
    disk = new_disk()
    log = boot(disk)
    for number in range(4):
        put(log, number)
    put(log, 4, producer_id=9, producer_epoch=0, base_sequence=0, transactional=True)
    put(log, 5)
    marker = build_end_transaction_marker(
        ControlRecordType.ABORT, producer_id=9, producer_epoch=0, coordinator_epoch=1, timestamp=NOW
    )
    log.append_as_leader([Batch(marker)], 0, NOW, origin=AppendOrigin.COORDINATOR, transaction_version=1)
    log.producers.on_high_watermark_advanced(log.end_offset)
    for number in range(7, 17):
        put(log, number)
    if sealed:
        log.roll(NOW)
    sync(log)
    write_checkpoints(log)
    assert len(log.segments) > 2
    return disk.crashed(nothing), visible(log)


def path_of(disk: FaultyDisk, suffix: str) -> Path:
    """The first file of the kind."""
    return DIRECTORY / next(name for name in disk.names(DIRECTORY) if name.endswith(suffix))


def lose(suffix: str) -> Callable[[FaultyDisk], None]:
    def change(disk: FaultyDisk) -> None:
        disk.remove(path_of(disk, suffix))
        disk.sync_directory(DIRECTORY)

    return change


def tear(suffix: str) -> Callable[[FaultyDisk], None]:
    def change(disk: FaultyDisk) -> None:
        path = path_of(disk, suffix)
        disk.damage(path, disk.read_file(path)[:-1])

    return change


LOSSES = {
    "no offset index": lose(".index"),
    "no time index": lose(".timeindex"),
    "a torn offset index": tear(".index"),
    "a torn time index": tear(".timeindex"),
    "a torn transaction index": tear(".txnindex"),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_power_cuts_at_every_operation_while_indexes_are_rebuilt(loss: str) -> None:
    disk, state = synced()
    LOSSES[loss](disk)
    images: list[tuple[str, FaultyDisk]] = []

    def around(kind: str, path: Path) -> None:
        what = f"{kind} of {path.name}"
        images.extend((f"{what}, random_part({seed})", disk.crashed(random_part(seed))) for seed in range(6))
        images.append((f"{what}, nothing", disk.crashed(nothing)))

    disk.before = disk.after = around
    lines: list[str] = []
    log = boot(disk, lines=lines)
    disk.before = disk.after = None
    assert len(lines) == 1
    assert "the indexes of this segment are built anew" in lines[0]
    assert not [name for name in disk.names(DIRECTORY) if name.endswith(".cleaned")]
    for what, image in images:
        try:
            found = boot(image)
            assert visible(found) == state
            assert [each[:3] for each in found.aborted_transactions(0, 100)] == [(9, 4, 6)]
            check_whole(found)
        except BaseException as error:
            error.add_note(what)
            raise
    # What the first start has mended, the next one trusts: it is safe.
    lines.clear()
    check_whole(boot(disk.crashed(nothing), lines=lines))
    assert lines == []
    check_whole(log)


def damage(disk: FaultyDisk, path: Path, position: int, mask: int = 0x10) -> None:
    data = bytearray(disk.read_file(path))
    data[position] ^= mask
    disk.damage(path, bytes(data))


@pytest.mark.parametrize("where", ["in its records", "in its length", "in its last offset"])
@pytest.mark.parametrize("number", [0, 1, 3])
def test_a_damaged_batch_below_the_recovery_point_stays(where: str, number: int) -> None:
    disk, state = synced()
    path = DIRECTORY / file_name(0, ".log")
    batches = list(iterate_batches(disk.read_file(path)))
    at = sum(batch.size for batch in batches[:number])
    damage(disk, path, at + {"in its records": 70, "in its length": 9, "in its last offset": 24}[where])
    LOSSES["no offset index"](disk)
    lines: list[str] = []
    log = boot(disk, lines=lines)
    assert log.segments[0].size == sum(batch.size for batch in batches)
    assert log.end_offset == max(state) + 1
    assert f"no batch at byte {at}" in lines[1]
    assert "it stays where it is" in lines[1]
    # A header that is wrong hides what follows it, up to the next row of the index at best.
    hidden = range(number, number + 1 if where == "in its records" else log.segments[1].base_offset)
    refused = {offset for offset in hidden if is_refused(log, offset, state[offset])}
    assert number in refused
    for offset in state.keys() - refused:
        assert state[offset] in log.read(offset, 1).read()


def is_refused(log: Log, offset: int, value: bytes) -> bool:
    try:
        batch = next(iterate_batches(log.read(offset, 1).read()))
        batch.check()
    except KafkaError as error:
        assert error.code is ErrorCode.CORRUPT_MESSAGE
        return True
    except MalformedFrame:
        return True
    assert value in bytes(batch.buffer)
    return False


def test_what_was_synced_is_not_read_again(record_property: Callable[[str, object], None]) -> None:
    """The recovery point is where a segment begins, as Kafka's always is: the one before it is not recovered, and what
    is damaged there cuts nothing off."""
    disk, state = synced(sealed=True)
    whole = boot(disk.crashed(everything))
    last = whole.segments[-2]
    position = list(last.places())[1].position
    damage(disk, last.path(".log"), position + 70)
    lines: list[str] = []
    log = boot(disk, lines=lines)
    assert lines == []
    assert log.end_offset == max(state) + 1
    assert [segment.size for segment in log.segments] == [segment.size for segment in whole.segments]


def test_a_sealing_that_was_interrupted_is_finished() -> None:
    """The row that a time index gets then may be missing or torn, and the space behind it there or not."""
    disk, state = synced(sealed=True)
    last = boot(disk.crashed(everything)).segments[-2]
    path = last.path(".timeindex")
    data = disk.read_file(path)
    rebuilt = 0
    for kept in range(13):
        for end in (len(data), 4092):
            image = disk.crashed(everything)
            row = data[-12 : len(data) - 12 + kept] + bytes(12 - kept)
            image.damage(path, (data[:-12] + row).ljust(end, b"\0"))
            lines: list[str] = []
            log = boot(image, lines=lines)
            check_whole(log)
            assert visible(log) == state
            assert image.read_file(path) == data
            rebuilt += len(lines)
    # Where nothing of the row is there, or all of it, the segment need not be read.
    assert 0 < rebuilt <= 2 * 11


def test_each_unsynced_segment_is_compared_with_what_producers_have_written() -> None:
    """A power cut takes the end of the second of four segments, and what a producer has written there; the third must
    not follow, or the producer would append what is missing behind its successors."""
    disk = new_disk()
    log = boot(disk)
    for number in range(12):
        put(log, number, producer_id=9, producer_epoch=0, base_sequence=number)
        if number % 3 == 2:
            log.roll(NOW)
    assert [segment.base_offset for segment in log.segments] == [0, 3, 6, 9, 12]
    second = log.segments[1]
    end = list(second.places())[-1].position
    image = disk.crashed(everything)
    image.damage(second.path(".log"), image.read_file(second.path(".log"))[:end])
    lines: list[str] = []
    found = boot(image, lines=lines)
    assert found.end_offset == 5
    assert "ends at offset 5, and producer 9 has written up to 5" in "\n".join(lines)
    assert found.producers.producers[9].last_sequence == 4
    check_whole(found)


@pytest.mark.parametrize("seed", range(20))
def test_a_segment_that_was_recovered_and_is_sealed_then(seed: int) -> None:
    """All of it lies below the recovery point, and its indexes have been written anew."""
    disk, state = synced()
    log = boot(disk)
    log.roll(NOW)
    found = boot(disk.crashed(random_part(seed)))
    assert visible(found) == state
    check_whole(found)
