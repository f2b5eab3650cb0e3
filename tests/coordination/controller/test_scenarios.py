"""What a controller decides, as transcripts: what happens, what is written, how it stands."""

from __future__ import annotations

import pytest

from barnabas.coordination.cluster.bootstrap import bootstrap_records
from barnabas.coordination.cluster.metadata_version import MetadataVersion
from barnabas.coordination.cluster.records import MetadataRecord
from barnabas.coordination.controller.activation import activate
from barnabas.coordination.controller.alter_configs import alter_configs
from barnabas.coordination.controller.controller_registration import register_controller
from barnabas.coordination.controller.create_partitions import create_partitions
from barnabas.coordination.controller.create_topics import create_topics
from barnabas.coordination.controller.delete_topics import delete_topics
from barnabas.coordination.controller.describe_cluster import CONTROLLERS, describe_cluster
from barnabas.coordination.controller.incremental_alter_configs import incremental_alter_configs
from barnabas.coordination.controller.leader_balance import balance_leaders, elect_unclean_leaders
from barnabas.coordination.controller.stale_brokers import fence_stale_broker
from barnabas.coordination.controller.update_features import update_features
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages import alter_configs as legacy
from barnabas.protocol.messages.controller_registration import ControllerRegistrationRequest, Feature, Listener
from barnabas.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from barnabas.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from barnabas.protocol.messages.describe_cluster import DescribeClusterRequest
from barnabas.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from barnabas.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from barnabas.protocol.records import cluster_metadata as r
from barnabas.protocol.schema import Uuid
from tests.coordination.controller.scene import Scene, directory

# Nodes


def test_a_new_cluster() -> None:
    scene = Scene()
    assert scene.lines() == [
        "BeginTransaction v0 (name='Bootstrap records')",
        "FeatureLevel v0 (name='metadata.version', feature_level=30)",
        "FeatureLevel v0 (name='eligible.leader.replicas.version', feature_level=1)",
        "FeatureLevel v0 (name='group.version', feature_level=1)",
        "FeatureLevel v0 (name='share.version', feature_level=1)",
        "FeatureLevel v0 (name='streams.version', feature_level=1)",
        "FeatureLevel v0 (name='transaction.version', feature_level=2)",
        "Config v0 (resource_type=<ResourceType.BROKER: 4>, name='min.insync.replicas', value='1')",
        "EndTransaction v0",
    ]
    assert not activate(scene.controller, bootstrap_records()).records, "once is enough"


def test_a_new_cluster_of_an_old_version_knows_no_transactions() -> None:
    scene = Scene(MetadataVersion.V3_5_IV2)
    assert scene.lines() == ["FeatureLevel v0 (name='metadata.version', feature_level=11)"]


def test_what_the_last_controller_left_open_is_aborted() -> None:
    scene = Scene()
    scene.controller.image.apply_batch([MetadataRecord(r.BeginTransactionRecord())], scene.next_offset)
    scene.decide(activate, bootstrap_records())
    assert scene.lines() == ["AbortTransaction v0 (reason='Controller failover')"]


