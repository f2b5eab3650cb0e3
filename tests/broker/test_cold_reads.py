"""What the page cache has lost is read by threads: others are served meanwhile, and the bytes are the same."""

from __future__ import annotations

import errno
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.broker import cold_reads
from barnabas.broker.cold_reads import is_cached, read_cached
from barnabas.broker.node import Node
from barnabas.broker.outgoing import Outgoing
from barnabas.storage.disk import SystemDisk, SystemFile
from barnabas.storage.file_slice import FileSlice
from tests.kafka.client import RawClient

from .running import RunningNode
from .test_produce_and_fetch import create, fetch, produce

LARGE = 300_000


@pytest.fixture
def part(tmp_path: Path) -> FileSlice:
    file = SystemDisk().open(tmp_path / "file")
    file.write(0, [os.urandom(2_000_000)])
    file.sync()
    return FileSlice(file, 0, 2_000_000)


def forget(part: FileSlice) -> None:
    assert part.file.descriptor is not None
    os.posix_fadvise(part.file.descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


def can_be_forgotten(part: FileSlice) -> bool:
    forget(part)
    assert part.file.descriptor is not None
    return not is_cached(part.file.descriptor, 0, part.length)


def test_what_is_cached_is_known(part: FileSlice) -> None:
    assert part.file.descriptor is not None
    data = part.read()
    assert is_cached(part.file.descriptor, 0, part.length)
    assert read_cached(part) == data
    if can_be_forgotten(part):
        assert read_cached(part) is None
        assert part.read() == data


@pytest.mark.parametrize("code", [errno.EOPNOTSUPP, errno.EINVAL])
def test_a_file_system_that_cannot_be_asked_is_read(
    part: FileSlice, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_arguments: object) -> int:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "preadv", refuse)
    assert part.file.descriptor is not None
    assert is_cached(part.file.descriptor, 0, part.length)
    assert read_cached(part) == part.read()


def test_what_is_cold_goes_out_in_parts_and_in_order(part: FileSlice, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barnabas.broker.outgoing.is_cached", lambda *_: False)
    ours, theirs = socket.socketpair()
    received = bytearray()

    def receive() -> None:
        while data := theirs.recv(1 << 16):
            received.extend(data)

    reader = threading.Thread(target=receive)
    reader.start()
    outgoing = Outgoing(ours)
    outgoing.add([b"before", part, b"after"])
    while not outgoing.flush():
        if outgoing.cold is not None:
            assert not outgoing.flush()
            outgoing.warmed(outgoing.cold.file.read(outgoing.cold.position, min(outgoing.cold.length, 700_000)))
    assert outgoing.size == 0
    ours.close()
    reader.join()
    theirs.close()
    assert bytes(received) == b"before" + part.read() + b"after"


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Threads that read large slices wait until it is set."""
    event = threading.Event()
    read = SystemFile.read

    def slow(self: SystemFile, position: int, length: int) -> bytes:
        if length > 1000 and not threading.current_thread().name.startswith("node at"):
            assert event.wait(20)
        return read(self, position, length)

    monkeypatch.setattr(SystemFile, "read", slow)
    yield event
    event.set()


def forget_log(node: Node) -> None:
    for segment in node.partition("orders", 0).log.segments:
        segment.file.sync()
        forget(FileSlice(segment.file, 0, segment.size))


@pytest.mark.parametrize("size", [50_000, LARGE])
def test_others_are_served_while_a_disk_is_read(node: RunningNode, held: threading.Event, size: int) -> None:
    with node.client() as client, node.client() as other:
        create(client)
        for number in range(5):
            produce(client, bytes([number]) * size)
        found: list[object] = []
        if not node.do(lambda each: can_be_forgotten(_slice(each))):
            pytest.skip("this file system forgets nothing")
        reader = threading.Thread(target=lambda: found.append(fetch(client, 0, 10_000_000)))
        reader.start()
        node.until(lambda each: each.cold_reads._limiter.borrowed_tokens)
        for _ in range(20):
            assert produce(other, b"meanwhile").error_code == 0
        assert found == []
        held.set()
        reader.join()
        expected = [(number, bytes([number]) * size) for number in range(5)]
        assert found == [expected]


def _slice(node: Node) -> FileSlice:
    active = node.partition("orders", 0).log.active
    active.file.sync()
    return FileSlice(active.file, 0, active.size)


def test_at_most_so_many_threads_read(tmp_path: Path, held: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barnabas.broker.outgoing.is_cached", lambda *_: False)
    limits = {"barnabas_cold_read_threads": "2", "barnabas_cold_read_max_bytes": "4096"}
    with RunningNode(tmp_path / "data", clock=None, disk=None, **limits) as node, node.client() as client:
        create(client)
        produce(client, bytes(LARGE))
        found: list[object] = []

        def ask() -> None:
            with node.client() as asking:
                found.append(fetch(asking, 0, 10_000_000))

        readers = [threading.Thread(target=ask) for _ in range(4)]
        for reader in readers:
            reader.start()
        node.until(lambda each: each.cold_reads._limiter.statistics().tasks_waiting == 2)
        assert node.do(lambda each: each.cold_reads._limiter.borrowed_tokens) == 2
        held.set()
        for reader in readers:
            reader.join()
        assert found == [[(0, bytes(LARGE))]] * 4


def test_a_client_that_goes_while_the_disk_is_read_is_forgotten(node: RunningNode, held: threading.Event) -> None:
    with node.client() as client:
        create(client)
        produce(client, bytes(LARGE))
    if not node.do(lambda each: can_be_forgotten(_slice(each))):
        pytest.skip("this file system forgets nothing")
    gone = RawClient(*node.address)
    reader = threading.Thread(target=lambda: _fetch_in_vain(gone))
    reader.start()
    node.until(lambda each: each.cold_reads._limiter.borrowed_tokens)
    gone._socket.shutdown(socket.SHUT_RDWR)
    reader.join()
    gone._socket.close()
    held.set()
    node.until(lambda each: not each.listeners[0].connections)


def _fetch_in_vain(client: RawClient) -> None:
    with pytest.raises((ConnectionError, OSError)):
        fetch(client, 0, 10_000_000)


def test_a_disk_that_fails_while_it_is_read_is_noticed(node: RunningNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cold_reads, "is_cached", lambda *_: False)
    monkeypatch.setattr("barnabas.broker.outgoing.is_cached", lambda *_: False)
    with node.client() as client:
        create(client)
        produce(client, bytes(LARGE))
        noticed: list[Path] = []
        node.do(lambda each: setattr(each.disk_failures, "file_failed", lambda path, _error: noticed.append(path)))
        read = SystemFile.read

        def failing(self: SystemFile, position: int, length: int) -> bytes:
            if length > 1000:
                raise OSError(errno.EIO, "Input/output error")
            return read(self, position, length)

        monkeypatch.setattr(SystemFile, "read", failing)
        _fetch_in_vain(client)
        assert [path.name for path in noticed] == [f"{0:020d}.log"]
