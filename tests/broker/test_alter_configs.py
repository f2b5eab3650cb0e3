"""Configurations that change while the node runs: they hold at once, everywhere, and after a restart."""

from __future__ import annotations

import logging

import pytest

from barnabas.broker.node import Node
from barnabas.protocol.errors import ErrorCode
from tests.kafka.client import RawClient

from .asking import BROKER, GROUP, LOGGER, METRICS, TOPIC, config_value, create, set_config
from .running import RunningNode


def retention_of(node: RunningNode, topic: str) -> int:
    found: list[int] = []

    def look(inside: Node) -> None:
        found.append(inside.partition(topic, 0).log.config.retention_ms)

    node.do(look)
    return found[0]


def test_a_topics_change_reaches_its_log(node: RunningNode, client: RawClient) -> None:
    create(client, "orders")
    assert set_config(client, TOPIC, "orders", "retention.ms", "1234") == 0
    assert retention_of(node, "orders") == 1234
    assert set_config(client, TOPIC, "orders", "retention.ms", None) == 0
    assert retention_of(node, "orders") == 604_800_000


def test_a_brokers_change_reaches_the_node_and_the_logs_of_topics_that_say_nothing(
    node: RunningNode, client: RawClient
) -> None:
    create(client, "silent")
    create(client, "outspoken", retention_ms="77")
    assert set_config(client, BROKER, "", "log.retention.ms", "1000") == 0
    assert (retention_of(node, "silent"), retention_of(node, "outspoken")) == (1000, 77)
    assert set_config(client, BROKER, "1", "log.retention.ms", "2000") == 0
    assert retention_of(node, "silent") == 2000
    create(client, "later")
    assert retention_of(node, "later") == 2000
    assert node.node is not None
    assert node.node.config.topic_defaults.retention_ms == 2000
    assert set_config(client, BROKER, "1", "log.retention.ms", None) == 0
    assert retention_of(node, "silent") == 1000


@pytest.mark.parametrize(
    ("kind", "resource", "name", "value"),
    [
        (TOPIC, "orders", "retention.ms", "1234"),
        (BROKER, "", "log.retention.ms", "4321"),
        (BROKER, "1", "log.segment.bytes", "2000000"),
        (GROUP, "readers", "consumer.session.timeout.ms", "50000"),
        (METRICS, "all", "interval.ms", "1000"),
    ],
)
def test_changes_are_there_after_a_restart(node: RunningNode, kind: int, resource: str, name: str, value: str) -> None:
    with node.client() as client:
        create(client, "orders")
        assert set_config(client, kind, resource, name, value) == 0
        assert config_value(client, kind, resource, name) == value
    node.restart()
    with node.client() as client:
        assert config_value(client, kind, resource, name) == value


def test_what_is_refused_changes_nothing(node: RunningNode, client: RawClient) -> None:
    create(client, "orders")
    assert set_config(client, TOPIC, "orders", "retention.ms", "soon") == ErrorCode.INVALID_CONFIG
    assert set_config(client, BROKER, "", "log.retention.ms", "soon") == ErrorCode.INVALID_REQUEST
    assert set_config(client, BROKER, "1", "node.id", "7") == ErrorCode.INVALID_REQUEST
    assert set_config(client, GROUP, "g", "consumer.session.timeout.ms", "1") == ErrorCode.INVALID_CONFIG
    assert retention_of(node, "orders") == 604_800_000


def test_the_controller_goes_by_what_is_set_for_brokers(node: RunningNode, client: RawClient) -> None:
    create(client, "orders")
    create(client, "strict", min_insync_replicas="4")
    asked: list[tuple[str, bool]] = []

    def ask(inside: Node) -> None:
        controller = inside.controller.controller
        values = [controller.topic_config("min.insync.replicas", name) for name in ("orders", "strict")]
        asked.append((",".join(values), controller.unclean_election_enabled("orders")))

    node.do(ask)
    assert set_config(client, BROKER, "", "min.insync.replicas", "3") == 0
    assert set_config(client, BROKER, "1", "unclean.leader.election.enable", "true") == 0
    node.do(ask)
    assert set_config(client, BROKER, "1", "unclean.leader.election.enable", None) == 0
    node.do(ask)
    assert asked == [("1,4", False), ("3,4", True), ("3,4", False)]


def test_the_level_of_a_logger(client: RawClient) -> None:
    logger = logging.getLogger("barnabas")
    before = logger.level
    try:
        assert set_config(client, LOGGER, "1", "root", "DEBUG") == 0
        assert logger.level == logging.DEBUG
        assert config_value(client, LOGGER, "1", "root") == "DEBUG"
        assert set_config(client, LOGGER, "1", "root", None) == ErrorCode.INVALID_REQUEST
        assert set_config(client, LOGGER, "1", "no.such.logger", "DEBUG") == ErrorCode.INVALID_CONFIG
    finally:
        logger.setLevel(before)
