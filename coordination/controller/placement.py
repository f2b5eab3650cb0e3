"""Where the replicas of new partitions go: striped over racks, and within each rack over its brokers.

The first replica, which leads, goes to the racks in turn, and only to brokers in service; the others go to the racks
behind it, and to fenced brokers only where a rack has no other left. Within a rack every partition starts one broker
further on. Where to begin is random, and once as many partitions are placed as brokers are in service all is shuffled,
so that large topics do not repeat the same sets of replicas.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from barnabas.coordination.controller.java_random import JavaRandom
from barnabas.protocol.errors import ErrorCode, KafkaError

__all__ = ["UsableBroker", "place_replicas"]

_NOBODY = -1


class UsableBroker(NamedTuple):
    id: int
    rack: str | None
    fenced: bool


def place_replicas(brokers: Iterable[UsableBroker], partitions: int, replicas: int, seed: int) -> list[list[int]]:
    """The brokers of each partition, or KafkaError(INVALID_REPLICATION_FACTOR)."""
    racks = _Racks(JavaRandom(seed), brokers)
    if replicas <= 0:
        raise _refusal(f"{replicas} replicas cannot be")
    if racks.unfenced == 0:
        raise _refusal("no broker is in service with a log directory that takes partitions")
    if replicas > racks.total:
        raise _refusal(f"{replicas} replicas need as many brokers, and {racks.total} can take partitions")
    return [racks.place(replicas) for _ in range(partitions)]


def _refusal(why: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REPLICATION_FACTOR, why)


class _Brokers:
    """Those of one rack, in service or not, each given once a partition."""

    def __init__(self, ids: Sequence[int], random: JavaRandom) -> None:
        self.ids = sorted(ids)
        self._partition = 0
        self._index = 0
        self._offset = random.below(len(self.ids)) if self.ids else 0

    def next(self, partition: int) -> int:
        if not self.ids:
            return _NOBODY
        if self._partition != partition:
            self._partition = partition
            self._index = 0
            self._offset = (self._offset + 1) % len(self.ids)
        if self._index >= len(self.ids):
            return _NOBODY
        broker = self.ids[(self._index + self._offset) % len(self.ids)]
        self._index += 1
        return broker


class _Rack:
    def __init__(self, brokers: Sequence[UsableBroker], random: JavaRandom) -> None:
        self.fenced = _Brokers([broker.id for broker in brokers if broker.fenced], random)
        self.unfenced = _Brokers([broker.id for broker in brokers if not broker.fenced], random)

    def next(self, partition: int) -> int:
        found = self.unfenced.next(partition)
        return self.fenced.next(partition) if found == _NOBODY else found

    def shuffle(self, random: JavaRandom) -> None:
        random.shuffle(self.fenced.ids)
        random.shuffle(self.unfenced.ids)


class _Racks:
    def __init__(self, random: JavaRandom, brokers: Iterable[UsableBroker]) -> None:
        by_rack: dict[str | None, list[UsableBroker]] = {}
        for broker in brokers:
            by_rack.setdefault(broker.rack, []).append(broker)
        self._random = random
        # Brokers without a rack are a rack of their own, which comes first.
        self._names = sorted(by_rack, key=lambda rack: (rack is not None, rack or ""))
        self._racks = {rack: _Rack(by_rack[rack], random) for rack in self._names}
        self._sorted = tuple(self._names)
        self.total = sum(map(len, by_rack.values()))
        self.unfenced = sum(len(rack.unfenced.ids) for rack in self._racks.values())
        self._partition = 0
        self._offset = random.below(len(self._names)) if self._names else 0

    def place(self, replicas: int) -> list[int]:
        if self._partition == self.unfenced and self.unfenced > 1:
            self._shuffle()
        if self._offset == len(self._names):
            self._offset = 0
        leader_rack, leader = self._place_leader()
        placed = [leader]
        rack = self._offset
        while len(placed) < replicas:
            if rack == leader_rack:
                leader_rack = _NOBODY  # the leader's own rack is passed over, the first time round
            else:
                found = self._racks[self._names[rack]].next(self._partition)
                if found != _NOBODY:
                    placed.append(found)
            rack = (rack + 1) % len(self._names)
        self._partition += 1
        self._offset += 1
        return placed

    def _place_leader(self) -> tuple[int, int]:
        rack = self._offset
        while True:
            found = self._racks[self._names[rack]].unfenced.next(self._partition)
            if found != _NOBODY:
                return rack, found
            rack = (rack + 1) % len(self._names)

    def _shuffle(self) -> None:
        self._random.shuffle(self._names)
        for rack in self._sorted:
            self._racks[rack].shuffle(self._random)
        self._partition = 0
