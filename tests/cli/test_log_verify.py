"""`barnabas log verify`: what is well is said to be, each damage is found, and a start does what was said."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from barnabas.protocol.batches import Batch, iterate_batches
from barnabas.storage.compaction_checkpoint import CleanerCheckpoint
from barnabas.storage.disk import SystemDisk
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.partition_metadata import write_partition_metadata
from barnabas.storage.topic_config import TopicConfig
from tests.broker.running import RunningNode
from tests.cli.beside import Side, run
from tests.cli.log_files import NOW_MS, SMALL, TOPIC_ID, append, fill, finish, make_partition, record
from tests.clients.broker_process import BrokerProcess
from tests.clients.waiting import wait_until
from tests.kafka.broker import KafkaBroker


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("whole")
    log = make_partition(root)
    fill(log)
    finish(root, [log])
    return root


@pytest.fixture
def root(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "data"))


def verified(*arguments: object) -> dict[str, Any]:
    ran = run("log", "verify", *map(str, arguments), "--json")
    told = json.loads(ran.out)
    assert isinstance(told, dict)
    assert (ran.code, told["ok"]) in ((0, True), (1, False))
    return told


def contents(root: Path) -> dict[str, tuple[bytes, int]]:
    files = (path for path in sorted(root.rglob("*")) if path.is_file())
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def flip(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 0x10
    path.write_bytes(data)


def test_all_is_well(root: Path) -> None:
    before = contents(root)
    told = verified(root)
    assert told["findings"] == []
    assert told["directories"][0]["partitions"] == [
        {"topic": "orders", "partition": 0, "endOffset": 43, "segments": 4, "batches": 33, "wrong": 0}
    ]
    assert verified(root, "--deep")["ok"]
    assert verified(root / "orders-0")["ok"]
    assert "1 partition, 4 segments, 33 batches, 3.8 KiB: all is well" in run("log", "verify", str(root)).out
    assert contents(root) == before


def test_epochs_that_a_start_learns_from_the_records_need_not_be_in_the_file(root: Path) -> None:
    (root / "orders-0" / "leader-epoch-checkpoint").unlink()
    for missing in (None, ".kafka_cleanshutdown"):
        if missing is not None:
            (root / missing).unlink()
        assert any("knows nothing of offset 0" in each["what"] for each in verified(root)["findings"])
    (root / "recovery-point-offset-checkpoint").write_text("0\n1\norders 0 0\n")
    assert verified(root)["findings"] == []


SEGMENTS = ("00000000000000000000", "00000000000000000019", "00000000000000000030", "00000000000000000040")


def _cut_end(root: Path) -> None:
    path = root / "orders-0" / f"{SEGMENTS[3]}.log"
    path.write_bytes(path.read_bytes()[:-3])


def _leftover(root: Path) -> None:
    shutil.copy(root / "orders-0" / f"{SEGMENTS[1]}.log", root / "orders-0" / f"{SEGMENTS[1]}.log.cleaned")


def _other_epochs(root: Path) -> None:
    (root / "orders-0" / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")


def _swap_rows(root: Path) -> None:
    path = root / "orders-0" / f"{SEGMENTS[0]}.timeindex"
    data = path.read_bytes()
    path.write_bytes(data[12:24] + data[:12] + data[24:])


DAMAGES: list[tuple[str, Callable[[Path], object], str, int | None, str]] = [
    ("checksum", lambda root: flip(root / "orders-0" / f"{SEGMENTS[1]}.log", 100), "checksum", 0, f"{SEGMENTS[1]}.log"),
    ("torn end", _cut_end, "no whole batch", 230, f"{SEGMENTS[3]}.log"),
    (
        "length",
        lambda root: flip(root / "orders-0" / f"{SEGMENTS[0]}.log", 8),
        "should have",
        0,
        f"{SEGMENTS[0]}.log",
    ),
    (
        "index leads astray",
        lambda root: flip(root / "orders-0" / f"{SEGMENTS[0]}.index", 7),
        "where no batch begins",
        0,
        f"{SEGMENTS[0]}.index",
    ),
    (
        "index is torn",
        lambda root: (root / "orders-0" / f"{SEGMENTS[0]}.index").write_bytes(b"\0\0\0"),
        "no multiple of 8",
        0,
        f"{SEGMENTS[0]}.index",
    ),
    (
        "index is gone",
        lambda root: (root / "orders-0" / f"{SEGMENTS[2]}.index").unlink(),
        "missing",
        None,
        f"{SEGMENTS[2]}.index",
    ),
    ("times in disorder", _swap_rows, "does not rise", 12, f"{SEGMENTS[0]}.timeindex"),
    (
        "time index is empty",
        lambda root: (root / "orders-0" / f"{SEGMENTS[0]}.timeindex").write_bytes(b""),
        "is not in it",
        None,
        f"{SEGMENTS[0]}.timeindex",
    ),
    (
        "an abort is forgotten",
        lambda root: (root / "orders-0" / f"{SEGMENTS[1]}.txnindex").unlink(),
        "producer 1001 aborted offsets 18 to 20",
        None,
        f"{SEGMENTS[1]}.txnindex",
    ),
    (
        "an abort is wrong",
        lambda root: flip(root / "orders-0" / f"{SEGMENTS[1]}.txnindex", 5),
        "which it did not",
        None,
        f"{SEGMENTS[1]}.txnindex",
    ),
    (
        "snapshot",
        lambda root: flip(root / "orders-0" / f"{SEGMENTS[2]}.snapshot", 20),
        "crc",
        None,
        f"{SEGMENTS[2]}.snapshot",
    ),
    ("epochs", _other_epochs, "says leader epoch 0 of offset 22", None, "leader-epoch-checkpoint"),
    (
        "epochs are nonsense",
        lambda root: (root / "orders-0" / "leader-epoch-checkpoint").write_text("x\n"),
        "no integer",
        None,
        "leader-epoch-checkpoint",
    ),
    ("compaction", _leftover, "interrupted", None, f"{SEGMENTS[1]}.log.cleaned"),
    (
        "orphan",
        lambda root: (root / "orders-0" / "00000000000000000099.index").touch(),
        "no segment",
        None,
        "00000000000000000099.index",
    ),
    (
        "segment is gone",
        lambda root: list(map(Path.unlink, (root / "orders-0").glob("*.log"))),
        "there is no segment",
        None,
        "orders-0",
    ),
    (
        "topic id",
        lambda root: (root / "orders-0" / "partition.metadata").write_text("version: 0\ntopic_id: x\n"),
        "no Kafka uuid",
        2,
        "partition.metadata",
    ),
    (
        "meta.properties",
        lambda root: (root / "meta.properties").write_text("version=1\n"),
        "node.id is missing",
        None,
        "meta.properties",
    ),
    ("whose", lambda root: (root / "meta.properties").unlink(), "it is missing", None, "meta.properties"),
    (
        "checkpoint",
        lambda root: (root / "recovery-point-offset-checkpoint").write_text("0\n2\norders 0 43\n"),
        "promises 2",
        None,
        "recovery-point-offset-checkpoint",
    ),
    (
        "high watermark",
        lambda root: (root / "replication-offset-checkpoint").write_text("0\n1\norders 0 44\n"),
        "has the high watermark 44",
        None,
        "replication-offset-checkpoint",
    ),
    (
        "cleaner",
        lambda root: CleanerCheckpoint(SystemDisk(), root).set("orders", 0, 50),
        "is compacted up to 50",
        None,
        "cleaner-offset-checkpoint",
    ),
    ("stranger", lambda root: (root / "photos").mkdir(), "no partition's directory", None, "photos"),
]


@pytest.mark.parametrize(
    ("damage", "what", "position", "file"), [one[1:] for one in DAMAGES], ids=[d[0] for d in DAMAGES]
)
def test_each_damage_is_found_where_it_is(
    root: Path, damage: Callable[[Path], object], what: str, position: int | None, file: str
) -> None:
    damage(root)
    before = contents(root)
    found = verified(root)["findings"]
    assert [(Path(one["file"]).name, one["position"]) for one in found if what in one["what"]] == [(file, position)]
    assert all(one["consequence"] for one in found)
    shown = run("log", "verify", str(root))
    assert shown.code == 1
    assert what in shown.out
    assert contents(root) == before


def test_any_bit_that_a_checksum_covers_is_missed_when_it_is_wrong(root: Path) -> None:
    rng = random.Random(7)
    for path in sorted((root / "orders-0").glob("*.log")):
        data = path.read_bytes()
        for batch in list(iterate_batches(data)):
            at = batch.position + rng.randrange(17, batch.size)
            flip(path, at)
            told = verified(root / "orders-0")
            assert any((one["file"], one["position"]) == (str(path), batch.position) for one in told["findings"]), (
                path,
                batch,
                at,
            )
            path.write_bytes(data)


@pytest.mark.parametrize("seed", range(10))
def test_a_start_does_what_was_said(root: Path, seed: int) -> None:
    """Each line that a real start then says of a file has been said of it."""
    rng = random.Random(seed)
    if seed % 2:
        (root / ".kafka_cleanshutdown").unlink()
        (root / "recovery-point-offset-checkpoint").write_text(f"0\n1\norders 0 {rng.choice([0, 25, 40])}\n")
    files = sorted(path for path in (root / "orders-0").iterdir() if path.suffix in (".log", ".index"))
    for path in rng.sample(files, 2):
        flip(path, rng.randrange(path.stat().st_size))
    said = {line for one in verified(root)["findings"] for line in one["start"]}
    told: list[str] = []
    directory = LogDirectory(SystemDisk(), root, holder="", report=told.append)
    for partition in list(directory.waiting):
        directory.load(partition, TopicConfig.load(SMALL), NOW_MS)
    directory.abandon()
    lines = [line.partition(": ")[2] for line in told if ".log: " in line]
    assert set(lines) <= said, told


def test_missing_rows_are_seen(tmp_path: Path) -> None:
    log = make_partition(tmp_path, internal_segment_bytes="1000000")
    for number in range(300):
        append(log, record(number, size=400))
    finish(tmp_path, [log])
    assert verified(tmp_path)["ok"]
    index = log.directory / f"{0:020d}.index"
    data = index.read_bytes()
    index.write_bytes(data[: len(data) // 16 * 8])
    (found,) = verified(tmp_path)["findings"]
    assert "no row leads to bytes" in found["what"]


def test_batches_within_batches_are_seen_deeply_alone(tmp_path: Path) -> None:
    """A checksum that is right over records that are not."""
    log = make_partition(tmp_path)
    append(log, record(1), record(2))
    finish(tmp_path, [log])
    path = log.directory / f"{0:020d}.log"
    data = bytearray(path.read_bytes())
    data[61] ^= 0x40  # the length of the first record
    data[17:21] = Batch(data).compute_crc().to_bytes(4, "big")
    path.write_bytes(data)
    assert verified(tmp_path)["ok"]
    (found,) = verified(tmp_path, "--deep")["findings"]
    assert "cannot be read" in found["what"]


def test_beside_brokers_that_run(tmp_path: Path) -> None:
    node = RunningNode(tmp_path / "data").start()
    try:
        for _ in range(3):
            told = verified(tmp_path / "data")
            assert told["ok"], told
            assert told["directories"][0]["inUse"]
    finally:
        node.stop()
    told = verified(tmp_path / "data")
    assert told["ok"], told
    assert not told["directories"][0]["inUse"]


def test_a_broker_of_ours_with_records(ours: Side, our_broker: BrokerProcess, name: str) -> None:
    ours.create(name, segment_bytes="1048576")
    ours.produce(name, b"x", b"y")
    told = verified(our_broker.data_directory)
    assert told["ok"], told
    assert told["directories"][0]["inUse"]


@pytest.mark.java
def test_a_directory_of_kafka_that_runs(kafka: Side, name: str, kafka_broker: KafkaBroker) -> None:
    kafka.create(name)
    kafka.produce(name, b"x", b"y")
    kafka.run("groups", "reset-offsets", name, "--topic", name, "--to-earliest", "--execute")
    told = {}

    def is_whole() -> bool:
        # It writes meanwhile, and two files may be of two moments.
        told.update(verified(kafka_broker.data_directory, "--deep"))
        return bool(told["ok"])

    wait_until(is_whole, lambda: str(told["findings"]))
    assert told["directories"][0]["inUse"]


@pytest.mark.java
def test_a_directory_of_kafka_that_has_just_deleted_records(
    kafka: Side, name: str, kafka_broker: KafkaBroker, tmp_path: Path
) -> None:
    """It writes down a minute later where the log begins now."""
    kafka.create(name)
    for value in (b"a", b"b", b"c"):
        kafka.produce(name, value)
    wanted = tmp_path / "offsets.json"
    wanted.write_text(json.dumps({"version": 1, "partitions": [{"topic": name, "partition": 0, "offset": 2}]}))
    kafka.run("records delete", "--offset-json-file", str(wanted))
    directory = kafka_broker.data_directory
    wait_until(
        lambda: (directory / f"{name}-0" / "leader-epoch-checkpoint").read_text().split() == ["0", "1", "0", "2"],
        "the epoch to begin there",
    )
    assert [each for each in verified(directory)["findings"] if name in each["file"]] == []


def test_a_partition_that_the_cluster_does_not_know(tmp_path: Path) -> None:
    node = RunningNode(tmp_path / "data").start()
    node.stop()
    (tmp_path / "data" / "old-0").mkdir()
    write_partition_metadata(SystemDisk(), tmp_path / "data" / "old-0", TOPIC_ID)
    found = verified(tmp_path / "data")["findings"]
    assert any("no topic old" in one["what"] and "aside" in one["consequence"] for one in found)


def test_two_directories_of_two_nodes(root: Path, tmp_path: Path) -> None:
    other = shutil.copytree(root, tmp_path / "other")
    meta = other / "meta.properties"
    meta.write_text(meta.read_text().replace("node.id=1", "node.id=2"))
    found = verified(root, other)["findings"]
    assert any("node.id" in one["what"] for one in found)
