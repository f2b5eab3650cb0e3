"""A leader and its followers: who is in sync, what is proposed to the controller, and up to where records count."""

from __future__ import annotations

import pytest

from barnabas.coordination.cluster.partition import LeaderRecoveryState
from barnabas.protocol.errors import ErrorCode, KafkaError

from .partitions_in_memory import LAG_MS, ME, Cluster, append, broker, fetch, leadership, leading_of, new_partition


def test_a_record_counts_when_all_in_sync_have_it() -> None:
    cluster = Cluster(2, 3)
    partition = new_partition(cluster=cluster)
    partition.lead(leadership(2, 3))
    assert append(partition, b"one", b"two") == 2
    assert partition.high_watermark.offset == 0
    fetch(partition, 2, 2)
    assert partition.high_watermark.offset == 0
    fetch(partition, 3, 1)
    assert partition.high_watermark.offset == 1
    fetch(partition, 3, 2)
    assert partition.high_watermark.offset == 2
    assert cluster.proposed == []


def test_without_another_replica_a_record_counts_at_once() -> None:
    partition = new_partition()
    partition.lead(leadership())
    assert append(partition, b"one", all_in_sync=True) == partition.high_watermark.offset == 1
    assert partition.leading is None


def test_a_record_that_is_not_on_the_disk_counts_when_it_is() -> None:
    cluster = Cluster(2)
    partition = new_partition(cluster=cluster, needs_sync=lambda _: None)
    partition.lead(leadership(2))
    append(partition, b"one")
    fetch(partition, 2, 1)
    assert partition.high_watermark.offset == 0
    work = partition.log.unsynced_records()
    work.sync()
    partition.synced(work)
    assert partition.high_watermark.offset == 1


def test_what_a_new_leader_does_not_know_yet_does_not_count() -> None:
    """It has the records of the leader before, and knows of no follower whether that has them, too."""
    cluster = Cluster(2)
    partition = new_partition(cluster=cluster)
    partition.lead(leadership())
    append(partition, b"one", b"two")
    partition.follow(2, 1)
    partition.lead(leadership(2, leader_epoch=2, partition_epoch=1))
    assert (partition.high_watermark.offset, partition.epoch_start) == (2, 2)
    append(partition, b"three")
    assert partition.high_watermark.offset == 2
    fetch(partition, 2, 3)
    assert partition.high_watermark.offset == 3


# Coming in


def test_who_has_what_counts_comes_in() -> None:
    cluster = Cluster(2)
    partition = new_partition(cluster=cluster)
    partition.lead(leadership(2, in_sync=(ME,)))
    append(partition, b"one", b"two")
    assert partition.high_watermark.offset == 2
    fetch(partition, 2, 1)
    assert cluster.proposed == []
    fetch(partition, 2, 2)
    (change,) = cluster.proposed
    assert (change.in_sync, change.broker_epochs, change.joins) == ((ME, 2), (10, 20), 2)
    assert (change.leader_epoch, change.partition_epoch, change.recovery) == (0, 0, LeaderRecoveryState.RECOVERED)
    fetch(partition, 2, 2)
    assert len(cluster.proposed) == 1, "one change at a time"


def test_nothing_counts_from_then_on_that_the_one_who_comes_in_does_not_have() -> None:
    cluster = Cluster(2)
    partition = new_partition(cluster=cluster)
    partition.lead(leadership(2, in_sync=(ME,)))
    fetch(partition, 2, 0)
    append(partition, b"one")
    assert partition.high_watermark.offset == 0
    assert cluster.accept(partition) == (ME, 2)
    assert leading_of(partition).state.in_sync == (ME, 2)
    assert partition.high_watermark.offset == 0
    fetch(partition, 2, 1)
    assert partition.high_watermark.offset == 1


def test_who_has_nothing_of_this_leaders_time_does_not_come_in() -> None:
    """What the leader before had committed may lie above the high watermark that this one knows of."""
    cluster = Cluster(2, 3)
    partition = new_partition(cluster=cluster)
    partition.lead(leadership(2, 3, in_sync=(ME, 3)))
    append(partition, b"one", b"two")
    partition.lead(leadership(2, 3, leader_epoch=1, partition_epoch=1, in_sync=(ME, 3)))
    assert (partition.high_watermark.offset, partition.epoch_start) == (0, 2)
    fetch(partition, 2, 1)
    assert cluster.proposed == []
    fetch(partition, 2, 2)
    assert [change.in_sync for change in cluster.proposed] == [(ME, 3, 2)]


