"""IncrementalAlterConfigs and AlterConfigs: what is set, and what is refused."""

from __future__ import annotations

from typing import Any

from compat.twin.both import Both
from compat.twin.scenario import scenario
from compat.twin.scenarios.create_topics import AMPLE_MS, wish
from compat.twin.scenarios.describe_configs import BROKER, GROUP, LOGGER, METRICS, NODE, TOPIC, describe, resource
from compat.twin.twins import Twins

SET, DELETE, APPEND, SUBTRACT = range(4)

Operation = tuple[str, int, str | Both | None]


def change(kind: int, name: str, *operations: Operation) -> dict[str, Any]:
    configs = [{"Name": key, "ConfigOperation": what, "Value": value} for key, what, value in operations]
    return {"ResourceType": kind, "ResourceName": name, "Configs": configs}


def alter(twins: Twins, *resources: dict[str, Any], **fields: Any) -> None:
    """First it is only validated, which changes nothing."""
    twins.ask("IncrementalAlterConfigs", **{"Resources": resources, "ValidateOnly": True, **fields})
    twins.ask("IncrementalAlterConfigs", **{"Resources": resources, "ValidateOnly": False, **fields})


def replaced(kind: int, name: str, **configs: str | None) -> dict[str, Any]:
    """As AlterConfigs has it: what is not among them goes."""
    entries = [{"Name": key.replace("_", "."), "Value": value} for key, value in configs.items()]
    return {"ResourceType": kind, "ResourceName": name, "Configs": entries}


def replace(twins: Twins, *resources: dict[str, Any]) -> None:
    for only in (True, False):
        twins.ask("AlterConfigs", Resources=resources, ValidateOnly=only)


# IncrementalAlterConfigs, of topics


@scenario("IncrementalAlterConfigs")
def changes_of_a_topic(twins: Twins) -> None:
    topic = twins.create("changes")
    alter(twins, change(TOPIC, topic, ("retention.ms", SET, "1000"), ("cleanup.policy", APPEND, "compact")))
    describe(twins, resource(TOPIC, topic))
    alter(twins, change(TOPIC, topic, ("cleanup.policy", SUBTRACT, "delete"), ("retention.ms", DELETE, None)))
    describe(twins, resource(TOPIC, topic))
    alter(twins, change(TOPIC, topic, ("cleanup.policy", APPEND, "compact"), ("retention.ms", DELETE, "7")))
    alter(twins, change(TOPIC, topic))
    describe(twins, resource(TOPIC, topic))


@scenario("IncrementalAlterConfigs")
def refused_of_a_topic(twins: Twins) -> None:
    topic = twins.create("refused")
    wrong: tuple[tuple[Operation, ...], ...] = (
        (("nonsense", SET, "1"),),
        (("nonsense", DELETE, None),),
        (("nonsense", APPEND, "1"),),
        (("", SET, "1"),),
        (("retention.ms", SET, "soon"),),
        (("retention.ms", SET, ""),),
        (("retention.ms", SET, None),),
        (("retention.ms", APPEND, "1"),),
        (("retention.ms", SUBTRACT, "1"),),
        (("cleanup.policy", APPEND, "sometimes"),),
        (("cleanup.policy", APPEND, None),),
        (("cleanup.policy", SUBTRACT, "delete"),),
        (("cleanup.policy", SUBTRACT, "never set"),),
        (("retention.ms", SET, "1"), ("retention.ms", SET, "2")),
        (("retention.ms", SET, "1"), ("retention.ms", DELETE, None)),
        (("retention.ms", SET, "1"), ("nonsense", SET, "2")),
        (("min.insync.replicas", SET, "0"),),
        (("segment.bytes", SET, "1"), ("retention.ms", APPEND, "1")),
    )
    for operations in wrong:
        alter(twins, change(TOPIC, topic, *operations))
    describe(twins, resource(TOPIC, topic))


@scenario("IncrementalAlterConfigs")
def refused_of_what_is_not_there(twins: Twins) -> None:
    operation = ("retention.ms", SET, "1")
    for kind, name in (
        (TOPIC, twins.name("nowhere")),
        (TOPIC, "no good name!"),
        (TOPIC, ""),
        (3, "x"),
        (0, "x"),
        (77, "x"),
        (-1, "x"),
    ):
        alter(twins, change(kind, name, operation))
        alter(twins, change(kind, name))


@scenario("IncrementalAlterConfigs")
def each_resource_for_itself(twins: Twins) -> None:
    topic, other = twins.create("one"), twins.create("other")
    good = ("retention.ms", SET, "7")
    alter(twins, change(3, "x", good), change(TOPIC, topic, good), change(TOPIC, other, ("nonsense", SET, "1")))
    describe(twins, resource(TOPIC, topic), resource(TOPIC, other))
    twice = change(TOPIC, topic, ("retention.ms", SET, "8"))
    alter(twins, twice, twice, change(TOPIC, other, good))
    alter(twins)
    describe(twins, resource(TOPIC, topic), resource(TOPIC, other))


# of brokers