def test_a_broker_starts_and_stops_and_starts_again() -> None:
    scene = Scene()
    scene.broker(1, unfence=False)
    epoch = scene.controller.image.brokers[1].epoch
    assert epoch == 9, "where the registration stands"
    reply = scene.beat(1, current_metadata_offset=epoch - 1)
    assert (reply.is_caught_up, reply.is_fenced, scene.lines()) == (False, True, [])
    reply = scene.beat(1, current_metadata_offset=epoch, cordoned_log_dirs=[])
    assert (reply.is_caught_up, reply.is_fenced) == (True, False)
    assert scene.lines() == [
        "BrokerRegistrationChange v0 (broker_id=1, broker_epoch=9, fenced=-1)",
        "BrokerRegistrationChange v3 (broker_id=1, broker_epoch=9, cordoned_log_dirs=[])",
    ]
    scene.topic("t", [1], [1])
    assert scene.partitions("t") == ["leader 1 epoch 0.0, replicas 1, isr 1"] * 2

    reply = scene.beat(1, want_shut_down=True)
    assert (reply.is_fenced, reply.should_shut_down) == (False, False)
    assert [line.split(" (")[0] for line in scene.lines()] == [
        "BrokerRegistrationChange v1",
        "PartitionChange v2",
        "PartitionChange v2",
    ]
    assert scene.partitions("t") == ["leader -1 epoch 1.1, replicas 1, isr none, eligible 1, last 1"] * 2
    reply = scene.beat(1, want_shut_down=True)
    assert (reply.is_fenced, reply.should_shut_down) == (True, True)
    assert scene.lines() == ["BrokerRegistrationChange v0 (broker_id=1, broker_epoch=9, fenced=1)"]

    scene.now_ms += 1
    assert scene.broker(1, incarnation=2, previous_epoch=9) == ErrorCode.DUPLICATE_BROKER_REGISTRATION
    scene.now_ms += 9_000
    assert scene.broker(1, incarnation=2, previous_epoch=9) == ErrorCode.NONE
    assert scene.partitions("t") == ["leader 1 epoch 2.2, replicas 1, isr 1"] * 2


def test_after_a_crash_the_last_leader_leads_again_but_has_to_recover() -> None:
    """It was eligible, and a stop that was not clean may have cost it what it had acknowledged."""
    scene = Scene()
    scene.broker(1)
    scene.topic("t", [1])
    scene.now_ms += 9_001
    outcome = fence_stale_broker(scene.controller, scene.now_ms)
    scene.apply(outcome)
    assert scene.partitions("t") == ["leader -1 epoch 1.1, replicas 1, isr none, eligible 1, last 1"]
    scene.broker(1, incarnation=2, unfence=False)
    assert scene.partitions("t") == ["leader -1 epoch 1.2, replicas 1, isr none, last 1"]
    scene.beat(1)
    assert scene.partitions("t") == ["leader 1 epoch 2.3, replicas 1, isr 1, recovering"]


def test_silent_brokers_are_fenced_one_after_the_other() -> None:
    scene = Scene()
    for broker_id in (1, 2, 3):
        scene.broker(broker_id)
    assert fence_stale_broker(scene.controller, scene.now_ms).deadline_ms == scene.now_ms + 9_001
    scene.now_ms += 9_000
    scene.beat(3)
    scene.now_ms += 1
    fenced = []
    while True:
        outcome = fence_stale_broker(scene.controller, scene.now_ms)
        if not outcome.records:
            break
        scene.apply(outcome)
        fenced.append([broker.id for broker in scene.controller.image.brokers.values() if broker.fenced])
    assert fenced == [[1], [1, 2]]
    assert outcome.deadline_ms == scene.now_ms + 9_000


def test_who_leads_nothing_may_stop_once_all_others_know() -> None:
    scene = Scene()
    scene.broker(1)
    scene.broker(2)
    scene.topic("t", [1, 2])
    scene.beat(2, current_metadata_offset=scene.next_offset - 1)
    scene.beat(1, want_shut_down=True)
    assert scene.partitions("t") == ["leader 2 epoch 1.1, replicas 1,2, isr 2"]
    assert not scene.beat(1, want_shut_down=True).should_shut_down, "broker 2 has not read it yet"
    scene.beat(2, current_metadata_offset=scene.next_offset - 1)
    assert scene.beat(1, want_shut_down=True).should_shut_down


def test_a_new_controller_gives_everybody_a_session() -> None:
    scene = Scene()
    scene.broker(1)
    scene.controller.activate(scene.now_ms + 5)
    assert fence_stale_broker(scene.controller, scene.now_ms + 9_005).deadline_ms == scene.now_ms + 9_006


def test_a_node_that_is_alone_need_not_wait_for_itself() -> None:
    scene = Scene()
    scene.broker(1)
    scene.controller.activate(scene.now_ms)
    assert scene.broker(1, incarnation=2) == ErrorCode.DUPLICATE_BROKER_REGISTRATION
    scene.controller.activate(scene.now_ms, gone=[1])
    assert scene.broker(1, incarnation=2) == ErrorCode.NONE


