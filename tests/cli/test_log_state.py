"""`barnabas log state`: the history of leadership, of logs that are made here and of a node's own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from barnabas.cli.moments import show_moment
from barnabas.coordination.cluster.log_batch import build_metadata_batch
from barnabas.coordination.cluster.partition import LeaderRecoveryState
from barnabas.coordination.cluster.records import MetadataRecord
from barnabas.coordination.cluster.snapshot_file import SnapshotId, encode_snapshot
from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.codec import encode
from barnabas.protocol.control import ControlRecordType, control_key
from barnabas.protocol.record import Record
from barnabas.protocol.records import cluster_metadata as records
from barnabas.protocol.records.control import LeaderChangeMessage
from barnabas.protocol.schema import Data, Uuid
from barnabas.storage.disk import SystemDisk
from barnabas.storage.meta_properties import MetaProperties, write_meta_properties
from tests.cli.beside import Ran, Side, run

START_MS = 1_700_000_000_000
ORDERS, PAYMENTS = Uuid(b"orders" + bytes(10)), Uuid(b"payments" + bytes(8))
CLUSTER = "KclusterOfFilesOnly000"


class Log:
    """Batches as a controller appends them: each a second after the one before."""

    def __init__(self, *, first_offset: int = 0, epoch: int = 1) -> None:
        self.first_offset = self.next_offset = first_offset
        self.epoch = epoch
        self.batches: list[bytes] = []

    def append(self, *messages: Data) -> int:
        """The offset of the first."""
        base = self.next_offset
        changes = [_record(each) for each in messages]
        now_ms = START_MS + 1000 * base
        self.batches.append(build_metadata_batch(changes, base_offset=base, leader_epoch=self.epoch, now_ms=now_ms))
        self.next_offset += len(messages)
        return base

    def elect(self, controller: int, epoch: int) -> None:
        self.epoch = epoch
        message = LeaderChangeMessage(version=1, leader_id=controller)
        record = Record(control_key(ControlRecordType.LEADER_CHANGE), encode(message, 1), timestamp=START_MS)
        self.batches.append(
            build_batch([record], base_offset=self.next_offset, control=True, leader_epoch=epoch)  # as raft writes it
        )
        self.next_offset += 1

    def bytes_from(self, offset: int) -> bytes:
        ends = [int.from_bytes(each[:8], "big") for each in self.batches]
        return b"".join(each for base, each in zip(ends, self.batches, strict=True) if base >= offset)


def _record(message: Data) -> MetadataRecord:
    """In its newest version."""
    return MetadataRecord(message, message.__definition__.versions.last)


def written(root: Path, node_id: int, log: bytes, *, first_offset: int = 0) -> Path:
    """A node's log directory."""
    directory = root / f"node-{node_id}"
    metadata = directory / "__cluster_metadata-0"
    metadata.mkdir(parents=True)
    (metadata / f"{first_offset:020d}.log").write_bytes(log)
    write_meta_properties(SystemDisk(), directory, MetaProperties.fresh(CLUSTER, node_id, Uuid(bytes([node_id] * 16))))
    return directory


def snapshot(directory: Path, end_offset: int, *messages: Data, epoch: int = 1) -> None:
    data = encode_snapshot(
        [_record(each) for each in messages],
        epoch=epoch,
        last_log_timestamp_ms=START_MS + 1000 * end_offset,
        now_ms=START_MS,
    )
    (directory / "__cluster_metadata-0" / SnapshotId(end_offset, epoch).file_name).write_bytes(data)


def partition(topic: Uuid, number: int, *replicas: int, isr: Sequence[int] | None = None, **others: Any) -> Data:
    alive = list(isr if isr is not None else replicas)
    fields = {"leader": alive[0] if alive else -1, "leader_epoch": 0, "partition_epoch": 0} | others
    return records.PartitionRecord(
        partition_id=number,
        topic_id=topic,
        replicas=list(replicas),
        isr=alive,
        removing_replicas=[],
        adding_replicas=[],
        directories=[Uuid(bytes([each] * 16)) for each in replicas],
        **fields,
    )


