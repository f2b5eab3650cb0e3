"""Options as Spark's own Kafka source has them; what is wrong with them is said in a sentence."""

from __future__ import annotations

import json

import pytest

from barnabas.client.cluster import Partition
from barnabas.client.offsets import EARLIEST, LATEST
from barnabas.pipeline.source.errors import SourceError
from barnabas.pipeline.source.options import SourceOptions, parse_options, wants_headers
from barnabas.pipeline.source.position import Position
from barnabas.pipeline.source.ranges import OffsetRange, split
from barnabas.protocol.schema import Uuid

LEAST = {"kafka.bootstrap.servers": "localhost:9092", "subscribe": "orders"}


def batch(**options: str) -> SourceOptions:
    return parse_options(LEAST | options, streaming=False)


def stream(**options: str) -> SourceOptions:
    return parse_options(LEAST | options, streaming=True)


def test_what_is_not_said_is_as_in_spark() -> None:
    told = batch()
    assert (told.starting.where, told.ending.where) == (EARLIEST, LATEST)
    assert stream().starting.where == LATEST
    assert told.fail_on_data_loss
    assert not told.include_headers
    assert not told.committed
    assert told.subscription.topics == {"orders"}


def test_names_are_taken_in_any_case_as_spark_hands_them_on() -> None:
    told = parse_options(
        {
            "KAFKA.Bootstrap.Servers": "a:1, b:2",
            "SUBSCRIBE": "x, Y",
            "failondataloss": "FALSE",
            "includeHeaders": "true",
        },
        streaming=True,
    )
    assert [str(each) for each in told.bootstrap] == ["a:1", "b:2"]
    assert told.subscription.topics == {"x", "Y"}
    assert not told.fail_on_data_loss
    assert told.include_headers and wants_headers({"INCLUDEHEADERS": "True"})


def test_a_time_for_all_goes_before_times_for_each_and_these_before_offsets() -> None:
    each = json.dumps({"orders": {"0": 5}})
    assert batch(startingOffsets="earliest", startingOffsetsByTimestamp=each).starting.where == {
        Partition("orders", 0): 5
    }
    told = batch(startingTimestamp="7", startingOffsetsByTimestamp=each).starting
    assert (told.where, told.by_time) == (7, True)


def test_properties_of_clients_come_to_the_client() -> None:
    told = batch(
        **{
            "kafka.security.protocol": "SASL_SSL",
            "kafka.sasl.mechanism": "PLAIN",
            "kafka.ssl.truststore.location": "/ca.pem",
            "kafka.request.timeout.ms": "5000",
            "kafka.isolation.level": "read_committed",
        }
    )
    assert told.properties.uses_tls and told.properties.uses_sasl
    assert told.properties.get("ssl.truststore.location") == "/ca.pem"
    assert told.request_timeout_s == 5
    assert told.committed


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"subscribe": " , "}, "subscribe names no topic"),
        ({"assign": '{"orders": [0]}'}, "subscribe and assign contradict each other"),
        ({"kafka.bootstrap.servers": ""}, "kafka.bootstrap.servers is missing"),
        ({"kafka.bootstrap.servers": "localhost"}, "localhost is no address"),
        ({"kafka.group.id": "g"}, "kafka.group.id is of no use here, leave it out: this source reads without"),
        ({"path": "/x"}, "load\\(\\) takes no path"),
        ({"startingOffset": "earliest"}, "no option startingoffset: did you mean startingOffsets\\?"),
        ({"kafka.fetch.min.bytes": "1"}, "This source has no option kafka.fetch.min.bytes"),
        ({"startingOffsets": "latest"}, "startingOffsets cannot be latest"),
        ({"startingOffsets": '{"orders": {"0": -1}}'}, "startingOffsets cannot be latest"),
        ({"endingOffsets": "earliest"}, "endingOffsets cannot be earliest"),
        ({"endingOffsets": '{"orders": {"0": -2}}'}, "endingOffsets cannot be earliest"),
        ({"startingOffsets": "5"}, "startingOffsets is 5: write earliest, latest, or JSON"),
        ({"startingOffsets": '{"orders": [0]}'}, "startingOffsets is .*: write earliest, latest, or JSON"),
        ({"startingOffsets": '{"orders": {"0": true}}'}, "startingOffsets is .*: write earliest"),
        ({"startingOffsets": '{"orders": {"x": 1}}'}, "startingOffsets is .*: write earliest"),
        ({"startingOffsets": '{"orders": {"0": -3}}'}, "startingOffsets has offset -3 for orders-0"),
        ({"startingTimestamp": "yesterday"}, "startingTimestamp=yesterday is no time"),
        ({"startingOffsetsByTimestamp": '{"orders": {"0": -1}}'}, "startingOffsetsByTimestamp has -1 for orders-0"),
        ({"startingTimestamp": "9", "endingTimestamp": "8"}, "startingTimestamp lies behind endingTimestamp"),
        (
            {"startingOffsets": '{"orders": {"0": 9}}', "endingOffsets": '{"orders": {"0": 8}}'},
            "startingOffsets lies behind endingOffsets for orders-0: 9 is above 8",
        ),
        (
            {"startingOffsetsByTimestampStrategy": "guess"},
            "startingOffsetsByTimestampStrategy=guess is neither",
        ),
        ({"failOnDataLoss": "maybe"}, "failOnDataLoss=maybe is neither true nor false"),
        ({"minPartitions": "0"}, "minPartitions=0 is no number from 1"),
        ({"maxRecordsPerPartition": "-1"}, "maxRecordsPerPartition=-1 is no number"),
        ({"kafka.security.protocol": "TLS"}, "security.protocol=TLS is none of"),
        ({"kafka.isolation.level": "serializable"}, "kafka.isolation.level=serializable is neither"),
    ],
)
def test_what_is_wrong_is_said(options: dict[str, str], sentence: str) -> None:
    with pytest.raises(SourceError, match=sentence) as raised:
        batch(**options)
    assert "\n" not in str(raised.value)