@pytest.mark.parametrize("trouble", ["fenced", "leaving", "registered anew", "gone"])
def test_who_is_not_in_service_does_not_come_in_and_holds_up_nobody(trouble: str) -> None:
    cluster = Cluster(2)
    partition = new_partition(cluster=cluster)
    partition.lead(leadership(2, in_sync=(ME,)))
    append(partition, b"one")
    fetch(partition, 2, 0)
    match trouble:
        case "fenced":
            cluster.brokers[2] = broker(2, fenced=True)
        case "leaving":
            cluster.brokers[2] = broker(2, leaving=True)
        case "registered anew":
            cluster.brokers[2] = broker(2, epoch=77)
        case "gone":
            del cluster.brokers[2]
    if trouble == "registered anew":
        with pytest.raises(KafkaError) as refused:
            fetch(partition, 2, 1)
        assert refused.value.code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    else:
        fetch(partition, 2, 1)
    assert cluster.proposed == []
    append(partition, b"two")
    assert partition.high_watermark.offset == 2


def test_a_follower_that_does_not_say_its_epoch_comes_in_all_the_same() -> None:
    cluster = Cluster(2)
    partition = new_partition(cluster=cluster)
    partition.lead(leadership(2, in_sync=(ME,)))
    fetch(partition, 2, 0, epoch=-1)
    assert [change.broker_epochs for change in cluster.proposed] == [(10, -1)]


def test_who_has_caught_up_and_waits_to_be_let_in_is_waited_for() -> None:
    """Otherwise what counts would always be ahead of it."""
    cluster = Cluster(2, 3)
    partition = new_partition(cluster=cluster)
    partition.lead(leadership(2, 3, in_sync=(ME,)))
    fetch(partition, 2, 0)
    fetch(partition, 3, 0)
    assert [change.joins for change in cluster.proposed] == [2], "the second one has to wait for its turn"
    append(partition, b"one")
    fetch(partition, 2, 1)
    assert partition.high_watermark.offset == 0
    fetch(partition, 3, 1)
    assert partition.high_watermark.offset == 1


# Going


def test_who_lags_for_too_long_goes() -> None:
    cluster = Cluster(2, 3)
    partition = new_partition(cluster=cluster)
    partition.lead(leadership(2, 3))
    append(partition, b"one")
    fetch(partition, 2, 1)
    cluster.now_ms += LAG_MS
    leading_of(partition).shrink_in_sync()
    assert cluster.proposed == [], "who was in sync at the election has all of the time"
    cluster.now_ms += 1
    leading_of(partition).shrink_in_sync()
    (change,) = cluster.proposed
    assert (change.in_sync, change.broker_epochs, change.joins) == ((ME, 2), (10, 20), None)
    assert partition.high_watermark.offset == 0, "the controller may refuse it"
    cluster.accept(partition)
    assert partition.high_watermark.offset == 1


def test_who_has_not_fetched_yet_stays_with_any_epoch() -> None:
    """If its broker ends meanwhile, the controller takes it out, and refuses what was proposed before."""
    cluster = Cluster(2, 3)
    partition = new_partition(cluster=cluster)
    partition.lead(leadership(2))
    partition.lead(leadership(2, 3, partition_epoch=1))
    append(partition, b"one")
    leading_of(partition).shrink_in_sync()
    assert (cluster.proposed[0].in_sync, cluster.proposed[0].broker_epochs) == ((ME, 2), (10, -1))


def test_who_has_everything_stays_however_long_ago_it_fetched() -> None:
    cluster = Cluster(2)
    partition = new_partition(cluster=cluster)
    partition.lead(leadership(2))
    fetch(partition, 2, append(partition, b"one"))
    cluster.now_ms += 10 * LAG_MS
    leading_of(partition).shrink_in_sync()
    assert cluster.proposed == []


