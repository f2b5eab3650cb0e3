"""The follower's half of a fetch session, beside the leader's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from barnabas.coordination.fetching.following_session import FollowingSession, Key
from barnabas.coordination.fetching.sessions import FetchSessions
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from barnabas.protocol.schema import Uuid

TOPICS = [Uuid(bytes(15) + bytes([number])) for number in (1, 2, 3)]
ONE, TWO, THREE = TOPICS


def wanted(session: FollowingSession, topic: Uuid, number: int, offset: int = 0) -> Key:
    session.want(topic, FetchPartition(partition=number, fetch_offset=offset, partition_max_bytes=100))
    return topic, number


def asked(session: FollowingSession) -> FetchRequest:
    request = FetchRequest()
    session.ask(request)
    return request


def named(request: FetchRequest) -> list[tuple[Key, int]]:
    return [
        ((topic.topic_id, each.partition), each.fetch_offset) for topic in request.topics for each in topic.partitions
    ]


def forgotten(request: FetchRequest) -> set[Key]:
    return {(topic.topic_id, number) for topic in request.forgotten_topics_data for number in topic.partitions}


def answer(*keys: Key, session_id: int = 7) -> FetchResponse:
    responses = [
        FetchableTopicResponse(topic_id=topic, partitions=[PartitionData(partition_index=number)])
        for topic, number in keys
    ]
    return FetchResponse(session_id=session_id, responses=responses)


def begun(*keys: Key) -> FollowingSession:
    session = FollowingSession()
    for topic, number in keys:
        wanted(session, topic, number)
    asked(session)
    assert session.accepts(answer(*keys))
    return session


def test_the_first_request_names_everything_and_later_ones_what_has_changed() -> None:
    session = FollowingSession()
    first, second = wanted(session, ONE, 0), wanted(session, TWO, 5)
    request = asked(session)
    assert (request.session_id, request.session_epoch) == (0, 0)
    assert named(request) == [(first, 0), (second, 0)]
    assert session.accepts(answer(first, second))
    request = asked(session)
    assert (request.session_id, request.session_epoch, request.topics) == (7, 1, [])
    assert session.accepts(answer())
    wanted(session, TWO, 5, offset=10)
    request = asked(session)
    assert (request.session_epoch, named(request)) == (2, [(second, 10)])
    assert session.accepts(answer(second))
    assert asked(session).topics == []


def test_what_is_wanted_as_before_is_not_told_again() -> None:
    session = begun((ONE, 0))
    wanted(session, ONE, 0)
    assert asked(session).topics == []


def test_what_is_left_is_forgotten_once() -> None:
    session = begun((ONE, 0), (ONE, 1))
    session.leave((ONE, 0))
    session.leave((TWO, 9))
    request = asked(session)
    assert (request.topics, forgotten(request)) == ([], {(ONE, 0)})
    assert session.accepts(answer())
    assert forgotten(asked(session)) == set()


def test_what_is_left_and_wanted_again_is_told_again() -> None:
    session = begun((ONE, 0))
    session.leave((ONE, 0))
    wanted(session, ONE, 0)
    request = asked(session)
    assert (named(request), forgotten(request)) == ([((ONE, 0), 0)], set())


def test_a_new_topic_of_an_old_name_is_another_partition() -> None:
    session = begun((ONE, 0))
    session.leave((ONE, 0))
    wanted(session, TWO, 0)
    request = asked(session)
    assert (named(request), forgotten(request)) == ([((TWO, 0), 0)], {(ONE, 0)})


def test_what_changes_while_a_request_is_under_way_goes_into_the_next() -> None:
    session = FollowingSession()
    wanted(session, ONE, 0)
    asked(session)
    session.leave((ONE, 0))
    wanted(session, ONE, 1)
    assert session.accepts(answer((ONE, 0)))
    request = asked(session)
    assert (named(request), forgotten(request)) == ([((ONE, 1), 0)], {(ONE, 0)})


def test_a_session_with_nothing_left_is_told_so_and_then_is_silent() -> None:
    session = begun((ONE, 0))
    assert session.has_something_to_say
    session.leave((ONE, 0))
    assert session.has_something_to_say
    asked(session)
    assert session.accepts(answer())
    assert not session.has_something_to_say
    assert not FollowingSession().has_something_to_say


def test_a_leader_that_does_not_know_the_session_is_told_everything() -> None:
    session = begun((ONE, 0))
    wanted(session, ONE, 1)
    asked(session)
    assert not session.accepts(FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND))
    request = asked(session)
    assert (request.session_id, request.session_epoch) == (0, 0)
    assert [key for key, _ in named(request)] == [(ONE, 0), (ONE, 1)]


def test_after_an_error_or_a_lost_answer_the_old_session_ends_with_the_next_request() -> None:
    session = begun((ONE, 0))
    asked(session)
    assert not session.accepts(FetchResponse(error_code=ErrorCode.INVALID_FETCH_SESSION_EPOCH))
    request = asked(session)
    assert (request.session_id, request.session_epoch, len(named(request))) == (7, 0, 1)
    assert session.accepts(answer((ONE, 0), session_id=8))
    asked(session)
    session.begin_anew()
    request = asked(session)
    assert (request.session_id, request.session_epoch, len(named(request))) == (8, 0, 1)


def test_a_leader_that_keeps_no_session_is_told_everything_every_time() -> None:
    session = FollowingSession()
    wanted(session, ONE, 0)
    for _ in range(2):
        request = asked(session)
        assert (request.session_id, request.session_epoch, len(named(request))) == (0, 0, 1)
        assert session.accepts(answer((ONE, 0), session_id=0))


def test_an_answer_to_something_else_is_none() -> None:
    session = FollowingSession()
    wanted(session, ONE, 0)
    wanted(session, ONE, 1)
    asked(session)
    assert not session.accepts(answer((ONE, 0)))
    asked(session)
    assert not session.accepts(answer((ONE, 0), (ONE, 2)))
    request = asked(session)
    assert (request.session_id, request.session_epoch) == (0, 0)
    assert session.accepts(answer((ONE, 0), (ONE, 1)))
    asked(session)
    assert not session.accepts(answer((TWO, 0)))
    request = asked(session)
    assert (request.session_id, request.session_epoch) == (7, 0)


def test_after_the_last_epoch_comes_the_first_of_a_session_that_goes_on() -> None:
    session = begun((ONE, 0))
    session._epoch = 2**31 - 1
    asked(session)
    assert session.accepts(answer())
    assert asked(session).session_epoch == 1


def test_what_has_changed_last_is_told_last() -> None:
    session = FollowingSession()
    keys = [wanted(session, ONE, number) for number in range(3)]
    wanted(session, ONE, 0, offset=5)
    assert [key for key, _ in named(asked(session))] == [*keys[1:], keys[0]]


KEYS = st.tuples(st.sampled_from(TOPICS), st.integers(0, 2))
STEPS = st.one_of(
    st.tuples(st.just("want"), KEYS, st.integers(0, 3)),
    st.tuples(st.just("leave"), KEYS, st.just(0)),
    st.tuples(st.sampled_from(["fetch", "fetch", "lose", "evict"]), st.just((ONE, 0)), st.just(0)),
)


@given(st.lists(STEPS, max_size=40))
def test_the_leader_always_reads_just_what_is_wanted(steps: list[tuple[str, Key, int]]) -> None:
    """Beside the leader's half: after a request that got there, it follows what the follower wants."""
    session, wants = FollowingSession(), dict[Key, int]()
    ids: Iterator[int] = count(1)
    leaders = FetchSessions(1000, ids)
    for what, key, offset in [*steps, ("fetch", (ONE, 0), 0), ("fetch", (ONE, 0), 0)]:
        if what == "want":
            wants[key] = offset
            wanted(session, *key, offset)
        elif what == "leave":
            wants.pop(key, None)
            session.leave(key)
        elif what == "evict":
            leaders = FetchSessions(1000, ids)
        elif session.has_something_to_say:
            _fetch(session, leaders, wants, is_lost=what == "lose")
    assert set(wants) == {key for key in wants if key in session}
    assert len(session) == len(wants)


def _fetch(session: FollowingSession, leaders: FetchSessions, wants: Mapping[Key, int], *, is_lost: bool) -> None:
    request = asked(session)
    exchange = leaders.open(request, lambda topic_id: str(topic_id), of_follower=True, now_ms=0)
    followed = {(each.topic_id, each.partition.partition): each.partition.fetch_offset for each in exchange.partitions}
    if not exchange.error:
        assert followed == wants
    results = [(each, PartitionData(partition_index=each.partition.partition)) for each in exchange.partitions]
    error, session_id, told = leaders.close(exchange, results, now_ms=0)
    if is_lost:
        session.begin_anew()
        return
    responses = [
        FetchableTopicResponse(topic_id=each.topic_id, partitions=[data]) for each, data in (() if error else told)
    ]
    accepted = session.accepts(FetchResponse(error_code=error, session_id=session_id, responses=responses))
    assert accepted == (error == ErrorCode.NONE)
