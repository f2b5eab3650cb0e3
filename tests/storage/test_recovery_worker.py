"""Logs that a kill left behind, recovered by several processes: the same as one after the other, each byte read once,
and nothing lost when such a process dies as well."""

from __future__ import annotations

import io
import json
import random
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from barnabas.storage.disk import File, SystemDisk
from barnabas.storage.load_plan import Piece, Progress
from barnabas.storage.log_directories import LogDirectories
from barnabas.storage.log_directory import TopicPartition
from barnabas.storage.recovery_worker import (
    Advanced,
    RecoveredPartition,
    RecoveryFailed,
    RecoveryJob,
    Said,
    main,
    parse_answer,
    recover_partition,
    work,
)
from barnabas.storage.topic_config import TopicConfig

from .conftest import Place
from .faulty_disk import FaultyDisk
from .faulty_disk import everything as kept
from .many_partitions import PARTITIONS, SMALL
from .test_log import CONFIG, NOW, append, everything
from .test_log_directories import ORDERS, create
from .test_opening import opened
from .test_replica_moves import state

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two directories of many partitions whose node was killed."""
    root = tmp_path_factory.mktemp("killed")
    command = [sys.executable, "-m", "tests.storage.many_partitions", str(root)]
    with subprocess.Popen(command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "written\n"
        program.send_signal(signal.SIGKILL)
    return root


def copy_of(killed: Path, tmp_path: Path) -> LogDirectories:
    for name in "ab":
        shutil.copytree(killed / name, tmp_path / name)
    return opened(SystemDisk(), tmp_path / "a", tmp_path / "b")


@contextmanager
def counting() -> Iterator[Counter[str]]:
    """Bytes of segments that this process reads, by recovery ("recovered") and else ("read")."""
    counts: Counter[str] = Counter()
    file = type(SystemDisk().open(Path("/dev/null")))
    read_into, read = file.read_into, file.read

    def counted_read_into(self: File, position: int, buffer: memoryview) -> int:
        length = read_into(self, position, buffer)
        counts["recovered"] += length
        return length

    def counted_read(self: File, position: int, length: int) -> bytes:
        data = read(self, position, length)
        counts["read"] += len(data)
        return data

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file, "read_into", counted_read_into)
        patch.setattr(file, "read", counted_read)
        yield counts


def load(directories: LogDirectories, pieces: list[Piece]) -> dict[TopicPartition, object]:
    found = {}
    for piece in pieces:
        log = directories.load(piece, SMALL, NOW)
        assert log is not None
        found[piece.partition] = state(log)
    return found


def files(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file() and path.name != ".lock"
    }


class Worker:
    """As a broker starts it: one job at a time, so that whoever is free takes the next."""

    def __init__(self, name: str) -> None:
        command = [sys.executable, "-m", "barnabas.storage.recovery_worker", name]
        self.process = subprocess.Popen(
            command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def give(self, job: RecoveryJob) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(job.to_json() + "\n")
        self.process.stdin.flush()

    def answers(self) -> Iterator[RecoveredPartition | RecoveryFailed | Said | Advanced]:
        assert self.process.stdout is not None
        return map(parse_answer, self.process.stdout)

    def end(self) -> int:
        self.process.communicate()
        return self.process.returncode


def recover_by_two(directories: LogDirectories, pieces: list[Piece]) -> tuple[list[str], list[int]]:
    """What was said, and how many jobs each has done."""
    left = list(reversed(pieces))
    workers = [Worker("1"), Worker("2")]
    by_path = {piece.place.path: piece for piece in pieces}
    answers = [worker.answers() for worker in workers]
    done, said = [0, 0], []
    for worker in workers:
        worker.give(directories.recovery_job(left.pop(), SMALL, NOW))
    busy = {0, 1}
    while busy:
        for number in sorted(busy):
            answer = next(answers[number])
            if isinstance(answer, Said):
                said.append(answer.text)
                continue
            if isinstance(answer, Advanced):
                continue
            assert isinstance(answer, RecoveredPartition)
            directories.mark_recovered(by_path[answer.path], answer)
            done[number] += 1
            if left:
                workers[number].give(directories.recovery_job(left.pop(), SMALL, NOW))
            else:
                busy.discard(number)
    assert [worker.end() for worker in workers] == [0, 0]
    return said, done


@pytest.mark.slow
def test_two_processes_recover_what_one_would(killed: Path, tmp_path: Path) -> None:
    alone = copy_of(killed, tmp_path / "alone")
    plan = alone.plan_loading()
    assert plan.bytes_to_recover > 900_000
    assert len(plan.pieces) == len(PARTITIONS)
    assert any(
        piece.bytes_to_recover < sum(file.stat().st_size for file in piece.place.path.glob("*.log"))
        for piece in plan.pieces
    ), "nothing lies before a recovery point"
    with counting() as counts:
        expected = load(alone, plan.pieces)
    assert counts["recovered"] == plan.bytes_to_recover
    alone.close({})

    together = copy_of(killed, tmp_path / "together")
    pieces = together.plan_loading().pieces
    said, done = recover_by_two(together, pieces)
    assert min(done) > 2
    assert len(said) == len(PARTITIONS) / 3
    assert all("36 bytes from byte" in line for line in said)
    assert not list((tmp_path / "together").rglob(".recovery-*"))
    after = together.plan_loading()
    assert (len(after.pieces), after.bytes_to_recover) == (len(PARTITIONS), 0)
    with counting() as counts:
        for piece in after.pieces:
            assert together.load(piece, SMALL, NOW) is not None
    # Nothing but what a start after a clean stop looks at, to the byte.
    stopped = opened(SystemDisk(), tmp_path / "alone" / "a", tmp_path / "alone" / "b")
    with counting() as after_clean_stop:
        for piece in stopped.plan_loading().pieces:
            assert stopped.load(piece, SMALL, NOW) is not None
    stopped.close({})
    assert counts == after_clean_stop
    assert counts["recovered"] == 0
    found = {}
    for partition in PARTITIONS:
        replica = together.find(partition)
        assert replica is not None
        assert replica.log.recovery_point == replica.log.end_offset
        found[partition] = state(replica.log)
    assert found == expected
    together.close({})
    assert files(tmp_path / "together") == files(tmp_path / "alone")


@pytest.mark.slow
def test_threads_load_the_pieces_in_any_order(killed: Path, tmp_path: Path) -> None:
    """Where a disk is slow they wait for it side by side."""
    alone = copy_of(killed, tmp_path / "alone")
    expected = load(alone, alone.plan_loading().pieces)
    alone.close({})
    together = copy_of(killed, tmp_path / "together")
    plan = together.plan_loading()
    pieces = random.Random(7).sample(plan.pieces, len(plan.pieces))
    progress = Progress(plan, NOW)
    with ThreadPoolExecutor(4) as pool:
        for piece, log in zip(pieces, pool.map(lambda piece: together.load(piece, SMALL, NOW), pieces), strict=True):
            assert log is not None
            assert state(log) == expected[piece.partition]
            progress.note(piece)
    assert progress.finished
    assert progress.bytes_done == plan.bytes_to_recover
    together.close({})
    assert files(tmp_path / "together") == files(tmp_path / "alone")


@pytest.mark.slow
def test_each_byte_is_read_once_by_a_piece_of_work(killed: Path, tmp_path: Path) -> None:
    """In this process, where it can be counted."""
    directories = copy_of(killed, tmp_path)
    for piece in directories.plan_loading().pieces[:6]:
        with counting() as counts:
            recovered = recover_partition(SystemDisk(), directories.recovery_job(piece, SMALL, NOW))
        assert counts["recovered"] == piece.bytes_to_recover
        directories.mark_recovered(piece, recovered)
        with counting() as counts:
            log = directories.load(piece, SMALL, NOW)
        assert log is not None
        assert recovered == (piece.place.path, log.end_offset)
        assert counts["recovered"] == 0
    directories.abandon()


@pytest.mark.slow
def test_a_worker_that_is_killed_loses_nothing(killed: Path, tmp_path: Path) -> None:
    """At some moment of its work, several times; what it had not answered is loaded as if it had not been there."""
    alone = copy_of(killed, tmp_path / "alone")
    expected = load(alone, alone.plan_loading().pieces)
    alone.close({})
    generator = random.Random(3)
    lost = 0
    for number in range(3):
        root = tmp_path / str(number)
        directories = copy_of(killed, root)
        pieces = directories.plan_loading().pieces
        by_path = {piece.place.path: piece for piece in pieces}
        worker = Worker("1")
        for piece in pieces:
            worker.give(directories.recovery_job(piece, SMALL, NOW))
        answered = 0
        wanted = generator.randint(1, 12)
        for answer in worker.answers():
            if isinstance(answer, RecoveredPartition):
                directories.mark_recovered(by_path[answer.path], answer)
                answered += 1
                if answered == wanted:
                    worker.process.send_signal(signal.SIGKILL)
        assert worker.end() == -signal.SIGKILL
        assert wanted <= answered < len(pieces)
        lost += len(pieces) - answered
        assert load(directories, pieces) == expected
        directories.close({})
        # The killed one's lock is left, and taken away by the next start.
        assert {name: data for name, data in files(root).items() if "recovery-1" not in name} == files(
            tmp_path / "alone"
        )
        opened(SystemDisk(), root / "a", root / "b").close({})
        assert files(root) == files(tmp_path / "alone")
    assert lost > 12


def test_a_job_says_all_that_a_log_needs() -> None:
    config = TopicConfig.load({"cleanup.policy": "compact,delete", "segment.bytes": "1048576", "preallocate": "true"})
    job = RecoveryJob(path=Path("/data/räder-0"), config=config, recovery_point=7, start_offset=3, now_ms=NOW)
    line = job.to_json()
    assert "\n" not in line
    assert RecoveryJob.from_json(line) == job


def crashed(place: Place) -> tuple[LogDirectories, Piece]:
    directories = opened(place.disk, place.directory / "a")
    create(directories, ORDERS)
    found = directories.find(ORDERS)
    assert found is not None
    for number in range(40):
        append(found.log, b"%d" % number)
    found.log.active.file.write(found.log.active.size, [b"torn"])
    directories.abandon()
    again = opened(place.disk, place.directory / "a")
    (piece,) = again.plan_loading().pieces
    return again, piece


def test_a_worker_reports_and_answers(place: Place) -> None:
    directories, piece = crashed(place)
    answers: list[str] = []
    work(place.disk, "1", [directories.recovery_job(piece, CONFIG, NOW).to_json()], answers.append)
    *advances, said, recovered = map(parse_answer, answers)
    assert isinstance(said, Said)
    assert isinstance(recovered, RecoveredPartition)
    # From one segment to the next, also before the whole is done.
    counts = [each.bytes for each in advances if isinstance(each, Advanced)]
    assert len(counts) == len(advances) > 2
    assert sum(counts) == piece.bytes_to_recover
    assert "4 bytes from byte" in said.text
    assert recovered == RecoveredPartition(piece.place.path, 40)
    assert ".recovery-1.lock" not in place.disk.names(place.directory / "a")
    directories.mark_recovered(piece, recovered)
    log = directories.load(piece, CONFIG, NOW)
    assert log is not None
    assert everything(log) == {number: b"%d" % number for number in range(40)}
    directories.close({ORDERS: 40})


def test_a_worker_whose_disk_fails_says_so_and_goes_on() -> None:
    disk = FaultyDisk()
    first = opened(disk, Path("/a"))
    clicks = TopicPartition("clicks", 0)
    create(first, ORDERS, clicks)
    for partition in (ORDERS, clicks):
        found = first.find(partition)
        assert found is not None
        append(found.log, b"a")
    disk = disk.crashed(kept)
    directories = opened(disk, Path("/a"))
    answers: list[str] = []

    def jobs() -> Iterator[str]:
        disk.fail("sync")
        for piece in directories.plan_loading().pieces:
            yield directories.recovery_job(piece, CONFIG, NOW).to_json()

    work(disk, "1", jobs(), answers.append)
    assert [each for each in map(parse_answer, answers) if not isinstance(each, Advanced)] == [
        RecoveryFailed(Path("/a/clicks-0"), "Input/output error"),
        RecoveredPartition(Path("/a/orders-0"), 1),
    ]


def test_the_recovery_point_of_a_worker_is_kept_when_the_node_dies_again(place: Place) -> None:
    directories, piece = crashed(place)
    recovered = recover_partition(place.disk, directories.recovery_job(piece, CONFIG, NOW))
    directories.mark_recovered(piece, recovered)
    directories.write_checkpoints({})
    directories.abandon()  # before it was loaded
    (piece,) = opened(place.disk, place.directory / "a").plan_loading().pieces
    assert piece.place.recovery_point == 40
    assert 0 < piece.bytes_to_recover < 1_000  # the last segment


def test_what_comes_in_is_json_of_one_line_each(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:

    directories, piece = crashed(Place(SystemDisk(), tmp_path))
    line = directories.recovery_job(piece, CONFIG, NOW).to_json()
    monkeypatch.setattr(sys, "stdin", io.StringIO(line + "\n"))
    monkeypatch.setattr(sys, "argv", ["worker", "7"])
    main()
    *_, last = capsys.readouterr().out.splitlines()
    assert json.loads(last) == {"path": str(piece.place.path), "recovery_point": 40}
    directories.abandon()
