"""Opening all log directories of a node: whose they are, what is formatted, what is refused, what is offline."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from barnabas.protocol.schema import Uuid
from barnabas.storage.directory_errors import UnusableDirectories
from barnabas.storage.disk import Disk, DiskLocked, SystemDisk
from barnabas.storage.formatting import Node
from barnabas.storage.log_directories import LogDirectories
from barnabas.storage.memory_disk import MemoryDisk
from barnabas.storage.meta_properties import MetaProperties, draw_directory_id, write_meta_properties
from barnabas.storage.opening import open_log_directories

from .conftest import Place
from .faulty_disk import FaultyDisk

CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"
NODE = Node(1, CLUSTER)
A, B, C = Path("/a"), Path("/b"), Path("/c")


def random_ids(first: int = 1) -> Iterator[bytes]:
    """Not very random: each is 16 times a number, which may be reserved."""
    return (bytes([number % 256]) * 16 for number in count(first))


def opened(
    disk: Disk,
    *paths: Path,
    node: Node = NODE,
    metadata: Path | None = None,
    ids: Iterator[bytes] | None = None,
    lines: list[str] | None = None,
) -> LogDirectories:
    report = (lines if lines is not None else []).append
    return open_log_directories(
        disk,
        paths,
        node,
        random_ids=ids or random_ids(),
        holder="pid 7",
        report=report,
        metadata_directory=metadata,
    )


def refused(disk: Disk, *paths: Path, node: Node = NODE, metadata: Path | None = None) -> str:
    """The one sentence. Whatever is refused has changed nothing and holds nothing."""
    before = tree(disk)
    with pytest.raises(UnusableDirectories) as raised:
        opened(disk, *paths, node=node, metadata=metadata)
    assert tree(disk) == before
    assert isinstance(disk, MemoryDisk)
    assert not disk._locks
    (problem,) = raised.value.problems
    assert "\n" not in problem
    return problem


def tree(disk: Disk) -> dict[Path, bytes]:
    """Of a disk in memory; the locks' files are not counted."""
    assert isinstance(disk, MemoryDisk)
    found: dict[Path, bytes] = {}

    def walk(directory: Path) -> None:
        for name in disk.names(directory):
            path = directory / name
            if disk.is_directory(path):
                walk(path)
            elif name != ".lock":
                found[path] = disk.read_file(path)

    walk(Path("/"))
    return found


def put(disk: Disk, path: Path, content: bytes = b"x") -> None:
    disk.make_directory(path.parent)
    disk.replace_file(path, content)


def formatted(disk: Disk, path: Path, meta: MetaProperties) -> None:
    disk.make_directory(path)
    write_meta_properties(disk, path, meta)


@pytest.fixture
def disk() -> MemoryDisk:
    return MemoryDisk()


# Formatting


def test_empty_directories_are_formatted_for_one_cluster(place: Place) -> None:
    one, two = place.directory / "one", place.directory / "two"
    lines: list[str] = []
    directories = opened(place.disk, one, two, lines=lines)
    metas = [directory.meta for directory in directories.online]
    assert metas == [
        MetaProperties(1, CLUSTER, 1, Uuid(bytes([1]) * 16)),
        MetaProperties(1, CLUSTER, 1, Uuid(bytes([2]) * 16)),
    ]
    assert lines == [f"{path} is formatted for node 1 of cluster {CLUSTER}" for path in (one, two)]
    directories.close({})
    again = opened(place.disk, one, two, lines=lines, ids=iter([]))
    assert [directory.meta for directory in again.online] == metas
    assert len(lines) == 2
    again.abandon()


def test_without_a_cluster_id_a_new_cluster_begins(disk: MemoryDisk) -> None:
    directories = opened(disk, A, B, node=Node(4))
    one, two = (directory.meta for directory in directories.online)
    assert one is not None
    assert two is not None
    assert one.cluster_id == two.cluster_id == str(Uuid(bytes([1]) * 16))
    assert (one.node_id, one.directory_id) == (4, Uuid(bytes([2]) * 16))


def test_ids_are_drawn_until_one_may_be_used(disk: MemoryDisk) -> None:
    formatted(disk, A, MetaProperties.fresh(CLUSTER, 1, Uuid(bytes([9]) * 16)))
    reserved, dashed, good = bytes(15) + b"\x09", b"\xf8" + bytes(15), bytes([5]) * 16
    assert str(Uuid(dashed)).startswith("-")
    directories = opened(disk, A, B, C, ids=iter([reserved, dashed, bytes([9]) * 16, good, good, bytes([6]) * 16]))
    assert [str(each.meta and each.meta.directory_id) for each in directories.online] == [
        str(Uuid(bytes([number]) * 16)) for number in (9, 5, 6)
    ]
    with pytest.raises(ValueError, match="no random id left"):
        draw_directory_id(iter([reserved, dashed]))


