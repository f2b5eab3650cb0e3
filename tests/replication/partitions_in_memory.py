"""A partition over a log on a disk in memory, and the cluster that its leader sees: brokers, a clock, a controller."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from barnabas.coordination.cluster.broker import BrokerRegistration
from barnabas.coordination.cluster.partition import LeaderRecoveryState
from barnabas.coordination.cluster.partition import Partition as PartitionState
from barnabas.coordination.replication.in_sync import InSyncChange
from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.batches import Batch
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.alter_partition import ResponsePartitionData
from barnabas.protocol.record import Record
from barnabas.protocol.schema import Uuid
from barnabas.replication.leading import Leading, Surroundings
from barnabas.replication.partition import Partition
from barnabas.storage.loading import open_log
from barnabas.storage.log_directory import TopicPartition
from barnabas.storage.memory_disk import MemoryDisk
from barnabas.storage.topic_config import TopicConfig

NOW = 1_000_000
LAG_MS = 30_000
NAME = TopicPartition("orders", 0)
TOPIC_ID = Uuid.parse("AAAAAAAAAAAAAAAAAAAAAQ")
ME = 1


def leadership(
    *others: int,
    leader_epoch: int = 0,
    partition_epoch: int = 0,
    in_sync: tuple[int, ...] | None = None,
    recovery: LeaderRecoveryState = LeaderRecoveryState.RECOVERED,
) -> PartitionState:
    """Broker 1 leads, and these follow; all are in sync unless it is said otherwise."""
    replicas = (ME, *others)
    return PartitionState(
        replicas=replicas,
        directories=(Uuid.ZERO,) * len(replicas),
        isr=replicas if in_sync is None else in_sync,
        leader=ME,
        leader_epoch=leader_epoch,
        partition_epoch=partition_epoch,
        leader_recovery_state=recovery,
    )


def broker(number: int, *, epoch: int | None = None, fenced: bool = False, leaving: bool = False) -> BrokerRegistration:
    """It registered at ten times its number, unless it has again since."""
    return BrokerRegistration(
        id=number,
        epoch=10 * number if epoch is None else epoch,
        incarnation_id=Uuid.ZERO,
        endpoints=(),
        features={},
        fenced=fenced,
        in_controlled_shutdown=leaving,
    )


class Cluster:
    """What is proposed to its controller stays there until `accept` or `refuse`."""

    def __init__(self, *brokers: int) -> None:
        self.brokers = {number: broker(number) for number in (ME, *brokers)}
        self.now_ms = NOW
        self.proposed: list[InSyncChange] = []
        self.surroundings = Surroundings(
            brokers=lambda: self.brokers,
            broker_epoch=lambda: self.brokers[ME].epoch,
            now_ms=lambda: self.now_ms,
            max_lag_ms=LAG_MS,
            propose=lambda _partition, change: self.proposed.append(change),
        )

    def accept(self, partition: Partition) -> tuple[int, ...]:
        """The first that is proposed; who is in sync then."""
        change = self.proposed.pop(0)
        answer = ResponsePartitionData(
            partition_index=0,
            leader_id=ME,
            leader_epoch=change.leader_epoch,
            isr=list(change.in_sync),
            partition_epoch=change.partition_epoch + 1,
        )
        leading_of(partition).accepted(change, answer)
        return change.in_sync

    def refuse(self, partition: Partition, code: ErrorCode) -> bool:
        """The first that is proposed; whether it will be again."""
        return leading_of(partition).refused(self.proposed.pop(0), code)


def leading_of(partition: Partition) -> Leading:
    assert partition.leading is not None
    return partition.leading


def new_partition(
    *,
    cluster: Cluster | None = None,
    high_watermark: int = 0,
    needs_sync: Callable[[Partition], None] | None = None,
    **config: str,
) -> Partition:
    disk, directory = MemoryDisk(), Path("/data/orders-0")
    disk.make_directory(directory)
    settings = TopicConfig.load({name.replace("_", "."): value for name, value in config.items()})
    log = open_log(disk, directory, settings, now_ms=NOW, clean=True)
    return Partition(
        NAME,
        TOPIC_ID,
        log,
        high_watermark=high_watermark,
        surroundings=None if cluster is None else cluster.surroundings,
        needs_sync=needs_sync,
    )


def batch_of(*values: bytes, timestamp: int = NOW) -> Batch:
    return Batch(build_batch([Record(value=value, timestamp=timestamp) for value in values]))


def append(partition: Partition, *values: bytes, all_in_sync: bool = False) -> int:
    """As the leader; the offset behind."""
    return partition.append([batch_of(*values)], NOW, all_in_sync=all_in_sync).last_offset + 1


def fetch(partition: Partition, follower: int, offset: int, *, log_start: int = 0, epoch: int | None = None) -> None:
    """As that broker's follower does, in the epoch with which it registered first."""
    leading_of(partition).fetched(follower, offset, log_start, 10 * follower if epoch is None else epoch)
