"""Who is let in, who is shown out, and what a connection may hold."""

from __future__ import annotations

import os
import resource
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Self

import pytest

from barnabas.broker.connection import Answer
from barnabas.broker.memory import PATIENCE_MS, Memory
from barnabas.broker.node import Node
from barnabas.cli.start import allow_all_files
from barnabas.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityData,
    EntryData,
    OpData,
)
from barnabas.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from tests.kafka.client import RawClient

from .running import RunningNode
from .test_produce_and_fetch import TOPIC, create, fetch, produce

KIBIBYTE, MEBIBYTE = 1 << 10, 1 << 20
PATIENCE_S = 20


@pytest.fixture(autouse=True, scope="module")
def many_files() -> None:
    """Clients are files of this process, too."""
    allow_all_files()
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] >= 2_500, "raise the limit of open files (ulimit -Hn)"


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"


@contextmanager
def running(directory: Path, **settings: str) -> Iterator[RunningNode]:
    node = RunningNode(directory)
    node.settings = {name.replace("_", "."): value for name, value in settings.items()}
    with node:
        yield node


def open_connections(node: RunningNode) -> int:
    return node.do(lambda of: sum(len(listener.connections) for listener in of.all_listeners))


def is_closed(sock: socket.socket) -> bool:
    sock.settimeout(PATIENCE_S)
    try:
        return sock.recv(1) == b""
    except ConnectionError:
        return True


def speaks(client: RawClient) -> bool:
    request = ApiVersionsRequest(client_software_name="test", client_software_version="1")
    return client.ask(request, 3, ApiVersionsResponse).error_code == 0


# How many


def test_the_next_one_waits_until_there_is_room(tmp_path: Path) -> None:
    with running(tmp_path, max_connections="2") as node, ExitStack() as clients:
        first, second = (clients.enter_context(node.client()) for _ in range(2))
        assert speaks(first)
        assert speaks(second)
        third = clients.enter_context(node.client())
        third.send(ApiVersionsRequest(client_software_name="test", client_software_version="1"), 3)
        assert speaks(second)
        assert open_connections(node) == 2
        first.__exit__(None, None, None)
        assert third.receive(ApiVersionsResponse).error_code == 0


def test_a_listener_has_a_limit_of_its_own(tmp_path: Path) -> None:
    settings = {"listener.name.plaintext.max.connections": "1"}
    with running(tmp_path, **settings) as node, node.client() as first:
        assert speaks(first)
        with node.client() as second:
            second.send(ApiVersionsRequest(client_software_name="test", client_software_version="1"), 3)
            assert speaks(first)
            assert open_connections(node) == 1


@pytest.mark.parametrize(
    "settings",
    [
        {"max_connections_per_ip": "2"},
        {"max_connections_per_ip": "0", "max_connections_per_ip_overrides": "127.0.0.1:2"},
        {"max_connections_per_ip_overrides": "localhost:2,10.0.0.1:50"},
    ],
)
def test_an_address_has_so_many_and_no_more(tmp_path: Path, settings: dict[str, str]) -> None:
    with running(tmp_path, **settings) as node, node.client() as first, node.client() as second:
        assert speaks(first)
        assert speaks(second)
        with socket.create_connection(node.address) as third:
            assert is_closed(third)
        first.__exit__(None, None, None)
        until(lambda: open_connections(node) == 1)
        with node.client() as fourth:
            assert speaks(fourth)


@pytest.mark.slow
def test_only_so_many_come_in_a_second(tmp_path: Path) -> None:
    with running(tmp_path, max_connection_creation_rate="1") as node, ExitStack() as clients:
        started = time.monotonic()
        for _ in range(12):
            assert speaks(clients.enter_context(node.client()))
        # Ten in a burst, the windows' worth; the others one window apart, which is the most that anybody waits.
        assert time.monotonic() - started > 0.9


