"""A follower's half of a fetch session (KIP-227): what its leader has been told, so that it need not be told again.

`want` and `leave` say which partitions are to be fetched, and from where; `ask` puts into a request what of that the
leader does not know yet. Whatever they are told while a request is under way goes into the next one. The other half is
sessions.py.
"""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.coordination.fetching.sessions import FIRST_EPOCH, LAST_EPOCH, NO_SESSION
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, ForgottenTopic
from barnabas.protocol.schema import Uuid

__all__ = ["FollowingSession", "Key"]

Key = tuple[Uuid, int]
"""A topic's id, and the partition's number."""


class FollowingSession:
    def __init__(self) -> None:
        self._id = NO_SESSION
        self._epoch = FIRST_EPOCH
        self._wanted: dict[Key, FetchPartition] = {}
        """What has changed last comes last: a leader that cannot tell everything tells what comes first."""
        self._changed: dict[Key, None] = {}
        self._told: set[Key] = set()
        """What the leader has in the session, when the request that is under way has got there."""
        self._left: set[Key] = set()
        """Those of them that it shall forget."""

    def __len__(self) -> int:
        return len(self._wanted)

    def __contains__(self, key: Key) -> bool:
        return key in self._wanted

    # What is to be fetched

    def want(self, topic_id: Uuid, partition: FetchPartition) -> None:
        key = topic_id, partition.partition
        if self._wanted.pop(key, None) != partition:
            self._changed[key] = None
        self._wanted[key] = partition
        self._left.discard(key)

    def leave(self, key: Key) -> None:
        self._wanted.pop(key, None)
        self._changed.pop(key, None)
        if key in self._told:
            self._left.add(key)

    @property
    def has_something_to_say(self) -> bool:
        """Or something to wait for."""
        return bool(self._wanted or (self._left and self._epoch != FIRST_EPOCH))

    # A request, and its answer

    def ask(self, request: FetchRequest) -> None:
        request.session_id = self._id
        request.session_epoch = self._epoch
        wanted = self._wanted
        if self._epoch == FIRST_EPOCH:
            request.topics = _topics(wanted.items())
            self._told = set(wanted)
        else:
            request.topics = _topics((key, wanted[key]) for key in self._changed)
            request.forgotten_topics_data = _forgotten(self._left)
            self._told -= self._left
            self._told.update(self._changed)
        self._changed.clear()
        self._left.clear()

    def accepts(self, answer: FetchResponse) -> bool:
        """Whether it is an answer to what was asked; if not, the next request begins anew."""
        if answer.error_code:
            self.begin_anew(is_known=answer.error_code != ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
            return False
        is_full = self._epoch == FIRST_EPOCH
        got = {(topic.topic_id, each.partition_index) for topic in answer.responses for each in topic.partitions}
        if got - self._told or (is_full and len(got) < len(self._told)):
            self.begin_anew(is_known=not is_full)
            return False
        if answer.session_id == NO_SESSION:
            self.begin_anew(is_known=False)
        else:
            self._id = answer.session_id
            self._epoch = self._epoch + 1 if self._epoch < LAST_EPOCH else FIRST_EPOCH + 1
        return True

    def begin_anew(self, *, is_known: bool = True) -> None:
        """With a request that names everything. A session that the leader may know ends with it."""
        self._epoch = FIRST_EPOCH
        if not is_known:
            self._id = NO_SESSION


def _topics(partitions: Iterable[tuple[Key, FetchPartition]]) -> list[FetchTopic]:
    by_id: dict[Uuid, FetchTopic] = {}
    for (topic_id, _), partition in partitions:
        topic = by_id.get(topic_id)
        if topic is None:
            by_id[topic_id] = FetchTopic(topic_id=topic_id, partitions=[partition])
        else:
            topic.partitions.append(partition)
    return list(by_id.values())


def _forgotten(keys: Iterable[Key]) -> list[ForgottenTopic]:
    by_id: dict[Uuid, ForgottenTopic] = {}
    for topic_id, number in keys:
        by_id.setdefault(topic_id, ForgottenTopic(topic_id=topic_id)).partitions.append(number)
    return list(by_id.values())
