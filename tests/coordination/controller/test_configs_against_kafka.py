"""Configurations are altered at a real Kafka 4.3.1 and at our controller; both answer and keep the same.

Which configurations there are is not the controller's affair: these tests use a few that behave in every way there is.
"""

from __future__ import annotations

from itertools import count

import pytest

from barnabas.protocol.messages import alter_configs as legacy
from barnabas.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.coordination.controller.twins import Twins

pytestmark = [pytest.mark.java, pytest.mark.slow]

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
NAMES = count()

Operation = tuple[str, int, str | None]


@pytest.fixture
def topic(twins: Twins) -> str:
    name = f"configured{next(NAMES)}"
    topics = [CreatableTopic(name=name, num_partitions=2, replication_factor=1)]
    twins.same(CreateTopicsRequest(topics=topics), 7)
    return name


def resource(kind: int, name: str, *operations: Operation) -> AlterConfigsResource:
    configs = [AlterableConfig(name=key, config_operation=what, value=value) for key, what, value in operations]
    return AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)


def alter(twins: Twins, *resources: AlterConfigsResource) -> None:
    for version, validate_only in ((0, True), (1, True), (1, False), (0, False)):
        twins.same(IncrementalAlterConfigsRequest(resources=list(resources), validate_only=validate_only), version)
        twins.same_state()


@pytest.mark.parametrize(
    "operations",
    [
        [],
        [("retention.ms", SET, "1000")],
        [("retention.ms", SET, "1000"), ("cleanup.policy", SET, "compact")],
        [("retention.ms", DELETE, None)],
        [("retention.ms", DELETE, "1")],
        [("no.such.config", DELETE, None)],
        [("no.such.config", SET, "1")],
        [("retention.ms", SET, "soon")],
        [("retention.ms", SET, None)],
        [("retention.ms", SET, "")],
        [("retention.ms", SET, "1"), ("retention.ms", SET, "2")],
        [("retention.ms", SET, "1"), ("retention.ms", DELETE, None)],
        [("retention.ms", SET, None), ("retention.ms", SET, None)],
        [("cleanup.policy", APPEND, "compact")],
        [("cleanup.policy", APPEND, "delete")],
        [("cleanup.policy", APPEND, "compact,delete,,")],
        [("cleanup.policy", APPEND, "")],
        [("cleanup.policy", APPEND, "shred")],
        [("cleanup.policy", APPEND, None)],
        [("cleanup.policy", SUBTRACT, "delete")],
        [("cleanup.policy", SUBTRACT, "compact")],
        [("retention.ms", APPEND, "1")],
        [("no.such.config", SUBTRACT, "1")],
        [("retention.ms", SET, "1000"), ("segment.bytes", SET, "1")],
        [("min.insync.replicas", SET, "2")],
        [("min.insync.replicas", SET, "2"), ("min.insync.replicas", APPEND, "2")],
        [("min.insync.replicas", DELETE, None)],
        [("leader.replication.throttled.replicas", SET, "0:1,1:1")],
        [("leader.replication.throttled.replicas", APPEND, "0:1")],
    ],
    ids=lambda operations: " ".join(f"{name}{'=-+~'[what]}{value}"[:40] for name, what, value in operations) or "none",
)
def test_topics(twins: Twins, topic: str, operations: list[Operation]) -> None:
    alter(twins, resource(TOPIC, topic, *operations))


@pytest.mark.parametrize("name", ["never", "", "a/b", "."])
def test_topics_that_are_not_there(twins: Twins, name: str) -> None:
    alter(twins, resource(TOPIC, name, ("retention.ms", SET, "1000")))
    alter(twins, resource(TOPIC, name, ("retention.ms", SET, "soon")))
    alter(twins, resource(TOPIC, name, ("retention.ms", SET, None)))
    alter(twins, resource(TOPIC, name))


@pytest.mark.parametrize(
    ("name", "operations"),
    [
        ("", [("log.retention.ms", SET, "100000")]),
        ("", [("log.retention.ms", SET, "100000")]),
        ("", [("log.retention.ms", DELETE, None)]),
        ("", [("min.insync.replicas", SET, "1")]),
        ("", [("min.insync.replicas", SET, "2")]),
        ("", [("min.insync.replicas", DELETE, None)]),
        ("1", [("message.max.bytes", SET, "2000000")]),
        ("1", [("message.max.bytes", SET, "2000000")]),
        ("1", [("message.max.bytes", DELETE, None)]),
        ("1", [("min.insync.replicas", SET, "2")]),
        ("1", [("min.insync.replicas", DELETE, None)]),
        ("1", [("log.retention.ms", SET, "soon")]),
        ("1", [("node.id", SET, "7")]),
        ("1", [("message.max.bytes", APPEND, "1")]),
        ("1", [("log.cleanup.policy", APPEND, "compact")]),
        ("1", [("log.cleanup.policy", DELETE, None)]),
        ("1", [("log.retention.ms", SET, None)]),
        ("2", [("message.max.bytes", SET, "2000000")]),
        ("-1", [("message.max.bytes", SET, "2000000")]),
        ("one", [("message.max.bytes", SET, "2000000")]),
        ("one", [("message.max.bytes", SET, None)]),
        ("1", [("message.max.bytes", 9, "1")]),
        ("", []),
        ("1", []),
    ],
)
def test_brokers(twins: Twins, name: str, operations: list[Operation]) -> None:
    alter(twins, resource(BROKER, name, *operations))


