"""Trouble that a test makes, as clients meet it."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from kafka import KafkaAdminClient, KafkaProducer
from kafka.errors import KafkaError as ClientError
from kafka.errors import TopicAuthorizationFailedError

from barnabas.protocol.errors import ErrorCode
from barnabas.testing import Broker, NotInTime

QUIET = {"log_level": 0}
"""librdkafka writes every connection that is cut to the terminal."""


@pytest.fixture(scope="module")
def shared() -> Iterator[Broker]:
    with Broker(partitions=1) as broker:
        yield broker
        assert not [event for event in broker.events() if "Traceback" in event]


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    return re.sub(r"\W+", "-", request.node.name)


@pytest.fixture
def broker(shared: Broker, topic: str) -> Iterator[Broker]:
    """One for all, with a topic of the test's own, and without what another test has set."""
    shared.create_topic(topic)
    yield shared
    shared.resume()
    shared.clear_faults()


def producer(broker: Broker, **settings: object) -> Producer:
    return Producer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "retry.backoff.ms": 10,
            "reconnect.backoff.ms": 10,
            **QUIET,
            **settings,
        }
    )


def consumer(broker: Broker, topic: str, **settings: object) -> Consumer:
    made = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": f"of {topic}",
            "auto.offset.reset": "earliest",
            "fetch.error.backoff.ms": 10,
            **QUIET,
            **settings,
        }
    )
    made.subscribe([topic])
    return made


def values(broker: Broker, topic: str) -> list[str | None]:
    return [record.text for record in broker.records(topic)]


@pytest.mark.parametrize("is_idempotent", [True, False])
def test_a_lost_answer_makes_a_duplicate_unless_the_producer_is_idempotent(
    broker: Broker, topic: str, is_idempotent: bool
) -> None:
    fault = broker.drop_next("Produce", after_appending=True)
    client = producer(broker, **{"enable.idempotence": is_idempotent})
    client.produce(topic, b"once")
    assert client.flush(10) == 0
    assert fault.met == 1
    assert values(broker, topic) == (["once"] if is_idempotent else ["once", "once"])


def test_a_request_that_is_cut_before_it_is_carried_out_comes_again(broker: Broker, topic: str) -> None:
    with broker.drop_next("Produce", times=2) as fault:
        client = producer(broker, **{"enable.idempotence": False})
        client.produce(topic, b"once")
        assert client.flush(10) == 0
        assert fault.met == 2
    assert values(broker, topic) == ["once"]
    cut = [one for one in broker.requests("Produce") if topic in one.topics][:2]
    assert [one.outcome for one in cut] == ["Produce was cut before it was carried out, as the test asked"] * 2


def test_retriable_errors_are_retried_and_others_told(broker: Broker, topic: str) -> None:
    client = KafkaProducer(bootstrap_servers=broker.bootstrap_servers, retry_backoff_ms=10)
    broker.fail_next("Produce", ErrorCode.NOT_ENOUGH_REPLICAS, times=2, topic=topic)
    assert client.send(topic, b"retried").get(10).offset == 0
    broker.fail_next("Produce", "TOPIC_AUTHORIZATION_FAILED", topic=topic)
    with pytest.raises(TopicAuthorizationFailedError):
        client.send(topic, b"refused").get(10)
    client.close()
    assert values(broker, topic) == ["retried"]
    errors = [one.errors for one in broker.requests("Produce") if one.topics == (topic,)]
    assert errors == [("NOT_ENOUGH_REPLICAS",), ("NOT_ENOUGH_REPLICAS",), (), ("TOPIC_AUTHORIZATION_FAILED",)]


def test_only_the_topic_that_was_named_is_refused(broker: Broker, topic: str) -> None:
    broker.create_topic(f"{topic}-other")
    client = producer(broker, **{"enable.idempotence": False, "retries": 0, "linger.ms": 50})
    told: dict[str | None, object] = {}
    with broker.fail_next("Produce", "CORRUPT_MESSAGE", topic=topic) as fault:
        for name in (topic, f"{topic}-other"):
            client.produce(name, b"value", on_delivery=lambda error, message: told.update({message.topic(): error}))
        assert client.flush(10) == 0
        assert fault.met == 1
    assert told[f"{topic}-other"] is None
    assert told[topic] is not None
    assert values(broker, topic) == []
    assert values(broker, f"{topic}-other") == ["value"]


