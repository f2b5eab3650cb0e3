"""What the log may hold besides what we write: old versions, types of the future, groups of other protocols."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from barnabas.coordination.groups import (
    GroupConfig,
    GroupRecord,
    GroupShard,
    build_group_batch,
    decide_delete_groups,
    decide_loaded,
    decide_tick,
    decide_topics_deleted,
    describe_group,
    list_groups,
    replay_batches,
)
from barnabas.coordination.groups.classic_group import ClassicGroup, GroupState
from barnabas.coordination.groups.other_groups import GroupType, OtherGroup
from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.batches import Batch, iterate_batches
from barnabas.protocol.compression import Compression
from barnabas.protocol.control import ControlRecordType, build_control_batch, build_end_transaction_marker
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.log_records import UnknownRecord
from barnabas.protocol.messages.list_groups import ListGroupsRequest
from barnabas.protocol.record import Record
from barnabas.protocol.records.classic_group import (
    GroupMetadataKey,
    GroupMetadataValue,
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitValue,
)
from barnabas.protocol.records.consumer_group import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
)
from barnabas.protocol.records.share_group import ShareGroupMetadataKey, ShareGroupMetadataValue
from barnabas.protocol.records.streams_group import StreamsGroupMetadataKey, StreamsGroupMetadataValue
from barnabas.protocol.schema import Uuid

NOW = 1_700_000_000_000
DAY_MS = 24 * 60 * 60 * 1000


def replayed(*batches: bytes, config: GroupConfig | None = None) -> GroupShard:
    shard = GroupShard(config or GroupConfig())
    log = bytearray()
    for batch in batches:
        stamped = Batch(bytearray(batch))
        offset = sum(each.next_offset - each.base_offset for each in iterate_batches(bytes(log)))
        log += build_at(stamped, offset)
    replay_batches(shard, iterate_batches(bytes(log)))
    return shard


def build_at(batch: Batch, offset: int) -> bytes:
    return offset.to_bytes(8, "big") + bytes(memoryview(batch.buffer)[8 : batch.end])


def offset_of(shard: GroupShard, partition: int = 0, group_id: str = "g", topic: str = "orders") -> int | None:
    found = shard.offsets.committed.get(group_id, topic, partition)
    return None if found is None else found.offset


def commit(offset: int, partition: int = 0) -> GroupRecord:
    key = OffsetCommitKey(group="g", topic="orders", partition=partition)
    return GroupRecord(key, OffsetCommitValue(offset=offset, commit_timestamp=NOW), 3)


def test_offsets_of_the_oldest_brokers() -> None:
    key = LegacyOffsetCommitKey(group="g", topic="orders", partition=1)
    value = LegacyOffsetCommitValue(offset=5, metadata="old", commit_timestamp=NOW)
    shard = replayed(build_group_batch([GroupRecord(key, value, 0)], NOW, compression=Compression.GZIP))
    found = shard.offsets.committed.get("g", "orders", 1)
    assert found is not None
    assert (found.offset, found.metadata, found.leader_epoch, found.topic_id) == (5, "old", -1, Uuid.ZERO)
    tombstone = OffsetCommitKey(group="g", topic="orders", partition=1)
    shard.replay(tombstone, None, 1)
    assert offset_of(shard, 1) is None


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4])
def test_groups_of_every_version(version: int) -> None:
    member = MemberMetadata(member_id="m", client_id="c", client_host="/h", session_timeout=30_000, assignment=b"a")
    if version >= 1:
        member.rebalance_timeout = 60_000
    value = GroupMetadataValue(
        protocol_type="connect", generation=3, protocol="compatible", leader="m", members=[member]
    )
    if version >= 2:
        value.current_state_timestamp = NOW - 1
    shard = replayed(build_group_batch([GroupRecord(GroupMetadataKey(group="g"), value, version)], NOW))
    group = shard.classic("g")
    assert group is not None
    assert (group.state, group.generation, group.leader) == (GroupState.STABLE, 3, "m")
    assert group.state_since_ms == (NOW - 1 if version >= 2 else None)
    assert group.members["m"].rebalance_timeout_ms == (60_000 if version >= 1 else 30_000)
    assert decide_loaded(shard, NOW).deadline_ms == NOW + 30_000


def test_types_and_versions_of_the_future_are_told_of_and_passed_over() -> None:
    unknown = Record((99).to_bytes(2, "big") + b"?", b"\0\0", timestamp=NOW)
    key = commit(1).key_bytes()
    newer = Record(key, (77).to_bytes(2, "big") + b"?", timestamp=NOW)
    known = Record(key, commit(2).value_bytes(), timestamp=NOW)
    shard = GroupShard(GroupConfig())
    met: list[UnknownRecord] = []
    replay_batches(shard, iterate_batches(build_batch([unknown, newer, known])), unknown=met.append)
    assert [(error.record_type, error.version) for error in met] == [(99, None), (1, 77)]
    assert offset_of(shard) == 2
    assert replayed(build_batch([unknown])).groups == {}


@pytest.mark.parametrize("ending", [ControlRecordType.COMMIT, ControlRecordType.ABORT])
def test_offsets_of_transactions_count_from_the_marker(ending: ControlRecordType) -> None:
    producer = {"producer_id": 7, "producer_epoch": 1}
    written = build_group_batch([commit(10), commit(11, 1)], NOW, **producer, base_sequence=0)  # type: ignore[arg-type]
    marker = build_end_transaction_marker(ending, **producer, coordinator_epoch=0, timestamp=NOW)
    plain = build_group_batch([commit(12)], NOW)
    before = replayed(written, plain)
    assert (offset_of(before), offset_of(before, 1)) == (12, None)
    assert before.offsets.is_pending("g", "orders", 1)
    after = replayed(written, plain, marker)
    assert (offset_of(after), offset_of(after, 1)) == (12, 11 if ending is ControlRecordType.COMMIT else None)
    assert not after.offsets.is_pending("g", "orders", 1)


def test_an_idempotent_producers_records_are_no_transaction() -> None:
    record = Record(commit(1).key_bytes(), commit(1).value_bytes(), timestamp=NOW)
    shard = replayed(build_batch([record], producer_id=7, producer_epoch=0, base_sequence=0))
    assert offset_of(shard) == 1


def test_other_control_records_mean_nothing_here() -> None:
    leader_change = build_control_batch(ControlRecordType.LEADER_CHANGE, b"\0\0", timestamp=NOW)
    assert replayed(leader_change, build_group_batch([commit(1)], NOW)).offsets.pending == {}


def test_a_group_above_a_lowered_limit_rebalances() -> None:
    members = [MemberMetadata(member_id=name, session_timeout=10_000) for name in "abc"]
    value = GroupMetadataValue(protocol_type="connect", generation=1, protocol="p", leader="a", members=members)
    batch = build_group_batch([GroupRecord(GroupMetadataKey(group="g"), value, 3)], NOW)
    for limit, state in ((3, GroupState.STABLE), (2, GroupState.PREPARING_REBALANCE)):
        shard = replayed(batch, config=GroupConfig(max_size=limit))
        shard.apply(decide_loaded(shard, NOW), 1)
        group = shard.classic("g")
        assert group is not None
        assert group.state is state


# Groups of other types


def of_a_consumer_group(*, with_member: bool) -> list[GroupRecord]:
    records = [GroupRecord(ConsumerGroupMetadataKey(group_id="modern"), ConsumerGroupMetadataValue(epoch=1), 0)]
    if with_member:
        key = ConsumerGroupMemberMetadataKey(group_id="modern", member_id="m")
        records.insert(0, GroupRecord(key, ConsumerGroupMemberMetadataValue(subscribed_topic_names=[]), 0))
    current = ConsumerGroupCurrentMemberAssignmentKey(group_id="modern", member_id="m")
    value = ConsumerGroupCurrentMemberAssignmentValue(member_epoch=1, previous_member_epoch=0)
    records.append(GroupRecord(current, value, 0))
    return records


def test_other_groups_are_known_by_their_type_and_members() -> None:
    shard = replayed(
        build_group_batch(of_a_consumer_group(with_member=True), NOW),
        build_group_batch([GroupRecord(ShareGroupMetadataKey(group_id="s"), ShareGroupMetadataValue(), 0)], NOW),
        build_group_batch([GroupRecord(StreamsGroupMetadataKey(group_id="t"), StreamsGroupMetadataValue(), 0)], NOW),
    )
    assert shard.groups == {
        "modern": OtherGroup("modern", GroupType.CONSUMER, {"m"}),
        "s": OtherGroup("s", GroupType.SHARE),
        "t": OtherGroup("t", GroupType.STREAMS),
    }
    listed = {(each.group_id, each.group_type, each.group_state) for each in list_groups(shard, ListGroupsRequest())}
    assert listed == {("modern", "consumer", "Stable"), ("s", "share", "Empty"), ("t", "streams", "Empty")}
    assert describe_group(shard, "s", 6).error_message == "Group s is not a classic group."


def test_other_groups_go_with_their_tombstone() -> None:
    shard = replayed(build_group_batch(of_a_consumer_group(with_member=True), NOW))
    member = ConsumerGroupMemberMetadataKey(group_id="modern", member_id="m")
    shard.replay(ConsumerGroupCurrentMemberAssignmentKey(group_id="modern", member_id="m"), None, 3)
    shard.replay(member, None, 4)
    assert shard.groups["modern"] == OtherGroup("modern", GroupType.CONSUMER)
    shard.replay(ConsumerGroupMetadataKey(group_id="modern"), None, 5)
    assert shard.groups == {}
    shard.replay(member, None, 6)
    assert shard.groups == {}, "the tombstone of a member makes no group"


def test_a_group_that_was_upgraded_is_of_its_new_type() -> None:
    simple = GroupRecord(
        OffsetCommitKey(group="modern", topic="orders"), OffsetCommitValue(offset=1, commit_timestamp=NOW), 3
    )
    shard = replayed(build_group_batch([simple, *of_a_consumer_group(with_member=False)], NOW))
    assert isinstance(shard.groups["modern"], OtherGroup)
    assert offset_of(shard, group_id="modern") == 1
    shard.replay(ConsumerGroupMetadataKey(group_id="modern"), None, 9)
    shard.replay(GroupMetadataKey(group="modern"), GroupMetadataValue(protocol_type="consumer", generation=2), 10)
    assert isinstance(shard.groups["modern"], ClassicGroup)


def test_nothing_of_other_groups_expires_or_is_deleted() -> None:
    old = GroupRecord(
        OffsetCommitKey(group="modern", topic="orders"), OffsetCommitValue(offset=1, commit_timestamp=0), 3
    )
    shard = replayed(build_group_batch([*of_a_consumer_group(with_member=False), old], NOW))
    shard.apply(decide_loaded(shard, NOW), 9)
    later = NOW + 30 * DAY_MS
    outcome = decide_tick(shard, later)
    assert (outcome.records, outcome.deadline_ms is not None) == ([], True)
    deleted = decide_delete_groups(shard, ["modern"], later)
    assert deleted.records == []
    assert deleted.reply is not None
    assert deleted.reply.results[0].error_code == ErrorCode.UNSUPPORTED_VERSION


def test_offsets_of_a_deleted_topic_go_whosever_they_are() -> None:
    topic_id = Uuid(b"this one is gone")
    mine = OffsetCommitValue(offset=1, commit_timestamp=NOW, topic_id=topic_id)
    others = OffsetCommitValue(offset=2, commit_timestamp=NOW, topic_id=Uuid(b"another of 16 b."))
    nameless = OffsetCommitValue(offset=3, commit_timestamp=NOW)
    keys = [OffsetCommitKey(group="modern", topic="orders", partition=partition) for partition in range(4)]
    records = [GroupRecord(key, value, 4) for key, value in zip(keys, (mine, others, nameless), strict=False)]
    elsewhere = GroupRecord(replace(keys[0], topic="payments"), mine, 4)
    pending = build_group_batch(
        [GroupRecord(keys[3], nameless, 4)], NOW, producer_id=7, producer_epoch=0, base_sequence=0
    )
    members = build_group_batch([*of_a_consumer_group(with_member=True), *records, elsewhere], NOW)
    shard = replayed(members, pending)
    outcome = decide_topics_deleted(shard, {"orders": topic_id}, NOW)
    assert [record.key for record in outcome.records] == [keys[0], keys[2], keys[3]]
    assert all(record.value is None for record in outcome.records)
    shard.apply(outcome, 20)
    left = [(topic, partition) for _, topic, partition, _ in shard.offsets.committed]
    assert left == [("orders", 1), ("payments", 0)]
    assert not shard.offsets.is_pending("modern", "orders", 3)