@scenario("IncrementalAlterConfigs")
def changes_of_brokers(twins: Twins) -> None:
    """Of all, of this one, and a topic that has nothing of its own takes part in both."""
    topic = twins.create("brokers")
    of_all = {"log.retention.ms": "100000", "log.roll.ms": "200000"}
    of_one = {"log.segment.bytes": "2000000", "log.cleaner.threads": "2"}
    try:
        alter(twins, change(BROKER, "", *((key, SET, value) for key, value in of_all.items())))
        alter(twins, change(BROKER, NODE, *((key, SET, value) for key, value in of_one.items())))
        describe(twins, resource(BROKER, ""), resource(BROKER, NODE), resource(TOPIC, topic))
        twins.see("CreateTopics", Topics=[wish(twins.name("new"))], ValidateOnly=True, TimeoutMs=AMPLE_MS)
    finally:
        alter(twins, change(BROKER, "", *((key, DELETE, None) for key in of_all)))
        alter(twins, change(BROKER, NODE, *((key, DELETE, None) for key in of_one)))
        describe(twins, resource(BROKER, ""), resource(BROKER, NODE), resource(TOPIC, topic))


@scenario("IncrementalAlterConfigs")
def refused_of_brokers(twins: Twins) -> None:
    for wrong in (
        change(BROKER, "", ("nonsense", DELETE, None)),
        change(BROKER, "", ("min.insync.replicas", DELETE, None), ("log.retention.ms", SET, "100000")),
        change(BROKER, "", ("log.retention.ms", SET, "soon")),
        change(BROKER, "", ("log.retention.ms", SET, None)),
        change(BROKER, "", ("log.retention.ms", APPEND, "1")),
        change(BROKER, "", ("what.is.this", APPEND, "1")),
        change(BROKER, "", ("log.cleaner.threads", SET, "99")),
        change(BROKER, NODE, ("broker.rack", SET, "here")),
        change(BROKER, NODE, ("node.id", SET, "7")),
        change(BROKER, NODE, ("log.cleaner.threads", SET, "99")),
        change(BROKER, NODE, ("log.cleaner.threads", SET, "0")),
        change(BROKER, NODE, ("compression.type", SET, "best")),
        change(BROKER, "9", ("log.retention.ms", SET, "1")),
        change(BROKER, "one", ("log.retention.ms", SET, "1")),
        change(BROKER, "-1", ("log.retention.ms", SET, "1")),
    ):
        alter(twins, wrong)
    describe(twins, resource(BROKER, ""), resource(BROKER, NODE))


@scenario("IncrementalAlterConfigs")
def of_no_operation_that_there_is(twins: Twins) -> None:
    topic = twins.create("operation")
    for kind, name, key in ((BROKER, "", "log.retention.ms"), (LOGGER, NODE, "root")):
        for operation in (4, 7, -1):
            alter(twins, change(kind, name, (key, operation, "1")))
            alter(twins, change(kind, name, (key, APPEND, "1"), (key, operation, "1")))
    describe(twins, resource(TOPIC, topic))


# of groups, of clients' metrics and of loggers


@scenario("IncrementalAlterConfigs")
def changes_of_a_group(twins: Twins) -> None:
    group = twins.name("group")
    alter(
        twins,
        change(
            GROUP,
            group,
            ("consumer.session.timeout.ms", SET, "50000"),
            ("share.auto.offset.reset", SET, "by_duration:PT1H"),
            ("share.renew.acknowledge.enable", SET, "false"),
            ("streams.num.standby.replicas", SET, "1"),
            ("consumer.assignment.interval.ms", SET, "2000"),
        ),
    )
    describe(twins, resource(GROUP, group))
    alter(twins, change(GROUP, group, ("consumer.session.timeout.ms", DELETE, None), ("nonsense", DELETE, None)))
    describe(twins, resource(GROUP, group))


@scenario("IncrementalAlterConfigs")
def refused_of_a_group(twins: Twins) -> None:
    group = twins.name("group")
    for key, value in (
        ("nonsense", "1"),
        ("consumer.session.timeout.ms", "1"),
        ("consumer.session.timeout.ms", "60001"),
        ("consumer.heartbeat.interval.ms", "four"),
        ("share.auto.offset.reset", "none"),
        ("share.auto.offset.reset", "by_duration:-PT1H"),
        ("share.auto.offset.reset", "by_duration:"),
        ("share.auto.offset.reset", "by_duration:PT"),
        ("share.auto.offset.reset", "by_duration:P1DT"),
        ("share.auto.offset.reset", "by_duration:pt1.5s"),
        ("share.isolation.level", "committed"),
        ("share.record.lock.duration.ms", "14999"),
        ("share.delivery.count.limit", "11"),
        ("share.partition.max.record.locks", "4001"),
        ("streams.num.standby.replicas", "3"),
        ("streams.initial.rebalance.delay.ms", "-1"),
        ("streams.assignment.interval.ms", "15001"),
        ("share.renew.acknowledge.enable", "maybe"),
    ):
        alter(twins, change(GROUP, group, (key, SET, value)))
    alter(twins, change(GROUP, "", ("consumer.session.timeout.ms", SET, "50000")))
    alter(twins, change(GROUP, group, ("consumer.session.timeout.ms", APPEND, "1")))
    describe(twins, resource(GROUP, group))