def test_other_ways_to_say_what_is_read() -> None:
    servers = {"kafka.bootstrap.servers": "a:1"}
    told = parse_options(servers | {"assign": '{"orders": [0, 2]}'}, streaming=False)
    assert told.subscription.partitions == {Partition("orders", 0), Partition("orders", 2)}
    assert parse_options(servers | {"subscribePattern": "ord.*"}, streaming=False).subscription.pattern == "ord.*"
    for each in (
        {},
        {"assign": '{"orders": 0}'},
        {"assign": "{}"},
        {"subscribePattern": "("},
        {"subscribePattern": ""},
    ):
        with pytest.raises(SourceError, match=next(iter(each), "Set one of subscribe")):
            parse_options(servers | each, streaming=False)


def test_a_stream_has_no_end() -> None:
    with pytest.raises(SourceError, match="endingOffsets is of no use in a streaming query"):
        stream(endingOffsets="latest")


def test_offsets_for_each_partition_name_all_of_them() -> None:
    bound = batch(startingOffsets='{"orders": {"0": 5, "1": -2}}').starting
    both = {Partition("orders", 0), Partition("orders", 1)}
    assert bound.of(both) == {Partition("orders", 0): 5, Partition("orders", 1): EARLIEST}
    with pytest.raises(SourceError, match="it names orders-0, orders-1, and there are orders-0, orders-1, orders-2"):
        bound.of(both | {Partition("orders", 2)})


def ranges(*sizes: int) -> list[OffsetRange]:
    return [OffsetRange(Partition("orders", number), Uuid.ZERO, 10, 10 + size) for number, size in enumerate(sizes)]


def sizes(found: list[OffsetRange]) -> list[list[int]]:
    numbers = sorted({each.partition.number for each in found})
    return [[each.size for each in found if each.partition.number == number] for number in numbers]


def test_ranges_are_split_in_proportion_and_lose_nothing() -> None:
    assert sizes(split(ranges(5, 0, 7), None, None)) == [[5], [7]]
    assert sizes(split(ranges(100, 100), 4, None)) == [[50, 50], [50, 50]]
    assert sizes(split(ranges(1, 90), 4, None)) == [[1], [30, 30, 30]]
    assert sizes(split(ranges(2), 5, None)) == [[1, 1]]
    assert sizes(split(ranges(10, 3), None, 4)) == [[3, 3, 4], [3]]
    found = split(ranges(1000), 7, None)
    assert [each.start for each in found[1:]] == [each.end for each in found[:-1]]
    assert (found[0].start, found[-1].end, len(found)) == (10, 1010, 7)


def test_a_position_goes_through_a_checkpoint_and_the_same_is_the_same_text() -> None:
    one, other = Partition("orders", 10), Partition("orders", 2)
    topic_id = Uuid(range(16))
    there = Position({one: 3, other: 4}, {"orders": topic_id}, {one: 0, other: 0})
    again = Position({other: 4, one: 3}, {"orders": topic_id}, {other: 0, one: 0})
    assert json.dumps(there.to_json()) == json.dumps(again.to_json())
    assert Position.from_json(json.loads(json.dumps(there.to_json()))) == there
    with pytest.raises(SourceError, match="The checkpoint has offsets of another source"):
        Position.from_json({"orders": {"0": 5}})
