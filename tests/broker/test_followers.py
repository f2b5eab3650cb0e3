"""What a leader answers its followers, and what it makes of them: a node of ours and Apache Kafka, asked the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from barnabas.broker.node import Node
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from barnabas.protocol.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse, TopicPartitions
from barnabas.protocol.messages.fetch import FetchResponse
from barnabas.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from barnabas.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from barnabas.storage.topic_config import TopicConfig
from tests.kafka.broker import KafkaBroker
from tests.kafka.client import RawClient

from .asking import BROKER, set_config
from .followed import (
    CONSUMER,
    LEADER,
    SETTINGS,
    Follower,
    KafkasLeader,
    Led,
    OurLeader,
    Topic,
    acknowledged,
    fetched,
    until,
)
from .running import RunningNode

PATIENT = {**SETTINGS, "replica.lag.time.max.ms": "600000"}
RACKS = {"replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"}
IMPATIENT = {**SETTINGS, "replica.lag.time.max.ms": "3000"}

NOT_YET_MS = 300
"""So long is waited for what shall not come."""


def _led(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, settings: dict[str, str]
) -> Iterator[Led]:
    if request.param == "ours":
        running = RunningNode(tmp_path_factory.mktemp("leader") / "data", node_id="1")
        running.settings.update(settings)
        with running as node, closing(OurLeader(node)) as led:
            yield led
    else:
        classpath = request.getfixturevalue("kafka_classpath")
        with KafkaBroker(classpath, config=settings) as kafka, closing(KafkasLeader(kafka)) as led:
            yield led


@pytest.fixture(scope="module", params=["ours", pytest.param("kafka", marks=[pytest.mark.java, pytest.mark.slow])])
def led(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Led]:
    yield from _led(request, tmp_path_factory, {**PATIENT, **RACKS})


@pytest.fixture(scope="module")
def second(led: Led) -> Follower:
    return Follower(led, 2, rack="b")


@pytest.fixture(scope="module")
def third(led: Led) -> Follower:
    return Follower(led, 3, rack="c")


def test_what_a_follower_fetches_from_counts_before(led: Led, second: Follower) -> None:
    topic = led.new_topic(LEADER, 2)
    assert topic.in_sync() == [1, 2]
    assert topic.produce(b"a") == "NONE from 0"
    assert topic.produce(b"b") == "NONE from 1"
    assert topic.fetch(CONSUMER, 0) == "nothing; counts to 0, begins at 0"
    assert topic.fetch(second, 0) == "a, b; counts to 0, begins at 0"
    assert topic.fetch(second, 1) == "b; counts to 0, begins at 0"
    assert topic.fetch(second, 2) == "nothing; counts to 1, begins at 0"
    assert topic.fetch(CONSUMER, 0) == "a, b; counts to 2, begins at 0"
    assert topic.fetch(second, 2) == "nothing; counts to 2, begins at 0"


def test_who_wants_all_in_sync_waits_for_them(led: Led, second: Follower, third: Follower) -> None:
    topic = led.new_topic(LEADER, 2, 3)
    with led.connect() as producer:
        topic.send(producer, b"a")
        until(lambda: topic.fetch(second, 0).startswith("a"))
        topic.fetch(second, 1)
        assert topic.fetch(CONSUMER, 0) == "nothing; counts to 0, begins at 0"
        topic.fetch(third, 1)
        assert acknowledged(producer) == "NONE from 0"
    assert topic.fetch(CONSUMER, 0) == "a; counts to 1, begins at 0"
    assert topic.produce(b"b", acks=-1, timeout_ms=NOT_YET_MS) == "REQUEST_TIMED_OUT from 1"


def test_a_follower_that_waits_is_told_what_counts_when_its_wait_ends(
    led: Led, second: Follower, third: Follower
) -> None:
    """That alone does not end it."""
    topic = led.new_topic(LEADER, 2, 3)
    topic.produce(b"a")
    with led.connect() as waiting:
        waiting.send(topic.fetch_request(second, 1, max_wait_ms=NOT_YET_MS), 17)
        topic.fetch(third, 1)
        assert fetched(waiting.receive(FetchResponse)) == "nothing; counts to 1, begins at 0"


def test_a_record_ends_a_followers_wait_and_what_counts_a_consumers(led: Led, second: Follower) -> None:
    topic = led.new_topic(LEADER, 2)
    with led.connect() as follower, led.connect() as consumer:
        follower.send(topic.fetch_request(second, 0, max_wait_ms=20_000), 17)
        consumer.send(topic.fetch_request(CONSUMER, 0, max_wait_ms=20_000), 17)
        topic.produce(b"a")
        assert fetched(follower.receive(FetchResponse)) == "a; counts to 0, begins at 0"
        topic.fetch(second, 1)
        assert fetched(consumer.receive(FetchResponse)) == "a; counts to 1, begins at 0"


def test_in_a_session_a_follower_is_told_what_is_news(led: Led, second: Follower) -> None:
    topic = led.new_topic(LEADER, 2)
    topic.produce(b"a")
    with led.connect() as client:
        first = client.ask(topic.fetch_request(second, 0, session=(0, 0)), 17, FetchResponse)
        assert fetched(first) == "a; counts to 0, begins at 0"
        told = []
        for epoch in range(1, 5):
            request = topic.fetch_request(second, 1, session=(first.session_id, epoch))
            told.append(fetched(client.ask(request, 17, FetchResponse)))
        assert told == ["no news", "nothing; counts to 1, begins at 0", "no news", "no news"]


def test_who_has_everything_comes_in(led: Led, second: Follower) -> None:
    late = Follower(led, 12, is_fenced=True)
    topic = led.new_topic(LEADER, 12)
    assert topic.in_sync() == [1]
    topic.produce(b"a", b"b")
    assert topic.fetch(late, 2).startswith("nothing; counts to 2")
    late.beat()
    with led.connect() as client:
        until(lambda: topic.fetch(late, 1) and topic.fetch(late, 2, client=client) and topic.in_sync() == [1, 12])
    topic.produce(b"c")
    assert topic.fetch(CONSUMER, 2) == "nothing; counts to 2, begins at 0"


def test_who_asks_is_looked_at_first(led: Led, second: Follower, third: Follower) -> None:
    topic = led.new_topic(LEADER, 2)
    topic.produce(b"a")
    assert topic.fetch(second, 0, leader_epoch=1) == "UNKNOWN_LEADER_EPOCH"
    assert topic.fetch(second, 0, leader_epoch=-1) == "a; counts to 0, begins at 0"
    assert topic.fetch(third, 0) == "UNKNOWN_LEADER_EPOCH"
    assert topic.fetch(third, 0, leader_epoch=-1) == "NOT_LEADER_OR_FOLLOWER"
    assert topic.fetch(LEADER, 0) == "UNKNOWN_LEADER_EPOCH"
    assert topic.fetch(77, 0, leader_epoch=-1) == "NOT_LEADER_OR_FOLLOWER"
    assert topic.fetch(second, 2) == "OFFSET_OUT_OF_RANGE"
    assert topic.fetch(second, 1, last_epoch=3) == "OFFSET_OUT_OF_RANGE"
    assert topic.fetch(second, 1, last_epoch=0) == "nothing; counts to 0, begins at 0"


def test_what_an_earlier_run_of_a_broker_says_is_refused(led: Led, second: Follower) -> None:
    topic = led.new_topic(LEADER, 2)
    topic.produce(b"a")
    assert topic.fetch(second, 1, broker_epoch=second.epoch - 1) == "NOT_LEADER_OR_FOLLOWER"
    assert topic.fetch(CONSUMER, 0) == "nothing; counts to 0, begins at 0"
    assert topic.fetch(second, 1, broker_epoch=second.epoch + 1) == "nothing; counts to 0, begins at 0"
    assert topic.fetch(CONSUMER, 0) == "a; counts to 1, begins at 0"


@pytest.mark.parametrize("version", [4, 9, 11, 12, 13, 15, 18])
def test_followers_of_all_versions_are_heard(led: Led, second: Follower, version: int) -> None:
    topic = led.new_topic(LEADER, 2)
    topic.produce(b"a")
    start = "begins at -1" if version < 5 else "begins at 0"
    assert topic.fetch(second, 1, version=version) == f"nothing; counts to 0, {start}"
    assert topic.fetch(CONSUMER, 0, version=version) == f"a; counts to 1, {start}"


# Elections


def _list_offset(client: RawClient, topic: Topic, when: int, *, version: int = 7, replica: int = CONSUMER) -> str:
    asked = ListOffsetsTopic(name=topic.name, partitions=[ListOffsetsPartition(partition_index=0, timestamp=when)])
    request = ListOffsetsRequest(replica_id=replica, topics=[asked])
    (answer,) = client.ask(request, version, ListOffsetsResponse).topics[0].partitions
    return ErrorCode(answer.error_code).name if answer.error_code else str(answer.offset)


def _epoch_end(client: RawClient, topic: Topic, epoch: int, *, current: int = -1, replica: int = -2) -> str:
    asked = OffsetForLeaderPartition(partition=0, leader_epoch=epoch, current_leader_epoch=current)
    topics = [OffsetForLeaderTopic(topic=topic.name, partitions=[asked])]
    request = OffsetForLeaderEpochRequest(replica_id=replica, topics=topics)
    (answer,) = client.ask(request, 4, OffsetForLeaderEpochResponse).topics[0].partitions
    if answer.error_code:
        return ErrorCode(answer.error_code).name
    return f"{answer.leader_epoch} to {answer.end_offset}"


def test_a_new_leader_does_not_know_at_once_what_counts(led: Led, third: Follower) -> None:
    """Broker 4 leads for a moment, which is preferred and comes in late; then it goes, and this one leads again."""
    preferred = Follower(led, 4, is_fenced=True)
    topic = led.new_topic(4, LEADER, 3)
    topic.fetch(third, 0)
    preferred.beat()
    until(lambda: topic.fetch(preferred, 0) and topic.in_sync() == [1, 3, 4])
    producer = led.connect()
    topic.send(producer, b"a", b"b", timeout_ms=60_000)
    until(lambda: topic.fetch(third, 0).startswith("a, b"))
    assert _list_offset(led.client, topic, -1) == "0"
    election = ElectLeadersRequest(
        topic_partitions=[TopicPartitions(topic=topic.name, partitions=[0])], timeout_ms=10_000
    )
    assert led.client.ask(election, 2, ElectLeadersResponse).error_code == 0
    until(lambda: topic.metadata().leader_id == 4)
    until(lambda: _list_offset(led.client, topic, -1) == "NOT_LEADER_OR_FOLLOWER")
    assert acknowledged(producer) == "NOT_LEADER_OR_FOLLOWER from 0"
    producer.__exit__(None, None, None)
    # Kafka's own rule: a consumer that knows of followers may read from one.
    assert topic.fetch(CONSUMER, 0, leader_epoch=1) == "nothing; counts to 0, begins at 0"
    assert topic.fetch(CONSUMER, 3, leader_epoch=1) == "OFFSET_OUT_OF_RANGE"
    assert topic.fetch(CONSUMER, 0, leader_epoch=0) == "FENCED_LEADER_EPOCH"
    assert topic.fetch(CONSUMER, 0, leader_epoch=1, version=10) == "NOT_LEADER_OR_FOLLOWER"
    assert topic.fetch(third, 0, leader_epoch=1) == "NOT_LEADER_OR_FOLLOWER"
    assert topic.fetch(third, 0, leader_epoch=0) == "FENCED_LEADER_EPOCH"
    assert topic.produce(b"x") == "NOT_LEADER_OR_FOLLOWER from -1"
    assert _list_offset(led.client, topic, -1, replica=-2) == "2"
    assert _epoch_end(led.client, topic, 0) == "NOT_LEADER_OR_FOLLOWER"
    assert _epoch_end(led.client, topic, 0, current=0) == "FENCED_LEADER_EPOCH"
    preferred.beat(want_fence=True)
    until(lambda: topic.metadata().leader_id == LEADER)
    until(lambda: _list_offset(led.client, topic, -1) != "NOT_LEADER_OR_FOLLOWER")
    assert topic.in_sync() == [1, 3]
    assert _list_offset(led.client, topic, -1) == "OFFSET_NOT_AVAILABLE"
    assert _list_offset(led.client, topic, -1, version=4) == "LEADER_NOT_AVAILABLE"
    assert _list_offset(led.client, topic, -2) == "0"
    assert _list_offset(led.client, topic, 1) == "OFFSET_NOT_AVAILABLE"
    assert _list_offset(led.client, topic, 1 << 60) == "OFFSET_NOT_AVAILABLE"
    assert _list_offset(led.client, topic, -1, replica=3) == "2"
    assert topic.fetch(third, 2, leader_epoch=1) == "FENCED_LEADER_EPOCH"
    parting = "nothing; counts to 0, begins at 0, parts from epoch 0 at 2"
    assert topic.fetch(third, 2, leader_epoch=2, last_epoch=1) == parting
    assert topic.fetch(CONSUMER, 0, leader_epoch=2) == "nothing; counts to 0, begins at 0"
    assert _epoch_end(led.client, topic, 0, current=2, replica=3) == "0 to 2"
    assert _epoch_end(led.client, topic, 1, current=2, replica=3) == "0 to 2"
    assert _epoch_end(led.client, topic, 2, current=2, replica=3) == "2 to 2"
    assert topic.fetch(third, 2, leader_epoch=2, last_epoch=0) == "nothing; counts to 0, begins at 0"
    assert _list_offset(led.client, topic, -1) == "2"
    assert topic.fetch(CONSUMER, 0, leader_epoch=2) == "a, b; counts to 2, begins at 0"


# Records that are deleted


def _delete(client: RawClient, topic: Topic, offset: int, timeout_ms: int = 10_000) -> None:
    partition = DeleteRecordsPartition(partition_index=0, offset=offset)
    topics = [DeleteRecordsTopic(name=topic.name, partitions=[partition])]
    client.send(DeleteRecordsRequest(topics=topics, timeout_ms=timeout_ms), 2)


def _deleted(client: RawClient) -> str:
    (answer,) = client.receive(DeleteRecordsResponse).topics[0].partitions
    return f"{ErrorCode(answer.error_code).name} from {answer.low_watermark}"


def test_records_are_deleted_when_all_have_deleted_them(led: Led, second: Follower, third: Follower) -> None:
    topic = led.new_topic(LEADER, 2, 3)
    topic.produce(b"a", b"b", b"c")
    for one in (second, third, second):
        topic.fetch(one, 3)
    with led.connect() as client:
        _delete(client, topic, 4)
        assert _deleted(client) == "OFFSET_OUT_OF_RANGE from -1"
        _delete(client, topic, 2, timeout_ms=NOT_YET_MS)
        assert _deleted(client) == "REQUEST_TIMED_OUT from 0"
        assert topic.fetch(CONSUMER, 1) == "OFFSET_OUT_OF_RANGE"
        _delete(client, topic, -1)
        until(lambda: topic.fetch(second, 3, log_start=3).endswith("begins at 3"))
        assert topic.fetch(third, 3, log_start=3).endswith("begins at 3")
        if isinstance(led, KafkasLeader):
            # Kafka overlooks a deletion that waits already and has not been counted among those that do, which comes a
            # moment later. It looks at all of them when more counts.
            topic.produce(b"d")
            for one in (second, third):
                topic.fetch(one, 4, log_start=3)
        assert _deleted(client) == "NONE from 3"
        _delete(client, topic, 1)
        assert _deleted(client) == "NONE from 3"


# Racks


def test_a_consumer_is_sent_to_the_replica_in_its_rack(led: Led, second: Follower, third: Follower) -> None:
    topic = led.new_topic(LEADER, 2, 3)
    topic.produce(b"a", b"b")
    here = "nothing; counts to 0, begins at 0"
    assert topic.fetch(CONSUMER, 0, rack="b") == here, "nobody has heard of it"
    for one in (second, third, second):
        topic.fetch(one, 2)
    records = "a, b; counts to 2, begins at 0"
    assert topic.fetch(CONSUMER, 0, rack="b") == "nothing; counts to 2, begins at 0, read from 2"
    assert topic.fetch(CONSUMER, 0, rack="b", max_wait_ms=20_000, min_bytes=1_000).endswith("read from 2")
    assert topic.fetch(CONSUMER, 0, rack="c", version=11) == "nothing; counts to 2, begins at 0, read from 3"
    assert topic.fetch(CONSUMER, 0, rack="a") == records
    assert topic.fetch(CONSUMER, 0, rack="nowhere") == records
    assert topic.fetch(CONSUMER, 0) == records
    topic.produce(b"c")
    assert topic.fetch(CONSUMER, 3, rack="b") == "nothing; counts to 2, begins at 0"
    assert topic.fetch(second, 2, rack="c") == "c; counts to 2, begins at 0"
    assert topic.fetch(CONSUMER, 0, rack="b", leader_epoch=5) == "UNKNOWN_LEADER_EPOCH"


def test_in_a_session_a_consumer_is_sent_on_each_time(led: Led, second: Follower) -> None:
    topic = led.new_topic(LEADER, 2)
    for _ in range(2):
        topic.fetch(second, 0)
    with led.connect() as client:
        first = client.ask(topic.fetch_request(CONSUMER, 0, rack="b", session=(0, 0)), 17, FetchResponse)
        again = topic.fetch_request(CONSUMER, 0, rack="b", session=(first.session_id, 1))
        assert fetched(first) == fetched(client.ask(again, 17, FetchResponse))
        assert fetched(first) == "nothing; counts to 0, begins at 0, read from 2"


# Rates


def test_who_moves_here_gets_no_more_than_the_rate_until_it_is_in_sync(led: Led) -> None:
    late = Follower(led, 13, is_fenced=True)
    topic = led.new_topic(LEADER, 13, leader_replication_throttled_replicas="0:1")
    topic.produce(b"a")
    records, nothing = "a; counts to 1, begins at 0", "nothing; counts to 1, begins at 0"
    assert topic.fetch(late, 0) == topic.fetch(late, 0) == records
    assert set_config(led.client, BROKER, str(LEADER), "leader.replication.throttled.rate", "1") == 0
    until(lambda: topic.fetch(late, 0) == nothing)
    assert topic.fetch(CONSUMER, 0) == records
    with led.connect() as waiting:
        waiting.send(topic.fetch_request(late, 0, max_wait_ms=NOT_YET_MS), 17)
        assert fetched(waiting.receive(FetchResponse)) == nothing
    late.beat()
    until(lambda: topic.fetch(late, 1) and topic.in_sync() == [1, 13])
    assert topic.fetch(late, 0) == records
    assert set_config(led.client, BROKER, str(LEADER), "leader.replication.throttled.rate", None) == 0


# Who lags


@pytest.fixture(scope="module", params=["ours", pytest.param("kafka", marks=pytest.mark.java)])
def impatient(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Led]:
    yield from _led(request, tmp_path_factory, IMPATIENT)


def test_records_that_count_with_too_few_in_sync_are_acknowledged_as_such(tmp_path: Path) -> None:
    """Between the two, the set has shrunk: of Kafka nobody can ask for such a moment."""
    with RunningNode(tmp_path / "data", node_id="1") as node, closing(OurLeader(node)) as led:
        second = Follower(led, 2)
        topic = led.new_topic(LEADER, 2)

        def count_and_shrink(inside: Node) -> None:
            partition = inside.partition(topic.name, 0)
            assert partition.leading is not None
            partition.leading.fetched(2, 1, 0, second.epoch)
            assert partition.high_watermark.offset == 1
            state = inside.image.topics.by_name[topic.name].partitions[0]
            partition.lead(replace(state, isr=(LEADER,), partition_epoch=state.partition_epoch + 1))
            partition.log.configure(TopicConfig.load({"min.insync.replicas": "2"}))

        with led.connect() as producer:
            topic.send(producer, b"a")
            until(lambda: topic.fetch(second, 0).startswith("a"))
            node.do(count_and_shrink)
            assert acknowledged(producer) == "NOT_ENOUGH_REPLICAS_AFTER_APPEND from 0"


@pytest.mark.slow
def test_who_lags_goes_and_comes_back(impatient: Led) -> None:
    second = Follower(impatient, 2)
    topic = impatient.new_topic(LEADER, 2, min_insync_replicas="2")
    with impatient.connect() as waiting:
        topic.send(waiting, b"a", timeout_ms=60_000)
        topic.wait_for_in_sync(1)
        # Kafka's Metadata tells of it a moment before its leader knows.
        early = 0
        while (told := topic.produce(b"b", acks=-1)) != "NOT_ENOUGH_REPLICAS from -1":
            assert told == f"REQUEST_TIMED_OUT from {1 + early}"
            early += 1
        assert topic.produce(b"b") == f"NONE from {1 + early}"
        assert topic.fetch(CONSUMER, 0) == "nothing; counts to 0, begins at 0"
        assert topic.fetch(second, 0) == f"a{', b' * (1 + early)}; counts to 0, begins at 0"
        # It is let in at once, and may be put out again for what it lacked, until it has asked once more.
        until(lambda: topic.fetch(second, 2 + early) == f"nothing; counts to {2 + early}, begins at 0")
        assert acknowledged(waiting) == "NONE from 0"
    topic.wait_for_in_sync(1, 2)
    assert topic.fetch(CONSUMER, 0) == f"a{', b' * (1 + early)}; counts to {2 + early}, begins at 0"
