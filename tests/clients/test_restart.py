"""The broker stops, or is killed, in the middle of producing and consuming: nothing is lost, nothing is there twice."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from compat.rounds.adapter import ConsumerSettings, Received, load, take
from tests.clients.broker_process import BrokerProcess
from tests.clients.parameters import EACH_CLIENT
from tests.clients.waiting import wait_until

pytestmark = pytest.mark.slow

PARTITIONS = 2
AT_ONCE = 40
BEFORE = 600
AFTER = 600


@pytest.mark.parametrize("kill", [False, True], ids=["stop", "kill"])
@pytest.mark.parametrize("name_of_client", EACH_CLIENT)
def test_a_restart_in_the_middle(
    name_of_client: str, kill: bool, own_broker: Callable[..., BrokerProcess], name: str
) -> None:
    broker = own_broker()
    client = load(name_of_client)
    admin = client.administer(broker.bootstrap)
    admin.create_topic(name, PARTITIONS)
    admin.close()
    consumer = client.consume(ConsumerSettings(broker.bootstrap, name))
    consumer.assign(*range(PARTITIONS))
    producer = client.produce(broker.bootstrap, idempotent=True)
    is_back = threading.Event()
    places: list[tuple[int, int]] = []
    failed: list[Exception] = []

    def produce() -> None:
        """Without a pause, from before the restart until long after it."""
        left = AFTER
        try:
            while left > 0:
                if is_back.is_set():
                    left -= AT_ONCE
                for number in range(len(places), len(places) + AT_ONCE):
                    producer.send(name, b"%d" % number, partition=number % PARTITIONS)
                places.extend(producer.flush())
        except Exception as error:  # noqa: BLE001 - told to the test
            failed.append(error)

    producing = threading.Thread(target=produce)
    producing.start()
    received: list[Received] = []

    def some_have_come() -> bool:
        received.extend(consumer.poll(0.05))
        return len(received) > BEFORE

    wait_until(some_have_come, "records")
    broker.restart(kill=kill)
    is_back.set()
    producing.join()
    assert failed == []
    count = len(places)
    received += take(consumer, count - len(received))
    consumer.close()
    producer.close()
    assert count >= BEFORE + AFTER
    for partition in range(PARTITIONS):
        here = [one for one in received if one.partition == partition]
        assert [one.offset for one in here] == list(range(count // PARTITIONS))
        assert [int(one.value or b"") for one in here] == list(range(partition, count, PARTITIONS))
        assert [offset for at, offset in places if at == partition] == list(range(count // PARTITIONS))
