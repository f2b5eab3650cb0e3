"""`barnabas topics`: what kafka-topics.sh does, on any Kafka cluster."""

from __future__ import annotations

import argparse

from barnabas.cli.actions import Actions
from barnabas.cli.connecting import add_connection_arguments, connect
from barnabas.cli.output import Output, add_output_arguments, add_watch_argument, watch
from barnabas.cli.topics.changing import alter, create, delete
from barnabas.cli.topics.checks import check_combinations
from barnabas.cli.topics.describing import describe
from barnabas.cli.topics.selecting import list_topics

__all__ = ["add_arguments", "run"]

_ACTIONS = Actions(
    {
        "list": "the names of all topics, or of those that --topic matches",
        "describe": "partitions, leaders, replicas, sizes and configurations",
        "create": "a new topic",
        "alter": "more partitions for a topic (its configuration: barnabas configs)",
        "delete": "a topic with all its records",
    },
    operand="TOPIC",
    default="list",
)
_REPORTS = {
    "under-replicated-partitions": "with fewer replicas in sync than there are",
    "unavailable-partitions": "whose leader is not there",
    "under-min-isr-partitions": "with fewer replicas in sync than min.insync.replicas",
    "at-min-isr-partitions": "with exactly min.insync.replicas of them in sync",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    _ACTIONS.add_to(parser)
    _add_topic_arguments(parser)
    _add_creation_arguments(parser)
    _add_description_arguments(parser)
    parser.add_argument("--yes", "-y", action="store_true", help="delete without a question")
    add_watch_argument(parser)
    add_connection_arguments(parser)
    add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    action, words = _ACTIONS.chosen(arguments)
    arguments.topics = [*arguments.topic, *words]
    check_combinations(action, arguments)
    output = Output(as_json=arguments.json)
    if arguments.delete_config:
        output.note("--delete-config does nothing since Kafka 4.0: use barnabas configs --alter --delete-config.")
    with connect(arguments) as cluster:
        if action == "create":
            create(cluster, arguments, output)
        elif action == "alter":
            alter(cluster, arguments, output)
        elif action == "delete":
            delete(cluster, arguments, output)
        else:
            show = describe if action == "describe" else list_topics
            watch(arguments, output, lambda: show(cluster, arguments, output))


def _add_topic_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--topic",
        metavar="TOPIC",
        action="append",
        default=[],
        help="its name; but for --create also a regular expression, or several with commas between them",
    )
    parser.add_argument("--topic-id", metavar="ID", help="the topic to describe, by its id")
    parser.add_argument("--exclude-internal", action="store_true", help="list or describe no internal topics")
    parser.add_argument("--if-exists", action="store_true", help="a topic that is not there is no error")
    parser.add_argument("--if-not-exists", action="store_true", help="a topic that is there already is no error")


def _add_creation_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("create and alter")
    group.add_argument("--partitions", metavar="N", type=int, help="how many, at first or from now on")
    group.add_argument("--replication-factor", metavar="N", type=int, help="of how many brokers each has a replica")
    group.add_argument(
        "--replica-assignment",
        metavar="ID:ID,ID:ID",
        help="instead: the brokers of each partition's replicas, partitions divided by commas",
    )
    group.add_argument(
        "--config",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="a configuration of the new topic; may be given again",
    )
    group.add_argument("--delete-config", metavar="KEY", action="append", help="no longer of use, as in Kafka")


def _add_description_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("describe")
    for name, text in _REPORTS.items():
        group.add_argument(f"--{name}", action="store_true", help=f"only partitions {text}")
    group.add_argument(
        "--topics-with-overrides", action="store_true", help="only topics with configurations of their own"
    )
    group.add_argument(
        "--partition-size-limit-per-response",
        metavar="N",
        type=int,
        help="how many partitions the broker shall describe at once (2000)",
    )
    group.add_argument(
        "--offsets", action="store_true", help="also the offsets that are there, messages, and the replicas' lag"
    )
    group.add_argument("--plain", action="store_true", help="as kafka-topics.sh writes it, for scripts that cut it up")
