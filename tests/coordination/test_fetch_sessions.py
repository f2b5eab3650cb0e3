"""Sessions of Fetch: what they remember, leave out, refuse, and whom they make room for."""

from __future__ import annotations

from itertools import count

import pytest

from barnabas.coordination.fetching.sessions import EVICTABLE_AFTER_MS, Exchange, FetchSessions, Result
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.fetch import EpochEndOffset, FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from barnabas.protocol.messages.fetch import PartitionData as Data
from barnabas.protocol.schema import Uuid

ID = Uuid(b"i" * 16)


def request(session_id: int = 0, epoch: int = 0, wants: str = "", forgets: str = "", offset: int = 0) -> FetchRequest:
    """`wants` and `forgets` name partitions of one topic by their digits."""
    return FetchRequest(
        session_id=session_id,
        session_epoch=epoch,
        topics=[
            FetchTopic(topic="t", partitions=[FetchPartition(partition=int(one), fetch_offset=offset) for one in wants])
        ]
        if wants
        else [],
        forgotten_topics_data=[ForgottenTopic(topic="t", partitions=[int(one) for one in forgets])] if forgets else [],
    )


def read(exchange: Exchange, records: str = "", errors: str = "", high_watermark: int = 5) -> list[Result]:
    results: list[Result] = []
    for followed in exchange.partitions:
        number = followed.partition.partition
        failed = str(number) in errors
        data = Data(partition_index=number, high_watermark=-1 if failed else high_watermark, log_start_offset=0)
        data.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER if failed else ErrorCode.NONE
        data.records = b"r" if str(number) in records else b""
        results.append((followed, data))
    return results


def made(slots: int = 10) -> FetchSessions:
    return FetchSessions(slots, count(1))


def opened(sessions: FetchSessions, wants: str, now_ms: int = 0, *, of_follower: bool = False) -> int:
    exchange = sessions.open(request(wants=wants), None, now_ms=now_ms, of_follower=of_follower)
    return sessions.close(exchange, read(exchange), now_ms=now_ms)[1]


def asked(exchange: Exchange) -> str:
    return "".join(str(one.partition.partition) for one in exchange.partitions)


def told(results: list[Result]) -> str:
    return "".join(str(data.partition_index) for _, data in results)


def step(sessions: FetchSessions, message: FetchRequest, records: str = "", **read_as: object) -> str:
    """What is told: `error` or the digits of partitions."""
    exchange = sessions.open(message, None, now_ms=0)
    error, _, results = sessions.close(exchange, read(exchange, records, **read_as), now_ms=0)  # type: ignore[arg-type]
    return error.name if error else told(list(results))


def test_what_has_no_news_is_left_out() -> None:
    sessions = made()
    session = opened(sessions, "012")
    assert step(sessions, request(session, 1)) == ""
    assert step(sessions, request(session, 2), "1") == "1"
    assert step(sessions, request(session, 3), high_watermark=6) == "021"
    assert step(sessions, request(session, 4), high_watermark=6) == ""


def test_an_error_is_told_every_time_and_its_end_too() -> None:
    sessions = made()
    session = opened(sessions, "01")
    assert [step(sessions, request(session, epoch), errors="1") for epoch in (1, 2)] == ["1", "1"]
    assert step(sessions, request(session, 3)) == "1"
    assert step(sessions, request(session, 4)) == ""


def test_a_log_that_took_another_way_is_told() -> None:
    sessions = made()
    session = opened(sessions, "0")
    exchange = sessions.open(request(session, 1), None, now_ms=0)
    results = read(exchange)
    results[0][1].diverging_epoch = EpochEndOffset(epoch=1, end_offset=2)
    assert told(list(sessions.close(exchange, results, now_ms=0)[2])) == "0"


@pytest.mark.parametrize("is_first", [True, False])
def test_who_has_to_cut_its_log_is_told_again_how_much_counts(is_first: bool) -> None:
    """It can make nothing of that before it has cut, and would wait for it until the next record."""
    sessions = made()
    session = 0 if is_first else opened(sessions, "0", of_follower=True)
    first = request(wants="0") if is_first else request(session, 1)
    exchange = sessions.open(first, None, now_ms=0, of_follower=True)
    results = read(exchange)
    results[0][1].diverging_epoch = EpochEndOffset(epoch=1, end_offset=2)
    _, session, _ = sessions.close(exchange, results, now_ms=0)
    epoch = 1 if is_first else 2
    assert step(sessions, request(session, epoch)) == "0"
    assert step(sessions, request(session, epoch + 1)) == ""


def test_who_gave_records_is_read_last() -> None:
    sessions = made()
    session = opened(sessions, "0123")
    step(sessions, request(session, 1), "02")
    assert asked(sessions.open(request(session, 2), None, now_ms=0)) == "1302"


def test_partitions_come_change_and_go() -> None:
    sessions = made()
    session = opened(sessions, "01")
    exchange = sessions.open(request(session, 1, wants="12", forgets="0", offset=7), None, now_ms=0)
    assert [(one.partition.partition, one.partition.fetch_offset) for one in exchange.partitions] == [(1, 7), (2, 7)]
    assert told(list(sessions.close(exchange, read(exchange), now_ms=0)[2])) == "2"


def test_a_session_without_partitions_ends_and_its_request_is_answered_without_one() -> None:
    sessions = made()
    session = opened(sessions, "01")
    exchange = sessions.open(request(session, 1, wants="1", forgets="01"), None, now_ms=0)
    assert asked(exchange) == "1"
    assert sessions.close(exchange, read(exchange), now_ms=0)[:2] == (ErrorCode.NONE, 0)
    assert step(sessions, request(session, 2)) == "FETCH_SESSION_ID_NOT_FOUND"