def test_a_controller_registers() -> None:
    request = ControllerRegistrationRequest(
        controller_id=1,
        incarnation_id=Uuid(range(16)),
        listeners=[Listener("CONTROLLER", "localhost", 9093, 0)],
        features=[Feature("metadata.version", 7, 30)],
    )
    scene = Scene()
    assert scene.decide(register_controller, request).error_code == ErrorCode.NONE
    reply = describe_cluster(
        scene.controller.image,
        DescribeClusterRequest(endpoint_type=CONTROLLERS),
        1,
        cluster_id="castle",
        controller_id=1,
        listener="CONTROLLER",
        asked=CONTROLLERS,
    )
    assert [(node.broker_id, node.host, node.port) for node in reply.brokers] == [(1, "localhost", 9093)]
    request.listeners[0].security_protocol = 9
    assert scene.decide(register_controller, request).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    old = Scene(MetadataVersion.V3_6_IV2)
    assert old.decide(register_controller, request).error_code == ErrorCode.UNSUPPORTED_VERSION


# Leaders


def test_preferred_leaders_come_back() -> None:
    scene = Scene()
    scene.broker(1)
    scene.broker(2)
    scene.topic("t", [1, 2], [2, 1])
    scene.beat(1, want_fence=True)
    assert scene.partitions("t") == [
        "leader 2 epoch 1.1, replicas 1,2, isr 2",
        "leader 2 epoch 0.1, replicas 2,1, isr 2",
    ]
    scene.beat(1)
    assert not balance_leaders(scene.controller).records, "it is not in sync yet"
    joined = r.PartitionChangeRecord(partition_id=0, topic_id=next(iter(scene.controller.image.topics)).id, isr=[2, 1])
    scene.controller.image.apply_batch([MetadataRecord(joined, 2)], scene.next_offset)
    scene.decide(balance_leaders)
    assert scene.partitions("t")[0] == "leader 1 epoch 2.3, replicas 1,2, isr 2,1"


def test_an_unclean_leader_where_the_topic_allows_it() -> None:
    scene = Scene(MetadataVersion.V3_9_IV0)
    scene.broker(1)
    scene.broker(2)
    scene.topic("strict", [1, 2])
    scene.topic("lax", [1, 2])
    scene.beat(2, want_fence=True)
    scene.beat(1, want_fence=True)
    scene.beat(2)
    assert scene.partitions("lax") == ["leader -1 epoch 1.2, replicas 1,2, isr 1"]
    assert not elect_unclean_leaders(scene.controller).records
    resource = AlterConfigsResource(2, "lax", [AlterableConfig("unclean.leader.election.enable", 0, "true")])
    scene.decide(incremental_alter_configs, IncrementalAlterConfigsRequest(resources=[resource]))
    scene.decide(elect_unclean_leaders)
    assert scene.partitions("lax") == ["leader 2 epoch 2.3, replicas 1,2, isr 2, recovering"]
    assert scene.partitions("strict") == ["leader -1 epoch 1.2, replicas 1,2, isr 1"]


def test_before_3_6_a_shrunk_isr_raised_the_leader_epoch() -> None:
    scene = Scene(MetadataVersion.V3_5_IV2)
    scene.broker(1)
    scene.broker(2)
    scene.topic("t", [1, 2])
    scene.beat(2, want_fence=True)
    assert scene.partitions("t") == ["leader 1 epoch 1.1, replicas 1,2, isr 1"]
    assert scene.lines()[0].startswith("PartitionChange v0")


# Topics


def new(name: str, **configs: str) -> CreatableTopic:
    return CreatableTopic(
        name, 1, 1, configs=[CreatableTopicConfig(key.replace("_", "."), configs[key]) for key in configs]
    )


def codes(reply: object) -> dict[str, str]:
    results = getattr(reply, "topics", None) or getattr(reply, "responses", None) or reply.results  # type: ignore[attr-defined]
    return {result.name: ErrorCode(result.error_code).name for result in results}


