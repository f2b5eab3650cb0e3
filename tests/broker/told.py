"""An answer as plain values, without what two brokers that are asked the same may differ in.

What each gives out at random or takes from its machine is translated: topic ids, sessions, producers, paths, ports,
times. Of words for people only is compared whether there are any.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from barnabas.protocol.batches import iterate_batches
from barnabas.protocol.control import control_record_type
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.record import read_records
from barnabas.protocol.schema import Struct, Uuid

NOW = "a time"
RECENT_MS = time.time_ns() // 1_000_000 - 3_600_000
"""What is later was set by a broker's clock, or by that of the tests."""

OF_THE_MACHINE = {
    "describe_cluster": {"cluster_id", "host", "port"},
    "describe_log_dirs": {"total_bytes", "usable_bytes"},
    "describe_producers": {"last_timestamp", "producer_id"},
    "describe_quorum": {
        "high_watermark",
        "host",
        "last_caught_up_timestamp",
        "last_fetch_timestamp",
        "leader_epoch",
        "log_end_offset",
        "port",
        "replica_directory_id",
    },
    "fetch": {"port"},
    "metadata": {"cluster_id", "host", "port"},
    "produce": {"port"},
}
"""Fields of answers, by the file of their messages."""

ORDERED = {"fetch", "list_offsets", "produce"}
"""In other answers nobody promises the order of results; and in these not that of"""
UNORDERED = {
    "ProduceResponse.responses",
    "TopicProduceResponse.partition_responses",
    "ListOffsetsResponse.topics",
    "ListOffsetsTopicResponse.partitions",
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
    "replica.socket.receive.buffer.bytes",
    "socket.receive.buffer.bytes",
    "socket.send.buffer.bytes",
}


class Translation:
    """What one of the two calls things."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.topic_ids: dict[str, Uuid] = {"nowhere": Uuid(b"n" * 16)}
        self.producer_ids: list[int] = []
        self._by_name: dict[str, Callable[[Any], Any]] = {
            "batch_index_error_message": _words,
            "broker_epoch": lambda value: "none" if value == -1 else "given",
            "documentation": _words,
            "error_code": lambda value: ErrorCode(value).name,
            "error_message": _words,
            "log_append_time_ms": lambda value: NOW if value > 0 else value,
            "log_dir": self._path,
            "path": self._path,
            "producer_id": self._producer,
            "records": lambda value: None if value is None else list(_batches(value)),
            "session_id": lambda value: "a session" if value else 0,
            "timestamp": lambda value: NOW if value > RECENT_MS else value,
        }

    def told(self, value: Any, place: str = "", kind: str = "") -> Any:
        """`place` is the class and field that the value stands in, `kind` the file of the class."""
        if isinstance(value, Struct):
            return self._struct(value)
        if isinstance(value, list):
            items = [self.told(each, place, kind) for each in value if not _is_only_ours(each)]
            is_sorted = place in UNORDERED or (kind not in ORDERED and items and isinstance(items[0], dict))
            return sorted(items, key=repr) if is_sorted else items
        name = place.partition(".")[2]
        if name in OF_THE_MACHINE.get(kind, ()):
            return "of the machine"
        if isinstance(value, Uuid):
            known = next((name for name, uuid in self.topic_ids.items() if uuid == value), "given")
            return "none" if value == Uuid.ZERO else known
        translate = self._by_name.get(name)
        return value if translate is None else translate(value)

    def _struct(self, value: Struct) -> dict[str, Any]:
        named, kind = type(value).__name__, type(value).__module__.rpartition(".")[2]
        values = {one.name: getattr(value, one.name) for one in value.__fields__}
        if "config_source" in values and values["name"] in OWN_KEYS:
            return {"": "configuration", "name": values["name"]}
        return {"": named, **{name: self.told(each, f"{named}.{name}", kind) for name, each in values.items()}}

    def _path(self, value: str | None) -> str:
        return str(value).replace(str(self.directory), "DIRECTORY")

    def _producer(self, value: int) -> Any:
        return f"producer {self.producer_ids.index(value)}" if value in self.producer_ids else value


def _words(value: str | None) -> str | None:
    return "words" if value else value


def _is_only_ours(value: Any) -> bool:
    """A configuration that Kafka has not."""
    return str(getattr(value, "name", "")).startswith("barnabas.")


def _batches(data: Any) -> Iterator[Any]:
    for batch in iterate_batches(data):
        header = (batch.base_offset, batch.size, batch.partition_leader_epoch, batch.compression.name)
        if batch.control:
            yield (*header, [control_record_type(each.key or b"").name for each in read_records(batch)])
            continue
        late = batch.timestamp_type.name == "LOG_APPEND_TIME"
        records = [(each.offset, each.key, each.value, NOW if late else each.timestamp) for each in read_records(batch)]
        yield (*header, batch.timestamp_type.name, records)


def differences(kafka: Any, ours: Any, place: str = "") -> Iterator[str]:
    """What a reader has to look at."""
    if isinstance(kafka, dict) and isinstance(ours, dict) and kafka.keys() == ours.keys():
        for name in kafka:
            yield from differences(kafka[name], ours[name], f"{place}.{name}")
    elif isinstance(kafka, list) and isinstance(ours, list) and len(kafka) == len(ours):
        for number, (theirs, own) in enumerate(zip(kafka, ours, strict=True)):
            named = own.get("name", number) if isinstance(own, dict) else number
            yield from differences(theirs, own, f"{place}[{named}]")
    elif isinstance(kafka, list) and isinstance(ours, list):
        only_kafka = [each for each in kafka if each not in ours]
        only_ours = [each for each in ours if each not in kafka]
        yield f"{place}: only Kafka has {only_kafka}, only Barnabas {only_ours}"
    elif kafka != ours:
        yield f"{place}: Kafka {kafka!r}, Barnabas {ours!r}"


def codes(told: Any) -> Sequence[str]:
    """Of all partitions of an answer."""
    if isinstance(told, dict):
        own = [told["error_code"]] if "error_code" in told and ("partition_index" in told or "index" in told) else []
        return [*own, *(code for value in told.values() for code in codes(value))]
    if isinstance(told, list):
        return [code for each in told for code in codes(each)]
    return []
