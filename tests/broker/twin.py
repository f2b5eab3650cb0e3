"""A node of ours beside a real Kafka 4.3.1: both are asked the same, and have to answer the same, field by field.

What each gives out at random or takes from its machine is translated: topic ids, paths, hosts, ports, times, offsets of
the metadata. Of the words of an error only is compared whether there are any, and so of documentation.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from barnabas.protocol.apis import APIS
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from barnabas.protocol.schema import Message, Struct, Uuid
from tests.kafka.broker import SMALL, KafkaBroker
from tests.kafka.client import RawClient

from .running import RunningNode

M = TypeVar("M", bound=Message)

PATIENCE_S = 5.0

WORDS = {"error_message", "documentation"}
OF_THE_MACHINE = {
    "host",
    "port",
    "cluster_id",
    "total_bytes",
    "usable_bytes",
    "last_fetch_timestamp",
    "last_caught_up_timestamp",
    "replica_directory_id",
    "log_end_offset",
    "high_watermark",
    "last_timestamp",
    "producer_id",
}
OWN_KEYS = {
    # Where the two nodes live, and what Kafka's harness has to set to start at all.
    "advertised.listeners",
    "broker.session.timeout.ms",
    "controller.listener.names",
    "controller.quorum.bootstrap.servers",
    "inter.broker.listener.name",
    "listener.security.protocol.map",
    "listeners",
    "log.dir",
    "log.dirs",
    "node.id",
    "broker.id",
    "process.roles",
    # Where a node that is alone has another default than Kafka's.
    "group.initial.rebalance.delay.ms",
    "group.streams.initial.rebalance.delay.ms",
    "streams.initial.rebalance.delay.ms",
    # Where every node leaves to the system what Kafka sets.
    "socket.receive.buffer.bytes",
    "socket.send.buffer.bytes",
}


class Side:
    """One of the two: a client of it, and what it calls things."""

    def __init__(self, client: RawClient, directory: Path) -> None:
        self.client = client
        self.directory = directory

    def topic_id(self, name: str) -> Uuid:
        request = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
        (topic,) = self.client.ask(request, 12, MetadataResponse).topics
        return topic.topic_id

    def path(self, name: str) -> str:
        return str(self.directory / name)


Request = Message | Callable[[Side], Message]


class AdminTwin:
    def __init__(self, kafka: KafkaBroker, ours: RunningNode, kafka_directory: Path) -> None:
        self.kafka = Side(RawClient(kafka.host, kafka.port), kafka_directory)
        self.ours = Side(ours.client(), ours.directory)
        self.node = ours
        self.comparisons = 0

    def __repr__(self) -> str:
        return "\n".join(self.node.lines[-3:])

    def close(self) -> None:
        for side in (self.kafka, self.ours):
            side.client.__exit__(None, None, None)

    def same(self, request: Request, version: int, *, settles: bool = False) -> Any:
        """Ask both, compare, and give our answer. `settles`: Kafka may need a moment to get there, since its brokers
        learn later what its controller has decided, and both move logs while they answer."""
        deadline = time.monotonic() + (PATIENCE_S if settles else 0)
        while True:
            ours = self._ask(self.ours, request, version)
            expected = normal(ours, self.ours)
            theirs = self._ask(self.kafka, request, version)
            found = normal(theirs, self.kafka)
            if found == expected or time.monotonic() > deadline:
                break
        assert expected == found, f"{request} v{version}:\nours  {ours}\nKafka {theirs}\n" + differences(
            expected, found
        )
        self.comparisons += 1
        return ours

    def same_at_all(self, request: Callable[[int], Request] | Message, *, settles: bool = False) -> Any:
        """At every version that the API is advertised with; `request` may depend on it."""
        first = request(LATEST) if callable(request) and not isinstance(request, Message) else request
        answer = None
        for version in versions_of(first, self.ours):
            made = request if isinstance(request, Message) else request(version)
            answer = self.same(made, version, settles=settles)
        return answer

    def _ask(self, side: Side, request: Request, version: int) -> Message:
        message = request if isinstance(request, Message) else request(side)
        api = APIS[message.__definition__.key]
        answer: Message = side.client.ask(fitted(message, version), version, api.response)
        return answer


def fitted(value: Any, version: int) -> Any:
    """Without the fields that a version has not."""
    if isinstance(value, list):
        return [fitted(part, version) for part in value]
    if not isinstance(value, Struct):
        return value
    made = type(value)()
    for field in value.__fields__:
        if version in field.versions:
            setattr(made, field.name, fitted(getattr(value, field.name), version))
    return made


LATEST = 10**6


def versions_of(request: Request, side: Side) -> range:
    message = request if isinstance(request, Message) else request(side)
    api = APIS[message.__definition__.key]
    return range(api.first_advertised, api.last_stable + 1)


def normal(value: Any, side: Side) -> Any:
    """Results, whose order nobody promises, are sorted."""
    if isinstance(value, Struct):
        fields = {field.name: getattr(value, field.name) for field in value.__fields__}
        if "config_source" in fields and fields["name"] in OWN_KEYS:
            return {"": "configuration", "name": fields["name"]}
        for name in fields:
            if name in OF_THE_MACHINE:
                fields[name] = "of the machine"
            elif name in WORDS:
                fields[name] = "words" if fields[name] else fields[name]
            elif name in ("topic_id", "broker_epoch"):
                fields[name] = "given" if fields[name] not in (Uuid.ZERO, -1) else "none"
            elif name in ("log_dir", "path"):
                fields[name] = str(fields[name]).replace(str(side.directory), "DIRECTORY")
            else:
                fields[name] = normal(fields[name], side)
        if "current_voters" in fields:
            fields["leader_epoch"] = "of the machine"
        return {"": type(value).__name__, **fields}
    if isinstance(value, list):
        parts = [normal(part, side) for part in value if not _is_only_ours(part)]
        return sorted(parts, key=repr) if parts and isinstance(parts[0], dict) else parts
    return value


def _is_only_ours(part: Any) -> bool:
    return str(getattr(part, "name", "")).startswith("barnabas.")


def differences(ours: Any, theirs: Any, where: str = "") -> str:
    """What a reader has to look at."""
    if isinstance(ours, dict) and isinstance(theirs, dict) and ours.keys() == theirs.keys():
        return "".join(differences(ours[key], theirs[key], f"{where}.{key}") for key in ours)
    if isinstance(ours, list) and isinstance(theirs, list):
        if len(ours) == len(theirs):
            return "".join(
                differences(one, other, f"{where}[{one.get('name', number) if isinstance(one, dict) else number}]")
                for number, (one, other) in enumerate(zip(ours, theirs, strict=True))
            )
        only_ours = [one for one in ours if one not in theirs]
        only_theirs = [one for one in theirs if one not in ours]
        return f"{where}: only ours {only_ours}\n   only Kafka's {only_theirs}\n"
    return "" if ours == theirs else f"{where}: ours {ours!r}, Kafka {theirs!r}\n"


def codes(answer: Any) -> list[ErrorCode]:
    """Of everything in an answer."""
    if isinstance(answer, Struct):
        found = []
        for field in answer.__fields__:
            value = getattr(answer, field.name)
            found += [ErrorCode(value)] if field.name == "error_code" else codes(value)
        return found
    if isinstance(answer, list):
        return [code for part in answer for code in codes(part)]
    return []


KAFKA_SETTINGS = {"auto.create.topics.enable": "false"}
OUR_SETTINGS = {name.replace(".", "_"): value for name, value in {**SMALL, **KAFKA_SETTINGS}.items()}
