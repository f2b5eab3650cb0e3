"""What is read at the source: of each broker what it leads, one question ahead of what is being sent."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import NamedTuple

from barnabas.cli.failures import CommandFailed
from barnabas.cli.mirror.lane import NO_EPOCH, Lane, Load
from barnabas.cli.mirror.leaders import Leaders
from barnabas.cli.mirror.patience import Patience
from barnabas.cli.mirror.pieces import pieces_of
from barnabas.cli.mirror.settings import Settings
from barnabas.cli.side_by_side import SideBySide
from barnabas.client.cluster import Cluster, Partition
from barnabas.client.errors import ClientError, code_of
from barnabas.client.fetching import FetchFrom, batches_of, fetch
from barnabas.client.offsets import EARLIEST, LATEST, list_offsets
from barnabas.client.visible import visible
from barnabas.protocol.errors import ErrorCode, KafkaError, MalformedFrame
from barnabas.protocol.messages.fetch import PartitionData

__all__ = ["Source"]

_ANSWER_BYTES = 16 << 20
"""Of one broker at a time; twice as much of each is in memory at most."""
_MAX_WAIT_MS = 500

_LOADS_AHEAD = 2
_REMEDY = "Delete the topic at the target to have it copied anew."

_ANOTHER_TOPIC = (
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.INCONSISTENT_TOPIC_ID,
)


class _Asked(NamedTuple):
    broker: int
    lanes: list[tuple[Lane, int]]
    """With their turns."""
    answer: Future[dict[Partition, PartitionData]]


class Source:
    def __init__(
        self,
        cluster: Cluster,
        asking: SideBySide,
        patience: Patience,
        settings: Settings,
        note: Callable[[str], None],
    ) -> None:
        self.cluster = cluster
        self._asking = asking
        self._patience = patience
        self._settings = settings
        self._note = note
        self._leaders = Leaders(cluster)
        self._lanes: deque[Lane] = deque()
        self._asked: dict[int, _Asked] = {}
        self.topics_changed = False
        """A topic is not what it was: somebody has to look at all of them."""

    def carry(self, lanes: Iterable[Lane]) -> None:
        """These, and no others any more."""
        now = deque(lanes)
        for lane in set(self._lanes) - set(now):
            self._patience.forget(lane)
        self._lanes = now

    def load(self, wait_s: float) -> None:
        """What has come meanwhile is handed to its lane. Each broker is asked for more before that is sent."""
        self._ask_all()
        if not self._asked:
            time.sleep(wait_s)
            return
        done, _ = wait([asked.answer for asked in self._asked.values()], wait_s, FIRST_COMPLETED)
        for asked in [each for each in self._asked.values() if each.answer in done]:
            del self._asked[asked.broker]
            try:
                told = asked.answer.result()
            except (ClientError, KafkaError) as error:
                for lane, _ in asked.lanes:
                    self._leaders.forget(lane.source)
                    self._patience.bear(lane, error)
            else:
                self._take(asked, told)
        self._ask_all()

    def _ask_all(self) -> None:
        """Those brokers that are not answering just now. A partition is asked of one broker alone, and not at all while
        what came is not taken by the target."""
        busy = {lane for asked in self._asked.values() for lane, _ in asked.lanes}
        idle = {
            lane.source: lane
            for lane in self._lanes
            if lane not in busy and len(lane.loads) < _LOADS_AHEAD and self._patience.may_try(lane)
        }
        try:
            brokers = self._leaders.by_broker(idle)
        except ClientError as error:
            for lane in idle.values():
                self._patience.bear(lane, error)
            return
        for each in idle.keys() - {each for own in brokers.values() for each in own}:
            self._patience.bear(idle[each], KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, f"partition {each}"))
        for broker, own in brokers.items():
            if broker in self._asked:
                continue
            lanes = [idle[each] for each in own]
            answer = self._asking.ask(broker, self._question(lanes))
            if answer is None:
                for lane in lanes:
                    self._leaders.forget(lane.source)
                    self._patience.bear(lane, KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, f"broker {broker}"))
            else:
                self._asked[broker] = _Asked(broker, [(lane, lane.turn) for lane in lanes], answer)
        # An answer may be full before it comes to the last: the next one begins with another partition.
        self._lanes.rotate(-1)

    def _question(self, lanes: Sequence[Lane]) -> Callable[[Cluster], dict[Partition, PartitionData]]:
        wanted = [
            FetchFrom(
                lane.source,
                lane.source_id,
                lane.fetch_offset,
                lane.fetched_epoch,
                # Of a broker that only follows by now it could not be told whether records are lost or late.
                self._leaders.epoch(lane.source),
            )
            for lane in lanes
        ]
        return lambda one: fetch(
            one,
            wanted,
            partition_bytes=self._settings.fetch_bytes,
            answer_bytes=_ANSWER_BYTES,
            max_wait_ms=_MAX_WAIT_MS,
            committed=True,
        )

    def _take(self, asked: _Asked, told: dict[Partition, PartitionData]) -> None:
        for lane, turn in asked.lanes:
            data = told.get(lane.source)
            if data is None or lane.turn != turn:
                continue
            if data.error_code:
                self._refused(lane, code_of(data.error_code))
            elif data.diverging_epoch is not None:
                raise CommandFailed(
                    f"{lane.source} at the source has lost records that were copied: its log took another way at "
                    f"offset {data.diverging_epoch.end_offset}, and {lane.fetch_offset} was reached. {_REMEDY}"
                )
            else:
                self._patience.well(lane)
                lane.readable_end = data.last_stable_offset
                self._load(lane, data)

    def _load(self, lane: Lane, data: PartitionData) -> None:
        first = lane.fetch_offset
        try:
            batches = batches_of(data, first)
            shown = visible(batches, data.aborted_transactions or ())
            pieces = list(pieces_of(shown, first, self._settings.batch_bytes))
        except MalformedFrame as error:
            raise CommandFailed(
                f"What {lane.source} at the source has from offset {first} on is damaged ({error}): "
                "barnabas log verify on its broker tells more."
            ) from None
        if batches:
            lane.fetch_offset, lane.fetched_epoch = batches[-1].next_offset, batches[-1].partition_leader_epoch
            lane.loads.append(Load(pieces, lane.fetch_offset, lane.fetched_epoch))

    def _refused(self, lane: Lane, code: ErrorCode) -> None:
        if code is ErrorCode.OFFSET_OUT_OF_RANGE:
            self._out_of_range(lane)
        elif code in _ANOTHER_TOPIC:
            self.topics_changed = True
            self._patience.bear(lane, KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"partition {lane.source}"))
        else:
            self._leaders.forget(lane.source)
            self._patience.bear(lane, KafkaError(code, f"partition {lane.source} of the source"))

    def _out_of_range(self, lane: Lane) -> None:
        self._leaders.forget(lane.source)
        try:
            first, end = (self._offset(lane, when) for when in (EARLIEST, LATEST))
        except (ClientError, KafkaError) as error:
            self._patience.bear(lane, error)
            return
        at = lane.fetch_offset
        if first <= at <= end:
            # It was the epoch that is not known any more.
            lane.fetched_epoch = NO_EPOCH
            return
        if at > end:
            raise CommandFailed(
                f"{lane.source} at the source ends at offset {end}, and up to {at} was copied: it has lost records. "
                f"{_REMEDY}"
            )
        what = f"{lane.source} at the source begins at offset {first}, and {at} was to be copied next"
        if not self._settings.allow_loss:
            raise CommandFailed(f"{what}: {first - at} offsets are lost. --allow-loss goes on behind them.")
        self._note(f"{what}: {first - at} offsets are lost.")
        lane.fetch_offset, lane.fetched_epoch = first, NO_EPOCH
        # Behind what has come already: there is nothing to be sent, and it goes on there.
        lane.loads.append(Load([], first, NO_EPOCH))

    def _offset(self, lane: Lane, when: int) -> int:
        told = list_offsets(self.cluster, {lane.source: when})[lane.source]
        if isinstance(told, KafkaError):
            raise told
        return told.offset