def test_a_new_directory_joins_those_that_are_there(disk: MemoryDisk) -> None:
    opened(disk, A).close({})
    directories = opened(disk, A, B, node=Node(1), ids=random_ids(50))
    joined = directories.by_path(B)
    assert joined is not None
    assert joined.meta == MetaProperties(1, CLUSTER, 1, Uuid(bytes([50]) * 16))


def test_a_directory_without_an_id_gets_one_and_keeps_the_rest(disk: MemoryDisk) -> None:
    formatted(disk, A, MetaProperties(1, CLUSTER, 1, None, {"owner": "ops"}))
    formatted(disk, B, MetaProperties(0, CLUSTER, 1))
    opened(disk, A, B)
    assert disk.read_file(A / "meta.properties") == (
        f"#\ncluster.id={CLUSTER}\ndirectory.id=AQEBAQEBAQEBAQEBAQEBAQ\nnode.id=1\nowner=ops\nversion=1\n".encode()
    )
    assert b"version=0" in disk.read_file(B / "meta.properties")
    assert b"broker.id=1\n" in disk.read_file(B / "meta.properties")


def test_formatting_that_was_interrupted_goes_on(disk: MemoryDisk) -> None:
    """At every change of the disk: the next start takes the same cluster, or nothing was formatted yet."""

    class Killed(BaseException):
        pass

    class DyingDisk(MemoryDisk):
        lives = 0

        def replace_file(self, path: Path, data: bytes) -> None:
            if self.lives == 0:
                self.open(path.with_name(path.name + ".tmp")).write(0, [data[:9]])
                raise Killed
            self.lives -= 1
            super().replace_file(path, data)

    for lives in range(3):
        dying = DyingDisk()
        dying.lives = lives
        with pytest.raises(Killed):
            opened(dying, A, B, C, node=Node(1), metadata=C)
        dying.lives = 100
        directories = opened(dying, A, B, C, node=Node(1), metadata=C, ids=random_ids(70))
        clusters = {each.meta.cluster_id for each in directories.online if each.meta}
        assert clusters == {str(Uuid(bytes([70 if lives == 0 else 1]) * 16))}
        directories.abandon()


def test_nothing_is_formatted_without_the_metadata_logs_directory() -> None:
    disk = FaultyDisk()
    disk.fail("write")
    with pytest.raises(UnusableDirectories, match="cannot start without its metadata log: /a cannot be used"):
        opened(disk, A, B)
    assert not disk.exists(B / "meta.properties")
    opened(disk, A, B).close({})


# What is refused


def test_another_cluster(disk: MemoryDisk) -> None:
    formatted(disk, A, MetaProperties.fresh("other", 1, Uuid(range(16))))
    assert refused(disk, A) == (
        f"/a/meta.properties says cluster.id=other, but this node is configured with cluster.id={CLUSTER}: take the "
        "directory out of log.dirs, or join the cluster that it belongs to."
    )


def test_another_node(disk: MemoryDisk) -> None:
    formatted(disk, A, MetaProperties.fresh(CLUSTER, 2, Uuid(range(16))))
    assert refused(disk, A, B) == (
        "/a/meta.properties says node.id=2, but this node is configured with node.id=1: if the data is this node's, "
        "set node.id=2 (barnabas start --set node.id=2), or take the directory out of log.dirs (barnabas start --set "
        "log.dirs=/b)."
    )


def test_two_directories_with_one_id(disk: MemoryDisk) -> None:
    for path in (A, B):
        formatted(disk, path, MetaProperties.fresh(CLUSTER, 1, Uuid(range(16))))
    assert (
        "says directory.id=AAECAwQFBgcICQoLDA0ODw as /a/meta.properties does: take the one that is a copy out"
        in refused(disk, A, B)
    )


@pytest.mark.parametrize("name", ["orders-0/00000000000000000000.log", "recovery-point-offset-checkpoint", "photo.jpg"])
def test_data_without_identity_is_never_formatted_over(disk: MemoryDisk, name: str) -> None:
    put(disk, B / name, b"")
    formatted(disk, A, MetaProperties.fresh(CLUSTER, 1, Uuid(range(16))))
    problem = refused(disk, A, B)
    found = re.search(r"run: printf '(.*)' > '(.*)'", problem)
    assert problem.startswith("/b holds files and no meta.properties that says whose they are: move them elsewhere")
    # The command does what it says.
    assert found is not None
    put(disk, Path(found[2]), found[1].replace("\\n", "\n").encode())
    opened(disk, A, B)


