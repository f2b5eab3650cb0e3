"""A partition as a follower: what it asks for, and what it makes of its leader's answers."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.fetch import EpochEndOffset, PartitionData
from barnabas.protocol.record import Record
from barnabas.replication.following import Following, common_end
from barnabas.replication.partition import Partition
from barnabas.storage.leader_epochs import EpochEntry, LeaderEpochs
from barnabas.storage.loading import open_log
from barnabas.storage.topic_config import TopicConfig
from tests.storage.faulty_disk import FaultyDisk

from .leaders import ENOUGH, contents, fetch, follow, lead
from .partitions_in_memory import NAME, NOW, TOPIC_ID, append, new_partition


def written(offset: int, epoch: int, count: int = 1) -> bytes:
    return build_batch([Record(value=b"v")] * count, base_offset=offset, leader_epoch=epoch)


def leader_with(*epochs: int) -> Partition:
    """Two records of each epoch."""
    leader = new_partition()
    for epoch in epochs:
        lead(leader, epoch)
        append(leader, b"one", b"two")
    return leader


def answer(records: bytes = b"", *, high_watermark: int = 0, log_start: int = 0) -> PartitionData:
    return PartitionData(partition_index=0, high_watermark=high_watermark, log_start_offset=log_start, records=records)


def test_a_new_follower_fetches_from_the_beginning_and_has_the_same_bytes_then() -> None:
    leader, follower = leader_with(0, 3), new_partition()
    following = follow(follower, 2, 3)
    asked = following.position(ENOUGH)
    assert (asked.fetch_offset, asked.last_fetched_epoch, asked.current_leader_epoch) == (0, -1, 3)
    assert not following.is_in_sync
    fetch(following, leader, high_watermark=3)
    assert contents(follower) == contents(leader)
    assert (follower.log_end.offset, follower.high_watermark.offset) == (4, 3)
    assert following.is_in_sync
    asked = following.position(ENOUGH)
    assert (asked.fetch_offset, asked.last_fetched_epoch) == (4, 3)


def test_it_lags_by_what_counts_and_is_not_here() -> None:
    leader, follower = leader_with(0, 1, 2), new_partition()
    following = follow(follower, 2, 2)
    fetch(following, leader, max_bytes=1, high_watermark=5)
    assert (follower.log_end.offset, follower.high_watermark.offset) == (2, 2)
    assert following.lag == 3
    assert not following.is_in_sync


def test_a_new_leader_may_know_less_of_what_counts() -> None:
    """As in Kafka. It had not been told before the old one died."""
    leader, follower = leader_with(0), new_partition()
    fetch(follow(follower, 2, 0), leader, high_watermark=2)
    assert follower.high_watermark.offset == 2
    lead(leader, 1)
    fetch(follow(follower, 3, 1), leader, high_watermark=1)
    assert follower.high_watermark.offset == 1
    assert follower.last_stable.offset == 1


def test_what_its_leader_has_deleted_goes_here_too() -> None:
    leader, follower = leader_with(0, 0, 0), new_partition()
    following = follow(follower, 2, 0)
    fetch(following, leader)
    leader.delete_records(3)
    fetch(following, leader)
    assert (follower.log.start_offset, follower.high_watermark.offset) == (3, 6)
    assert following.position(ENOUGH).log_start_offset == 3


def test_it_drops_what_another_leader_wrote_and_asks_epoch_by_epoch() -> None:
    """Kafka's example of KIP-279: each of the two has epochs that the other has not."""
    leader, follower = new_partition(), new_partition()
    for partition, epochs in ((leader, (1, 2, 4, 7)), (follower, (1, 3, 5, 6))):
        for epoch in epochs:
            lead(partition, epoch)
            append(partition, b"of %d" % epoch, b"more")
    follower.high_watermark.begin(2)
    following = follow(follower, 2, 7)
    turns = 0
    while contents(follower) != contents(leader):
        fetch(following, leader, high_watermark=8)
        turns += 1
        assert follower.log_end.offset >= 2
    assert turns == 3
    assert [tuple(entry) for entry in follower.log.epochs.entries] == [(1, 0), (2, 2), (4, 4), (7, 6)]


