"""A classic group as a value: its members, its generation, and who waits for what.

A group of the shard is never changed in place. A decision changes a copy, which `apply` puts in its place, so what
was not appended has not happened. Members are frozen, and replaced when they change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from barnabas.coordination.java_hash import map_order
from barnabas.protocol.codec import decode_from
from barnabas.protocol.errors import ErrorCode, KafkaError, MalformedFrame
from barnabas.protocol.records.classic_group import GroupMetadataValue
from barnabas.protocol.records.consumer_protocol import ConsumerProtocolSubscription

__all__ = ["CONSUMER_PROTOCOL", "ClassicGroup", "GroupState", "Member"]

CONSUMER_PROTOCOL = "consumer"
"""The protocol type of consumers, whose metadata the coordinator reads for the topics they subscribe to."""
_VERSION_BYTES = 2


class GroupState(Enum):
    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"


@dataclass(frozen=True, slots=True)
class Member:
    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocol_type: str
    protocols: tuple[tuple[str, bytes], ...]
    """Names and metadata, the ones it likes best in front."""
    assignment: bytes = b""
    join_version: int | None = None
    """The version of its JoinGroup, while that waits."""
    awaits_sync: bool = False
    is_new: bool = False
    """Until its first generation it may time out even while its JoinGroup waits."""

    @property
    def awaits_join(self) -> bool:
        return self.join_version is not None

    @property
    def is_heard_of(self) -> bool:
        """No heartbeat is due from a member whose request waits, unless it is new."""
        return not self.is_new and (self.awaits_join or self.awaits_sync)

    def metadata(self, protocol_name: str | None) -> bytes:
        return next(metadata for name, metadata in self.protocols if name == protocol_name)

    def vote(self, candidates: Iterable[str]) -> str:
        return next(name for name, _ in self.protocols if name in candidates)


@dataclass(slots=True)
class ClassicGroup:
    group_id: str
    state: GroupState = GroupState.EMPTY
    previous_state: GroupState | None = None
    state_since_ms: int | None = None
    """None for a group of an old broker's record, which had no such field."""
    protocol_type: str | None = None
    """None for a group that only keeps offsets."""
    protocol_name: str | None = None
    generation: int = 0
    leader: str | None = None
    members: dict[str, Member] = field(default_factory=dict)
    static_members: dict[str, str] = field(default_factory=dict)
    """Member ids by instance id."""
    pending_members: set[str] = field(default_factory=set)
    """Member ids that were given out to those who joined without one, and have not joined with them yet."""
    pending_sync: set[str] = field(default_factory=set)
    """Members of the generation that have not sent their SyncGroup yet."""
    protocol_support: dict[str, int] = field(default_factory=dict)
    """How many members support a protocol."""
    awaiting_join: int = 0
    """How many members' JoinGroups wait."""
    subscribed_topics: frozenset[str] | None = None
    """None where nobody can know: other protocols than the consumers', metadata that cannot be read."""
    new_member_added: bool = False
    """Since the initial delay was last extended."""
    initial_delay: tuple[int, int] | None = None
    """While an initial rebalance waits for more members: how long now, and what remains of its rebalance timeout."""
    rebalance_reason: str = ""
    """Why the last rebalance began, for people to read."""

    @classmethod
    def of_record(cls, group_id: str, value: GroupMetadataValue) -> ClassicGroup:
        """The group as its record says: stable, its members with nothing but the chosen protocol."""
        group = cls(
            group_id,
            GroupState.STABLE if value.members else GroupState.EMPTY,
            state_since_ms=None if value.current_state_timestamp == -1 else value.current_state_timestamp,
            protocol_type=value.protocol_type or None,
            protocol_name=value.protocol,
            generation=value.generation,
            leader=value.leader,
        )
        for member in value.members:
            rebalance_timeout = member.rebalance_timeout
            group.add(
                Member(
                    member.member_id,
                    member.group_instance_id,
                    member.client_id,
                    member.client_host,
                    member.session_timeout if rebalance_timeout == -1 else rebalance_timeout,
                    member.session_timeout,
                    value.protocol_type,
                    ((value.protocol or "", member.subscription),),
                    member.assignment,
                )
            )
        group.subscribed_topics = group.read_subscribed_topics()
        return group

    def copy(self) -> ClassicGroup:
        return replace(
            self,
            members=self.members.copy(),
            static_members=self.static_members.copy(),
            pending_members=self.pending_members.copy(),
            pending_sync=self.pending_sync.copy(),
            protocol_support=self.protocol_support.copy(),
        )

    # What it is

    @property
    def is_empty(self) -> bool:
        return self.state is GroupState.EMPTY

    @property
    def can_rebalance(self) -> bool:
        return self.state is not GroupState.PREPARING_REBALANCE

    @property
    def all_joined(self) -> bool:
        return len(self.members) == self.awaiting_join and not self.pending_members

    @property
    def uses_consumer_protocol(self) -> bool:
        return self.protocol_type == CONSUMER_PROTOCOL

    @property
    def rebalance_timeout_ms(self) -> int:
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def members_in_order(self) -> list[Member]:
        return [self.members[member_id] for member_id in map_order(self.members)]

    def is_subscribed_to(self, topic: str) -> bool:
        """A group of consumers whose subscriptions cannot be read counts as subscribed to everything."""
        return self.uses_consumer_protocol if self.subscribed_topics is None else topic in self.subscribed_topics

    def check_member(self, member_id: str, instance_id: str | None) -> None:
        if instance_id is not None:
            known = self.static_members.get(instance_id)
            if known is None:
                raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
            if known != member_id:
                raise KafkaError(ErrorCode.FENCED_INSTANCE_ID)
        if member_id not in self.members:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)

    # Protocols

    def supports(self, protocol_type: str, names: Iterable[str]) -> bool:
        """Whether a member with these protocols can be one of the group: one of them is everybody's."""
        if self.is_empty:
            return bool(protocol_type) and any(True for _ in names)
        return self.protocol_type == protocol_type and any(
            self.protocol_support.get(name, 0) == len(self.members) for name in names
        )

    def select_protocol(self) -> str:
        """The one that most members like best among those that all support."""
        count = len(self.members)
        candidates = {name for name, support in self.protocol_support.items() if support == count}
        votes: dict[str, int] = {}
        for member in self.members.values():
            vote = member.vote(candidates)
            votes[vote] = votes.get(vote, 0) + 1
        return max(map_order(votes), key=votes.__getitem__)

    def read_subscribed_topics(self) -> frozenset[str] | None:
        if not self.uses_consumer_protocol:
            return None
        if not self.members:
            return frozenset()
        if self.protocol_name is None:
            return None
        topics: set[str] = set()
        try:
            for member in self.members.values():
                # Every version of a subscription begins like version 0.
                metadata = member.metadata(self.protocol_name)
                if len(metadata) < _VERSION_BYTES:
                    return None
                topics.update(decode_from(ConsumerProtocolSubscription, 0, metadata, _VERSION_BYTES)[0].topics)
        except MalformedFrame:
            return None
        return frozenset(topics)

    # How it changes, on a copy

    def move_to(self, state: GroupState, now_ms: int) -> None:
        self.previous_state = self.state
        self.state = state
        self.state_since_ms = now_ms

    def add(self, member: Member) -> None:
        assert member.member_id not in self.members
        if member.instance_id is not None:
            assert member.instance_id not in self.static_members
            self.static_members[member.instance_id] = member.member_id
        if not self.members:
            self.protocol_type = member.protocol_type
        if self.leader is None:
            self.leader = member.member_id
        self.members[member.member_id] = member
        self._count(member, 1)
        self.pending_members.discard(member.member_id)

    def put(self, member: Member) -> None:
        """In place of the one with its id."""
        self._count(self.members[member.member_id], -1)
        self.members[member.member_id] = member
        self._count(member, 1)

    def set_assignments(self, assignments: Mapping[str, bytes]) -> None:
        for member_id, member in self.members.items():
            self.members[member_id] = replace(member, assignment=assignments.get(member_id, b""))

    def rename(self, member_id: str, new_member_id: str) -> None:
        """A static member comes back under a new id, and is otherwise who it was."""
        member = self.members.pop(member_id)
        assert member.instance_id is not None
        assert not member.awaits_join, "its request is answered first"
        self.members[new_member_id] = replace(member, member_id=new_member_id, awaits_sync=False, is_new=False)
        self.static_members[member.instance_id] = new_member_id
        if self.leader == member_id:
            self.leader = new_member_id

    def remove(self, member_id: str) -> None:
        member = self.members.pop(member_id, None)
        if member is not None:
            self._count(member, -1)
            if member.instance_id is not None:
                del self.static_members[member.instance_id]
        if self.leader == member_id:
            self.leader = next(iter(map_order(self.members)), None)
        self.pending_members.discard(member_id)
        self.pending_sync.discard(member_id)

    def elect_joined_leader(self) -> bool:
        """Leaves the leader who has joined, or takes another who has; False where nobody has."""
        if self.leader is None:
            return False
        if self.leader in self.members and self.members[self.leader].awaits_join:
            return True
        joined = next((member.member_id for member in self.members_in_order() if member.awaits_join), None)
        self.leader = self.leader if joined is None else joined
        return joined is not None

    def begin_generation(self, now_ms: int) -> None:
        self.generation += 1
        self.protocol_name = self.select_protocol() if self.members else None
        self.subscribed_topics = self.read_subscribed_topics()
        self.move_to(GroupState.COMPLETING_REBALANCE if self.members else GroupState.EMPTY, now_ms)
        self.pending_sync.clear()

    def _count(self, member: Member, by: int) -> None:
        # Kafka counts a protocol that a member names twice twice, and then finds none that all members have.
        for name in dict(member.protocols):
            self.protocol_support[name] = self.protocol_support.get(name, 0) + by
            if not self.protocol_support[name]:
                del self.protocol_support[name]
        if member.awaits_join:
            self.awaiting_join += by
