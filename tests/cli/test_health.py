"""The health check says no where nobody serves, whatever it is that does not."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from barnabas.cli.health import main
from tests.broker.running import RunningNode


@contextmanager
def answering(data: bytes) -> Iterator[str]:
    """A listener that sends this to whoever says something, and closes."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(data)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"
        thread.join()


@pytest.mark.parametrize(
    "data",
    [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\0\0\0\x06\0\0\0\x12\0\x23", b"\0\0\0\x0a\0\0\0\x12\0\0\0\0\0\0"],
)
def test_what_is_no_broker_does_not_serve(data: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    with answering(data) as address:
        assert main([address]) == 1
    assert f"{address} does not serve" in capsys.readouterr().err


def test_nobody_does_not_serve(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"127.0.0.1:{listening.getsockname()[1]}"
    assert main([address]) == 1
    assert address in capsys.readouterr().err


def test_who_does_not_answer_does_not_serve(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        assert main([f"127.0.0.1:{listening.getsockname()[1]}", "--timeout", "0.1"]) == 1
    assert "timed out" in capsys.readouterr().err


def test_a_broker_serves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with RunningNode(tmp_path, barnabas_durability="memory") as node:
        assert main([node.bootstrap]) == 0
    assert "serves a cluster of 1" in capsys.readouterr().out


@pytest.mark.parametrize("address", ["nowhere", "host:port", "host:99999"])
def test_what_is_no_address_is_wrong_usage(address: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main([address])
    assert ended.value.code == 2
