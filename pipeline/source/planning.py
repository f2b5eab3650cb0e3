"""From which offset to which each partition is read: by a batch query, or by the next batch of a stream."""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.client.cluster import Partition
from barnabas.pipeline.source.errors import report_loss
from barnabas.pipeline.source.options import SourceOptions
from barnabas.pipeline.source.position import Position
from barnabas.pipeline.source.ranges import OffsetRange, split
from barnabas.pipeline.source.topics import Topics

__all__ = ["StreamPlanner", "limited", "plan_batch"]


def plan_batch(options: SourceOptions) -> list[OffsetRange]:
    topics = Topics(options)
    try:
        there = topics.partitions()
        starts = topics.starts(options.starting, set(there))
        ends = topics.ends(options.ending, set(there))
        latest = topics.latest(there)
    finally:
        topics.close()
    for partition in sorted(there):
        if ends[partition] > latest[partition]:
            report_loss(
                f"{options.ending.option} has offset {ends[partition]} for {partition}, which ends at "
                f"{latest[partition]}.",
                fail=options.fail_on_data_loss,
            )
    ranges = [OffsetRange(each, there[each], starts[each], min(ends[each], latest[each])) for each in there]
    return split(ranges, options.min_partitions, options.max_records_per_partition)


class StreamPlanner:
    """Remembers where the stream is: Spark 4.0 asks a source in Python for its latest offset without saying from where,
    and maxOffsetsPerTrigger counts from there."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._topics = Topics(options)
        self._began: Position | None = None
        self._at: Position | None = None

    def close(self) -> None:
        self._topics.close()

    def initial(self) -> Position:
        """Spark asks for it once the first batch has an end already, and once more if it stopped in that batch."""
        if self._began is None:
            there = self._topics.partitions()
            starts = self._topics.starts(self._options.starting, set(there))
            self._began = Position(starts, {each.topic: topic_id for each, topic_id in there.items()})
        return self._began

    def latest(self) -> Position:
        at = self._at or self.initial()
        there, ends = self._topics.now()
        topic_ids = {each.topic: topic_id for each, topic_id in there.items()}
        if self._options.max_offsets_per_trigger is not None:
            same = {each: offset for each, offset in at.offsets.items() if at.topic_ids[each.topic] == there.get(each)}
            starts = same | self._topics.earliest(there.keys() - same.keys())
            ends = limited(starts, ends, self._options.max_offsets_per_trigger)
        if self._at is not None and ends == at.offsets and topic_ids == at.topic_ids:
            return at
        began = {} if self._at is not None else at.offsets
        self._at = Position(ends, topic_ids, {each: offset for each, offset in began.items() if each in ends})
        return self._at

    def ranges(self, start: Position, end: Position) -> list[OffsetRange]:
        """Spark calls it with twice the same to say where a stream that begins again has been."""
        self._at = end
        if self._began is None and end.began:
            self._began = Position(end.began, end.topic_ids)
        if start.offsets == end.offsets and start.topic_ids == end.topic_ids:
            return []
        starts = self._starts(start, end)
        found = []
        for partition, until in sorted(end.offsets.items()):
            if until < starts[partition]:
                self._report(f"The end of {partition} was expected at offset {starts[partition]}, and is at {until}.")
            found.append(OffsetRange(partition, end.topic_ids[partition.topic], starts[partition], until))
        return split(found, self._options.min_partitions, self._options.max_records_per_partition)

    def _starts(self, start: Position, end: Position) -> Mapping[Partition, int]:
        """Of partitions that are new, or whose topic is, their first offset."""
        for partition in sorted(start.offsets.keys() - end.offsets.keys()):
            self._report(
                f"The partition {partition} has been deleted, of which offset {start.offsets[partition]} was next."
            )
        again = {each for each in end.offsets.keys() & start.offsets.keys() if _is_another(each, start, end)}
        new = end.offsets.keys() - start.offsets.keys()
        found = {each: offset for each, offset in start.offsets.items() if each in end.offsets}
        first = self._topics.earliest(again | new)
        for partition in sorted(again):
            self._report(
                f"The topic of {partition} has been deleted and created again: offset {start.offsets[partition]} of "
                f"the old one was next, and the new one begins at {first[partition]}."
            )
        for partition in sorted(new):
            if first[partition]:
                self._report(
                    f"The new partition {partition} was expected to begin at 0, and begins at {first[partition]}."
                )
        return found | first

    def _report(self, what: str) -> None:
        report_loss(what, fail=self._options.fail_on_data_loss)


def _is_another(partition: Partition, start: Position, end: Position) -> bool:
    return start.topic_ids[partition.topic] != end.topic_ids[partition.topic]


def limited(starts: Mapping[Partition, int], ends: Mapping[Partition, int], most: int) -> dict[Partition, int]:
    """Ends that leave so many offsets between both, each partition's share in proportion to what it has; never fewer
    than one offset of a partition that has any, so that none waits for ever."""
    total = sum(max(end - starts[each], 0) for each, end in ends.items())
    if total <= most:
        return dict(ends)
    return {
        each: min(end, starts[each] + max(1, (end - starts[each]) * most // total)) if end > starts[each] else end
        for each, end in ends.items()
    }
