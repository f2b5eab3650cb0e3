"""A disk that is full, or that fails, refuses an append: nothing half written shows, reading goes on, and so does
appending when there is space again, without opening anything anew."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from barnabas.protocol.batches import Batch
from barnabas.protocol.control import ControlRecordType, build_end_transaction_marker
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.record import read_records
from barnabas.storage.disk import Disk, SystemDisk
from barnabas.storage.loading import open_log
from barnabas.storage.log import Log
from barnabas.storage.producer_state import AppendOrigin
from barnabas.storage.topic_config import TopicConfig

from .faulty_disk import FaultyDisk, everything
from .test_durability import THOROUGH, State, check_whole, visible
from .test_log import NOW, batch_of

CONFIG = TopicConfig.load({"internal.segment.bytes": "600", "index.interval.bytes": "100", "segment.index.bytes": "96"})
REPOSITORY = Path(__file__).parents[2]


class Writer:
    """Appends of all kinds, each tried until it succeeds; what was refused must have left no trace."""

    def __init__(self, disk: Disk, directory: Path, config: TopicConfig = CONFIG) -> None:
        self.log = open_log(disk, directory, config, now_ms=NOW, clean=True)
        self.config = config
        self.state: State = {}
        self.count = 0
        self.sequence = 0
        self.refused = 0
        self.error: KafkaError | None = None

    def append(self) -> bool:
        """The next step, which depends on what has been acknowledged and on nothing else."""
        kind = self.count % 9
        size = (self.count * 37) % 90
        value = b"%05d:" % self.count + b"x" * size
        numbered = {"producer_id": 7, "producer_epoch": 0, "base_sequence": self.sequence}
        more: dict[str, int | AppendOrigin] = {}
        if kind == 5:
            batches = [batch_of([value], **numbered, transactional=True)]
        elif kind == 6:
            marker = build_end_transaction_marker(
                ControlRecordType.ABORT, producer_id=7, producer_epoch=0, coordinator_epoch=1, timestamp=NOW
            )
            batches = [Batch(marker)]
            more = {"origin": AppendOrigin.COORDINATOR, "transaction_version": 1}
            value = next(read_records(batches[0])).value or b""
        elif kind == 2:
            batches = [batch_of([value]), batch_of([value], timestamp=NOW + self.count)]
        else:
            batches = [batch_of([value], timestamp=NOW + self.count)]
        end = self.log.end_offset
        try:
            self.log.append_as_leader(batches, self.count // 10, NOW, **more)  # type: ignore[arg-type]
        except KafkaError as error:
            assert error.code is ErrorCode.KAFKA_STORAGE_ERROR
            self.refused += 1
            self.error = error
            assert self.log.end_offset == end
            self.check()
            return False
        self.sequence += kind == 5
        for number in range(len(batches)):
            self.state[end + number] = value
        self.count += 1
        return True

    def check(self) -> None:
        disk = self.log.disk
        if isinstance(disk, FaultyDisk):
            disk.failing = False
        assert visible(self.log) == self.state
        if isinstance(disk, FaultyDisk):
            disk.failing = True

    def finish(self) -> Log:
        """With space again."""
        for _ in range(30):
            assert self.append()
        self.check()
        check_whole(self.log)
        return self.log


def reopened(log: Log, disk: Disk, *, clean: bool) -> Log:
    return open_log(disk, log.directory, log.config, now_ms=NOW, clean=clean)


def new_writer(disk: FaultyDisk, *, saves_epochs: bool = False) -> Writer:
    """One that `saves_epochs` as they begin, as if the log had been longer and its recovery point higher."""
    writer = Writer(disk, Path("/data/orders-0"))
    if saves_epochs:
        writer.log.highest_recovery_point = sys.maxsize
    return writer


def fill(disk: FaultyDisk, appends: int, *, saves_epochs: bool = False) -> Writer:
    writer = new_writer(disk, saves_epochs=saves_epochs)
    for _ in range(appends):
        if not writer.append():
            break
    return writer


def recovers(writer: Writer, disk: FaultyDisk, what: str) -> None:
    try:
        disk.capacity = None
        disk.mend()
        crashed = reopened(writer.log, disk.crashed(everything), clean=False)
        found = visible(crashed)
        # Where not even cutting off worked, the first of two batches may be there after a crash.
        assert found == writer.state or (disk.half_writes and writer.state.items() <= found.items())
        log = writer.finish()
        crashed = reopened(log, disk.crashed(everything), clean=False)
        assert visible(crashed) == visible(log)
        check_whole(crashed)
        log.close()
        check_whole(reopened(log, disk, clean=True))
    except BaseException as error:
        error.add_note(what)
        raise


APPENDS = 60


def bytes_of_the_scenario() -> int:
    disk = FaultyDisk()
    fill(disk, APPENDS)
    return disk.used


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
def test_every_number_of_bytes_that_a_disk_may_have(part: int) -> None:
    whole = bytes_of_the_scenario()
    refused = 0
    for capacity in range(part, whole, 8 if THOROUGH else 80):
        disk = FaultyDisk()
        disk.make_directory(Path("/data/orders-0"))
        disk.capacity = capacity
        try:
            writer = fill(disk, APPENDS)
            refused += writer.refused
            # It stays full: nothing changes, whatever is tried.
            for _ in range(3):
                writer.append()
        except BaseException as error:
            error.add_note(f"{capacity} bytes")
            raise
        recovers(writer, disk, f"{capacity} bytes")
    assert refused > whole // 160


def test_some_numbers_of_bytes() -> None:
    for capacity in range(3, bytes_of_the_scenario(), 331):
        disk = FaultyDisk(capacity)
        recovers(fill(disk, APPENDS), disk, f"{capacity} bytes")


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("kind", ["write", "truncate", "map", "open", "rename", "sync", "sync_directory"])
@pytest.mark.slow
def test_every_operation_fails_once(kind: str, half: bool) -> None:
    """EIO, in the middle of a write too; and when cutting off the half fails as well."""
    saves_epochs = kind in ("rename", "sync", "sync_directory")  # no other append does any of these
    disk = FaultyDisk()
    fill(disk, APPENDS, saves_epochs=saves_epochs)
    count = disk.counts[kind]
    assert count
    for number in range(1, count + 1):
        for times in (1, 3):
            disk = FaultyDisk()
            writer = new_writer(disk, saves_epochs=saves_epochs)
            disk.half_writes = half
            disk.fail(kind, number, errno.EIO, times)
            if half:
                disk.fail("truncate", 1, errno.EIO, 10_000)
            what = f"{kind} {number}, {times} times"
            try:
                for _ in range(APPENDS):
                    if not writer.append():
                        break
                while times > 1 and writer.refused < 4 and disk.counts[kind] < number + times - 1:
                    writer.append()
            except BaseException as error:
                error.add_note(what)
                raise
            recovers(writer, disk, what)


def test_a_failed_read_is_refused(tmp_path: Path) -> None:
    disk = FaultyDisk()
    writer = fill(disk, 20)
    disk.fail("read")
    with pytest.raises(KafkaError) as refused:
        writer.log.read(0, 1_000)
    assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    writer.check()


def test_a_rest_that_could_not_be_cut_off_never_shows() -> None:
    """Of two batches the second was written wholly, and then the write failed. A batch of the length of the first must
    not bring the second back."""
    disk = FaultyDisk()
    writer = fill(disk, 1)
    first, second = batch_of([b"first!"]), batch_of([b"never!"])
    disk.capacity = disk.used + first.size + second.size + 10
    disk.fail("truncate", 1, errno.EIO, 1)
    with pytest.raises(KafkaError):
        writer.log.append_as_leader([first, second, batch_of([b"x" * 100])], 0, NOW)
    writer.check()
    disk.capacity = None
    writer.log.append_as_leader([batch_of([b"second"])], 0, NOW)
    found = visible(reopened(writer.log, disk.crashed(everything), clean=False))
    assert list(found.values())[1:] == [b"second"]


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_a_sync_that_failed_is_done_again_as_a_whole(number: int) -> None:
    """Of the snapshots too that were written while segments were rolled."""
    disk = FaultyDisk()
    disk.make_directory(Path("/data/orders-0"))
    writer = fill(disk, 20)
    log = writer.log
    assert log.producers.snapshots.offsets
    disk.fail("sync", number)
    work = log.unsynced()
    with pytest.raises(OSError, match="error"):
        work.sync()
    again = log.unsynced()
    again.sync()
    log.synced(again)
    assert [change for change in disk.unsafe() if change.path.parent == log.directory] == []
    log.roll(NOW)
    assert len(log.unsynced().files) == 1


def run_child(arguments: list[str], *command: str) -> str:
    done = subprocess.run(
        [*command, sys.executable, "-m", "tests.storage.test_disk_full", *arguments],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_limit_on_the_size_of_files(tmp_path: Path) -> None:
    """The kernel takes a part of a write, and then says EFBIG."""
    assert int(run_child(["limit", str(tmp_path)])) > 80


@pytest.mark.slow
def test_a_small_file_system(tmp_path: Path) -> None:
    unshare = shutil.which("unshare")
    if unshare is None or os.geteuid() != 0:
        pytest.skip("mounting a small tmpfs needs root and unshare")
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(tmp_path)]
    tried = subprocess.run([unshare, "--mount", *mount], capture_output=True, text=True)
    if tried.returncode != 0:
        pytest.skip(f"no tmpfs can be mounted here: {tried.stderr.strip()}")
    script = 'mount -t tmpfs -o size=256k tmpfs "$0" && exec "$@"'
    assert int(run_child(["full", str(tmp_path)], unshare, "--mount", "sh", "-c", script, str(tmp_path))) > 0


def with_limits(root: Path) -> int:
    """In a process of its own: every limit from where the first batch ends to behind a segment and its indexes."""
    disk = SystemDisk()
    config = TopicConfig.load({"internal.segment.bytes": "6000", "index.interval.bytes": "500"})
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    refused = 0
    for limit in range(150, 6_100, 11 if THOROUGH else 67):
        writer = Writer(disk, root / f"orders-{limit}", config)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        for _ in range(APPENDS):
            if not writer.append():
                break
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        refused += writer.refused
        log = writer.finish()
        assert visible(reopened(log, disk, clean=False)) == visible(log)
        disk.remove_tree(log.directory)
    return refused


def until_full(root: Path) -> int:
    """A filler takes the space away and gives it back."""
    disk = SystemDisk()
    writer = Writer(disk, root / "orders-0", TopicConfig.load({"internal.segment.bytes": "9000"}))
    rounds = 0
    for size in range(0, 40_000, 1_000):
        filler = root / "filler"
        try:
            filler.write_bytes(bytes(262_144))
        except OSError as error:
            assert error.errno == errno.ENOSPC
        os.truncate(filler, max(filler.stat().st_size - size % 12_000, 0))
        for _ in range(40):
            if not writer.append():
                rounds += 1
                break
        filler.unlink()
        if len(writer.log.segments) > 2:
            writer.log.delete_segments(writer.log.segments[:-1])
            writer.log.advance_start(writer.log.segments[0].base_offset)
            writer.state = {at: value for at, value in writer.state.items() if at >= writer.log.start_offset}
            while writer.log.removed:
                writer.log.removed.pop().remove()
        assert writer.append(), writer.error
        writer.check()
    assert visible(reopened(writer.log, disk, clean=False)) == visible(writer.log)
    return rounds


if __name__ == "__main__":
    print({"limit": with_limits, "full": until_full}[sys.argv[1]](Path(sys.argv[2])))
