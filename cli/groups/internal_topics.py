"""The topics that an application of Kafka Streams has made for itself, which go when it begins anew."""

from __future__ import annotations

import argparse
import re

from barnabas.client.cluster import Cluster
from barnabas.client.spreading import error_of
from barnabas.client.streams_groups import StreamsGroup
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState

__all__ = ["delete_topics", "is_inferred_internal", "topics_to_delete"]

_NAMES = re.compile(
    r".*-(?:changelog|repartition|subscription-registration-topic|subscription-response-topic)"
    r"|.+-KTABLE-FK-JOIN-SUBSCRIPTION-(?:REGISTRATION|RESPONSE)-\d+-topic"
)


def is_inferred_internal(topic: str, application: str) -> bool:
    """By its name, as Kafka Streams makes them: what is called otherwise is not deleted by a guess."""
    return topic.startswith(f"{application}-") and _NAMES.fullmatch(topic) is not None


def topics_to_delete(options: argparse.Namespace, group: StreamsGroup) -> list[str]:
    if options.delete_all_internal_topics:
        return [topic for topic in group.own_topics if is_inferred_internal(topic, group.name)]
    return list(dict.fromkeys(options.delete_internal_topic))


def delete_topics(cluster: Cluster, names: list[str]) -> dict[str, KafkaError]:
    """Those that could not be deleted."""
    if not names:
        return {}
    # A broker that has such groups knows the newest version of this.
    topics = [DeleteTopicState(name=name) for name in names]
    request = DeleteTopicsRequest(topics=topics, timeout_ms=int(cluster.timeout_s * 1000))
    results = cluster.ask_controller(request, DeleteTopicsResponse).responses
    return {
        each.name: error
        for each in results
        if each.name is not None and (error := error_of(each.error_code, each.error_message)) is not None
    }
