"""Scenarios asked of a real Kafka as well: after every line the two answers are the same, field by field.

What cannot be the same is translated: member ids end with random UUIDs, topics have random ids. What may stand in any
order is sorted: members, the groups and topics of lists that come out of Kafka's hash maps.
"""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from barnabas.coordination.groups import GroupConfig, GroupRecord
from barnabas.protocol.apis import APIS
from barnabas.protocol.batches import iterate_batches
from barnabas.protocol.codec import decode, encode
from barnabas.protocol.frames import FrameReader, decode_response, encode_request
from barnabas.protocol.log_records import CONSUMER_OFFSETS
from barnabas.protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from barnabas.protocol.messages.list_groups import ListGroupsResponse
from barnabas.protocol.messages.offset_commit import OffsetCommitRequest
from barnabas.protocol.record import read_records
from barnabas.protocol.schema import Data, Message, Struct, Uuid
from tests.coordination.asking import parse_request
from tests.coordination.coordinator import Coordinator, FakeTopics
from tests.readable import readable

KAFKA_CONFIG = GroupConfig(
    min_session_timeout_ms=100, initial_rebalance_delay_ms=0, max_size=3, offset_metadata_max_bytes=16
)
"""What scenarios say as `config kafka`."""
KAFKA_SETTINGS = {
    "group.min.session.timeout.ms": "100",
    "group.initial.rebalance.delay.ms": "0",
    "group.max.size": "3",
    "offset.metadata.max.bytes": "16",
}
DEADLINE_S = 20.0
POLL_S = 0.02
_UUID = re.compile(r"(.*)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.DOTALL)
_TIMES = {"commit_timestamp", "current_state_timestamp", "expire_timestamp"}
_UNORDERED = {"members", "results", "topics", "groups", "partitions"}


class Connection:
    """One client's; answers are fetched when somebody wants them, as they may be long in coming."""

    def __init__(self, host: str, port: int, client_id: str) -> None:
        self._socket = socket.create_connection((host, port), timeout=DEADLINE_S)
        self._reader = FrameReader(1 << 20)
        self._client_id = client_id
        self._ids = count()
        self._asked: tuple[int, int] | None = None

    def close(self) -> None:
        self._socket.close()

    @property
    def busy(self) -> bool:
        return self._asked is not None

    def send(self, request: Message, version: int) -> None:
        assert not self.busy
        api = APIS[request.__definition__.key]
        self._asked = api.key, version
        chunks = encode_request(api, version, next(self._ids), self._client_id, request)
        self._socket.sendall(b"".join(chunks))  # type: ignore[arg-type]

    def receive(self) -> Message:
        assert self._asked is not None
        key, version = self._asked
        while (frame := self._reader.next_frame()) is None:
            data = self._socket.recv(1 << 16)
            assert data, "Kafka closed the connection"
            self._reader.receive(data)
        self._asked = None
        return decode_response(APIS[key], version, frame)[1]

    def is_silent(self) -> bool:
        return not readable(self._socket, within_s=0)


class BesideKafka:
    """Our coordinator and Kafka's, asked the same."""

    def __init__(self, host: str, port: int, topic_ids: dict[str, Uuid]) -> None:
        self._address = host, port
        self._kafka_topics = FakeTopics({}, topic_ids)
        self.ours = Coordinator(KAFKA_CONFIG)
        self._connections: dict[str, list[Connection]] = {}
        self._waiting: dict[str, tuple[Connection, int]] = {}
        self._member_ids: dict[str, str] = {}
        self._groups: dict[str, None] = {}
        self.compared = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for connections in self._connections.values():
            for connection in connections:
                connection.close()

    def run(self, command: str) -> None:
        if command.startswith("+"):
            self.ours.advance(int(command))
        else:
            self._ask(command)
        for name, answer in sorted(self.ours.released.items()):
            connection, version = self._waiting.pop(name)
            self._compare(answer, connection.receive(), version, f"released by {command}: {name}")
        self.ours.released.clear()
        self._compare_groups(command)
        for name, (connection, _) in self._waiting.items():
            assert connection.is_silent(), f"Kafka answers {name} after {command}, and we do not"

    def compare_records(self, directory: Path) -> None:
        """What both have written about every group and offset, record by record, with the same versions."""
        theirs: dict[str, list[Any]] = {}
        for key, value, version in records_in(directory):
            if getattr(key, "group", None) in self._groups:
                theirs.setdefault(str(key), []).append((version, self._plain(value, None)))
        ours: dict[str, list[Any]] = {}
        for record, _ in self.ours.log:
            assert isinstance(record, GroupRecord)
            encoded = record.value_bytes()
            value = None if encoded is None else CONSUMER_OFFSETS.decode_value(record.key, encoded)[0]
            ours.setdefault(str(record.key), []).append((record.version, self._plain(value, None)))
        assert set(ours) == set(theirs)
        for key_text, written in ours.items():
            assert written == theirs[key_text], key_text
            self.compared += len(written)

    def _ask(self, command: str) -> None:
        who, _, asked = command.partition(" ")
        request, version = parse_request(asked, self.ours.topics.id_of)
        for_kafka, _ = parse_request(asked, self._kafka_topics.id_of)
        for struct in _structs(for_kafka):
            if (member_id := getattr(struct, "member_id", None)) in self._member_ids:
                struct.member_id = self._member_ids[member_id]  # type: ignore[attr-defined]
        group_id = getattr(request, "group_id", "")
        if group_id or isinstance(request, OffsetCommitRequest):
            self._groups[group_id] = None
        connection = self._connection(who)
        connection.send(for_kafka, version)
        answer, waits_as = self.ours.ask(request, version, client_id=who)
        if waits_as is not None:
            self._waiting[waits_as] = connection, version
        else:
            assert answer is not None
            self._compare(answer, connection.receive(), version, command)

    def _connection(self, who: str) -> Connection:
        connections = self._connections.setdefault(who, [])
        for connection in connections:
            if not connection.busy:
                return connection
        connections.append(Connection(*self._address, who))
        return connections[-1]

    def _compare_groups(self, command: str) -> None:
        """The groups are in the same state with the same members: once Kafka has got so far, with what only time
        or another connection tells it."""
        request = DescribeGroupsRequest(groups=list(self._groups))
        until = time.monotonic() + DEADLINE_S
        while request.groups:
            connection = self._connection("onlooker")
            connection.send(request, 6)
            theirs = connection.receive()
            answer = self.ours.ask(request, 6)[0]
            assert isinstance(answer, DescribeGroupsResponse)
            try:
                self._compare(answer, theirs, 6, f"groups after {command}")
                return
            except AssertionError:
                if time.monotonic() > until:
                    raise
                threading.Event().wait(POLL_S)

    def _compare(self, ours: Message, theirs: Message, version: int, what: str) -> None:
        assert type(ours) is type(theirs)
        if isinstance(theirs, ListGroupsResponse):
            theirs.groups = [group for group in theirs.groups if group.group_id in self._groups]
        as_read = decode(type(ours), version, encode(ours, version))
        one = self._plain(as_read, None)
        self._learn(one, self._plain(theirs, None, pairs=True))
        other = self._plain(theirs, None)
        assert one == other, what
        self.compared += 1

    def _plain(self, value: object, name: str | None, *, pairs: bool = False) -> Any:
        """Dictionaries and lists. Kafka's ids become ours, as far as they are known; with `pairs` they stay."""
        if name in _TIMES:
            return None if value == -1 else "some time"
        if isinstance(value, Struct):
            return {
                each.name: self._plain(getattr(value, each.name), each.name, pairs=pairs) for each in value.__fields__
            }
        if isinstance(value, list):
            items = [self._plain(each, None, pairs=pairs) for each in value]
            return sorted(items, key=_without_ids) if name in _UNORDERED else items
        if isinstance(value, Uuid):
            return self._kafka_topics.name_of(value) or self.ours.topics.name_of(value) or value
        if isinstance(value, str) and not pairs:
            return next((our for our, their in self._member_ids.items() if their == value), value)
        return value

    def _learn(self, ours: Any, theirs: Any) -> None:
        """Where one says alice-1 and the other alice-UUID, it is the same member."""
        if isinstance(ours, dict) and isinstance(theirs, dict):
            for name in ours:
                self._learn(ours[name], theirs.get(name))
        elif isinstance(ours, list) and isinstance(theirs, list):
            for one, other in zip(ours, theirs, strict=False):
                self._learn(one, other)
        elif isinstance(ours, str) and isinstance(theirs, str) and ours not in self._member_ids:
            found = _UUID.fullmatch(theirs)
            if found is not None and ours.rpartition("-")[0] == found[1]:
                self._member_ids[ours] = theirs


def records_in(directory: Path) -> Iterator[tuple[Data, Data | None, int]]:
    """Keys, values and their versions of a partition of __consumer_offsets in Kafka's directory."""
    for segment in sorted(directory.glob("*.log")):
        for batch in iterate_batches(segment.read_bytes()):
            for record in () if batch.control else read_records(batch):
                assert record.key is not None
                key = CONSUMER_OFFSETS.decode_key(record.key)
                if record.value is None:
                    yield key, None, 0
                else:
                    yield key, *CONSUMER_OFFSETS.decode_value(key, record.value)


def _without_ids(item: Any) -> str:
    if not isinstance(item, dict):
        return str(item)
    member_id = item.get("member_id")
    if member_id is None:
        return str([item.get("group_id"), item.get("name"), item.get("topic_id"), item.get("partition_index")])
    return str(member_id).rpartition("-")[0] if not _UUID.fullmatch(member_id) else _UUID.fullmatch(member_id)[1]  # type: ignore[index]


def _structs(value: object) -> Iterator[Struct]:
    if isinstance(value, Struct):
        yield value
        for each in value.__fields__:
            yield from _structs(getattr(value, each.name))
    elif isinstance(value, list):
        for item in value:
            yield from _structs(item)
