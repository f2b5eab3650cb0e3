"""The doors of two controllers, Apache Kafka's and ours, asked the same about the metadata log and its quorum.

Their logs have different records, and so each end, epoch and id is called what it is instead of its value."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from barnabas.protocol.apis import APIS
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.schema import Message, Struct, Uuid
from tests.broker.controller_door.door import ControllerNode, quorum
from tests.broker.told import differences
from tests.broker.twins import fitted
from tests.kafka.broker import HOST, KafkaBroker
from tests.kafka.client import RawClient

__all__ = ["Door", "TwinDoors"]

_WORDS = ("error_message",)
_ADDRESSES = ("host", "port")
_TIMES = ("last_fetch_timestamp", "last_caught_up_timestamp")


class Door:
    def __init__(self, name: str, port: int, cluster_id: str) -> None:
        self.name = name
        self.port = port
        self.cluster_id = cluster_id
        self.client = RawClient(HOST, port)
        self.broker_epochs: dict[int, int] = {}
        self.topic_ids: dict[str, Uuid] = {}
        self.look()

    def look(self) -> None:
        found = quorum(self.client)
        self.epoch = found.leader_epoch
        self.end = found.high_watermark
        self.directory = found.current_voters[0].replica_directory_id
        self.names: dict[Any, str] = {
            self.end: "the end",
            self.directory: "its directory",
            self.cluster_id: "its cluster",
        }

    def ask(self, request: Message, version: int) -> Message | None:
        """None if the connection ends instead."""
        with suppress(ConnectionError):
            return self.client.ask(fitted(request, version), version, APIS[request.__definition__.key].response)
        self.close()
        self.client = RawClient(HOST, self.port)
        return None

    def told(self, value: Any, name: str = "") -> Any:
        if isinstance(value, Struct):
            return {"": type(value).__name__, **{each: self.told(at, each) for each, at in _fields(value)}}
        if isinstance(value, list):
            # Nobody promises an order of results.
            return sorted((self.told(each, name) for each in value), key=repr)
        if name in _ADDRESSES:
            return "an address" if value else value
        if name in _WORDS:
            return "words" if value else value
        if name in _TIMES:
            return "a time" if value > 0 else value
        if name == "error_code":
            return ErrorCode(value).name
        if isinstance(value, bytes | memoryview) and not isinstance(value, Uuid):
            return f"{name}" if len(value) else "nothing"
        return self.names.get(value, value) if not isinstance(value, bool) else value

    def close(self) -> None:
        self.client.__exit__(None, None, None)


class TwinDoors:
    def __init__(self, kafka: KafkaBroker, node: ControllerNode) -> None:
        assert node.node is not None
        self.kafka = Door("Kafka", kafka.controller_port, kafka.cluster_id)
        self.ours = Door("Barnabas", node.controller_port, node.node.cluster_id)

    def same(self, make: Callable[[Door], Message], version: int | None = None) -> Any:
        """At that version, or at all that are advertised; what both told last."""
        api = APIS[make(self.ours).__definition__.key]
        told = None
        for each in range(api.first, api.last_stable + 1) if version is None else (version,):
            kafka, told = (door.told(door.ask(make(door), each)) for door in (self.kafka, self.ours))
            if told != kafka:
                found = "\n".join(differences(kafka, told))
                raise AssertionError(f"v{each} of {make(self.ours)}"[:1000] + f"\n{found}")
        return told

    def close(self) -> None:
        self.kafka.close()
        self.ours.close()


def _fields(value: Struct) -> Iterator[tuple[str, Any]]:
    return ((each.name, getattr(value, each.name)) for each in value.__fields__)
