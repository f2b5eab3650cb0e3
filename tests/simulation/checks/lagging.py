"""Who is in sync is not far behind: not longer than replica.lag.time.max.ms, and the time that it takes to be noticed
and decided."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING

import trio

from barnabas.protocol.schema import Uuid
from tests.simulation.checks.roles import in_sync_of
from tests.simulation.machine import Incarnation

if TYPE_CHECKING:
    from tests.simulation.world import World

__all__ = ["Lagging"]

LEEWAY_S = 12.0
"""Beyond one and a half times replica.lag.time.max.ms: for a request to the controller that is sent again."""

_LOOK_S = 1.0

_Leader = tuple[Uuid, int, int, str, int]


class _Ends:
    """How long a leader's log was, and when."""

    def __init__(self) -> None:
        self.moments: list[float] = []
        self.ends: list[int] = []
        self.caught_up_s: dict[int, float] = {}
        self.undisturbed_since_s = trio.current_time()


class Lagging:
    def __init__(self, world: World) -> None:
        self._world = world
        self._leaders: dict[_Leader, _Ends] = {}
        self._next_s = 0.0

    def look(self, alive: Sequence[Incarnation]) -> None:
        now_s = trio.current_time()
        if now_s < self._next_s:
            return
        self._next_s = now_s + _LOOK_S
        limit_s = self._world.lag_max_s * 1.5 + LEEWAY_S
        leaders: dict[_Leader, _Ends] = {}
        for incarnation in alive:
            if not incarnation.in_service:
                continue
            for partition in incarnation.node.partitions:
                if not partition.leads:
                    continue
                leader = (
                    partition.topic_id,
                    partition.name.partition,
                    partition.leader_epoch,
                    incarnation.name,
                    incarnation.number,
                )
                known = leaders[leader] = self._leaders.get(leader) or _Ends()
                known.moments.append(now_s)
                known.ends.append(partition.log_end.offset)
                if not self._world.can_decide(incarnation):
                    known.undisturbed_since_s = now_s
                for machine in self._world.machines:
                    if machine.node_id in in_sync_of(partition) and machine.node_id != incarnation.node.node_id:
                        node = machine.node
                        if node is None or not hasattr(node, "partitions"):
                            # Its session ends, which is another matter; or there is nobody to end it.
                            known.caught_up_s[machine.node_id] = now_s
                            continue
                        copy = node.partitions.find(partition.name.topic, partition.name.partition)
                        end = 0 if copy is None else copy.log.end_offset
                        at = bisect_right(known.ends, end) - 1
                        caught_up_s = known.moments[at] if at >= 0 else known.moments[0]
                        since_s = max(known.caught_up_s.get(machine.node_id, known.moments[0]), caught_up_s)
                        known.caught_up_s[machine.node_id] = since_s
                        if now_s - max(since_s, known.undisturbed_since_s) > limit_s:
                            self._world.fail(
                                f"{machine.name} is in sync for {incarnation.name}, which leads {partition}, and has "
                                f"not had all of it for {now_s - since_s:.0f} s"
                            )
        self._leaders = leaders
