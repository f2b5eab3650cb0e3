"""A compaction that ends at any file operation leaves the log as it was before, or as it is after."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from barnabas.protocol.control import ControlRecordType
from barnabas.storage.compaction import compact
from barnabas.storage.compaction_swap import swap_in
from barnabas.storage.log import Log

from .compacted import NOW, Entry, append, check, compact_now, end_transaction, job_for, left, new_log, reopened
from .faulty_disk import Crash, FaultyDisk, Keep, everything, nothing, random_part

Known = tuple[dict[int, Entry], list[tuple[int, ...]], int]


def busy_log(disk: FaultyDisk) -> Log:
    """Three segments that become one, one that becomes another, with aborted transactions in both."""
    disk.make_directory(Path("/data"))
    disk.sync_directory(Path("/"))
    log = new_log(disk, Path("/data"), internal_segment_bytes="1100")
    for round_ in range(4):
        for number in range(5):
            append(log, (b"k%d" % number, b"%d" % round_ * 60), (b"r%d" % round_, None if round_ == 2 else b"x"))
        append(log, (b"k0", b"aborted"), producer_id=9, producer_epoch=0, base_sequence=round_, transactional=True)
        end_transaction(log, ControlRecordType.ABORT, 9)
    log.roll(NOW)
    work = log.unsynced()
    work.sync()
    log.synced(work)
    return log


def known(log: Log) -> Known:
    return left(log), [tuple(each) for each in log.aborted_transactions(0, log.end_offset)], log.end_offset


def crashed_at(number: int) -> tuple[FaultyDisk, Log, list[Known]] | None:
    """The disk and the log as a crash before the `number`-th operation of a compaction leaves them, and what the log
    may be; None if there are fewer operations. Each segment is swapped in at once: each is another "after"."""
    disk = FaultyDisk()
    log = busy_log(disk)
    may_be = [known(log)]
    job = job_for(log, roll=False)
    count = 0

    def before(_kind: str, _path: Path) -> None:
        nonlocal count
        count += 1
        if count == number:
            raise Crash

    disk.before = before
    try:
        for cleaned in compact(job, disk):
            swap_in(log, job, cleaned)
            may_be.append(known(log))
    except Crash:
        return disk, log, may_be
    return None


def all_states() -> list[Known]:
    disk = FaultyDisk()
    log = busy_log(disk)
    states = [known(log)]
    job = job_for(log, roll=False)
    for cleaned in compact(job, disk):
        swap_in(log, job, cleaned)
        states.append(known(log))
    assert len(states) > 2
    assert len({len(entries) for entries, _, _ in states}) == len(states)
    return states


@pytest.mark.slow
@pytest.mark.parametrize("keep", [everything, nothing], ids=["killed", "powerless"])
def test_every_operation(keep: Keep) -> None:
    judge(keep)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_every_operation_with_a_part_of_what_was_unsafe(seed: int) -> None:
    """Renames in any order, which no file system with a journal does. An index may have to be built anew then, without
    those aborted transactions of which no batch is left."""
    judge(random_part(seed), needed)


def needed(state: Known) -> Known:
    """All aborted batches of these logs go with the segment that they are in."""
    entries, aborted, end = state
    return entries, [one for one in aborted if entries.get(one[1], (b"", b""))[1] == b"aborted"], end


def exactly(state: Known) -> Known:
    return state


def judge(keep: Keep, view: Callable[[Known], Known] = exactly) -> None:
    states = [view(state) for state in all_states()]
    met = set()
    number = 1
    while (found := crashed_at(number)) is not None:
        disk, log, done = found
        again = reopened(log, disk=disk.crashed(keep))
        after = view(known(again))
        # Not earlier than what had been done, and not later than what was under way.
        allowed = states[len(done) - 1 : len(done) + 1]
        assert after in allowed, f"operation {number}"
        met.add(states.index(after))
        check(again)
        offset = append(again, (b"next", b"1"))
        assert offset == states[0][2]
        compact_now(again)
        assert left(again)[offset] == (b"next", b"1")
        number += 1
    assert met >= set(range(len(states)))


@pytest.mark.slow
def test_a_kill_while_opening_after_a_kill() -> None:
    """Finishing what was interrupted may be interrupted."""
    states = all_states()
    first = 1
    while (found := crashed_at(first)) is not None:
        disk, log, done = found
        second = 1
        while True:
            again = disk.crashed(everything)
            count = 0

            def before(_kind: str, _path: Path, limit: int = second) -> None:
                nonlocal count
                count += 1
                if count == limit:
                    raise Crash

            again.before = before
            try:
                reopened(log, disk=again)
                break
            except Crash:
                opened = reopened(log, disk=again.crashed(everything))
                assert known(opened) in states[len(done) - 1 : len(done) + 1], f"operations {first} and {second}"
            second += 1
        first += 7
