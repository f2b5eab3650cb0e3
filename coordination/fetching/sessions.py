"""Fetch sessions (KIP-227): what a client follows, so that it need not name it in every Fetch, nor be told of it again.

A full request names all partitions and may open a session; an incremental one names only what is new or changed, and
its answer leaves out what has no news. Each request of a session carries the next epoch, so that a request which is
sent twice, or an answer that got lost, is noticed.

`open` takes a request, before anything is read; `close` takes what was read and says what to answer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.fetch import FetchPartition, FetchRequest, PartitionData
from barnabas.protocol.schema import Uuid

__all__ = ["Exchange", "FetchSessions", "Followed", "NameOf", "Result", "Session"]

NO_SESSION = 0
FIRST_EPOCH = 0
"""In a request: here are all my partitions, open a session for them."""
NO_EPOCH = -1
"""In a request: here are all my partitions, I want no session."""
LAST_EPOCH = 2**31 - 1

EVICTABLE_AFTER_MS = 120_000
UNKNOWN = -1

Key = tuple[str | Uuid, int]
NameOf = Callable[[Uuid], str | None]
"""The name of the topic that has an id; None if none has it."""


class Followed:
    """A partition that a client fetches, and what it was told of it last."""

    __slots__ = ("high_watermark", "log_start_offset", "name", "partition", "topic_id")

    def __init__(self, name: str | None, topic_id: Uuid, partition: FetchPartition) -> None:
        self.name = name
        """None while no topic has this id."""
        self.topic_id = topic_id
        self.partition = partition
        """As the client asked for it last."""
        self.high_watermark = UNKNOWN
        self.log_start_offset = UNKNOWN

    def __repr__(self) -> str:
        return f"<Followed {self.name}-{self.partition.partition} from {self.partition.fetch_offset}>"

    def is_news(self, data: PartitionData) -> bool:
        changed = self.high_watermark != data.high_watermark or self.log_start_offset != data.log_start_offset
        is_sent_on = data.preferred_read_replica >= 0 or data.diverging_epoch is not None
        return changed or bool(data.error_code) or _size(data) > 0 or is_sent_on

    def tell(self, data: PartitionData, *, of_follower: bool) -> bool:
        """Whether there is news in it; what is told is remembered."""
        news = self.is_news(data)
        self.log_start_offset = data.log_start_offset
        # After an error the partition is told of again as soon as it is well, and so is a follower after a cut: who has
        # to drop records cannot take over with how many of them count (Kafka leaves it without until that changes).
        in_vain = data.error_code or (of_follower and data.diverging_epoch is not None)
        self.high_watermark = UNKNOWN if in_vain else data.high_watermark
        return news


Result = tuple[Followed, PartitionData]


class Session:
    __slots__ = ("by_id", "created_ms", "epoch", "id", "nameless", "of_follower", "partitions", "seasoned", "used_ms")

    def __init__(
        self, session_id: int, partitions: dict[Key, Followed], *, by_id: bool, of_follower: bool, now_ms: int
    ) -> None:
        self.id = session_id
        self.partitions = partitions
        """In the order in which they are read: those that gave records last stand at the end, so that none starves."""
        self.by_id = by_id
        self.nameless = any(followed.name is None for followed in partitions.values())
        """Some of its ids were unknown when it looked last."""
        self.of_follower = of_follower
        self.epoch = 1
        """That the next request has to carry."""
        self.created_ms = now_ms
        self.used_ms = now_ms
        self.seasoned = False
        """It was there long enough, when it was last used, to be given up for a larger one."""

    def __repr__(self) -> str:
        return f"<Session {self.id}, epoch {self.epoch}, {len(self.partitions)} partitions>"


class Exchange(NamedTuple):
    """One request on its way to its answer."""

    partitions: Collection[Followed]
    """What to read, in this order."""
    error: ErrorCode = ErrorCode.NONE
    session: Session | None = None
    """Of an incremental request."""
    epoch: int = NO_EPOCH
    """The epoch of `session` if no other request has come in between."""
    wants_session: dict[Key, Followed] | None = None
    by_id: bool = False
    of_follower: bool = False


class FetchSessions:
    """As many as fit. Where there is no room, who asks for a session gets none and names all partitions every time."""

    def __init__(self, slots: int, ids: Iterator[int]) -> None:
        """`ids` are random and positive."""
        self._slots = slots
        self._ids = ids
        self._sessions: dict[int, Session] = {}
        """The one that was used longest ago stands first."""
        self.evictions = 0

    def __len__(self) -> int:
        return len(self._sessions)

    @property
    def partition_count(self) -> int:
        return sum(len(session.partitions) for session in self._sessions.values())

    def get(self, session_id: int) -> Session | None:
        return self._sessions.get(session_id)

    # From the request

    def open(
        self, request: FetchRequest, name_of: NameOf | None, *, now_ms: int, of_follower: bool = False
    ) -> Exchange:
        """`name_of` if the request names topics by their ids."""
        by_id = name_of is not None
        epoch = request.session_epoch
        if epoch in (FIRST_EPOCH, NO_EPOCH):
            if request.session_id != NO_SESSION:
                self._sessions.pop(request.session_id, None)
            asked = _asked(request, name_of)
            wants_session = asked if epoch == FIRST_EPOCH else None
            return Exchange(asked.values(), wants_session=wants_session, by_id=by_id, of_follower=of_follower)
        session = self._sessions.get(request.session_id)
        if session is None:
            return Exchange((), ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != epoch:
            return Exchange((), ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        if session.by_id != by_id:
            return Exchange((), ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        if request.topics or request.forgotten_topics_data:
            asked = _asked(request, name_of)
            self._follow(session, asked, _forgotten(request, by_id=by_id))
            if not session.partitions:
                del self._sessions[session.id]
                return Exchange(asked.values())
        if name_of is not None and session.nameless:
            _name(session, name_of)
        self._touch(session, now_ms)
        session.epoch = 1 if epoch == LAST_EPOCH else epoch + 1
        return Exchange(tuple(session.partitions.values()), session=session, epoch=session.epoch)

    def _follow(self, session: Session, asked: dict[Key, Followed], forgotten: Iterable[Key]) -> None:
        for key, one in asked.items():
            known = session.partitions.get(key)
            if known is None:
                session.partitions[key] = one
                session.nameless = session.nameless or one.name is None
            else:
                known.partition = one.partition
        for key in forgotten:
            session.partitions.pop(key, None)

    def _touch(self, session: Session, now_ms: int) -> None:
        session.used_ms = now_ms
        session.seasoned = now_ms - session.created_ms > EVICTABLE_AFTER_MS
        self._sessions[session.id] = self._sessions.pop(session.id)

    # To the answer

    def close(
        self, exchange: Exchange, results: Sequence[Result], *, now_ms: int
    ) -> tuple[ErrorCode, int, Sequence[Result]]:
        """The error, the session's id, and those results that the client has to be told."""
        session = exchange.session
        if session is not None:
            if session.epoch != exchange.epoch:
                return ErrorCode.INVALID_FETCH_SESSION_EPOCH, session.id, ()
            return ErrorCode.NONE, session.id, _news(session, results)
        if exchange.wants_session is None or exchange.error:
            return exchange.error, NO_SESSION, results
        # What comes first in the answer is read first by the next request.
        partitions: dict[Key, Followed] = {}
        for followed, data in results:
            followed.tell(data, of_follower=exchange.of_follower)
            partitions[_key(followed)] = followed
        return ErrorCode.NONE, self._create(exchange, partitions, now_ms), results

    def withhold(self, exchange: Exchange) -> tuple[ErrorCode, int]:
        """The error and the session's id where nothing is told, because the client has to wait."""
        session = exchange.session
        if session is None:
            return ErrorCode.NONE, NO_SESSION
        superseded = session.epoch != exchange.epoch
        return ErrorCode.INVALID_FETCH_SESSION_EPOCH if superseded else ErrorCode.NONE, session.id

    def _create(self, exchange: Exchange, partitions: dict[Key, Followed], now_ms: int) -> int:
        of_follower = exchange.of_follower
        if len(self._sessions) >= self._slots and not self._evict(len(partitions), now_ms, of_follower=of_follower):
            return NO_SESSION
        session_id = next(drawn for drawn in self._ids if drawn > 0 and drawn not in self._sessions)
        self._sessions[session_id] = Session(
            session_id, partitions, by_id=exchange.by_id, of_follower=of_follower, now_ms=now_ms
        )
        return session_id

    def _evict(self, size: int, now_ms: int, *, of_follower: bool) -> bool:
        """Make room for a session of so many partitions: by one that nobody has used for long, or else by the least of
        those that are worth no more than it. A follower's is worth more than any consumer's."""
        doomed = next(iter(self._sessions.values()), None)
        if doomed is None:
            return False
        if now_ms - doomed.used_ms <= EVICTABLE_AFTER_MS:
            evictable = (
                session
                for session in self._sessions.values()
                if session.seasoned or (of_follower and not session.of_follower)
            )
            doomed = min(evictable, key=_worth, default=None)
            if doomed is None or (of_follower, size, 0) < _worth(doomed):
                return False
        del self._sessions[doomed.id]
        self.evictions += 1
        return True


