"""Quotas that are set are described, at once and after a restart."""

from __future__ import annotations

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityData,
    EntryData,
    OpData,
)
from barnabas.protocol.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)
from tests.kafka.client import RawClient

from .running import RunningNode


def alter(client: RawClient, kind: str, name: str | None, key: str, value: float | None) -> int:
    operation = OpData(key=key, value=value or 0.0, remove=value is None)
    entry = EntryData(entity=[EntityData(entity_type=kind, entity_name=name)], ops=[operation])
    (answer,) = client.ask(AlterClientQuotasRequest(entries=[entry]), 1, AlterClientQuotasResponse).entries
    return answer.error_code


def described(client: RawClient, kind: str) -> dict[str | None, dict[str, float]]:
    component = ComponentData(entity_type=kind, match_type=2, match=None)
    answer = client.ask(DescribeClientQuotasRequest(components=[component]), 1, DescribeClientQuotasResponse)
    assert answer.entries is not None
    return {entry.entity[0].entity_name: {one.key: one.value for one in entry.values} for entry in answer.entries}


def test_quotas(node: RunningNode) -> None:
    with node.client() as client:
        assert alter(client, "user", "franz", "producer_byte_rate", 1000.0) == 0
        assert alter(client, "user", None, "request_percentage", 12.5) == 0
        assert alter(client, "user", "milena", "consumer_byte_rate", 5.0) == 0
        assert alter(client, "user", "milena", "consumer_byte_rate", None) == 0
        assert alter(client, "ip", "localhost", "connection_creation_rate", 7.0) == 0
        assert alter(client, "ip", "no such host", "connection_creation_rate", 7.0) == ErrorCode.INVALID_REQUEST
        assert alter(client, "user", "franz", "producer_byte_rate", 0.5) == ErrorCode.INVALID_REQUEST
    node.restart()
    with node.client() as client:
        assert described(client, "user") == {
            "franz": {"producer_byte_rate": 1000.0},
            None: {"request_percentage": 12.5},
        }
        assert described(client, "ip") == {"localhost": {"connection_creation_rate": 7.0}}
