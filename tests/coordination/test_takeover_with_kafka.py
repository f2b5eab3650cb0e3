"""One __consumer_offsets, now Kafka's, now ours: each goes on with the groups that the other has left in its log."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from barnabas.coordination.groups import (
    GroupConfig,
    GroupRecord,
    GroupShard,
    build_group_batch,
    decide_loaded,
    replay_batches,
)
from barnabas.coordination.groups.classic_group import ClassicGroup
from barnabas.coordination.groups.other_groups import OtherGroup
from barnabas.protocol.batches import Batch, iterate_batches
from barnabas.protocol.codec import decode, encode
from barnabas.protocol.control import ControlRecordType, build_end_transaction_marker
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.log_records import UnknownRecord
from barnabas.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from barnabas.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from barnabas.protocol.messages.heartbeat import HeartbeatResponse
from barnabas.protocol.messages.list_groups import ListGroupsResponse
from barnabas.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from barnabas.protocol.schema import Message
from barnabas.storage.disk import SystemDisk
from barnabas.storage.loading import open_log
from barnabas.storage.producer_state import AppendOrigin
from barnabas.storage.topic_config import TopicConfig
from tests.coordination.asking import parse_request
from tests.coordination.beside_kafka import KAFKA_SETTINGS, Connection
from tests.coordination.coordinator import Coordinator, FakeTopics
from tests.coordination.test_against_kafka import wait_for_coordinator
from tests.kafka.broker import KafkaBroker
from tests.kafka.client import RawClient

pytestmark = [pytest.mark.java, pytest.mark.slow]

CONFIG = GroupConfig(initial_rebalance_delay_ms=0)
DIRECTORY = "__consumer_offsets-0"
MEMBER = "AAAAAAAAAAAAAAAAAAAAAA"
ABOUT_GROUPS = [
    "DescribeGroups.6 groups=simple,empty,stable,both,gone,modern,modern-empty,shared",
    "ListGroups.5",
    "OffsetFetch.8 group=simple,empty,stable,both,gone,modern,modern-empty all=yes",
    "OffsetFetch.8 group=both offsets=orders-0,orders-1,orders-2 stable=yes",
]
ABOUT_OTHER_GROUPS = [
    "JoinGroup.5 group=shared",
    "JoinGroup.9 group=shared member=x",
    "SyncGroup.3 group=shared member=x",
    "SyncGroup.3 group=modern-empty member=x",
    "Heartbeat.4 group=shared member=x",
    "Heartbeat.4 group=modern member=x",
    "LeaveGroup.5 group=shared members=x,/y",
    "LeaveGroup.1 group=modern member=x",
    "OffsetCommit.9 group=shared offsets=orders-0:1",
    "OffsetCommit.9 group=modern offsets=orders-0:1",
    "OffsetCommit.9 group=modern generation=3 member=x offsets=orders-0:1",
    "OffsetCommit.9 group=modern-empty offsets=orders-2:77",
    "OffsetFetch.9 group=shared all=yes",
    "OffsetFetch.9 group=shared offsets=orders-0",
    "OffsetFetch.9 group=modern offsets=orders-0",
    "OffsetFetch.9 group=modern-empty all=yes",
    "OffsetDelete.0 group=shared offsets=orders-0",
    "OffsetDelete.0 group=modern offsets=orders-0",
    "OffsetDelete.0 group=modern-empty offsets=orders-2",
    "DeleteGroups.2 groups=modern,shared",
    "DescribeGroups.5 groups=modern,shared",
    "ListGroups.5 types=share",
    "ListGroups.5 types=consumer states=empty",
]


@dataclass
class Node:
    broker: KafkaBroker
    topics: FakeTopics

    @property
    def directory(self) -> Path:
        return self.broker.data_directory / DIRECTORY

    def asks(self, who: str, text: str) -> Message:
        """Kafka's answer."""
        request, version = parse_request(text, self.topics.id_of)
        connection = Connection(self.broker.host, self.broker.port, who)
        try:
            connection.send(request, version)
            return sorted_lists(connection.receive())
        finally:
            connection.close()