def test_an_epoch_in_which_it_led_and_wrote_nothing_is_given_up() -> None:
    leader, follower = leader_with(0), new_partition()
    fetch(follow(follower, 2, 0), leader)
    lead(follower, 1)
    lead(leader, 2)
    following = follow(follower, 2, 2)
    assert following.position(ENOUGH).last_fetched_epoch == 1
    assert fetch(following, leader).diverging_epoch == EpochEndOffset(epoch=0, end_offset=2)
    assert following.position(ENOUGH).last_fetched_epoch == 0
    assert fetch(following, leader).diverging_epoch is None


def test_a_log_without_epochs_goes_back_to_what_counts() -> None:
    follower = new_partition()
    follower.log.append_as_follower(written(0, -1, count=5), NOW)
    follower.log.append_as_follower(written(5, -1, count=5), NOW)
    follower.high_watermark.begin(5)
    assert follow(follower, 2, 3).position(ENOUGH).fetch_offset == 5


@pytest.mark.parametrize("offset", [0, 4])
def test_a_follower_that_was_away_for_too_long_begins_where_its_leader_begins(offset: int) -> None:
    leader, follower = leader_with(0, 1, 2, 3), new_partition()
    following = follow(follower, 2, 3)
    if offset:
        fetch(following, leader, max_bytes=1)
    leader.delete_records(6)
    fetch(following, leader)
    assert (follower.log.start_offset, follower.log.end_offset, follower.high_watermark.offset) == (6, 6, 6)
    fetch(following, leader)
    assert contents(follower) == contents(leader)
    assert [tuple(entry) for entry in follower.log.epochs.entries] == [(3, 6)]


def test_it_begins_with_the_whole_batch_in_which_its_leader_begins() -> None:
    leader, follower = new_partition(), new_partition()
    lead(leader, 0)
    append(leader, b"a")
    append(leader, b"b", b"c", b"d")
    append(leader, b"e")
    leader.delete_records(3)
    following = follow(follower, 2, 0)
    fetch(following, leader)
    assert follower.log.start_offset == 3
    fetch(following, leader)
    assert (follower.log.start_offset, follower.log.end_offset) == (3, 5)
    assert contents(follower) == contents(leader)
    assert follower.log.segments[0].base_offset == 1


def test_a_leader_that_ends_earlier_is_believed() -> None:
    leader, follower = new_partition(), new_partition()
    lead(leader, 5)
    follower.log.append_as_follower(written(0, 5, count=1), NOW)
    follower.log.append_as_follower(written(1, 5, count=4), NOW)
    following = follow(follower, 2, 5)
    append(leader, b"one")
    assert fetch(following, leader).diverging_epoch is not None
    assert follower.log.end_offset == 1


def test_of_a_later_epoch_than_it_knows_it_takes_nothing() -> None:
    """The leader may have lost that epoch, led again, and cut its log in between (KAFKA-18723)."""
    follower = new_partition()
    following = follow(follower, 2, 1)
    following.take(answer(written(0, 1) + written(1, 2), high_watermark=2), NOW)
    assert (follower.log.end_offset, follower.high_watermark.offset) == (1, 1)


@pytest.mark.parametrize(
    ("records", "code"),
    [
        (written(0, 0)[:-1] + b"?", ErrorCode.CORRUPT_MESSAGE),
        (bytes(100), ErrorCode.CORRUPT_MESSAGE),
        (written(0, 0), ErrorCode.OFFSET_OUT_OF_RANGE),
    ],
)
def test_what_does_not_fit_is_refused_and_changes_nothing(records: bytes, code: ErrorCode) -> None:
    follower = new_partition()
    following = follow(follower, 2, 0)
    following.take(answer(written(0, 0, count=3), high_watermark=1), NOW)
    with pytest.raises(KafkaError) as refused:
        following.take(answer(records, high_watermark=3), NOW)
    assert refused.value.code is code
    assert (follower.log.end_offset, follower.high_watermark.offset) == (3, 1)


