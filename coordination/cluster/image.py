"""The cluster, as the records so far tell it.

`apply_batch` is the only way to change it, at load as in service; it returns what the batch changed. What lies in it is
never changed in place but for the containers: whoever keeps a Partition or a BrokerRegistration keeps it as it was.

Records between BeginTransaction and EndTransaction count together or, if AbortTransaction comes, not at all. They are
held back until then, since a transaction may be spread over batches, and nobody should see half of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from barnabas.coordination.cluster.broker import FENCE, UNFENCE, BrokerRegistration, ControllerRegistration
from barnabas.coordination.cluster.configs import Configs, topic_resource
from barnabas.coordination.cluster.delta import ImageDelta
from barnabas.coordination.cluster.features import ELIGIBLE_LEADER_REPLICAS, KRAFT_VERSION
from barnabas.coordination.cluster.metadata_version import METADATA_VERSION, MetadataVersion
from barnabas.coordination.cluster.partition import Partition
from barnabas.coordination.cluster.quotas import ClientQuotas
from barnabas.coordination.cluster.records import MetadataRecord, UnknownMessage, UnreplayableRecord
from barnabas.coordination.cluster.security import Security
from barnabas.coordination.cluster.topics import Topic, Topics
from barnabas.protocol.records import cluster_metadata as records
from barnabas.protocol.schema import Data

__all__ = ["ClusterImage", "OpenTransaction"]

NO_PRODUCER_IDS = -1


@dataclass(slots=True)
class OpenTransaction:
    start_offset: int
    records: list[tuple[MetadataRecord, int]] = field(default_factory=list)
    """With their offsets."""


@dataclass(slots=True)
class ClusterImage:
    metadata_version: MetadataVersion | None = None
    """None before the first record."""
    features: dict[str, int] = field(default_factory=dict)
    """Levels of the other features, where they are not 0."""
    brokers: dict[int, BrokerRegistration] = field(default_factory=dict)
    controllers: dict[int, ControllerRegistration] = field(default_factory=dict)
    topics: Topics = field(default_factory=Topics)
    configs: Configs = field(default_factory=Configs)
    quotas: ClientQuotas = field(default_factory=ClientQuotas)
    next_producer_id: int = NO_PRODUCER_IDS
    security: Security = field(default_factory=Security)
    unknown: list[bytes] = field(default_factory=list)
    """Records of later versions, as they came."""

    # How far the log has been read: of no meaning for what the cluster is.
    next_offset: int = field(default=0, compare=False)
    epoch: int = field(default=0, compare=False)
    timestamp_ms: int = field(default=0, compare=False)
    transaction: OpenTransaction | None = field(default=None, compare=False)
    registration_offsets: dict[int, int] = field(default_factory=dict, compare=False)
    """Where each broker's last registration stands: it has to have read so far to be let in."""

    @property
    def eligible_leader_replicas_enabled(self) -> bool:
        return self.features.get(ELIGIBLE_LEADER_REPLICAS, 0) >= 1

    @property
    def required_metadata_version(self) -> MetadataVersion:
        assert self.metadata_version is not None, "the cluster has not been bootstrapped"
        return self.metadata_version

    def finalized_features(self) -> Mapping[str, int]:
        """All levels, metadata.version among them."""
        if self.metadata_version is None:
            return dict(self.features)
        return {METADATA_VERSION: int(self.metadata_version), **self.features}

    def apply_batch(
        self,
        batch: Iterable[MetadataRecord],
        base_offset: int,
        *,
        epoch: int = 0,
        timestamp_ms: int = 0,
        delta: ImageDelta | None = None,
    ) -> ImageDelta:
        """What the batch changed is added to `delta`, if there is one already."""
        delta = ImageDelta() if delta is None else delta
        offset = base_offset
        for record in batch:
            self.apply(record, offset, delta)
            offset += 1
        self.next_offset = offset
        self.epoch = epoch
        self.timestamp_ms = timestamp_ms
        return delta

    def apply(self, record: MetadataRecord, offset: int, delta: ImageDelta) -> None:
        try:
            self._apply(record, offset, delta)
        except UnreplayableRecord as error:
            raise UnreplayableRecord(f"the metadata record at offset {offset} cannot be applied: {error}") from None

    def _apply(self, record: MetadataRecord, offset: int, delta: ImageDelta) -> None:
        message = record.message
        match message:
            case records.BeginTransactionRecord():
                if self.transaction is not None:
                    raise UnreplayableRecord("a transaction begins within another")
                self.transaction = OpenTransaction(offset)
            case records.EndTransactionRecord():
                for held, held_offset in self._close_transaction().records:
                    self._apply_message(held.message, held_offset, delta)
            case records.AbortTransactionRecord():
                self._close_transaction()
            case _ if self.transaction is not None:
                self.transaction.records.append((record, offset))
            case _:
                self._apply_message(message, offset, delta)

    def _close_transaction(self) -> OpenTransaction:
        closed, self.transaction = self.transaction, None
        if closed is None:
            raise UnreplayableRecord("a transaction ends that has not begun")
        return closed

    def _apply_message(self, message: Data | UnknownMessage, offset: int, delta: ImageDelta) -> None:
        if isinstance(message, UnknownMessage):
            self.unknown.append(message.data)
        elif isinstance(message, records.RegisterBrokerRecord):
            self._register_broker(message, delta)
            self.registration_offsets[message.broker_id] = offset
        else:
            _APPLY[type(message)](self, message, delta)

    # Features

    def _feature_level(self, record: records.FeatureLevelRecord, delta: ImageDelta) -> None:
        name, level = record.name, record.feature_level
        if name == KRAFT_VERSION:
            return  # it is kept in control records; Kafka once wrote it here by mistake (KAFKA-18979)
        if name == METADATA_VERSION:
            delta.feature_changed(name, self.metadata_version or 0)
            try:
                self.metadata_version = MetadataVersion(level)
            except ValueError:
                raise UnreplayableRecord(
                    f"metadata.version {level} is not known, which goes from {min(MetadataVersion)} "
                    f"to {max(MetadataVersion)}: read this log with a program of its version"
                ) from None
            return
        delta.feature_changed(name, self.features.get(name, 0))
        if level:
            self.features[name] = level
        else:
            self.features.pop(name, None)

    # Nodes

    def _register_broker(self, record: records.RegisterBrokerRecord, delta: ImageDelta) -> None:
        delta.broker_changed(record.broker_id, self.brokers.get(record.broker_id))
        self.brokers[record.broker_id] = BrokerRegistration.from_record(record)

    def _unregister_broker(self, record: records.UnregisterBrokerRecord, delta: ImageDelta) -> None:
        delta.broker_changed(record.broker_id, self._broker(record.broker_id, record.broker_epoch))
        del self.brokers[record.broker_id]
        self.registration_offsets.pop(record.broker_id, None)

    def _change_broker(self, record: records.BrokerRegistrationChangeRecord, delta: ImageDelta) -> None:
        before = self._broker(record.broker_id, record.broker_epoch)
        delta.broker_changed(record.broker_id, before)
        self.brokers[record.broker_id] = before.changed_by(record)

    def _fence_broker(self, record: records.FenceBrokerRecord, delta: ImageDelta) -> None:
        self._change_broker(_fencing(record.id, record.epoch, FENCE), delta)

    def _unfence_broker(self, record: records.UnfenceBrokerRecord, delta: ImageDelta) -> None:
        self._change_broker(_fencing(record.id, record.epoch, UNFENCE), delta)

    def _broker(self, broker_id: int, epoch: int) -> BrokerRegistration:
        broker = self.brokers.get(broker_id)
        if broker is None or broker.epoch != epoch:
            raise UnreplayableRecord(f"there is no broker {broker_id} with epoch {epoch}")
        return broker

    def _register_controller(self, record: records.RegisterControllerRecord, delta: ImageDelta) -> None:
        self.controllers[record.controller_id] = ControllerRegistration.from_record(record)
        delta.controllers.add(record.controller_id)

    # Topics

    def _topic(self, record: records.TopicRecord, delta: ImageDelta) -> None:
        delta.topic_created(self.topics.add(record.name, record.topic_id))

    def _remove_topic(self, record: records.RemoveTopicRecord, delta: ImageDelta) -> None:
        topic = self.topics.remove(record.topic_id)
        delta.topic_deleted(topic)
        resource = topic_resource(topic.name)
        if self.configs.remove(resource):
            delta.configs.add(resource)

    def _partition(self, record: records.PartitionRecord, delta: ImageDelta) -> None:
        topic = self.topics.find(record.topic_id)
        self._set_partition(topic, record.partition_id, Partition.from_record(record), delta)

    def _change_partition(self, record: records.PartitionChangeRecord, delta: ImageDelta) -> None:
        topic = self.topics.find(record.topic_id)
        before = topic.partitions.get(record.partition_id)
        if before is None:
            raise UnreplayableRecord(f"topic {topic.name} has no partition {record.partition_id}")
        self._set_partition(topic, record.partition_id, before.changed_by(record), delta)

    def _clear_eligible_leader_replicas(self, record: records.ClearElrRecord, delta: ImageDelta) -> None:
        if record.topic_name and record.topic_name not in self.topics.by_name:
            raise UnreplayableRecord(f"there is no topic named {record.topic_name}")
        topics = [self.topics.by_name[record.topic_name]] if record.topic_name else list(self.topics)
        nobody = records.PartitionChangeRecord(eligible_leader_replicas=[], last_known_elr=[])
        for topic in topics:
            for number, partition in topic.partitions.items():
                if partition.eligible_leader_replicas or partition.last_known_elr:
                    self._set_partition(topic, number, partition.changed_by(nobody), delta)

    def _set_partition(self, topic: Topic, number: int, partition: Partition, delta: ImageDelta) -> None:
        delta.partition_changed(topic, number, topic.partitions.get(number), partition)
        topic.partitions[number] = partition

    # What is set for others

    def _config(self, record: records.ConfigRecord, delta: ImageDelta) -> None:
        delta.configs.add(self.configs.apply(record))

    def _client_quota(self, record: records.ClientQuotaRecord, delta: ImageDelta) -> None:
        delta.quotas.add(self.quotas.apply(record))

    def _producer_ids(self, record: records.ProducerIdsRecord, delta: ImageDelta) -> None:
        self.next_producer_id = record.next_producer_id
        delta.producer_ids = True

    # Who may do what

    def _acl(self, record: records.AccessControlEntryRecord, delta: ImageDelta) -> None:
        self.security.acls[record.id] = record
        delta.acls.add(record.id)

    def _remove_acl(self, record: records.RemoveAccessControlEntryRecord, delta: ImageDelta) -> None:
        self.security.remove_acl(record.id)
        delta.acls.add(record.id)

    def _scram(self, record: records.UserScramCredentialRecord, delta: ImageDelta) -> None:
        key = (record.name, record.mechanism)
        self.security.scram[key] = record
        delta.scram.add(key)

    def _remove_scram(self, record: records.RemoveUserScramCredentialRecord, delta: ImageDelta) -> None:
        key = (record.name, record.mechanism)
        self.security.scram.pop(key, None)
        delta.scram.add(key)

    def _token(self, record: records.DelegationTokenRecord, delta: ImageDelta) -> None:
        self.security.tokens[record.token_id] = record
        delta.tokens.add(record.token_id)

    def _remove_token(self, record: records.RemoveDelegationTokenRecord, delta: ImageDelta) -> None:
        self.security.tokens.pop(record.token_id, None)
        delta.tokens.add(record.token_id)

    def _nothing(self, record: Data, delta: ImageDelta) -> None:
        """NoOp moves the log on and says nothing; of ZooKeeper's migration nothing is left to do since Kafka 4.0."""


