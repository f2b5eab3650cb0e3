"""A broker inside a test: what comes in is what the log has, and what a method says is what clients did."""

from __future__ import annotations

import copy
import pickle
import socket
import unittest
from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka import KafkaConsumer, KafkaProducer

from barnabas.testing import Broker, BrokerFailed, ErrorCode, KafkaError, NotInTime, UnknownTopic

GROUP = "readers"


@pytest.fixture(scope="module")
def shared() -> Iterator[Broker]:
    with Broker(partitions=2) as broker:
        yield broker


def test_what_a_client_produced_is_there(shared: Broker) -> None:
    producer = KafkaProducer(bootstrap_servers=shared.bootstrap_servers)
    for number in range(3):
        producer.send("seen", b'{"number": %d}' % number, key=b"k", headers=[("from", b"here")], partition=1)
    records = shared.wait_for("seen", count=3)
    producer.close()
    assert [record.json() for record in records] == [{"number": number} for number in range(3)]
    assert {(record.partition, record.key, record.header("from")) for record in records} == {(1, b"k", b"here")}
    assert shared.topics()["seen"] == 2
    assert shared.records("seen", partition=0) == []
    assert shared.records("seen") == records


def test_a_group_is_shown_with_what_it_was_given_and_what_it_committed(shared: Broker) -> None:
    for text in ("one", "two", "three"):
        shared.produce("read", text, partition=0)
    consumer = KafkaConsumer(
        "read", bootstrap_servers=shared.bootstrap_servers, group_id=GROUP, auto_offset_reset="earliest"
    )
    assert [next(consumer).value for _ in range(3)] == [b"one", b"two", b"three"]
    consumer.commit()
    offsets = shared.wait_for_offset(GROUP, "read", 3)
    group = shared.wait_for_group(GROUP, members=1)
    consumer.close()
    assert offsets == shared.group_offsets(GROUP)
    assert offsets["read", 0] == 3
    assert group.members[0].partitions == (("read", 0), ("read", 1))
    assert shared.wait_for_group(GROUP, members=0).members == ()
    assert shared.groups()[GROUP].state == "Empty"


def test_who_waits_in_vain_is_told_what_there_is(shared: Broker) -> None:
    shared.produce("few", "only", key="k")
    with pytest.raises(NotInTime, match=r"few has 1 record after 0\.05 s, not 2: \n  few-\d @0 key=b'k' value=b'only'"):
        shared.wait_for("few", count=2, timeout=0.05)
    with pytest.raises(TimeoutError, match=r"there is no topic fews; there are: few, "):
        shared.wait_for("fews", timeout=0.01)
    with pytest.raises(AssertionError, match=r"after 0\.01 s there is no group nobody; there are: "):
        shared.wait_for_group("nobody", timeout=0.01)
    with pytest.raises(AssertionError, match=r"group nobody has not committed offset 1 of few-0 .* no offsets at all"):
        shared.wait_for_offset("nobody", "few", 1, timeout=0.01)
    with pytest.raises(NotInTime, match="few has no partition 9, but 2 in all"):
        shared.wait_for("few", partition=9, timeout=0)
    with pytest.raises(UnknownTopic, match="few has no partition 9, but 2 in all"):
        shared.records("few", partition=9)
    with pytest.raises(UnknownTopic, match="few has no partition 9, but 2 in all"):
        shared.produce("few", "", partition=9)
    with pytest.raises(ValueError, match="count=0: wait for 1 record or more"):
        shared.wait_for("few", count=0)
    for wrong in (None, -1):
        with pytest.raises(ValueError, match=f"timeout={wrong}: it is a number of seconds"):
            shared.wait_for("few", timeout=wrong)  # type: ignore[arg-type]


