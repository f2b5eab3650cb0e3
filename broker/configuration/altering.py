"""What AlterConfigs and IncrementalAlterConfigs make of a resource: the configurations to write, or why not.

All functions are pure. `stored` is what the metadata has for the resource now; the answer is what to write: a name with
its value, or with None where it is to be removed. KafkaError is the resource's error code and message.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Any, NamedTuple

from barnabas.broker.configuration.dynamic import check_dynamic, keep_valid
from barnabas.broker.configuration.key import as_text
from barnabas.broker.configuration.keys import KEYS
from barnabas.broker.configuration.node_config import NodeConfig
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.storage.java_text import parse_integer
from barnabas.storage.topic_config import TOPIC_CONFIGS, TopicConfig
from barnabas.storage.topic_config_types import LIST

__all__ = ["Change", "Operation", "alter_broker", "alter_topic", "replace_broker", "replace_topic"]

LONGEST_VALUE = 2**15 - 1
MIN_ISR = "min.insync.replicas"


class Operation(IntEnum):
    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class Change(NamedTuple):
    name: str
    operation: int
    value: str | None


def alter_broker(
    config: NodeConfig,
    resource: str,
    stored: Mapping[str, str],
    changes: Sequence[Change],
    *,
    eligible_leader_replicas: bool = False,
) -> dict[str, str | None]:
    """`resource` is this broker's number, or empty for all brokers. What is set again is written again: a broker then
    reads the files anew that a value names."""
    _check_changes(changes)
    of_one_broker = _check_broker_name(config, resource)
    current, _ = keep_valid(stored, of_one_broker=of_one_broker)
    defaults = {key.name: key.default for key in KEYS.values() if key.type is LIST and not key.dynamic_only}
    check_dynamic(config, _applied(current, changes, defaults, KEYS), of_one_broker=of_one_broker)
    after = _applied(stored, changes, defaults, KEYS)
    records = {change.name: after.get(change.name) for change in changes}
    return _checked_broker_records(records, of_one_broker, eligible_leader_replicas)


def replace_broker(
    config: NodeConfig,
    resource: str,
    stored: Mapping[str, str],
    wanted: Mapping[str, str | None],
    *,
    eligible_leader_replicas: bool = False,
) -> dict[str, str | None]:
    """AlterConfigs: what is not wanted is removed."""
    values = _without_nulls(wanted)
    of_one_broker = _check_broker_name(config, resource)
    check_dynamic(config, values, of_one_broker=of_one_broker)
    records: dict[str, str | None] = dict(values)
    records |= dict.fromkeys(stored.keys() - values.keys())
    return _checked_broker_records(records, of_one_broker, eligible_leader_replicas)


def alter_topic(
    config: NodeConfig, stored: Mapping[str, str], changes: Sequence[Change], *, remote_storage: bool = False
) -> dict[str, str | None]:
    _check_changes(changes)
    defaults = {key.name: key.default for key in TOPIC_CONFIGS.values() if key.type is LIST}
    after = _applied(stored, changes, defaults, TOPIC_CONFIGS)
    return _checked_topic_records(config, stored, after, remote_storage)


def replace_topic(
    config: NodeConfig, stored: Mapping[str, str], wanted: Mapping[str, str | None], *, remote_storage: bool = False
) -> dict[str, str | None]:
    """AlterConfigs: what is not wanted is removed."""
    return _checked_topic_records(config, stored, _without_nulls(wanted), remote_storage)


def _check_changes(changes: Sequence[Change]) -> None:
    twice = [name for name, count in Counter(change.name for change in changes).items() if count > 1]
    if twice:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"These configurations are there twice: {', '.join(twice)}.")
    _without_nulls({change.name: change.value for change in changes if change.operation != Operation.DELETE})
    for change in changes:
        if change.operation not in tuple(Operation):
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"There is no operation {change.operation}.")


def _without_nulls(wanted: Mapping[str, str | None]) -> dict[str, str]:
    values = {name: value for name, value in wanted.items() if value is not None}
    if len(values) < len(wanted):
        missing = ", ".join(name for name in wanted if name not in values)
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"These configurations have no value: {missing}.")
    return values


def _check_broker_name(config: NodeConfig, resource: str) -> bool:
    """Whether one broker is meant, which is this one, or all are."""
    if not resource:
        return False
    try:
        number = parse_integer(resource, 32)
    except ValueError:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{resource[:100]!r} is not the number of a broker.") from None
    if number != config.node_id:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"This is broker {config.node_id}: ask broker {number} itself.")
    return True


def _applied(
    stored: Mapping[str, str], changes: Iterable[Change], list_defaults: Mapping[str, Any], known: Mapping[str, object]
) -> dict[str, str]:
    after = dict(stored)
    for name, operation, value in changes:
        if operation == Operation.DELETE:
            after.pop(name, None)
        elif operation == Operation.SET:
            assert value is not None
            after[name] = value
        else:
            assert value is not None
            if name not in list_defaults:
                why = "is no list, and takes neither append nor subtract" if name in known else "is not known"
                raise KafkaError(ErrorCode.INVALID_CONFIG, f"The configuration {name[:200]} {why}.")
            current = after[name] if name in after else as_text(list_defaults[name]) or ""
            after[name] = _appended(current, value) if operation == Operation.APPEND else _subtracted(current, value)
    return after


def _appended(current: str, value: str) -> str:
    parts = [part for part in current.split(",") if part]
    for part in value.split(","):
        if part not in parts:
            parts.append(part)
    return ",".join(parts)


def _subtracted(current: str, value: str) -> str:
    parts = [part for part in current.split(",") if part]
    for part in value.split(","):
        if part in parts:
            parts.remove(part)
    return ",".join(parts)


def _checked_broker_records(
    records: dict[str, str | None], of_one_broker: bool, eligible_leader_replicas: bool
) -> dict[str, str | None]:
    if eligible_leader_replicas and MIN_ISR in records:
        if of_one_broker:
            why = f"{MIN_ISR} cannot differ among brokers while there are eligible leader replicas: set it for all."
            raise KafkaError(ErrorCode.INVALID_CONFIG, why)
        if records[MIN_ISR] is None:
            why = f"{MIN_ISR} cannot be removed while there are eligible leader replicas: set it to another value."
            raise KafkaError(ErrorCode.INVALID_CONFIG, why)
    return _checked_lengths(records)


def _checked_topic_records(
    config: NodeConfig, stored: Mapping[str, str], after: Mapping[str, str], remote_storage: bool
) -> dict[str, str | None]:
    """What stays as it is is not written."""
    records: dict[str, str | None] = {name: text for name, text in after.items() if stored.get(name) != text}
    records |= dict.fromkeys(stored.keys() - after.keys())
    _checked_lengths(records)
    TopicConfig.parse(after, config.topic_defaults, previous=stored, remote_storage=remote_storage)
    return records


def _checked_lengths(records: dict[str, str | None]) -> dict[str, str | None]:
    for name, value in records.items():
        if value is not None and len(value.encode("utf-16-le")) // 2 > LONGEST_VALUE:
            why = f"The value of {name[:200]} is longer than the {LONGEST_VALUE} letters that there is room for."
            raise KafkaError(ErrorCode.INVALID_CONFIG, why)
    return records
