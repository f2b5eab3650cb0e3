"""Whatever is asked of a controller, in whatever order: deciding changes nothing, and what it decides can be."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import pytest

from barnabas.coordination.cluster.image import ClusterImage
from barnabas.coordination.cluster.metadata_version import MetadataVersion
from barnabas.coordination.cluster.partition import NO_LEADER, Partition
from barnabas.coordination.cluster.records import decode_record, encode_record
from barnabas.coordination.cluster.snapshot_records import snapshot_records
from barnabas.coordination.controller.alter_partition import alter_partition
from barnabas.coordination.controller.create_partitions import create_partitions
from barnabas.coordination.controller.create_topics import create_topics
from barnabas.coordination.controller.delete_topics import delete_topics
from barnabas.coordination.controller.elect_leaders import elect_leaders
from barnabas.coordination.controller.incremental_alter_configs import incremental_alter_configs
from barnabas.coordination.controller.leader_balance import balance_leaders, elect_unclean_leaders
from barnabas.coordination.controller.placed import PlacedPartitions
from barnabas.coordination.controller.reassignments import alter_partition_reassignments
from barnabas.coordination.controller.replica_directories import assign_replicas_to_directories
from barnabas.coordination.controller.stale_brokers import fence_stale_broker
from barnabas.coordination.controller.unregister_broker import unregister_broker
from barnabas.coordination.outcome import Outcome
from barnabas.protocol.messages import assign_replicas_to_dirs as directories
from barnabas.protocol.messages.alter_partition import AlterPartitionRequest, BrokerState, PartitionData, TopicData
from barnabas.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from barnabas.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from barnabas.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest
from barnabas.protocol.messages.elect_leaders import ElectLeadersRequest
from barnabas.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from barnabas.protocol.messages.unregister_broker import UnregisterBrokerRequest
from barnabas.protocol.schema import Uuid
from tests.coordination.controller.scene import Scene, directory

BROKERS = (1, 2, 3, 4)
NAMES = ("castle", "vil.lage", "vil_lage", "inn")
VERSIONS = (MetadataVersion.V4_3_IV0, MetadataVersion.V4_3_IV0, MetadataVersion.V3_9_IV0, MetadataVersion.V3_5_IV2)


class Life(Scene):
    """A scene in which chance decides, and every decision is looked at."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.steps = 0
        self.leader_epochs: dict[tuple[Uuid, int], int] = {}
        super().__init__(self.chance.choice(VERSIONS))

    def apply(self, outcome: Outcome[Any, Any]) -> Any:
        before = {(topic.id, number): part for topic, number, part in self.controller.image.topics.partitions()}
        reply = super().apply(outcome)
        for record in outcome.records:
            assert decode_record(encode_record(record)) == record
        for topic, number, partition in self.controller.image.topics.partitions():
            self._check(topic.id, number, partition, before.get((topic.id, number)))
        for topic in self.controller.image.topics:
            assert sorted(topic.partitions) == list(range(len(topic.partitions)))
            assert self.controller.image.topics.by_name[topic.name] is topic
        assert self.controller.placed == PlacedPartitions.of(self.controller.image)
        return reply

    def decide(self, decision: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        image, sessions = copy.deepcopy((self.controller.image, self.controller.sessions))
        outcome = decision(self.controller, *arguments, **named)
        assert (self.controller.image, self.controller.sessions) == (image, sessions), decision
        return self.apply(outcome)

    def _check(self, topic_id: Uuid, number: int, partition: Partition, before: Partition | None) -> None:
        replicas, isr = set(partition.replicas), set(partition.isr)
        assert len(replicas) == len(partition.replicas) == len(partition.directories) > 0
        assert len(isr) == len(partition.isr)
        assert isr <= replicas
        assert isr.isdisjoint(partition.eligible_leader_replicas)
        assert set(partition.adding_replicas) <= replicas
        assert set(partition.removing_replicas) <= replicas
        if partition.leader != NO_LEADER:
            assert partition.leader in isr
            leader = self.controller.image.brokers[partition.leader]
            # One that is fenced in mid-shutdown and let in again may lead, although it is still said to shut down.
            assert not leader.fenced
            assert leader.is_online(partition.directory(partition.leader))
        if not self.controller.image.eligible_leader_replicas_enabled:
            assert isr, "without eligible leaders the last member stays, so that it is known who has everything"
            assert not partition.eligible_leader_replicas
        if before is not None and before is not partition:
            assert partition.partition_epoch > before.partition_epoch
            assert partition.leader_epoch >= before.leader_epoch
            if partition.leader != before.leader:
                assert partition.leader_epoch > before.leader_epoch

    # One step

    def step(self) -> None:
        self.steps += 1
        self.now_ms += self.chance.choice((0, 0, 100, 3_000))
        self.chance.choice(
            (
                self.register, self.beat_once, self.beat_once, self.beat_once, self.create, self.create, self.delete,
                self.grow, self.elect, self.reassign, self.alter, self.alter, self.configure, self.assign,
                self.unregister, self.tick, self.tick,
            )
        )()  # fmt: skip

    def some_broker(self) -> int:
        return self.chance.choice(BROKERS)

    def some_replicas(self) -> list[int]:
        return self.chance.sample(BROKERS, self.chance.randint(1, 3))

    def register(self) -> None:
        broker_id = self.some_broker()
        known = self.controller.image.brokers.get(broker_id)
        self.broker(
            broker_id,
            incarnation=self.chance.randint(1, 3),
            unfence=self.chance.random() < 0.5,
            rack=self.chance.choice((None, "a", "b")),
            directories=2,
            previous_epoch=known.epoch if known and self.chance.random() < 0.5 else -1,
        )

    def beat_once(self) -> None:
        broker_id = self.some_broker()
        if broker_id in self.controller.image.brokers:
            # Let in and told of a lost disk by one heartbeat, a broker is made the leader of what it has lost; so with
            # Kafka, too, which decides both from how things stood before.
            lost = self.chance.random() < 0.1 and not self.controller.image.brokers[broker_id].fenced
            self.beat(
                broker_id,
                want_fence=self.chance.random() < 0.1,
                want_shut_down=self.chance.random() < 0.15,
                current_metadata_offset=self.chance.choice((0, self.next_offset, 1 << 40)),
                offline_log_dirs=[directory(broker_id)] if lost else [],
            )

    def create(self) -> None:
        topics = [CreatableTopic(self.chance.choice(NAMES), self.chance.randint(0, 3), self.chance.randint(1, 3))]
        self.decide(create_topics, CreateTopicsRequest(topics=topics), topic_ids=self.ids, seed=self.steps)

    def delete(self) -> None:
        if self.chance.random() < 0.3:
            self.decide(delete_topics, DeleteTopicsRequest(topic_names=[self.chance.choice(NAMES)]), 5)

    def grow(self) -> None:
        topic = CreatePartitionsTopic(self.chance.choice(NAMES), self.chance.randint(1, 5), None)
        self.decide(create_partitions, CreatePartitionsRequest(topics=[topic]), seed=self.steps)

    def elect(self) -> None:
        kind = self.chance.choice((0, 0, 0, 1))
        self.decide(elect_leaders, ElectLeadersRequest(election_type=kind, topic_partitions=None), 2)

    def reassign(self) -> None:
        target = ReassignablePartition(self.chance.randint(0, 2), self.chance.choice((None, self.some_replicas())))
        topic = ReassignableTopic(self.chance.choice(NAMES), [target])
        self.decide(alter_partition_reassignments, AlterPartitionReassignmentsRequest(topics=[topic]))

    def alter(self) -> None:
        """A leader that tells the truth about itself says who is in sync."""
        led = [each for each in self.controller.image.topics.partitions() if each[2].leader != NO_LEADER]
        if not led:
            return
        topic, number, partition = self.chance.choice(led)
        isr = {
            partition.leader,
            *self.chance.sample(partition.replicas, self.chance.randint(0, len(partition.replicas))),
        }
        data = PartitionData(
            partition_index=number,
            leader_epoch=partition.leader_epoch,
            partition_epoch=partition.partition_epoch,
            new_isr_with_epochs=[BrokerState(each) for each in sorted(isr)],
            leader_recovery_state=self.chance.choice((0, partition.leader_recovery_state)),
        )
        epoch = self.controller.image.brokers[partition.leader].epoch
        request = AlterPartitionRequest(partition.leader, epoch, [TopicData(topic.id, [data])])
        self.decide(alter_partition, request, 3)

    def configure(self) -> None:
        name, value = self.chance.choice(
            (("min.insync.replicas", "1"), ("min.insync.replicas", "2"), ("unclean.leader.election.enable", "true"))
        )
        resource = AlterConfigsResource(2, self.chance.choice(NAMES), [AlterableConfig(name, 0, value)])
        self.decide(incremental_alter_configs, IncrementalAlterConfigsRequest(resources=[resource]))

    def assign(self) -> None:
        places = list(self.controller.image.topics.partitions())
        if not places:
            return
        topic, number, partition = self.chance.choice(places)
        broker = self.controller.image.brokers.get(self.chance.choice(partition.replicas))
        if broker is None:
            return
        data = directories.TopicData(topic.id, [directories.PartitionData(number)])
        where = directories.DirectoryData(directory(broker.id, self.chance.randint(0, 1)), [data])
        request = directories.AssignReplicasToDirsRequest(broker.id, broker.epoch, [where])
        self.decide(assign_replicas_to_directories, request)

    def unregister(self) -> None:
        if self.chance.random() < 0.2:
            self.decide(unregister_broker, UnregisterBrokerRequest(self.some_broker()))

    def tick(self) -> None:
        self.decide(fence_stale_broker, self.now_ms)
        self.decide(balance_leaders)
        self.decide(elect_unclean_leaders)


def live(seed: int, steps: int) -> Life:
    life = Life(seed)
    for _ in range(steps):
        life.step()
    image = life.controller.image
    again = ClusterImage()
    again.apply_batch([decode_record(encode_record(record)) for record in snapshot_records(image)], 0)
    assert again == image
    return life


@pytest.mark.parametrize("seed", range(6))
def test_a_life(seed: int) -> None:
    live(seed, 120)


@pytest.mark.slow
def test_many_lives() -> None:
    written = 0
    for seed in range(100, 160):
        written += live(seed, 200).next_offset
    assert written > 5_000