@pytest.mark.slow
def test_an_address_that_comes_too_often_for_its_quota_is_sent_away_later(tmp_path: Path) -> None:
    with running(tmp_path, quota_window_num="2") as node, node.client() as client:
        entry = EntryData(
            entity=[EntityData(entity_type="ip", entity_name="127.0.0.1")],
            ops=[OpData(key="connection_creation_rate", value=1.0)],
        )
        answer = client.ask(AlterClientQuotasRequest(entries=[entry]), 1, AlterClientQuotasResponse)
        assert [one.error_code for one in answer.entries] == [0]
        with node.client() as second, socket.create_connection(node.address) as third:
            assert speaks(second)
            started = time.monotonic()
            assert is_closed(third)
            # One in a second, and two came.
            assert 0.4 < time.monotonic() - started < 5
            assert speaks(second)
            assert open_connections(node) == 2


def test_who_is_idle_is_closed_and_who_is_not_stays(tmp_path: Path) -> None:
    with running(tmp_path, connections_max_idle_ms="400") as node, node.client() as busy:
        with socket.create_connection(node.address) as idle:
            idle.setblocking(False)
            gone = False
            while not gone:
                assert speaks(busy)
                try:
                    gone = idle.recv(1) == b""
                except BlockingIOError:
                    continue
        assert speaks(busy)


# Long polls


def long_poll() -> FetchRequest:
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1000)
    return FetchRequest(
        max_wait_ms=600_000, min_bytes=1, topics=[FetchTopic(topic=TOPIC, partitions=[partition])], session_epoch=-1
    )


def waiting(node: RunningNode) -> int:
    return node.do(
        lambda of: sum(connection.waiting for listener in of.all_listeners for connection in listener.connections)
    )


def watchers(node: RunningNode) -> int:
    """Long polls that look at the partition."""
    return node.do(lambda of: len(of.partition(TOPIC, 0).high_watermark._watchers))


@pytest.mark.parametrize("how", ["close", "reset", "close with more behind"])
def test_the_long_poll_of_a_client_that_is_gone_ends(tmp_path: Path, how: str) -> None:
    with running(tmp_path) as node, node.client() as client:
        create(client)
        gone = node.client()
        gone.send(long_poll(), 12)
        until(lambda: waiting(node) == 1)
        until(lambda: watchers(node) == 1)
        if how == "reset":
            gone._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        if how == "close with more behind":
            gone.send(long_poll(), 12)
        gone.__exit__(None, None, None)
        until(lambda: open_connections(node) == 1)
        until(lambda: watchers(node) == 0)


def test_a_client_that_says_no_more_gets_its_answer(tmp_path: Path) -> None:
    with running(tmp_path) as node, node.client() as client:
        create(client)
        client.send(long_poll(), 12)
        until(lambda: waiting(node) == 1)
        client._socket.shutdown(socket.SHUT_WR)
        answer = client._socket.recv(1000)
        assert len(answer) == 4 + int.from_bytes(answer[:4])


def test_a_partition_that_is_led_again_is_waited_for_again(tmp_path: Path) -> None:
    with running(tmp_path) as node, node.client() as client:
        create(client)

        def lead_again(of: Node) -> None:
            partition = of.partition(TOPIC, 0)
            partition.resign()
            state = of.image.topics.by_name[TOPIC].partitions[0]
            partition.lead(replace(state, leader_epoch=partition.leader_epoch + 1))

        node.do(lead_again)
        client.send(long_poll(), 12)
        until(lambda: waiting(node) == 1)
        with node.client() as other:
            assert produce(other, b"news").error_code == 0
        answer = client.receive(FetchResponse)
        assert answer.responses[0].partitions[0].records


def test_a_fault_of_ours_ends_one_connection_and_no_more(tmp_path: Path) -> None:
    with running(tmp_path) as node, node.client() as client:
        assert speaks(client)

        def spoil(of: Node) -> None:
            (connection,) = of.listeners[0].connections
            server = connection._server

            def serve(*_arguments: object) -> Answer:
                patch.undo()
                raise RuntimeError("we are broken")

            patch.setattr(server, "serve", serve)

        patch = pytest.MonkeyPatch()
        node.do(spoil)
        with pytest.raises(ConnectionError):
            speaks(client)
        with node.client() as other:
            assert speaks(other)
        assert any("failed" in str(line) for line in node.lines)


def test_a_stop_does_not_wait_for_long_polls(tmp_path: Path) -> None:
    with running(tmp_path) as node, node.client() as client:
        create(client)
        client.send(long_poll(), 12)
        until(lambda: waiting(node) == 1)
        started = time.monotonic()
        node.stop()
        assert time.monotonic() - started < 2


