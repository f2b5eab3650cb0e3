"""What has counted once is with everybody in sync, and stays what it is, whatever happens to leaders and followers.

Three replicas and a controller as Kafka's: each broker learns of decisions late, requests and answers get lost, brokers
restart without what they had not synced, old requests of theirs arrive after that, leaders are elected that do not know
yet that they are, and old ones go on that do not know that they are not. No leader is elected that is not in sync.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from barnabas.coordination.cluster.broker import BrokerRegistration
from barnabas.coordination.cluster.partition import Partition
from barnabas.coordination.replication.in_sync import InSyncChange
from barnabas.coordination.replication.leader_state import LeaderState
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.alter_partition import ResponsePartitionData
from barnabas.protocol.schema import Uuid

from .partitions_in_memory import LAG_MS, NOW, broker

BROKERS = (1, 2, 3)
Entry = tuple[int, int]
"""Of which leader epoch, and which of all that were ever written."""

brokers_drawn = st.sampled_from(BROKERS)
several_drawn = st.lists(brokers_drawn, unique=True, min_size=1)


@dataclass(frozen=True)
class Metadata:
    partition: Partition
    brokers: dict[int, BrokerRegistration]


@dataclass(frozen=True)
class Request:
    follower: int
    broker_epoch: int
    leader_epoch: int
    offset: int


class Replicas(RuleBasedStateMachine):
    @initialize(min_in_sync=st.sampled_from([1, 2]), others=st.sampled_from([(2, 3), (2,), ()]))
    def begin(self, min_in_sync: int, others: tuple[int, ...]) -> None:
        self.min_in_sync = min_in_sync
        self.now_ms = NOW
        self.written = 0
        self.counted: dict[int, Entry] = {}
        first = Partition(replicas=BROKERS, directories=(Uuid.ZERO,) * 3, isr=(1, *others), leader=1)
        self.history = [Metadata(first, {number: broker(number) for number in BROKERS})]
        self.known = dict.fromkeys(BROKERS, 0)
        """How much of the history each has."""
        self.logs: dict[int, list[Entry]] = {number: [] for number in BROKERS}
        self.high_watermarks = dict.fromkeys(BROKERS, 0)
        self.leaders: dict[int, LeaderState] = {}
        self.under_way: dict[int, Request] = {}
        self.stale: list[Request] = []
        self.proposed: list[tuple[int, InSyncChange]] = []
        self.answers: list[tuple[int, InSyncChange, ResponsePartitionData | ErrorCode]] = []
        for number in BROKERS:
            self._learn(number)

    # The controller

    @property
    def latest(self) -> Metadata:
        return self.history[-1]

    def _decide(self, partition: Partition, brokers: dict[int, BrokerRegistration] | None = None) -> None:
        changed = replace(partition, partition_epoch=self.latest.partition.partition_epoch + 1)
        self.history.append(Metadata(changed, brokers or self.latest.brokers))

    @precondition(lambda self: self.proposed)
    @rule(is_lost=st.booleans())
    def carry_out_a_proposal(self, is_lost: bool) -> None:
        leader, change = self.proposed.pop(0)
        answer = self._answer(leader, change)
        if not is_lost:
            self.answers.append((leader, change, answer))

    def _answer(self, leader: int, change: InSyncChange) -> ResponsePartitionData | ErrorCode:
        partition = self.latest.partition
        if (leader, change.leader_epoch) != (partition.leader, partition.leader_epoch):
            return ErrorCode.FENCED_LEADER_EPOCH
        if change.partition_epoch != partition.partition_epoch:
            return ErrorCode.INVALID_UPDATE_VERSION
        for number, epoch in zip(change.in_sync, change.broker_epochs, strict=True):
            if epoch not in (-1, self.latest.brokers[number].epoch):
                return ErrorCode.INELIGIBLE_REPLICA
        self._decide(replace(partition, isr=change.in_sync))
        return ResponsePartitionData(
            leader_id=leader,
            leader_epoch=change.leader_epoch,
            isr=list(change.in_sync),
            partition_epoch=self.latest.partition.partition_epoch,
        )

    @rule(leader=brokers_drawn)
    def elect(self, leader: int) -> None:
        partition = self.latest.partition
        if leader in partition.isr:
            self._decide(replace(partition, leader=leader, leader_epoch=partition.leader_epoch + 1))

    @rule(number=brokers_drawn, lost=st.integers(0, 3))
    def restart(self, number: int, lost: int) -> None:
        """Without its last records; so that it is in sync no more, unless nobody else is."""
        partition = self.latest.partition
        others = tuple(one for one in partition.isr if one != number)
        if not others:
            return
        self.logs[number] = self.logs[number][: max(len(self.logs[number]) - lost, 0)]
        self.high_watermarks[number] = min(self.high_watermarks[number], len(self.logs[number]))
        self.leaders.pop(number, None)
        if number in self.under_way:
            self.stale.append(self.under_way.pop(number))
        registered = broker(number, epoch=self.latest.brokers[number].epoch + 10)
        leader = others[0] if partition.leader == number else partition.leader
        epoch = partition.leader_epoch + (leader != partition.leader)
        changed = replace(partition, isr=others, leader=leader, leader_epoch=epoch)
        self._decide(changed, {**self.latest.brokers, number: registered})
        self.known[number] = len(self.history) - 1

    # Brokers

    @precondition(lambda self: len(self.history) - 1 > min(self.known.values()))
    @rule(numbers=several_drawn, is_all=st.booleans())
    def learn(self, numbers: list[int], is_all: bool) -> None:
        for number in numbers:
            while self.known[number] < len(self.history) - 1:
                self.known[number] += 1
                self._learn(number)
                if not is_all:
                    break

    def _learn(self, number: int) -> None:
        partition = self._seen_by(number).partition
        if partition.leader != number:
            self.leaders.pop(number, None)
            return
        is_new_leader = number not in self.leaders
        state = self.leaders.setdefault(number, LeaderState(number))
        end = len(self.logs[number])
        epoch_start = end if partition.leader_epoch > state.leader_epoch else state.epoch_start
        if state.take(partition, epoch_start, self.now_ms, is_new_leader=is_new_leader):
            self._advance(number)

    def _seen_by(self, number: int) -> Metadata:
        return self.history[self.known[number]]

    def _advance(self, leader: int) -> None:
        log, state = self.logs[leader], self.leaders[leader]
        brokers = self._seen_by(leader).brokers
        counts = state.high_watermark(len(log), len(log), self.min_in_sync, self.now_ms, LAG_MS, brokers)
        assert counts <= len(log)
        for offset in range(self.high_watermarks[leader], counts):
            assert self.counted.setdefault(offset, log[offset]) == log[offset], "another record counts there already"
        self.high_watermarks[leader] = max(self.high_watermarks[leader], counts)

    @precondition(lambda self: self.leaders)
    @rule(draw=st.data(), count=st.integers(1, 3))
    def append(self, draw: st.DataObject, count: int) -> None:
        leader = draw.draw(st.sampled_from(sorted(self.leaders)))
        for _ in range(count):
            self.written += 1
            self.logs[leader].append((self.leaders[leader].leader_epoch, self.written))
        self._advance(leader)

    @rule(duration_ms=st.sampled_from([1, LAG_MS // 2, LAG_MS + 1]))
    def wait(self, duration_ms: int) -> None:
        self.now_ms += duration_ms

    @precondition(lambda self: self.leaders)
    @rule()
    def look_for_lagging(self) -> None:
        for leader, state in self.leaders.items():
            lagging = state.lagging(len(self.logs[leader]), self.now_ms, LAG_MS)
            if lagging:
                epoch = self._seen_by(leader).brokers[leader].epoch
                self.proposed.append((leader, state.shrink(lagging, epoch)))

    @precondition(lambda self: self.answers)
    @rule()
    def take_an_answer(self) -> None:
        leader, change, answer = self.answers.pop(0)
        if leader not in self.leaders:
            return
        if isinstance(answer, ErrorCode):
            assert not self.leaders[leader].refused(change, answer)
        elif self.leaders[leader].accepted(change, answer):
            self._advance(leader)

    # Followers

    def _leader_of(self, leader_epoch: int) -> int | None:
        """Whoever leads in that epoch, for all he knows."""
        return next((one for one, state in self.leaders.items() if state.leader_epoch == leader_epoch), None)

    @rule(follower=brokers_drawn)
    def ask(self, follower: int) -> None:
        """Once what the leader does not have has been cut off."""
        seen = self._seen_by(follower)
        leader = self._leader_of(seen.partition.leader_epoch)
        if leader is None or leader == follower or seen.partition.leader != leader:
            return
        if follower in self.under_way:
            if self.under_way[follower].leader_epoch == seen.partition.leader_epoch:
                return
            self.stale.append(self.under_way.pop(follower))
        log, led = self.logs[follower], self.logs[leader]
        common = next((at for at, (one, other) in enumerate(zip(log, led, strict=False)) if one != other), None)
        end = min(len(log), len(led)) if common is None else common
        del log[end:]
        self.high_watermarks[follower] = min(self.high_watermarks[follower], end)
        epoch = seen.brokers[follower].epoch
        self.under_way[follower] = Request(follower, epoch, seen.partition.leader_epoch, end)

    @rule(followers=several_drawn, times=st.integers(1, 2))
    def fetch(self, followers: list[int], times: int) -> None:
        for follower in followers * times:
            self.ask(follower)
            self.hear(follower, is_lost=False)

    @precondition(lambda self: self.under_way)
    @rule(follower=brokers_drawn, is_lost=st.booleans())
    def hear(self, follower: int, is_lost: bool) -> None:
        request = self.under_way.pop(follower, None)
        if request is None:
            return
        leader = self._leader_of(request.leader_epoch)
        if leader is None:
            return
        told = self.high_watermarks[leader]
        records = self.logs[leader][request.offset : request.offset + 2]
        if self._take(leader, request) and not is_lost:
            self.logs[follower] += records
            self.high_watermarks[follower] = min(told, len(self.logs[follower]))

    @precondition(lambda self: self.stale)
    @rule()
    def hear_an_old_request(self) -> None:
        request = self.stale.pop(0)
        leader = self._leader_of(request.leader_epoch)
        if leader is not None:
            self._take(leader, request)

    def _take(self, leader: int, request: Request) -> bool:
        state, seen = self.leaders[leader], self._seen_by(leader)
        follower, end = state.followers[request.follower], len(self.logs[leader])
        try:
            follower.check_epoch(request.broker_epoch, seen.brokers)
        except KafkaError:
            return False
        follower.fetched(request.offset, 0, leader_end=end, now_ms=self.now_ms, broker_epoch=request.broker_epoch)
        if state.may_expand(follower, self.high_watermarks[leader], seen.brokers):
            epoch = seen.brokers[leader].epoch
            self.proposed.append((leader, state.expand(request.follower, epoch)))
        self._advance(leader)
        return True

    # What always holds

    @invariant()
    def everybody_in_sync_has_what_counts(self) -> None:
        for number in self.latest.partition.isr:
            log = self.logs[number]
            for offset, entry in self.counted.items():
                assert offset < len(log), f"{number} is in sync and does not have offset {offset}"
                assert log[offset] == entry


def test_what_has_counted_is_with_everybody_in_sync() -> None:
    run_state_machine_as_test(Replicas, settings=settings(max_examples=30, stateful_step_count=40, deadline=None))


@pytest.mark.slow
def test_what_has_counted_is_with_everybody_in_sync_after_a_long_time() -> None:
    run_state_machine_as_test(Replicas, settings=settings(max_examples=1_000, stateful_step_count=100, deadline=None))
