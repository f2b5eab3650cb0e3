"""That nothing goes wrong in a simulation says something only if it would be seen: here what must never happen is made
to happen, and the checker has to say so."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine
from itertools import count
from typing import Any

import pytest

from barnabas.broker.apis import produce
from barnabas.broker.fetch_reader import Reader
from barnabas.broker.group_coordinator import GroupCoordinator
from barnabas.broker.producer_ids import ProducerIds
from barnabas.coordination.cluster.image import ClusterImage
from barnabas.coordination.cluster.records import MetadataRecord
from barnabas.coordination.controller.partition_change import PartitionChanger
from barnabas.coordination.replication.follower import Follower
from barnabas.coordination.replication.leader_state import LeaderState
from barnabas.protocol.messages.fetch import FetchPartition
from barnabas.protocol.records.cluster_metadata import ConfigRecord
from barnabas.replication.following import Following
from barnabas.replication.partition import Partition
from barnabas.replication.watermark import Watermark
from barnabas.storage.leader_epochs import UNDEFINED_EPOCH
from barnabas.storage.producer_state import ProducerState
from tests.simulation.clients.producer import ALL, Producer
from tests.simulation.disk import SimulatedFile
from tests.simulation.settings import Scenario
from tests.simulation.story import Admin, story
from tests.simulation.wellness import missing_for_wellness
from tests.simulation.world import World, simulate

pytestmark = pytest.mark.slow

SEEDS = range(1, 25)
"""In one of them at the latest it is seen."""

Break = Callable[[pytest.MonkeyPatch], None]
Story = Callable[[World], Coroutine[Any, Any, None]]


def counts_what_the_leader_has(patch: pytest.MonkeyPatch) -> None:
    def high_watermark(_self: LeaderState, own_end: int, *_: object) -> int:
        return own_end

    patch.setattr(LeaderState, "high_watermark", high_watermark)


def joins_whoever_fetches(patch: pytest.MonkeyPatch) -> None:
    def may_expand(self: LeaderState, follower: Follower, _high_watermark: int, brokers: Any) -> bool:
        return self.pending is None and follower.broker_id not in self.in_sync and follower.may_join(brokers)

    patch.setattr(LeaderState, "may_expand", may_expand)


def puts_nobody_out(patch: pytest.MonkeyPatch) -> None:
    def lagging(_self: LeaderState, *_: object) -> tuple[int, ...]:
        return ()

    patch.setattr(LeaderState, "lagging", lagging)


def never_says_its_last_epoch(patch: pytest.MonkeyPatch) -> None:
    """So that nobody sees that its log has taken another way."""
    position = Following.position

    def without(self: Following, max_bytes: int) -> FetchPartition:
        wanted = position(self, max_bytes)
        wanted.last_fetched_epoch = UNDEFINED_EPOCH
        return wanted

    patch.setattr(Following, "position", without)


def elects_whoever_is_alive(patch: pytest.MonkeyPatch) -> None:
    def is_valid(self: PartitionChanger, replica: int) -> bool:
        return self.may_lead(replica)

    patch.setattr(PartitionChanger, "_is_valid_leader", is_valid)


def gives_an_id_twice(patch: pytest.MonkeyPatch) -> None:
    async def first(_self: ProducerIds) -> int:
        return 1

    patch.setattr(ProducerIds, "next", first)


def shows_what_does_not_count(patch: pytest.MonkeyPatch) -> None:
    def bound(_self: Reader, partition: Partition) -> Watermark:
        return partition.log_end

    patch.setattr(Reader, "bound", bound)


def acknowledges_at_once(patch: pytest.MonkeyPatch) -> None:
    answered = produce._answered

    def at_once(node: Any, call: Any, request: Any, answer: Any, _waits: object) -> Any:
        return answered(node, call, request, answer, [])

    patch.setattr(produce, "_answered", at_once)


def forgets_commits(patch: pytest.MonkeyPatch) -> None:
    """Of the coordinator before."""

    async def nothing(_self: GroupCoordinator, _led: object) -> None:
        return None

    patch.setattr(GroupCoordinator, "_replay", nothing)


def appends_twice(patch: pytest.MonkeyPatch) -> None:
    def nothing(_self: ProducerState, *_: object) -> None:
        return None

    patch.setattr(ProducerState, "check", nothing)
    patch.setattr(ProducerState, "check_all", nothing)


def skips_metadata(patch: pytest.MonkeyPatch) -> None:
    """Each time on another node."""
    apply = ClusterImage.apply
    changes = count(1)

    def skipping(self: ClusterImage, record: MetadataRecord, offset: int, delta: Any) -> None:
        if not isinstance(record.message, ConfigRecord) or next(changes) % 2:
            apply(self, record, offset, delta)

    patch.setattr(ClusterImage, "apply", skipping)


def syncs_nothing(patch: pytest.MonkeyPatch) -> None:
    def nothing(_self: SimulatedFile) -> None:
        return None

    patch.setattr(SimulatedFile, "sync", nothing)


async def one_replica_hears_nothing(world: World) -> None:
    """Its session goes on: it is the leader alone that it cannot reach."""
    for machine in world.machines:
        machine.start()
    await world.until(lambda: missing_for_wellness(world), 60, "coming up")
    await Admin(world, "admin").create("topic", 3)
    producers = [Producer(world, f"producer{number}", "topic", number, acks=ALL, pause_s=0.1) for number in range(3)]
    for producer in producers:
        world.begin(producer)
    _, one, other = world.machines
    world.links.cut(one.host, other.host)
    world.links.cut(other.host, one.host)
    await world.until(lambda: None if world.failure else "nothing is wrong", 60, "waiting")


FAST = Scenario(durability="fsync", faults_pause_s=1.0)
BREAKS: list[tuple[Break, str, Story, Scenario | None]] = [
    (counts_what_the_leader_has, "in sync with it in epoch", story, None),
    (joins_whoever_fetches, "in sync with it in epoch", story, None),
    (puts_nobody_out, "has not had all of it for", one_replica_hears_nothing, Scenario(lag_max_ms=1_000)),
    (never_says_its_last_epoch, "and what counts is", story, None),
    (elects_whoever_is_alive, "counts$|has \\(\\) in sync", story, None),
    (gives_an_id_twice, "have both producer id", story, None),
    (shows_what_does_not_count, "beyond high watermark|and it counts up to", story, None),
    (acknowledges_at_once, "and it counts up to", story, None),
    (forgets_commits, "was acknowledged", story, None),
    (appends_twice, "is there more than once", story, None),
    (skips_metadata, "have other metadata", story, None),
    (syncs_nothing, "and what counts is|counts$", story, FAST),
]


@pytest.mark.parametrize(("breaks", "found", "told", "scenario"), BREAKS, ids=[each[0].__name__ for each in BREAKS])
def test_it_is_seen(
    breaks: Break, found: str, told: Story, scenario: Scenario | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    breaks(monkeypatch)
    for seed in SEEDS:
        failure = simulate(seed, told, scenario).failure
        if failure is not None:
            break
    assert failure is not None, "nobody has noticed"
    assert re.search(found, failure), failure
