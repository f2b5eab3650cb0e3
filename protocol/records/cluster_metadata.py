"""What Kafka keeps in __cluster_metadata."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import (
    Data,
    Struct,
    data,
    field,
    float64,
    int8,
    int16,
    int32,
    int64,
    string,
    struct,
    uint16,
    uuid,
)


@data(key=0, versions="0-4", flexible="0+")
class RegisterBrokerRecord(Data):
    broker_id: int32 = field()
    is_migrating_zk_broker: bool = field("2+")
    incarnation_id: uuid = field()
    broker_epoch: int64 = field()
    end_points: list[BrokerEndpoint] = field()
    features: list[BrokerFeature] = field()
    rack: string | None = field()
    fenced: bool = field(default=True)
    in_controlled_shutdown: bool = field("1+")
    log_dirs: list[uuid] = field("3+", tag=0)
    cordoned_log_dirs: list[uuid] | None = field("4+", default=None, tag=1)


@struct
class BrokerEndpoint(Struct):
    name: string = field()
    host: string = field()
    port: uint16 = field()
    security_protocol: int16 = field()


@struct
class BrokerFeature(Struct):
    name: string = field()
    min_supported_version: int16 = field()
    max_supported_version: int16 = field()


@data(key=1, versions="0", flexible="0+")
class UnregisterBrokerRecord(Data):
    broker_id: int32 = field()
    broker_epoch: int64 = field()


@data(key=2, versions="0", flexible="0+")
class TopicRecord(Data):
    name: string = field()
    topic_id: uuid = field()


@data(key=3, versions="0-2", flexible="0+")
class PartitionRecord(Data):
    partition_id: int32 = field(default=-1)
    topic_id: uuid = field()
    replicas: list[int32] = field()
    isr: list[int32] = field()
    removing_replicas: list[int32] = field()
    adding_replicas: list[int32] = field()
    leader: int32 = field(default=-1)
    leader_recovery_state: int8 = field(tag=0)
    leader_epoch: int32 = field(default=-1)
    partition_epoch: int32 = field(default=-1)
    directories: list[uuid] = field("1+")
    eligible_leader_replicas: list[int32] | None = field("2+", default=None, tag=1)
    last_known_elr: list[int32] | None = field("2+", default=None, tag=2)


@data(key=4, versions="0", flexible="0+")
class ConfigRecord(Data):
    resource_type: int8 = field()
    resource_name: string = field()
    name: string = field()
    value: string | None = field()


@data(key=5, versions="0-2", flexible="0+")
class PartitionChangeRecord(Data):
    partition_id: int32 = field(default=-1)
    topic_id: uuid = field()
    isr: list[int32] | None = field(default=None, tag=0)
    leader: int32 = field(default=-2, tag=1)
    replicas: list[int32] | None = field(default=None, tag=2)
    removing_replicas: list[int32] | None = field(default=None, tag=3)
    adding_replicas: list[int32] | None = field(default=None, tag=4)
    leader_recovery_state: int8 = field(default=-1, tag=5)
    directories: list[uuid] | None = field("1+", default=None, tag=8)
    eligible_leader_replicas: list[int32] | None = field("2+", default=None, tag=6)
    last_known_elr: list[int32] | None = field("2+", default=None, tag=7)


@data(key=7, versions="0", flexible="0+")
class FenceBrokerRecord(Data):
    id: int32 = field()
    epoch: int64 = field()


@data(key=8, versions="0", flexible="0+")
class UnfenceBrokerRecord(Data):
    id: int32 = field()
    epoch: int64 = field()


@data(key=9, versions="0", flexible="0+")
class RemoveTopicRecord(Data):
    topic_id: uuid = field()


@data(key=10, versions="0", flexible="0+")
class DelegationTokenRecord(Data):
    owner: string = field()
    requester: string = field()
    renewers: list[string] = field()
    issue_timestamp: int64 = field()
    max_timestamp: int64 = field()
    expiration_timestamp: int64 = field()
    token_id: string = field()


@data(key=11, versions="0", flexible="0+")
class UserScramCredentialRecord(Data):
    name: string = field()
    mechanism: int8 = field()
    salt: bytes = field()
    stored_key: bytes = field()
    server_key: bytes = field()
    iterations: int32 = field()


@data(key=12, versions="0", flexible="0+")
class FeatureLevelRecord(Data):
    name: string = field()
    feature_level: int16 = field()


@data(key=14, versions="0", flexible="0+")
class ClientQuotaRecord(Data):
    entity: list[EntityData] = field()
    key: string = field()
    value: float64 = field()
    remove: bool = field()


@struct
class EntityData(Struct):
    entity_type: string = field()
    entity_name: string | None = field()


@data(key=15, versions="0", flexible="0+")
class ProducerIdsRecord(Data):
    broker_id: int32 = field()
    broker_epoch: int64 = field(default=-1)
    next_producer_id: int64 = field()


@data(key=17, versions="0-3", flexible="0+")
class BrokerRegistrationChangeRecord(Data):
    broker_id: int32 = field()
    broker_epoch: int64 = field()
    fenced: int8 = field(tag=0)
    in_controlled_shutdown: int8 = field("1+", tag=1)
    log_dirs: list[uuid] = field("2+", tag=2)
    cordoned_log_dirs: list[uuid] | None = field("3+", default=None, tag=3)


@data(key=18, versions="0", flexible="0+")
class AccessControlEntryRecord(Data):
    id: uuid = field()
    resource_type: int8 = field()
    resource_name: string = field()
    pattern_type: int8 = field()
    principal: string = field()
    host: string = field()
    operation: int8 = field()
    permission_type: int8 = field()


@data(key=19, versions="0", flexible="0+")
class RemoveAccessControlEntryRecord(Data):
    id: uuid = field()


@data(key=20, versions="0", flexible="0+")
class NoOpRecord(Data):
    pass


@data(key=21, versions="0", flexible="0+")
class ZkMigrationStateRecord(Data):
    zk_migration_state: int8 = field()


@data(key=22, versions="0", flexible="0+")
class RemoveUserScramCredentialRecord(Data):
    name: string = field()
    mechanism: int8 = field()


@data(key=23, versions="0", flexible="0+")
class BeginTransactionRecord(Data):
    name: string | None = field(default=None, tag=0)


@data(key=24, versions="0", flexible="0+")
class EndTransactionRecord(Data):
    pass


@data(key=25, versions="0", flexible="0+")
class AbortTransactionRecord(Data):
    reason: string | None = field(default=None, tag=0)


@data(key=26, versions="0", flexible="0+")
class RemoveDelegationTokenRecord(Data):
    token_id: string = field()


@data(key=27, versions="0", flexible="0+")
class RegisterControllerRecord(Data):
    controller_id: int32 = field()
    incarnation_id: uuid = field()
    zk_migration_ready: bool = field()
    end_points: list[ControllerEndpoint] = field()
    features: list[ControllerFeature] = field()


@struct
class ControllerEndpoint(Struct):
    name: string = field()
    host: string = field()
    port: uint16 = field()
    security_protocol: int16 = field()


@struct
class ControllerFeature(Struct):
    name: string = field()
    min_supported_version: int16 = field()
    max_supported_version: int16 = field()


@data(key=28, versions="0", flexible="0+")
class ClearElrRecord(Data):
    topic_name: string = field()
