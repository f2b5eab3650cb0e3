"""DescribeConfigs and ListConfigResources: what is set, what it would be else, and for whom something is set."""

from __future__ import annotations

from typing import Any

from compat.twin.scenario import scenario
from compat.twin.twins import Twins

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
NODE = "1"


def resource(kind: int, name: str, *keys: str, everything: bool = True) -> dict[str, Any]:
    return {"ResourceType": kind, "ResourceName": name, "ConfigurationKeys": None if everything else keys}


def describe(twins: Twins, *resources: dict[str, Any], synonyms: bool = True, words: bool = True) -> None:
    """Kafka's broker may have to hear first of what its controller has taken."""
    twins.see("DescribeConfigs", Resources=resources, IncludeSynonyms=synonyms, IncludeDocumentation=words)


@scenario("DescribeConfigs")
def of_a_topic(twins: Twins) -> None:
    topic = twins.create("topic", partitions=2, retention_ms="1000", cleanup_policy="compact")
    describe(twins, resource(TOPIC, topic))
    describe(twins, resource(TOPIC, topic), synonyms=False, words=False)


@scenario("DescribeConfigs")
def of_a_broker(twins: Twins) -> None:
    describe(twins, resource(BROKER, NODE))
    describe(twins, resource(BROKER, NODE), synonyms=False, words=False)


@scenario("DescribeConfigs")
def of_all_brokers(twins: Twins) -> None:
    describe(twins, resource(BROKER, ""))


@scenario("DescribeConfigs")
def of_groups_and_clients_metrics(twins: Twins) -> None:
    """Of which nobody needs to have heard."""
    for kind in (GROUP, METRICS):
        describe(twins, resource(kind, twins.name("nobody")))
        describe(twins, resource(kind, ""))


@scenario("DescribeConfigs")
def by_keys(twins: Twins) -> None:
    topic = twins.create("keys", retention_ms="1000")
    for keys in (("retention.ms", "nonsense"), ("retention.ms", "retention.ms"), ("",), ()):
        describe(twins, resource(TOPIC, topic, *keys, everything=False))
    describe(twins, resource(BROKER, NODE, "log.retention.ms", "retention.ms", "node.id", everything=False))
    describe(twins, resource(BROKER, "", "log.retention.ms", everything=False))
    describe(twins, resource(LOGGER, NODE, "root", "no.such.logger", everything=False))
    describe(twins, resource(GROUP, "g", "consumer.session.timeout.ms", "nonsense", everything=False))
    describe(twins, resource(METRICS, "m", "interval.ms", "nonsense", everything=False))


@scenario("DescribeConfigs")
def of_what_is_not_there(twins: Twins) -> None:
    for kind, name in (
        (TOPIC, twins.name("nowhere")),
        (TOPIC, "no good name!"),
        (TOPIC, ""),
        (TOPIC, "x" * 250),
        (BROKER, "9"),
        (BROKER, "-1"),
        (BROKER, "one"),
        (BROKER, "1.0"),
        (LOGGER, ""),
        (LOGGER, "9"),
        (LOGGER, "one"),
    ):
        describe(twins, resource(kind, name))


@scenario("DescribeConfigs")
def of_no_kind_that_there_is(twins: Twins) -> None:
    """One of them is the end of the whole request."""
    topic = twins.create("kind")
    for kind in (0, 1, 3, 77, -1):
        describe(twins, resource(kind, "unknown"))
        describe(twins, resource(TOPIC, topic), resource(kind, "unknown"))


@scenario("DescribeConfigs")
def of_several(twins: Twins) -> None:
    topic, nowhere = twins.create("several"), twins.name("nowhere")
    describe(twins, resource(TOPIC, topic), resource(BROKER, NODE, "log.retention.ms", everything=False))
    describe(twins, *(resource(TOPIC, each, "retention.ms", everything=False) for each in (topic, nowhere, topic)))
    describe(twins)


@scenario("ListConfigResources")
def are_listed(twins: Twins) -> None:
    """Up to version 0 there were clients' metrics alone."""
    topic = twins.create("listed", retention_ms="1000")
    for kind, name, key in ((GROUP, topic, "consumer.session.timeout.ms"), (METRICS, topic, "interval.ms")):
        configs = [{"Name": key, "ConfigOperation": 0, "Value": "50000"}]
        twins.ask(
            "IncrementalAlterConfigs", Resources=[{"ResourceType": kind, "ResourceName": name, "Configs": configs}]
        )
    for kinds in ([], [METRICS], [TOPIC], [GROUP], [BROKER], [LOGGER], [LOGGER, BROKER], [GROUP, GROUP]):
        twins.see("ListConfigResources", ResourceTypes=kinds)


@scenario("ListConfigResources", first=1)
def are_listed_of_no_kind_that_there_is(twins: Twins) -> None:
    for kinds in ([3], [0], [TOPIC, 0], [-1], [METRICS, 77]):
        twins.see("ListConfigResources", ResourceTypes=kinds)
