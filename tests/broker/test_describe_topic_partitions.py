"""Who follows the cursor sees every partition once, in order, however small the pages are."""

from __future__ import annotations

import pytest

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    TopicRequest,
)
from tests.kafka.client import RawClient

from .asking import create
from .running import RunningNode

SIZES = {"a": 3, "b": 1, "c": 4}


def ask(
    client: RawClient, *topics: str, limit: int = 2000, cursor: Cursor | None = None
) -> DescribeTopicPartitionsResponse:
    request = DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=name) for name in topics], response_partition_limit=limit, cursor=cursor
    )
    return client.ask(request, 0, DescribeTopicPartitionsResponse)


@pytest.mark.parametrize("limit", [-1, 1, 2, 3, 4, 7, 8, 9])
@pytest.mark.parametrize("named", [True, False])
def test_pages(client: RawClient, limit: int, named: bool) -> None:
    for name, partitions in SIZES.items():
        create(client, name, partitions)
    topics = tuple(reversed(SIZES)) if named else ()
    seen: list[tuple[str | None, int]] = []
    cursor = None
    while True:
        answer = ask(client, *topics, limit=limit, cursor=cursor)
        page = [(topic.name, one.partition_index) for topic in answer.topics for one in topic.partitions]
        assert 1 <= len(page) <= max(limit, 1)
        seen += page
        cursor = answer.next_cursor
        if cursor is None:
            break
    assert seen == [(name, number) for name, partitions in SIZES.items() for number in range(partitions)]


def test_what_a_cursor_may_not_say(client: RawClient) -> None:
    create(client, "a")
    for cursor, topics in ((Cursor(topic_name="z"), ("a",)), (Cursor(topic_name="a", partition_index=-1), ("a",))):
        answer = ask(client, *topics, cursor=cursor)
        assert [topic.error_code for topic in answer.topics] == [ErrorCode.INVALID_REQUEST]


def test_the_brokers_own_limit_counts_too(node: RunningNode) -> None:
    node.stop()
    node.settings["max.request.partition.size.limit"] = "3"
    node.start()
    with node.client() as client:
        create(client, "large", 5)
        answer = ask(client, limit=10_000)
        assert len(answer.topics[0].partitions) == 3
        assert answer.next_cursor == Cursor(topic_name="large", partition_index=3)
