"""A reassignment as JSON: which replicas each partition shall have, and in which directories."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from barnabas.cli.failures import CommandFailed
from barnabas.client.cluster import Partition

__all__ = ["ANY_DIRECTORY", "Plan", "Replica", "as_json", "check_executable", "names_of", "parse_plan", "parse_topics"]

ANY_DIRECTORY = "any"
_VERSION = 1
_EXAMPLE = '{"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [1]}]}'


class Replica(NamedTuple):
    node_id: int
    topic: str
    number: int

    def __str__(self) -> str:
        """As Kafka writes it."""
        return f"{self.topic}-{self.number}-{self.node_id}"


class Plan(NamedTuple):
    assignments: list[tuple[Partition, list[int]]]
    """As they are written: a partition may be there twice, which is to be refused later."""
    directories: dict[Replica, str]

    @property
    def replicas(self) -> dict[Partition, list[int]]:
        return dict(self.assignments)


def parse_plan(data: Any) -> Plan:
    rows = _rows(data, "partitions", _EXAMPLE)
    assignments = []
    directories = {}
    for row in rows:
        try:
            partition = Partition(_text(row["topic"]), _number(row["partition"]))
            replicas = [_number(each) for each in row["replicas"]]
            wanted = [_text(each) for each in row.get("log_dirs", [ANY_DIRECTORY] * len(replicas))]
        except (KeyError, TypeError, AttributeError):
            raise CommandFailed(f"{json.dumps(row)} is no reassignment of a partition: write {_EXAMPLE}.") from None
        if len(wanted) != len(replicas):
            raise CommandFailed(
                f"Size of replicas list {replicas} is different from size of log dirs list {wanted} "
                f"for partition {partition}."
            )
        assignments.append((partition, replicas))
        for node_id, directory in zip(replicas, wanted, strict=True):
            if directory != ANY_DIRECTORY:
                directories[Replica(node_id, *partition)] = directory
    return Plan(assignments, directories)


def parse_topics(data: Any) -> list[str]:
    example = '{"version": 1, "topics": [{"topic": "orders"}]}'
    try:
        topics = [_text(row["topic"]) for row in _rows(data, "topics", example)]
    except (KeyError, TypeError):
        raise CommandFailed(f"The file does not say which topics: write {example}.") from None
    return topics


def _rows(data: Any, key: str, example: str) -> list[Any]:
    if not isinstance(data, dict) or not isinstance(data.get(key, []), list):
        raise CommandFailed(f"The file does not say which {key}: write {example}.")
    version = data.get("version", _VERSION)
    if version != _VERSION:
        raise CommandFailed(f"Not supported version field value {version}: write {example}.")
    rows: list[Any] = data.get(key, [])
    return rows


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _number(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError
    return value


def check_executable(plan: Plan) -> None:
    """What cannot be meant is refused before anything is done."""
    if not plan.assignments:
        raise CommandFailed(f"Partition reassignment list cannot be empty: write {_EXAMPLE}.")
    if any(not replicas for _, replicas in plan.assignments):
        raise CommandFailed("Partition replica list cannot be empty: name the brokers of each partition.")
    partitions = [partition for partition, _ in plan.assignments]
    if twice := sorted({str(each) for each in partitions if partitions.count(each) > 1}):
        raise CommandFailed(f"Partition reassignment contains duplicate topic partitions: {','.join(twice)}.")
    repeated = [
        f"{partition} contains multiple entries for {','.join(map(str, again))}"
        for partition, replicas in plan.assignments
        if (again := sorted({each for each in replicas if replicas.count(each) > 1}))
    ]
    if repeated:
        raise CommandFailed(f"Partition replica lists may not contain duplicate entries: {'. '.join(repeated)}.")


def as_json(replicas: Mapping[Partition, list[int]], directories: Mapping[Replica, str]) -> dict[str, Any]:
    return {
        "version": _VERSION,
        "partitions": [
            {
                "topic": partition.topic,
                "partition": partition.number,
                "replicas": replicas[partition],
                "log_dirs": [
                    directories.get(Replica(node_id, *partition), ANY_DIRECTORY) for node_id in replicas[partition]
                ],
            }
            for partition in sorted(replicas)
        ],
    }


def names_of(partitions: Iterable[Partition | Replica]) -> str:
    return ",".join(str(each) for each in sorted(partitions))
