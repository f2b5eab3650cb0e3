"""`barnabas storage` beside kafka-storage.sh: for the same configuration the same files, and the same words."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from barnabas.cli.storage.scram import parse_scram
from barnabas.coordination.cluster.metadata_version import MetadataVersion
from barnabas.coordination.cluster.snapshot_file import Snapshot, decode_snapshot
from barnabas.protocol.java_properties import parse_properties
from barnabas.protocol.records.cluster_metadata import UserScramCredentialRecord
from tests.broker.running import RunningNode
from tests.cli.beside import Ran, run
from tests.kafka.broker import KafkaBroker
from tests.kafka.tool_runner import ToolRunner

Tool = Callable[..., Ran]
CLUSTER = "KclusterOfFilesOnly000"


@pytest.fixture(scope="module")
def kafkas(kafka_tools: ToolRunner) -> Tool:
    def storage(*arguments: str) -> Ran:
        return Ran(*kafka_tools.attempt("kafka.tools.StorageTool", *arguments))

    return storage


def ours(*arguments: str) -> Ran:
    return run("kafka-storage.sh", *arguments)


def configured(root: Path, *lines: str, directories: str = "a,b", quorum: bool = False) -> str:
    root.mkdir(exist_ok=True)
    properties = {
        "process.roles": "broker,controller",
        "node.id": "3",
        "listeners": "PLAINTEXT://localhost:9092,CONTROLLER://:9193",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": ",".join(str(root / name) for name in directories.split(",")),
        "controller.quorum.voters" if quorum else "controller.quorum.bootstrap.servers": (
            "3@localhost:9193" if quorum else "localhost:9193"
        ),
    }
    properties |= dict(line.split("=", 1) for line in lines)
    path = root / "server.properties"
    path.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
    return str(path)


def left_in(root: Path) -> dict[str, Any]:
    """Every file, without what is drawn or a time."""
    found: dict[str, Any] = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if path.name == "meta.properties":
            properties = parse_properties(path.read_bytes())
            assert len(properties.pop("directory.id")) == 22
            found[name] = properties
        elif path.name.endswith(".checkpoint"):
            found[name] = _said(decode_snapshot(path.read_bytes()))
        elif path.is_file() and path.name != "server.properties":
            found[name] = path.read_bytes()
    return found


def _said(snapshot: Snapshot) -> Any:
    voters = None
    if snapshot.voters is not None:
        # Kafka writes them in the order of a hash table.
        found = sorted(snapshot.voters.voters, key=lambda one: one.voter_id)
        voters = [(one.voter_id, one.endpoints, one.kraft_version_feature) for one in found]
    records = []
    for record in snapshot.records:
        message = record.message
        if isinstance(message, UserScramCredentialRecord):
            records.append((message.name, message.mechanism, message.iterations, record.version))
        else:
            records.append((repr(message), record.version))  # type: ignore[arg-type]
    return snapshot.kraft_version, voters, records


def words_of(ran: Ran, root: Path) -> list[str]:
    """Kafka formats in the order of a hash table, and shows its records as Java prints them."""
    text = ran.out.replace(str(root), "ROOT")
    return sorted(line for line in text.splitlines() if not line.startswith("Bootstrap metadata: "))


ID = "JEXY6aqzQY-32P5TStzaFg"
FORMATS: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["--standalone"]),
    ({}, ["-s", "-r", "3.9"]),
    ({}, ["-s", "--release-version", "4.0", "-f", "group.version=0", "--feature", "transaction.version=1"]),
    ({}, ["-s", "-f", "metadata.version=26"]),
    ({}, ["-N"]),
    ({"quorum": True}, []),
    ({"quorum": True, "directories": "b,a"}, ["-f", "kraft.version=0"]),
    ({"directories": "b,a"}, ["-s"]),
    ({}, ["-I", f"3@[::1]:9193:{ID},4@localhost:9194:MvDxzVmcRsaTz33bUuRU6A"]),
    ({}, ["-I", f"4@localhost:9194:{ID}"]),
    ({}, ["-s", "-S", "SCRAM-SHA-256=[name=alice,password=alice-secret]"]),
    ({}, ["-s", "-S", 'SCRAM-SHA-512=[name=bob,iterations=8192,salt="N3E=",saltedpassword="YCE="]']),
]
REFUSED: list[tuple[dict[str, Any], list[str]]] = [
    ({}, []),
    ({"quorum": True}, ["--standalone"]),
    ({"quorum": True}, ["-I", f"3@localhost:9193:{ID}"]),
    ({"quorum": True}, ["-f", "kraft.version=1"]),
    ({}, ["-s", "-f", "kraft.version=0"]),
    ({}, ["-s", "-f", "foo=1"]),
    ({}, ["-s", "-f", "group.version=9"]),
    ({}, ["-s", "-f", "metadata.version=20", "-r", "4.0"]),
    ({}, ["-s", "-r", "3.2"]),
    ({}, ["-s", "-r", "4.4"]),
    ({}, ["-s", "-f", "metadata.version=31"]),
    ({}, ["-s", "-r", "4.0-IV0", "-f", "eligible.leader.replicas.version=1"]),
    ({}, ["-s", "-r", "3.4", "-S", "SCRAM-SHA-256=[name=alice,password=x]"]),
    ({}, ["-s", "-S", "SCRAM-MD5=[name=alice,password=x]"]),
    ({}, ["-s", "-S", "SCRAM-SHA-256=[name=alice]"]),
    ({}, ["-s", "-S", "SCRAM-SHA-256=[name=alice,saltedpassword=YCE=]"]),
    ({}, ["-s", "-S", "SCRAM-SHA-256=[name=alice,password=x,iterations=1]"]),
    ({}, ["-s", "-S", "SCRAM-SHA-256=[name=alice,password=x,colour=red]"]),
    ({}, ["-I", "3@localhost:9193"]),
    ({}, ["-s", "-N"]),
]


@pytest.mark.java
@pytest.mark.parametrize(("config", "arguments"), FORMATS, ids=lambda one: " ".join(one) or "static")
def test_the_files_are_those_of_kafka(
    kafkas: Tool, tmp_path: Path, config: dict[str, Any], arguments: list[str]
) -> None:
    roots = [tmp_path / "theirs", tmp_path / "ours"]
    whole = ["-t", CLUSTER, *arguments]
    theirs = kafkas("format", "-c", configured(roots[0], **config), *whole)
    mine = ours("format", "-c", configured(roots[1], **config), *whole)
    assert (mine.code, mine.err) == (theirs.code, "") == (0, ""), theirs
    assert words_of(mine, roots[1]) == words_of(theirs, roots[0])
    assert left_in(roots[1]) == left_in(roots[0])
    for again in ([], ["-g"]):
        theirs = kafkas("format", "-c", str(roots[0] / "server.properties"), *whole, *again)
        mine = ours("format", "-c", str(roots[1] / "server.properties"), *whole, *again)
        assert mine.code == theirs.code == (0 if again else 1)
        assert words_of(mine, roots[1]) == words_of(theirs, roots[0])
    for file in ("ours/b/meta.properties", "theirs/b/meta.properties"):
        (tmp_path / file).unlink()
    assert kafkas("format", "-c", str(roots[0] / "server.properties"), *whole, "-g").code == 0
    assert ours("format", "-c", str(roots[1] / "server.properties"), *whole, "-g").code == 0
    assert left_in(roots[1]) == left_in(roots[0])
    other = [root / "server.properties" for root in roots]
    assert kafkas("format", "-c", str(other[0]), "-g", "-t", "other", *arguments).code == 1
    refused = ours("format", "-c", str(other[1]), "-g", "-t", "other", *arguments)
    assert refused.code == 1
    assert "cluster.id" in refused.err
    assert left_in(roots[1]) == left_in(roots[0])


@pytest.mark.java
def test_what_kafka_refuses_is_refused_and_nothing_written(kafkas: Tool, tmp_path: Path) -> None:
    for number, (config, arguments) in enumerate(REFUSED):
        roots = [tmp_path / f"theirs{number}", tmp_path / f"ours{number}"]
        theirs = kafkas("format", "-c", configured(roots[0], **config), "-t", CLUSTER, *arguments)
        assert theirs.code == 1, arguments
        mine = ours("format", "-c", configured(roots[1], **config), "-t", CLUSTER, *arguments)
        assert mine.code in (1, 2), arguments
        assert mine.err.count("\n") == 1
        assert mine.err.startswith("barnabas storage format: ")
        assert left_in(roots[1]) == left_in(roots[0]) == {}


@pytest.mark.java
def test_info_is_told_in_kafkas_words(kafkas: Tool, tmp_path: Path) -> None:
    config = configured(tmp_path, directories="a,b,c")
    (tmp_path / "c").write_text("a file")

    def both() -> Ran:
        theirs, mine = kafkas("info", "-c", config), ours("info", "-c", config)
        assert mine == theirs
        return mine

    assert both().code == 1
    config = configured(tmp_path)
    assert kafkas("format", "-c", config, "-t", CLUSTER, "-s").code == 0
    assert both().code == 0
    assert json.loads(ours("info", "-c", config, "--json").out)["problems"] == []
    meta = tmp_path / "b" / "meta.properties"
    before = meta.read_text()
    meta.write_text(before.replace("node.id=3", "node.id=4"))
    assert "Mismatched node IDs" in both().out
    meta.write_text(before.replace(CLUSTER, "other"))
    assert "Mismatched cluster IDs" in both().out
    meta.unlink()
    assert "is not formatted." in both().out


@pytest.mark.java
def test_versions_and_features(kafkas: Tool) -> None:
    for version in ("", "3.7", "4.1", "4.2.7", *(each.text for each in MetadataVersion)):
        release = ["-r", version] if version else []
        assert ours("version-mapping", *release) == kafkas("version-mapping", *release)
    levels = [f"metadata.version={level}" for level in (7, 31)]
    levels += [f"{name}.version=1" for name in ("kraft", "group", "eligible.leader.replicas", "share", "transaction")]
    features = [word for level in levels for word in ("-f", level)]
    assert ours("feature-dependencies", *features) == kafkas("feature-dependencies", *features)
    for wrong in (
        ["version-mapping", "-r", "9.9"],
        *(["feature-dependencies", "-f", x] for x in ("x", "x=1", "group.version=9")),
    ):
        assert kafkas(*wrong).code == ours(*wrong).code == 1
    for draw in (kafkas, ours):
        assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_-]{21}\n", draw("random-uuid").out)


def test_json(tmp_path: Path) -> None:
    config = configured(tmp_path)
    told = json.loads(ours("format", "-c", config, "-t", CLUSTER, "-s", "--json").out)
    assert told["formatted"] == [str(tmp_path / "a"), str(tmp_path / "b")]
    assert told["features"]["kraft.version"] == 1
    assert json.loads(ours("version-mapping", "--json").out)["metadata.version"] == 30
    assert json.loads(ours("feature-dependencies", "-f", "group.version=1", "--json").out) == {"group.version=1": {}}
    assert len(json.loads(ours("random-uuid", "--json").out)) == 22


def test_a_password_is_kept_as_rfc_5802_says() -> None:
    """The example of RFC 7677, whose server signature hangs on the salted password."""
    record = parse_scram("SCRAM-SHA-256=[name=user,password=pencil,salt=W22ZaJ0SNY7soEsUEjb6gQ==]")
    import base64
    import hmac

    message = (
        b"n=user,r=rOprNGfwEbeRWgbNEkqO,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
        b"s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    )
    signature = hmac.digest(record.server_key, message, "sha256")
    assert base64.b64encode(signature) == b"6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def test_unreadable_configurations(tmp_path: Path) -> None:
    config = tmp_path / "server.properties"
    for text, words in (
        ("process.roles=\n", "process.roles="),
        ("node.id=x\n", "node.id=x"),
        ("controller.listener.names=C\nlisteners=C://:none\n", "C://:none"),
    ):
        config.write_text(text)
        ran = ours("info", "-c", str(config))
        assert (ran.code, ran.err.count("\n")) == (1, 1)
        assert words in ran.err
    ran = ours("info", "-c", str(tmp_path / "nothing"))
    assert (ran.code, "check the path after --config" in ran.err) == (1, True)


def test_ours_starts_on_what_ours_has_formatted(tmp_path: Path) -> None:
    config = configured(tmp_path, directories="a")
    assert ours("format", "-c", config, "-t", CLUSTER, "-s", "-r", "4.1").code == 0
    node = RunningNode(tmp_path / "a", node_id="3").start()
    try:
        assert node.do(lambda one: (one.cluster_id, one.image.metadata_version)) == (CLUSTER, MetadataVersion.V4_1_IV1)
    finally:
        node.stop()


@pytest.mark.java
@pytest.mark.slow
def test_kafka_starts_on_what_ours_has_formatted(kafka_classpath: str, tmp_path: Path) -> None:
    with_kafka = KafkaBroker(kafka_classpath, tmp_path, cluster_id=CLUSTER)
    with_kafka.write_properties()
    assert ours("format", "-c", str(tmp_path / "server.properties"), "-t", CLUSTER, "--standalone").code == 0
    with with_kafka:
        told = json.loads(run("cluster", "info", "--bootstrap-server", with_kafka.bootstrap, "--json").out)
    assert CLUSTER in json.dumps(told)


@pytest.mark.java
def test_ours_starts_on_what_kafka_has_formatted(kafkas: Tool, tmp_path: Path) -> None:
    config = configured(tmp_path, directories="a")
    assert kafkas("format", "-c", config, "-t", CLUSTER, "-s", "-r", "4.1").code == 0
    node = RunningNode(tmp_path / "a", node_id="3").start()
    try:
        assert node.do(lambda one: (one.cluster_id, one.image.metadata_version)) == (CLUSTER, MetadataVersion.V4_1_IV1)
    finally:
        node.stop()