def test_data_without_identity_and_nobody_who_knows_it(disk: MemoryDisk) -> None:
    put(disk, A / "orders-0/00000000000000000000.log")
    assert refused(disk, A, node=Node(1)) == (
        "/a holds files and no meta.properties that says whose they are: restore that file from a copy, or move the "
        "files elsewhere and the directory is formatted."
    )


def test_the_metadata_log_is_not_begun_anew_beside_data(disk: MemoryDisk) -> None:
    """A controller that forgot what it had agreed to could agree to something else."""
    formatted(disk, B, MetaProperties.fresh(CLUSTER, 1, Uuid(range(16))))
    problem = refused(disk, A, B)
    assert problem.startswith("/a is empty, and the log of the cluster's metadata should be there")
    assert "or set metadata.log.dir to the one that has __cluster_metadata-0" in problem
    opened(disk, A, B, metadata=B).close({})


def test_a_metadata_log_elsewhere(disk: MemoryDisk) -> None:
    opened(disk, A, B).close({})
    disk.make_directory(B / "__cluster_metadata-0")
    assert refused(disk, A, B).startswith("/b/__cluster_metadata-0 holds a log of the cluster's metadata")


def test_old_files_that_do_not_say_enough(disk: MemoryDisk) -> None:
    put(disk, A / "meta.properties", b"broker.id=1\n")
    assert (
        refused(disk, A)
        == "/a/meta.properties does not say cluster.id: add that line, or restore the file from a copy."
    )
    put(disk, A / "meta.properties", b"\xff nonsense")
    assert "does not say broker.id" in refused(disk, A)


@pytest.mark.parametrize(
    ("paths", "problem"),
    [
        ([A, B, A], "log.dirs names /a twice: take one of them out."),
        ([A, A / "more"], "/a/more lies inside /a, which is a log directory too and may hold partitions only"),
        ([], "log.dirs names no directory"),
        ([Path("data")], "log.dirs: data is no absolute path"),
    ],
)
def test_paths_that_cannot_be(disk: MemoryDisk, paths: list[Path], problem: str) -> None:
    assert refused(disk, *paths).startswith(problem)


def test_the_metadata_directory_inside_another(disk: MemoryDisk) -> None:
    assert refused(disk, A, metadata=A / "metadata").startswith("/a/metadata lies inside /a")


def test_all_reasons_are_told_at_once(disk: MemoryDisk) -> None:
    formatted(disk, A, MetaProperties.fresh(CLUSTER, 2, Uuid(range(16))))
    put(disk, B / "photo.jpg")
    disk.make_directory(C / "photos")
    with pytest.raises(UnusableDirectories) as raised:
        opened(disk, A, B, C)
    assert len(raised.value.problems) == 3


