"""What groups have committed at the source, committed at the target: the offset of the record that comes next."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from barnabas.cli.mirror.lane import Lane
from barnabas.cli.mirror.settings import Settings
from barnabas.client.cluster import Cluster, Partition
from barnabas.client.committed import Offsets, commit_offsets, committed_offsets
from barnabas.client.groups import CLASSIC, CONSUMER, Group, describe_consumer_groups, list_groups
from barnabas.protocol.errors import ErrorCode, KafkaError

__all__ = ["GroupSync"]

_WITHOUT_MEMBERS = ("empty", "dead")


class GroupSync:
    def __init__(self, source: Cluster, target: Cluster, settings: Settings, note: Callable[[str], None]) -> None:
        self._source = source
        self._target = target
        self._settings = settings
        self._note = note
        self._told: set[str] = set()

    def carry(self, lanes: Mapping[Partition, Lane]) -> list[str]:
        """Those whose offsets moved at the target."""
        names = [each.name for each in list_groups(self._source, types=(CLASSIC, CONSUMER))]
        wanted = [name for name in names if self._settings.takes_group(name)]
        if not wanted:
            return []
        there = committed_offsets(self._target, wanted)
        moved = []
        for name, offsets in committed_offsets(self._source, wanted).items():
            if isinstance(offsets, KafkaError):
                self._tell_once(name, f"What the group {name} has committed cannot be read at the source: {offsets}.")
                continue
            before = there[name]
            ahead = _ahead(lanes, offsets, {} if isinstance(before, KafkaError) else before)
            if ahead and self._is_free(name):
                failed = commit_offsets(self._target, name, ahead)
                for partition, error in failed.items():
                    self._tell_once(name, f"The offset of the group {name} for {partition} is not taken: {error}.")
                if len(failed) < len(ahead):
                    moved.append(name)
        return moved

    def _is_free(self, name: str) -> bool:
        """Members at the target know better where they are."""
        found = describe_consumer_groups(self._target, [name])[name]
        if isinstance(found, KafkaError):
            return found.code is ErrorCode.GROUP_ID_NOT_FOUND
        free = isinstance(found, Group) and (not found.members or found.state.lower() in _WITHOUT_MEMBERS)
        if not free:
            self._tell_once(name, f"The group {name} has members at the target: its offsets are left to them.")
        return free

    def _tell_once(self, name: str, text: str) -> None:
        if name not in self._told:
            self._told.add(name)
            self._note(text)


def _ahead(lanes: Mapping[Partition, Lane], offsets: Offsets, there: Offsets) -> dict[Partition, int]:
    """At the target, where they are behind what is committed there they are not moved."""
    found = {}
    for partition, committed in offsets.items():
        lane = lanes.get(partition)
        offset = None if lane is None else lane.translate(committed.offset)
        if lane is None or offset is None:
            continue
        known = there.get(lane.target)
        if known is None or known.offset < offset:
            found[lane.target] = offset
    return found
