"""Who is asked for which metrics, and when a push is taken: Kafka's rules, without a node."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count

import pytest

from barnabas.coordination.telemetry.clients import ALL_METRICS, Clients, Subscription
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.get_telemetry_subscriptions import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
)
from barnabas.protocol.messages.push_telemetry import PushTelemetryRequest
from barnabas.protocol.schema import Uuid

NOW = 1_700_000_000_000
JAVA = {"client_id": "shop", "client_software_name": "apache-kafka-java", "client_software_version": "4.3.1"}
IDS = count(7)


def new_id() -> Uuid:
    return Uuid(next(IDS).to_bytes(16, "big"))


def subscription(*metrics: str, interval_ms: int = 1_000, **match: str) -> Subscription:
    return Subscription(frozenset(metrics), interval_ms, {name: re.compile(text) for name, text in match.items()})


class Client:
    """One, with its own time."""

    def __init__(self, clients: Clients, **facts: str | None) -> None:
        self.clients = clients
        self.facts: dict[str, str | None] = {**JAVA, **facts}
        self.now_ms = NOW
        self.told = self.ask()

    def ask(self, instance_id: Uuid = Uuid.ZERO) -> GetTelemetrySubscriptionsResponse:
        request = GetTelemetrySubscriptionsRequest(client_instance_id=instance_id)
        return self.clients.ask(request, self.facts, self, self.now_ms, new_id)

    def push(self, *, subscription_id: int | None = None, **fields: object) -> ErrorCode:
        request = PushTelemetryRequest(
            client_instance_id=self.told.client_instance_id,
            subscription_id=self.told.subscription_id if subscription_id is None else subscription_id,
        )
        for name, value in fields.items():
            setattr(request, name, value)
        try:
            self.clients.check_push(request, self.facts, self, self.now_ms)
        except KafkaError as error:
            return error.code
        return ErrorCode.NONE


@pytest.fixture
def clients() -> Iterator[Clients]:
    made = Clients(max_bytes=1_000)
    made.subscribe([subscription("a.", "b.")])
    yield made


def refused(client: Client, instance_id: Uuid) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        client.ask(instance_id)
    return caught.value.code


def test_what_a_client_is_asked_for_comes_of_all_subscriptions_that_match() -> None:
    clients = Clients(max_bytes=1_000)
    assert Client(clients).told.requested_metrics == []
    assert Client(clients).told.push_interval_ms == 300_000
    clients.subscribe(
        [
            subscription("a.", "b.", interval_ms=5_000, client_id="sh.*"),
            subscription("b.", "c.", interval_ms=7_000),
            subscription("d.", interval_ms=100, client_id="shop", client_software_name="librdkafka"),
        ]
    )
    told = Client(clients).told
    assert told.requested_metrics == ["a.", "b.", "c."]
    assert told.push_interval_ms == 5_000
    assert told.telemetry_max_bytes == 1_000
    assert told.accepted_compression_types == [4, 3, 1, 2]
    assert told.delta_temporality
    assert Client(clients, client_software_name="librdkafka").told.push_interval_ms == 100
    # A pattern has to match the whole of a fact, and one that is not known matches nothing.
    assert Client(clients, client_id="workshop").told.requested_metrics == ["b.", "c."]
    assert Client(clients, client_id=None).told.requested_metrics == ["b.", "c."]
    clients.subscribe([subscription("a."), subscription(ALL_METRICS)])
    assert Client(clients).told.requested_metrics == [ALL_METRICS]


def test_a_pattern_may_name_the_instance(clients: Clients) -> None:
    client = Client(clients)
    clients.subscribe([subscription("x.", client_instance_id=re.escape(str(client.told.client_instance_id)))])
    assert client.ask(client.told.client_instance_id).requested_metrics == ["x."]
    assert Client(clients).told.requested_metrics == []


def test_who_asks_or_pushes_too_early_is_put_off(clients: Clients) -> None:
    client = Client(clients)
    mine = client.told.client_instance_id
    assert refused(client, mine) is ErrorCode.THROTTLING_QUOTA_EXCEEDED
    # The first push may come at once.
    assert client.push() is ErrorCode.NONE
    assert client.push() is ErrorCode.THROTTLING_QUOTA_EXCEEDED
    client.now_ms += 999
    assert client.push() is ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert refused(client, mine) is ErrorCode.THROTTLING_QUOTA_EXCEEDED
    client.now_ms += 1
    assert client.push() is ErrorCode.NONE
    client.now_ms += 1_000
    assert client.ask(mine).subscription_id == client.told.subscription_id


def test_who_pushes_for_another_subscription_asks_again_at_once(clients: Clients) -> None:
    client = Client(clients)
    assert client.push(subscription_id=client.told.subscription_id + 1) is ErrorCode.UNKNOWN_SUBSCRIPTION_ID
    assert client.ask(client.told.client_instance_id).error_code == ErrorCode.NONE
    client.now_ms += 1_000
    assert client.push(compression_type=5) is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert client.ask(client.told.client_instance_id).error_code == ErrorCode.NONE
    client.now_ms += 1_000
    assert client.push(compression_type=2) is ErrorCode.NONE


def test_a_change_is_told_at_once_and_makes_the_old_one_unknown(clients: Clients) -> None:
    client = Client(clients)
    clients.subscribe([subscription("c.")])
    assert client.push() is ErrorCode.UNKNOWN_SUBSCRIPTION_ID
    told = client.ask(client.told.client_instance_id)
    assert told.requested_metrics == ["c."]
    assert told.subscription_id != client.told.subscription_id
    # Another one that asks a client for the same is the same to it.
    clients.subscribe([subscription("c."), subscription("d.", client_id="other")])
    assert client.ask(client.told.client_instance_id).subscription_id == told.subscription_id


def test_limits_of_a_push(clients: Clients) -> None:
    client = Client(clients)
    assert client.push(metrics=bytes(1_001)) is ErrorCode.TELEMETRY_TOO_LARGE
    client.now_ms += 1_000
    assert client.push(metrics=bytes(1_000)) is ErrorCode.NONE
    for reserved in (Uuid.ZERO, Uuid(bytes(15) + b"\1")):
        assert client.push(client_instance_id=reserved) is ErrorCode.INVALID_REQUEST


def test_the_last_push_may_come_early_and_is_the_last(clients: Clients) -> None:
    client = Client(clients)
    assert client.push() is ErrorCode.NONE
    assert client.push(terminating=True) is ErrorCode.NONE
    client.now_ms += 10_000
    assert client.push() is ErrorCode.INVALID_REQUEST


def test_who_is_forgotten_pushes_as_a_new_client(clients: Clients) -> None:
    client = Client(clients)
    assert client.push() is ErrorCode.NONE
    clients.forget(client)
    assert len(clients) == 0
    # It has the same id and so the same subscription; only the time of its last push is forgotten.
    assert client.push() is ErrorCode.NONE
    client.now_ms += 60_000
    assert client.push() is ErrorCode.NONE
    assert client.push(terminating=True) is ErrorCode.NONE
    client.now_ms += 60_000
    assert client.push() is ErrorCode.NONE


def test_a_connection_that_ends_does_not_take_along_a_client_that_has_moved(clients: Clients) -> None:
    client = Client(clients)
    moved = Client(clients)
    moved.told = client.told
    assert moved.push() is ErrorCode.NONE
    clients.forget(client)
    assert moved.push() is ErrorCode.THROTTLING_QUOTA_EXCEEDED


def test_the_number_of_clients_is_bounded() -> None:
    clients = Clients(max_bytes=1_000, most=3)
    first, *others = [Client(clients) for _ in range(3)]
    assert first.push() is ErrorCode.NONE
    for _ in range(2):
        Client(clients)
    assert len(clients) == 3
    assert first.push() is ErrorCode.THROTTLING_QUOTA_EXCEEDED
    # The others have made room: they are new again.
    assert refused(first, first.told.client_instance_id) is ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert others[0].ask(others[0].told.client_instance_id).error_code == ErrorCode.NONE
