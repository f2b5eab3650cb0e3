"""Which replica a consumer shall read from (KIP-392), as Kafka's RackAwareReplicaSelector chooses it: one in its own
rack, the leader if it is there, else the one that has most."""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.coordination.replication.leader_state import LeaderState

__all__ = ["nearest_replica"]


def nearest_replica(state: LeaderState, offset: int, rack: str, racks: Mapping[int, str | None]) -> int | None:
    """A follower; None stands for the leader. `racks` are those of brokers which the consumer can reach.

    Who is not in sync is left out: it may fall behind for ever, and the consumer with it. So is who has not got the
    offset yet, or not any more."""
    if racks.get(state.node_id) == rack:
        return None
    near = (
        follower
        for follower in state.followers.values()
        if follower.broker_id in state.in_sync
        and follower.log_start <= offset <= follower.log_end
        and racks.get(follower.broker_id) == rack
    )
    best = max(near, key=lambda one: (one.log_end, one.caught_up_ms, one.broker_id), default=None)
    return None if best is None else best.broker_id