def test_half_a_batch_waits_for_its_rest() -> None:
    follower = new_partition()
    following = follow(follower, 2, 0)
    following.take(answer(written(0, 0) + written(1, 0)[:40]), NOW)
    assert follower.log.end_offset == 1


def test_it_is_current_until_the_metadata_says_otherwise() -> None:
    partition = new_partition()
    following = follow(partition, 2, 0)
    assert following.is_current
    assert follow(partition, 2, 1).is_current
    assert not following.is_current
    lead(partition, 2)
    assert not follow(partition, 3, 3).partition.leads


@pytest.mark.parametrize(
    ("asked", "end"),
    [
        ((5, 40), 30),  # the end of that epoch here
        ((5, 25), 25),  # the leader's, if that is less
        ((4, 60), 20),  # not known here: what came before it
        ((9, 90), 50),  # beyond everything: no further than the log
        ((0, 5), 5),  # before everything here
        ((7, 70), 50),
    ],
)
def test_where_two_logs_part(asked: tuple[int, int], end: int) -> None:
    epochs = LeaderEpochs([EpochEntry(2, 10), EpochEntry(5, 20), EpochEntry(7, 30)])
    assert common_end(epochs, 50, *asked) == end


def test_where_nothing_is_known_the_leader_is_believed() -> None:
    assert common_end(LeaderEpochs(), 50, 3, 40) == 40
    assert common_end(LeaderEpochs(), 50, 3, 60) == 50


def test_a_leader_that_cannot_tell_is_an_error() -> None:
    with pytest.raises(KafkaError, match="cannot tell"):
        Following(new_partition()).cut_for(EpochEndOffset(epoch=3, end_offset=-1))


def test_who_waits_at_a_replica_that_is_cut_looks_again() -> None:
    follower = new_partition()
    following = follow(follower, 2, 0)
    following.take(answer(written(0, 0, count=1) + written(1, 0, count=4), high_watermark=5), NOW)
    news = trio.Event()
    follower.high_watermark.watch(news)
    follower.cut_to(1, NOW)
    assert news.is_set()
    assert (follower.high_watermark.offset, follower.last_stable.offset, follower.log_end.offset) == (1, 1, 1)
    news = trio.Event()
    follower.high_watermark.watch(news)
    following.take(answer(written(1, 0), high_watermark=2), NOW)
    assert news.is_set()


def durable_partition() -> tuple[Partition, list[Partition]]:
    waiting: list[Partition] = []
    return new_partition(needs_sync=waiting.append), waiting


def sync(partition: Partition) -> None:
    work = partition.log.unsynced_records()
    work.sync()
    partition.synced(work)


def test_a_durable_follower_is_told_what_to_sync_and_its_high_watermark_is_its_leaders() -> None:
    follower, waiting = durable_partition()
    following = follow(follower, 2, 0)
    following.take(answer(written(0, 0, count=5), high_watermark=3), NOW)
    assert waiting == [follower]
    assert (follower.safe.offset, follower.log_end.offset, follower.high_watermark.offset) == (0, 5, 3)
    sync(follower)
    assert (follower.safe.offset, follower.high_watermark.offset) == (5, 3)
    follower.begin_at(9, NOW)
    assert (follower.safe.offset, follower.log_end.offset, follower.high_watermark.offset) == (9, 9, 9)


def test_a_disk_that_fails_while_it_is_cut_is_told_of() -> None:
    told: list[KafkaError] = []
    disk, directory = FaultyDisk(), Path("/data/orders-0")
    disk.make_directory(directory)
    log = open_log(disk, directory, TopicConfig.load({}), now_ms=NOW, clean=True)
    follower = Partition(NAME, TOPIC_ID, log, on_failure=lambda _partition, error: told.append(error))
    following = follow(follower, 2, 0)
    following.take(answer(written(0, 0) + written(1, 0)), NOW)
    disk.fail("truncate")
    with pytest.raises(KafkaError, match="orders-0 cannot be cut: Input/output error") as refused:
        follower.cut_to(1, NOW)
    assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert [type(error.__cause__) for error in told] == [OSError]