def change(topic: Uuid, number: int, **fields: Any) -> Data:
    return records.PartitionChangeRecord(partition_id=number, topic_id=topic, **fields)


def history() -> Log:
    log = Log()
    log.append(records.TopicRecord(name="orders", topic_id=ORDERS), partition(ORDERS, 0, 1, 2, 3))
    log.append(change(ORDERS, 0, isr=[2, 3], leader=2))
    log.append(change(ORDERS, 0, isr=[3], leader=3, eligible_leader_replicas=[2]))
    return log


def values(*arguments: object) -> list[dict[str, Any]]:
    ran = run("log", "state", *map(str, arguments), "--json")
    assert ran.code == 0, ran
    return [json.loads(line) for line in ran.out.splitlines()]


def what(*arguments: object) -> list[tuple[int, str]]:
    """Offsets and words of all changes."""
    return [(each["offset"], ", ".join(each["what"])) for each in values(*arguments)]


def test_each_change_is_told_with_what_it_led_to(tmp_path: Path) -> None:
    told = values(written(tmp_path, 1, history().bytes_from(0)))
    assert [each["what"] for each in told] == [
        ["created"],
        ["elected", "isr -1"],
        ["elected", "isr -2", "elr +2"],
    ]
    assert told[2] == {
        "kind": "partition",
        "offset": 3,
        "time_ms": START_MS + 3000,
        "topic": "orders",
        "topic_id": str(ORDERS),
        "partition": 0,
        "what": ["elected", "isr -2", "elr +2"],
        "leader": 3,
        "leader_epoch": 2,
        "partition_epoch": 2,
        "replicas": [1, 2, 3],
        "isr": [3],
        "elr": [2],
        "last_known_elr": [],
        "adding_replicas": [],
        "removing_replicas": [],
        "recovering": False,
    }


@pytest.mark.parametrize(
    ("before", "changes", "words"),
    [
        ({}, {"leader": 2}, "elected"),
        ({"leader": 2}, {"leader": 1}, "elected, preferred"),
        ({"isr": [2], "leader": 2}, {"leader": 1, "isr": [1]}, "elected uncleanly, isr +1 -2"),
        (
            {"isr": [], "leader": -1, "eligible_leader_replicas": [1]},
            {"leader": 1, "isr": [1], "eligible_leader_replicas": []},
            "elected, eligible, isr +1, elr -1",
        ),
        (
            {"isr": [2], "leader": -1},
            {"leader": 2, "leader_recovery_state": int(LeaderRecoveryState.RECOVERING)},
            "elected uncleanly",
        ),
        ({"leader_recovery_state": 1}, {"leader_recovery_state": 0}, "recovered"),
        ({}, {"leader": -1, "isr": [], "last_known_elr": [1]}, "without a leader, isr -1 -2 -3"),
        ({}, {"leader": 1}, "new epoch"),
        (
            {},
            {"adding_replicas": [4], "replicas": [4, 1, 2, 3], "directories": [PAYMENTS] * 4},
            "adding +4, replicas +4",
        ),
        ({"adding_replicas": [4]}, {"adding_replicas": []}, "adding -4"),
        ({}, {"replicas": [3, 2, 1]}, "replicas reordered"),
        ({}, {"removing_replicas": [3]}, "removing +3"),
    ],
)
def test_what_a_change_is_called(before: dict[str, Any], changes: dict[str, Any], words: str, tmp_path: Path) -> None:
    log = Log()
    created = partition(ORDERS, 0, 1, 2, 3)
    for name, value in before.items():
        setattr(created, name, value)
    log.append(records.TopicRecord(name="orders", topic_id=ORDERS), created)
    log.append(change(ORDERS, 0, **changes))
    assert what(written(tmp_path, 1, log.bytes_from(0)))[1:] == [(2, words)]