def test_records_of_a_topic_stand_in_kafkas_order() -> None:
    scene = Scene()
    scene.broker(1)
    request = CreateTopicsRequest(topics=[new("t", min_insync_replicas="2", retention_ms="7")])
    scene.decide(create_topics, request, topic_ids=scene.ids, seed=0)
    assert [line.split(" (")[0] for line in scene.lines()] == [
        "Topic v0",
        "Config v0",
        "Config v0",
        "ClearElr v0",
        "Partition v2",
    ]


def test_who_may_not_create_or_see() -> None:
    scene = Scene()
    scene.broker(1)
    request = CreateTopicsRequest(topics=[new("mine"), new("yours"), new("__cluster_metadata")])
    reply = scene.decide(
        create_topics,
        request,
        topic_ids=scene.ids,
        seed=0,
        may_create=lambda name: name == "mine",
        may_describe_configs=lambda _: False,
    )
    assert codes(reply) == {
        "mine": "NONE",
        "yours": "TOPIC_AUTHORIZATION_FAILED",
        "__cluster_metadata": "INVALID_REQUEST",
    }
    assert reply.topics[0].topic_config_error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert (reply.topics[0].configs, reply.topics[0].num_partitions) == ([], -1)


def test_who_has_created_too_much() -> None:
    scene = Scene()
    scene.broker(1)

    def admit(partitions: int) -> None:
        asked.append(partitions)
        if len(asked) == 2:
            raise KafkaError(ErrorCode.THROTTLING_QUOTA_EXCEEDED)

    asked: list[int] = []
    request = CreateTopicsRequest(topics=[new("a"), new("b"), new("c", no_such="1"), new("d")])
    reply = scene.decide(create_topics, request, topic_ids=scene.ids, seed=0, admit=admit)
    assert codes(reply) == {"a": "NONE", "b": "THROTTLING_QUOTA_EXCEEDED", "c": "INVALID_CONFIG", "d": "NONE"}
    assert asked == [1, 1, 1]
    assert list(scene.controller.image.topics.by_name) == ["a", "d"]
    asked[:] = [0]
    reply = scene.decide(delete_topics, DeleteTopicsRequest(topic_names=["a", "d"]), 5, admit=admit)
    assert codes(reply) == {"a": "THROTTLING_QUOTA_EXCEEDED", "d": "NONE"}
    asked[:] = [0]
    grown = CreatePartitionsRequest(topics=[CreatePartitionsTopic("a", 4, None)])
    assert codes(scene.decide(create_partitions, grown, seed=0, admit=admit)) == {"a": "THROTTLING_QUOTA_EXCEEDED"}
    assert asked == [0, 3]


def test_topics_that_one_may_not_delete_or_see() -> None:
    scene = Scene()
    scene.broker(1)
    for name in ("mine", "seen", "hidden"):
        scene.topic(name, [1])
    ids = {topic.name: topic.id for topic in scene.controller.image.topics}
    states = [DeleteTopicState(topic_id=topic_id) for topic_id in ids.values()]
    named = [DeleteTopicState(name="never")]
    reply = scene.decide(
        delete_topics,
        DeleteTopicsRequest(topics=[*states, *named]),
        6,
        may_describe=lambda name: name in ("mine", "seen"),
        may_delete=lambda name: name == "mine",
    )
    assert [(result.name, ErrorCode(result.error_code).name) for result in reply.responses] == [
        ("seen", "TOPIC_AUTHORIZATION_FAILED"),
        (None, "TOPIC_AUTHORIZATION_FAILED"),
        ("never", "TOPIC_AUTHORIZATION_FAILED"),
        ("mine", "NONE"),
    ]