@pytest.mark.parametrize("epoch", [2, 7, -2])
def test_another_epoch_is_refused_and_harms_nothing(epoch: int) -> None:
    sessions = made()
    session = opened(sessions, "0")
    assert step(sessions, request(session, epoch, wants="1")) == "INVALID_FETCH_SESSION_EPOCH"
    assert asked(sessions.open(request(session, 1), None, now_ms=0)) == "0"


def test_the_epoch_behind_the_last_is_one() -> None:
    sessions = made()
    session = opened(sessions, "0")
    known = sessions.get(session)
    assert known is not None
    known.epoch = 2**31 - 1
    assert step(sessions, request(session, 2**31 - 1)) == ""
    assert known.epoch == 1


def test_of_two_requests_at_once_the_first_is_refused() -> None:
    sessions = made()
    session = opened(sessions, "0")
    first = sessions.open(request(session, 1), None, now_ms=0)
    sessions.open(request(session, 2), None, now_ms=0)
    error, answered, results = sessions.close(first, read(first, "0"), now_ms=0)
    assert (error, answered, list(results)) == (ErrorCode.INVALID_FETCH_SESSION_EPOCH, session, [])


def test_names_and_ids_do_not_mix() -> None:
    sessions = made()
    session = opened(sessions, "0")
    exchange = sessions.open(request(session, 1), lambda _: "t", now_ms=0)
    assert exchange.error == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
    assert step(sessions, request(session, 1)) == ""


def test_an_id_gets_its_name_as_soon_as_there_is_one() -> None:
    sessions = made()
    message = FetchRequest(session_epoch=0, topics=[FetchTopic(topic_id=ID, partitions=[FetchPartition(partition=3)])])
    first = sessions.open(message, lambda _: None, now_ms=0)
    assert [one.name for one in first.partitions] == [None]
    session = sessions.close(first, read(first), now_ms=0)[1]
    second = sessions.open(request(session, 1), {ID: "named"}.get, now_ms=0)
    assert [one.name for one in second.partitions] == ["named"]
    # Later it keeps the name, whatever becomes of the topic.
    assert [one.name for one in sessions.open(request(session, 2), lambda _: None, now_ms=0).partitions] == ["named"]


@pytest.mark.parametrize("epoch", [0, -1])
def test_a_full_request_ends_the_session_that_it_names(epoch: int) -> None:
    sessions = made()
    session = opened(sessions, "0")
    exchange = sessions.open(request(session, epoch, wants="1"), None, now_ms=0)
    assert sessions.get(session) is None
    created = sessions.close(exchange, read(exchange), now_ms=0)[1]
    assert (created != 0, len(sessions)) == (epoch == 0, epoch + 1)


def test_of_a_partition_named_twice_the_last_word_counts() -> None:
    sessions = made()
    twice = request(wants="01")
    twice.topics += request(wants="0", offset=9).topics
    exchange = sessions.open(twice, None, now_ms=0)
    assert [(one.partition.partition, one.partition.fetch_offset) for one in exchange.partitions] == [(0, 9), (1, 0)]


OLD_MS = EVICTABLE_AFTER_MS + 1


def fill(sessions: FetchSessions, *sizes: int, now_ms: int = 0, of_follower: bool = False) -> list[int]:
    return [opened(sessions, "0123456789"[:size], now_ms, of_follower=of_follower) for size in sizes]


def use(sessions: FetchSessions, session_id: int, now_ms: int) -> None:
    known = sessions.get(session_id)
    assert known is not None
    sessions.open(request(session_id, known.epoch), None, now_ms=now_ms)


def test_where_there_is_no_room_there_is_no_session() -> None:
    sessions = made(2)
    fill(sessions, 1, 1)
    assert fill(sessions, 9) == [0]
    assert opened(made(0), "0") == 0


def test_who_was_silent_for_long_makes_room_first() -> None:
    sessions = made(2)
    small, silent = fill(sessions, 1, 9)
    use(sessions, small, OLD_MS)
    (new,) = fill(sessions, 1, now_ms=OLD_MS)
    assert [bool(sessions.get(each)) for each in (small, silent, new)] == [True, False, True]
    assert sessions.evictions == 1


def test_a_session_of_some_age_makes_room_for_one_that_is_no_smaller() -> None:
    sessions = made(2)
    small, large = fill(sessions, 2, 3)
    for each in (small, large):
        use(sessions, each, OLD_MS)
    assert fill(sessions, 1, now_ms=OLD_MS) == [0]
    # One of its size has the lower id, which decides; and 0 is lower than any.
    assert fill(sessions, 2, now_ms=OLD_MS) == [0]
    (new,) = fill(sessions, 3, now_ms=OLD_MS)
    assert [bool(sessions.get(each)) for each in (small, large, new)] == [False, True, True]


def test_a_new_session_is_left_alone_by_consumers_but_not_by_followers() -> None:
    sessions = made(2)
    small, large = fill(sessions, 5, 9)
    assert fill(sessions, 9) == [0]
    (follower,) = fill(sessions, 1, of_follower=True)
    assert [bool(sessions.get(each)) for each in (small, large, follower)] == [False, True, True]
    (another,) = fill(sessions, 1, of_follower=True)
    assert another
    assert fill(sessions, 9) == [0]


def test_an_old_session_of_a_follower_does_not_make_room_for_a_consumer() -> None:
    sessions = made(1)
    (follower,) = fill(sessions, 1, of_follower=True)
    use(sessions, follower, OLD_MS)
    assert fill(sessions, 9, now_ms=OLD_MS) == [0]
