"""Limits at their very edge: what is just allowed is served, what is just beyond is not; and limits that are lowered
while clients are there."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from pathlib import Path

import pytest

from barnabas.broker.node import Node
from barnabas.protocol.apis import APIS
from barnabas.protocol.frames import encode_request
from barnabas.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from tests.clients.waiting import wait_until

from .asking import BROKER, set_config
from .running import RunningNode
from .test_connections import is_closed, open_connections, speaks

BOUND = 65_536


def request_of(size: int) -> bytes:
    """A frame of so many bytes, not counting those that say so: the client's name is long."""

    def framed(name: str) -> bytes:
        request = ApiVersionsRequest(client_software_name="s" * 32_000, client_software_version="v" * 32_000)
        return b"".join(encode_request(APIS[18], 3, 7, name, request))  # type: ignore[arg-type]

    frame = framed("x" * (size + 4 - len(framed(""))))
    assert len(frame) == size + 4
    return frame


@pytest.mark.parametrize("key", ["socket_request_max_bytes", "barnabas_memory_connection_max_bytes"])
def test_the_largest_request(tmp_path: Path, key: str) -> None:
    with RunningNode(tmp_path, **{key: str(BOUND)}) as node:  # type: ignore[arg-type]
        with socket.create_connection(node.address, timeout=20) as allowed:
            allowed.sendall(request_of(BOUND))
            assert allowed.recv(100)
            allowed.sendall(request_of(BOUND))
            assert allowed.recv(100)
        with socket.create_connection(node.address, timeout=20) as refused:
            refused.sendall(request_of(BOUND + 1)[:8])
            assert is_closed(refused)
    assert sum(f"{BOUND + 1} bytes" in line for line in node.lines) == 1


@pytest.mark.parametrize("most", [1, 7])
def test_as_many_connections_as_there_may_be(tmp_path: Path, most: int) -> None:
    with RunningNode(tmp_path, max_connections=str(most)) as node, ExitStack() as clients:
        connected = [clients.enter_context(node.client()) for _ in range(most)]
        assert all(map(speaks, connected))
        waiting = [clients.enter_context(node.client()) for _ in range(5)]
        for one in waiting:
            one.send(ApiVersionsRequest(client_software_name="test", client_software_version="1"), 3)
        assert all(map(speaks, connected))
        assert open_connections(node) == most
        # One after the other gets in, and never two.
        for number, one in enumerate(waiting):
            connected.pop(0).__exit__(None, None, None)
            assert one.receive(ApiVersionsResponse).error_code == 0
            assert open_connections(node) == most, number
            connected.append(one)


@pytest.mark.slow
def test_fewer_connections_than_there_are(tmp_path: Path) -> None:
    """Who has been silent goes, and who speaks stays."""
    with RunningNode(tmp_path, connections_max_idle_ms="8000") as node, ExitStack() as clients:
        silent = [clients.enter_context(socket.create_connection(node.address)) for _ in range(6)]
        wait_until(lambda: open_connections(node) == 6, "all to be let in")
        busy = clients.enter_context(node.client())
        # A round of looking has to pass before anybody counts as silent.
        wait_until(lambda: speaks(busy) and node.do(silent_ones) == 6, "the silent ones to be noticed")
        assert set_config(busy, BROKER, "", "max.connections", "3") == 0
        wait_until(lambda: speaks(busy) and open_connections(node) == 3, "the surplus to be closed")
        assert speaks(busy)
        assert sum(map(is_gone, silent)) == 4


def silent_ones(node: Node) -> int:
    connections = [each for listener in node.all_listeners for each in listener.connections]
    return sum(not each.is_fresh for each in connections)


def is_gone(sock: socket.socket) -> bool:
    sock.setblocking(False)
    try:
        return sock.recv(1) == b""
    except BlockingIOError:
        return False


def test_fewer_of_one_address_than_there_are(tmp_path: Path) -> None:
    """Those who are here stay, as with Kafka; nobody new comes before they have gone."""
    with RunningNode(tmp_path) as node, ExitStack() as clients:
        here = [clients.enter_context(node.client()) for _ in range(4)]
        assert all(map(speaks, here))
        assert set_config(here[0], BROKER, "", "max.connections.per.ip", "2") == 0
        with socket.create_connection(node.address) as refused:
            assert is_closed(refused)
        assert all(map(speaks, here))
        for one in here[2:]:
            one.__exit__(None, None, None)
        wait_until(lambda: open_connections(node) == 2, "two to go")
        with socket.create_connection(node.address) as refused:
            assert is_closed(refused)
        here[1].__exit__(None, None, None)
        wait_until(lambda: open_connections(node) == 1, "one to go")
        with node.client() as another:
            assert speaks(another)
