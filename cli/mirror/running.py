"""The mirror at work: look which topics there are, fetch, write down what will be sent, send."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from barnabas.cli.clients.interruption import Interruption
from barnabas.cli.failures import CommandFailed
from barnabas.cli.mirror.groups import GroupSync
from barnabas.cli.mirror.lane import Lane
from barnabas.cli.mirror.map import Heartbeat, Map, forgotten_runs, record_of, runs_record
from barnabas.cli.mirror.map_topic import MapTopic, read_map
from barnabas.cli.mirror.opening import open_lanes
from barnabas.cli.mirror.patience import Patience
from barnabas.cli.mirror.settings import Settings
from barnabas.cli.mirror.source import Source
from barnabas.cli.mirror.target import Target
from barnabas.cli.mirror.telling import Teller
from barnabas.cli.mirror.topics import keep_in_step
from barnabas.cli.side_by_side import SideBySide
from barnabas.client.cluster import Cluster, Partition
from barnabas.client.errors import ClientError
from barnabas.client.offsets import EARLIEST, LATEST, FoundOffset, list_offsets
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.record import Record

__all__ = ["Mirroring"]

_TURN_S = 0.1
"""So often it is looked whether something else is due."""


class _Due:
    """Something that is to be done every so many seconds, and once at the beginning."""

    def __init__(self, every_s: float) -> None:
        self._every_s = every_s
        self._next_s = 0.0

    def __call__(self) -> bool:
        now_s = time.monotonic()
        if now_s < self._next_s:
            return False
        self._next_s = now_s + self._every_s
        return True


class Mirroring:
    def __init__(
        self, source: Cluster, target: Cluster, settings: Settings, teller: Teller, interruption: Interruption
    ) -> None:
        self._settings = settings
        self._teller = teller
        self._interruption = interruption
        self._asking = SideBySide(source), SideBySide(target)
        of_source, self._patience = (
            Patience(who, settings.patience_s, teller.note, lambda: bool(interruption)) for who in ("source", "target")
        )
        self._source = Source(source, self._asking[0], of_source, settings, teller.note)
        self._target = Target(target, self._asking[1], self._patience)
        factor = settings.replication_factor
        self._map_topic = MapTopic(self._target, settings.offsets_topic, self._patience, replication_factor=factor)
        self._map = Map()
        self._groups = GroupSync(source, target, settings, teller.note)
        self._lanes: dict[Partition, Lane] = {}
        self._parked: dict[Partition, Lane] = {}
        """Of topics that are not there just now."""
        self._is_one_cluster = False
        self._copies: set[str] = set()
        self._ends: dict[Partition, int] | None = None
        """Up to where, with --catch-up."""
        self._due_topics, self._due_groups = _Due(settings.refresh_s), _Due(settings.groups_s)
        self._due_heartbeat, self._due_report = _Due(settings.heartbeat_s), _Due(settings.report_s)

    def close(self) -> None:
        for each in self._asking:
            each.close()

    def run(self) -> None:
        self._take_over()
        self._due_report()  # there is nothing to tell yet
        while not self._interruption:
            if self._due_topics() or self._source.topics_changed:
                self._try("topics", self._look_at_topics)
            self._source.load(_TURN_S)
            self._send()
            if self._settings.groups is not None and self._due_groups():
                self._try("groups", self._carry_groups)
            if self._due_heartbeat():
                self._beat()
            if self._due_report():
                self._report()
            if self._is_there():
                break
        self._end()

    def _take_over(self) -> None:
        source, target = self._source.cluster, self._target.cluster
        source_id, target_id = (cluster.describe().cluster_id for cluster in (source, target))
        self._is_one_cluster = source_id == target_id
        if self._is_one_cluster and not self._settings.prefix:
            raise CommandFailed("Source and target are the same cluster: give the copies a --prefix.")
        if not self._is_one_cluster:
            self._copies = _copies_from(source, self._settings.offsets_topic, target_id)
        self._map = self._map_topic.take_over(source_id, self._settings.prefix)

    def _try(self, key: str, what: Callable[[], None]) -> None:
        """What does not work now is tried again in a while."""
        if not self._patience.may_try(key):
            return
        try:
            what()
        except (ClientError, KafkaError) as error:
            self._source.cluster.forget()
            self._target.cluster.forget()
            self._patience.bear(key, error)
        else:
            self._patience.well(key)

    # Topics

    def _look_at_topics(self) -> None:
        # Only when all of it has been done it counts as looked at.
        self._source.topics_changed = True
        found = keep_in_step(
            self._source.cluster,
            self._target.cluster,
            self._settings,
            self._takes,
            self._teller.note,
        )
        wanted = {Partition(each.source, number): each for each in found for number in range(each.partitions)}
        for partition, lane in [*self._lanes.items(), *self._parked.items()]:
            topic = wanted.get(partition)
            if topic is None:
                self._parked[partition] = lane
                self._lanes.pop(partition, None)
            elif (lane.source_id, lane.target_id) == (topic.source_id, topic.target_id):
                self._lanes[partition] = lane
                self._parked.pop(partition, None)
            else:
                self._lanes.pop(partition, None)
                self._parked.pop(partition, None)
        new = {partition: topic for partition, topic in wanted.items() if partition not in self._lanes}
        opened = open_lanes(self._source.cluster, self._target, self._map, new, self._settings, self._teller.note)
        self._lanes |= opened
        self._source.carry(self._lanes.values())
        # Before anything is copied: from where on it is to be.
        self._write_positions(opened.values())
        self._forget_what_is_deleted()
        if self._settings.catch_up and self._ends is None:
            if not self._lanes:
                raise CommandFailed("No topic of the source is meant: see barnabas topics --list.")
            self._ends = _ends_of(self._source.cluster, self._lanes)
        self._source.topics_changed = False

    def _takes(self, topic: str) -> bool:
        if topic in self._copies or (self._is_one_cluster and topic.startswith(self._settings.prefix)):
            return False
        return self._settings.takes(topic)

    def _forget_what_is_deleted(self) -> None:
        found = list_offsets(self._source.cluster, dict.fromkeys(self._lanes, EARLIEST), patient=False)
        now_ms = _now_ms()
        records: list[Record] = []
        for partition, told in found.items():
            lane = self._lanes[partition]
            first = lane.runs.forget_before(told.offset) if isinstance(told, FoundOffset) else None
            if first is None:
                continue
            for name in [name for name, last in lane.written.items() if last < first]:
                del lane.written[name]
                records.append(forgotten_runs(partition, str(lane.source_id), name, now_ms))
        if records:
            self._write(records)

    # Records

    def _send(self) -> None:
        """Of those that have something new it is written down first."""
        begun = [
            lane
            for lane in self._lanes.values()
            if lane.loads and not lane.plan and not lane.pieces and lane.begin_next()
        ]
        self._write_positions(begun)
        self._target.send(self._lanes.values())

    def _write_positions(self, lanes: Iterable[Lane]) -> None:
        records = [record for lane in lanes for record in self._records_of(lane)]
        if records:
            self._write(records)

    def _records_of(self, lane: Lane) -> list[Record]:
        now_ms = _now_ms()
        records = []
        if lane.new_pairs:
            records.append(runs_record(lane.source, str(lane.source_id), lane.new_pairs, now_ms))
            lane.written[lane.new_pairs[0][0]] = lane.new_pairs[-1][0]
            lane.new_pairs.clear()
        lane.moved = False
        records.append(record_of(lane.position(), now_ms, at=lane.source, session=self._map_topic.session))
        return records

    def _write(self, records: list[Record]) -> None:
        if not self._map_topic.write(records):
            # An older process has said something of its own in between.
            self._map_topic.write([record for lane in self._lanes.values() for record in self._records_of(lane)])

    # What else there is

    def _carry_groups(self) -> None:
        self._teller.groups_moved(self._groups.carry(self._lanes))

    def _beat(self) -> None:
        lanes = self._lanes.values()
        lag = sum(lane.lag for lane in lanes)
        beat = Heartbeat(_now_ms(), lag, len(lanes), self._target.records, self._target.size)
        moved = [record for lane in lanes if lane.moved for record in self._records_of(lane)]
        self._write([*moved, record_of(beat, beat.time_ms, session=self._map_topic.session)])

    def _report(self) -> None:
        self._teller.report(self._lanes.values(), self._target.records, self._target.size)

    def _is_there(self) -> bool:
        """With --catch-up, whether all is that was there at the beginning."""
        if self._ends is None:
            return False
        return all(lane.next >= self._ends.get(partition, 0) for partition, lane in self._lanes.items())

    def _end(self) -> None:
        if self._settings.groups is not None and not self._interruption:
            self._carry_groups()
        self._beat()
        self._report()


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _copies_from(source: Cluster, offsets_topic: str, target_id: str) -> set[str]:
    """Topics of the source that a mirror out of the target makes: they would go round and round."""
    try:
        found = read_map(source, offsets_topic)
    except CommandFailed:
        return set()
    except KafkaError as error:
        if error.code in (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.TOPIC_AUTHORIZATION_FAILED):
            return set()
        raise
    if found.mirror is None or found.mirror.source != target_id:
        return set()
    return {found.mirror.prefix + partition.topic for partition in found.positions}


def _ends_of(source: Cluster, lanes: Iterable[Partition]) -> dict[Partition, int]:
    found = list_offsets(source, dict.fromkeys(lanes, LATEST), committed=True)
    for told in found.values():
        if isinstance(told, KafkaError):
            raise told
    return {partition: told.offset for partition, told in found.items() if isinstance(told, FoundOffset)}