@scenario("IncrementalAlterConfigs")
def changes_of_clients_metrics(twins: Twins) -> None:
    name = twins.name("metrics")
    alter(
        twins,
        change(
            METRICS,
            name,
            ("metrics", SET, "org.apache.kafka.producer.,org.apache.kafka.consumer."),
            ("interval.ms", SET, "100"),
            ("match", SET, "client_id=.*,client_software_name = apache.*"),
        ),
    )
    describe(twins, resource(METRICS, name))
    alter(twins, change(METRICS, name, ("metrics", APPEND, "c"), ("interval.ms", DELETE, None)))
    describe(twins, resource(METRICS, name))


@scenario("IncrementalAlterConfigs")
def refused_of_clients_metrics(twins: Twins) -> None:
    name = twins.name("metrics")
    for key, value in (
        ("nonsense", "1"),
        ("interval.ms", "99"),
        ("interval.ms", "3600001"),
        ("interval.ms", "soon"),
        ("match", "client_id"),
        ("match", "client=x"),
        ("match", "client_id=["),
        ("match", "client_id=a=b"),
        ("match", "client_id="),
        ("metrics", ""),
        ("metrics", "a,,b"),
        ("metrics", "a,a"),
        ("metrics", "*"),
    ):
        alter(twins, change(METRICS, name, (key, SET, value)))
    alter(twins, change(METRICS, "", ("interval.ms", SET, "1000")))
    describe(twins, resource(METRICS, name))


@scenario("IncrementalAlterConfigs")
def changes_of_loggers(twins: Twins) -> None:
    alter(twins, change(LOGGER, NODE, ("root", SET, "WARN")))
    for wrong in (
        change(LOGGER, NODE, ("no.such.logger", SET, "INFO")),
        change(LOGGER, NODE, ("root", SET, "LOUD")),
        change(LOGGER, NODE, ("root", SET, "")),
        change(LOGGER, NODE, ("root", DELETE, None)),
        change(LOGGER, NODE, ("root", APPEND, "INFO")),
        change(LOGGER, "9", ("root", SET, "INFO")),
        change(LOGGER, "", ("root", SET, "INFO")),
        change(LOGGER, "one", ("root", SET, "INFO")),
    ):
        alter(twins, wrong)
    describe(twins, resource(LOGGER, NODE, "root", everything=False))


# AlterConfigs


@scenario("AlterConfigs")
def replaces_what_a_topic_has(twins: Twins) -> None:
    topic = twins.create("replaces", segment_ms="14")
    replace(twins, replaced(TOPIC, topic, retention_bytes="12", retention_ms="13"))
    describe(twins, resource(TOPIC, topic))
    replace(twins, replaced(TOPIC, topic, segment_ms="15"))
    describe(twins, resource(TOPIC, topic))
    replace(twins, replaced(TOPIC, topic))
    describe(twins, resource(TOPIC, topic))


@scenario("AlterConfigs")
def replaces_nothing_by_what_is_wrong(twins: Twins) -> None:
    topic = twins.create("wrong", segment_ms="14")
    replace(twins, replaced(TOPIC, topic, segment_ms=None))
    replace(twins, replaced(TOPIC, topic, segment_ms="soon", retention_ms="1"))
    replace(twins, replaced(TOPIC, topic, nonsense="1"), replaced(BROKER, "9", log_retention_ms="4"))
    replace(twins, replaced(TOPIC, twins.name("nowhere"), retention_ms="1"), replaced(TOPIC, "", retention_ms="1"))
    replace(twins, replaced(LOGGER, NODE, root="INFO"), replaced(0, "x", a="b"))
    replace(twins, replaced(3, "x", a="b"))
    replace(twins)
    describe(twins, resource(TOPIC, topic))


@scenario("AlterConfigs")
def replaces_each_for_itself(twins: Twins) -> None:
    topic, group, name = twins.create("each"), twins.name("group"), twins.name("metrics")
    replace(
        twins,
        replaced(TOPIC, topic, retention_ms="1000"),
        replaced(TOPIC, twins.name("nowhere"), retention_ms="1000"),
        replaced(GROUP, group, consumer_session_timeout_ms="50000"),
        replaced(METRICS, name, interval_ms="1000"),
    )
    describe(twins, resource(TOPIC, topic), resource(GROUP, group), resource(METRICS, name))


@scenario("AlterConfigs")
def replaces_what_brokers_have(twins: Twins) -> None:
    """All brokers have min.insync.replicas for good, where replicas that were in sync are eligible to lead."""
    replace(twins, replaced(BROKER, "", log_retention_ms="100000"))
    try:
        replace(
            twins,
            replaced(BROKER, "", log_retention_ms="100000", min_insync_replicas="1"),
            replaced(BROKER, NODE, log_roll_ms="70000"),
        )
        describe(twins, resource(BROKER, ""), resource(BROKER, NODE))
    finally:
        replace(twins, replaced(BROKER, "", min_insync_replicas="1"), replaced(BROKER, NODE))
        describe(twins, resource(BROKER, ""), resource(BROKER, NODE))
