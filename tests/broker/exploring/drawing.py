"""Requests drawn at random: of every API that a node advertises, at every version."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import Any

from barnabas.broker.apis import MODULES, TELEMETRY
from barnabas.protocol.apis import APIS
from barnabas.protocol.schema import Field, Message, Struct, Uuid

from . import pools
from .drawn_records import draw_records
from .symbols import Symbols

__all__ = ["Drawer"]

FIRST_WITH_SESSIONS = 7

WEIGHTS = {
    "Produce": 8,
    "Fetch": 8,
    "ListOffsets": 4,
    "Metadata": 4,
    "JoinGroup": 7,
    "SyncGroup": 5,
    "Heartbeat": 2,
    "LeaveGroup": 2,
    "OffsetCommit": 4,
    "OffsetFetch": 4,
    "CreateTopics": 5,
    "InitProducerId": 2,
    "DescribeGroups": 2,
    "DescribeConfigs": 2,
    "IncrementalAlterConfigs": 2,
    "DeleteRecords": 2,
    "DescribeQuorum": 0.3,
    "UpdateFeatures": 0.5,
    "UnregisterBroker": 0.2,
    "ElectLeaders": 0.5,
    "AlterPartitionReassignments": 0.5,
    "ListPartitionReassignments": 0.5,
    "ApiVersions": 0.5,
}


VOTERS = {80, 81}
"""AddRaftVoter and RemoveRaftVoter: Kafka would go and change who votes."""

NAMES = {APIS[key].name: key for key in MODULES if key not in TELEMETRY | VOTERS}

THEMES = {
    "anything": (),
    "records": ("Produce", "Fetch", "ListOffsets", "InitProducerId", "DeleteRecords", "OffsetForLeaderEpoch"),
    "groups": ("JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "OffsetCommit", "OffsetFetch", "DescribeGroups"),
    "administration": (
        *("CreateTopics", "DeleteTopics", "CreatePartitions", "DescribeConfigs", "AlterConfigs", "Metadata"),
        *("IncrementalAlterConfigs", "DescribeTopicPartitions", "AlterClientQuotas", "DescribeClientQuotas"),
    ),
}
"""What a plan is mostly about."""
FIRST_WITH_INSTANCES = {"JoinGroup": 5, "SyncGroup": 3, "Heartbeat": 3, "OffsetCommit": 7}
OF_A_MEMBER = tuple(FIRST_WITH_INSTANCES)
OF_ONE_GROUP = ("JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "OffsetCommit", "OffsetDelete")


class Drawer:
    def __init__(self, rng: random.Random, symbols: Symbols, *, waits: bool = False) -> None:
        self.rng = rng
        theme = THEMES[rng.choice(list(THEMES))]
        self.weights = {name: WEIGHTS.get(name, 1.0) * (6 if name in theme else 1) for name in NAMES}
        self.symbols = symbols
        self.odd = 0.0
        """How probable it is that a field of this request is an odd one."""
        self.version = 0
        self.waits = waits
        self.resource_type = 0
        self.config_name = ""
        self.group = ""
        self.generations: dict[str, int] = {}
        """What the groups' generations were when a member last joined."""
        self.protocols: dict[str, str] = {}
        self.members: dict[str, dict[str, str | None]] = {}
        """Whom each group has named, and the instance that each is."""
        self.sessions: dict[int, int] = {}
        """Of Fetch, and the epoch that the next request of each has to have."""
        self._special: dict[str, Callable[[Field], Any]] = {
            "topic_id": self._topic_id,
            "records": lambda _: draw_records(self.rng, self.symbols.of_kind("producer"), self.odd),
            "member_id": self._member_id,
            "group_id": self._group_id,
            "generation_id": self._generation,
            "generation_id_or_member_epoch": self._generation,
            "member_epoch": lambda _: self.pick([-1], [0, 1]),
            "session_id": lambda _: self.pick([0, *self.symbols.of_kind("session")[-2:] * 2], [5, -1]),
            "producer_id": lambda _: self.pick([-1, *self.symbols.of_kind("producer")[-2:]], [5, -2]),
            "transactional_id": lambda _: self.pick([None], [""] if self.api == "InitProducerId" else [None]),
            "resource_type": self._resource_type,
            "resource_name": self._resource_name,
            "metadata": lambda _: self.pick([b"", b"\0\0\0\0\0\1\0\1t\xff\xff\xff\xff"], [b"\0", b"odd"]),
            "assignment": lambda _: self.pick([b"to it", b""], [b"\0" * 300]),
            "configuration_keys": lambda _: self._config_key(),
            "value": self._config_value,
            "coordinator_keys": self._group_id,
            "groups": self._group_id,
            "groups_names": self._group_id,
            "topic": self._topic,
            "topic_name": self._topic,
            "topic_names": self._topic,
            "name": self._name,
            "key": self._key,
            "replica_directory_id": lambda _: Uuid.ZERO,
        }

    def draw(self) -> tuple[Message, int]:
        (chosen,) = self.rng.choices(list(NAMES), [self.weights[name] for name in NAMES])
        return self.request(NAMES[chosen])

    def request(self, key: int) -> tuple[Message, int]:
        api = APIS[key]
        self.api = api.name
        low = 1 if api.name == "UpdateFeatures" else api.first  # its oldest cannot only validate
        self.version = self.rng.choice([api.last_stable, self.rng.randint(low, api.last_stable)])
        self.odd = self.rng.choice([0.0, 0.05, 0.05, 0.3])
        self.group = self.pick(pools.GROUPS, pools.ODD_GROUPS)
        made = self.struct(api.request)
        assert isinstance(made, Message)
        self._settle(made)
        return made, self.version

    def struct(self, kind: type[Struct]) -> Struct:
        made = kind()
        self.owner = kind.__name__
        for field in kind.__fields__:
            self.owner = kind.__name__
            if self.version in field.versions:
                setattr(made, field.name, self.value(field, kind))
        return made

    def value(self, field: Field, owner: type[Struct]) -> Any:
        may_be_null = self.version in field.nullable
        if field.tag is not None and self.rng.random() < 0.95:
            return [] if field.fresh_default and field.type.is_array else field.default
        if may_be_null and self.rng.random() < self._null_chance(field):
            return None
        if field.type.is_array:
            return [self.single(field.element, owner) for _ in range(self._length(field))]
        return self.single(field, owner)

    def single(self, field: Field, owner: type[Struct]) -> Any:
        if field.type.is_struct:
            return self.struct(getattr(sys.modules[owner.__module__], field.type.name))
        if field.type.name == "bool":
            return self.rng.random() < 0.3
        if field.name in self._special and not (field.name == "value" and field.type.name == "float64"):
            return self._special[field.name](field)
        if field.name in pools.FIELDS:
            good, odd = pools.FIELDS[field.name]
            drawn = self.pick(good, odd)
            return field.default if drawn is None and self.version not in field.nullable else drawn
        raise AssertionError(f"{owner.__name__}.{field.name} has no values to be drawn from")

    def pick(self, good: list[Any], odd: list[Any]) -> Any:
        return self.rng.choice(odd if self.rng.random() < self.odd else good)

    def _null_chance(self, field: Field) -> float:
        if field.name in ("group_instance_id", "records", "transactional_id"):
            return 0.0
        if field.name in ("reason", "cursor", "assignments", "match"):
            return 0.7
        if field.name == "value":
            return 0.3 if self.api == "IncrementalAlterConfigs" else 0.05
        return 0.2

    def _length(self, field: Field) -> int:
        if field.name == "assignments" and self.api in ("CreateTopics", "CreatePartitions"):
            return 0 if self.rng.random() < 0.9 and self.api == "CreateTopics" else self.rng.choice([1, 1, 2])
        if field.name in ("forgotten_topics_data", "components", "states_filter", "types_filter"):
            return self.rng.choice([0, 0, 1, 2])
        if field.name == "configs" and self.api == "CreateTopics":
            return self.rng.choice([0, 0, 1, 2])
        if field.name in ("broker_ids", "replicas"):
            return 1 if self.rng.random() > self.odd else self.rng.choice([0, 2])
        if self.rng.random() < self.odd * 0.3:
            return 0
        return self.rng.choice([1, 1, 1, 2, 2, 3])

    def _settle(self, request: Message) -> None:
        """What would hurt the cluster or take a minute is not asked."""
        if self.api == "UpdateFeatures":
            request.validate_only = True  # type: ignore[attr-defined]
        cursor = getattr(request, "cursor", None)
        if cursor is not None and cursor.partition_index > 1000:
            cursor.partition_index = 3  # Kafka counts on from it, beyond what an int holds
        if self.api == "JoinGroup":
            request.protocols = _once(request.protocols, "name")  # type: ignore[attr-defined]
        if self.api == "AlterConfigs":
            known = [one for one in request.resources if one.resource_type in pools.RESOURCES]  # type: ignore[attr-defined]
            odd = [one for one in request.resources if one not in known]  # type: ignore[attr-defined]
            request.resources = [*_once(known, "resource_type", "resource_name"), *odd[:1]]  # type: ignore[attr-defined]
        if self.api == "Produce":
            _without_odd_repetitions(request)
        if self.api == "IncrementalAlterConfigs":
            for resource in request.resources:  # type: ignore[attr-defined]
                if any(config.config_operation not in range(4) for config in resource.configs):
                    del resource.configs[1:]  # which of several mistakes is seen first, a hash table decides
        if self.api in OF_A_MEMBER and self.rng.random() > self.odd:
            self._be_a_member(request)
        if self.api == "SyncGroup" and self.group in self.protocols and self.rng.random() > self.odd:
            request.protocol_name = self.rng.choice([None, self.protocols[self.group]])  # type: ignore[attr-defined]
        if self.api == "Fetch" and self.version >= FIRST_WITH_SESSIONS and self.rng.random() > self.odd:
            choices = [(0, -1), (0, 0), *list(self.sessions.items())[-2:]]
            request.session_id, request.session_epoch = self.rng.choice(choices)  # type: ignore[attr-defined]
        if self.waits and self.api == "Fetch":
            request.max_wait_ms = self.rng.choice([0, 60_000])  # type: ignore[attr-defined]
            if request.max_wait_ms:  # type: ignore[attr-defined]
                _without_limits_below_zero(request)

    def _be_a_member(self, request: Any) -> None:
        """Who asks is somebody whom the group knows, or somebody new."""
        members = list(self.members.get(self.group, {}).items())[-3:]
        if self.api == "JoinGroup" and (not members or self.rng.random() < 0.3):
            request.member_id = ""
            request.group_instance_id = self.rng.choice([None, None, None, "one", "two"]) if self.version >= 5 else None
        elif self.api == "OffsetCommit" and self.rng.random() < 0.3:
            request.member_id, request.group_instance_id, request.generation_id_or_member_epoch = "", None, -1
        elif members:
            request.member_id, instance = self.rng.choice(members)
            request.group_instance_id = instance if self.version >= FIRST_WITH_INSTANCES[self.api] else None

    def _topic_id(self, _: Field) -> Any:
        known = self.symbols.of_kind("uuid")
        if self.api in ("Metadata", "DeleteTopics") and self.rng.random() < 0.6:
            return Uuid.ZERO
        chosen = self.pick(known[-4:] or [Uuid.ZERO], [*pools.RESERVED_IDS, *known[:3]])
        # A session of Kafka's fails, now and later, over a topic without an id.
        return pools.RESERVED_IDS[-1] if self.api == "Fetch" and chosen == Uuid.ZERO else chosen

    def _topic(self, _: Field) -> str:
        name: str = self.pick(pools.NAMES, pools.ODD_NAMES)
        if name in pools.INTERNAL and self.api not in ("Metadata", "CreateTopics", "DescribeTopicPartitions"):
            return "@nowhere"  # Kafka's own records are its own, and not to be lost.
        return name

    def _group_id(self, _: Field) -> Any:
        if self.api in OF_ONE_GROUP or self.rng.random() < 0.6:
            return self.group
        return self.pick(pools.GROUPS, pools.ODD_GROUPS)

    def _member_id(self, field: Field) -> Any:
        known = list(self.members.get(self.group, {}))[-4:] or self.symbols.of_kind("member")[-2:]
        if self.api in ("OffsetCommit", "OffsetFetch") and self.rng.random() < 0.5:
            return ""
        if self.api == "JoinGroup" and self.rng.random() < 0.35:
            return ""
        return self.pick(known or [""], ["nobody", ""])

    def _generation(self, _: Field) -> Any:
        if self.api == "OffsetCommit" and self.rng.random() < 0.4:
            return -1
        return self.pick([self.generations.get(self.group, 1)], [-1, 0, 1, 2, 100, -2])

    def _resource_type(self, _: Field) -> Any:
        self.resource_type = self.pick([2, 2, 2, 4, 16, 32], pools.ODD_RESOURCES)
        return self.resource_type

    def _resource_name(self, _: Field) -> Any:
        good, odd = pools.RESOURCES.get(self.resource_type, (["1"], [""]))
        return self.pick(good, odd)

    def _config_key(self) -> Any:
        if self.api == "CreateTopics":
            self.resource_type = pools.TOPIC
        good, odd = pools.CONFIGS.get(self.resource_type, pools.CONFIGS[pools.TOPIC])
        self.config_name = self.pick(list(good), list(odd))
        return self.config_name

    def _config_value(self, _: Field) -> Any:
        good, odd = pools.CONFIGS.get(self.resource_type, pools.CONFIGS[pools.TOPIC])
        values = good.get(self.config_name) or odd.get(self.config_name) or (["1"], [""])
        drawn = self.pick(*values)
        return "" if drawn is None else drawn

    def _name(self, field: Field) -> Any:
        if self.owner in ("AlterableConfig", "CreatableTopicConfig"):
            return self._config_key()
        if self.owner == "JoinGroupRequestProtocol":
            return self.pick(["range", "range", "sticky"], [""])
        return self._topic(field)

    def _key(self, field: Field) -> Any:
        if self.api == "AlterClientQuotas":
            return self.pick(pools.QUOTAS, pools.ODD_QUOTAS)
        return self._group_id(field)

    def learn(self, request: Any, answer: Any) -> None:
        """What both brokers said, where a client would remember it."""
        if not isinstance(answer, dict):
            return
        if answer[""] == "JoinGroupResponse" and answer["error_code"] == "UNKNOWN_MEMBER_ID":
            self.members.get(request.group_id, {}).pop(request.member_id, None)
        if answer[""] == "JoinGroupResponse" and answer["error_code"] in ("NONE", "MEMBER_ID_REQUIRED"):
            members = self.members.setdefault(request.group_id, {})
            members[answer["member_id"]] = request.group_instance_id
            if answer["generation_id"] > 0:
                self.generations[request.group_id] = answer["generation_id"]
                self.protocols[request.group_id] = answer["protocol_name"]
        if answer[""] == "FetchResponse" and answer["session_id"] and answer["error_code"] == "NONE":
            session = answer["session_id"]
            self.sessions[session] = self.sessions.pop(session, 0) + 1


def _once(items: list[Any], *names: str) -> list[Any]:
    return list({tuple(getattr(item, name) for name in names): item for item in items}.values())


def _without_odd_repetitions(request: Any) -> None:
    """Of a partition that stands twice in a Produce Kafka appends one part and answers for the other, if one of them
    is refused before the log sees it."""
    seen: set[Any] = set()
    for topic in request.topic_data:
        kept = []
        for one in topic.partition_data:
            key = topic.name, topic.topic_id, one.index
            if key not in seen:
                kept.append(one)
            seen.add(key)
        topic.partition_data = kept


def _without_limits_below_zero(request: Any) -> None:
    """A Fetch of Kafka's that fails over them after it has waited is never answered."""
    request.max_bytes = abs(request.max_bytes)
    for topic in request.topics:
        for one in topic.partitions:
            one.partition_max_bytes = abs(one.partition_max_bytes)
