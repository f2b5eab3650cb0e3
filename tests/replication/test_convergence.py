"""Three replicas, their leaders changing at any moment: each follower comes to have its leader's log byte for byte, and
no replica in sync ever drops what has been committed.

The controller and the leader are as small here as can be: who is in sync may be elected, and what all in sync have is
committed.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from barnabas.protocol.batches import iterate_batches
from barnabas.replication.following import Following
from barnabas.replication.partition import Partition
from barnabas.storage.loading import open_log

from .leaders import ENOUGH, contents, fetch, follow, lead
from .partitions_in_memory import NAME, NOW, TOPIC_ID, append, new_partition

REPLICAS = st.integers(0, 2)


class Replicas(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.replicas = [new_partition(internal_segment_bytes="400", index_interval_bytes="80") for _ in range(3)]
        self.following: dict[int, Following] = {}
        self.in_sync = {0, 1, 2}
        self.alive = {0, 1, 2}
        self.epoch = -1
        self.epoch_start = 0
        self.known: dict[int, int] = {}
        """From where the followers of this epoch have asked."""
        self.committed = b""
        """All batches that have been acknowledged."""

    @initialize()
    def begin(self) -> None:
        self.elect(0)

    @property
    def leading(self) -> Partition:
        return self.replicas[self.leader]

    def elect(self, leader: int) -> None:
        self.leader = leader
        self.epoch += 1
        lead(self.leading, self.epoch)
        self.epoch_start = self.leading.log.end_offset
        self.known = {}
        self.following = {number: follow(self.replicas[number], leader, self.epoch) for number in self.alive - {leader}}

    def commit(self) -> None:
        """As far as the leader knows that all in sync have come: a follower asks from the end of its log."""
        ends = [self.known.get(number, 0) for number in self.in_sync - {self.leader}]
        end = min([self.leading.log.end_offset, *ends])
        data = contents(self.leading)
        committed = data[: sum(batch.size for batch in iterate_batches(data) if batch.next_offset <= end)]
        if len(committed) > len(self.committed):
            assert committed.startswith(self.committed)
            self.committed = committed

    @property
    def high_watermark(self) -> int:
        *_, last = [None, *iterate_batches(self.committed)]
        return 0 if last is None else last.next_offset

    @rule(count=st.integers(1, 4))
    def append(self, count: int) -> None:
        append(self.leading, *(b"%d of %d" % (number, self.epoch) for number in range(count)))
        self.commit()

    @rule(number=REPLICAS, max_bytes=st.sampled_from([1, 200, ENOUGH]))
    def fetch(self, number: int, max_bytes: int) -> None:
        if number in self.following:
            self.fetch_once(number, max_bytes)

    def fetch_once(self, number: int, max_bytes: int) -> bool:
        """Whether that made a difference."""
        following = self.following[number]
        before = following.position(max_bytes)
        data = fetch(following, self.leading, max_bytes=max_bytes, high_watermark=self.high_watermark)
        if data.diverging_epoch is None and not data.error_code:
            self.known[number] = before.fetch_offset
            if before.fetch_offset >= max(self.high_watermark, self.epoch_start):
                self.in_sync.add(number)
            self.commit()
        return following.position(max_bytes) != before

    @rule(number=REPLICAS)
    def shrink(self, number: int) -> None:
        if number != self.leader:
            self.in_sync.discard(number)
            self.commit()

    @rule(number=REPLICAS)
    def change_leader(self, number: int) -> None:
        if number in self.in_sync and number in self.alive:
            self.elect(number)

    @rule(number=REPLICAS)
    def die(self, number: int) -> None:
        alive = self.alive - {number}
        heirs = sorted(alive & self.in_sync)
        if number == self.leader and not heirs:
            return
        self.alive = alive
        self.following.pop(number, None)
        if len(self.in_sync) > 1:
            self.in_sync.discard(number)
        if number == self.leader:
            self.elect(heirs[0])
        self.commit()

    @rule(number=REPLICAS, clean=st.booleans())
    def come_back(self, number: int, clean: bool) -> None:
        """With its high watermark of some time ago, as the checkpoint has it."""
        if number in self.alive:
            return
        old = self.replicas[number]
        if clean:
            old.log.close()
        else:
            for segment in old.log.segments:
                segment.let_go()
        log = open_log(
            old.log.disk,
            old.log.directory,
            old.log.config,
            now_ms=NOW,
            clean=clean,
            recovery_point=old.log.recovery_point,
            start_offset=old.log.start_offset,
        )
        high_watermark = min(old.high_watermark.offset // 2, self.high_watermark)
        self.replicas[number] = Partition(NAME, TOPIC_ID, log, high_watermark=high_watermark)
        self.alive.add(number)
        self.following[number] = follow(self.replicas[number], self.leader, self.epoch)

    @rule()
    def settle(self) -> None:
        end = self.leading.log.end_offset
        for number, following in self.following.items():
            while self.fetch_once(number, ENOUGH):
                pass
            assert contents(following.partition) == contents(self.leading), number
            epochs = [
                [entry for entry in partition.log.epochs.entries if entry.start_offset < end]
                for partition in (following.partition, self.leading)
            ]
            assert epochs[0] == epochs[1]
        assert not self.in_sync <= self.alive or self.high_watermark == end

    @invariant()
    def what_is_committed_is_on_all_in_sync(self) -> None:
        for number in self.in_sync & self.alive:
            assert contents(self.replicas[number]).startswith(self.committed), number

    @invariant()
    def nobody_is_told_more_than_there_is(self) -> None:
        for number in self.alive:
            replica = self.replicas[number]
            assert replica.log.start_offset <= replica.high_watermark.offset <= replica.log.end_offset
            assert replica.last_stable.offset <= replica.high_watermark.offset

    def teardown(self) -> None:
        self.settle()


TestReplicas = pytest.mark.slow(Replicas.TestCase)
TestReplicas.settings = settings(
    max_examples=300, stateful_step_count=50, deadline=None, suppress_health_check=list(HealthCheck)
)
