"""Requests about groups of several shards, beside one shard that has them all."""

from __future__ import annotations

import pytest

from barnabas.coordination.groups import (
    GroupConfig,
    GroupShard,
    decide_request,
    merge_answers,
    only_group,
    partition_of_group,
    parts_by_partition,
)
from barnabas.protocol.messages.heartbeat import HeartbeatResponse
from barnabas.protocol.messages.list_groups import ListGroupsResponse
from barnabas.protocol.messages.metadata import MetadataRequest
from barnabas.protocol.schema import Message, Uuid
from tests.coordination.asking import parse_request
from tests.coordination.coordinator import START_MS
from tests.coordination.transcript import show

SHARDS = 5
GROUPS = [f"group{number}" for number in range(12)]
TOPIC_ID = Uuid(b"orders----------")


def ask(shards: list[GroupShard], text: str) -> Message:
    request, version = parse_request(text, lambda _: TOPIC_ID)
    answers = []
    for number, part in parts_by_partition(request, version, len(shards)).items():
        shard = shards[number]
        outcome = decide_request(shard, part, version, START_MS, client_id="c", client_host="/h", random_id="1")
        shard.apply(outcome, 0)
        assert outcome.reply is not None
        answers.append(outcome.reply)
    return merge_answers(request, answers)


def sorted_show(message: Message) -> str:
    for name in ("groups", "results"):
        if hasattr(message, name):
            getattr(message, name).sort(key=lambda each: each.group_id)
    return show(message)


@pytest.mark.parametrize(
    "text",
    [
        f"DescribeGroups.6 groups={','.join([*GROUPS, 'nobody'])}",
        "DescribeGroups.6 groups=group3",
        "DescribeGroups.6",
        "DeleteGroups.2",
        "OffsetFetch.8",
        "ListGroups.5",
        "ListGroups.5 states=Stable",
        f"OffsetFetch.8 group={','.join([*GROUPS, 'nobody'])} all=yes",
        "OffsetFetch.8 group=group3 all=yes",
        "OffsetFetch.7 group=group3 all=yes",
        "OffsetFetch.1 group=group3 offsets=orders-0",
        f"DeleteGroups.2 groups={','.join([*GROUPS, 'nobody'])}",
    ],
)
def test_several_shards_answer_as_one(text: str) -> None:
    one = [GroupShard(GroupConfig())]
    several = [GroupShard(GroupConfig()) for _ in range(SHARDS)]
    for shards in (one, several):
        for group in GROUPS:
            ask(shards, f"OffsetCommit.8 group={group} offsets=orders-0:{len(group)},orders-1:7")
        ask(shards, "JoinGroup.5 group=group3")
    assert len({partition_of_group(group, SHARDS) for group in GROUPS}) > 2
    assert sorted_show(ask(several, text)) == sorted_show(ask(one, text))
    for number, shard in enumerate(several):
        assert {partition_of_group(group, SHARDS) for group in shard.groups} <= {number}


@pytest.mark.parametrize(
    ("text", "group"),
    [
        ("OffsetCommit.8 group=group3 offsets=orders-0:1", "group3"),
        ("OffsetFetch.7 group=group3 all=yes", "group3"),
        ("OffsetFetch.8 group=group3 all=yes", "group3"),
        ("OffsetFetch.8 group=group3,group4 all=yes", None),
        ("OffsetFetch.8", None),
        ("DescribeGroups.6 groups=group3", None),
        ("ListGroups.5", None),
    ],
)
def test_a_request_about_one_group_names_it(text: str, group: str | None) -> None:
    request, version = parse_request(text, lambda _: TOPIC_ID)
    assert only_group(request, version) == group
    if group is not None:
        assert parts_by_partition(request, version, SHARDS) == {partition_of_group(group, SHARDS): request}


def test_what_is_for_nobody_here_is_our_mistake() -> None:
    with pytest.raises(TypeError, match="MetadataRequest is no request to a group coordinator"):
        decide_request(GroupShard(GroupConfig()), MetadataRequest(), 12, START_MS)
    with pytest.raises(TypeError, match="no parts of one answer"):
        merge_answers(MetadataRequest(), [ListGroupsResponse(), HeartbeatResponse()])