def test_a_consumer_gets_over_errors_of_fetch_and_reads_all(broker: Broker, topic: str) -> None:
    broker.produce(topic, "one")
    fault = broker.fail_next("Fetch", "NOT_LEADER_OR_FOLLOWER", times=2, topic=topic)
    client = consumer(broker, topic)
    first = client.poll(10)
    assert first is not None
    assert first.value() == b"one"
    assert fault.met == 2
    # By now the partition is part of a session, and not named again.
    again = broker.fail_next("Fetch", "UNKNOWN_LEADER_EPOCH", topic=topic)
    broker.produce(topic, "two")
    second = client.poll(10)
    assert second is not None
    assert second.value() == b"two"
    again.wait()
    client.close()


@pytest.mark.slow
def test_a_fetch_that_is_never_answered_is_given_up_by_the_client(broker: Broker, topic: str) -> None:
    broker.produce(topic, "value")
    with broker.ignore_next("Fetch", topic=topic) as fault:
        client = consumer(broker, topic, **{"socket.timeout.ms": 200, "fetch.wait.max.ms": 100})
        found = client.poll(10)
        fault.wait()
    assert found is not None
    assert found.value() == b"value"
    broker.clock.advance()  # whoever has noticed by now that a client is gone has said so
    ignored = next(one for one in broker.requests("Fetch") if one.fault is not None and topic in one.topics)
    assert ignored.outcome == "the client did not wait for the answer"
    client.close()


@pytest.mark.parametrize("after_appending", [True, False])
def test_a_late_answer_is_late(broker: Broker, topic: str, after_appending: bool) -> None:
    client = KafkaProducer(bootstrap_servers=broker.bootstrap_servers)
    broker.delay_next("Produce", 0.2, after_appending=after_appending, topic=topic)
    began_s = time.monotonic()
    sent = client.send(topic, b"value")
    if after_appending:
        broker.wait_for(topic, timeout=0.19)
    else:
        with pytest.raises(NotInTime):
            broker.wait_for(topic, timeout=0.1)
    sent.get(10)
    assert time.monotonic() - began_s >= 0.2
    client.close()


def test_a_pause_answers_nothing_and_cuts_nothing(broker: Broker, topic: str) -> None:
    client = producer(broker)
    client.produce(topic, b"before")
    assert client.flush(10) == 0
    with broker.pause():
        client.produce(topic, b"during")
        assert client.flush(0.1) == 1
        with socket.create_connection((broker.host, broker.port)):  # it still listens
            assert values(broker, topic) == ["before"]
    assert client.flush(10) == 0
    assert values(broker, topic) == ["before", "during"]
    (before, during) = [one for one in broker.requests("Produce") if one.topics == (topic,)]
    assert before.client == during.client
    assert during.duration_ms is not None
    assert during.duration_ms > 100


def test_what_waits_already_is_not_answered_during_a_pause_either(broker: Broker, topic: str) -> None:
    client = consumer(broker, topic, **{"fetch.wait.max.ms": 500})
    broker.wait_for_group(f"of {topic}")
    with broker.pause():
        broker.produce(topic, "value")
        assert client.poll(0.1) is None
    found = client.poll(10)
    assert found is not None
    assert found.value() == b"value"
    client.close()


def test_connections_are_cut_and_come_again(broker: Broker, topic: str) -> None:
    client = producer(broker)
    client.produce(topic, b"before")
    assert client.flush(10) == 0
    with socket.create_connection((broker.host, broker.port)) as connection:
        broker.produce(topic, "between")  # the loop has seen the connection when it has done this
        broker.drop_connections()
        assert connection.recv(1) == b""
    client.produce(topic, b"after")
    assert client.flush(10) == 0
    assert values(broker, topic) == ["before", "between", "after"]


def test_a_throttled_client_is_told_so(broker: Broker, topic: str) -> None:
    throttled: list[float] = []
    client = producer(broker, throttle_cb=lambda event: throttled.append(event.throttle_time))
    with broker.throttle("Produce", 50):
        client.produce(topic, b"value")
        assert client.flush(10) == 0
        began_s = time.monotonic()
        client.produce(topic, b"value")
        assert client.flush(10) == 0
        assert time.monotonic() - began_s >= 0.04
    client.poll(0)
    assert throttled[:1] == [0.05]
    assert values(broker, topic) == ["value", "value"]


