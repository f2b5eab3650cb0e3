"""What follows for partitions when a broker comes, goes, or loses a disk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache

from barnabas.coordination.cluster.broker import FENCE, UNFENCE, BrokerRegistration
from barnabas.coordination.cluster.partition import NO_LEADER, Partition
from barnabas.coordination.cluster.records import MetadataRecord
from barnabas.coordination.cluster.topics import Topic
from barnabas.coordination.controller.partition_change import Election, PartitionChanger
from barnabas.coordination.controller.placed import Place
from barnabas.coordination.controller.state import Controller
from barnabas.protocol.directory_ids import UNASSIGNED
from barnabas.protocol.records.cluster_metadata import BrokerRegistrationChangeRecord, UnregisterBrokerRecord
from barnabas.protocol.schema import Uuid

__all__ = [
    "broker_fenced",
    "broker_gone",
    "broker_in_controlled_shutdown",
    "broker_unfenced",
    "broker_unregistered",
    "default_directory",
    "directories_cordoned",
    "directories_offline",
    "has_leaderships",
    "leader_and_isr_updates",
    "partition_changer",
]

NOBODY = NO_LEADER


def partition_changer(
    controller: Controller,
    topic: Topic,
    number: int,
    partition: Partition,
    is_alive: Callable[[int], bool] | None = None,
    min_insync_replicas: Callable[[str], int] | None = None,
) -> PartitionChanger:
    """`is_alive` takes the place of the brokers' present state, where that is about to change; and
    `min_insync_replicas` that of the configurations, where many partitions ask the same of them."""
    alive = is_alive or controller.is_active
    smallest = min_insync_replicas or controller.effective_min_insync_replicas

    def may_lead(broker_id: int) -> bool:
        broker = controller.image.brokers.get(broker_id)
        if broker is None or broker_id not in partition.replicas or not alive(broker_id):
            return False
        return broker.is_online(partition.directory(broker_id))

    return PartitionChanger(
        partition=partition,
        topic_id=topic.id,
        partition_id=number,
        may_lead=may_lead,
        default_directory=lambda broker_id: default_directory(controller, broker_id),
        version=controller.image.required_metadata_version,
        min_insync_replicas=smallest(topic.name),
        eligible_leader_replicas_enabled=controller.image.eligible_leader_replicas_enabled,
    )


def default_directory(controller: Controller, broker_id: int) -> Uuid:
    broker = controller.image.brokers.get(broker_id)
    return UNASSIGNED if broker is None else broker.default_directory


def has_leaderships(controller: Controller, broker_id: int) -> bool:
    return controller.placed.leads(broker_id)


def leader_and_isr_updates(
    controller: Controller,
    places: Iterable[Place],
    *,
    remove: int = NOBODY,
    add: int = NOBODY,
    unclean_shutdown: int = NOBODY,
) -> list[MetadataRecord]:
    """The changes of these partitions when one broker may no longer lead, or may lead again although the image still
    shows it fenced, or comes back from a stop that was no clean one."""

    def is_alive(broker_id: int) -> bool:
        if broker_id in (remove, unclean_shutdown):
            return False
        return broker_id == add or controller.is_active(broker_id)

    min_insync_replicas = cache(controller.effective_min_insync_replicas)
    unclean_election_enabled = cache(controller.unclean_election_enabled)
    records = []
    for topic, number, partition in places:
        changer = partition_changer(controller, topic, number, partition, is_alive, min_insync_replicas)
        if unclean_election_enabled(topic.name):
            changer.election = Election.UNCLEAN
        if unclean_shutdown != NOBODY:
            changer.unclean_shutdown = (unclean_shutdown,)
        changer.isr = [replica for replica in partition.isr if replica not in (remove, unclean_shutdown)]
        record = changer.build()
        if record is not None:
            records.append(record)
    return records


def broker_fenced(controller: Controller, broker: BrokerRegistration) -> list[MetadataRecord]:
    records = leader_and_isr_updates(controller, _in_isr(controller, broker.id), remove=broker.id)
    return [*records, _change(broker, 0, fenced=FENCE)]


def broker_unfenced(controller: Controller, broker: BrokerRegistration) -> list[MetadataRecord]:
    leaderless = controller.placed.without_leader(controller.image)
    records = leader_and_isr_updates(controller, leaderless, add=broker.id)
    return [_change(broker, 0, fenced=UNFENCE), *records]


def broker_in_controlled_shutdown(controller: Controller, broker: BrokerRegistration) -> list[MetadataRecord]:
    records = [] if broker.in_controlled_shutdown else [_change(broker, 1, in_controlled_shutdown=1)]
    return records + leader_and_isr_updates(controller, _in_isr(controller, broker.id), remove=broker.id)


def broker_unregistered(controller: Controller, broker: BrokerRegistration) -> list[MetadataRecord]:
    places = [*_in_isr(controller, broker.id), *_eligible(controller, broker.id)]
    records = leader_and_isr_updates(controller, places, remove=broker.id)
    gone = UnregisterBrokerRecord(broker_id=broker.id, broker_epoch=broker.epoch)
    return [*records, MetadataRecord(gone)]


def broker_gone(controller: Controller, broker_id: int, *, clean: bool) -> list[MetadataRecord]:
    """A new run of the broker registers. After a stop that was not clean it may lack what it had acknowledged, so that
    it is no longer eligible to lead."""
    in_isr = _in_isr(controller, broker_id)
    if clean or not controller.image.eligible_leader_replicas_enabled:
        return leader_and_isr_updates(controller, in_isr, remove=broker_id)
    places = [*in_isr, *_eligible(controller, broker_id)]
    return leader_and_isr_updates(controller, places, unclean_shutdown=broker_id)


def directories_offline(
    controller: Controller, broker: BrokerRegistration, offline: Sequence[Uuid]
) -> list[MetadataRecord]:
    newly = [directory for directory in broker.directories if directory in offline]
    if not newly:
        return []
    places = [
        (topic, number, partition)
        for topic, number, partition in controller.image.topics.partitions()
        if broker.id in partition.replicas and partition.directory(broker.id) in newly
    ]
    records = leader_and_isr_updates(controller, places, remove=broker.id)
    left = [directory for directory in broker.directories if directory not in newly]
    return [*records, _change(broker, 2, log_dirs=left)]


def directories_cordoned(broker: BrokerRegistration, cordoned: Sequence[Uuid] | None) -> list[MetadataRecord]:
    """A broker tells of them once it has read the metadata that says which they are; None: not yet."""
    known = broker.cordoned_directories
    if cordoned is None or (known is not None and set(known) == set(cordoned)):
        return []
    return [_change(broker, 3, cordoned_log_dirs=list(cordoned))]


def _in_isr(controller: Controller, broker_id: int) -> list[Place]:
    return controller.placed.in_sync(controller.image, broker_id)


def _eligible(controller: Controller, broker_id: int) -> list[Place]:
    return controller.placed.eligible(controller.image, broker_id)


def _change(
    broker: BrokerRegistration,
    version: int,
    *,
    fenced: int = 0,
    in_controlled_shutdown: int = 0,
    log_dirs: list[Uuid] | None = None,
    cordoned_log_dirs: list[Uuid] | None = None,
) -> MetadataRecord:
    record = BrokerRegistrationChangeRecord(
        broker_id=broker.id,
        broker_epoch=broker.epoch,
        fenced=fenced,
        in_controlled_shutdown=in_controlled_shutdown,
        log_dirs=log_dirs or [],
        cordoned_log_dirs=cordoned_log_dirs,
    )
    return MetadataRecord(record, version)
