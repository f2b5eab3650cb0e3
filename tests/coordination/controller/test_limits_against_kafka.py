"""Quotas, features and producer ids: a real Kafka 4.3.1 and our controller answer, and keep, the same."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from barnabas.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest
from barnabas.protocol.messages.alter_client_quotas import AlterClientQuotasRequest, EntityData, EntryData, OpData
from barnabas.protocol.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest
from barnabas.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from tests.coordination.controller.twins import Twins
from tests.kafka.broker import KafkaBroker

pytestmark = [pytest.mark.java, pytest.mark.slow]

NAMES = count()


@pytest.fixture(scope="module")
def shared_twins(kafka_classpath: str) -> Iterator[Twins]:
    """Not the Kafka of other tests: quotas would slow them down, and their answers would say so."""
    with KafkaBroker(kafka_classpath) as kafka:
        twins = Twins(kafka)
        yield twins
        twins.close()


def fresh(prefix: str) -> str:
    return f"{prefix}{next(NAMES)}"


def test_producer_ids(twins: Twins) -> None:
    twins.learn_epochs()
    epoch = twins.ours.image.brokers[1].epoch
    first = twins.same(AllocateProducerIdsRequest(broker_id=1, broker_epoch=epoch), 0)
    second = twins.same(AllocateProducerIdsRequest(broker_id=1, broker_epoch=epoch), 0)
    assert second.producer_id_start == first.producer_id_start + first.producer_id_len
    twins.same(AllocateProducerIdsRequest(broker_id=1, broker_epoch=epoch + 1_000_000), 0)
    twins.same(AllocateProducerIdsRequest(broker_id=9, broker_epoch=epoch), 0)


@pytest.mark.parametrize("version", range(3))
def test_update_features(twins: Twins, version: int) -> None:
    def update(*updates: tuple[str, int, int], validate_only: bool = False) -> None:
        keys = [FeatureUpdateKey(feature=name, max_version_level=level) for name, level, _ in updates]
        if version >= 1:
            for key, (_, _, kind) in zip(keys, updates, strict=True):
                key.upgrade_type = kind
        request = UpdateFeaturesRequest(feature_updates=keys)
        if version >= 1:
            request.validate_only = validate_only
        twins.same(request, version)

    update()
    for name in (
        "metadata.version",
        "group.version",
        "kraft.version",
        "no.such.feature",
        "eligible.leader.replicas.version",
    ):
        for level in (-1, 0, 1, 2, 6, 29, 30, 31, 99):
            for kind in (0, 1, 2, 3, 4) if version else (1,):
                update((name, level, kind), validate_only=level < 2)
                if version == 0:
                    twins.same_state()
    if version:
        # Away and back again, and two at once of which one cannot be.
        update(("share.version", 0, 2))
        update(("share.version", 1, 1), ("streams.version", 1, 1), ("group.version", 9, 1))
        update(("share.version", 1, 1), ("streams.version", 1, 1))
        update(("eligible.leader.replicas.version", 0, 3))
        update(("eligible.leader.replicas.version", 1, 1))


USER, CLIENT, IP = "user", "client-id", "ip"


def quota(entity: dict[str, str | None], *operations: tuple[str, float | None]) -> EntryData:
    return EntryData(
        entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()],
        ops=[OpData(key=key, value=value or 0.0, remove=value is None) for key, value in operations],
    )


@pytest.mark.parametrize("version", range(2))
def test_alter_client_quotas(twins: Twins, version: int) -> None:
    name = fresh("u")
    rate = "producer_byte_rate"
    entries = [
        quota({USER: name}, (rate, 1000.0)),
        quota({USER: name, CLIENT: None}, (rate, 5.0), ("consumer_byte_rate", 7.0), ("request_percentage", 0.5)),
        quota({CLIENT: name}, ("controller_mutation_rate", 2.5)),
        quota({USER: None}, (rate, 1.0)),
        quota({IP: "127.0.0.1"}, ("connection_creation_rate", 10.0)),
        quota({IP: None}, ("connection_creation_rate", 10.0)),
        quota({USER: name}, (rate, None)),
        quota({USER: name}, (rate, None)),
        quota({USER: name}, ("no_such_key", None)),
        quota({USER: name}, ("no_such_key", 1.0)),
        quota({USER: name}, (rate, 1.5)),
        quota({USER: name}, (rate, 1.0000001)),
        quota({USER: name}, (rate, 0.0)),
        quota({USER: name}, (rate, -1.0)),
        quota({USER: name}, (rate, 1e19)),
        quota({USER: name}, (rate, float("inf"))),
        quota({USER: name}, ("request_percentage", float("inf"))),
        quota({USER: name}, ("request_percentage", float("nan"))),
        quota({IP: "127.0.0.1"}, ("connection_creation_rate", 3e9)),
        quota({IP: "127.0.0.1"}, ("connection_creation_rate", 1.5)),
        quota({IP: "127.0.0.1"}, (rate, 1.0)),
        quota({IP: "300.1.1.1.1"}, ("connection_creation_rate", 1.0)),
        quota({USER: name, IP: "127.0.0.1"}, (rate, 1.0)),
        quota({}, (rate, 1.0)),
        quota({"topic": name}, (rate, 1.0)),
        quota({USER: ""}, (rate, 1.0)),
        quota({USER: "", "topic": "x"}, (rate, -1.0)),
        quota({USER: name}, (rate, 1.0), (rate, 2.0)),
        quota({USER: name}),
        quota({USER: name}, (rate, 3.0), ("no_such_key", 1.0)),
    ]
    for entry in entries:
        twins.same(AlterClientQuotasRequest(entries=[entry], validate_only=True), version)
        if "nan" not in repr(entry):
            twins.same(AlterClientQuotasRequest(entries=[entry]), version)
    twins.same(AlterClientQuotasRequest(), version)
    twins.same(AlterClientQuotasRequest(entries=[entries[0], entries[2], entries[10]]), version)
    again = quota({CLIENT: name + "again"}, (rate, 9.0))
    twins.same(AlterClientQuotasRequest(entries=[again, again, entries[3]]), version)


@pytest.mark.parametrize("version", range(2))
def test_describe_client_quotas(twins: Twins, version: int) -> None:
    name = fresh("d")
    rate = ("producer_byte_rate", 1.0)
    entities: list[dict[str, str | None]] = [
        {USER: name},
        {USER: None},
        {CLIENT: name},
        {USER: name, CLIENT: name},
        {USER: name, CLIENT: None},
    ]
    twins.same(
        AlterClientQuotasRequest(entries=[quota(entity, rate, ("request_percentage", 3.0)) for entity in entities]),
        version,
    )
    exact, default, specified = 0, 1, 2
    filters = [
        [],
        [ComponentData(USER, exact, name)],
        [ComponentData(USER, default, None)],
        [ComponentData(USER, specified, None)],
        [ComponentData(CLIENT, specified, None)],
        [ComponentData(USER, exact, name), ComponentData(CLIENT, exact, name)],
        [ComponentData(USER, exact, name), ComponentData(CLIENT, default, None)],
        [ComponentData(USER, specified, None), ComponentData(CLIENT, specified, None)],
        [ComponentData(IP, specified, None)],
        [ComponentData(IP, specified, None), ComponentData(USER, specified, None)],
        [ComponentData(USER, exact, name), ComponentData(USER, specified, None)],
        [ComponentData(USER, exact, None)],
        [ComponentData(USER, default, name)],
        [ComponentData(USER, specified, name)],
        [ComponentData(USER, 3, None)],
        [ComponentData("", exact, name)],
        [ComponentData("topic", exact, name)],
        [ComponentData("topic", 3, name), ComponentData("", exact, name)],
    ]
    for components in filters:
        for strict in (False, True):
            twins.same(DescribeClientQuotasRequest(components=components, strict=strict), version)
