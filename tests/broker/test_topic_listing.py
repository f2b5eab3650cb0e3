"""What clients are told of partitions is kept as long as the metadata stays as it is, and no longer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from barnabas.broker.topic_listing import Asked, KeptListings
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from barnabas.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from barnabas.protocol.schema import Uuid
from tests.kafka.client import RawClient

from .asking import create
from .running import RunningNode


def described(client: RawClient, topic: str, version: int = 12) -> MetadataResponseTopic:
    request = MetadataRequest(topics=[MetadataRequestTopic(name=topic)])
    (answer,) = client.ask(request, version, MetadataResponse).topics
    return answer


def test_an_answer_is_the_same_until_the_metadata_changes(client: RawClient) -> None:
    create(client, "orders", partitions=3)
    first = described(client, "orders")
    assert [one.partition_index for one in first.partitions] == [0, 1, 2]
    assert described(client, "orders") == first
    client.ask(DeleteTopicsRequest(topic_names=["orders"], timeout_ms=5_000), 4, DeleteTopicsResponse)
    create(client, "orders", partitions=5)
    second = described(client, "orders")
    assert second.topic_id != first.topic_id
    assert [one.partition_index for one in second.partitions] == [0, 1, 2, 3, 4]


def test_every_version_has_its_own(client: RawClient) -> None:
    create(client, "orders", partitions=2)
    for version in (0, 5, 12, 0, 5, 12):
        assert [one.partition_index for one in described(client, "orders", version).partitions] == [0, 1]


def listing(count: int, made: list[int]) -> Callable[[], list[MetadataResponsePartition]]:
    def make() -> list[MetadataResponsePartition]:
        made.append(count)
        return [MetadataResponsePartition(partition_index=number) for number in range(count)]

    return make


def test_no_more_than_the_bound_is_kept() -> None:
    kept, made = KeptListings(most=10), list[int]()
    asked = [Asked(Uuid(bytes([number] * 16)), "PLAINTEXT", 12) for number in range(4)]
    for one in asked[:2]:
        for _ in range(2):
            assert len(kept.get(7, one, listing(5, made))) == 5
    assert made == [5, 5]
    # The third is one too many: it stays alone.
    kept.get(7, asked[2], listing(1, made))
    kept.get(7, asked[2], listing(1, made))
    assert made == [5, 5, 1]
    kept.get(7, asked[0], listing(5, made))
    assert made == [5, 5, 1, 5]
    # One that is larger than all that may be kept is told, too.
    assert len(kept.get(7, asked[3], listing(11, made))) == 11


def test_the_bound_is_the_nodes(tmp_path: Path) -> None:
    with RunningNode(tmp_path, barnabas_metadata_lists_max_partitions="3") as node, node.client() as client:
        for topic in ("orders", "clicks"):
            create(client, topic, partitions=2)
        kept = []
        for topic in ("orders", "clicks", "clicks"):
            assert len(described(client, topic).partitions) == 2
            kept.append(node.do(lambda inside: inside.listings.held))
    assert kept == [2, 2, 2]


def test_what_was_kept_of_other_metadata_is_forgotten() -> None:
    kept, made = KeptListings(most=10), list[int]()
    asked = Asked(Uuid(bytes(16)), "PLAINTEXT", 12)
    for offset in (7, 7, 8, 8):
        kept.get(offset, asked, listing(1, made))
    assert made == [1, 1]