@pytest.mark.parametrize(("version", "code"), [(1, "INVALID_REQUEST"), (3, "TOPIC_DELETION_DISABLED")])
def test_nothing_is_deleted_where_that_is_switched_off(version: int, code: str) -> None:
    scene = Scene(delete_topic_enable=False)
    scene.broker(1)
    scene.topic("t", [1])
    reply = scene.decide(delete_topics, DeleteTopicsRequest(topic_names=["t", "never"]), version)
    assert codes(reply) == {"t": code, "never": code}
    assert not scene.written
    by_id = DeleteTopicsRequest(topics=[DeleteTopicState(topic_id=Uuid(range(16)))])
    assert scene.decide(delete_topics, by_id, 6).responses[0].topic_id == Uuid(range(16))


def test_partitions_that_one_may_not_add_and_too_many() -> None:
    scene = Scene()
    scene.broker(1)
    scene.topic("mine", [1])
    scene.topic("yours", [1])
    wanted = [CreatePartitionsTopic("mine", 10_002, None), CreatePartitionsTopic("yours", 2, None)]
    reply = scene.decide(
        create_partitions, CreatePartitionsRequest(topics=wanted), seed=0, may_alter=lambda name: name == "mine"
    )
    assert codes(reply) == {"mine": "POLICY_VIOLATION", "yours": "TOPIC_AUTHORIZATION_FAILED"}
    assert not scene.written


def test_defaults_of_the_node() -> None:
    scene = Scene(default_partitions=3, default_replication_factor=2)
    scene.broker(1)
    scene.broker(2, directories=2)
    request = CreateTopicsRequest(topics=[CreatableTopic("t", -1, -1)])
    reply = scene.decide(create_topics, request, topic_ids=scene.ids, seed=5)
    assert (reply.topics[0].num_partitions, reply.topics[0].replication_factor) == (3, 2)
    for number in range(3):
        partition = scene.partition("t", number)
        directories = dict(zip(partition.replicas, partition.directories, strict=True))
        assert directories[1] == directory(1)
        assert directories[2] == Uuid((1).to_bytes(16, "big")), "with two directories the broker chooses"


# Configurations and features


def test_a_configuration_that_names_a_resource_twice_changes_neither() -> None:
    """Kafka fails to encode this answer to AlterConfigs, and sends none."""
    scene = Scene()
    scene.broker(1)
    scene.topic("t", [1])
    resource = legacy.AlterConfigsResource(2, "t", [legacy.AlterableConfig("retention.ms", "1")])
    reply = scene.decide(alter_configs, legacy.AlterConfigsRequest(resources=[resource, resource]))
    assert [ErrorCode(result.error_code).name for result in reply.responses] == ["INVALID_REQUEST"] * 2
    assert not scene.written


def test_a_controller_that_is_asked_itself_answers_once() -> None:
    scene = Scene()
    scene.broker(1)
    scene.topic("t", [1])

    def resource(kind: int, name: str, config: str = "retention.ms") -> AlterConfigsResource:
        return AlterConfigsResource(kind, name, [AlterableConfig(config, 0, "7")])

    resources = [
        resource(2, "t"),
        resource(2, "never"),
        resource(99, "x"),
        resource(2, "a"),
        resource(2, "a"),
        resource(4, "7", "no.such"),
    ]
    reply = scene.decide(
        incremental_alter_configs,
        IncrementalAlterConfigsRequest(resources=resources),
        at_broker=False,
        may_alter=lambda resource: resource.name != "never",
    )
    assert [(result.resource_name, ErrorCode(result.error_code).name) for result in reply.responses] == [
        ("never", "TOPIC_AUTHORIZATION_FAILED"),
        ("x", "UNSUPPORTED_VERSION"),
        ("a", "INVALID_REQUEST"),
        ("t", "NONE"),
        ("7", "BROKER_ID_NOT_REGISTERED"),
    ]


def test_directories_are_cordoned_by_the_broker_that_has_them() -> None:
    scene = Scene()
    scene.broker(1)

    def cordon(value: str, *, at_broker: bool) -> str:
        resource = AlterConfigsResource(4, "1", [AlterableConfig("cordoned.log.dirs", 0, value)])
        request = IncrementalAlterConfigsRequest(resources=[resource])
        reply = scene.decide(incremental_alter_configs, request, at_broker=at_broker)
        return ErrorCode(reply.responses[0].error_code).name

    assert cordon("/a", at_broker=False) == "INVALID_CONFIG"
    assert cordon("/a,/b", at_broker=True) == "NONE"
    assert cordon("/b", at_broker=False) == "NONE"
    assert cordon("/a", at_broker=False) == "INVALID_CONFIG"
    assert cordon("", at_broker=False) == "NONE"