def test_a_time_that_is_none_is_refused(shared: Broker) -> None:
    for wrong in (1.5, -1):
        with pytest.raises(ValueError, match=f"timestamp={wrong}: it is in whole milliseconds since 1970"):
            shared.produce("dated", "", timestamp=wrong)  # type: ignore[arg-type]
    assert "dated" not in shared.topics()
    assert shared.produce("dated", "", timestamp=1_000).timestamp == shared.records("dated")[0].timestamp == 1_000


def test_who_does_not_wait_is_told_what_is_there_already(shared: Broker) -> None:
    shared.produce("there", "at once")
    assert [record.text for record in shared.wait_for("there", timeout=0)] == ["at once"]
    with pytest.raises(NotInTime, match=r"there has 1 record after 0 s, not 2: \n  there-0 @0"):
        shared.wait_for("there", count=2, timeout=0)


def test_the_brokers_own_topics_are_not_shown_and_not_written_to(shared: Broker) -> None:
    shared.produce("theirs", "")
    consumer = KafkaConsumer(
        "theirs", bootstrap_servers=shared.bootstrap_servers, group_id="own", auto_offset_reset="earliest"
    )
    next(consumer)
    shared.wait_for_group("own")
    consumer.close()
    with pytest.raises(UnknownTopic, match=r"there are: (?!.*__consumer_offsets)"):
        shared.records("their")
    with pytest.raises(KafkaError, match="INVALID_TOPIC_EXCEPTION: __consumer_offsets is the broker's own"):
        shared.produce("__consumer_offsets", "", partition=0)


def test_topics_are_made_and_deleted_as_by_an_admin(shared: Broker) -> None:
    shared.create_topic("as-the-broker-is-told")
    assert shared.topics()["as-the-broker-is-told"] == 2
    for wrong in (0, -1, "3", True):
        with pytest.raises(ValueError, match=f"partitions={wrong!r}: a topic has 1 partition or more"):
            shared.create_topic("none", partitions=wrong)  # type: ignore[arg-type]
    shared.create_topic("made", partitions=3, config={"retention.ms": 1000, "preallocate": False})
    assert shared.topics()["made"] == 3
    with pytest.raises(KafkaError, match="TOPIC_ALREADY_EXISTS") as refused:
        shared.create_topic("made")
    assert refused.value.code == ErrorCode.TOPIC_ALREADY_EXISTS
    with pytest.raises(KafkaError, match="INVALID_CONFIG"):
        shared.create_topic("wrong", config={"retention.ms": "soon"})
    shared.delete_topic("made")
    assert "made" not in shared.topics()
    with pytest.raises(UnknownTopic):
        shared.delete_topic("made")


@pytest.mark.parametrize("end", ["restart", "kill"])
@pytest.mark.parametrize("is_in_memory", [True, False])
def test_data_and_port_outlive_a_restart_and_a_kill(end: str, is_in_memory: bool, tmp_path: Path) -> None:
    with Broker(
        data_dir=None if is_in_memory else tmp_path / "data", settings={"offsets.topic.num.partitions": 1}
    ) as broker:
        address = broker.bootstrap_servers
        before = [broker.produce("kept", {"number": number}) for number in range(3)]
        if end == "restart":
            broker.restart()
        else:
            broker.kill()
            with pytest.raises(BrokerFailed, match="the broker is down: it was killed"):
                broker.topics()
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection((broker.host, broker.port))
            broker.start()
        assert broker.bootstrap_servers == address
        assert broker.records("kept") == before
        producer = KafkaProducer(bootstrap_servers=address)
        producer.send("kept", b"after").get(10)
        producer.close()
        assert broker.wait_for("kept", count=4)[-1].text == "after"


def test_a_record_that_is_not_what_was_expected_is_named(shared: Broker) -> None:
    for value in (b"\xff\xfe", "hello " * 100, None):
        shared.produce("odd", value, key=b"\xff", partition=0)
    binary, text, tombstone = shared.records("odd")
    assert (text.text, tombstone.text) == ("hello " * 100, None)
    for read in (lambda: binary.text, lambda: binary.key_text, binary.json, text.json, tombstone.json):
        with pytest.raises(ValueError, match=r"decode|Expecting value|tombstone") as told:
            read()
        assert told.value.__notes__[0].startswith("It is of odd-0 @")
    assert str(text) == f"odd-0 @1 key=b'\\xff' value={repr(text.value)[:60]}… (600 bytes)"


