"""Why each segment of a log is kept and until when, what pins its last stable offset, and why its compaction waits."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from barnabas.cli.log.settings import Settings
from barnabas.cli.moments import show_moment
from barnabas.storage.checkpoints import (
    CLEANER_OFFSET_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    read_clean_shutdown,
    read_offsets,
)
from barnabas.storage.compaction_plan import CompactionPlan, gather_facts, plan_compaction
from barnabas.storage.directory_names import LOCK, TopicPartition, parse_directory
from barnabas.storage.disk import is_locked
from barnabas.storage.loading import open_log
from barnabas.storage.log import Log
from barnabas.storage.producer import Producer
from barnabas.storage.retention import Verdict, explain
from barnabas.storage.segment_reading import CorruptSegment
from barnabas.storage.topic_config import TopicConfig
from barnabas.storage.trial_disk import TrialDisk

__all__ = ["Explained", "explain_partition"]

_ALL = 2**63 - 1


class Pin(NamedTuple):
    """A transaction that has not ended."""

    producer: Producer
    first_offset: int
    since_ms: int | None


class Explained(NamedTuple):
    partition: TopicPartition
    directory: Path
    config: TopicConfig
    log: Log
    high_watermark: int
    last_stable_offset: int
    pins: list[Pin]
    verdicts: list[Verdict]
    compaction: CompactionPlan | None
    """None where the topic is not compacted."""
    remarks: list[str]
    """What had to be passed over to read it."""

    def as_json(self) -> dict[str, Any]:
        log = self.log
        return {
            "topic": self.partition.topic,
            "partition": self.partition.partition,
            "directory": str(self.directory),
            "startOffset": log.start_offset,
            "endOffset": log.end_offset,
            "highWatermark": self.high_watermark,
            "lastStableOffset": self.last_stable_offset,
            "size": log.size,
            "cleanupPolicy": list(self.config.cleanup_policy),
            "retentionMs": self.config.retention_ms,
            "retentionBytes": self.config.retention_bytes,
            "transactions": [
                {
                    "producerId": pin.producer.producer_id,
                    "producerEpoch": pin.producer.epoch,
                    "firstOffset": pin.first_offset,
                    "since": None if pin.since_ms is None else show_moment(pin.since_ms),
                }
                for pin in self.pins
            ],
            "segments": [self._segment_json(verdict) for verdict in self.verdicts],
            "compaction": None if self.compaction is None else _compaction_json(self.compaction),
            "remarks": self.remarks,
        }

    def _segment_json(self, verdict: Verdict) -> dict[str, Any]:
        latest = verdict.segment.latest[0]
        return {
            "baseOffset": verdict.segment.base_offset,
            "size": verdict.segment.size,
            "latestTime": None if latest < 0 else show_moment(latest),
            "due": verdict.due,
            "keptUntil": None if verdict.due_ms is None else show_moment(verdict.due_ms),
            "reason": verdict.reason,
        }


def _compaction_json(plan: CompactionPlan) -> dict[str, Any]:
    return {
        "due": plan.due,
        "firstDirtyOffset": plan.first_dirty_offset,
        "endOffset": plan.end_offset,
        "cleanBytes": plan.clean_bytes,
        "dirtyBytes": plan.dirty_bytes,
        "dirtyRatio": round(plan.dirty_ratio, 4),
        "dueAt": None if plan.due_ms is None else show_moment(plan.due_ms),
        "reason": plan.explain,
    }


def explain_partition(directory: Path, settings: Settings, now_ms: int) -> Explained:
    """OSError, MalformedFile or CorruptSegment where it cannot be opened. Nothing of it is changed."""
    partition, _ = parse_directory(directory.resolve())
    disk = TrialDisk()
    place, parent = directory.resolve(), directory.resolve().parent
    key = partition.topic, partition.partition
    config = settings.of(partition.topic)
    remarks: list[str] = []
    log = open_log(
        disk,
        place,
        config,
        now_ms=now_ms,
        clean=True,  # a crash has left no more than a rest behind the end, which reading from the index on finds
        start_offset=read_offsets(disk, parent / LOG_START_OFFSET_CHECKPOINT).get(key, 0),
        producer_expiration_ms=_ALL,
        report=remarks.append,
    )
    if is_locked(parent / LOCK) or read_clean_shutdown(disk, parent) is None:
        # What was not closed is not finished, and that is no damage.
        remarks.clear()
    high_watermark = log.end_offset
    if not settings.is_alone(*key):
        high_watermark = min(read_offsets(disk, parent / REPLICATION_OFFSET_CHECKPOINT).get(key, 0), log.end_offset)
    stable = log.producers.last_stable_offset(high_watermark, log.start_offset)
    compaction = None
    if config.compact:
        clean = read_offsets(disk, parent / CLEANER_OFFSET_CHECKPOINT).get(key)
        compaction = plan_compaction(gather_facts(log, stable, clean), now_ms)
    return Explained(
        partition,
        directory,
        config,
        log,
        high_watermark,
        stable,
        _pins(log),
        explain(log, high_watermark, now_ms),
        compaction,
        remarks,
    )


def _pins(log: Log) -> list[Pin]:
    """The oldest first: that is the one which counts."""
    pins = []
    for producer in log.producers.producers.values():
        first = producer.transaction_first_offset
        if first is not None:
            pins.append(Pin(producer, first, _time_at(log, first)))
    return sorted(pins, key=lambda pin: pin.first_offset)


def _time_at(log: Log, offset: int) -> int | None:
    try:
        place = log.segments[log.segment_number(offset)].find(offset)
    except CorruptSegment:
        return None
    return place.batch.base_timestamp if place is not None and place.batch.base_timestamp >= 0 else None
