"""Topics made, given more partitions, and deleted."""

from __future__ import annotations

import argparse
import re
from typing import Any

from barnabas.cli.failures import CommandFailed, WrongUsage
from barnabas.cli.output import Output, confirm
from barnabas.cli.topics.selecting import selected_topics
from barnabas.client.cluster import Cluster, check
from barnabas.client.topics import describe_topics
from barnabas.protocol.apis import APIS
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from barnabas.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState

__all__ = ["alter", "create", "delete", "parse_assignment", "parse_topic_configs"]

_BY_THE_CLUSTERS_DEFAULT = -1
_FIRST_WITH_DEFAULTS = 4
_FIRST_BY_STATE = 6
_MOST_SHOWN = 10


def create(cluster: Cluster, arguments: argparse.Namespace, output: Output) -> None:
    assignment = parse_assignment(arguments.replica_assignment)
    configs = parse_topic_configs(arguments.config)
    topics = [_topic(name, arguments, assignment, configs) for name in arguments.topics]
    for name in arguments.topics:
        if "." in name or "_" in name:
            output.note(
                f"Note: {name} has a '.' or '_', which are the same in the names of metrics: "
                "use one of the two only, so that no two topics share them."
            )
    _check_defaults(cluster, topics)
    request = CreateTopicsRequest(topics=topics, timeout_ms=int(arguments.timeout * 1000))
    results = cluster.ask_controller(request, CreateTopicsResponse).topics
    there = [each for each in results if each.error_code == ErrorCode.TOPIC_ALREADY_EXISTS and arguments.if_not_exists]
    refused = [each for each in results if each.error_code and each not in there]
    for result in results:
        if not result.error_code:
            output.line(f"Created topic {result.name}.")
    if output.as_json:
        output.json([_made(each) for each in results if each not in refused])
    for result in refused:
        check(result.error_code, result.error_message)


def _topic(
    name: str, arguments: argparse.Namespace, assignment: list[list[int]], configs: dict[str, str]
) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=arguments.partitions or _BY_THE_CLUSTERS_DEFAULT,
        replication_factor=arguments.replication_factor or _BY_THE_CLUSTERS_DEFAULT,
        assignments=[
            CreatableReplicaAssignment(partition_index=number, broker_ids=brokers)
            for number, brokers in enumerate(assignment)
        ],
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
    )


def _check_defaults(cluster: Cluster, topics: list[CreatableTopic]) -> None:
    for topic in topics:
        wants_defaults = _BY_THE_CLUSTERS_DEFAULT in (topic.num_partitions, topic.replication_factor)
        if wants_defaults and not topic.assignments:
            version = cluster.version_of(APIS[CreateTopicsRequest.__definition__.key])
            if version < _FIRST_WITH_DEFAULTS:
                raise CommandFailed(
                    "This broker is older than Kafka 2.4, without defaults: give --partitions and --replication-factor."
                )


def _made(result: CreatableTopicResult) -> dict[str, Any]:
    """A topic that was there already is told of by its name alone: the broker says no more."""
    if result.error_code:
        return {"topic": result.name, "created": False}
    return {
        "topic": result.name,
        "created": True,
        "topic_id": str(result.topic_id),
        "partitions": result.num_partitions,
        "replication_factor": result.replication_factor,
    }


def alter(cluster: Cluster, arguments: argparse.Namespace, output: Output) -> None:
    assignment = parse_assignment(arguments.replica_assignment)
    names = selected_topics(cluster, arguments)
    topics = [
        CreatePartitionsTopic(
            name=topic.name,
            count=arguments.partitions,
            # The assignment tells of all partitions; those that are there keep their replicas.
            assignments=[CreatePartitionsAssignment(each) for each in assignment[len(topic.partitions) :]]
            if assignment
            else None,
        )
        for topic in describe_topics(cluster, names)
    ]
    results = []
    if topics:
        request = CreatePartitionsRequest(topics=topics, timeout_ms=int(arguments.timeout * 1000))
        results = cluster.ask_controller(request, CreatePartitionsResponse).results
    altered = sorted(each.name for each in results if not each.error_code)
    for name in altered:
        output.line(f"Topic {name} has {arguments.partitions} partitions now.")
    if output.as_json:
        output.json([{"topic": name, "partitions": arguments.partitions} for name in altered])
    for result in results:
        check(result.error_code, result.error_message)


def delete(cluster: Cluster, arguments: argparse.Namespace, output: Output) -> None:
    names = selected_topics(cluster, arguments)
    results = []
    if names:
        confirm(f"Delete {_listed(names)}, with all records?", yes=arguments.yes)
        request = DeleteTopicsRequest(timeout_ms=int(arguments.timeout * 1000))
        if cluster.version_of(APIS[DeleteTopicsRequest.__definition__.key]) >= _FIRST_BY_STATE:
            request.topics = [DeleteTopicState(name=name) for name in names]
        else:
            request.topic_names = names
        results = cluster.ask_controller(request, DeleteTopicsResponse).responses
    deleted = sorted(str(each.name) for each in results if not each.error_code)
    for name in deleted:
        output.line(f"Deleted topic {name}.")
    if output.as_json:
        output.json([{"topic": name, "deleted": True} for name in deleted])
    for result in results:
        _check_deleted(result.error_code, result.error_message, result.name)


def _check_deleted(code: int, message: str | None, name: str | None) -> None:
    try:
        check(code, message)
    except KafkaError as error:
        raise KafkaError(error.code, f"topic {name}" + (f": {error.message}" if error.message else "")) from None


def _listed(names: list[str]) -> str:
    if len(names) == 1:
        return f"topic {names[0]}"
    more = len(names) - _MOST_SHOWN
    return f"{len(names)} topics ({', '.join(names[:_MOST_SHOWN])}{f' and {more} more' if more > 0 else ''})"


def parse_assignment(text: str | None) -> list[list[int]]:
    """`0:1,1:2`: the brokers of partition 0, then of partition 1. WrongUsage for what cannot be one."""
    if not text:
        return []
    try:
        found = [[int(broker) for broker in partition.split(":")] for partition in text.split(",")]
    except ValueError:
        raise WrongUsage(
            f"--replica-assignment {text}: write the numbers of brokers, 1:2,2:3 for two partitions with two replicas."
        ) from None
    for number, brokers in enumerate(found):
        if len(set(brokers)) < len(brokers):
            raise WrongUsage(f"--replica-assignment {text} names a broker twice for partition {number}.")
        if len(brokers) != len(found[0]):
            raise WrongUsage(f"--replica-assignment {text}: partition {number} has another number of replicas than 0.")
    return found


def parse_topic_configs(texts: list[str]) -> dict[str, str]:
    """KEY=VALUE each. Blanks around the = do not count, and an empty value is none, as kafka-topics.sh has it."""
    found = {}
    for text in texts:
        parts = re.split(r"\s*=\s*", text)
        while parts and not parts[-1]:
            parts.pop()
        if len(parts) != 2:
            raise WrongUsage(f"--config {text} is not of the form KEY=VALUE.")
        found[parts[0].strip()] = parts[1].strip()
    return found
