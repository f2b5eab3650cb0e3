"""From where each partition is copied on: as the map says, and what the target says of what was under way."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from barnabas.cli.failures import CommandFailed
from barnabas.cli.mirror.lane import Lane
from barnabas.cli.mirror.map import Map
from barnabas.cli.mirror.settings import Settings
from barnabas.cli.mirror.target import Target
from barnabas.cli.mirror.topics import Mirrored
from barnabas.client.cluster import Cluster, Partition
from barnabas.client.offsets import EARLIEST, LATEST, list_offsets
from barnabas.protocol.errors import KafkaError

__all__ = ["open_lanes"]


def open_lanes(
    source: Cluster,
    target: Target,
    known: Map,
    wanted: Mapping[Partition, Mirrored],
    settings: Settings,
    note: Callable[[str], None],
) -> dict[Partition, Lane]:
    lanes: dict[Partition, Lane] = {}
    new: dict[Partition, Mirrored] = {}
    anew: set[str] = set()
    for partition, topic in wanted.items():
        position = known.positions.get(partition)
        there = Partition(topic.target, partition.number)
        if position is None:
            new[partition] = topic
        elif (position.id, position.target_id) != (str(topic.source_id), str(topic.target_id)):
            new[partition] = topic
            anew.add(topic.source)
        else:
            lane = lanes[partition] = Lane.of_position(partition, there, position, known.runs(partition, position.id))
            lane.written = known.written(partition, position.id)
    for name in sorted(anew):
        note(f"{name} was made anew since it was copied, at the source or at the target: all of it is copied.")
    for lane in lanes.values():
        _find_its_place(target, lane, note)
    if new:
        lanes |= _begin(source, target, new, settings, seen_before=bool(known.positions))
    for partition, lane in lanes.items():
        # From now on the lane knows better.
        known.pairs.pop((partition, str(lane.source_id)), None)
        known.positions[partition] = lane.position()
    return lanes


def _find_its_place(target: Target, lane: Lane, note: Callable[[str], None]) -> None:
    _, end = target.bounds(lane)
    if end < lane.target_next:
        raise CommandFailed(
            f"{lane.target} at the target ends at offset {end}, and up to {lane.target_next} was copied: it has lost "
            "records. Delete the topic there to have it copied anew."
        )
    planned = lane.planned
    if planned:
        target.look_what_arrived(lane)
        note(f"{lane.source}: of {planned} records that were under way, {planned - lane.planned} had arrived.")
    lane.read_again()


def _begin(
    source: Cluster, target: Target, wanted: Mapping[Partition, Mirrored], settings: Settings, *, seen_before: bool
) -> dict[Partition, Lane]:
    """`seen_before`: what is new by now has come while nobody looked, and is wanted as a whole."""
    when = LATEST if settings.start_latest and not seen_before else EARLIEST
    starts = list_offsets(source, dict.fromkeys(wanted, when), committed=True)
    there = {partition: Partition(topic.target, partition.number) for partition, topic in wanted.items()}
    ends = list_offsets(target.cluster, dict.fromkeys(there.values(), LATEST))
    producer = target.producer()
    lanes = {}
    for partition, topic in wanted.items():
        start, end = starts[partition], ends[there[partition]]
        for told in (start, end):
            if isinstance(told, KafkaError):
                raise told
        assert not isinstance(start, KafkaError) and not isinstance(end, KafkaError)
        lanes[partition] = Lane(
            partition, there[partition], topic.source_id, topic.target_id, start.offset, end.offset, producer, 0
        )
    return lanes
