"""What can be set for a subscription to clients' metrics: which metrics, how often, and of which clients."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.storage.topic_config_types import INT, LIST, Type

__all__ = [
    "CLIENT_METRICS_CONFIGS",
    "ClientMetricsKey",
    "check_client_metrics",
    "client_metrics_values",
    "client_pattern",
]

LEAST_INTERVAL_MS, MOST_INTERVAL_MS = 100, 3_600_000
MATCHED = (
    "client_instance_id",
    "client_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
)


class ClientMetricsKey(NamedTuple):
    name: str
    type: Type
    default: Any
    documentation: str

    def parse(self, text: str) -> Any:
        try:
            value: Any = self.type.parse(text)
        except ValueError:
            raise _refusal(self.name, text, f"must be {self.type.allowed}") from None
        if self.type is LIST:
            if not all(value):
                raise _refusal(self.name, text, "must have no empty part")
            # Kafka drops repeated values.
            return tuple(dict.fromkeys(value))
        return value


def _refusal(name: str, value: object, why: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_CONFIG, f"Invalid value {str(value)[:200]} for configuration {name}: {why}.")


CLIENT_METRICS_CONFIGS: dict[str, ClientMetricsKey] = {
    key.name: key
    for key in (
        ClientMetricsKey("interval.ms", INT, 300_000, "How often clients send their metrics."),
        ClientMetricsKey("match", LIST, (), "NAME=PATTERN of the clients that are meant; all, if there is none."),
        ClientMetricsKey("metrics", LIST, (), "How the names of the wanted metrics begin; * is all."),
    )
}
"""Every configuration by its name, sorted."""


def client_metrics_values(overrides: Mapping[str, str]) -> dict[str, Any]:
    return {
        name: key.parse(overrides[name]) if name in overrides else key.default
        for name, key in CLIENT_METRICS_CONFIGS.items()
    }


def check_client_metrics(subscription: str, wanted: Mapping[str, str]) -> None:
    """KafkaError: INVALID_REQUEST for names and the interval, as Kafka has it, INVALID_CONFIG for other values."""
    if not subscription:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "The name of the client metrics subscription is empty.")
    for name in wanted:
        if name not in CLIENT_METRICS_CONFIGS:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Client metrics have no configuration {name[:200]}.")
    values = client_metrics_values(wanted)
    interval_ms = values["interval.ms"]
    if not LEAST_INTERVAL_MS <= interval_ms <= MOST_INTERVAL_MS:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            f"interval.ms={interval_ms} must be from {LEAST_INTERVAL_MS} to {MOST_INTERVAL_MS}, which is one hour.",
        )
    for text in values["match"]:
        client_pattern(text)


def client_pattern(text: str) -> tuple[str, re.Pattern[str]]:
    """Which fact of a client has to match what. KafkaError, if it is no such thing."""
    parts = text.rstrip("=").split("=")
    if len(parts) == 2 and parts[0].strip() in MATCHED:
        with suppress(re.error, OverflowError, RecursionError):
            return parts[0].strip(), re.compile(parts[1].strip())
    raise _refusal("match", text, f"must be NAME=PATTERN with one of {', '.join(MATCHED)} for its name")
