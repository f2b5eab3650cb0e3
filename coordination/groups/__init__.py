"""The coordinator of classic groups: who is in a group, what its members are assigned, and where they are.

A `GroupShard` is one partition of __consumer_offsets. The partition's leader replays its log into one, calls
`decide_loaded`, and then for every request, and whenever `deadline_ms` of the last outcome has come, takes the four
steps of `barnabas.coordination.outcome`:

    outcome = decide_request(shard, request, version, now_ms, ...)      # or the API's own function
    append(build_group_batch(outcome.records, now_ms))                  # if there are any
    shard.apply(outcome, first_offset)
    await all that the shard's log holds is committed
    answer outcome.release, then outcome.reply

- Where `reply` is None the request waits under `waits_as`, until a later outcome's `release` has its answer. One that
  waits there already is from a connection that its client has given up, and gets no answer, as in Kafka.
- If the append fails nothing has happened: the request is answered by `refusal`, which turns the log's errors into
  those that clients of a coordinator understand. For a SyncGroup `decide_sync_failed` has the answer, and those for the
  others who wait for the leader's; a tick is asked again later.
- What only reads has no records, and waits for the log as well: it may have seen what is not committed yet.
- A request about one group, `only_group`, goes to its partition as it is; one about groups of several goes to each in
  part: `parts_by_partition`, `merge_answers`.
- When leadership ends, `decide_resigned` has the answers for those who wait, and the shard is dropped.

What the broker checks before, because it needs the metadata or the client's rights, is in `broker_checks`; and what a
request is refused for without a look at any group, in `first_checks`. Groups of the consumer, share and streams
protocols are known from their records, and left alone: `other_groups`.
"""

from barnabas.coordination.groups.administration import (
    decide_delete_groups,
    decide_offset_delete,
    describe_group,
    list_groups,
)
from barnabas.coordination.groups.append_errors import error_of_append
from barnabas.coordination.groups.clock import decide_loaded, decide_resigned, decide_tick
from barnabas.coordination.groups.config import GroupConfig
from barnabas.coordination.groups.expiry import decide_topics_deleted
from barnabas.coordination.groups.first_checks import refused_at_once
from barnabas.coordination.groups.heartbeat import decide_heartbeat
from barnabas.coordination.groups.join import decide_join_group
from barnabas.coordination.groups.leave import decide_leave_group
from barnabas.coordination.groups.log import build_group_batch, replay_batches
from barnabas.coordination.groups.offset_commit import decide_offset_commit, decide_txn_offset_commit
from barnabas.coordination.groups.offset_fetch import fetch_offsets, offset_fetch_response, requested_groups
from barnabas.coordination.groups.records import GroupRecord
from barnabas.coordination.groups.refusals import refusal
from barnabas.coordination.groups.requests import decide_request, merge_answers, only_group, parts_by_partition
from barnabas.coordination.groups.shard import GroupShard
from barnabas.coordination.groups.sync import decide_sync_failed, decide_sync_group
from barnabas.coordination.java_hash import partition_of_group

__all__ = [
    "GroupConfig",
    "GroupRecord",
    "GroupShard",
    "build_group_batch",
    "decide_delete_groups",
    "decide_heartbeat",
    "decide_join_group",
    "decide_leave_group",
    "decide_loaded",
    "decide_offset_commit",
    "decide_offset_delete",
    "decide_request",
    "decide_resigned",
    "decide_sync_failed",
    "decide_sync_group",
    "decide_tick",
    "decide_topics_deleted",
    "decide_txn_offset_commit",
    "describe_group",
    "error_of_append",
    "fetch_offsets",
    "list_groups",
    "merge_answers",
    "offset_fetch_response",
    "only_group",
    "partition_of_group",
    "parts_by_partition",
    "refusal",
    "refused_at_once",
    "replay_batches",
    "requested_groups",
]
