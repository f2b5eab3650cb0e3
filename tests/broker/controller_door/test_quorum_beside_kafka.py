"""What a quorum of one answers about its log and its voters, as Apache Kafka's does, field by field."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from barnabas.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.protocol.messages.describe_quorum import DescribeQuorumRequest, PartitionData, TopicData
from barnabas.protocol.schema import Message, Uuid
from tests.broker.controller_door.door import METADATA
from tests.broker.controller_door.metadata_requests import (
    STRANGER,
    STRANGERS_DIRECTORY,
    epoch_begins,
    epoch_ends,
    fetch_of,
    snapshot_of,
    vote_for,
    voter_added,
    voter_removed,
    voter_updated,
)
from tests.broker.controller_door.twin_doors import Door, TwinDoors

pytestmark = [pytest.mark.java, pytest.mark.slow]

SOMEWHERE = Uuid([9] * 16)
Made = Callable[[Door], Message]


def ask_all(doors: TwinDoors, requests: Iterable[Made], version: int | None = None) -> list[Any]:
    return [doors.same(make, version) for make in requests]


def test_fetches(doors: TwinDoors) -> None:
    ask_all(
        doors,
        [
            lambda d: fetch_of(0, 0, epoch=d.epoch, cluster_id=d.cluster_id),
            lambda d: fetch_of(d.end, d.epoch, epoch=d.epoch),
            lambda d: fetch_of(d.end + 1_000, d.epoch, epoch=d.epoch),
            lambda d: fetch_of(d.end, 0, epoch=d.epoch),
            lambda d: fetch_of(d.end, d.epoch, epoch=d.epoch + 1),
            lambda d: fetch_of(d.end, 0, epoch=d.epoch - 1),
            lambda d: fetch_of(d.end, d.epoch, epoch=-1),
            lambda d: fetch_of(d.end, d.epoch + 1, epoch=d.epoch),
            lambda d: fetch_of(d.end, -1, epoch=d.epoch),
            lambda d: fetch_of(-1, 0, epoch=d.epoch),
            lambda d: fetch_of(d.end, d.epoch, epoch=d.epoch, wait_ms=-1),
            lambda d: fetch_of(d.end, d.epoch, epoch=d.epoch, cluster_id="another"),
            lambda d: fetch_of(d.end, d.epoch, epoch=d.epoch, topic_id=SOMEWHERE),
            lambda d: fetch_of(d.end, d.epoch, epoch=d.epoch, number=1),
            lambda d: fetch_of(d.end, d.epoch, epoch=d.epoch, times=2),
            lambda d: fetch_of(0, 0, epoch=d.epoch, replica=-1),
            lambda d: fetch_of(0, 0, epoch=d.epoch, replica=1),
            lambda d: fetch_of(0, 0, epoch=d.epoch, max_bytes=1),
        ],
    )
    # He waits for nothing who does not know yet that it is committed, and says so, which he can from version 18 on.
    ask_all(doors, [lambda d: fetch_of(d.end, d.epoch, epoch=d.epoch, wait_ms=20_000, high_watermark=d.end - 1)], 18)


def test_who_reads_the_log_is_described(doors: TwinDoors) -> None:
    ask_all(doors, [lambda d: fetch_of(d.end, d.epoch, epoch=d.epoch, replica=4)], 16)
    ask_all(doors, [lambda d: fetch_of(3, d.epoch, epoch=d.epoch, replica=5)], 18)
    request = DescribeQuorumRequest(
        topics=[TopicData(topic_name=METADATA, partitions=[PartitionData(partition_index=0)])]
    )
    for door in (doors.kafka, doors.ours):
        told = door.told(door.ask(request, 2))["topics"][0]["partitions"][0]["observers"]
        observers = {(each["replica_id"], str(each["replica_directory_id"])): each for each in told}
        current = observers[4, str(Uuid.ZERO)]
        assert (current["log_end_offset"], current["last_caught_up_timestamp"]) == ("the end", "a time"), door.name
        behind = observers[5, str(STRANGERS_DIRECTORY)]
        assert (behind["log_end_offset"], behind["last_caught_up_timestamp"]) == (3, -1), door.name
        assert behind["last_fetch_timestamp"] == "a time"


def test_elections(doors: TwinDoors) -> None:
    ask_all(
        doors,
        [
            lambda d: vote_for(d.epoch, cluster_id=d.cluster_id, voter=1, voters_directory=d.directory),
            lambda d: vote_for(d.epoch, pre_vote=True, last_epoch=d.epoch, last_offset=1_000_000),
            lambda d: vote_for(d.epoch, pre_vote=True, candidate=1),
            lambda d: vote_for(d.epoch, last_epoch=d.epoch),
            lambda d: vote_for(d.epoch, pre_vote=True, last_epoch=d.epoch + 1),
            lambda d: vote_for(d.epoch, last_epoch=-1),
            lambda d: vote_for(d.epoch, last_offset=-1),
            lambda d: vote_for(d.epoch - 1, pre_vote=True),
            lambda d: vote_for(d.epoch - 1),
            lambda d: vote_for(d.epoch, candidate=-1),
            lambda d: vote_for(d.epoch, cluster_id="another"),
            lambda d: vote_for(d.epoch, topic="orders"),
            lambda d: vote_for(d.epoch, number=1),
            lambda d: vote_for(d.epoch, times=2),
            lambda d: epoch_begins(d.epoch, 1, cluster_id=d.cluster_id, voter=1, voters_directory=d.directory),
            lambda d: epoch_begins(d.epoch, 1),
            lambda d: epoch_begins(d.epoch - 1, STRANGER),
            lambda d: epoch_begins(d.epoch, -1),
            lambda d: epoch_begins(d.epoch, 1, cluster_id="another"),
            lambda d: epoch_begins(d.epoch, 1, topic="orders"),
            lambda d: epoch_begins(d.epoch, 1, number=1),
            lambda d: epoch_ends(d.epoch, 1, cluster_id=d.cluster_id),
            lambda d: epoch_ends(d.epoch - 1, STRANGER),
            lambda d: epoch_ends(d.epoch, -1),
            lambda d: epoch_ends(d.epoch, 1, cluster_id="another"),
            lambda d: epoch_ends(d.epoch, 1, topic="orders"),
            lambda d: epoch_ends(d.epoch, 1, number=1),
        ],
    )
    # Whom a request is for is said from version 1 on.
    for version in (1, 2):
        ask_all(
            doors,
            [
                lambda d: vote_for(d.epoch, voter=STRANGER),
                lambda d: vote_for(d.epoch, voter=1, voters_directory=SOMEWHERE),
            ],
            version,
        )
    ask_all(
        doors,
        [
            lambda d: epoch_begins(d.epoch, 1, voter=STRANGER),
            lambda d: epoch_begins(d.epoch, 1, voter=1, voters_directory=SOMEWHERE),
        ],
        1,
    )


def test_voters(doors: TwinDoors) -> None:
    controller = "CONTROLLER"
    ask_all(
        doors,
        [
            lambda _: voter_added(STRANGER, SOMEWHERE, controller, cluster_id="another"),
            lambda _: voter_added(-1, SOMEWHERE, controller),
            lambda _: voter_added(STRANGER, Uuid.ZERO, controller),
            lambda _: voter_added(STRANGER, SOMEWHERE),
            lambda _: voter_added(STRANGER, SOMEWHERE, "ELSEWHERE"),
            lambda _: voter_added(1, SOMEWHERE, controller),
            lambda d: voter_added(1, d.directory, controller, cluster_id=d.cluster_id),
            lambda d: voter_removed(1, d.directory, cluster_id=d.cluster_id),
            lambda _: voter_removed(1, SOMEWHERE),
            lambda _: voter_removed(STRANGER, SOMEWHERE),
            lambda _: voter_removed(STRANGER, SOMEWHERE, cluster_id="another"),
            lambda _: voter_removed(-1, SOMEWHERE),
            lambda _: voter_removed(STRANGER, Uuid.ZERO),
            lambda d: voter_updated(d.epoch, STRANGER, SOMEWHERE, controller, cluster_id=d.cluster_id),
            lambda d: voter_updated(d.epoch, STRANGER, SOMEWHERE, controller, cluster_id="another"),
            lambda d: voter_updated(d.epoch, 1, SOMEWHERE, controller),
            lambda d: voter_updated(d.epoch - 1, STRANGER, SOMEWHERE, controller),
            lambda d: voter_updated(d.epoch + 1, STRANGER, SOMEWHERE, controller),
            lambda d: voter_updated(d.epoch, -1, SOMEWHERE, controller),
            lambda d: voter_updated(d.epoch, STRANGER, Uuid.ZERO, controller),
            lambda d: voter_updated(d.epoch, STRANGER, SOMEWHERE),
            lambda d: voter_updated(d.epoch, STRANGER, SOMEWHERE, "ELSEWHERE"),
            lambda d: voter_updated(d.epoch, STRANGER, SOMEWHERE, controller, levels=(-1, 1)),
            lambda d: voter_updated(d.epoch, STRANGER, SOMEWHERE, controller, levels=(1, 0)),
            lambda d: voter_updated(d.epoch, STRANGER, SOMEWHERE, controller, levels=(0, 0)),
        ],
    )


def test_snapshots(doors: TwinDoors) -> None:
    """Last in this file: the logs are longer then."""
    for door in (doors.kafka, doors.ours):
        topics = [
            CreatableTopic(name=f"topic-{number}", num_partitions=1, replication_factor=1) for number in range(60)
        ]
        door.ask(CreateTopicsRequest(topics=topics, timeout_ms=10_000), 7)
    found = {door.name: _until_there_is_one(door) for door in (doors.kafka, doors.ours)}
    for door in (doors.kafka, doors.ours):
        door.look()
        door.names[found[door.name].end_offset] = "the snapshot's end"

    def asked(**fields: Any) -> Made:
        def make(door: Door) -> Message:
            snapshot = found[door.name]
            return snapshot_of(snapshot.end_offset, snapshot.epoch, **{"epoch": door.epoch, **fields})

        return make

    told = doors.same(asked(max_bytes=100), 1)
    assert told["topics"][0]["partitions"][0]["unaligned_records"] == "unaligned_records"
    ask_all(
        doors,
        [
            asked(max_bytes=100, position=50),
            asked(cluster_id="another"),
            lambda d: fetch_of(0, 0, epoch=d.epoch),
            lambda d: fetch_of(1, d.epoch, epoch=d.epoch),
        ],
    )
    # Apache Kafka leaves out the field of the records where there are none, cannot write the answer then, and ends up
    # with an error that tells nobody what to do.
    refused: list[tuple[Made, str]] = [
        (asked(position=1 << 20), "POSITION_OUT_OF_RANGE"),
        (asked(position=-1), "POSITION_OUT_OF_RANGE"),
        (asked(topic="orders"), "UNKNOWN_TOPIC_OR_PARTITION"),
        (asked(number=1), "UNKNOWN_TOPIC_OR_PARTITION"),
        (asked(epoch=0), "FENCED_LEADER_EPOCH"),
        (asked(epoch=9), "UNKNOWN_LEADER_EPOCH"),
        (lambda d: snapshot_of(found[d.name].end_offset + 1, found[d.name].epoch, epoch=d.epoch), "SNAPSHOT_NOT_FOUND"),
        (lambda d: snapshot_of(found[d.name].end_offset, found[d.name].epoch + 1, epoch=d.epoch), "SNAPSHOT_NOT_FOUND"),
        # It says who votes, and every node has its own.
        (lambda d: snapshot_of(0, 0, epoch=d.epoch), "SNAPSHOT_NOT_FOUND"),
    ]
    for make, code in refused:
        for version in (0, 1):
            kafka, ours = (door.told(door.ask(make(door), version)) for door in (doors.kafka, doors.ours))
            assert (kafka["error_code"], kafka["topics"]) == ("UNKNOWN_SERVER_ERROR", [])
            assert ours["topics"][0]["partitions"][0]["error_code"] == code


def _until_there_is_one(door: Door) -> Any:
    """Whoever begins is told of a snapshot."""
    while True:
        answer: Any = door.ask(fetch_of(0, 0, epoch=door.epoch), 18)
        snapshot = answer.responses[0].partitions[0].snapshot_id
        if snapshot is not None:
            return snapshot