def test_a_commit_fails_and_the_group_stays_where_it_was(broker: Broker, topic: str) -> None:
    broker.produce(topic, "value")
    client = consumer(broker, topic, **{"enable.auto.commit": False})
    assert client.poll(10) is not None
    with (
        broker.fail_next("OffsetCommit", "GROUP_AUTHORIZATION_FAILED"),
        pytest.raises(KafkaException, match="GROUP_AUTHORIZATION_FAILED"),
    ):
        client.commit(asynchronous=False)
    assert broker.group_offsets(f"of {topic}") == {}
    client.commit(asynchronous=False)
    assert broker.group_offsets(f"of {topic}") == {(topic, 0): 1}
    client.close()


def test_an_admin_is_refused_and_nothing_is_made(broker: Broker, topic: str) -> None:
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap_servers)
    with (
        broker.fail_next("CreateTopics", "POLICY_VIOLATION", client_id="kafka-python-3.0.12"),
        pytest.raises(ClientError),
    ):
        admin.create_topics({f"{topic}-more": {"num_partitions": 1, "replication_factor": 1}})
    admin.close()
    assert f"{topic}-more" not in broker.topics()


def test_faults_are_met_in_their_order_and_by_whom_they_are_for(broker: Broker, topic: str) -> None:
    client = KafkaProducer(bootstrap_servers=broker.bootstrap_servers, retry_backoff_ms=10, client_id="mine")
    other = broker.fail_next("Produce", "REQUEST_TIMED_OUT", client_id="another")
    first = broker.fail_next("Produce", "NOT_LEADER_OR_FOLLOWER")
    second = broker.fail_next(["Produce", "Heartbeat"], "NOT_ENOUGH_REPLICAS", times=None)
    third = broker.fail_next("Produce", "KAFKA_STORAGE_ERROR")
    sent = client.send(topic, b"value")
    first.wait()
    second.wait()
    while second.met < 2:
        with pytest.raises(
            NotInTime, match=r"after 0\.01 s: Produce: fails with KAFKA_STORAGE_ERROR, met 0 times, 1 more"
        ):
            third.wait(0.01)
    second.undo()
    assert sent.get(10).offset == 0
    assert (other.met, first.met, third.met) == (0, 1, 1)
    assert "fails with REQUEST_TIMED_OUT, met 0 times, 1 more" in broker.report()
    client.close()


def test_what_cannot_be_asked_for_is_said() -> None:
    broker = Broker()
    with pytest.raises(ValueError, match="answers no API 'Prodcue'; did you mean Produce"):
        broker.fail_next("Prodcue", "NOT_ENOUGH_REPLICAS")
    with pytest.raises(ValueError, match="answers no API 'Prodcue'; did you mean Produce"):
        broker.requests("Prodcue")
    with pytest.raises(ValueError, match="no API is named"):
        broker.drop_next([])
    with pytest.raises(ValueError, match="NONE is no error"):
        broker.fail_next("Produce", 0)
    for times in (0, 1.5):
        with pytest.raises(ValueError, match=f"times={times}: a fault is met at least once"):
            broker.drop_next("Produce", times=times)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="seconds=-1: nothing is done before"):
        broker.delay_next("Produce", -1)
    for milliseconds in (-1, 0.5):
        with pytest.raises(ValueError, match=f"milliseconds={milliseconds}: Kafka's answers have room for"):
            broker.throttle("Produce", milliseconds)  # type: ignore[arg-type]
    assert "faults" not in broker.report()


@pytest.mark.parametrize(
    ("error", "meant"),
    [
        ("NOT_ENOUGH_REPLICA", "NOT_ENOUGH_REPLICAS"),
        ("NotLeaderForPartitionError", "NOT_LEADER_OR_FOLLOWER"),
        ("NOT_LEADER_FOR_PARTITION", "NOT_LEADER_OR_FOLLOWER"),
        ("UnknownTopicOrPartitionException", "UNKNOWN_TOPIC_OR_PARTITION"),
        ("GroupCoordinatorNotAvailableError", "COORDINATOR_NOT_AVAILABLE"),
        ("RequestTimedOutError", "REQUEST_TIMED_OUT"),
    ],
)
def test_an_error_as_a_client_library_calls_it_is_recognised(error: str, meant: str) -> None:
    with pytest.raises(ValueError, match=f"no error '{error}'; did you mean {meant}\\?"):
        Broker().fail_next("Produce", error)


def test_requests_are_found_by_one_name_or_several(broker: Broker, topic: str) -> None:
    client = producer(broker)
    client.produce(topic, b"value")
    assert client.flush(10) == 0
    assert {one.api for one in broker.requests(["produce", "Metadata"])} == {"Produce", "Metadata"}
    assert {one.api for one in broker.requests("produce")} == {"Produce"}
    assert len(broker.requests()) > len(broker.requests(["produce", "Metadata"]))
