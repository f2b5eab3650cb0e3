"""What is known of one key of server.properties: Kafka's name, type, default, limits and importance, whether it may be
changed while the broker runs, and what it does here."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Any, Final

from barnabas.broker.configuration.topic_documentation import TOPIC_DOCUMENTATION
from barnabas.protocol.java_text import parse_integer, trim
from barnabas.storage.topic_config import TOPIC_CONFIGS
from barnabas.storage.topic_config_types import Rule, Type

__all__ = [
    "CLASS",
    "CLUSTER_WIDE",
    "HIGH",
    "INT_MAX",
    "LONG_MAX",
    "LOW",
    "MEDIUM",
    "PASSWORD",
    "PER_BROKER",
    "READ_ONLY",
    "REQUIRED",
    "SHORT",
    "ConfigType",
    "Importance",
    "Key",
    "Mode",
    "as_text",
    "key",
    "of_topics",
]

INT_MAX: Final = 2**31 - 1
LONG_MAX: Final = 2**63 - 1

SHORT = Type("SHORT", "an integer of 16 bits", lambda text: parse_integer(trim(text), 16))
CLASS = Type("CLASS", "the name of a class", trim)
PASSWORD = Type("PASSWORD", "a password", trim)


class Importance(StrEnum):
    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"


class Mode(StrEnum):
    """Where a key may be set while the broker runs; what may be set for the cluster may be set for one broker too."""

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"


HIGH, MEDIUM, LOW = Importance
READ_ONLY, PER_BROKER, CLUSTER_WIDE = Mode


class ConfigType(IntEnum):
    """How DescribeConfigs writes a type."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class _Required:
    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED: Final = _Required()
"""The default of what Kafka does not start without."""


@dataclass(frozen=True, slots=True)
class Key:
    """`default` is Kafka's, barnabas_defaults.py has others; `does` is empty where nothing comes of it."""

    name: str
    type: Type
    default: Any
    rule: Rule
    importance: Importance
    mode: Mode
    does: str = ""
    internal: bool = False
    dynamic_only: bool = False
    """It cannot be set in server.properties."""

    def __lt__(self, other: Key) -> bool:
        return self.name < other.name

    @property
    def sensitive(self) -> bool:
        return self.type is PASSWORD

    @property
    def config_type(self) -> ConfigType:
        return ConfigType[self.type.name]

    @property
    def documentation(self) -> str:
        return self.does or "Accepted as Kafka does, and without effect in Barnabas."

    @property
    def allowed(self) -> str:
        """What a value must be, for the eyes of who gave another."""
        if self.rule.allowed == "anything":
            return self.type.allowed
        number = self.type.name in ("INT", "LONG", "SHORT", "DOUBLE")
        return f"{self.type.allowed}, {self.rule.allowed}" if number else self.rule.allowed

    def parse(self, text: str) -> Any:
        """ValueError, with what is allowed, for what Kafka refuses."""
        try:
            value = self.type.parse(text)
        except ValueError:
            raise ValueError(f"must be {self.allowed}") from None
        value = self.rule.normalise(value)
        if not self.rule.permits(value):
            raise ValueError(f"must be {self.allowed}")
        return value


def as_text(value: Any) -> str | None:
    """A value as Kafka writes it where it answers or compares."""
    if value is None:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(value)
    return _double_text(value) if isinstance(value, float) else str(value)


def _double_text(value: float) -> str:
    """Double.toString: the same digits as Python's, an exponent from other sizes on."""
    if value != value or value in (float("inf"), float("-inf")):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[repr(value)]
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        text = repr(value)
        return text if "e" not in text else f"{value:f}"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = f"{abs(value):e}".partition("e")
    digits = repr(abs(value)).partition("e")[0].replace(".", "").strip("0") or "0"
    mantissa = digits[0] + "." + (digits[1:] or "0")
    return f"{sign}{mantissa}E{int(exponent)}"


def key(
    type_: Type,
    default: Any,
    rule: Rule,
    importance: Importance,
    mode: Mode,
    does: str,
    *,
    internal: bool = False,
    dynamic_only: bool = False,
) -> Any:
    """A field of a table, whose name with dots for underscores is the key's. Tables are only read and inherited:
    they have no methods, which would take longer to make than all else of a start."""
    return field(metadata={"key": (type_, default, rule, importance, mode, does, internal, dynamic_only)})


_OF_TOPICS = {name: key for key in TOPIC_CONFIGS.values() for name in key.server_names}


def of_topics(name: str, importance: Importance) -> Key:
    """What topics have that do not say otherwise: type, default and limits are those of the topics' key."""
    topic_key = _OF_TOPICS[name]
    does = f"What topics have without a {topic_key.name} of their own. {TOPIC_DOCUMENTATION[topic_key.name]}"
    return Key(name, topic_key.type, topic_key.default, topic_key.rule, importance, CLUSTER_WIDE, does)
