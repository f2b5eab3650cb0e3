"""Which offsets a query is given, by a broker in this process: of batches, and of streams that go on."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator

import pytest

from barnabas.client.cluster import Partition
from barnabas.pipeline.source.errors import DataLoss, SourceError
from barnabas.pipeline.source.planning import StreamPlanner, limited, plan_batch
from barnabas.pipeline.source.position import Position
from barnabas.pipeline.source.ranges import OffsetRange
from barnabas.testing import Broker
from tests.pipeline.source_broker import (
    LONG_AGO,
    add_partitions,
    delete_before,
    numbered,
    options,
    produce,
    stream_options,
)

ZERO, ONE = Partition("orders", 0), Partition("orders", 1)


@pytest.fixture
def broker() -> Iterator[Broker]:
    """Ten records in orders-0, four in orders-1."""
    with Broker() as running:
        running.create_topic("orders", 2)
        produce(running.bootstrap_servers, ZERO, numbered(0, 10))
        produce(running.bootstrap_servers, ONE, numbered(0, 4))
        yield running


def bounds(found: list[OffsetRange]) -> dict[str, tuple[int, int]]:
    return {str(each.partition): (each.start, each.end) for each in found}


def planned(broker: Broker, **more: str) -> dict[str, tuple[int, int]]:
    return bounds(plan_batch(options(broker, **more)))


def test_a_batch_reads_all_there_is_or_what_offsets_and_times_say(broker: Broker) -> None:
    assert planned(broker) == {"orders-0": (0, 10), "orders-1": (0, 4)}
    each = json.dumps({"orders": {"0": 3, "1": -2}})
    ends = json.dumps({"orders": {"0": -1, "1": 2}})
    assert planned(broker, startingOffsets=each, endingOffsets=ends) == {"orders-0": (3, 10), "orders-1": (0, 2)}
    time, later = str(LONG_AGO + 2), str(LONG_AGO + 7)
    assert planned(broker, startingTimestamp=time, endingTimestamp=later) == {"orders-0": (2, 7), "orders-1": (2, 4)}
    times = json.dumps({"orders": {"0": LONG_AGO + 5, "1": LONG_AGO + 1}})
    assert planned(broker, startingOffsetsByTimestamp=times) == {"orders-0": (5, 10), "orders-1": (1, 4)}
    assert planned(broker, assign='{"orders": [1]}') == {"orders-1": (0, 4)}


def test_where_no_record_is_as_young_the_strategy_decides(broker: Broker) -> None:
    time = str(LONG_AGO + 5)
    with pytest.raises(SourceError, match="No record of orders-1 is as young as startingTimestamp says"):
        planned(broker, startingTimestamp=time)
    at_end = planned(broker, startingTimestamp=time, startingOffsetsByTimestampStrategy="latest")
    assert at_end == {"orders-0": (5, 10)}


def test_a_pattern_takes_whole_names_and_leaves_out_the_brokers_own(broker: Broker) -> None:
    broker.produce("orders-old", b"1")
    broker.produce("disorders", b"1")
    found = planned(broker, subscribePattern="orders.*")
    assert found == {"orders-0": (0, 10), "orders-1": (0, 4), "orders-old-0": (0, 1)}
    assert not any(name.startswith("_") for name in planned(broker, subscribePattern=".*"))
    with pytest.raises(SourceError, match="No topic matches subscribePattern=order"):
        planned(broker, subscribePattern="order")


def test_what_is_not_there_is_named(broker: Broker) -> None:
    with pytest.raises(SourceError, match="The topic nothing is not there"):
        planned(broker, subscribe="orders,nothing")
    with pytest.raises(SourceError, match="The partition orders-7 is not there"):
        planned(broker, assign='{"orders": [0, 7]}')
    assert "nothing" not in broker.topics()


def test_ends_beyond_what_is_there_are_lost_data(broker: Broker, caplog: pytest.LogCaptureFixture) -> None:
    ends = json.dumps({"orders": {"0": 25, "1": -1}})
    with pytest.raises(DataLoss, match="endingOffsets has offset 25 for orders-0, which ends at 10"):
        planned(broker, endingOffsets=ends)
    with caplog.at_level(logging.WARNING):
        assert planned(broker, endingOffsets=ends, failOnDataLoss="false")["orders-0"] == (0, 10)
    assert "which ends at 10" in caplog.text


def test_a_cluster_that_is_away_is_waited_for_and_not_for_ever(broker: Broker) -> None:
    broker.fail_next("ListOffsets", "NOT_LEADER_OR_FOLLOWER", times=2)
    broker.drop_next("Metadata")
    assert planned(broker)["orders-0"] == (0, 10)
    broker.kill()
    with pytest.raises(SourceError, match=r"The cluster could not be read for 0.2 s \(kafka.default.api.timeout.ms\)"):
        planned(broker, **{"kafka.default.api.timeout.ms": "200"})
    broker.start()
    assert planned(broker)["orders-1"] == (0, 4)


@pytest.fixture
def planner(broker: Broker) -> Iterator[StreamPlanner]:
    made = StreamPlanner(stream_options(broker, startingOffsets="earliest"))
    yield made
    made.close()


def through_the_checkpoint(position: Position) -> Position:
    return Position.from_json(json.loads(json.dumps(position.to_json())))


def test_a_stream_goes_on_where_it_was(broker: Broker, planner: StreamPlanner) -> None:
    first = planner.latest()
    assert bounds(planner.ranges(planner.initial(), first)) == {"orders-0": (0, 10), "orders-1": (0, 4)}
    assert planner.latest() == first  # or Spark would run a batch of nothing
    produce(broker.bootstrap_servers, ONE, numbered(4, 6))
    second = planner.latest()
    assert bounds(planner.ranges(through_the_checkpoint(first), through_the_checkpoint(second))) == {"orders-1": (4, 6)}


def test_a_new_partition_is_read_from_its_first_record_on(broker: Broker, planner: StreamPlanner) -> None:
    first = planner.latest()
    planner.ranges(planner.initial(), first)
    add_partitions(broker, "orders", 3)
    produce(broker.bootstrap_servers, Partition("orders", 2), numbered(0, 5))
    assert bounds(planner.ranges(first, planner.latest())) == {"orders-2": (0, 5)}


def test_a_first_batch_that_was_not_finished_begins_where_it_did_though_latest_has_moved(broker: Broker) -> None:
    stopped = StreamPlanner(stream_options(broker))
    stopped.initial()
    produce(broker.bootstrap_servers, ZERO, numbered(10, 20))
    end = stopped.latest()
    stopped.close()
    produce(broker.bootstrap_servers, ZERO, numbered(20, 30))
    again = StreamPlanner(stream_options(broker))
    logged = through_the_checkpoint(end)
    assert again.ranges(logged, logged) == []
    assert bounds(again.ranges(again.initial(), logged)) == {"orders-0": (10, 20)}
    assert bounds(again.ranges(logged, again.latest())) == {"orders-0": (20, 30)}
    again.close()


def test_batches_of_a_stream_are_bounded_from_the_checkpoint_on(broker: Broker) -> None:
    bounded = stream_options(broker, startingOffsets="earliest", maxOffsetsPerTrigger="7")
    planner = StreamPlanner(bounded)
    first = planner.latest()
    assert bounds(planner.ranges(planner.initial(), first)) == {"orders-0": (0, 5), "orders-1": (0, 2)}
    planner.close()
    again = StreamPlanner(bounded)
    logged = through_the_checkpoint(first)
    assert again.ranges(logged, logged) == []
    second = again.latest()
    assert bounds(again.ranges(logged, second)) == {"orders-0": (5, 10), "orders-1": (2, 4)}
    assert again.latest() == second
    again.close()


def test_no_partition_waits_for_ever_behind_a_larger_one() -> None:
    assert limited({ZERO: 0, ONE: 0}, {ZERO: 1_000_000, ONE: 2}, 10) == {ZERO: 9, ONE: 1}
    assert limited({ZERO: 5, ONE: 0}, {ZERO: 3, ONE: 4}, 10) == {ZERO: 3, ONE: 4}


@pytest.mark.parametrize("fails", [True, False])
def test_a_topic_that_was_created_again_is_another(
    broker: Broker, fails: bool, caplog: pytest.LogCaptureFixture
) -> None:
    planner = StreamPlanner(stream_options(broker, startingOffsets="earliest", failOnDataLoss=str(fails).lower()))
    first = planner.latest()
    planner.ranges(planner.initial(), first)
    broker.delete_topic("orders")
    broker.create_topic("orders", 2)
    produce(broker.bootstrap_servers, ZERO, numbered(0, 30))
    second = planner.latest()
    sentence = "topic of orders-0 has been deleted and created again: offset 10 of the old one was next, and the new"
    if fails:
        with pytest.raises(DataLoss, match=sentence):
            planner.ranges(first, second)
    else:
        assert bounds(planner.ranges(first, second)) == {"orders-0": (0, 30)}
        assert sentence in caplog.text
    planner.close()


@pytest.mark.parametrize("fails", [True, False])
def test_a_topic_that_is_gone_is_said_and_the_others_go_on(
    broker: Broker, fails: bool, caplog: pytest.LogCaptureFixture
) -> None:
    broker.produce("others", b"1")
    planner = StreamPlanner(stream_options(broker, subscribe="orders,others", failOnDataLoss=str(fails).lower()))
    first = planner.latest()
    planner.ranges(planner.initial(), first)
    broker.delete_topic("orders")
    broker.produce("others", b"2")
    second = planner.latest()
    sentence = "The partition orders-0 has been deleted, of which offset 10 was next"
    if fails:
        with pytest.raises(DataLoss, match=sentence):
            planner.ranges(first, second)
    else:
        assert bounds(planner.ranges(first, second)) == {"others-0": (1, 2)}
        assert sentence in caplog.text
    planner.close()


def test_a_new_partition_whose_first_records_are_gone_is_lost_data(broker: Broker, planner: StreamPlanner) -> None:
    first = planner.latest()
    planner.ranges(planner.initial(), first)
    add_partitions(broker, "orders", 3)
    new = Partition("orders", 2)
    produce(broker.bootstrap_servers, new, numbered(0, 5))
    delete_before(broker, new, 3)
    with pytest.raises(DataLoss, match="The new partition orders-2 was expected to begin at 0, and begins at 3"):
        planner.ranges(first, planner.latest())
