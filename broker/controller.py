"""The active controller of a quorum of one: the four steps around `barnabas.coordination.controller`.

A decision is appended and applied to the controller's own image at once; the broker's image, which clients see, follows
when the records are synced. Whoever is answered therefore finds what was decided in every answer after that.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import trio

from barnabas.broker.clock import Clock
from barnabas.broker.own_metadata_log import OwnMetadataLog
from barnabas.coordination.cluster.delta import ImageDelta
from barnabas.coordination.cluster.image import ClusterImage
from barnabas.coordination.cluster.records import MetadataRecord
from barnabas.coordination.controller.state import Controller
from barnabas.coordination.outcome import Outcome
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.replication.watermark import Watermark
from barnabas.storage.durability import Unsynced

__all__ = ["ControllerService"]

Reply = TypeVar("Reply")
Decision = Callable[[Controller, int], Outcome[MetadataRecord, Reply]]
"""Of the controller's state and the time."""


class _Appended(NamedTuple):
    records: tuple[MetadataRecord, ...]
    base_offset: int
    timestamp_ms: int

    @property
    def next_offset(self) -> int:
        return self.base_offset + len(self.records)


def _nothing_to_prepare(_records: Sequence[MetadataRecord]) -> None:
    return None


class ControllerService:
    def __init__(
        self,
        controller: Controller,
        journal: OwnMetadataLog,
        image: ClusterImage,
        clock: Clock,
        *,
        on_change: Callable[[ImageDelta], None],
        on_failure: Callable[[OSError, bool], None],
        on_broken: Callable[[Exception], None],
        after_commit: Callable[[], None],
        sync_in_thread: bool,
        preparation: Callable[[Sequence[MetadataRecord]], Callable[[], None] | None] = _nothing_to_prepare,
    ) -> None:
        """`image` is the broker's; `on_change` is told what each commit changed in it, `after_commit` that there was
        one; `on_failure` what the disk said, and whether something was written that it may have lost; `on_broken` of a
        decision that cannot be applied: nothing of it is left in the log, and nothing is decided any more. Where
        syncing costs nothing, as in memory, it needs no thread. `preparation` gives work that the thread does when the
        records are safe, so that `on_change` has less to do."""
        self.controller = controller
        self.image = image
        self._journal = journal
        self._clock = clock
        self._on_change = on_change
        self._on_failure = on_failure
        self._on_broken = on_broken
        self._is_broken = False
        self._after_commit = after_commit
        self._sync_in_thread = sync_in_thread
        self._preparation = preparation
        self._uncommitted: deque[_Appended] = deque()
        self._appended = trio.Event()
        self.committed = Watermark(journal.end_offset)

    async def decide(self, decision: Decision[Reply]) -> Reply:
        """Answer a request; what it changes is committed then. KafkaError if the log cannot be written to."""
        if self._is_broken:
            raise KafkaError(ErrorCode.NOT_CONTROLLER, "the controller ends, for it is broken")
        now_ms = self._clock.now_ms()
        # Decisions reckon with nothing but how long ago somebody was heard of.
        outcome = decision(self.controller, self._clock.steady.now_ms())
        base_offset = self._journal.end_offset
        if outcome.records:
            try:
                self._journal.append(outcome.records, now_ms)
            except KafkaError as error:
                self.controller.note_contact(outcome)
                if isinstance(error.__cause__, OSError):
                    self._on_failure(error.__cause__, False)
                raise
        try:
            self.controller.apply(outcome, base_offset, epoch=self._journal.epoch, timestamp_ms=now_ms)
        except Exception as error:
            # Nobody else could apply it either, this node at its next start least of all.
            self._is_broken = True
            self._journal.take_back(base_offset, now_ms)
            self._on_broken(error)
            raise
        if outcome.records:
            appended = _Appended(tuple(outcome.records), base_offset, now_ms)
            self._uncommitted.append(appended)
        if self._uncommitted:
            # An answer without records too may rest on what is not committed yet: "it exists already".
            await self._commit(self._uncommitted[-1].next_offset)
        return outcome.reply  # type: ignore[return-value] # decisions that nobody asked for have none

    async def _commit(self, offset: int) -> None:
        if not self._sync_in_thread:
            self._journal.sync()
            self._advance(self._journal.end_offset)
            return
        self._appended.set()
        await self.committed.reaches(offset)

    async def run(self) -> None:
        """Sync what is appended, all that waits at once."""
        while True:
            await self._appended.wait()
            self._appended = trio.Event()
            work = self._journal.unsynced()
            prepare = self._preparation([record for one in self._uncommitted for record in one.records])
            try:
                await trio.to_thread.run_sync(_sync_and_prepare, work, prepare)
            except OSError as error:
                # Nobody is told that anything of this was decided, and nothing more is.
                self._on_failure(error, True)
                return
            self._journal.synced(work)
            self._advance(work.offset)

    def _advance(self, offset: int) -> None:
        delta = ImageDelta()
        while self._uncommitted and self._uncommitted[0].next_offset <= offset:
            one = self._uncommitted.popleft()
            self.image.apply_batch(
                one.records, one.base_offset, epoch=self._journal.epoch, timestamp_ms=one.timestamp_ms, delta=delta
            )
        if delta:
            self._on_change(delta)
        self.committed.advance(offset)
        self._after_commit()


def _sync_and_prepare(work: Unsynced, prepare: Callable[[], None] | None) -> None:
    work.sync()
    if prepare is not None:
        prepare()
