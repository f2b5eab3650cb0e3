"""One of every record that a log can hold, in an order in which they can be applied."""

from __future__ import annotations

from barnabas.coordination.cluster.records import MetadataRecord
from barnabas.protocol.records import cluster_metadata as r
from barnabas.protocol.schema import Uuid

TOPIC_ID = Uuid(range(16))
OTHER_ID = Uuid(range(16, 32))
DIRECTORY = Uuid(range(32, 48))
INCARNATION = Uuid(range(48, 64))


def broker(broker_id: int, epoch: int, *directories: Uuid) -> r.RegisterBrokerRecord:
    return r.RegisterBrokerRecord(
        broker_id=broker_id,
        incarnation_id=INCARNATION,
        broker_epoch=epoch,
        end_points=[r.BrokerEndpoint("PLAINTEXT", "localhost", 9092, 0)],
        features=[r.BrokerFeature("metadata.version", 7, 30)],
        rack=None,
        log_dirs=list(directories or [DIRECTORY]),
    )


def partition(number: int, replicas: list[int], topic_id: Uuid = TOPIC_ID) -> r.PartitionRecord:
    return r.PartitionRecord(
        partition_id=number,
        topic_id=topic_id,
        replicas=replicas,
        isr=replicas,
        leader=replicas[0],
        leader_epoch=0,
        partition_epoch=0,
        directories=[DIRECTORY] * len(replicas),
    )


def change(number: int = 0, topic_id: Uuid = TOPIC_ID) -> r.PartitionChangeRecord:
    return r.PartitionChangeRecord(partition_id=number, topic_id=topic_id)


def elr_change() -> r.PartitionChangeRecord:
    record = change()
    record.isr, record.leader, record.eligible_leader_replicas, record.last_known_elr = [], -1, [1], [1]
    return record


def feature(name: str, level: int) -> r.FeatureLevelRecord:
    return r.FeatureLevelRecord(name=name, feature_level=level)


def config(kind: int, resource: str, name: str, value: str | None) -> r.ConfigRecord:
    return r.ConfigRecord(resource_type=kind, resource_name=resource, name=name, value=value)


def quota(value: float, remove: bool = False, **entity: str | None) -> r.ClientQuotaRecord:
    parts = [r.EntityData(kind.replace("_", "-"), name) for kind, name in entity.items()]
    return r.ClientQuotaRecord(entity=parts, key="producer_byte_rate", value=value, remove=remove)


def acl(number: int) -> r.AccessControlEntryRecord:
    return r.AccessControlEntryRecord(Uuid([number] * 16), 2, "topic", 3, "User:castle", "*", 3, 3)


def scram(name: str) -> r.UserScramCredentialRecord:
    return r.UserScramCredentialRecord(name, 1, b"salt", b"stored", b"server", 4096)


def token(name: str) -> r.DelegationTokenRecord:
    return r.DelegationTokenRecord("User:a", "User:b", ["User:c"], 1, 2, 3, name)


def controller() -> r.RegisterControllerRecord:
    return r.RegisterControllerRecord(
        controller_id=3000,
        incarnation_id=INCARNATION,
        end_points=[r.ControllerEndpoint("CONTROLLER", "localhost", 9093, 0)],
        features=[r.ControllerFeature("metadata.version", 7, 30)],
    )


def everything() -> list[MetadataRecord]:
    """Leaves something of every kind behind, and has removed something of every kind."""
    return [
        MetadataRecord(message, version)
        for message, version in [
            (r.BeginTransactionRecord(name="first"), 0),
            (feature("metadata.version", 30), 0),
            (feature("eligible.leader.replicas.version", 1), 0),
            (feature("group.version", 1), 0),
            (feature("share.version", 1), 0),
            (r.EndTransactionRecord(), 0),
            (feature("share.version", 0), 0),
            (feature("kraft.version", 1), 0),
            (r.NoOpRecord(), 0),
            (r.ZkMigrationStateRecord(0), 0),
            (controller(), 0),
            (broker(1, 10), 4),
            (broker(2, 11, OTHER_ID), 4),
            (broker(3, 12, TOPIC_ID), 4),
            (r.UnfenceBrokerRecord(2, 11), 0),
            (r.FenceBrokerRecord(2, 11), 0),
            (r.BrokerRegistrationChangeRecord(1, 10, fenced=-1), 0),
            (r.BrokerRegistrationChangeRecord(1, 10, in_controlled_shutdown=1), 1),
            (r.BrokerRegistrationChangeRecord(1, 10, cordoned_log_dirs=[DIRECTORY]), 3),
            (r.UnregisterBrokerRecord(3, 12), 0),
            (r.TopicRecord("castle", TOPIC_ID), 0),
            (config(2, "castle", "retention.ms", "1"), 0),
            (partition(0, [1]), 2),
            (partition(1, [2, 1]), 2),
            (r.TopicRecord("village", OTHER_ID), 0),
            (config(2, "village", "retention.ms", "1"), 0),
            (partition(0, [1], OTHER_ID), 2),
            (r.RemoveTopicRecord(OTHER_ID), 0),
            (elr_change(), 2),
            (r.ClearElrRecord("castle"), 0),
            (elr_change(), 2),
            (config(4, "", "min.insync.replicas", "1"), 0),
            (config(4, "1", "log.retention.ms", "7"), 0),
            (config(4, "1", "log.retention.ms", None), 0),
            (config(16, "metrics", "interval.ms", "7"), 0),
            (config(32, "group", "consumer.session.timeout.ms", "7"), 0),
            (config(99, "of a later version", "a", "b"), 0),
            (quota(5.0, user="k", client_id=None), 0),
            (quota(5.0, ip="127.0.0.1"), 0),
            (quota(0.0, remove=True, ip="127.0.0.1"), 0),
            (r.ProducerIdsRecord(1, 10, 3000), 0),
            (acl(1), 0),
            (acl(2), 0),
            (r.RemoveAccessControlEntryRecord(Uuid([1] * 16)), 0),
            (scram("k"), 0),
            (scram("gone"), 0),
            (r.RemoveUserScramCredentialRecord("gone", 1), 0),
            (token("t"), 0),
            (token("gone"), 0),
            (r.RemoveDelegationTokenRecord("gone"), 0),
            (r.BeginTransactionRecord(name="second"), 0),
            (r.TopicRecord("never", Uuid(range(100, 116))), 0),
            (r.AbortTransactionRecord(reason="thought better of it"), 0),
        ]
    ]
