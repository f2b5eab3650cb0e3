"""Nodes come, are heard of, fall silent and go, as transcripts; and what becomes of their partitions."""

from __future__ import annotations

from barnabas.coordination.cluster.bootstrap import bootstrap_records
from barnabas.coordination.cluster.metadata_version import MetadataVersion
from barnabas.coordination.cluster.records import MetadataRecord
from barnabas.coordination.controller.activation import activate
from barnabas.coordination.controller.controller_registration import register_controller
from barnabas.coordination.controller.describe_cluster import CONTROLLERS, describe_cluster
from barnabas.coordination.controller.incremental_alter_configs import incremental_alter_configs
from barnabas.coordination.controller.leader_balance import balance_leaders, elect_unclean_leaders
from barnabas.coordination.controller.stale_brokers import fence_stale_broker
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.controller_registration import ControllerRegistrationRequest, Feature, Listener
from barnabas.protocol.messages.describe_cluster import DescribeClusterRequest
from barnabas.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from barnabas.protocol.records import cluster_metadata as r
from barnabas.protocol.schema import Uuid
from tests.coordination.controller.scene import Scene


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