def test_who_always_has_what_there_was_at_its_last_fetch_stays() -> None:
    cluster = Cluster(2)
    partition = new_partition(cluster=cluster)
    partition.lead(leadership(2))
    had = 0
    for _ in range(5):
        end = append(partition, b"one more")
        cluster.now_ms += LAG_MS // 2
        fetch(partition, 2, had)
        had = end
        leading_of(partition).shrink_in_sync()
    assert cluster.proposed == []
    for _ in range(3):
        append(partition, b"one more")
        cluster.now_ms += LAG_MS // 2
        fetch(partition, 2, had)
        leading_of(partition).shrink_in_sync()
    assert [change.in_sync for change in cluster.proposed] == [(ME,)], "it fetches the same again and again"


def test_an_election_gives_who_is_in_sync_all_of_the_time_again() -> None:
    cluster = Cluster(2)
    partition = new_partition(cluster=cluster)
    partition.lead(leadership(2))
    append(partition, b"one")
    cluster.now_ms += LAG_MS
    partition.lead(leadership(2, leader_epoch=1, partition_epoch=1))
    cluster.now_ms += LAG_MS
    leading_of(partition).shrink_in_sync()
    assert cluster.proposed == []


# What the controller says


def test_what_is_not_done_is_taken_back_and_proposed_again_with_the_next_fetch() -> None:
    for code in (ErrorCode.INELIGIBLE_REPLICA, ErrorCode.OPERATION_NOT_ATTEMPTED):
        cluster = Cluster(2)
        partition = new_partition(cluster=cluster)
        partition.lead(leadership(2, in_sync=(ME,)))
        fetch(partition, 2, 0)
        assert not cluster.refuse(partition, code)
        assert leading_of(partition).state.pending is None
        fetch(partition, 2, 0)
        assert len(cluster.proposed) == 1


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.INVALID_UPDATE_VERSION,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.NEW_LEADER_ELECTED,
    ],
)
def test_who_knows_less_than_the_controller_waits_for_the_metadata(code: ErrorCode) -> None:
    cluster = Cluster(2)
    partition = new_partition(cluster=cluster)
    partition.lead(leadership(2, in_sync=(ME,)))
    fetch(partition, 2, 0)
    assert not cluster.refuse(partition, code)
    append(partition, b"one")
    fetch(partition, 2, 0)
    assert (cluster.proposed, partition.high_watermark.offset) == ([], 0), "the change may have come true"
    partition.lead(leadership(2, in_sync=(ME,), partition_epoch=1))
    assert leading_of(partition).state.pending is None


@pytest.mark.parametrize("code", [ErrorCode.NOT_CONTROLLER, ErrorCode.UNKNOWN_SERVER_ERROR, 9_999])
def test_any_other_trouble_may_pass(code: int) -> None:
    cluster = Cluster(2)
    partition = new_partition(cluster=cluster)
    partition.lead(leadership(2, in_sync=(ME,)))
    fetch(partition, 2, 0)
    (change,) = cluster.proposed
    assert leading_of(partition).refused(change, code)
    assert leading_of(partition).state.pending is change


def test_an_answer_that_the_metadata_has_overtaken_says_nothing() -> None:
    cluster = Cluster(2, 3)
    partition = new_partition(cluster=cluster)
    partition.lead(leadership(2, 3, in_sync=(ME, 3)))
    fetch(partition, 2, 0)
    partition.lead(leadership(2, 3, in_sync=(ME,), partition_epoch=2))
    cluster.accept(partition)
    assert leading_of(partition).state.in_sync == (ME,)


def test_metadata_that_an_answer_has_overtaken_says_nothing() -> None:
    cluster = Cluster(2)
    partition = new_partition(cluster=cluster)
    partition.lead(leadership(2, in_sync=(ME,), partition_epoch=4))
    fetch(partition, 2, 0)
    cluster.accept(partition)
    partition.lead(leadership(2, in_sync=(ME,), partition_epoch=4))
    assert leading_of(partition).state.in_sync == (ME, 2)
    partition.lead(leadership(2, in_sync=(ME, 2), partition_epoch=5))
    assert leading_of(partition).state.partition_epoch == 5


