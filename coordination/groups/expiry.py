"""What goes without being asked: offsets whose retention has passed, groups without any, offsets of deleted topics.

Since KIP-211 an offset's retention begins when it can be of no more use to anybody:
- in a group without members, when the group became empty;
- in a stable group of consumers, when it was committed, if nobody subscribes to its topic any longer;
- in a group without membership, when it was committed.
In any other state nothing expires. An offset that an old client gave a retention of its own expires by that.
An empty group that has no offset left goes too; so does one that never had any, at the next look.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from barnabas.coordination.groups.administration import bury_group
from barnabas.coordination.groups.classic_group import ClassicGroup, GroupState
from barnabas.coordination.groups.deadlines import EXPIRY
from barnabas.coordination.groups.decision import Decision
from barnabas.coordination.groups.offsets import CommittedOffset
from barnabas.coordination.groups.records import GroupRecord, offset_tombstone
from barnabas.coordination.groups.shard import GroupShard
from barnabas.coordination.outcome import Outcome
from barnabas.protocol.schema import Uuid

__all__ = ["decide_topics_deleted", "expire"]

RECORDS_A_LOOK = 1_000
"""So that a batch of tombstones stays small; the rest follows at once."""


def expire(decision: Decision) -> None:
    """One look, and when the next one is due."""
    for group in decision.shard.groups.values():
        if isinstance(group, ClassicGroup):
            _expire_group(decision, group)
        if len(decision.records) >= RECORDS_A_LOOK:
            decision.set_deadline(EXPIRY, 0)
            return
    decision.set_deadline(EXPIRY, decision.config.offsets_retention_check_interval_ms)


def _expire_group(decision: Decision, group: ClassicGroup) -> None:
    store = decision.shard.offsets
    offsets = store.committed.of_group(group.group_id)
    retention_begins = _retention_begins(group)
    if offsets and retention_begins is None:
        return
    kept = bool(store.pending_partitions(group.group_id))
    for topic, partitions in offsets.items():
        if group.is_subscribed_to(topic):
            kept = True
            continue
        for index, offset in partitions.items():
            if len(decision.records) >= RECORDS_A_LOOK:
                return
            assert retention_begins is not None
            pending = store.is_pending(group.group_id, topic, index)
            if not pending and _has_expired(decision, offset, retention_begins(offset)):
                decision.records.append(offset_tombstone(group.group_id, topic, index))
            else:
                kept = True
    if group.is_empty and not kept:
        bury_group(decision, group.group_id)


def _retention_begins(group: ClassicGroup) -> Callable[[CommittedOffset], int] | None:
    """From when an offset's retention counts; None while it does not count."""
    if group.protocol_type is None:
        return lambda offset: offset.commit_timestamp_ms
    if group.is_empty:
        since_ms = group.state_since_ms
        return lambda offset: offset.commit_timestamp_ms if since_ms is None else since_ms
    if group.uses_consumer_protocol and group.subscribed_topics is not None and group.state is GroupState.STABLE:
        return lambda offset: offset.commit_timestamp_ms
    return None


def _has_expired(decision: Decision, offset: CommittedOffset, begins_ms: int) -> bool:
    if offset.expire_timestamp_ms is not None:
        return decision.now_ms >= offset.expire_timestamp_ms
    return decision.now_ms - begins_ms >= decision.config.offsets_retention_ms


def decide_topics_deleted(shard: GroupShard, topic_ids: Mapping[str, Uuid], now_ms: int) -> Outcome[GroupRecord, None]:
    """Tombstones for all offsets of these topics, whatever group's they are: those of the deleted id, and those of old
    records that name none. Without them, a topic that is created again under the name would inherit the offsets.
    They may be appended, and applied, in as many batches as they fill."""
    decision = Decision(shard, now_ms)
    for offsets in (shard.offsets.committed, *shard.offsets.pending.values()):
        for group_id in offsets.groups():
            topics = offsets.of_group(group_id)
            for name, topic_id in topic_ids.items():
                for index, offset in topics.get(name, {}).items():
                    if offset.topic_id in (Uuid.ZERO, topic_id):
                        decision.records.append(offset_tombstone(group_id, name, index))
    return decision.outcome(None)