def test_it_is_not_handed_to_another_process_but_its_address_is(shared: Broker) -> None:
    with pytest.raises(TypeError, match="hand its bootstrap_servers to another one"):
        pickle.dumps(shared)
    with pytest.raises(TypeError, match="hand its bootstrap_servers to another one"):
        copy.deepcopy(shared)


def test_a_directory_is_kept_and_memory_is_not(tmp_path: Path) -> None:
    in_files, in_memory = Broker(data_dir=tmp_path), Broker()
    for broker in (in_files, in_memory):
        with broker:
            broker.produce("kept", "value")
        with pytest.raises(BrokerFailed, match="the broker is closed"):
            broker.topics()
    with in_files, in_memory:
        assert [record.text for record in in_files.records("kept")] == ["value"]
        assert in_memory.topics() == {}


def test_what_keeps_it_from_starting_is_said_to_the_caller(tmp_path: Path) -> None:
    with Broker(data_dir=tmp_path) as broker:
        with pytest.raises(BrokerFailed, match="is in use by barnabas, process"):
            Broker(data_dir=tmp_path).start()
        with pytest.raises(
            BrokerFailed, match=f"port={broker.port} of 127.0.0.1 cannot be had, address already in use: "
        ):
            Broker(port=broker.port).start()
    with pytest.raises(BrokerFailed, match=r"log\.retention\.ms=soon is wrong"):
        Broker(settings={"log.retention.ms": "soon"}).start()
    with pytest.raises(ValueError, match=r"durability=kafka does not go with Broker\(data_dir=None\): without"):
        Broker(settings={"barnabas.durability": "kafka"})
    with pytest.raises(ValueError, match=r"listeners is said in another way: Broker\(port=\.\.\.\)"):
        Broker(settings={"listeners": "PLAINTEXT://:9092"})
    with pytest.raises(ValueError, match="port=70000: ports go to 65535"):
        Broker(port=70_000)


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("auto.create.topic.enable", r"is no key of a broker: did you mean auto\.create\.topics\.enable\?"),
        ("retention.ms", r"is no key of a broker: did you mean log\.retention\.ms\?"),
        ("KAFKA_AUTO_CREATE_TOPICS_ENABLE", r"is no key of a broker: did you mean auto\.create\.topics\.enable\?"),
        ("leader.replication.throttled.rate", "can only be set while the broker runs, with kafka-configs$"),
    ],
)
def test_a_setting_that_would_do_nothing_is_refused(key: str, told: str) -> None:
    """A test that sets it would pass, or fail, for another reason than it says."""
    with pytest.raises(ValueError, match=f"^settings: {key} {told}"):
        Broker(settings={key: "false"})


def test_settings_are_a_dict_and_what_the_start_says_of_them_is_an_event() -> None:
    with pytest.raises(TypeError, match="is no dict of Kafka's keys"):
        Broker(settings=["message.max.bytes=1"])  # type: ignore[arg-type]
    with Broker(settings={"background.threads": 4}) as broker:
        assert "These keys are accepted and have no effect in Barnabas: background.threads." in broker.events()
    with Broker() as broker:
        assert not [event for event in broker.events() if "no effect" in event]


class TestWithUnittest(unittest.TestCase):
    broker: Broker

    @classmethod
    def setUpClass(cls) -> None:
        cls.broker = Broker().start()
        cls.addClassCleanup(cls.broker.close)

    def test_it_is_ready(self) -> None:
        self.broker.produce("unit", "tested")
        self.assertEqual([record.text for record in self.broker.records("unit")], ["tested"])
