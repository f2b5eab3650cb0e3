"""The group coordinator: for each partition of __consumer_offsets that this node leads, the four steps around the
decisions of `barnabas.coordination.groups`.

A partition that is beginning to be led is replayed first; until then its groups are answered that it loads. One task
watches the deadlines of all.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine, Iterator, Mapping
from functools import partial
from types import CoroutineType
from typing import TYPE_CHECKING, Any
from uuid import UUID

import trio

from barnabas.broker.call import Call
from barnabas.broker.connection import CloseConnection
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
    only_group,
    partition_of_group,
    parts_by_partition,
    refusal,
    refused_at_once,
    replay_batches,
)
from barnabas.coordination.outcome import Outcome
from barnabas.protocol.batches import Batch, iterate_batches
from barnabas.protocol.compression import Compression
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.join_group import JoinGroupRequest
from barnabas.protocol.messages.list_groups import ListGroupsRequest
from barnabas.protocol.messages.sync_group import SyncGroupRequest
from barnabas.protocol.schema import Message, Uuid
from barnabas.replication.partition import Partition
from barnabas.storage.producer_state import AppendOrigin

if TYPE_CHECKING:
    from barnabas.broker.groups import Groups
    from barnabas.broker.node import Node

__all__ = ["GroupCoordinator"]

_LOAD_BYTES = 1 << 20
RETRY_MS = 1_000
"""When a decision that only the time asked for could not be written, it is asked again so much later."""

_SET_MS = 100
"""A clock that differs by so much from the steady one, more than before, has been set."""

Decide = Callable[[int], Outcome[GroupRecord, Any]]


class _Step:
    """What was decided for one request, until its records are committed and, if it waits, until it is released."""

    __slots__ = ("_awaited", "answer", "end_offset", "is_delivered", "is_replaced", "outcome")

    def __init__(self, outcome: Outcome[GroupRecord, Any], end_offset: int) -> None:
        self.outcome = outcome
        self.end_offset = end_offset
        """Up to here the log has to be committed before anybody is told."""
        self.answer: Message | None = None
        self.is_delivered = False
        self.is_replaced = False
        """The client has asked again over another connection, and reads no answer here."""
        self._awaited: trio.Event | None = None
        """Most are delivered before anybody awaits that."""

    def deliver(self, answer: object = None) -> None:
        """None: there is no answer for it."""
        assert answer is None or isinstance(answer, Message)
        self.answer = answer
        self.is_delivered = True
        if self._awaited is not None:
            self._awaited.set()

    async def delivered(self) -> None:
        if not self.is_delivered:
            self._awaited = trio.Event()
            await self._awaited.wait()


class _Led:
    """One partition of __consumer_offsets that is led here."""

    def __init__(self, partition: Partition, config: GroupConfig) -> None:
        self.partition = partition
        self.shard = GroupShard(config)
        self.is_loaded = False
        self.uncommitted: deque[_Step] = deque()
        """In the order of the log: answers leave in no other."""
        self.waiting: dict[str, _Step] = {}
        self.is_delivering = False
        """A task waits for what is committed."""
        self.retry_ms = 0
        """Not before, after what only the time asked for could not be written."""

    @property
    def deadline_ms(self) -> int | None:
        deadline = self.shard.deadline_ms
        return None if deadline is None else max(deadline, self.retry_ms)

    def deliver_committed(self) -> None:
        """First those whom a decision releases, then whom it answers; who has to wait, waits from then on."""
        committed = self.partition.high_watermark.offset
        while self.uncommitted and self.uncommitted[0].end_offset <= committed:
            step = self.uncommitted.popleft()
            outcome = step.outcome
            for name, answer in outcome.release.items():
                self.release(name, answer)
            if outcome.reply is not None:
                step.deliver(outcome.reply)
            elif outcome.waits_as is not None:
                self._wait(outcome.waits_as, step)

    def _wait(self, name: str, step: _Step) -> None:
        before = self.waiting.get(name)
        if before is not None:
            before.is_replaced = True
            before.deliver()
        self.waiting[name] = step

    def release(self, name: str, answer: object) -> None:
        step = self.waiting.pop(name, None)
        if step is not None:
            step.deliver(answer)


class GroupCoordinator:
    def __init__(self, node: Node, groups: Groups) -> None:
        self._node = node
        self._groups = groups
        self._config = self._read_config()
        self._compression = Compression(node.config.offsets_topic_compression_codec)
        self._led: dict[int, _Led] = {}
        self._to_load: list[_Led] = []
        self._wake = trio.Event()
        self._asleep_until_ms: int | None = None
        self._ahead_ms = 0
        """Of the steady clock; deadlines are kept in the time of day, since the log keeps it."""

    def _read_config(self) -> GroupConfig:
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
        """Of __consumer_offsets: it begins to be led, or is led in a new epoch."""
        self.resign(partition)
        led = self._led[partition.name.partition] = _Led(partition, self._config)
        if partition.log.end_offset == partition.log.start_offset:
            self._loaded(led)
        else:
            self._to_load.append(led)
            self._wake.set()

    def resign(self, partition: Partition) -> None:
        led = self._led.pop(partition.name.partition, None)
        if led is not None:
            for name, answer in decide_resigned(led.shard).release.items():
                led.release(name, answer)
            for step in (*led.uncommitted, *led.waiting.values()):
                step.deliver()

    async def _load(self, led: _Led) -> None:
        try:
            await self._replay(led)
        except Exception as error:  # noqa: BLE001 - as where a decision fails
            self._give_up(led, error)
        else:
            if self._is_current(led):
                self._loaded(led)

    async def _replay(self, led: _Led) -> None:
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

    def _loaded(self, led: _Led) -> None:
        led.is_loaded = True
        self._settle(led, partial(decide_loaded, led.shard), self._now_ms())

    def _is_current(self, led: _Led) -> bool:
        return self._led.get(led.partition.name.partition) is led

    # Requests

    def handle(self, call: Call, request: Message) -> Message | Coroutine[Any, Any, Message]:
        """What the broker itself refuses has been taken out of the request before."""
        refused = refused_at_once(request, call.version, self._config)
        if refused is not None:
            return refused
        count = self._groups.partition_count
        if not count:
            if isinstance(request, ListGroupsRequest):
                return merge_answers(request, [])
            return refusal(request, call.version, ErrorCode.NOT_COORDINATOR)
        group_id = only_group(request, call.version)
        if group_id is not None:
            return self._ask(call, partition_of_group(group_id, count), request)
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
        led = self._led.get(number) or self._led_by_now(number)
        if led is None:
            return refusal(request, call.version, ErrorCode.NOT_COORDINATOR)
        if not led.is_loaded:
            return refusal(request, call.version, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        now_ms = self._now_ms()
        self._catch_up(led, now_ms)
        try:
            step = self._step(led, self._decide(led, call, request, now_ms), now_ms)
        except KafkaError as error:
            return self._not_written(led, call, request, error)
        if step.answer is not None:
            return step.answer
        return self._answer(call, request, step)

    def _led_by_now(self, number: int) -> _Led | None:
        """Its disk may have been full, and may have room again."""
        self._node.partitions.try_again()
        return self._led.get(number)

    def _not_written(self, led: _Led, call: Call, request: Message, error: KafkaError) -> Message:
        """Nothing has happened; but who waits for a leader's assignment has to be told that it is lost."""
        if not isinstance(request, SyncGroupRequest):
            return refusal(request, call.version, error.code)
        outcome = decide_sync_failed(led.shard, request, error.code, self._now_ms())
        step = self._apply(led, outcome, led.partition.log.end_offset)
        return step.answer or refusal(request, call.version, error.code)

    def _decide(self, led: _Led, call: Call, request: Message, now_ms: int) -> Outcome[GroupRecord, Message]:
        if not isinstance(request, JoinGroupRequest):
            return decide_request(led.shard, request, call.version, now_ms)
        return decide_request(
            led.shard,
            request,
            call.version,
            now_ms,
            client_id=call.client_id or "",
            client_host=call.client_host,
            random_id=str(UUID(bytes=self._node.random_bytes(16))),
        )

    async def _answer(self, call: Call, request: Message, step: _Step) -> Message:
        if step.outcome.reply is not None:
            # Only the log is waited for, and not for ever.
            with trio.move_on_after(self._node.config.offsets_commit_timeout_ms / 1000):
                await step.delivered()
            if not step.is_delivered:
                return refusal(request, call.version, ErrorCode.REQUEST_TIMED_OUT)
        else:
            await step.delivered()
        if step.is_replaced:
            raise CloseConnection(f"{call.api.name} was asked again over another connection")
        if step.answer is None:
            return refusal(request, call.version, ErrorCode.NOT_COORDINATOR)
        return step.answer

    # The four steps

    def _step(self, led: _Led, outcome: Outcome[GroupRecord, Any], now_ms: int) -> _Step:
        """What was decided: append, apply, and tell those whom nothing keeps waiting."""
        first_offset = led.partition.log.end_offset
        if outcome.records:
            batch = Batch(build_group_batch(outcome.records, now_ms, compression=self._compression))
            led.partition.append((batch,), now_ms, origin=AppendOrigin.COORDINATOR, all_in_sync=True)
        return self._apply(led, outcome, first_offset)

    def _apply(self, led: _Led, outcome: Outcome[GroupRecord, Any], first_offset: int) -> _Step:
        led.shard.apply(outcome, first_offset)
        # A deadline that moves away costs the task one look too many, and none at every heartbeat.
        deadline_ms = led.deadline_ms
        if deadline_ms is not None and (self._asleep_until_ms is None or deadline_ms < self._asleep_until_ms):
            self._wake.set()
        step = _Step(outcome, led.partition.log.end_offset)
        led.uncommitted.append(step)
        led.deliver_committed()
        if led.uncommitted and not led.is_delivering:
            led.is_delivering = True
            self._node.start_soon(self._deliver, led)
        return step

    async def _deliver(self, led: _Led) -> None:
        """As the log is committed, until nobody waits for that."""
        try:
            while led.uncommitted:
                await led.partition.high_watermark.reaches(led.uncommitted[0].end_offset)
                led.deliver_committed()
        except KafkaError:
            pass  # leadership has ended, and `resign` tells them
        finally:
            led.is_delivering = False

    def _settle(self, led: _Led, decide: Decide, now_ms: int) -> None:
        """A decision that no request asked for."""
        try:
            self._step(led, decide(now_ms), now_ms)
        except KafkaError as error:
            self._node.warn(f"{led.partition.name}: groups could not be settled: {error}")
            led.retry_ms = now_ms + RETRY_MS
            self._wake.set()
        except Exception as error:  # noqa: BLE001 - we are broken: these groups are, and no others
            self._give_up(led, error)

    def _give_up(self, led: _Led, error: Exception) -> None:
        """Its groups have no coordinator until the partition is led anew."""
        self._node.report_exception(f"the groups of {led.partition.name} are given up", error)
        self.resign(led.partition)

    def _catch_up(self, led: _Led, now_ms: int) -> None:
        """What the time brought comes before anything else is decided."""
        while (due_ms := led.deadline_ms) is not None and due_ms <= now_ms and self._is_current(led):
            self._settle(led, partial(decide_tick, led.shard), now_ms)

    # Time

    def _now_ms(self) -> int:
        """The time of day. If somebody has set it, every deadline has been moved along."""
        clock = self._node.clock
        now_ms = clock.now_ms()
        moved_ms = now_ms - clock.steady.now_ms() - self._ahead_ms
        if abs(moved_ms) >= _SET_MS:
            self._ahead_ms += moved_ms
            for led in self._led.values():
                led.shard.deadlines.move_all(moved_ms)
                led.retry_ms += moved_ms
            self._asleep_until_ms = None
            self._wake.set()
        return now_ms

    def _steady(self, moment_ms: int | None) -> int | None:
        """That moment by the steady clock."""
        clock = self._node.clock
        return None if moment_ms is None else moment_ms - clock.now_ms() + clock.steady.now_ms()

    async def run(self) -> None:
        while True:
            for led in self._take_to_load():
                self._node.start_soon(self._load, led)
            for led in list(self._led.values()):
                if led.is_loaded:
                    self._catch_up(led, self._now_ms())
            deadlines = [led.deadline_ms for led in self._led.values() if led.deadline_ms is not None]
            self._asleep_until_ms = min(deadlines, default=None)
            await self._node.clock.steady.wait(self._wake, self._steady(self._asleep_until_ms))
            self._wake = trio.Event()

    def _take_to_load(self) -> Iterator[_Led]:
        taken, self._to_load = self._to_load, []
        return iter(taken)

    def topics_deleted(self, topic_ids: Mapping[str, Uuid]) -> None:
        """What was committed for them goes."""
        for led in list(self._led.values()):
            if led.is_loaded:
                self._settle(led, partial(decide_topics_deleted, led.shard, topic_ids), self._now_ms())
