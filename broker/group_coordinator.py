"""The group coordinator: for each partition of __consumer_offsets that this node leads, the four steps around the
decisions of `barnabas.coordination.groups`.

A partition that is beginning to be led is replayed first; until then its groups are answered that it loads. One task
watches the deadlines of all.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Mapping
from functools import partial
from types import CoroutineType
from typing import TYPE_CHECKING, Any
from uuid import UUID

import trio

from barnabas.broker.auto_creation import OFFSETS_TOPIC
from barnabas.broker.call import Call
from barnabas.coordination.groups import (
    GroupConfig,
    GroupRecord,
    GroupShard,
    build_group_batch,
    decide_loaded,
    decide_request,
    decide_resigned,
    decide_sync_failed,
    decide_tick,
    decide_topics_deleted,
    merge_answers,
    parts_by_partition,
    refusal,
    replay_batches,
)
from barnabas.coordination.outcome import Outcome
from barnabas.protocol.batches import Batch, iterate_batches
from barnabas.protocol.compression import Compression
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.list_groups import ListGroupsRequest
from barnabas.protocol.messages.sync_group import SyncGroupRequest
from barnabas.protocol.schema import Message, Uuid
from barnabas.replication.partition import Partition
from barnabas.storage.producer_state import AppendOrigin

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["GroupCoordinator"]

_LOAD_BYTES = 1 << 20
_RETRY_MS = 1_000
"""When a decision that only the time asked for could not be written, it is asked again so much later."""

Decide = Callable[[int], Outcome[GroupRecord, Any]]


class _Waiting:
    """A request on its way to be released."""

    __slots__ = ("answer", "event")

    def __init__(self) -> None:
        self.event = trio.Event()
        self.answer: Message | None = None


class _Led:
    """One partition of __consumer_offsets that is led here."""

    def __init__(self, partition: Partition, config: GroupConfig) -> None:
        self.partition = partition
        self.epoch = partition.leader_epoch
        self.shard = GroupShard(config)
        self.is_loaded = False
        self.waiting: dict[str, _Waiting] = {}
        self.deadline_ms: int | None = None


class GroupCoordinator:
    def __init__(self, node: Node) -> None:
        self._node = node
        self._led: dict[int, _Led] = {}
        self._to_load: list[_Led] = []
        self._wake = trio.Event()

    @property
    def partition_count(self) -> int:
        """Of __consumer_offsets; 0 before it is there."""
        topic = self._node.image.topics.by_name.get(OFFSETS_TOPIC)
        return 0 if topic is None else len(topic.partitions)

    def config(self) -> GroupConfig:
        config = self._node.config
        return GroupConfig(
            min_session_timeout_ms=config.group_min_session_timeout_ms,
            max_session_timeout_ms=config.group_max_session_timeout_ms,
            initial_rebalance_delay_ms=config.group_initial_rebalance_delay_ms,
            max_size=config.group_max_size,
            offset_metadata_max_bytes=config.offset_metadata_max_bytes,
            offsets_retention_ms=config.offsets_retention_ms,
            offsets_retention_check_interval_ms=config.offsets_retention_check_interval_ms,
        )

    # Leading and loading

    def lead(self, partition: Partition) -> None:
        """Told of every partition that begins to be led, or is led in a new epoch."""
        if partition.name.topic == OFFSETS_TOPIC:
            self.resign(partition)
            led = self._led[partition.name.partition] = _Led(partition, self.config())
            if partition.log.end_offset == partition.log.start_offset:
                self._loaded(led)
            else:
                self._to_load.append(led)
                self._wake.set()

    def resign(self, partition: Partition) -> None:
        if partition.name.topic != OFFSETS_TOPIC:
            return
        led = self._led.pop(partition.name.partition, None)
        if led is not None:
            for name, answer in decide_resigned(led.shard).release.items():
                self._release(led, name, answer)

    async def _load(self, led: _Led) -> None:
        """Bit by bit: others are served meanwhile."""
        partition = led.partition
        offset = partition.log.start_offset
        while self._is_current(led) and offset < partition.log.end_offset:
            part = partition.log.read(offset, _LOAD_BYTES)
            batches = list(iterate_batches(part.read()))
            if not batches:
                break
            replay_batches(led.shard, batches)
            offset = batches[-1].next_offset
            await trio.lowlevel.checkpoint()
        if self._is_current(led):
            self._loaded(led)

    def _loaded(self, led: _Led) -> None:
        led.is_loaded = True
        self._settle(led, lambda now_ms: decide_loaded(led.shard, now_ms))

    def _is_current(self, led: _Led) -> bool:
        return self._led.get(led.partition.name.partition) is led

    # Requests

    def handle(self, call: Call, request: Message) -> Message | Coroutine[Any, Any, Message]:
        """What the broker itself refuses has been taken out of the request before."""
        count = self.partition_count
        if not count:
            if isinstance(request, ListGroupsRequest):
                return merge_answers(request, [])
            return refusal(request, call.version, ErrorCode.NOT_COORDINATOR)
        parts = parts_by_partition(request, call.version, count)
        answers = [
            self._ask(call, number, part)
            for number, part in parts.items()
            if number in self._led or not isinstance(request, ListGroupsRequest)
        ]
        if any(type(answer) is CoroutineType for answer in answers):
            return self._gather(request, answers)
        return merge_answers(request, answers)  # type: ignore[arg-type] # no coroutine is among them

    async def _gather(self, request: Message, answers: list[Any]) -> Message:
        return merge_answers(request, [await answer if type(answer) is CoroutineType else answer for answer in answers])

    def _ask(self, call: Call, number: int, request: Message) -> Message | Coroutine[Any, Any, Message]:
        led = self._led.get(number)
        if led is None:
            return refusal(request, call.version, ErrorCode.NOT_COORDINATOR)
        if not led.is_loaded:
            return refusal(request, call.version, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        self._catch_up(led)
        try:
            outcome, end_offset = self._step(led, lambda now_ms: self._decide(led, call, request, now_ms))
        except KafkaError as error:
            if isinstance(request, SyncGroupRequest):
                failed = decide_sync_failed(led.shard, request, error.code, self._node.clock.now_ms())
                self._apply(led, failed, led.partition.log.end_offset)
                self._release_all(led, failed)
                return failed.reply or refusal(request, call.version, error.code)
            return refusal(request, call.version, error.code)
        waiting = None
        if outcome.reply is None:
            assert outcome.waits_as is not None
            waiting = led.waiting[outcome.waits_as] = _Waiting()
        if led.partition.high_watermark.offset >= end_offset:
            self._release_all(led, outcome)
            if waiting is not None:
                return self._released(waiting)
            answer: Message | None = outcome.reply
            assert answer is not None
            return answer
        return self._committed(led, call, request, outcome, waiting, end_offset)

    def _decide(self, led: _Led, call: Call, request: Message, now_ms: int) -> Outcome[GroupRecord, Message]:
        return decide_request(
            led.shard,
            request,
            call.version,
            now_ms,
            client_id=call.client_id or "",
            client_host=call.client_host,
            random_id=str(UUID(bytes=self._node.random_bytes(16))) if call.api.name == "JoinGroup" else "",
        )

    async def _committed(
        self,
        led: _Led,
        call: Call,
        request: Message,
        outcome: Outcome[GroupRecord, Message],
        waiting: _Waiting | None,
        end_offset: int,
    ) -> Message:
        try:
            with trio.fail_after(self._node.config.offsets_commit_timeout_ms / 1000):
                await led.partition.high_watermark.reaches(end_offset)
        except KafkaError as error:
            return refusal(request, call.version, error.code)
        except trio.TooSlowError:
            return refusal(request, call.version, ErrorCode.REQUEST_TIMED_OUT)
        self._release_all(led, outcome)
        if waiting is not None:
            return await self._released(waiting)
        assert outcome.reply is not None
        return outcome.reply

    async def _released(self, waiting: _Waiting) -> Message:
        await waiting.event.wait()
        assert waiting.answer is not None
        return waiting.answer

    # The four steps

    def _step(self, led: _Led, decide: Decide) -> tuple[Outcome[GroupRecord, Any], int]:
        """Decide, append, apply; the offset up to which the log has to be committed before anybody is told."""
        now_ms = self._node.clock.now_ms()
        outcome = decide(now_ms)
        log = led.partition.log
        first_offset = log.end_offset
        if outcome.records:
            batch = Batch(build_group_batch(outcome.records, now_ms, compression=self._compression))
            led.partition.append((batch,), now_ms, origin=AppendOrigin.COORDINATOR, all_in_sync=True)
        self._apply(led, outcome, first_offset)
        return outcome, log.end_offset

    def _apply(self, led: _Led, outcome: Outcome[GroupRecord, Any], first_offset: int) -> None:
        led.shard.apply(outcome, first_offset)
        if outcome.deadline_ms != led.deadline_ms:
            led.deadline_ms = outcome.deadline_ms
            self._wake.set()

    @property
    def _compression(self) -> Compression:
        return Compression(self._node.config.offsets_topic_compression_codec)

    def _settle(self, led: _Led, decide: Decide) -> None:
        """A decision that no request asked for: whoever it releases is answered when it is committed."""
        try:
            outcome, end_offset = self._step(led, decide)
        except KafkaError as error:
            self._node.report(f"{led.partition.name}: groups could not be settled: {error}")
            led.deadline_ms = self._node.clock.now_ms() + _RETRY_MS
            self._wake.set()
            return
        if led.partition.high_watermark.offset >= end_offset:
            self._release_all(led, outcome)
        elif outcome.release:
            self._node.start_soon(self._release_later, led, outcome, end_offset)

    async def _release_later(self, led: _Led, outcome: Outcome[GroupRecord, Any], end_offset: int) -> None:
        try:
            await led.partition.high_watermark.reaches(end_offset)
        except KafkaError:
            return  # leadership has ended, and `resign` has told them
        self._release_all(led, outcome)

    def _release_all(self, led: _Led, outcome: Outcome[GroupRecord, Any]) -> None:
        for name, answer in outcome.release.items():
            self._release(led, name, answer)

    def _release(self, led: _Led, name: str, answer: object) -> None:
        waiting = led.waiting.pop(name, None)
        if waiting is not None:
            assert isinstance(answer, Message)
            waiting.answer = answer
            waiting.event.set()

    def _catch_up(self, led: _Led) -> None:
        """What the time brought comes before anything else is decided."""
        now_ms = self._node.clock.now_ms()
        while led.deadline_ms is not None and led.deadline_ms <= now_ms:
            self._settle(led, lambda at_ms: decide_tick(led.shard, at_ms))

    # Time

    async def run(self) -> None:
        while True:
            for led in self._take_to_load():
                self._node.start_soon(self._load, led)
            for led in list(self._led.values()):
                if led.is_loaded:
                    self._catch_up(led)
            deadlines = [led.deadline_ms for led in self._led.values() if led.deadline_ms is not None]
            wait_ms = max(min(deadlines) - self._node.clock.now_ms(), 1) if deadlines else None
            with trio.move_on_after(float("inf") if wait_ms is None else wait_ms / 1000):
                await self._wake.wait()
            self._wake = trio.Event()

    def _take_to_load(self) -> Iterator[_Led]:
        taken, self._to_load = self._to_load, []
        return iter(taken)

    def topics_deleted(self, topic_ids: Mapping[str, Uuid]) -> None:
        """What was committed for them goes."""
        for led in list(self._led.values()):
            if led.is_loaded:
                self._settle(led, partial(decide_topics_deleted, led.shard, topic_ids))
