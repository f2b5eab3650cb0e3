"""Idempotent producers whose answers get lost, with several batches in flight: each record is there once, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from compat.rounds.adapter import ConsumerSettings, load, take
from tests.clients.broker_process import BrokerProcess
from tests.clients.dropping_proxy import DroppingProxy
from tests.clients.parameters import EACH_CLIENT

pytestmark = pytest.mark.slow

RECORDS = 1_500
AT_ONCE = 75


@pytest.fixture
def proxy() -> Iterator[DroppingProxy]:
    with closing(DroppingProxy(every=3)) as made:
        yield made


@pytest.mark.parametrize("name_of_client", EACH_CLIENT)
def test_lost_answers(
    name_of_client: str, own_broker: Callable[..., BrokerProcess], name: str, proxy: DroppingProxy
) -> None:
    """They are sent again; the broker is killed and started again on the way."""
    broker = own_broker(advertised_listeners=f"PLAINTEXT://127.0.0.1:{proxy.port}")
    proxy.start(broker.port)
    client = load(name_of_client)
    admin = client.administer(broker.bootstrap)
    admin.create_topic(name)
    admin.close()
    producer = client.produce(broker.bootstrap, idempotent=True)
    places: list[tuple[int, int]] = []
    for first in range(0, RECORDS, AT_ONCE):
        for number in range(first, first + AT_ONCE):
            producer.send(name, b"%d " % number + bytes(1_000))  # so that there are several batches
        if first == 10 * AT_ONCE:
            broker.restart(kill=True)
        places += producer.flush()
    producer.close()
    assert proxy.dropped >= 3
    assert places == [(0, offset) for offset in range(RECORDS)]
    consumer = client.consume(ConsumerSettings(broker.bootstrap, name))
    consumer.assign(0)
    found = take(consumer, RECORDS)
    consumer.close()
    assert [int((one.value or b"").split()[0]) for one in found] == list(range(RECORDS))