def _worth(session: Session) -> tuple[bool, int, int]:
    return session.of_follower, len(session.partitions), session.id


def _name(session: Session, name_of: NameOf) -> None:
    session.nameless = False
    for followed in session.partitions.values():
        if followed.name is None:
            followed.name = name_of(followed.topic_id)
            session.nameless = session.nameless or followed.name is None


def _news(session: Session, results: Sequence[Result]) -> list[Result]:
    told = []
    for result in results:
        followed, data = result
        if followed.tell(data, of_follower=session.of_follower):
            told.append(result)
            if _size(data) > 0:
                key = _key(followed)
                session.partitions[key] = session.partitions.pop(key)
    return told


def _asked(request: FetchRequest, name_of: NameOf | None) -> dict[Key, Followed]:
    """Of a partition that is named twice, the last word counts."""
    asked: dict[Key, Followed] = {}
    for topic in request.topics:
        topic_id = topic.topic_id
        if name_of is None:
            name: str | None = topic.topic
            key: str | Uuid = topic.topic
        else:
            name = name_of(topic_id)
            key = topic_id
        for partition in topic.partitions:
            asked[key, partition.partition] = Followed(name, topic_id, partition)
    return asked


def _forgotten(request: FetchRequest, *, by_id: bool) -> Iterable[Key]:
    for topic in request.forgotten_topics_data:
        for number in topic.partitions:
            yield topic.topic_id if by_id else topic.topic, number


def _key(followed: Followed) -> Key:
    named_by_id = followed.topic_id != Uuid.ZERO or followed.name is None
    return followed.topic_id if named_by_id else followed.name or "", followed.partition.partition


def _size(data: PartitionData) -> int:
    return 0 if data.records is None else len(data.records)
