"""A coordinator in one process: the four steps around one shard, a list for its log, a clock that is moved by hand.

It does what a broker's API files do: checks topics first, asks the shard, appends, applies, and keeps who waits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TypeVar

from barnabas.coordination.groups import (
    GroupConfig,
    GroupRecord,
    GroupShard,
    decide_join_group,
    decide_loaded,
    decide_offset_commit,
    decide_offset_delete,
    decide_request,
    decide_resigned,
    decide_tick,
    fetch_offsets,
    offset_fetch_response,
    refused_at_once,
    requested_groups,
)
from barnabas.coordination.groups.broker_checks import (
    check_offset_commit,
    check_offset_delete,
    check_offset_fetch,
    merge_offset_commit,
    merge_offset_delete,
    merge_offset_fetch,
)
from barnabas.coordination.groups.offsets import NO_PRODUCER_ID
from barnabas.coordination.outcome import Outcome
from barnabas.protocol.codec import encode
from barnabas.protocol.messages.join_group import JoinGroupRequest
from barnabas.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from barnabas.protocol.messages.offset_delete import OffsetDeleteRequest
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from barnabas.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from barnabas.protocol.schema import Message, Uuid

START_MS = 1_700_000_000_000

Reply = TypeVar("Reply")


def fingerprint(shard: GroupShard) -> str:
    """All that a shard holds."""
    pending = {producer_id: list(offsets) for producer_id, offsets in shard.offsets.pending.items()}
    return repr((shard.groups, list(shard.offsets.committed), pending, sorted(vars(shard.deadlines)["_at"].items())))


class FakeTopics:
    """Topics by name, with a number of partitions each."""

    def __init__(self, topics: Mapping[str, int], ids: Mapping[str, Uuid] | None = None) -> None:
        self.partitions = dict(topics)
        self.ids = dict(ids or {name: Uuid(name.encode().ljust(16, b"-")[:16]) for name in topics})

    def name_of(self, topic_id: Uuid) -> str | None:
        return next((name for name, known in self.ids.items() if known == topic_id), None)

    def id_of(self, name: str) -> Uuid | None:
        return self.ids.get(name)

    def has_partition(self, name: str, partition: int) -> bool:
        return 0 <= partition < self.partitions.get(name, 0)


class Coordinator:
    def __init__(self, config: GroupConfig, topics: FakeTopics | None = None, *, watched: bool = True) -> None:
        """`watched` checks that nothing but `apply` changes the shard, which takes time."""
        self._watched = watched
        self._seen = ""
        self.topics = topics or FakeTopics({"orders": 3, "payments": 1})
        self.shard = GroupShard(config)
        self.log: list[tuple[GroupRecord | bool, int]] = []
        """Every record, and the producer of its transaction; whether one was committed, for a marker."""
        self.now_ms = START_MS
        self.waiting: dict[str, int] = {}
        """Names, and the versions of what they wait for."""
        self.released: dict[str, Message] = {}
        """What has been released since it was last taken from here."""
        self.outcomes: list[Outcome[GroupRecord, Message]] = []
        """Every decision since the list was last cleared."""
        self._given_out: Counter[str] = Counter()
        self.take(decide_loaded(self.shard, self.now_ms))

    def take(
        self, outcome: Outcome[GroupRecord, Reply], producer_id: int = NO_PRODUCER_ID, *, version: int = -1
    ) -> None:
        """Appends and applies what was decided about a request of this version."""
        if self._watched and self._seen:
            assert self._seen == fingerprint(self.shard), "a decision has changed the state"
        first_offset = len(self.log)
        self.log += [(record, producer_id) for record in outcome.records]
        self.shard.apply(outcome, first_offset, producer_id)
        for name, answer in outcome.release.items():
            if name in self.waiting:
                assert isinstance(answer, Message)
                encode(answer, self.waiting.pop(name))  # which refuses what the version cannot say
                self.released[name] = answer
        if outcome.waits_as is not None:
            self.waiting[outcome.waits_as] = version
        self.outcomes.append(outcome)  # type: ignore[arg-type]
        if self._watched:
            self._seen = fingerprint(self.shard)

    def end_transaction(self, producer_id: int, *, committed: bool) -> None:
        self.log.append((committed, producer_id))
        self.shard.end_transaction(producer_id, committed=committed)
        self._seen = ""

    def tick(self) -> None:
        """Everything that is due."""
        while (due_ms := self.shard.deadline_ms) is not None and due_ms <= self.now_ms:
            self.take(decide_tick(self.shard, self.now_ms))

    def advance(self, by_ms: int) -> None:
        """Deadline by deadline."""
        end_ms = self.now_ms + by_ms
        while (due_ms := self.shard.deadline_ms) is not None and due_ms <= end_ms:
            self.now_ms = max(due_ms, self.now_ms)
            self.tick()
        self.now_ms = end_ms

    def ask(
        self, request: Message, version: int, *, client_id: str = "raw", random_id: str | None = None
    ) -> tuple[Message | None, str | None]:
        """The answer, or the name under which it waits: deadlines that have come were met before, and are after."""
        self.tick()
        reply, waits_as = self._ask(request, version, client_id, random_id)
        if reply is not None:
            encode(reply, version)
        self.tick()
        if waits_as is not None and waits_as in self.released:
            return self.released.pop(waits_as), None
        return reply, waits_as

    def _ask(
        self, request: Message, version: int, client_id: str, random_id: str | None
    ) -> tuple[Message | None, str | None]:
        refused = refused_at_once(request, version, self.shard.config)
        if refused is not None:
            return refused, None
        match request:
            case JoinGroupRequest():
                return self._join(request, version, client_id, random_id)
            case OffsetCommitRequest():
                return self._commit(request, version), None
            case OffsetFetchRequest():
                return self._fetch(request, version), None
            case OffsetDeleteRequest():
                asked, refused = check_offset_delete(request, self.topics)
                deleted = decide_offset_delete(self.shard, asked, self.now_ms)
                self.take(deleted)
                assert deleted.reply is not None
                return merge_offset_delete(refused, deleted.reply), None
        outcome = decide_request(self.shard, request, version, self.now_ms)
        producer_id = request.producer_id if isinstance(request, TxnOffsetCommitRequest) else NO_PRODUCER_ID
        self.take(outcome, producer_id, version=version)
        return outcome.reply, outcome.waits_as

    def _join(
        self, request: JoinGroupRequest, version: int, client_id: str, random_id: str | None
    ) -> tuple[Message | None, str | None]:
        """Without a random id from the caller, a client's ids are numbered as they are given out."""
        prefix = client_id if request.group_instance_id is None else request.group_instance_id
        joined = decide_join_group(
            self.shard,
            request,
            version,
            self.now_ms,
            client_id=client_id,
            client_host="/127.0.0.1",
            random_id=random_id or str(self._given_out[prefix] + 1),
        )
        self.take(joined, version=version)
        given = f"{prefix}-{self._given_out[prefix] + 1}"
        group = self.shard.classic(request.group_id)
        if group is not None and (given in group.members or given in group.pending_members):
            self._given_out[prefix] += 1
        return joined.reply, joined.waits_as

    def _commit(self, request: OffsetCommitRequest, version: int) -> OffsetCommitResponse:
        asked, refused = check_offset_commit(request, version, self.topics)
        if asked is None:
            return refused
        outcome = decide_offset_commit(self.shard, asked, version, self.now_ms)
        self.take(outcome)
        assert outcome.reply is not None
        return merge_offset_commit(refused, outcome.reply)

    def _fetch(self, request: OffsetFetchRequest, version: int) -> OffsetFetchResponse:
        groups = []
        for group in requested_groups(request, version):
            asked, refused = check_offset_fetch(group, version, self.topics)
            answered = fetch_offsets(self.shard, asked, version, require_stable=request.require_stable)
            groups.append(merge_offset_fetch(asked, answered, refused, version, self.topics))
        return offset_fetch_response(groups, version)

    def take_over(self) -> None:
        """Another broker leads from now on: whoever waits is told, and all that is known is the log."""
        self.take(decide_resigned(self.shard))
        self.shard = self.replayed()
        self._seen = ""
        self.take(decide_loaded(self.shard, self.now_ms))

    def replayed(self) -> GroupShard:
        """A shard that has seen nothing but the log, as another broker's would."""
        shard = GroupShard(self.shard.config)
        for offset, (entry, producer_id) in enumerate(self.log):
            if isinstance(entry, GroupRecord):
                shard.replay(entry.key, entry.value, offset, producer_id)
            else:
                shard.end_transaction(producer_id, committed=entry)
        return shard
