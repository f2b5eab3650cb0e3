"""What can be set for one group: Kafka's names, types, limits and defaults.

What a group does not say, the broker's keys of the same name say for it, with group. in front. The limits are the
broker's too: group.consumer.min.session.timeout.ms is the least that a group may set for its session.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from barnabas.broker.configuration.node_config import NodeConfig
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.java_text import parse_integer
from barnabas.storage.topic_config_types import ANY, BOOLEAN, INT, STRING, Rule, Type, at_least, one_of

__all__ = ["GROUP_CONFIGS", "GroupKey", "check_group", "group_values"]

_DURATION = re.compile(
    r"([-+]?)P(?:([-+]?\d+)D)?(T(?:([-+]?\d+)H)?(?:([-+]?\d+)M)?(?:([-+]?\d+)(?:[.,](\d{0,9}))?S)?)?",
    re.IGNORECASE | re.ASCII,
)
_BY_DURATION = "by_duration:"


def _is_duration(text: str) -> bool:
    """As Java writes one, and not less than nothing."""
    found = _DURATION.fullmatch(text)
    if found is None or found[3] in ("T", "t") or not any(found.group(2, 4, 5, 6)):
        return False
    try:
        days, hours, minutes, seconds = (parse_integer(part or "0", 64) for part in found.group(2, 4, 5, 6))
    except ValueError:
        return False
    fraction = int((found[7] or "").ljust(9, "0")) / 1e9
    fraction = -fraction if (found[6] or "").startswith("-") else fraction
    total = ((days * 24 + hours) * 60 + minutes) * 60 + seconds + fraction
    return (-total if found[1] == "-" else total) >= 0


_OFFSET_RESET = Rule(
    "earliest, latest, or by_duration:PnDTnHnMn.nS",
    lambda text: (
        text in ("earliest", "latest") or (text.startswith(_BY_DURATION) and _is_duration(text[len(_BY_DURATION) :]))
    ),
)


class GroupKey(NamedTuple):
    name: str
    type: Type
    default: Any
    rule: Rule
    documentation: str
    synonym: str | None
    """The broker's key that says it for all groups."""
    from_broker: bool
    """Whether the value is the broker's where the group says none. Kafka looks some of them up only when it uses them,
    and answers its own default meanwhile."""

    def parse(self, text: str) -> Any:
        try:
            value = self.type.parse(text)
        except ValueError:
            raise _refusal(self.name, text, f"must be {self.type.allowed}") from None
        if not self.rule.permits(value):
            raise _refusal(self.name, text, f"must be {self.rule.allowed}")
        return value


def _refusal(name: str, value: object, why: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_CONFIG, f"Invalid value {str(value)[:200]} for configuration {name}: {why}.")


def _key(name: str, type_: Type, default: Any, rule: Rule, documentation: str, *, has_synonym: bool = True) -> GroupKey:
    looked_up_later = name.endswith("assignment.interval.ms")
    synonym = f"group.{name}" if has_synonym else None
    return GroupKey(name, type_, default, rule, documentation, synonym, has_synonym and not looked_up_later)


_KEYS = (
    *(
        _key(f"{kind}.{name}", INT, default, at_least(low), f"{says} of this {kind} group.")
        for kind in ("consumer", "share", "streams")
        for name, default, low, says in (
            ("session.timeout.ms", 45_000, 1, "How long a member may be silent"),
            ("heartbeat.interval.ms", 5_000, 1, "How often a member is heard of"),
            ("assignment.interval.ms", 1_000, 0, "The shortest time between two assignments"),
        )
    ),
    _key("share.record.lock.duration.ms", INT, 30_000, at_least(1_000), "How long a member may hold a record."),
    _key("share.delivery.count.limit", INT, 5, at_least(2), "How often a record is delivered before it is given up."),
    _key(
        "share.partition.max.record.locks",
        INT,
        2_000,
        at_least(100),
        "How many records of a partition may be out with members at the same time.",
    ),
    _key(
        "share.auto.offset.reset",
        STRING,
        "latest",
        _OFFSET_RESET,
        "Where a share group begins in a partition that is new to it.",
        has_synonym=False,
    ),
    _key(
        "share.isolation.level",
        STRING,
        "read_uncommitted",
        one_of("read_committed", "read_uncommitted"),
        "Whether a share group sees records of transactions that are not committed.",
        has_synonym=False,
    ),
    _key(
        "share.renew.acknowledge.enable",
        BOOLEAN,
        True,
        ANY,
        "Whether a member of a share group may ask to hold a record for longer.",
        has_synonym=False,
    ),
    _key("streams.num.standby.replicas", INT, 0, at_least(0), "How many standby tasks each task has."),
    _key(
        "streams.initial.rebalance.delay.ms",
        INT,
        3_000,
        at_least(0),
        "How long an empty streams group waits for more members before it first assigns tasks.",
    ),
)

GROUP_CONFIGS: dict[str, GroupKey] = {key.name: key for key in sorted(_KEYS)}
"""Every configuration by its name, sorted."""


def group_values(config: NodeConfig, overrides: Mapping[str, str]) -> dict[str, Any]:
    """What holds for a group with these configurations of its own. Names that this version does not know are left
    alone."""
    return {
        name: key.parse(overrides[name])
        if name in overrides
        else config.values[key.synonym]
        if key.from_broker and key.synonym
        else key.default
        for name, key in GROUP_CONFIGS.items()
    }


def check_group(config: NodeConfig, wanted: Mapping[str, str]) -> None:
    """KafkaError(INVALID_CONFIG), unless a group may have these, all together."""
    for name in wanted:
        if name not in GROUP_CONFIGS:
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"Groups have no configuration {name[:200]}.")
    values = group_values(config, wanted)
    for name, low, high in _limits(config):
        # What stays the broker's to say is not the group's mistake.
        if name.endswith("assignment.interval.ms") and name not in wanted:
            continue
        if not low <= values[name] <= high:
            raise _refusal(name, values[name], f"must be from {low} to {high}, as this broker allows")
    for kind in ("consumer", "share", "streams"):
        session, heartbeat = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
        if values[session] <= values[heartbeat]:
            raise _refusal(session, values[session], f"must be more than {heartbeat}={values[heartbeat]}")


_BOUNDED = tuple(
    name
    for name, key in GROUP_CONFIGS.items()
    if key.synonym and name not in ("streams.num.standby.replicas", "streams.initial.rebalance.delay.ms")
)


def _limits(config: NodeConfig) -> Iterator[tuple[str, int, int]]:
    for name in _BOUNDED:
        kind, _, rest = name.partition(".")
        yield name, config.values[f"group.{kind}.min.{rest}"], config.values[f"group.{kind}.max.{rest}"]
    yield "streams.num.standby.replicas", 0, config.values["group.streams.max.standby.replicas"]