def test_directories_alone_are_no_change_of_who_leads(tmp_path: Path) -> None:
    log = history()
    log.append(change(ORDERS, 0, directories=[Uuid(bytes([9] * 16))] * 3))
    assert len(what(written(tmp_path, 1, log.bytes_from(0)))) == 3


def test_topics_that_are_deleted_and_what_is_cleared(tmp_path: Path) -> None:
    log = history()
    log.append(records.ClearElrRecord(topic_name="orders"))
    log.append(records.RemoveTopicRecord(topic_id=ORDERS))
    log.append(records.TopicRecord(name="orders", topic_id=PAYMENTS), partition(PAYMENTS, 0, 2))
    told = values(written(tmp_path, 1, log.bytes_from(0)))[3:]
    assert [(each["topic_id"], each["what"]) for each in told] == [
        (str(ORDERS), ["elr -2"]),
        (str(ORDERS), ["deleted"]),
        (str(PAYMENTS), ["created"]),
    ]
    assert "leader" not in told[1]


def test_what_a_transaction_takes_back_has_not_been(tmp_path: Path) -> None:
    log = history()
    log.append(records.BeginTransactionRecord(name="x"), change(ORDERS, 0, leader=-1, isr=[]))
    log.append(records.AbortTransactionRecord(reason="y"))
    log.append(records.BeginTransactionRecord(name="x"), change(ORDERS, 0, isr=[3, 2]))
    log.append(change(ORDERS, 0, isr=[3, 2, 1]))
    end = log.append(records.EndTransactionRecord())
    # All of it counts from its end on.
    assert what(written(tmp_path, 1, log.bytes_from(0)))[3:] == [(end, "isr +1 +2")]


def test_filters(tmp_path: Path) -> None:
    log = history()
    log.append(
        records.TopicRecord(name="payments", topic_id=PAYMENTS), partition(PAYMENTS, 0, 1), partition(PAYMENTS, 1, 2)
    )
    log.append(change(ORDERS, 0, isr=[3, 2]))
    node = written(tmp_path, 1, log.bytes_from(0))
    offsets = [offset for offset, _ in what(node)]
    assert offsets == [1, 2, 3, 5, 6, 7]
    for flags, wanted in (
        (["--topic", "pay.*"], [5, 6]),
        (["--topic", "payments", "--partition", "1"], [6]),
        (["--partition", "1"], [6]),
        (["--from-offset", "3", "--to-offset", "6"], [3, 5]),
        (["--since", show_moment(START_MS + 2000), "--until", show_moment(START_MS + 4000)], [2, 3]),
        (["--leaders"], [1, 2, 3, 5, 6]),
    ):
        assert [offset for offset, _ in what(node, *flags)] == wanted, flags


def test_nodes_and_controllers_too(tmp_path: Path) -> None:
    log = Log()
    log.elect(1, 1)
    broker = records.RegisterBrokerRecord(
        broker_id=2, incarnation_id=Uuid(b"one" + bytes(13)), broker_epoch=1, end_points=[], features=[], rack=None
    )
    log.append(broker)
    log.append(records.BrokerRegistrationChangeRecord(broker_id=2, broker_epoch=1, fenced=-1))
    log.append(records.BrokerRegistrationChangeRecord(broker_id=2, broker_epoch=1, in_controlled_shutdown=1))
    log.append(records.BrokerRegistrationChangeRecord(broker_id=2, broker_epoch=1, fenced=1))
    log.elect(3, 7)
    log.append(records.UnregisterBrokerRecord(broker_id=2, broker_epoch=1))
    node = written(tmp_path, 1, log.bytes_from(0))
    assert values(node) == []
    told = [(each["kind"], each["id"], each["what"]) for each in values(node, "--nodes")]
    assert told == [
        ("controller", 1, "leads the quorum with epoch 1"),
        ("broker", 2, "registered"),
        ("broker", 2, "unfenced"),
        ("broker", 2, "shuts down"),
        ("broker", 2, "fenced"),
        ("controller", 3, "leads the quorum with epoch 7"),
        ("broker", 2, "unregistered"),
    ]
    assert "broker 2: shuts down" in run("log", "state", str(node), "--nodes").out


