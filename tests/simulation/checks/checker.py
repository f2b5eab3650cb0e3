"""What always has to hold, looked at whenever everything that was to happen at a moment has happened.

It looks into the nodes, which clients cannot: at most one leads in each epoch, its high watermark does not fall, who is
in sync has what counts, and what counts is the same everywhere.
"""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from barnabas.protocol.schema import Uuid
from barnabas.replication.partition import Partition
from tests.simulation.checks.committed import Committed, Differs
from tests.simulation.checks.images import image_text, unlike
from tests.simulation.checks.lagging import Lagging
from tests.simulation.checks.roles import in_sync_of
from tests.simulation.ledger import Place
from tests.simulation.machine import Incarnation

if TYPE_CHECKING:
    from tests.simulation.world import World

__all__ = ["Checker", "Key"]

Key = tuple[Uuid, int]


def _key(partition: Partition) -> Key:
    return partition.topic_id, partition.name.partition


METADATA: Key = (Uuid(bytes(15) + b"\x01"), 0)


class _Role(NamedTuple):
    """Of one replica in one process."""

    machine: int
    number: int
    key: Key


class Checker:
    def __init__(self, world: World) -> None:
        self._world = world
        self.committed: defaultdict[Key, Committed] = defaultdict(Committed)
        self._leaders: dict[tuple[Key, int], str] = {}
        self._high_watermarks: dict[tuple[_Role, int], int] = {}
        self._in_sync: dict[tuple[_Role, int], tuple[int, ...]] = {}
        self._verified: dict[_Role, int] = {}
        """Up to where a copy has been compared with what counts."""
        self._producer_ids: dict[int, str] = {}
        self._applied: dict[tuple[int, int], int] = {}
        self.lagging = Lagging(world)
        self._attended: set[Incarnation] = set()

    # Whenever it is quiet for a moment

    def look(self) -> None:
        alive = [machine.incarnation for machine in self._world.machines if machine.incarnation is not None]
        for incarnation in alive:
            self.looks(incarnation)
        for incarnation in alive:
            self._look_at_followers(incarnation)
        self.lagging.look(alive)

    def looks(self, incarnation: Incarnation) -> None:
        """What leads there."""
        node = incarnation.node
        if not incarnation.is_alive or not hasattr(node, "journal"):
            return
        self._look_at_metadata(incarnation)
        if not hasattr(node, "partitions"):
            return
        if incarnation not in self._attended:
            # Those that are closed are not among its partitions the next time.
            self._attended.add(incarnation)
            node.partitions.on_close.append(partial(self._look_at_former_leader, incarnation))
        for partition in node.partitions:
            if partition.leads:
                self._look_at_leader(incarnation, partition)
            elif not partition.follows:
                self._look_at_former_leader(incarnation, partition)

    def _look_at_former_leader(self, incarnation: Incarnation, partition: Partition) -> None:
        """It may have led at this very moment still."""
        role = _Role(incarnation.machine.node_id, incarnation.number, _key(partition))
        if (role, partition.leader_epoch) in self._high_watermarks:
            self._look_at_leader(incarnation, partition)

    def _look_at_leader(self, incarnation: Incarnation, partition: Partition) -> None:
        key, epoch = _key(partition), partition.leader_epoch
        role = _Role(incarnation.machine.node_id, incarnation.number, key)
        first = self._leaders.get((key, epoch))
        if first is None:
            self._leaders[key, epoch] = incarnation.name
            those = ",".join(map(str, in_sync_of(partition)))
            what = f"leads {partition.name} in epoch {epoch}, in sync {those}, end {partition.log_end.offset}"
            incarnation.machine.note(what)
            self._world.history.count("leaders")
        elif first != incarnation.name:
            self._fail(f"{incarnation.name} and {first} lead {partition.name} in epoch {epoch}")
        high_watermark = partition.high_watermark.offset
        before = self._high_watermarks.get((role, epoch))
        in_sync = in_sync_of(partition)
        if (before, self._in_sync.get((role, epoch))) == (high_watermark, in_sync):
            return
        self._in_sync[role, epoch] = in_sync
        committed = self.committed[key]
        if before is None:
            self._check(incarnation, partition, 0, committed.end_offset)
        elif before > high_watermark:
            self._fail(f"{incarnation.name}: the high watermark of {partition} was {before}")
        self._high_watermarks[role, epoch] = high_watermark
        if high_watermark > partition.log_end.offset:
            self._fail(f"{incarnation.name}: {partition} has a high watermark beyond its end")
        if high_watermark > committed.end_offset:
            committed.grow(partition.log, high_watermark)
            if committed.end_offset != high_watermark:
                self._fail(f"{incarnation.name}: {partition} has records up to {committed.end_offset} only")
        self._check_in_sync(incarnation, partition, high_watermark)

    def _check_in_sync(self, leader: Incarnation, partition: Partition, high_watermark: int) -> None:
        """Whoever is in sync has what counts, or has just lost power and is not in sync for much longer."""
        for machine in self._world.machines:
            node = machine.serving
            if node is None or machine.node_id not in in_sync_of(partition) or machine is leader.machine:
                continue
            registered = leader.node.image.brokers.get(machine.node_id)
            if registered is None or registered.epoch != node.broker_epoch:
                continue
            copy = node.partitions.find(partition.name.topic, partition.name.partition)
            if copy is not None and copy.topic_id == partition.topic_id and copy.log.end_offset < high_watermark:
                self._fail(
                    f"{leader.name} says that {partition.name} counts up to {high_watermark}, and {machine.name}, "
                    f"in sync with it in epoch {partition.leader_epoch}, has {copy}"
                )

    def _look_at_followers(self, incarnation: Incarnation) -> None:
        node = incarnation.node
        if not hasattr(node, "partitions"):
            return
        for partition in node.partitions:
            if not partition.leads:
                key = _key(partition)
                role = _Role(incarnation.machine.node_id, incarnation.number, key)
                high_watermark = partition.high_watermark.offset
                if self._verified.get(role) != high_watermark:
                    self._verified[role] = high_watermark
                    if high_watermark > self.committed[key].end_offset and partition.leader_epoch >= 0:
                        self._fail(
                            f"{incarnation.name}: {partition} counts further than the "
                            f"{self.committed[key].end_offset} of any leader"
                        )

    def _look_at_metadata(self, incarnation: Incarnation) -> None:
        """Images change by batches that are committed; what they come to is compared at quiet points."""
        node = incarnation.node
        applied, which = node.image.next_offset, (incarnation.machine.node_id, incarnation.number)
        if hasattr(node, "controller"):
            # What begins an epoch counts, and changes no image.
            applied = max(applied, node.controller.committed.offset)
        if self._applied.get(which) == applied:
            return
        if applied < self._applied.get(which, 0):
            self._fail(f"{incarnation.name} has applied metadata up to {applied}, and further before")
        self._applied[which] = applied
        committed = self.committed[METADATA]
        if applied > committed.end_offset:
            if not node.config.is_controller:
                self._fail(
                    f"{incarnation.name} has applied metadata up to {applied}, which no controller has committed"
                )
            committed.grow(node.journal.log, applied)

    # At quiet points

    def look_closely(self) -> None:
        """Every copy has every byte that counts as far as it says that it counts; images are the same."""
        images: dict[int, tuple[str, str]] = {}
        for machine in self._world.machines:
            incarnation = machine.incarnation
            if incarnation is None or not incarnation.in_service:
                continue
            node = incarnation.node
            for partition in node.partitions:
                self._check(incarnation, partition, 0, partition.high_watermark.offset)
            try:
                self.committed[METADATA].check(node.journal.log, 0, node.image.next_offset)
            except Differs as found:
                self._fail(f"{machine.name}: the log of the metadata: {found}")
            image = image_text(node.image)
            name, other = images.setdefault(node.image.next_offset, (machine.name, image))
            if other != image:
                at = node.image.next_offset
                self._fail(f"{machine.name} and {name} have other metadata at {at}:\n{unlike(other, image)}")

    def _check(self, incarnation: Incarnation, partition: Partition, start: int, end: int) -> None:
        try:
            self.committed[partition.topic_id, partition.name.partition].check(partition.log, start, end)
        except Differs as found:
            self._fail(f"{incarnation.name}: {partition}: {found}")

    # What clients were told

    def acknowledged(self, place: Place, end_offset: int, whom: str) -> None:
        counts = self.committed[place.topic_id, place.number].end_offset
        if end_offset > counts:
            self._fail(f"{whom} is acknowledged {place} up to {end_offset}, and it counts up to {counts}")

    def read(self, place: Place, offset: int, whom: str) -> None:
        counts = self.committed[place.topic_id, place.number].end_offset
        if offset >= counts:
            self._fail(f"{whom} reads {place} at {offset}, and it counts up to {counts}")

    def new_producer_id(self, producer_id: int, whom: str) -> None:
        other = self._producer_ids.setdefault(producer_id, whom)
        if other != whom:
            self._fail(f"{other} and {whom} have both producer id {producer_id}")
        self._producer_ids[producer_id] = f"{whom}, before"

    def _fail(self, text: str) -> None:
        self._world.fail(text)
