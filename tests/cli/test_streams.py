"""What a shell may have done with a command's streams: closed, full, a pipe that nobody reads, an old alphabet."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from barnabas.cli.output import Output
from barnabas.testing import Broker
from tests.cli.beside import run

PATIENCE_S = 60
TOPIC = "orders"


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        broker.produce(TOPIC, "first")
        yield broker


def shell(broker: Broker, line: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """`barnabas` in the line is the command, and its cluster is the broker. Output is buffered, as a user's is."""
    quiet = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    where = {"BARNABAS_BOOTSTRAP_SERVER": broker.bootstrap_servers} | environment
    return subprocess.run(
        ["bash", "-c", f'barnabas() {{ "{sys.executable}" -m barnabas.cli "$@"; }}; {line}'],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=quiet | where,
        timeout=PATIENCE_S,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", ["topics list", "topics list --json", "consume orders --from-beginning --max-messages 1"]
)
def test_a_full_disk_is_said_in_a_sentence(broker: Broker, command: str) -> None:
    ran = shell(broker, f"barnabas {command} > /dev/full")
    assert ran.returncode == 1
    assert ran.stderr.splitlines()[-1] == (
        f"barnabas {command.split()[0]}: The output cannot be written (No space left on device): "
        "see to the disk, or to what it goes to."
    )
    assert "Traceback" not in ran.stderr
    assert "Exception ignored" not in ran.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("barnabas topics list | true; exit ${PIPESTATUS[0]}", 1),
        ("barnabas topics --help > /dev/full", 0),
        ("barnabas topics list >&-", 0),
        ("barnabas topics list 2>&-", 0),
        ("barnabas produce orders <&-", 0),
        ("barnabas topics list <&- >&- 2>&-", 0),
    ],
)
def test_nobody_who_reads_or_writes_is_no_error(broker: Broker, line: str, code: int) -> None:
    ran = shell(broker, line)
    assert (ran.returncode, ran.stderr) == (code, "")


@pytest.mark.slow
def test_letters_that_the_terminal_has_not(broker: Broker) -> None:
    assert run(
        *("configs", "alter", "client", "käse", "consumer_byte_rate=5"),
        *("--bootstrap-server", broker.bootstrap_servers),
    ) == (0, "Completed updating config for client käse.\n", "")
    old = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    told = shell(broker, "barnabas quotas list && barnabas quotas list --json", **old)
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout.isascii()
    assert json.loads(told.stdout.splitlines()[-1])[0]["entity"] == {"client-id": "käse"}


def test_json_is_json_in_every_alphabet() -> None:
    for encoding, text in (("ascii", b'{"name": "k\\u00e4se"}\n'), ("utf-8", '{"name": "käse"}\n'.encode())):
        stream = io.TextIOWrapper(io.BytesIO(), encoding)
        Output(as_json=True, stream=stream).json({"name": "käse"})
        assert stream.detach().getvalue() == text