def test_a_directory_that_another_process_has(tmp_path: Path) -> None:
    """By name; and those that were locked before it are free again."""
    program = (
        "import sys; from pathlib import Path; from barnabas.storage.disk import SystemDisk\n"
        "lock = SystemDisk().lock(Path(sys.argv[1]), 'another node, pid 99'); print('locked', flush=True); input()"
    )
    (tmp_path / "b").mkdir()
    command = [sys.executable, "-c", program, str(tmp_path / "b" / ".lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "locked\n"
        with pytest.raises(DiskLocked, match=r"b/\.lock is held by another node, pid 99"):
            opened(SystemDisk(), tmp_path / "a", tmp_path / "b")
        opened(SystemDisk(), tmp_path / "a").abandon()
        other.communicate("end\n")
    opened(SystemDisk(), tmp_path / "a", tmp_path / "b").abandon()


def test_a_recovery_worker_that_outlived_its_node(tmp_path: Path) -> None:
    """It still cuts logs there: nobody else may, until it has ended."""
    disk = SystemDisk()
    opened(disk, tmp_path / "a").abandon()
    lock = tmp_path / "a" / ".recovery-1.lock"
    program = (
        "import sys; from pathlib import Path; from barnabas.storage.disk import SystemDisk\n"
        "lock = SystemDisk().lock(Path(sys.argv[1]), 'recovery worker 1'); print('locked', flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as worker:
        assert worker.stdout is not None
        worker.stdout.readline()
        with pytest.raises(DiskLocked, match="held by recovery worker 1"):
            opened(disk, tmp_path / "a")
        worker.kill()
    opened(disk, tmp_path / "a").abandon()
    assert not lock.exists()


# What is offline


class BrokenDisk(MemoryDisk):
    """Nothing below some directories can be had."""

    def __init__(self, *broken: Path, code: int = errno.EIO) -> None:
        super().__init__()
        self.broken = broken
        self.code = code

    def lock(self, path: Path, holder: str):  # type: ignore[no-untyped-def]
        if any(broken in path.parents for broken in self.broken):
            raise OSError(self.code, os.strerror(self.code), str(path))
        return super().lock(path, holder)


def test_a_disk_that_fails_at_the_start_leaves_the_others() -> None:
    disk = BrokenDisk()
    opened(disk, A, B).close({})
    disk.broken = (B,)
    lines: list[str] = []
    directories = opened(disk, A, B, lines=lines)
    assert [each.path for each in directories.online] == [A]
    assert directories.must_stop is None
    assert directories.previous_broker_epoch is None
    (why,) = directories.offline.values()
    assert why.startswith("/b cannot be used (/b/.lock): its disk fails (input/output error): replace the disk")
    assert lines == [f"log directory /b is offline: {why}"]


def test_the_node_stops_without_its_metadata_log_or_without_any() -> None:
    disk = BrokenDisk()
    opened(disk, A, B).close({})
    disk.broken = (A,)
    assert refused(disk, A, B).startswith("The node cannot start without its metadata log: /a cannot be used")
    disk.broken = (B,)
    opened(disk, A, B).close({})
    disk.broken = (A, B)
    with pytest.raises(UnusableDirectories):
        opened(disk, A, B)


def test_no_new_cluster_while_a_directory_cannot_be_read() -> None:
    """It may say to which one the node belongs."""
    disk = BrokenDisk(B)
    for path in (A, B):
        disk.make_directory(path)
    assert refused(disk, A, B, node=Node(1)) == (
        "/a is empty and /b cannot be read, so that it is not known to which cluster this node belongs: mend that "
        "directory first, or with the cluster's id in place of ID, run: "
        "printf 'version=1\\nnode.id=1\\ncluster.id=ID\\n' > '/a/meta.properties'"
    )
    directories = opened(disk, A, B)
    assert list(directories.offline) == [B]


@pytest.mark.parametrize("content", [b"version=9\n", b"version=1\nnode.id=1\n", b"broker.id=\n", b"key=\\u12\n"])
def test_identity_that_cannot_be_read(disk: MemoryDisk, content: bytes) -> None:
    """Kafka too takes it for a failed disk."""
    opened(disk, A, B).close({})
    put(disk, B / "meta.properties", content)
    directories = opened(disk, A, B)
    assert list(directories.offline) == [B]
    assert "restore the file from a copy" in directories.offline[B]
    assert disk.read_file(B / "meta.properties") == content


@pytest.mark.parametrize(
    "name",
    [
        "recovery-point-offset-checkpoint",
        "log-start-offset-checkpoint",
        "replication-offset-checkpoint",
        "cleaner-offset-checkpoint",
    ],
)
def test_a_checkpoint_that_cannot_be_read(disk: MemoryDisk, name: str) -> None:
    opened(disk, A, B).close({})
    put(disk, B / name, b"nonsense")
    directories = opened(disk, A, B)
    assert "delete the file, and " in directories.offline[B]
    directories.close({})
    disk.remove(B / name)
    assert not opened(disk, A, B).offline


def test_a_file_in_place_of_a_directory(tmp_path: Path) -> None:
    disk = SystemDisk()
    (tmp_path / "b").write_text("not a directory")
    found = opened(disk, tmp_path / "a", tmp_path / "b")
    assert "it is a file and no directory" in found.offline[tmp_path / "b"]
    found.abandon()
    found = opened(disk, tmp_path / "a", tmp_path / "b" / "c")
    assert "a part of the path is a file" in found.offline[tmp_path / "b" / "c"]
    found.abandon()


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (errno.EACCES, "no permission to read and write it: give it to the user that runs the node."),
        (errno.EROFS, "its file system can only be read: mount it for writing."),
        (errno.EMFILE, "raise the limit of open files"),
        (errno.ENXIO, "No such device or address."),
    ],
)
def test_why_a_directory_cannot_be_used(code: int, reason: str) -> None:
    disk = BrokenDisk(B, code=code)
    found = opened(disk, A, B)
    assert reason in found.offline[B]


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_directory_that_is_forbidden(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir(mode=0o500)
    found = opened(SystemDisk(), tmp_path / "a", tmp_path / "b")
    assert "no permission" in found.offline[tmp_path / "b"]
    found.abandon()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, where that is allowed."""
    path = tmp_path / "mounted"
    path.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(path)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a file system is not allowed here")
    yield path
    subprocess.run(["umount", "--lazy", str(path)], check=True)


def test_a_file_system_that_can_only_be_read(tmp_path: Path, small_disk: Path) -> None:
    disk = SystemDisk()
    opened(disk, tmp_path / "a", small_disk / "b").close({})
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    found = opened(disk, tmp_path / "a", small_disk / "b")
    assert "its file system can only be read: mount it for writing" in found.offline[small_disk / "b"]
    found.close({})
    subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)
    found = opened(disk, tmp_path / "a", small_disk / "b")
    assert not found.offline
    found.abandon()