@pytest.fixture(scope="module")
def node(kafka_classpath: str) -> Iterator[Node]:
    with KafkaBroker(kafka_classpath, config=KAFKA_SETTINGS) as broker:
        with RawClient(broker.host, broker.port) as client:
            topics = [CreatableTopic(name="orders", num_partitions=3, replication_factor=1)]
            created = client.ask(CreateTopicsRequest(topics=topics, timeout_ms=10_000), 7, CreateTopicsResponse)
            wait_for_coordinator(client)
        yield Node(broker, FakeTopics({"orders": 3}, {"orders": created.topics[0].topic_id}))


def sorted_lists(message: Message) -> Message:
    if isinstance(message, ListGroupsResponse):
        message.groups.sort(key=lambda group: group.group_id)
    for group in getattr(message, "groups", []):
        for topic in getattr(group, "topics", []):
            topic.partitions.sort(key=lambda partition: partition.partition_index)
    if hasattr(message, "results"):
        message.results.sort(key=lambda result: result.group_id)
    return message


def we_answer(coordinator: Coordinator, text: str) -> Message:
    request, version = parse_request(text, coordinator.topics.id_of)
    answer, _ = coordinator.ask(request, version)
    assert answer is not None, text
    return sorted_lists(decode(type(answer), version, encode(answer, version)))


def loaded(node: Node) -> Coordinator:
    coordinator = Coordinator(CONFIG, node.topics, watched=False)
    coordinator.now_ms = time.time_ns() // 1_000_000
    shard = GroupShard(CONFIG)
    for segment in sorted(node.directory.glob("*.log")):
        replay_batches(shard, iterate_batches(segment.read_bytes()), unknown=not_expected)
    coordinator.shard = shard
    coordinator.take(decide_loaded(shard, coordinator.now_ms))
    return coordinator


def not_expected(error: UnknownRecord) -> None:
    raise error


def groups_of_other_types(node: Node) -> None:
    """A consumer group and a share group with a member each, and a consumer group whose member has left."""
    with RawClient(node.broker.host, node.broker.port) as client:
        for group, epochs in (("modern", [0]), ("modern-empty", [0, -1])):
            for epoch in epochs:
                asked = ConsumerGroupHeartbeatRequest(
                    group_id=group,
                    member_id=MEMBER,
                    member_epoch=epoch,
                    rebalance_timeout_ms=60_000,
                    subscribed_topic_names=["orders"],
                    topic_partitions=[],
                )
                answered = client.ask(asked, 1, ConsumerGroupHeartbeatResponse)
                assert answered.error_code == ErrorCode.NONE, answered
        sharing = ShareGroupHeartbeatRequest(
            group_id="shared", member_id=MEMBER, member_epoch=0, subscribed_topic_names=["orders"]
        )
        answer = client.ask(sharing, 1, ShareGroupHeartbeatResponse)
        assert answer.error_code == ErrorCode.NONE, answer