def test_other_resources(twins: Twins) -> None:
    alter(twins, resource(GROUP, "group", ("consumer.session.timeout.ms", SET, "50000")))
    alter(twins, resource(GROUP, "group", ("consumer.session.timeout.ms", SET, "5")))
    alter(twins, resource(GROUP, "group", ("retention.ms", SET, "5")))
    alter(twins, resource(GROUP, "", ("consumer.session.timeout.ms", SET, "50000")))
    alter(twins, resource(GROUP, "group", ("consumer.session.timeout.ms", APPEND, "1")))
    alter(twins, resource(GROUP, "group", ("consumer.session.timeout.ms", DELETE, None)))
    alter(twins, resource(METRICS, "all", ("interval.ms", SET, "1000"), ("metrics", SET, "*")))
    alter(twins, resource(METRICS, "all", ("no.such", SET, "1000")))
    alter(twins, resource(METRICS, "all", ("interval.ms", DELETE, None), ("metrics", DELETE, None)))
    for kind in (0, 1, 3, 64, -1):
        alter(twins, resource(kind, "x", ("a", SET, "b")))


def test_several_resources(twins: Twins, topic: str) -> None:
    good = resource(TOPIC, topic, ("retention.ms", SET, "1"))
    bad = resource(TOPIC, "never", ("retention.ms", SET, "1"))
    alter(twins)
    alter(twins, good, bad, resource(BROKER, "9", ("message.max.bytes", SET, "1")), resource(77, "x"))
    alter(twins, good, good, bad)
    alter(
        twins, resource(TOPIC, topic, ("retention.ms", SET, None)), resource(TOPIC, topic, ("retention.ms", SET, "2"))
    )
    alter(twins, resource(77, "x"), resource(77, "x"))


def replace(twins: Twins, *resources: tuple[int, str, dict[str, str | None]], twice: str = "") -> None:
    request = legacy.AlterConfigsRequest(
        resources=[
            legacy.AlterConfigsResource(
                resource_type=kind,
                resource_name=name,
                configs=[legacy.AlterableConfig(name=key, value=value) for key, value in configs.items()]
                + ([legacy.AlterableConfig(name=twice, value="1")] if twice else []),
            )
            for kind, name, configs in resources
        ]
    )
    for version in range(3):
        for validate_only in (True, False):
            request.validate_only = validate_only
            twins.same(request, version)
            twins.same_state()


def test_alter_configs(twins: Twins, topic: str) -> None:
    replace(twins)
    replace(twins, (TOPIC, topic, {"retention.ms": "1", "segment.ms": "5"}))
    replace(twins, (TOPIC, topic, {"retention.ms": "2"}))
    replace(twins, (TOPIC, topic, {"retention.ms": "soon"}))
    replace(twins, (TOPIC, topic, {"retention.ms": None}))
    replace(twins, (TOPIC, topic, {"no.such.config": "1"}))
    replace(twins, (TOPIC, topic, {"retention.ms": "1"}), twice="retention.ms")
    replace(twins, (TOPIC, topic, {"min.insync.replicas": "2"}))
    replace(twins, (TOPIC, topic, {"cleanup.policy": "compact"}), (TOPIC, "never", {}), (TOPIC, "", {}))
    # The same resource twice is not asked: Kafka fails to encode its own answer, and sends none.
    replace(twins, (TOPIC, topic, {}))


def test_alter_configs_of_others(twins: Twins) -> None:
    replace(twins, (BROKER, "1", {"message.max.bytes": "3000000", "log.retention.ms": "77777"}))
    replace(twins, (BROKER, "1", {"message.max.bytes": "3000000"}))
    replace(twins, (BROKER, "1", {"min.insync.replicas": "3"}))
    replace(twins, (BROKER, "1", {}))
    replace(twins, (BROKER, "", {"message.max.bytes": "3000000", "min.insync.replicas": "1"}))
    replace(twins, (BROKER, "", {"log.retention.ms": "1234567"}))
    replace(twins, (BROKER, "", {"min.insync.replicas": "1"}))
    replace(twins, (BROKER, "2", {"message.max.bytes": "3000000"}), (BROKER, "x", {}))
    replace(twins, (GROUP, "group", {"consumer.heartbeat.interval.ms": "6000"}), (LOGGER, "1", {"root": "INFO"}))
    replace(twins, (GROUP, "group", {}))
    replace(twins, (GROUP, "", {}), (METRICS, "all", {"interval.ms": "1000"}), (99, "x", {}))
    replace(twins, (METRICS, "all", {}))


def test_a_value_that_grows_too_long(twins: Twins, topic: str) -> None:
    name = "leader.replication.throttled.replicas"
    alter(twins, resource(TOPIC, topic, (name, SET, ",".join(f"{number}:1" for number in range(4000)))))
    alter(twins, resource(TOPIC, topic, (name, APPEND, ",".join(f"{number}:1" for number in range(3000, 6000)))))
    alter(twins, resource(TOPIC, topic, (name, SUBTRACT, ",".join(f"{number}:1" for number in range(10, 4000)))))