# What is wrong with a request


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "1195725856 bytes"),
        (struct.pack(">i", 2**31 - 1), "2147483647 bytes"),
        (struct.pack(">i", -1), "-1 bytes"),
        (struct.pack(">ihhih", 10, 200, 0, 7, -1), "API 200"),
        (struct.pack(">ihhih", 10, 3, 99, 7, -1), "version 99 of API 3"),
        (struct.pack(">i", 0), "0 bytes"),
    ],
)
def test_a_broken_request_ends_the_connection_with_one_line(tmp_path: Path, sent: bytes, why: str) -> None:
    with running(tmp_path) as node:
        before = len(node.lines)
        with socket.create_connection(node.address) as sock:
            sock.sendall(sent)
            assert is_closed(sock)
        lines = [str(line) for line in node.lines[before:]]
        assert len(lines) == 1, lines
        assert why in lines[0]
        with node.client() as client:
            assert speaks(client)


# Memory, as its counter sees it


class Holder:
    def __init__(self) -> None:
        self.is_open = True
        self.held = self.owed = 0
        self.paused = False
        self.reason = ""

    def pause(self) -> None:
        self.paused = True

    def resume(self) -> None:
        self.paused = False

    def close(self, reason: str) -> None:
        self.reason = reason


def test_beyond_the_bound_one_request_goes_on() -> None:
    memory = Memory(1 * MEBIBYTE, MEBIBYTE)
    a, b, c = Holder(), Holder(), Holder()
    memory.hold(a, 600 * KIBIBYTE, incomplete=True)
    memory.hold(b, 600 * KIBIBYTE, incomplete=True)
    memory.hold(c, 600 * KIBIBYTE, incomplete=True)
    memory.hold(a, 700 * KIBIBYTE, incomplete=True)
    assert [each.paused for each in (a, b, c)] == [True, False, True]
    memory.hold(b, 0, incomplete=False)
    assert [each.paused for each in (a, b, c)] == [True, False, False]
    memory.hold(c, 0, incomplete=False)
    assert not a.paused
    memory.forget(a)
    assert memory.requests == 0


def test_who_keeps_others_waiting_and_sends_nothing_is_closed() -> None:
    memory = Memory(1 * MEBIBYTE, MEBIBYTE)
    stalled, patient = Holder(), Holder()
    for holder in (stalled, patient):
        memory.hold(holder, 2 * MEBIBYTE, incomplete=True)
    memory.look(0)
    memory.look(PATIENCE_MS - 1)
    assert not stalled.reason
    memory.look(PATIENCE_MS)
    assert "does not send the rest" in stalled.reason
    memory.forget(stalled)
    assert not patient.paused


def test_beyond_the_bound_of_answers_nothing_is_begun() -> None:
    memory = Memory(MEBIBYTE, MEBIBYTE)
    slow, other = Holder(), Holder()
    memory.owe(slow, 2 * MEBIBYTE)
    assert memory.is_full
    memory.wait(other)
    memory.look(0)
    memory.look(PATIENCE_MS)
    assert "does not read" in slow.reason
    memory.owe(slow, 0)
    assert not memory.is_full
    assert not other.paused


# Memory, as the system sees it


