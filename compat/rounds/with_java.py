"""Kafka's own Java client, in a JVM beside the tests."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any

from compat.rounds.adapter import Committed, ConsumerSettings, Headers, Received
from compat.rounds.java_process import JavaObject

ASSIGNORS = {
    "range": "RangeAssignor",
    "roundrobin": "RoundRobinAssignor",
    "sticky": "StickyAssignor",
    "cooperative-sticky": "CooperativeStickyAssignor",
}
SENDS_EMPTY_RECORDS = True
ADMIN_CANNOT: frozenset[str] = frozenset()
HAS_NEXT_PROTOCOL = True

QUICK_TO_RETURN = {"reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 200, "retry.backoff.ms": 50}


def packed(value: bytes | None) -> str | None:
    return None if value is None else b64encode(value).decode()


def unpacked(value: str | None) -> bytes | None:
    return None if value is None else b64decode(value)


class Producer:
    def __init__(self, bootstrap: str, codec: str, idempotent: bool, transactional: str | None) -> None:
        settings: dict[str, Any] = {
            "bootstrap.servers": bootstrap,
            "compression.type": codec,
            "enable.idempotence": str(idempotent).lower(),
            "linger.ms": 2,
            "max.request.size": 2_000_000,
            "delivery.timeout.ms": 60_000,
            "request.timeout.ms": 10_000,
            **QUICK_TO_RETURN,
        }
        if transactional is not None:
            settings |= {"transactional.id": transactional, "max.block.ms": 10_000}
        self._java = JavaObject("producer", settings)
        if transactional is not None:
            self._java.call("init")
        self._to_send: list[dict[str, Any]] = []

    def send(
        self,
        topic: str,
        value: bytes | None,
        *,
        key: bytes | None = None,
        partition: int = 0,
        headers: Headers = (),
        timestamp: int | None = None,
    ) -> None:
        """They go over to the JVM together."""
        one = {"topic": topic, "partition": partition, "timestamp": timestamp, "key": packed(key)}
        self._to_send.append(
            {**one, "value": packed(value), "headers": [(name, packed(content)) for name, content in headers]}
        )

    def flush(self) -> list[tuple[int, int]]:
        records, self._to_send = self._to_send, []
        return [(partition, offset) for partition, offset in self._java.call("send", records=records)]

    def begin(self) -> None:
        self._java.call("begin")

    def send_offset(self, group: str, topic: str, partition: int, offset: int) -> None:
        self._java.call("send offset", group=group, topic=topic, partition=partition, offset=offset)

    def commit(self) -> None:
        self._java.call("commit")

    def abort(self) -> None:
        self._java.call("abort")

    def close(self) -> None:
        if self._to_send:
            self.flush()
        self._java.call("close")


class Consumer:
    def __init__(self, settings: ConsumerSettings) -> None:
        java: dict[str, Any] = {
            "bootstrap.servers": settings.bootstrap,
            "client.id": settings.client_id,
            "isolation.level": "read_committed" if settings.committed_only else "read_uncommitted",
            "enable.auto.commit": str(settings.auto_commit_ms is not None).lower(),
            "auto.commit.interval.ms": settings.auto_commit_ms or 5_000,
            "auto.offset.reset": "earliest",
            "fetch.max.wait.ms": 50,
            "metadata.max.age.ms": settings.metadata_max_age_ms,
            **QUICK_TO_RETURN,
        }
        if settings.next_protocol:
            java["group.protocol"] = "consumer"
        else:
            java |= {
                "partition.assignment.strategy": "org.apache.kafka.clients.consumer." + ASSIGNORS[settings.strategy],
                "session.timeout.ms": settings.session_timeout_ms,
                "heartbeat.interval.ms": min(settings.session_timeout_ms // 4, 500),
            }
        if settings.group is not None:
            java["group.id"] = settings.group
        if settings.instance is not None:
            java["group.instance.id"] = settings.instance
        self._java = JavaObject("consumer", java, topic=settings.topic)

    def subscribe(self) -> None:
        self._java.call("subscribe")

    def assign(self, *partitions: int) -> None:
        self._java.call("assign", partitions=partitions)

    def assignment(self) -> set[int]:
        return set(self._java.call("assignment"))

    def poll(self, timeout_s: float) -> list[Received]:
        return [
            Received(
                one["partition"],
                one["offset"],
                one["timestamp"],
                unpacked(one["key"]),
                unpacked(one["value"]),
                tuple((name, unpacked(value) or b"") for name, value in one["headers"]),
            )
            for one in self._java.call("poll", timeout_ms=int(timeout_s * 1000))
        ]

    def commit(self, offsets: Mapping[int, Committed] | None = None) -> None:
        wanted = None if offsets is None else [(each, one.offset, one.metadata) for each, one in offsets.items()]
        self._java.call("commit", offsets=wanted)

    def committed(self, partition: int) -> Committed | None:
        found = self._java.call("committed", partition=partition)
        return None if found is None else Committed(*found)

    def position(self, partition: int) -> int:
        return int(self._java.call("position", partition=partition))

    def seek(self, partition: int, offset: int) -> None:
        self._java.call("seek", partition=partition, offset=offset)

    def offset_at(self, partition: int, timestamp: int) -> int | None:
        found: int | None = self._java.call("offset at", partition=partition, timestamp=timestamp)
        return found

    def bounds(self, partition: int) -> tuple[int, int]:
        first, end = self._java.call("bounds", partition=partition)
        return first, end

    def pause(self, partition: int) -> None:
        self._java.call("pause", partition=partition)

    def resume(self, partition: int) -> None:
        self._java.call("resume", partition=partition)

    def close(self) -> None:
        self._java.call("close")


class Admin:
    def __init__(self, bootstrap: str) -> None:
        self._java = JavaObject("admin", {"bootstrap.servers": bootstrap, **QUICK_TO_RETURN})

    def brokers(self) -> set[str]:
        return set(self._java.call("brokers"))

    def create_topic(self, name: str, partitions: int = 1, config: Mapping[str, str] | None = None) -> None:
        self._java.call("create topic", topic=name, partitions=partitions, config=dict(config or {}))

    def delete_topic(self, name: str) -> None:
        self._java.call("delete topic", topic=name)

    def topics(self) -> set[str]:
        return set(self._java.call("topics"))

    def partitions(self, topic: str) -> int:
        return int(self._java.call("partitions", topic=topic))

    def add_partitions(self, topic: str, total: int) -> None:
        self._java.call("add partitions", topic=topic, total=total)

    def config(self, topic: str) -> Mapping[str, str | None]:
        found: dict[str, str | None] = self._java.call("config", topic=topic)
        return found

    def set_config(self, topic: str, name: str, value: str) -> None:
        self._java.call("set config", topic=topic, name=name, value=value)

    def groups(self) -> set[str]:
        return set(self._java.call("groups"))

    def group_state(self, group: str) -> tuple[str, int]:
        state, members = self._java.call("group state", group=group)
        return state.lower(), members

    def group_offsets(self, group: str) -> dict[int, Committed]:
        return {where: Committed(*one) for where, *one in self._java.call("group offsets", group=group)}

    def set_group_offset(self, group: str, topic: str, partition: int, offset: int) -> None:
        self._java.call("set group offset", group=group, topic=topic, partition=partition, offset=offset)

    def delete_group(self, group: str) -> None:
        self._java.call("delete group", group=group)

    def delete_records(self, topic: str, partition: int, before: int) -> int:
        return int(self._java.call("delete records", topic=topic, partition=partition, before=before))

    def close(self) -> None:
        self._java.call("close")


def produce(
    bootstrap: str, *, codec: str = "none", idempotent: bool = True, transactional: str | None = None
) -> Producer:
    return Producer(bootstrap, codec, idempotent, transactional)


def consume(settings: ConsumerSettings) -> Consumer:
    return Consumer(settings)


def administer(bootstrap: str) -> Admin:
    return Admin(bootstrap)