def test_lines_and_tables_for_people(tmp_path: Path) -> None:
    node = written(tmp_path, 1, history().bytes_from(0))
    head, *lines = run("log", "state", str(node)).out.splitlines()
    assert head.split()[:4] == ["TIME", "OFFSET", "LEADER", "EPOCH"]
    assert lines[1].split() == [
        *(show_moment(START_MS + 2000), "2", "2", "1", "2,3", "1,2,3"),
        *("orders-0:", "elected,", "isr", "-1"),
    ]
    table = run("log", "state", str(node), "--by-partition").out.splitlines()
    assert table[0] == "orders-0"
    assert table[-2].split()[-5:] == ["elected,", "isr", "-2,", "elr", "+2"]


# Several nodes


def test_nodes_that_have_different_parts_are_one_log(tmp_path: Path) -> None:
    """The first has the beginning, the second what came behind its snapshot, the third a torn end."""
    log = history()
    log.append(change(ORDERS, 0, isr=[3, 2]))
    log.append(change(ORDERS, 0, isr=[3, 2, 1]))
    whole = log.bytes_from(0)
    parts = [
        written(tmp_path, 1, whole[: whole.index(log.batches[3])]),
        written(tmp_path, 2, log.bytes_from(3), first_offset=3),
        written(tmp_path, 3, whole[:-5]),
    ]
    for places in (parts, [parts[0], parts[1]], list(reversed(parts))):
        assert what(*places) == what(written(tmp_path / "whole" / str(len(places)) / places[0].name, 9, whole))


def test_a_log_that_begins_with_a_snapshot(tmp_path: Path) -> None:
    log = history()
    topic = records.TopicRecord(name="orders", topic_id=ORDERS)
    then = partition(ORDERS, 0, 1, 2, 3, isr=[2, 3], leader=2, leader_epoch=1, partition_epoch=1)
    node = written(tmp_path, 1, log.bytes_from(3), first_offset=3)
    ran = run("log", "state", str(node))
    assert ran.code == 1
    assert "Offsets 0 to 2 are in no directory, nor in a snapshot: what changed is not known" in ran.err
    assert "there is no topic with id" in ran.err
    snapshot(node, 3, topic, then)
    assert what(node) == [(3, "as of a snapshot"), (3, "elected, isr -2, elr +2")]


def test_a_snapshot_bridges_what_nobody_has(tmp_path: Path) -> None:
    log = history()
    log.append(change(ORDERS, 0, isr=[3, 2]))
    log.append(change(ORDERS, 0, isr=[3]))
    early = written(tmp_path, 1, b"".join(log.batches[:1]))
    late = written(tmp_path, 2, log.bytes_from(5), first_offset=5)
    topic = records.TopicRecord(name="orders", topic_id=ORDERS)
    snapshot(late, 5, topic, partition(ORDERS, 0, 1, 2, 3, isr=[3, 2], leader=3, leader_epoch=2, partition_epoch=3))
    assert what(early, late) == [
        (1, "created"),
        (5, "as of a snapshot, elected, isr -1"),
        (5, "isr -2"),
    ]
    # The last word may be a snapshot's.
    snapshot(early, 6, topic, partition(ORDERS, 0, 1, 2, 3, isr=[3], leader=3, leader_epoch=2, partition_epoch=4))
    assert what(early) == [(1, "created"), (6, "as of a snapshot, elected, isr -1 -2")]