class Program:
    """A node in a process of its own, so that its memory is its own."""

    SOURCE = """
import sys, trio
from barnabas.broker.configuration.node_config import NodeConfig
from barnabas.broker.node import Node
node = Node(NodeConfig.load({}, dict(each.split("=", 1) for each in sys.argv[1:])), report=lambda event: None)
async def main():
    async with trio.open_nursery() as nursery:
        await nursery.start(node.run)
        print(node.addresses[0][1], flush=True)
        await trio.to_thread.run_sync(sys.stdin.read)
        node.stop()
trio.run(main)
"""

    def __init__(self, directory: Path, **settings: str) -> None:
        given = {"log.dirs": str(directory), "listeners": "PLAINTEXT://127.0.0.1:0", **settings}
        self.process = subprocess.Popen(
            [sys.executable, "-c", self.SOURCE, *(f"{name}={value}" for name, value in given.items())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self.process.stdout is not None
        self.address = "127.0.0.1", int(self.process.stdout.readline())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        assert self.process.wait(PATIENCE_S) == 0
        self.process.stdout.close()

    @property
    def resident(self) -> int:
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    @property
    def cpu_s(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.slow
def test_claimed_sizes_reserve_nothing(tmp_path: Path) -> None:
    with Program(tmp_path) as program, ExitStack() as sockets:
        before = program.resident
        for _ in range(500):
            sock = sockets.enter_context(socket.create_connection(program.address))
            sock.sendall(struct.pack(">i", 100 * MEBIBYTE) + bytes(100))
        with RawClient(*program.address) as client:
            assert speaks(client)
            grown = program.resident - before
        assert grown < 8 * MEBIBYTE


@pytest.mark.slow
def test_two_thousand_clients(tmp_path: Path) -> None:
    with Program(tmp_path) as program, ExitStack() as clients:
        connected = [clients.enter_context(RawClient(*program.address)) for _ in range(20)]
        assert all(map(speaks, connected))
        before = program.resident
        connected = [clients.enter_context(RawClient(*program.address)) for _ in range(2_000)]
        assert all(map(speaks, connected))
        assert (program.resident - before) / 2_000 < 4 * KIBIBYTE


@pytest.mark.slow
def test_a_thousand_idle_long_polls_cost_nothing(tmp_path: Path) -> None:
    with Program(tmp_path) as program, ExitStack() as clients:
        first = clients.enter_context(RawClient(*program.address))
        create(first)
        for _ in range(1_000):
            clients.enter_context(RawClient(*program.address)).send(long_poll(), 12)
        assert speaks(first)
        begun, cpu_s = time.monotonic(), program.cpu_s
        clients.enter_context(socket.create_connection(program.address)).settimeout(3)
        idle = socket.create_connection(program.address, timeout=3)
        with pytest.raises(TimeoutError):
            idle.recv(1)
        idle.close()
        assert (program.cpu_s - cpu_s) / (time.monotonic() - begun) < 0.02


@pytest.mark.slow
def test_requests_of_all_together_are_bounded(tmp_path: Path) -> None:
    """Forty clients send 8 of 9 MB each, and the rest never or late; those that do get through."""
    settings = {"barnabas.memory.requests.max.bytes": str(32 * MEBIBYTE)}
    frame = struct.pack(">ihhih", 9 * MEBIBYTE, 200, 0, 7, -1) + bytes(9 * MEBIBYTE - 10)
    with Program(tmp_path, **settings) as program, ExitStack() as sockets:
        before = program.resident
        senders = [sockets.enter_context(socket.create_connection(program.address)) for _ in range(40)]
        for sock in senders:
            sock.setblocking(False)
        rest = [memoryview(frame) for _ in senders]
        ended = 0
        deadline = time.monotonic() + 3 * PATIENCE_S
        most = 0
        while ended < len(senders):
            assert time.monotonic() < deadline, f"{ended} of {len(senders)} got through"
            most = max(most, program.resident)
            for number, sock in enumerate(senders):
                try:
                    if rest[number]:
                        rest[number] = rest[number][sock.send(rest[number][: 256 * KIBIBYTE]) :]
                    elif rest[number] is not None and sock.fileno() >= 0 and sock.recv(1) == b"":
                        # There is no API 200: a whole request of it ends the connection.
                        sock.close()
                        ended += 1
                except BlockingIOError:
                    continue
                except ConnectionError:
                    if sock.fileno() >= 0:
                        sock.close()
                        ended += 1
        assert most - before < 80 * MEBIBYTE


@pytest.mark.slow
def test_who_does_not_read_is_not_served(tmp_path: Path) -> None:
    with Program(tmp_path) as program, RawClient(*program.address) as client:
        create(client)
        for _ in range(4):
            assert produce(client, bytes(900_000)).error_code == 0
        before = program.resident
        partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=8 * MEBIBYTE)
        request = FetchRequest(
            max_wait_ms=0, min_bytes=1, topics=[FetchTopic(topic=TOPIC, partitions=[partition])], session_epoch=-1
        )
        with ExitStack() as clients:
            for _ in range(50):
                deaf = clients.enter_context(RawClient(*program.address))
                for _ in range(20):
                    deaf.send(request, 12)
            assert len(fetch(client, 0, max_bytes=MEBIBYTE)) >= 1
            assert program.resident - before < 32 * MEBIBYTE
