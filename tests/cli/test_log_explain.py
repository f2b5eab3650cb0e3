"""`barnabas log explain`: the rules are storage's and tested there; here, that they are applied to what lies there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from barnabas.protocol.record import Record
from tests.broker.running import RunningNode
from tests.cli.beside import Side, run
from tests.cli.log_files import NOW_MS, append, fill, finish, make_directory, make_partition
from tests.kafka.broker import KafkaBroker


def explained(*arguments: object) -> Any:
    ran = run("log", "explain", *map(str, arguments), "--json")
    assert (ran.code, ran.err) == (0, "")
    return json.loads(ran.out)


def contents(root: Path) -> dict[str, tuple[bytes, int]]:
    files = (path for path in sorted(root.rglob("*")) if path.is_file())
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def test_what_pins_the_last_stable_offset(tmp_path: Path) -> None:
    make_directory(tmp_path)
    before = contents(tmp_path)
    (told,) = explained(tmp_path)
    assert (told["topic"], told["partition"], told["endOffset"], told["lastStableOffset"]) == ("orders", 0, 43, 42)
    assert told["transactions"] == [
        {"producerId": 1003, "producerEpoch": 0, "firstOffset": 42, "since": "2023-11-14T22:13:20.111Z"}
    ]
    assert [segment["baseOffset"] for segment in told["segments"]] == [0, 19, 30, 40]
    assert all(segment["due"] for segment in told["segments"][:3]), "by the default of seven days"
    lines = run("log", "explain", str(tmp_path)).out
    assert "producer 1003 (epoch 0) has a transaction open from offset 42 on since 2023-11-14T22:13:20.111Z" in lines
    assert "no metadata log here: defaults" in lines
    assert contents(tmp_path) == before


def test_after_a_kill_and_with_a_torn_end(tmp_path: Path) -> None:
    log = make_partition(tmp_path)
    fill(log)
    finish(tmp_path, [log], clean=False)
    last = max(log.directory.glob("*.log"))
    last.write_bytes(last.read_bytes()[:-3])
    before = contents(tmp_path)
    ran = run("log", "explain", str(tmp_path))
    assert ran.code == 0
    assert contents(tmp_path) == before
    assert "offsets 0 to 42" in ran.out


def test_a_server_properties_has_the_defaults_and_the_directories(tmp_path: Path) -> None:
    make_directory(tmp_path / "data")
    config = tmp_path / "server.properties"
    config.write_text(f"log.dirs={tmp_path / 'data'}\nlog.retention.ms=-1\nlog.retention.bytes=2500\n")
    (told,) = explained("--config", config)
    assert [segment["due"] for segment in told["segments"]] == [True, False, False, False]
    assert "retention.bytes=2500" in told["segments"][0]["reason"]
    assert told["segments"][0]["keptUntil"] is None


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ("delete", "records are kept 1h, of any size"),
        ("compact", "of each key the last record is kept forever"),
        ("compact,delete", "of each key the last record is kept 1h, of any size"),
        ("", "records are kept forever"),
    ],
)
def test_what_a_policy_keeps_is_said(tmp_path: Path, policy: str, words: str) -> None:
    log = make_partition(tmp_path / "data", "orders-0")
    append(log, Record(b"k", b"v", timestamp=NOW_MS))
    finish(tmp_path / "data", [log])
    config = tmp_path / "server.properties"
    config.write_text(f"log.dirs={tmp_path / 'data'}\nlog.retention.ms=3600000\nlog.cleanup.policy={policy}\n")
    assert f"; {words} (no metadata" in run("log", "explain", "--config", str(config)).out


def test_topics_have_what_the_metadata_log_says(tmp_path: Path) -> None:
    """On a node that runs: its own directory, which it goes on writing to."""
    node = RunningNode(tmp_path / "data").start()
    try:
        side = Side("ours", _At(node.address), lambda: None)  # type: ignore[arg-type, return-value]
        side.create("compacted", cleanup_policy="compact", min_compaction_lag_ms="100000000")
        side.create("short", retention_ms="3600000", segment_bytes="1048576")
        side.produce("short", b"x")
        told = {one["topic"]: one for one in explained(tmp_path / "data")}
    finally:
        node.stop()
    assert told["compacted"]["cleanupPolicy"] == ["compact"]
    assert told["compacted"]["compaction"]["due"] is False
    assert told["short"]["retentionMs"] == 3_600_000
    (segment,) = told["short"]["segments"]
    assert segment["keptUntil"] is not None
    assert (told["short"]["endOffset"], told["short"]["highWatermark"]) == (1, 1)


class _At:
    def __init__(self, address: tuple[str, int]) -> None:
        self.host, self.port = address
        self.bootstrap = f"{self.host}:{self.port}"


@pytest.mark.java
def test_a_directory_of_kafka_that_runs(kafka: Side, name: str, kafka_broker: KafkaBroker) -> None:
    kafka.create(name, retention_bytes="1000000", retention_ms="86400000")
    kafka.produce(name, b"x", b"y")
    (told,) = explained("--data", kafka_broker.data_directory, "--topic", name)
    assert (told["endOffset"], told["retentionBytes"], told["retentionMs"]) == (2, 1_000_000, 86_400_000)
    assert told["remarks"] == []


def test_only_some_and_none(tmp_path: Path) -> None:
    logs = [make_partition(tmp_path, f"orders-{number}") for number in (0, 1)]
    for log in logs:
        append(log, Record(b"k", b"v", timestamp=NOW_MS))
    finish(tmp_path, logs)
    assert [one["partition"] for one in explained(tmp_path, "--topic", "orders", "--partition", "1")] == [1]
    assert [one["partition"] for one in explained(tmp_path / "orders-0")] == [0]
    for arguments, words in (
        ([tmp_path, "--topic", "other"], "no topic other"),
        ([tmp_path / "nowhere"], "There is no directory"),
        (["--config", tmp_path / "nowhere"], "check the path after --config"),
    ):
        ran = run("log", "explain", *map(str, arguments))
        assert (ran.code, ran.err.count("\n")) == (1, 1)
        assert words in ran.err


def test_what_cannot_be_read_is_said_and_the_rest_explained(tmp_path: Path) -> None:
    logs = [make_partition(tmp_path, f"orders-{number}") for number in (0, 1)]
    finish(tmp_path, logs)
    (tmp_path / "log-start-offset-checkpoint").write_text("nonsense\n")
    ran = run("log", "explain", str(tmp_path), "--json")
    assert ran.code == 1
    assert json.loads(ran.out) == []
    assert ran.err.count("cannot be explained") == 2