def test_we_go_on_where_kafka_stopped_and_kafka_where_we_did(node: Node) -> None:
    node.asks("anna", "OffsetCommit.8 group=simple offsets=orders-0:1:note,orders-1:2")
    node.asks("anna", "OffsetCommit.4 group=simple offsets=orders-2:3 retention=1000000")
    node.asks("anna", "OffsetCommit.8 group=gone offsets=orders-0:1")
    node.asks("anna", "DeleteGroups.2 groups=gone")
    member_id = node.asks("anna", "JoinGroup.3 group=stable session=60000").member_id  # type: ignore[attr-defined]
    node.asks("anna", f"SyncGroup.3 group=stable member={member_id} assign={member_id}:all")
    node.asks("anna", f"OffsetCommit.8 group=stable generation=1 member={member_id} offsets=orders-0:5")
    left = node.asks("bert", "JoinGroup.3 group=empty").member_id  # type: ignore[attr-defined]
    node.asks("bert", f"LeaveGroup.3 group=empty members={left}")
    groups_of_other_types(node)
    other_groups_say = {text: node.asks("anna", text) for text in ABOUT_OTHER_GROUPS}
    said = {text: node.asks("anna", text) for text in ABOUT_GROUPS}
    node.broker.stop()

    ours = loaded(node)
    assert {name for name, group in ours.shard.groups.items() if isinstance(group, OtherGroup)} == {
        "modern",
        "modern-empty",
        "shared",
    }
    assert {text: we_answer(ours, text) for text in ABOUT_GROUPS} == said

    # The member goes on, another comes, a transaction writes and is committed, a group is deleted.
    assert we_answer(ours, f"Heartbeat.3 group=stable member={member_id}") == HeartbeatResponse()
    we_answer(ours, f"OffsetCommit.8 group=stable generation=1 member={member_id} offsets=orders-1:6:ours")
    carl = we_answer(ours, "JoinGroup.3 group=both session=60000").member_id  # type: ignore[attr-defined]
    we_answer(ours, f"SyncGroup.3 group=both member={carl} assign={carl}:ours")
    we_answer(ours, f"OffsetCommit.8 group=both generation=1 member={carl} offsets=orders-0:10")
    we_answer(ours, "TxnOffsetCommit.5 group=both producer=7 offsets=orders-1:20")
    ours.end_transaction(7, committed=True)
    we_answer(ours, "TxnOffsetCommit.5 group=both producer=8 offsets=orders-2:30")
    we_answer(ours, "DeleteGroups.2 groups=empty")
    said = {text: we_answer(ours, text) for text in ABOUT_GROUPS}
    append(node, ours)
    assert {text: we_answer(loaded(node), text) for text in ABOUT_GROUPS} == said

    node.broker.start()
    with RawClient(node.broker.host, node.broker.port) as client:
        wait_for_coordinator(client)
    assert {text: node.asks("anna", text) for text in ABOUT_GROUPS} == said
    assert node.asks("carl", f"Heartbeat.3 group=both member={carl}") == HeartbeatResponse()
    assert node.asks("anna", f"SyncGroup.3 group=stable member={member_id}").assignment == b"all"  # type: ignore[attr-defined]
    with RawClient(node.broker.host, node.broker.port) as client:
        living = ConsumerGroupHeartbeatRequest(group_id="modern", member_id=MEMBER, member_epoch=1)
        known = (ErrorCode.NONE, ErrorCode.FENCED_MEMBER_EPOCH)  # it has gone on to another epoch meanwhile
        assert client.ask(living, 1, ConsumerGroupHeartbeatResponse).error_code in known
    ours_of_others = {text: we_answer(ours, text) for text in ABOUT_OTHER_GROUPS}
    assert ours_of_others == other_groups_say


def append(node: Node, ours: Coordinator) -> None:
    """What we have decided, behind what Kafka wrote, in batches and with markers as a broker would write them."""
    log = open_log(SystemDisk(), node.directory, TopicConfig.load({}), now_ms=ours.now_ms, clean=True)
    epoch = 0
    for entry, producer_id in ours.log:
        if isinstance(entry, GroupRecord):
            in_transaction = producer_id >= 0
            batch = build_group_batch(
                [entry],
                ours.now_ms,
                producer_id=producer_id,
                producer_epoch=0 if in_transaction else -1,
                base_sequence=0 if in_transaction else -1,
            )
            log.append_as_leader([Batch(batch)], epoch, ours.now_ms)
        else:
            kind = ControlRecordType.COMMIT if entry else ControlRecordType.ABORT
            marker = build_end_transaction_marker(
                kind, producer_id=producer_id, producer_epoch=0, coordinator_epoch=0, timestamp=ours.now_ms
            )
            log.append_as_leader(
                [Batch(marker)], epoch, ours.now_ms, origin=AppendOrigin.COORDINATOR, transaction_version=1
            )
    log.close()


def test_the_groups_of_a_log_are_of_their_types(node: Node) -> None:
    kinds = {name: type(group) for name, group in loaded(node).shard.groups.items()}
    assert kinds["simple"] is ClassicGroup
