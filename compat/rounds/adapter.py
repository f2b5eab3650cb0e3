"""What a round asks of a client, in words of our own: each Python client has a file that says it in the client's."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, cast

from tests.clients.waiting import PATIENCE_S

__all__ = [
    "CLIENTS",
    "JAVA",
    "Administering",
    "Client",
    "Committed",
    "ConsumerSettings",
    "Consuming",
    "Producing",
    "Received",
    "headers_of",
    "load",
    "take",
]

Headers = tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True)
class Received:
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()


@dataclass(frozen=True, slots=True)
class Committed:
    offset: int
    metadata: str = ""


@dataclass(frozen=True, slots=True)
class ConsumerSettings:
    """Without a group it is given its partitions by `assign`."""

    bootstrap: str
    topic: str
    group: str | None = None
    instance: str | None = None
    """A static member's name."""
    strategy: str = "range"
    session_timeout_ms: int = 6_000
    auto_commit_ms: int | None = None
    metadata_max_age_ms: int = 300_000
    client_id: str = "round"
    committed_only: bool = False
    """What transactions have not committed is not read."""
    next_protocol: bool = False
    """That of KIP-848: the broker assigns, and `strategy` and `session_timeout_ms` have no place in it."""


class Producing(Protocol):
    def send(
        self,
        topic: str,
        value: bytes | None,
        *,
        key: bytes | None = None,
        partition: int = 0,
        headers: Headers = (),
        timestamp: int | None = None,
    ) -> None: ...

    def flush(self) -> list[tuple[int, int]]:
        """Partition and offset of each record since the last call, in the order of sending. Raises if one failed."""

    def begin(self) -> None:
        """A transaction, and so are the next three of it."""

    def send_offset(self, group: str, topic: str, partition: int, offset: int) -> None: ...

    def commit(self) -> None: ...

    def abort(self) -> None: ...

    def close(self) -> None: ...


class Consuming(Protocol):
    def subscribe(self) -> None: ...

    def assign(self, *partitions: int) -> None: ...

    def assignment(self) -> set[int]: ...

    def poll(self, timeout_s: float) -> list[Received]: ...

    def commit(self, offsets: Mapping[int, Committed] | None = None) -> None:
        """Without offsets: what was polled. Synchronously."""

    def committed(self, partition: int) -> Committed | None: ...

    def position(self, partition: int) -> int: ...

    def seek(self, partition: int, offset: int) -> None: ...

    def offset_at(self, partition: int, timestamp: int) -> int | None:
        """The first record that is no older; None where there is none."""

    def bounds(self, partition: int) -> tuple[int, int]:
        """The first offset and the one that comes next."""

    def pause(self, partition: int) -> None: ...

    def resume(self, partition: int) -> None: ...

    def close(self) -> None:
        """Commits if it commits by itself, and leaves its group."""


class Administering(Protocol):
    def brokers(self) -> set[str]:
        """Each as HOST:PORT."""

    def create_topic(self, name: str, partitions: int = 1, config: Mapping[str, str] | None = None) -> None: ...

    def delete_topic(self, name: str) -> None: ...

    def topics(self) -> set[str]: ...

    def partitions(self, topic: str) -> int: ...

    def add_partitions(self, topic: str, total: int) -> None: ...

    def config(self, topic: str) -> Mapping[str, str | None]: ...

    def set_config(self, topic: str, name: str, value: str) -> None: ...

    def groups(self) -> set[str]: ...

    def group_state(self, group: str) -> tuple[str, int]:
        """Its state in lower case, without spaces, and how many members it has."""

    def group_offsets(self, group: str) -> dict[int, Committed]: ...

    def set_group_offset(self, group: str, topic: str, partition: int, offset: int) -> None: ...

    def delete_group(self, group: str) -> None: ...

    def delete_records(self, topic: str, partition: int, before: int) -> int:
        """The first offset that is left."""

    def close(self) -> None: ...


class Client(Protocol):
    """A module beside this one."""

    SENDS_EMPTY_RECORDS: bool
    """Neither key nor value."""
    ADMIN_CANNOT: Collection[str]
    """Methods of Administering that this client has nothing for."""
    ASSIGNORS: Collection[str]
    HAS_NEXT_PROTOCOL: bool

    def produce(
        self, bootstrap: str, *, codec: str = "none", idempotent: bool = True, transactional: str | None = None
    ) -> Producing: ...

    def consume(self, settings: ConsumerSettings) -> Consuming: ...

    def administer(self, bootstrap: str) -> Administering: ...


CLIENTS: Mapping[str, str] = {
    "kafka-python": "with_kafka_python",
    "confluent-kafka": "with_confluent_kafka",
    "aiokafka": "with_aiokafka",
}
"""Those that run in Python; Kafka's own is beside them."""
JAVA = "java"


def load(name: str) -> Client:
    return cast("Client", import_module(f"compat.rounds.{'with_java' if name == JAVA else CLIENTS[name]}"))


def headers_of(found: Iterable[tuple[str, bytes]] | None) -> Headers:
    return tuple((name, value) for name, value in found or ())


def take(consumer: Consuming, count: int, patience_s: float = PATIENCE_S) -> list[Received]:
    """So many records, and no more of the same poll."""
    found: list[Received] = []
    deadline = time.monotonic() + patience_s
    while len(found) < count:
        assert time.monotonic() < deadline, f"{len(found)} of {count} records came: {found[-3:]}"
        found += consumer.poll(0.1)
    assert len(found) == count
    return found
