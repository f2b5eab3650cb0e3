"""Whether a topic is there before records are carried, so that nobody waits for one that will never be."""

from __future__ import annotations

import difflib

from barnabas.cli.failures import CommandFailed
from barnabas.client.cluster import Cluster, check
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse

__all__ = ["made_by_itself", "partitions_of"]

_BROKER = 4
_ALIKE = 0.7


def partitions_of(cluster: Cluster, topic: str, *, as_many_as: int | None = None) -> list[int]:
    """CommandFailed with the next step if there is no such topic, and how many partitions it shall get."""
    found = _look(cluster, topic, create=False)
    if found is None:
        raise CommandFailed(no_such_topic(cluster, topic, as_many_as))
    return found


def made_by_itself(cluster: Cluster, topic: str) -> tuple[list[int], bool]:
    """The partitions of a topic that a producer writes to, and whether the topic had to be made: brokers with
    auto.create.topics.enable make one that is asked for."""
    found = _look(cluster, topic, create=False)
    if found is not None:
        return found, False
    if not _makes_topics(cluster):
        raise CommandFailed(no_such_topic(cluster, topic))

    def ask() -> list[int]:
        partitions = _look(cluster, topic, create=True)
        if partitions is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, topic)
        return partitions

    return cluster.retry(ask), True


def no_such_topic(cluster: Cluster, topic: str, partitions: int | None = None) -> str:
    near = difflib.get_close_matches(topic, cluster.topics(), 1, _ALIKE)
    meant = f"is {near[0]} meant? " if near else ""
    making = f"barnabas topics create {topic}" + (f" --partitions {partitions}" if partitions is not None else "")
    return f"There is no topic {topic}: {meant}barnabas topics lists them, and {making} makes it."


def _look(cluster: Cluster, topic: str, *, create: bool) -> list[int] | None:
    """KafkaError while a partition has no leader yet."""

    def ask() -> list[int] | None:
        request = MetadataRequest(topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=create)
        (found,) = cluster.ask(request, MetadataResponse).topics
        if found.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return None
        check(found.error_code, f"topic {topic}")
        return sorted(partition.partition_index for partition in found.partitions)

    return cluster.retry(ask)


def _makes_topics(cluster: Cluster) -> bool:
    """What the broker says; if it does not tell us, it may."""
    node = str(cluster.nodes[0].node_id)
    resource = DescribeConfigsResource(
        resource_type=_BROKER, resource_name=node, configuration_keys=["auto.create.topics.enable"]
    )
    request = DescribeConfigsRequest(resources=[resource])
    try:
        (result,) = cluster.ask_node(cluster.nodes[0].node_id, request, DescribeConfigsResponse).results
    except KafkaError:
        return True
    return not any(config.value == "false" for config in result.configs)
