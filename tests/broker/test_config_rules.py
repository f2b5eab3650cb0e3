"""What the controller asks about configurations: right while they change, and cheap for a thousand topics."""

from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.broker.config_rules import NodeConfigRules
from barnabas.broker.configuration.node_config import NodeConfig
from barnabas.coordination.cluster.configs import ConfigResource, ResourceType
from barnabas.coordination.controller.config_rules import ConfigLayers
from barnabas.protocol.errors import ErrorCode, KafkaError


@pytest.fixture
def static(tmp_path: Path) -> NodeConfig:
    return NodeConfig.load({}, {"log.dirs": str(tmp_path), "log.retention.ms": "1000"})


@pytest.fixture
def rules(static: NodeConfig) -> NodeConfigRules:
    return NodeConfigRules(static, lambda: static)


def layers(topic: dict[str, str], node: dict[str, str], cluster: dict[str, str]) -> ConfigLayers:
    return ConfigLayers(topic, node, cluster)


def test_each_layer_counts_before_the_next(rules: NodeConfigRules) -> None:
    node, cluster = {"log.retention.ms": "3000"}, {"log.retention.ms": "2000"}
    assert rules.topic_value("retention.ms", layers({"retention.ms": "4000"}, node, cluster)) == "4000"
    assert rules.topic_value("retention.ms", layers({}, node, cluster)) == "3000"
    assert rules.topic_value("retention.ms", layers({}, {}, cluster)) == "2000"
    assert rules.topic_value("retention.ms", layers({}, {}, {})) == "1000"


def test_a_layer_that_changes_in_place_is_noticed(rules: NodeConfigRules) -> None:
    cluster = {"min.insync.replicas": "2"}
    asked = layers({}, {}, cluster)
    assert rules.topic_value("min.insync.replicas", asked) == "2"
    cluster["min.insync.replicas"] = "3"
    assert rules.topic_value("min.insync.replicas", asked) == "3"
    described = {one.name: one.value for one in rules.describe_topic(asked)}
    assert described["min.insync.replicas"] == "3"
    del cluster["min.insync.replicas"]
    assert rules.topic_value("min.insync.replicas", asked) == "1"
    assert {one.name: one.value for one in rules.describe_topic(asked)}["min.insync.replicas"] == "1"


def test_a_configuration_is_composed_once_for_all_topics(
    rules: NodeConfigRules, monkeypatch: pytest.MonkeyPatch
) -> None:
    composed = 0
    with_dynamic = NodeConfig.with_dynamic

    def counting(self: NodeConfig, cluster: dict[str, str], broker: dict[str, str]) -> NodeConfig:
        nonlocal composed
        composed += 1
        return with_dynamic(self, cluster, broker)

    monkeypatch.setattr(NodeConfig, "with_dynamic", counting)
    for _ in range(1000):
        asked = layers({}, {}, {"log.retention.ms": "2000"})
        rules.describe_topic(asked)
        rules.topic_value("min.insync.replicas", asked)
    assert composed == 1


def test_what_no_node_could_run_with_leaves_what_was_there(rules: NodeConfigRules) -> None:
    assert rules.topic_value("retention.ms", layers({}, {}, {"log.retention.ms": "2000"})) == "2000"
    nonsense = {"log.retention.ms": "0"}
    assert rules.topic_value("retention.ms", layers({}, {}, nonsense)) == "2000"


@pytest.mark.parametrize(
    ("kind", "name", "configs", "code"),
    [
        (ResourceType.GROUP, "g", {"consumer.session.timeout.ms": "50000"}, None),
        (ResourceType.GROUP, "", {}, ErrorCode.INVALID_REQUEST),
        (ResourceType.GROUP, "g", {"share.auto.offset.reset": "by_duration:P1D"}, None),
        (ResourceType.GROUP, "g", {"share.auto.offset.reset": f"by_duration:P{'9' * 5000}D"}, ErrorCode.INVALID_CONFIG),
        (ResourceType.GROUP, "g", {"consumer.heartbeat.interval.ms": "46000"}, ErrorCode.INVALID_CONFIG),
        (ResourceType.CLIENT_METRICS, "m", {"match": "client_id=" + "(" * 10_000}, ErrorCode.INVALID_CONFIG),
        (ResourceType.CLIENT_METRICS, "m", {"interval.ms": "1"}, ErrorCode.INVALID_REQUEST),
        (ResourceType.BROKER, "-1", {}, ErrorCode.INVALID_REQUEST),
        (ResourceType.BROKER_LOGGER, "1", {}, ErrorCode.INVALID_REQUEST),
    ],
)
def test_resources_are_validated(
    rules: NodeConfigRules, kind: ResourceType, name: str, configs: dict[str, str], code: ErrorCode | None
) -> None:
    if code is None:
        rules.validate(ConfigResource(kind, name), configs, {})
        return
    with pytest.raises(KafkaError) as refused:
        rules.validate(ConfigResource(kind, name), configs, {})
    assert refused.value.code == code