def test_metadata_that_the_controller_has_answered_with_takes_nothing_back() -> None:
    """Kafka's leader forgets here that it is letting somebody in, which may be committed by now."""
    cluster = Cluster(2, 3)
    partition = new_partition(cluster=cluster)
    partition.lead(leadership(2, 3, in_sync=(ME,)))
    fetch(partition, 2, 0)
    cluster.accept(partition)
    fetch(partition, 3, 0)
    partition.lead(leadership(2, 3, in_sync=(ME, 2), partition_epoch=1))
    cluster.now_ms += LAG_MS + 1
    fetch(partition, 2, append(partition, b"one"))
    assert partition.high_watermark.offset == 0
    cluster.accept(partition)
    assert leading_of(partition).state.in_sync == (ME, 2, 3)


def test_an_unclean_election_is_over_with_the_first_change() -> None:
    cluster = Cluster(2)
    partition = new_partition(cluster=cluster)
    partition.lead(leadership(2, in_sync=(ME,), recovery=LeaderRecoveryState.RECOVERING))
    fetch(partition, 2, 0)
    assert cluster.proposed[0].recovery is LeaderRecoveryState.RECOVERED


# Too few


def test_with_too_few_in_sync_nothing_is_taken_that_wants_them_and_nothing_more_counts() -> None:
    cluster = Cluster(2, 3)
    partition = new_partition(cluster=cluster, min_insync_replicas="2")
    partition.lead(leadership(2, 3, in_sync=(ME,)))
    with pytest.raises(KafkaError) as refused:
        append(partition, b"one", all_in_sync=True)
    assert refused.value.code == ErrorCode.NOT_ENOUGH_REPLICAS
    assert append(partition, b"one") == 1
    assert partition.high_watermark.offset == 0
    assert leading_of(partition).lacks_replicas
    fetch(partition, 2, 1)
    assert partition.high_watermark.offset == 0
    assert not leading_of(partition).lacks_replicas, "one is about to join"
    cluster.accept(partition)
    assert partition.high_watermark.offset == 1
    assert append(partition, b"two", all_in_sync=True) == 2


def test_more_than_there_are_is_all_of_them() -> None:
    cluster = Cluster(2)
    partition = new_partition(cluster=cluster, min_insync_replicas="3")
    partition.lead(leadership(2))
    end = append(partition, b"one", all_in_sync=True)
    fetch(partition, 2, end)
    assert partition.high_watermark.offset == 1


# The replicas change


def test_a_replica_that_is_added_is_followed_from_then_on_and_one_that_goes_holds_up_nobody() -> None:
    cluster = Cluster(2)
    partition = new_partition(cluster=cluster)
    partition.lead(leadership())
    append(partition, b"one")
    partition.lead(leadership(2, in_sync=(ME,), partition_epoch=1))
    assert leading_of(partition).has_follower(2)
    assert (append(partition, b"two"), partition.high_watermark.offset) == (2, 2)
    fetch(partition, 2, 2)
    cluster.accept(partition)
    append(partition, b"three")
    assert partition.high_watermark.offset == 2
    partition.lead(leadership(partition_epoch=3))
    assert (partition.leading, partition.high_watermark.offset) == (None, 3)


def test_a_leader_that_follows_forgets_its_followers() -> None:
    cluster = Cluster(2)
    partition = new_partition(cluster=cluster)
    partition.lead(leadership(2))
    fetch(partition, 2, append(partition, b"one"))
    partition.follow(2, 1)
    assert partition.leading is None
    partition.lead(leadership(2, leader_epoch=2, partition_epoch=2))
    append(partition, b"two")
    assert partition.high_watermark.offset == 1


# What was deleted


def test_the_low_watermark_is_where_the_last_replica_begins_that_is_alive() -> None:
    cluster = Cluster(2, 3)
    partition = new_partition(cluster=cluster)
    partition.lead(leadership(2, 3))
    end = append(partition, b"one", b"two", b"three")
    fetch(partition, 2, end)
    fetch(partition, 3, end)
    low = leading_of(partition).low_watermark
    assert partition.delete_records(-1) == 3
    assert (partition.log.start_offset, low.offset) == (3, 0)
    fetch(partition, 2, end, log_start=3)
    assert low.offset == 0
    fetch(partition, 3, end, log_start=2)
    assert low.offset == 2
    cluster.brokers[3] = broker(3, fenced=True)
    partition.lead(leadership(2, 3, in_sync=(ME, 2), partition_epoch=1))
    assert low.offset == 3
