"""Configurations and features: what one change brings with it, and what is refused."""

from __future__ import annotations

import pytest

from barnabas.coordination.cluster.bootstrap import bootstrap_records
from barnabas.coordination.cluster.metadata_version import MetadataVersion
from barnabas.coordination.cluster.records import MetadataRecord
from barnabas.coordination.controller.activation import activate
from barnabas.coordination.controller.alter_configs import alter_configs
from barnabas.coordination.controller.controller_registration import register_controller
from barnabas.coordination.controller.incremental_alter_configs import incremental_alter_configs
from barnabas.coordination.controller.update_features import update_features
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages import alter_configs as legacy
from barnabas.protocol.messages.controller_registration import ControllerRegistrationRequest
from barnabas.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from barnabas.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from barnabas.protocol.schema import Uuid
from tests.coordination.controller.scene import Scene


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


def test_an_unknown_operation() -> None:
    """Kafka's controller fails at it, and resigns."""
    scene = Scene()
    scene.broker(1)
    scene.topic("t", [1])
    resource = AlterConfigsResource(2, "t", [AlterableConfig("retention.ms", 9, "1")])
    reply = scene.decide(incremental_alter_configs, IncrementalAlterConfigsRequest(resources=[resource]))
    assert (reply.responses[0].error_code, reply.responses[0].error_message) == (ErrorCode.UNKNOWN_SERVER_ERROR, None)
    assert not scene.written


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
