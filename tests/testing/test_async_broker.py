"""The same broker in tests of trio and asyncio."""

from __future__ import annotations

import asyncio
import inspect
import threading
from pathlib import Path

import pytest
import trio
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from barnabas.testing import AsyncBroker, Broker, BrokerFailed, NotInTime


def names_of_broker_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("broker at")]


def test_in_asyncio_with_a_client_of_the_same_loop() -> None:
    async def main() -> None:
        async with AsyncBroker() as broker:
            await broker.create_topic("orders")
            producer = AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers, enable_idempotence=True)
            await producer.start()
            consumer = AIOKafkaConsumer(
                "orders", bootstrap_servers=broker.bootstrap_servers, group_id="g", auto_offset_reset="earliest"
            )
            await consumer.start()
            fault = broker.drop_next("Produce", after_appending=True)
            sending = asyncio.create_task(producer.send_and_wait("orders", b"once", key=b"k"))
            (record,) = await broker.wait_for("orders", count=1)
            assert record.text == "once"
            await sending
            received = await consumer.getone()
            await consumer.commit()
            assert received.value == b"once"
            assert fault.met == 1
            assert await broker.wait_for_offset("g", "orders", 1) == {("orders", 0): 1}
            assert (await broker.wait_for_group("g")).members[0].partitions == (("orders", 0),)
            assert len(await broker.records("orders")) == 1
            await consumer.stop()
            await producer.stop()

    asyncio.run(main())


@pytest.mark.trio
async def test_in_trio(tmp_path: Path) -> None:
    async with AsyncBroker(data_dir=tmp_path) as broker:
        await broker.produce("orders", {"number": 1}, key="k", headers={"from": "here"})
        async with trio.open_nursery() as nursery:
            nursery.start_soon(broker.wait_for, "orders", 2)
            await broker.produce("orders", None, key="k")
        await broker.restart()
        await broker.kill()
        await broker.start()
        first, second = await broker.records("orders", partition=0)
        assert (first.json(), first.header("from"), second.value) == ({"number": 1}, b"here", None)
        await broker.delete_topic("orders")
        assert await broker.topics() == {}
        assert await broker.groups() == {}
    with Broker(data_dir=tmp_path) as again:
        assert again.topics() == {}
    assert not names_of_broker_threads()


@pytest.mark.trio
async def test_who_is_cancelled_waits_no_longer() -> None:
    async with AsyncBroker() as broker:
        with trio.move_on_after(0.05) as patience:
            await broker.wait_for("orders", timeout=60)
        assert patience.cancelled_caught
        with pytest.raises(NotInTime, match="orders has no records"):
            await broker.wait_for("orders", timeout=0.01)
        waiting = broker._embedded.do(lambda host: len(host._watchers))
        assert waiting == 0
    with trio.CancelScope() as scope:
        async with AsyncBroker() as broker:
            scope.cancel()
            await broker.wait_for("orders", timeout=60)
    assert scope.cancelled_caught
    assert not names_of_broker_threads()


def test_in_asyncio_a_timeout_cancels_and_errors_come_through() -> None:
    async def main() -> None:
        async with AsyncBroker() as broker:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(broker.wait_for("orders", timeout=60), 0.05)
            with pytest.raises(
                BrokerFailed, match=f"port={broker.port} of 127.0.0.1 cannot be had, address already in use: "
            ):
                await AsyncBroker(port=broker.port).start()
            with broker.pause():
                assert await broker.topics() == {}

    asyncio.run(main())
    assert not names_of_broker_threads()


def public(kind: type) -> dict[str, object]:
    return {name: value for name, value in inspect.getmembers(kind) if not name.startswith("_")}


def test_both_are_asked_alike_and_each_method_says_what_it_does() -> None:
    ours, theirs = public(Broker), public(AsyncBroker)
    assert ours.keys() == theirs.keys()
    for name, member in ours.items():
        other = theirs[name]
        assert inspect.getdoc(member), name
        assert inspect.getdoc(member) == inspect.getdoc(other) or name == "close", name
        if inspect.isfunction(member) and inspect.isfunction(other):
            assert inspect.signature(member) == inspect.signature(other), name
    assert inspect.signature(Broker) == inspect.signature(AsyncBroker)