def test_a_snapshot_that_says_something_else_is_told(tmp_path: Path) -> None:
    log = history()
    node = written(tmp_path, 1, log.bytes_from(0))
    snapshot(node, 3, records.TopicRecord(name="orders", topic_id=ORDERS), partition(ORDERS, 0, 1, 2))
    ran = run("log", "state", str(node))
    assert ran.code == 1
    assert (
        "snapshot 00000000000000000003-0000000001.checkpoint that does not say what the log says of orders-0" in ran.err
    )
    assert len(ran.out.splitlines()) == 4


def test_where_logs_differ_the_later_epoch_counts(tmp_path: Path) -> None:
    """A controller that was cut off has appended what the others never saw."""
    log = history()
    shared = log.bytes_from(0)
    deposed, elected = Log(first_offset=log.next_offset), Log(first_offset=log.next_offset)
    deposed.append(change(ORDERS, 0, isr=[]), change(ORDERS, 0, isr=[1]))
    elected.elect(2, 5)
    elected.append(change(ORDERS, 0, isr=[3, 2]))
    first = written(tmp_path, 1, shared + deposed.bytes_from(0))
    second = written(tmp_path, 2, shared + elected.bytes_from(0))
    third = written(tmp_path, 3, shared + elected.bytes_from(0))
    for places in ([first, second, third], [third, first]):
        ran = run("log", "state", *map(str, places), "--json")
        assert ran.code == 1
        told = [json.loads(line) for line in ran.out.splitlines()]
        (difference,) = [each for each in told if each["kind"] == "difference"]
        assert difference["offset"] == 4
        assert (difference["shown"]["epoch"], difference["other"]["epoch"]) == (5, 1)
        assert difference["other"]["node"] == "node 1"
        assert told[-1]["isr"] == [3, 2]
    text = run("log", "state", str(first), str(second)).err
    assert text.startswith("From offset 4 on the logs differ: node 2 has offsets 4 to 4 of epoch 5 with checksum ")


def test_a_log_that_is_damaged_is_read_so_far(tmp_path: Path) -> None:
    log = history()
    damaged = bytearray(log.bytes_from(0))
    damaged[-3] ^= 1
    node = written(tmp_path, 1, bytes(damaged))
    ran = run("log", "state", str(node))
    assert ran.code == 1
    assert "node 1 is read up to offset 3 only" in ran.err
    assert len(ran.out.splitlines()) == 3
    whole = written(tmp_path, 2, log.bytes_from(0))
    both = run("log", "state", str(node), str(whole))
    assert (both.code, len(both.out.splitlines())) == (1, 4)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["nowhere"], 1, "nowhere has no __cluster_metadata-0: name the directories of nodes"),
        (["."], 1, "has no __cluster_metadata-0"),
        (["--since", "soon"], 2, "--since soon is no time"),
        (["--topic", "("], 2, "( is no regular expression"),
    ],
)
def test_what_cannot_be_meant(
    arguments: list[str], code: int, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "barnabas-data" / "x", 1, b"")
    (tmp_path / "barnabas-data/x/node-1/__cluster_metadata-0").rename(tmp_path / "barnabas-data/__cluster_metadata-0")
    refused = run("log", "state", *arguments)
    assert refused.code == code
    assert words in refused.err


def test_nothing_at_all(tmp_path: Path) -> None:
    ran: Ran = run("log", "state", str(written(tmp_path, 1, b"")))
    assert (ran.code, ran.out) == (1, "")
    assert "There is nothing in the metadata log" in ran.err


def test_a_node_of_ours(ours: Side, name: str) -> None:
    ours.create(name, 2)
    directory = ours.broker.data_directory  # type: ignore[attr-defined]
    told = values(directory, "--topic", name)
    assert [(each["partition"], each["what"], each["leader"], each["isr"]) for each in told] == [
        (0, ["created"], 1, [1]),
        (1, ["created"], 1, [1]),
    ]
    assert values(directory, "--nodes")[0]["kind"] in ("controller", "broker")
