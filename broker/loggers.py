"""The loggers that clients may describe and alter: those of this package, called as Kafka calls its own and its levels.

They are Python's, and so those of the whole process: a level holds until the process ends, as with Kafka.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from barnabas.coordination.controller.config_change import APPEND, DELETE, SET, SUBTRACT
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.incremental_alter_configs import AlterableConfig

__all__ = ["alter_loggers", "check_node", "logger_levels"]

ROOT = "root"
PACKAGE = "barnabas"
LEVELS = {
    "TRACE": 5,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
}


def logger_levels() -> dict[str, str]:
    """Every logger that there is, with the level that counts for it. `root` is the one of the whole package."""
    names = sorted(name for name in logging.root.manager.loggerDict if name.startswith(f"{PACKAGE}."))
    return {ROOT: _level(PACKAGE)} | {name: _level(name) for name in names}


def _level(name: str) -> str:
    effective = logging.getLogger(name).getEffectiveLevel()
    return next((text for text, number in LEVELS.items() if effective <= number), "FATAL")


def check_node(resource_name: str, node_id: int) -> None:
    try:
        asked = int(resource_name)
    except ValueError:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{resource_name[:100]!r} is not the number of a node.") from None
    if asked != node_id:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"This is node {node_id}: ask node {asked} itself.")


def alter_loggers(operations: Sequence[AlterableConfig], *, validate_only: bool) -> None:
    """All or none."""
    known = logger_levels()
    for operation in operations:
        _check(operation, known)
    if validate_only:
        return
    for operation in operations:
        logger = logging.getLogger(PACKAGE if operation.name == ROOT else operation.name)
        logger.setLevel(logging.NOTSET if operation.config_operation == DELETE else LEVELS[operation.value or ""])


def _check(operation: AlterableConfig, known: dict[str, str]) -> None:
    kind, name = operation.config_operation, operation.name
    if kind in (APPEND, SUBTRACT):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "The level of a logger is no list.")
    if kind not in (SET, DELETE):
        # Kafka stumbles over it.
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
    if name not in known:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"There is no logger {name[:200]}.")
    if kind == SET and operation.value not in LEVELS:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"The level of a logger is one of {', '.join(LEVELS)}.")
    if kind == DELETE and name == ROOT:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{ROOT} always has a level.")
