"""Where replicas go: what must hold, and that Kafka, given the same random numbers, puts them in the same places."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.coordination.controller.placement import UsableBroker, place_replicas
from barnabas.protocol.errors import ErrorCode, KafkaError
from tests.kafka.java_oracle import JavaOracle

ORACLE = Path(__file__).with_name("PlacementOracle.java")
# Letters of which Java's hash tables keep the order: the racks' random numbers are drawn in that order.
RACKS = [None, "a", "b", "c"]


def brokers_of(*racks: str | None, fenced: tuple[int, ...] = ()) -> list[UsableBroker]:
    return [UsableBroker(number, rack, number in fenced) for number, rack in enumerate(racks)]


clusters = st.lists(st.tuples(st.sampled_from(RACKS), st.booleans()), min_size=1, max_size=8).map(
    lambda brokers: [UsableBroker(number, rack, fenced) for number, (rack, fenced) in enumerate(brokers)]
)


@given(clusters, st.integers(1, 20), st.integers(1, 8), st.integers())
def test_every_replica_is_another_broker_and_leaders_are_in_service(
    brokers: list[UsableBroker], partitions: int, replicas: int, seed: int
) -> None:
    unfenced = {broker.id for broker in brokers if not broker.fenced}
    if not unfenced or replicas > len(brokers):
        with pytest.raises(KafkaError) as refused:
            place_replicas(brokers, partitions, replicas, seed)
        assert refused.value.code == ErrorCode.INVALID_REPLICATION_FACTOR
        return
    placed = place_replicas(brokers, partitions, replicas, seed)
    assert len(placed) == partitions
    for each in placed:
        assert len(each) == len(set(each)) == replicas
        assert each[0] in unfenced


def test_leaders_and_racks_are_spread() -> None:
    brokers = brokers_of("a", "b", "c", "a", "b", "c")
    placed = place_replicas(brokers, 60, 3, seed=7)
    leaders = Counter(each[0] for each in placed)
    assert max(leaders.values()) - min(leaders.values()) <= 4
    for each in placed:
        assert {brokers[broker].rack for broker in each} == {"a", "b", "c"}


def test_one_broker_has_everything() -> None:
    assert place_replicas(brokers_of(None), 3, 1, seed=1) == [[0], [0], [0]]


def test_a_fenced_broker_is_taken_only_where_its_rack_has_no_other() -> None:
    placed = place_replicas(brokers_of("a", "a", "b", fenced=(1, 2)), 4, 2, seed=3)
    assert placed == [[0, 2]] * 4


@pytest.mark.java
@pytest.mark.slow
def test_kafka_places_the_same(java_oracle: Callable[[Path], JavaOracle]) -> None:
    oracle = java_oracle(ORACLE)
    chance = random.Random(20)
    refused = 0
    for _ in range(1500):
        count = chance.randint(1, 9)
        brokers = [UsableBroker(id_, chance.choice(RACKS), chance.random() < 0.3) for id_ in range(count)]
        partitions, replicas, seed = chance.randint(1, 30), chance.randint(0, count + 1), chance.getrandbits(48)
        described = [f"{broker.id}:{broker.rack or '-'}:{int(broker.fenced)}" for broker in brokers]
        answer, _, rest = oracle.ask(" ".join(map(str, [seed, partitions, replicas, *described]))).partition(" ")
        if answer == "ERR":
            refused += 1
            with pytest.raises(KafkaError):
                place_replicas(brokers, partitions, replicas, seed)
        else:
            theirs = [[int(broker) for broker in each.split(",")] for each in rest.split()]
            assert place_replicas(brokers, partitions, replicas, seed) == theirs
    assert 100 < refused < 700
