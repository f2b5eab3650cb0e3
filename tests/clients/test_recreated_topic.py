"""A topic is deleted and created again under those who go on living: it is another one of the same name."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from barnabas.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchResponse
from barnabas.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from barnabas.protocol.record import Record
from barnabas.protocol.schema import Uuid
from compat.rounds.adapter import ConsumerSettings, Received, load, take
from tests.clients.broker_process import BrokerProcess
from tests.clients.parameters import EACH_CLIENT
from tests.clients.raw_group import RawMember, find_coordinator
from tests.clients.raw_records import create_topic
from tests.clients.waiting import wait_until
from tests.kafka.client import RawClient

pytestmark = pytest.mark.slow

LONG_AGO = 1_700_000_000_000


NEEDS_A_NEW_CONSUMER = {"kafka-python"}
"""3.0.12 never reads that topic again, beside Apache Kafka neither, until its consumer is made anew."""


@pytest.mark.parametrize("name_of_client", EACH_CLIENT)
def test_a_topic_is_created_again(name_of_client: str, own_broker: Callable[..., BrokerProcess], name: str) -> None:
    """The consumer, which stood behind all that there was, reads the new records from the first one on."""
    broker = own_broker(auto_create_topics_enable="false")  # or the consumer itself would create it again
    client = load(name_of_client)
    admin = client.administer(broker.bootstrap)
    admin.create_topic(name)
    producer = client.produce(broker.bootstrap)
    for number in range(20):
        producer.send(name, b"old %d" % number)
    producer.flush()
    producer.close()
    consumer = client.consume(ConsumerSettings(broker.bootstrap, name, group=name, metadata_max_age_ms=500))
    consumer.subscribe()
    take(consumer, 20)

    admin.delete_topic(name)
    wait_until(lambda: name not in admin.topics(), "the topic to go")
    admin.create_topic(name)
    wait_until(lambda: name in admin.topics(), "the topic to come")
    admin.close()
    if name_of_client in NEEDS_A_NEW_CONSUMER:
        consumer.close()
        consumer = client.consume(ConsumerSettings(broker.bootstrap, name, group=name))
        consumer.subscribe()
    producer = client.produce(broker.bootstrap)
    for number in range(5):
        producer.send(name, b"new %d" % number)
    assert producer.flush() == [(0, offset) for offset in range(5)]
    producer.close()
    received: list[Received] = []

    def all_are_here() -> bool:
        received.extend(consumer.poll(0.1))
        return len(received) >= 5

    wait_until(all_are_here, "the new records")
    assert [(one.offset, one.value) for one in received] == [(number, b"new %d" % number) for number in range(5)]
    consumer.close()


def fetch(
    client: RawClient, topic_id: Uuid, offset: int, session: tuple[int, int] = (0, -1), *, news: bool = False
) -> tuple[int, int, int, int]:
    """The session, and of the partition its error, its end and how many bytes of records there are. `news`: the session
    knows what is wanted."""
    partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=1,
        topics=[] if news else [FetchTopic(topic_id=topic_id, partitions=[partition])],
        session_id=session[0],
        session_epoch=session[1],
    )
    answer = client.ask(request, 16, FetchResponse)
    assert answer.error_code == 0
    (found,) = answer.responses[0].partitions
    return answer.session_id, found.error_code, found.high_watermark, len(found.records or b"")


def produce(client: RawClient, topic_id: Uuid, value: bytes) -> tuple[int, int]:
    batch = build_batch([Record(value=value, timestamp=LONG_AGO)])
    data = TopicProduceData(topic_id=topic_id, partition_data=[PartitionProduceData(index=0, records=batch)])
    request = ProduceRequest(acks=-1, timeout_ms=5_000, topic_data=[data])
    answer = client.ask(request, 13, ProduceResponse).responses[0].partition_responses[0]
    return answer.error_code, answer.base_offset


def committed(client: RawClient, group: str) -> list[int]:
    asked = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=None)])
    (found,) = client.ask(asked, 8, OffsetFetchResponse).groups
    return [one.committed_offset for topic in found.topics for one in topic.partitions]


def test_the_old_one_is_not_taken_for_the_new(own_broker: Callable[..., BrokerProcess], name: str) -> None:
    """Who has its id is told so, in a session too; its records and what groups had committed are gone."""
    broker = own_broker(auto_create_topics_enable="false")
    with RawClient(broker.host, broker.port) as client:
        old = create_topic(client, name)
        wait_until(lambda: produce(client, old, b"old")[0] == 0, "the topic to be led")
        session, error, end, size = fetch(client, old, 0, (0, 0))
        assert (session > 0, error, end, size > 0) == (True, 0, 1, True)
        member = RawMember(client, name)
        find_coordinator(client, name)
        wait_until(lambda: member.commit(name, generation=-1) == 0, "the offset to be committed")
        assert committed(client, name) == [1]

        request = DeleteTopicsRequest(topics=[DeleteTopicState(name=name)], timeout_ms=5_000)
        (deleted,) = client.ask(request, 6, DeleteTopicsResponse).responses
        assert (deleted.error_code, deleted.topic_id) == (0, old)
        new = create_topic(client, name)
        assert new != old
        wait_until(lambda: fetch(client, new, 0)[1] == 0, "the new topic to be led")

        unknown = ErrorCode.UNKNOWN_TOPIC_ID
        wait_until(lambda: fetch(client, old, 0)[1] == unknown, "the old topic to be gone")
        assert fetch(client, old, 1, (session, 1), news=True)[1] in (unknown, ErrorCode.INCONSISTENT_TOPIC_ID)
        assert produce(client, old, b"late") == (unknown, -1)
        assert fetch(client, new, 0)[1:] == (0, 0, 0)
        assert fetch(client, new, 1)[1] == ErrorCode.OFFSET_OUT_OF_RANGE
        assert produce(client, new, b"new") == (0, 0)
        wait_until(lambda: committed(client, name) == [], "the offsets to be forgotten")