def _fencing(broker_id: int, epoch: int, fenced: int) -> records.BrokerRegistrationChangeRecord:
    return records.BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=epoch, fenced=fenced)


_APPLY: Mapping[type[Data], Callable[[ClusterImage, Any, ImageDelta], None]] = {
    records.FeatureLevelRecord: ClusterImage._feature_level,
    records.UnregisterBrokerRecord: ClusterImage._unregister_broker,
    records.BrokerRegistrationChangeRecord: ClusterImage._change_broker,
    records.FenceBrokerRecord: ClusterImage._fence_broker,
    records.UnfenceBrokerRecord: ClusterImage._unfence_broker,
    records.RegisterControllerRecord: ClusterImage._register_controller,
    records.TopicRecord: ClusterImage._topic,
    records.RemoveTopicRecord: ClusterImage._remove_topic,
    records.PartitionRecord: ClusterImage._partition,
    records.PartitionChangeRecord: ClusterImage._change_partition,
    records.ClearElrRecord: ClusterImage._clear_eligible_leader_replicas,
    records.ConfigRecord: ClusterImage._config,
    records.ClientQuotaRecord: ClusterImage._client_quota,
    records.ProducerIdsRecord: ClusterImage._producer_ids,
    records.AccessControlEntryRecord: ClusterImage._acl,
    records.RemoveAccessControlEntryRecord: ClusterImage._remove_acl,
    records.UserScramCredentialRecord: ClusterImage._scram,
    records.RemoveUserScramCredentialRecord: ClusterImage._remove_scram,
    records.DelegationTokenRecord: ClusterImage._token,
    records.RemoveDelegationTokenRecord: ClusterImage._remove_token,
    records.NoOpRecord: ClusterImage._nothing,
    records.ZkMigrationStateRecord: ClusterImage._nothing,
}
