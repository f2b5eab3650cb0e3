"""What the records of the metadata log did to each partition: who led it, who was in sync, and who might have led."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from barnabas.coordination.cluster.broker import BrokerRegistration
from barnabas.coordination.cluster.delta import ImageDelta
from barnabas.coordination.cluster.image import ClusterImage
from barnabas.coordination.cluster.image_difference import difference
from barnabas.coordination.cluster.log_batch import read_metadata_batch
from barnabas.coordination.cluster.partition import NO_LEADER, LeaderRecoveryState, Partition
from barnabas.coordination.cluster.records import MetadataRecord, UnreplayableRecord
from barnabas.coordination.cluster.snapshot_file import Snapshot, SnapshotId
from barnabas.protocol.batches import Batch
from barnabas.protocol.codec import decode
from barnabas.protocol.control import ControlRecordType, control_record_type
from barnabas.protocol.errors import MalformedFrame
from barnabas.protocol.record import read_records
from barnabas.protocol.records.control import LeaderChangeMessage

__all__ = ["Change", "Leadership", "NodeChange", "words_of"]


_LAST_LEADER_CHANGE = 1
"""The newest version of that record that we know."""


class Change(NamedTuple):
    offset: int
    time_ms: int
    topic: str
    topic_id: str
    number: int
    before: Partition | None
    after: Partition | None
    """None: it was deleted."""
    what: Sequence[str]


class NodeChange(NamedTuple):
    """Of a broker's registration, or of the controller that leads the quorum."""

    offset: int
    time_ms: int
    kind: str
    node_id: int
    what: str


class Leadership:
    """Feed it with batches in the order of the log. `refused` has what contradicts the rest, or is nonsense."""

    def __init__(self) -> None:
        self._image = ClusterImage()
        self.refused: list[str] = []

    def read(self, batch: Batch) -> Iterator[Change | NodeChange]:
        try:
            if batch.control:
                yield from _controller(batch)
            for place, record in enumerate(read_metadata_batch(batch)):
                offset = batch.base_offset + place
                if offset >= self._image.next_offset:
                    delta = self._apply(record, offset)
                    yield from self._changes(delta, offset, batch.max_timestamp)
        except MalformedFrame as error:
            self.refused.append(f"the batch at offset {batch.base_offset} cannot be read: {error}")
        self._image.next_offset = batch.next_offset

    def _apply(self, record: MetadataRecord, offset: int) -> ImageDelta:
        delta = ImageDelta()
        try:
            self._image.apply(record, offset, delta)
        except UnreplayableRecord as error:
            self.refused.append(str(error))
        return delta

    def restore(self, snapshot_id: SnapshotId, snapshot: Snapshot) -> Iterator[Change | NodeChange]:
        """What has changed meanwhile is known only as a whole."""
        image = _image_of(snapshot_id, snapshot)
        delta = difference(self._image, image)
        self._image = image
        yield from self._changes(delta, snapshot_id.end_offset, snapshot.last_log_timestamp_ms, by="as of a snapshot")

    def compare(self, snapshot_id: SnapshotId, snapshot: Snapshot) -> list[str]:
        """The partitions of which the snapshot says something else."""
        delta = difference(self._image, _image_of(snapshot_id, snapshot))
        changes = self._changes(delta, snapshot_id.end_offset, 0)
        return sorted(f"{each.topic}-{each.number}" for each in changes if isinstance(each, Change))

    def _changes(
        self, delta: ImageDelta, offset: int, time_ms: int, *, by: str | None = None
    ) -> Iterator[Change | NodeChange]:
        for broker_id, before in delta.brokers.items():
            if what := _words_of_broker(before, self._image.brokers.get(broker_id)):
                yield NodeChange(offset, time_ms, "broker", broker_id, what)
        for topic in delta.topics_deleted.values():
            for number, gone in sorted(topic.partitions.items()):
                yield Change(offset, time_ms, topic.name, str(topic.id), number, gone, None, ["deleted"])
        for (topic_id, number), (topic, earlier, after) in delta.partitions.items():
            words = words_of(earlier, after)
            if by is not None:
                words = [by, *words] if earlier is not None else [by]
            yield Change(offset, time_ms, topic.name, str(topic_id), number, earlier, after, words)


def _image_of(snapshot_id: SnapshotId, snapshot: Snapshot) -> ClusterImage:
    image = ClusterImage()
    image.apply_batch(snapshot.records, 0, epoch=snapshot_id.epoch, timestamp_ms=snapshot.last_log_timestamp_ms)
    image.next_offset = snapshot_id.end_offset
    return image


def _controller(batch: Batch) -> Iterator[NodeChange]:
    for record in read_records(batch):
        if control_record_type(record.key) is ControlRecordType.LEADER_CHANGE and record.value is not None:
            version = int.from_bytes(record.value[:2], "big")
            if version > _LAST_LEADER_CHANGE:
                continue
            leader = decode(LeaderChangeMessage, version, record.value).leader_id
            what = f"leads the quorum with epoch {batch.partition_leader_epoch}"
            yield NodeChange(record.offset, batch.max_timestamp, "controller", leader, what)


def _words_of_broker(before: BrokerRegistration | None, after: BrokerRegistration | None) -> str | None:
    """None for what has nothing to do with leading."""
    if after is None:
        return "unregistered"
    if before is None:
        return "registered"
    if before.incarnation_id != after.incarnation_id:
        return "registered again"
    if before.fenced != after.fenced:
        return "fenced" if after.fenced else "unfenced"
    if after.in_controlled_shutdown and not before.in_controlled_shutdown:
        return "shuts down"
    return None


def words_of(before: Partition | None, after: Partition) -> list[str]:
    """Nothing for a change of directories alone."""
    if before is None:
        return ["created"]
    words = []
    if after.leader != before.leader:
        words.append(_election(before, after))
    elif after.leader_epoch != before.leader_epoch:
        words.append("new epoch")
    for name, earlier, later in (
        ("isr", before.isr, after.isr),
        ("elr", before.eligible_leader_replicas, after.eligible_leader_replicas),
        ("adding", before.adding_replicas, after.adding_replicas),
        ("removing", before.removing_replicas, after.removing_replicas),
        ("replicas", before.replicas, after.replicas),
    ):
        words += _moved(name, earlier, later)
    if before.replicas != after.replicas and set(before.replicas) == set(after.replicas):
        words.append("replicas reordered")
    if before.leader_recovery_state is LeaderRecoveryState.RECOVERING and not after.leader_recovery_state:
        words.append("recovered")
    return words


def _election(before: Partition, after: Partition) -> str:
    leader = after.leader
    if leader == NO_LEADER:
        return "without a leader"
    if after.leader_recovery_state is LeaderRecoveryState.RECOVERING or not (
        leader in before.isr or leader in before.eligible_leader_replicas
    ):
        return "elected uncleanly"
    if leader not in before.isr:
        return "elected, eligible"
    preferred = leader == after.preferred_leader and before.leader in after.isr
    return "elected, preferred" if preferred else "elected"


def _moved(name: str, before: Iterable[int], after: Iterable[int]) -> list[str]:
    come, gone = sorted(set(after) - set(before)), sorted(set(before) - set(after))
    parts = [f"+{each}" for each in come] + [f"-{each}" for each in gone]
    return [f"{name} {' '.join(parts)}"] if parts else []
