"""What the command line refuses, with which words and exit codes; no broker is started."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from barnabas.broker.start_problems import sentences
from barnabas.cli.commands import COMMANDS, SHORT_NAMES, Command, find
from barnabas.cli.main import main
from barnabas.cli.start import settings_from
from barnabas.cli.version import KAFKA_VERSION, VERSION
from barnabas.protocol.errors import ErrorCode, KafkaError
from tests.kafka.classpath import kafka_version

ROOT = Path(__file__).resolve().parents[2]


def test_the_version_is_that_of_the_package() -> None:
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == VERSION
    assert kafka_version() == KAFKA_VERSION


def test_the_first_command_of_the_readme_starts_a_broker() -> None:
    readme = (ROOT / "README.md").read_text()
    assert readme.split("```")[1].strip() == "make start"
    # As a user types it, also where make itself runs the tests.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    dry = subprocess.run(
        ["make", "--dry-run", "start", "ARGS=--listen :1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        env=environment | {"MAKEFLAGS": "--no-print-directory"},
    )
    assert dry.stdout.splitlines()[-1] == ".venv/bin/barnabas start --listen :1"


def test_version_and_help_import_no_broker(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("barnabas.cli.start")]:
        monkeypatch.delitem(sys.modules, name)
    for arguments in (["--version"], ["--help"]):
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert ended.value.code == 0
    assert "barnabas.cli.start" not in sys.modules
    told = capsys.readouterr().out
    assert VERSION in told
    assert "start" in told


def test_short_names_are_those_of_commands_in_groups() -> None:
    for short, words in SHORT_NAMES.items():
        assert short not in COMMANDS
        assert find([short, "--help"]) == find([*words, "--help"])
        assert isinstance(find([short])[1], Command)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([], 2, ["COMMAND", "--help"]),
        (["stop"], 2, ["stop", "start"]),
        (["start", "--port", "1"], 2, ["--port", "--help"]),
        (["start", "--listen"], 2, ["--listen needs a value behind it. See barnabas start --help."]),
        (["consume", "--timeout-ms", "soon"], 2, ["--timeout-ms soon is no whole number."]),
        (["consume", "--isolation-level", "x"], 2, ["--isolation-level x is none of read_committed, read_uncommitted"]),
        (["completion", "tcsh"], 2, ["SHELL tcsh is none of bash, zsh, fish."]),
        (["completion"], 2, ["SHELL has to be given."]),
        (["records", "delete", "a"], 2, ["one of --offset-json-file, --before-offset, --before-time, --all has to be"]),
        (["records", "delete", "a", "--all", "--before-time", "1"], 2, ["--before-time and --all cannot be given"]),
        (["topics", "--timeout", "1e9"], 2, ["--timeout: 1e9 is no number of seconds above 0 and up to 604800."]),
        (["start", "--listen", "nowhere"], 2, ["--listen nowhere", "HOST:PORT"]),
        (["start", "--listen", "a:b"], 2, ["--listen a:b", "HOST:PORT"]),
        (["start", "--set", "num.partitions"], 2, ["num.partitions", "KEY=VALUE"]),
        (["start", "--ephemeral", "--data", "d"], 2, ["--ephemeral", "leave away"]),
        (["start", "--ephemeral", "--set", "log.dirs=d"], 2, ["--ephemeral", "leave away"]),
        (["start", "--ready-file", "/nowhere/ready"], 1, ["--ready-file /nowhere/ready", "No such file or directory"]),
        (["start", "--ready-file", "/proc"], 1, ["--ready-file /proc", "no file"]),
        (["start", "--config", "/nowhere/server.properties"], 1, ["/nowhere/server.properties", "--config"]),
        (["start", "--set", "num.partitions=none"], 1, ["num.partitions=none", "integer", "1"]),
        (["start", "--set", "num.partitions=0"], 1, ["num.partitions=0", "at least 1"]),
        (["start", "--listen", "127.0.0.1:99999"], 1, ["99999", "65535"]),
        (["start", "--set", "process.roles=broker"], 1, ["process.roles=broker"]),
        (["start", "--set", "authorizer.class.name=x"], 1, ["authorizer.class.name"]),
        (["start", "--listen", "127.0.0.1:0", "--data", "/proc/none"], 1, ["/proc/none"]),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(
    arguments: list[str], code: int, words: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    if "start" in arguments and code == 1 and "--data" not in arguments:
        arguments = [*arguments, "--data", str(tmp_path / "data")]
    try:
        assert main(arguments) == code
    except SystemExit as ended:
        assert ended.code == code
    told = capsys.readouterr().err
    assert all(word in told for word in words), told
    assert "Traceback" not in told
    assert not (tmp_path / "data").exists()


def test_all_that_is_wrong_is_said_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["start", "--set", "num.partitions=x", "--set", "log.retention.hours=y"]) == 1
    told = capsys.readouterr().err.splitlines()
    assert [line.split("=")[0] for line in told] == ["barnabas: log.retention.hours", "barnabas: num.partitions"]


def test_what_is_the_machines_fault_is_a_sentence_and_what_is_ours_is_not() -> None:
    full = OSError(errno.ENOSPC, "No space left on device", "/data/x")
    failing = ExceptionGroup("", [ExceptionGroup("", [OSError(errno.EIO, "Input/output error")])])
    refused = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "/data/__cluster_metadata-0: append failed")
    for error in (full, failing, refused):
        (sentence,) = sentences(error)
        assert sentence.endswith(".")
    assert not list(sentences(OSError(errno.EBADF, "Bad file descriptor")))
    assert not list(sentences(ValueError("ours")))


def test_what_listens_moves_and_the_controller_stays() -> None:
    file = {
        "controller.listener.names": "CONTROLLER",
        "listeners": "EXTERNAL://:9092, CONTROLLER://:9093",
    }
    assert settings_from("h:1", "/d", file) == {"listeners": "EXTERNAL://h:1,CONTROLLER://:9093", "log.dirs": "/d"}
    assert settings_from("[::1]:1", None, {}) == {"listeners": "PLAINTEXT://[::1]:1"}
    assert settings_from(None, None, file) == {}
    assert settings_from(None, None, file, as_json=True) == {"barnabas.logging.format": "json"}
