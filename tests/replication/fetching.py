"""Brokers that lead, on streams in memory, and the fetchers of one that follows them."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import count
from pathlib import Path

import trio
import trio.testing

from barnabas.client.channel import Channel
from barnabas.coordination.fetching.sessions import FetchSessions, Followed
from barnabas.coordination.quotas.replication import ReplicationQuota
from barnabas.protocol.apis import API_VERSIONS, APIS
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.frames import FrameReader, decode_request, encode_response
from barnabas.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from barnabas.protocol.messages.fetch import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from barnabas.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from barnabas.protocol.schema import Message, Uuid
from barnabas.replication.fetchers import Fetchers
from barnabas.replication.neighbours import FetchSettings, Neighbours
from barnabas.replication.partition import Partition
from barnabas.storage.loading import open_log
from barnabas.storage.log_directory import TopicPartition
from barnabas.storage.memory_disk import MemoryDisk
from barnabas.storage.topic_config import TopicConfig

from .leaders import answer_of, contents, lead
from .partitions_in_memory import NOW, append

FETCH, LIST_OFFSETS = 1, 2
LATEST = -1
SETTINGS = FetchSettings(
    min_bytes=1, max_wait_ms=500, max_bytes=10 << 20, partition_max_bytes=1 << 20, backoff_ms=1_000, timeout_ms=30_000
)
NODE, BROKER_EPOCH = 1, 77


def partition_of(topic: str, number: int, needs_sync: Callable[[Partition], None] | None = None) -> Partition:
    disk, directory = MemoryDisk(), Path(f"/data/{topic}-{number}")
    disk.make_directory(directory)
    log = open_log(disk, directory, TopicConfig.load({}), now_ms=NOW, clean=True)
    return Partition(TopicPartition(topic, number), Uuid(topic.encode().ljust(16)[:16]), log, needs_sync=needs_sync)


class LeadingBroker:
    """Answers as Kafka's leader does, or with what a test has put into `script`."""

    nursery: trio.Nursery

    def __init__(self, fetch_versions: tuple[int, int] = (4, 18)) -> None:
        self.partitions: dict[tuple[str, int], Partition] = {}
        self.fetch_versions = fetch_versions
        self.sessions = FetchSessions(100, count(1))
        self.script: deque[Callable[[Message], Message | None]] = deque()
        """Instead of the next answers; None closes the connection."""
        self.codes: dict[TopicPartition, ErrorCode] = {}
        """Instead of what there is of a partition."""
        self.asked: list[FetchRequest] = []
        self.asked_offsets: list[ListOffsetsRequest] = []
        self.versions: list[int] = []
        self.client_ids: set[str | None] = set()
        self.connections = 0
        self.is_down = False
        self.hangs = False
        """It takes requests and never answers, also when it goes on later."""
        self._news = trio.Event()

    def lead(self, topic: str, number: int, *epochs: int) -> Partition:
        """Two records of each epoch."""
        partition = self.partitions[topic, number] = partition_of(topic, number)
        for epoch in epochs:
            lead(partition, epoch)
            append(partition, b"one", b"two")
        return partition

    def append(self, partition: Partition, *values: bytes) -> None:
        append(partition, *values)
        self.tell()

    def tell(self) -> None:
        """Whoever waits looks again."""
        self._news.set()
        self._news = trio.Event()

    async def dial(self) -> trio.abc.Stream:
        if self.is_down:
            raise ConnectionRefusedError(111, "Connection refused")
        self.connections += 1
        ours, theirs = trio.testing.memory_stream_pair()
        self.nursery.start_soon(self._serve, theirs)
        return ours

    async def _serve(self, stream: trio.abc.Stream) -> None:
        reader = FrameReader(1 << 20)
        while data := await stream.receive_some():
            reader.receive(bytes(data))
            while (frame := reader.next_frame()) is not None:
                request = decode_request(frame, APIS)
                header, message = request.header, request.message
                self.client_ids.add(header.client_id)
                answer: Message | None
                if request.api.key == API_VERSIONS:
                    answer = ApiVersionsResponse(
                        api_keys=[
                            ApiVersion(api_key=API_VERSIONS, max_version=4),
                            ApiVersion(
                                api_key=FETCH, min_version=self.fetch_versions[0], max_version=self.fetch_versions[1]
                            ),
                            ApiVersion(api_key=LIST_OFFSETS, min_version=1, max_version=11),
                        ]
                    )
                elif self.script:
                    answer = self.script.popleft()(message)
                elif isinstance(message, FetchRequest):
                    self.versions.append(header.request_api_version)
                    self.asked.append(message)
                    answer = await self._fetch(message)
                else:
                    assert isinstance(message, ListOffsetsRequest)
                    self.asked_offsets.append(message)
                    answer = self._list_offsets(message)
                if answer is None or self.is_down:
                    await stream.aclose()
                    return
                if self.hangs:
                    await trio.sleep_forever()
                chunks = encode_response(request.api, header.request_api_version, header.correlation_id, answer)
                with suppress(trio.BrokenResourceError):
                    await stream.send_all(b"".join(chunks))  # type: ignore[arg-type]

    # What a leader answers

    async def _fetch(self, request: FetchRequest) -> FetchResponse:
        exchange = self.sessions.open(request, self._name, of_follower=True, now_ms=0)
        if exchange.error:
            return FetchResponse(error_code=exchange.error)
        results = self._read(list(exchange.partitions))
        has_session = exchange.session is not None
        if has_session and results and not any(followed.is_news(data) for followed, data in results):
            with trio.move_on_after(request.max_wait_ms / 1000):
                await self._news.wait()
            results = self._read(list(exchange.partitions))
        error, session_id, told = self.sessions.close(exchange, results, now_ms=0)
        topics: dict[Uuid, FetchableTopicResponse] = {}
        for followed, data in told:
            topic = topics.setdefault(followed.topic_id, FetchableTopicResponse(topic_id=followed.topic_id))
            topic.partitions.append(data)
        return FetchResponse(error_code=error, session_id=session_id, responses=list(topics.values()))

    def _name(self, topic_id: Uuid) -> str | None:
        return next((topic for (topic, _), each in self.partitions.items() if each.topic_id == topic_id), None)

    def _read(self, followed: list[Followed]) -> list[tuple[Followed, PartitionData]]:
        return [(each, self._read_one(each)) for each in followed]

    def _read_one(self, followed: Followed) -> PartitionData:
        number = followed.partition.partition
        partition = self.partitions.get((followed.name or "", number))
        code = ErrorCode.UNKNOWN_TOPIC_ID if partition is None else self.codes.get(partition.name, ErrorCode.NONE)
        if partition is None or code:
            return PartitionData(partition_index=number, error_code=code, high_watermark=-1, records=b"")
        return answer_of(partition, followed.partition)

    def _list_offsets(self, request: ListOffsetsRequest) -> ListOffsetsResponse:
        return ListOffsetsResponse(
            topics=[
                ListOffsetsTopicResponse(
                    name=topic.name,
                    partitions=[
                        self._offset_of(topic.name, each.partition_index, each.timestamp) for each in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )

    def _offset_of(self, topic: str, number: int, timestamp: int) -> ListOffsetsPartitionResponse:
        partition = self.partitions[topic, number]
        code = self.codes.get(partition.name, ErrorCode.NONE)
        if code not in (ErrorCode.NONE, ErrorCode.OFFSET_OUT_OF_RANGE):
            return ListOffsetsPartitionResponse(partition_index=number, error_code=code)
        log = partition.log
        offset = log.end_offset if timestamp == LATEST else log.start_offset
        return ListOffsetsPartitionResponse(partition_index=number, offset=offset)


class FollowingBroker:
    """Broker 1, which follows others."""

    def __init__(self, leaders: dict[int, LeadingBroker], settings: FetchSettings = SETTINGS) -> None:
        self.leaders = leaders
        self.said: list[str] = []
        self.per_source = 1
        self.quota = ReplicationQuota(2**63 - 1, 11, 1_000)
        self.cut: list[list[str]] = []
        self.cannot_cut: KafkaError | None = None
        self.fetchers = Fetchers(
            Neighbours(
                node_id=NODE,
                broker_epoch=lambda: BROKER_EPOCH,
                settings=settings,
                fetchers_per_source=lambda: self.per_source,
                channel=self._channel,
                quota=self.quota,
                cutting=self._cutting,
                now_ms=lambda: NOW,
                steady_ms=lambda: int(trio.current_time() * 1000),
                report=self.said.append,
                warn=lambda text: self.said.append(f"warning: {text}"),
                report_exception=lambda what, error: self.said.append(f"exception: {what}: {error!r}"),
            )
        )

    def _channel(self, source: int, number: int) -> Channel:
        name = f"broker {source}"
        return Channel(name, self.leaders[source].dial, client_id=f"broker-{NODE}-fetcher-{number}")

    @asynccontextmanager
    async def _cutting(self, partitions: Sequence[Partition]) -> AsyncIterator[None]:
        await trio.lowlevel.checkpoint()
        yield
        self.cut.append([str(partition.name) for partition in partitions])
        if self.cannot_cut is not None:
            raise self.cannot_cut

    def follow(self, partition: Partition, leader: int, leader_epoch: int) -> None:
        partition.follow(leader, leader_epoch)
        self.fetchers.follow(partition)


def run(follower: FollowingBroker, body: Callable[[], Awaitable[None]]) -> None:
    """In a time of its own, which passes when nobody has anything to do."""

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            for leader in follower.leaders.values():
                leader.nursery = nursery
            nursery.start_soon(follower.fetchers.run)
            await body()
            await follower.fetchers.stop()
            nursery.cancel_scope.cancel()

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


async def until(condition: Callable[[], bool], limit_s: float = 30) -> None:
    with trio.fail_after(limit_s):
        while not condition():
            await trio.sleep(0.01)


def same(follower: Partition, leader: Partition) -> bool:
    return contents(follower) == contents(leader) and follower.high_watermark.offset == leader.high_watermark.offset


def keys(request: FetchRequest) -> list[tuple[int, int]]:
    """Numbers and offsets."""
    return [(each.partition, each.fetch_offset) for topic in request.topics for each in topic.partitions]


def forgotten(request: FetchRequest) -> list[int]:
    return [number for topic in request.forgotten_topics_data for number in topic.partitions]