def test_a_new_min_isr_makes_eligible_leaders_be_chosen_anew() -> None:
    scene = Scene()
    scene.broker(1)
    scene.topic("t", [1])
    resources = [
        AlterConfigsResource(2, "t", [AlterableConfig("min.insync.replicas", 0, "2")]),
        AlterConfigsResource(4, "", [AlterableConfig("min.insync.replicas", 0, "2")]),
    ]
    scene.decide(incremental_alter_configs, IncrementalAlterConfigsRequest(resources=resources))
    assert [line for line in scene.lines() if "ClearElr" in line] == ["ClearElr v0 (topic_name='t')", "ClearElr v0"]


def test_eligible_leaders_come_with_one_min_isr_for_all() -> None:
    scene = Scene(MetadataVersion.V4_0_IV3, min_insync_replicas=2)
    scene.broker(1)
    resource = AlterConfigsResource(4, "1", [AlterableConfig("min.insync.replicas", 0, "3")])
    scene.decide(incremental_alter_configs, IncrementalAlterConfigsRequest(resources=[resource]))
    update = FeatureUpdateKey("eligible.leader.replicas.version", 1)
    request = ControllerRegistrationRequest(controller_id=1, incarnation_id=Uuid(range(16)))
    scene.decide(register_controller, request)
    scene.decide(update_features, UpdateFeaturesRequest(feature_updates=[update]), 2)
    assert scene.lines() == [
        "Config v0 (resource_type=<ResourceType.BROKER: 4>, name='min.insync.replicas', value='2')",
        "Config v0 (resource_type=4, resource_name='1', name='min.insync.replicas', value=None)",
        "FeatureLevel v0 (name='eligible.leader.replicas.version', feature_level=1)",
    ]


@pytest.mark.parametrize(
    ("name", "level", "kind", "refused"),
    [
        ("metadata.version", 29, 2, "records have changed"),
        ("metadata.version", 30, 1, None),
        ("metadata.version", 26, 3, "records have changed"),
        ("group.version", 0, 1, "say that a downgrade is wanted"),
        ("group.version", 0, 2, None),
        ("group.version", 2, 1, "works with levels 0 to 1"),
        ("kraft.version", 1, 1, None),
        ("kraft.version", 0, 2, "only the quorum"),
        ("share.version", 1, 4, "no upgrade of type 4"),
    ],
)
def test_updates_of_features(name: str, level: int, kind: int, refused: str | None) -> None:
    scene = Scene()
    scene.broker(1)
    update = FeatureUpdateKey(name, level, upgrade_type=kind)
    reply = scene.decide(update_features, UpdateFeaturesRequest(feature_updates=[update]), 2)
    if refused is None:
        assert (reply.error_code, reply.error_message) == (ErrorCode.NONE, None)
        assert len(scene.written) == 1
    else:
        assert reply.error_code == ErrorCode.INVALID_UPDATE_VERSION
        assert refused in reply.error_message
        assert not scene.written


def test_a_voter_that_has_not_registered_cannot_be_known_to_support_anything() -> None:
    scene = Scene(voter_ids=(1, 2))
    update = FeatureUpdateKey("group.version", 0, upgrade_type=2)
    reply = scene.decide(update_features, UpdateFeaturesRequest(feature_updates=[update]), 2)
    assert "controller 2" in reply.error_message


@pytest.mark.parametrize("records", [[], bootstrap_records()[1:]])
def test_a_cluster_cannot_begin_without_a_metadata_version(records: list[MetadataRecord]) -> None:
    scene = Scene()
    scene.controller.image.metadata_version = None
    with pytest.raises(ValueError, match="format the directory again"):
        activate(scene.controller, records)
