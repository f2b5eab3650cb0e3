"""New partitions on brokers: as somebody assigned them by hand, or as they are placed."""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.coordination.cluster.partition import Partition
from barnabas.coordination.controller.leadership import default_directory
from barnabas.coordination.controller.placement import UsableBroker, place_replicas
from barnabas.coordination.controller.state import Controller
from barnabas.protocol.errors import ErrorCode, KafkaError

__all__ = ["MAX_RECORDS", "assigned_partition", "check_assignment", "placed_partitions"]

MAX_RECORDS = 10_000
"""The largest batch of records, and of partitions, that one request may ask for."""


def check_assignment(controller: Controller, replicas: Sequence[int], replication_factor: int | None) -> None:
    """KafkaError(INVALID_REPLICA_ASSIGNMENT) unless each is a registered broker, once, and they are so many."""
    if not replicas:
        raise _refusal("A partition is assigned to no broker at all.")
    for previous, broker_id in zip([None, *sorted(replicas)], sorted(replicas), strict=False):
        if broker_id not in controller.image.brokers:
            raise _refusal(f"A partition is assigned to broker {broker_id}, which is not registered.")
        if broker_id == previous:
            raise _refusal(f"A partition is assigned to broker {broker_id} twice.")
    if replication_factor is not None and len(replicas) != replication_factor:
        raise _refusal(f"A partition has {len(replicas)} replicas where others have {replication_factor}.")


def assigned_partition(
    controller: Controller, replicas: Sequence[int], number: int, replication_factor: int | None
) -> Partition:
    """A new partition that was assigned by hand."""
    check_assignment(controller, replicas, replication_factor)
    isr = [broker_id for broker_id in replicas if controller.is_active(broker_id)]
    if not isr:
        raise _refusal(f"No broker of partition {number} is in service.")
    return _new_partition(controller, replicas, isr)


def placed_partitions(controller: Controller, count: int, replication_factor: int, seed: int) -> list[Partition]:
    """New partitions where `place_replicas` puts them."""
    placed = place_replicas(_usable_brokers(controller), count, replication_factor, seed)
    partitions = []
    for replicas in placed:
        isr = [broker_id for broker_id in replicas if controller.is_active(broker_id)]
        if not isr:
            raise KafkaError(ErrorCode.INVALID_REPLICATION_FACTOR, "no broker is in service")
        partitions.append(_new_partition(controller, replicas, isr))
    return partitions


def _usable_brokers(controller: Controller) -> list[UsableBroker]:
    return [
        UsableBroker(broker_id, broker.rack, broker.fenced)
        for broker_id, broker in sorted(controller.image.brokers.items())
        if broker.has_uncordoned_directory and not controller.sessions[broker_id].shutting_down
    ]


def _new_partition(controller: Controller, replicas: Sequence[int], isr: Sequence[int]) -> Partition:
    return Partition(
        replicas=tuple(replicas),
        directories=tuple(default_directory(controller, broker_id) for broker_id in replicas),
        isr=tuple(isr),
        leader=isr[0],
    )


def _refusal(why: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, why)
