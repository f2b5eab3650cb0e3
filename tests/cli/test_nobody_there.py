"""Commands whose cluster is not there, or says nothing: one sentence, and no longer than --timeout."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pytest

from tests.cli.beside import run
from tests.kafka.broker import free_ports

COMMANDS = [
    ["topics", "--list"],
    ["topics", "--describe", "--offsets"],
    ["topics", "create", "orders"],
    ["topics", "delete", "orders"],
    ["configs", "describe", "topics"],
    ["configs", "alter", "topic", "orders", "retention.ms=1"],
    ["configs", "describe", "user", "alice"],
    ["quotas", "list"],
    ["quotas", "set", "--user", "alice", "produce=1k"],
    ["client-metrics", "list"],
]
TIMEOUT_S = 0.2


@pytest.fixture(scope="module")
def silent_port() -> Iterator[int]:
    """Connections are taken, and nothing is answered."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: "-".join(words[:2]))
def test_a_server_that_says_nothing_is_left_in_time(command: list[str], silent_port: int) -> None:
    began = time.monotonic()
    ran = run(*command, "--bootstrap-server", f"127.0.0.1:{silent_port}", "--timeout", str(TIMEOUT_S))
    assert TIMEOUT_S <= time.monotonic() - began < 10 * TIMEOUT_S
    assert (ran.code, ran.out) == (1, "")
    assert "does not answer" in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: "-".join(words[:2]))
def test_where_nobody_listens_it_says_so(command: list[str]) -> None:
    (port,) = free_ports(1)
    ran = run(*command, "--bootstrap-server", f"127.0.0.1:{port}")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        f"barnabas {command[0]}: 127.0.0.1:{port} cannot be reached (Connection refused): is a broker running there?\n"
    )
