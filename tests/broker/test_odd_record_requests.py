"""Odd requests about records, which random ones beside Kafka came upon (test_random_requests_beside_kafka.py)."""

from __future__ import annotations

from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.create_topics import (
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from barnabas.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from barnabas.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from barnabas.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from barnabas.protocol.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from barnabas.protocol.record import Record
from barnabas.protocol.schema import Uuid
from tests.kafka.client import RawClient

from .running import RunningNode
from .test_produce_and_fetch import TOPIC, create, produce


def test_a_producer_has_both_an_id_and_an_epoch_or_neither(client: RawClient) -> None:
    def code(version: int = 5, **fields: object) -> int:
        request = InitProducerIdRequest(transactional_id=None)
        for name, value in fields.items():
            setattr(request, name, value)
        return client.ask(request, version, InitProducerIdResponse).error_code

    assert code() == ErrorCode.NONE
    assert code(producer_epoch=-2) == ErrorCode.INVALID_REQUEST
    assert code(producer_id=5, producer_epoch=-2) == ErrorCode.NONE
    assert code(transactional_id="") == ErrorCode.INVALID_REQUEST


def ask_fetch(client: RawClient, version: int = 12, **fields: object) -> FetchResponse:
    one = FetchPartition(partition=0, partition_max_bytes=1 << 20)
    request = FetchRequest(max_wait_ms=0, topics=[FetchTopic(topic=TOPIC, partitions=[one])])
    for name, value in fields.items():
        setattr(one if name in FetchPartition.__struct_fields__ else request, name, value)
    return client.ask(request, version, FetchResponse)


def test_an_isolation_level_that_there_is_not_is_refused(client: RawClient) -> None:
    create(client)
    answer = ask_fetch(client, isolation_level=2)
    assert answer.error_code == ErrorCode.INVALID_REQUEST
    assert [one.error_code for one in answer.responses[0].partitions] == [ErrorCode.INVALID_REQUEST]
    # A session that there is not is seen first, and where nothing would be read nobody looks.
    answer = ask_fetch(client, isolation_level=2, session_id=5, session_epoch=7)
    assert answer.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert ask_fetch(client, isolation_level=2, partition=9).error_code == ErrorCode.NONE

    listed = ListOffsetsRequest(
        replica_id=-1,
        isolation_level=-1,
        topics=[ListOffsetsTopic(name=TOPIC, partitions=[ListOffsetsPartition(timestamp=-1)])],
    )
    (topic,) = client.ask(listed, 7, ListOffsetsResponse).topics
    assert [one.error_code for one in topic.partitions] == [ErrorCode.INVALID_REQUEST]


def test_any_epoch_below_zero_is_none(client: RawClient) -> None:
    create(client)
    produce(client, b"a")
    (one,) = ask_fetch(client, current_leader_epoch=-2, last_fetched_epoch=-7).responses[0].partitions
    assert (one.error_code, one.diverging_epoch, one.high_watermark) == (0, None, 1)
    assert one.records


def test_a_limit_below_zero_is_refused_where_there_is_something_to_read(client: RawClient) -> None:
    create(client)
    produce(client, b"a")
    (one,) = ask_fetch(client, partition_max_bytes=-1).responses[0].partitions
    assert one.error_code == ErrorCode.INVALID_REQUEST
    (one,) = ask_fetch(client, partition_max_bytes=-1, fetch_offset=1).responses[0].partitions
    assert one.error_code == ErrorCode.NONE


def test_what_nobody_knows_stands_behind_what_is_there_first_unknown_ids(client: RawClient) -> None:
    create(client)
    unknown = Uuid(b"unknown to anyone"[:16])
    request = FetchRequest(max_wait_ms=0)
    topic = CreatableTopic(name="payments", num_partitions=1, replication_factor=1)
    made = client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=5_000), 7, CreateTopicsResponse)
    known = made.topics[0].topic_id
    for topic_id, number in ((known, 5), (unknown, 0), (known, 0)):
        partition = FetchPartition(partition=number, partition_max_bytes=100)
        request.topics.append(FetchTopic(topic_id=topic_id, partitions=[partition]))
    answer = client.ask(request, 13, FetchResponse)
    codes = [ErrorCode(one.error_code) for each in answer.responses for one in each.partitions]
    assert codes == [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


def test_a_session_follows_a_topic_without_an_id_once(client: RawClient) -> None:
    topics = [FetchTopic(partitions=[FetchPartition(partition=0, partition_max_bytes=100)])]
    request = FetchRequest(max_wait_ms=0, session_epoch=0, topics=topics)
    answer = client.ask(request, 13, FetchResponse)
    request.session_id, request.session_epoch = answer.session_id, 1
    answer = client.ask(request, 13, FetchResponse)
    codes = [one.error_code for each in answer.responses for one in each.partitions]
    assert codes == [ErrorCode.UNKNOWN_TOPIC_ID]


def test_what_is_gone_from_a_session_and_what_is_new_to_it_stand_in_one_topic(client: RawClient) -> None:
    topic = CreatableTopic(name=TOPIC, num_partitions=2, replication_factor=1)
    made = client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=5_000), 7, CreateTopicsResponse)
    one = FetchPartition(partition=1, partition_max_bytes=100)
    request = FetchRequest(max_wait_ms=0, session_epoch=0)
    request.topics = [FetchTopic(topic_id=made.topics[0].topic_id, partitions=[one])]
    request.session_id = client.ask(request, 13, FetchResponse).session_id
    client.ask(DeleteTopicsRequest(topic_names=[TOPIC], timeout_ms=5_000), 5, DeleteTopicsResponse)
    request.session_epoch, one.partition = 1, 0
    (told,) = client.ask(request, 13, FetchResponse).responses
    codes = {one.partition_index: one.error_code for one in told.partitions}
    assert codes == {0: ErrorCode.UNKNOWN_TOPIC_ID, 1: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


def test_a_session_that_needs_a_later_version_is_told_so(client: RawClient) -> None:
    create(client)
    answer = ask_fetch(client, session_epoch=0, last_fetched_epoch=0, fetch_offset=0)
    produce(client, b"a")
    moved = FetchPartition(partition=0, partition_max_bytes=100, last_fetched_epoch=0, fetch_offset=9)
    request = FetchRequest(max_wait_ms=0, session_id=answer.session_id, session_epoch=1)
    request.topics = [FetchTopic(topic=TOPIC, partitions=[moved])]
    (told,) = client.ask(request, 12, FetchResponse).responses[0].partitions
    assert told.diverging_epoch is not None
    request.topics, request.session_epoch = [], 2
    told_so = client.ask(request, 11, FetchResponse)
    assert (told_so.error_code, told_so.session_id) == (ErrorCode.UNSUPPORTED_VERSION, answer.session_id)


def test_a_topic_that_goes_while_a_fetch_waits_ends_it(node: RunningNode, client: RawClient) -> None:
    create(client)
    one = FetchPartition(partition=0, partition_max_bytes=100)
    topics = [FetchTopic(topic=name, partitions=[one]) for name in (TOPIC, "nowhere")]
    client.send(FetchRequest(max_wait_ms=60_000, min_bytes=1, topics=topics), 12)
    client.send(FindCoordinatorRequest(key_type=3), 3)  # behind it, so that it is known to have arrived
    with node.client() as other:
        other.ask(DeleteTopicsRequest(topic_names=[TOPIC], timeout_ms=5_000), 5, DeleteTopicsResponse)
    answer = client.receive(FetchResponse)
    told = [one for topic in answer.responses for one in topic.partitions]
    assert [one.error_code for one in told] == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 2
    assert [one.aborted_transactions for one in told] == [None, []]


def test_the_highest_timestamp_may_be_that_of_a_deleted_record(client: RawClient) -> None:
    create(client)
    produce(client, b"late", timestamp=1_700_000_000_009)
    produce(client, b"early")
    deleted = DeleteRecordsTopic(name=TOPIC, partitions=[DeleteRecordsPartition(partition_index=0, offset=1)])
    client.ask(DeleteRecordsRequest(topics=[deleted], timeout_ms=5_000), 2, DeleteRecordsResponse)
    asked = ListOffsetsTopic(name=TOPIC, partitions=[ListOffsetsPartition(timestamp=-3)])
    (topic,) = client.ask(ListOffsetsRequest(replica_id=-1, topics=[asked]), 7, ListOffsetsResponse).topics
    assert [(one.timestamp, one.offset) for one in topic.partitions] == [(1_700_000_000_009, 0)]


def test_of_records_without_a_time_the_first_has_the_highest(client: RawClient) -> None:
    create(client)
    asked = ListOffsetsTopic(name=TOPIC, partitions=[ListOffsetsPartition(timestamp=-3)])

    def latest() -> tuple[int, int, int]:
        (topic,) = client.ask(ListOffsetsRequest(replica_id=-1, topics=[asked]), 7, ListOffsetsResponse).topics
        (one,) = topic.partitions
        return one.timestamp, one.offset, one.leader_epoch

    assert latest() == (-1, -1, -1)
    produce(client, b"a", b"b", timestamp=-1)
    assert latest() == (-1, 0, 0)


def test_a_topic_without_partitions_is_not_in_the_answer_to_its_produce(client: RawClient) -> None:
    create(client)
    request = ProduceRequest(acks=1, timeout_ms=1_000, topic_data=[TopicProduceData(name=TOPIC)] * 2)
    assert client.ask(request, 12, ProduceResponse).responses == []
    broken = TopicProduceData(name=TOPIC, partition_data=[PartitionProduceData(records=bytes(70))])
    request.topic_data = [broken, broken]
    (topic,) = client.ask(request, 12, ProduceResponse).responses
    assert [one.error_code for one in topic.partition_responses] == [ErrorCode.CORRUPT_MESSAGE]


def test_a_batch_shorter_than_any_message_refuses_all_of_a_request(client: RawClient) -> None:
    pair = CreatableTopic(name="pair", num_partitions=2, replication_factor=1)
    client.ask(CreateTopicsRequest(topics=[pair], timeout_ms=5_000), 7, CreateTopicsResponse)
    for length, refused in ((-1, 2), (13, 2), (14, 1)):
        broken = bytearray(build_batch([Record(value=b"a" * 20)]))
        broken[8:12] = length.to_bytes(4, signed=True)
        parts = [
            PartitionProduceData(index=0, records=build_batch([Record(value=b"good")])),
            PartitionProduceData(index=1, records=bytes(broken)),
        ]
        request = ProduceRequest(
            acks=1, timeout_ms=1_000, topic_data=[TopicProduceData(name="pair", partition_data=parts)]
        )
        (topic,) = client.ask(request, 12, ProduceResponse).responses
        codes = [one.error_code for one in topic.partition_responses]
        assert codes.count(ErrorCode.CORRUPT_MESSAGE) == refused
