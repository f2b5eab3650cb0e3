"""The pytest plugin, as other people's test suites have it: each in a process of its own, loaded by its entry point."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from barnabas.testing import Broker
from barnabas.testing.real_kafka import RealKafka
from tests.kafka.broker import KafkaBroker

pytest_plugins = ["pytester"]

Suite = Callable[..., pytest.RunResult]

QUIET = """
[pytest]
asyncio_default_fixture_loop_scope = function
filterwarnings =
    error
    ignore:(read_text|open_text) is deprecated:DeprecationWarning
"""


@pytest.fixture
def suite(pytester: pytest.Pytester) -> Suite:
    """Runs pytest over the texts of test files."""

    def run(*arguments: str, ini: str = "", **files: str) -> pytest.RunResult:
        pytester.makefile(".ini", pytest=QUIET + ini)
        pytester.makepyfile(**files)
        return pytester.runpytest_subprocess("-p", "no:hypothesispytest", *arguments, timeout=120)

    return run


def ends_with(result: pytest.RunResult, **outcomes: int) -> str:
    text = result.stdout.str()
    assert {name: count for name, count in result.parseoutcomes().items() if name != "warnings"} == outcomes, text
    return text


FIXTURES = """
import asyncio, unittest
import pytest, trio

BROKERS, TOPICS = set(), []

@pytest.fixture(scope="module")
def application(kafka):
    "Fixtures of the project may build on the session's broker, whatever their scope."
    return kafka.bootstrap_servers

def test_a_record_goes_round(kafka, kafka_topic, kafka_producer, kafka_consumer):
    BROKERS.add(kafka.bootstrap_servers)
    TOPICS.append(kafka_topic)
    assert kafka_topic.startswith("test_a_record_goes_round-")
    assert kafka.topics() == {kafka_topic: 1}
    kafka_producer.send(kafka_topic, b"first")
    assert next(kafka_consumer).value == b"first"
    assert [record.value for record in kafka.wait_for(kafka_topic)] == [b"first"]

@pytest.mark.kafka(partitions=3, config={"cleanup.policy": "compact", "segment.ms": 60_000})
@pytest.mark.parametrize("letter", ["a/b", "ä"])
def test_marked(kafka, kafka_topic, application, letter):
    BROKERS.add(kafka.bootstrap_servers)
    assert application == kafka.bootstrap_servers
    assert kafka.topics() == {kafka_topic: 3}, "that of the test before is gone"
    with pytest.raises(Exception, match="INVALID_RECORD"):
        kafka.produce(kafka_topic, "without a key")

@pytest.mark.kafka(own_broker=True)
def test_with_its_own(kafka, kafka_topic, application):
    assert kafka.bootstrap_servers not in BROKERS
    assert application == kafka.bootstrap_servers
    assert kafka.topics() == {kafka_topic: 1}
    kafka.kill()

@pytest.mark.kafka(settings={"auto.create.topics.enable": False, "num.partitions": 5})
class TestWithSettings:
    OWN = []

    @pytest.mark.kafka(partitions=2)
    def test_one(self, kafka, kafka_topic):
        self.OWN.append(kafka.bootstrap_servers)
        assert kafka.topics() == {kafka_topic: 2}
        with pytest.raises(Exception, match="no topic"):
            kafka.produce("unknown", "")

    def test_another(self, kafka):
        assert kafka.bootstrap_servers not in {*self.OWN, *BROKERS}

def test_with_that_of_the_session_again(kafka, application):
    BROKERS.add(kafka.bootstrap_servers)
    assert application == kafka.bootstrap_servers
    assert len(BROKERS) == 1
    assert kafka.topics() == {}

class TestCase(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def _kafka(self, kafka, kafka_topic):
        self.kafka, self.topic = kafka, kafka_topic

    @pytest.mark.kafka(partitions=4)
    def test_a_method(self):
        self.kafka.produce(self.topic, {"order": 7})
        self.assertEqual([record.json() for record in self.kafka.records(self.topic)], [{"order": 7}])
        self.assertEqual(self.kafka.topics(), {self.topic: 4})

@pytest.mark.kafka(own_broker=True)
class TestCaseWithItsOwn(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def _kafka(self, kafka):
        pass

    def test_a_method(self):
        raise AssertionError("it is not run")

@pytest.mark.trio
async def test_trio(kafka, kafka_topic, kafka_producer):
    await trio.to_thread.run_sync(lambda: kafka_producer.send(kafka_topic, b"trio").get(10))
    assert [record.value for record in kafka.records(kafka_topic)] == [b"trio"]

@pytest.mark.asyncio
async def test_asyncio(kafka, kafka_topic, kafka_consumer):
    kafka.produce(kafka_topic, "asyncio")
    assert (await asyncio.to_thread(next, kafka_consumer)).value == b"asyncio"
"""


CONFLUENT = """
def test_confluent(kafka, kafka_topic, kafka_producer, kafka_consumer):
    kafka_producer.produce(kafka_topic, b"confluent")
    assert kafka_producer.flush(10) == 0
    assert kafka_consumer.poll(10).value() == b"confluent"
"""


@pytest.mark.slow
def test_confluent_kafka(suite: Suite) -> None:
    ends_with(suite("--kafka-client=confluent-kafka", ini="kafka_client = aiokafka", test_it=CONFLUENT), passed=1)


WRONG = """
import pytest

@pytest.mark.kafka(3)
def test_an_argument_without_a_name(kafka_topic):
    pass

@pytest.mark.kafka(partition=3)
def test_an_unknown_name(kafka_topic):
    pass

@pytest.mark.kafka(settings={"log.retention.ms": "soon"})
def test_a_wrong_value(kafka):
    pass

@pytest.mark.kafka(settings={"listeners": "PLAINTEXT://:9092"})
def test_a_place(kafka):
    pass

@pytest.mark.kafka(settings={"auto.create.topic.enable": False})
def test_a_setting_that_is_none(kafka):
    pass

@pytest.mark.kafka(partitions=0)
def test_no_partitions(kafka_topic):
    pass

@pytest.mark.kafka(config={"retention.m": 1000})
def test_a_configuration_that_is_none(kafka_topic):
    pass
"""

FAILING = """
import os, pytest
from kafka import KafkaProducer
from barnabas.testing import Broker

def produce(broker, topic, **settings):
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap_servers, client_id="shop", **settings)
    try:
        producer.send(topic, b"v").get(10)
    finally:
        producer.close(timeout=1)

def test_passing(kafka):
    produce(kafka, "before")

def test_failing(kafka):
    kafka.fail_next("Produce", "NOT_LEADER_OR_FOLLOWER")
    kafka.fail_next("Fetch", "UNKNOWN_SERVER_ERROR")
    produce(kafka, "orders")
    kafka.kill()
    assert 0

@pytest.mark.kafka(own_broker=True)
def test_failing_with_its_own(kafka):
    produce(kafka, "payments")
    assert 0

def test_failing_with_one_that_it_has_opened():
    with Broker(settings={"auto.create.topics.enable": False}) as broker:
        produce(broker, "shipments", max_block_ms=2_000)

def test_failing_without(kafka):
    assert 0

def test_failing_with_a_wait(kafka):
    kafka.wait_for("nothing", timeout=0)

def test_failing_with_a_topic(kafka):
    kafka.create_topic("no name")

def test_failing_with_an_error_of_its_own(kafka):
    kafka.produce("some", "7")
    kafka.wait_for("some", matching=lambda record: record.json()["order"])

@pytest.mark.asyncio
async def test_failing_in_a_loop():
    from barnabas.testing import AsyncBroker
    async with AsyncBroker() as broker:
        await broker.records("nothing")
"""

HARMING = """
def test_kill(kafka):
    kafka.kill()

def test_pause(kafka):
    kafka.produce("orders", "one")
    kafka.pause()
    kafka.fail_next("*", "UNKNOWN_SERVER_ERROR", times=None)
    kafka.clock.freeze()

def test_the_next_is_as_if_nothing_had_happened(kafka, kafka_topic, kafka_producer, kafka_consumer):
    kafka_producer.send(kafka_topic, b"v").get(10)
    assert next(kafka_consumer).value == b"v"
    assert not kafka.clock.is_frozen
    assert "faults" not in kafka.report()
"""

OTHERS = """
import pytest

@pytest.fixture
def kafka():
    return "a container"

@pytest.mark.kafka("theirs", whatever=True, own_broker=True)
def test_a_fixture_and_a_marker_that_are_called_as_ours(kafka):
    assert kafka == "a container"

def test_ours_on_theirs(kafka_topic):
    pass
"""


@pytest.mark.slow
def test_a_test_that_fails_shows_what_brokers_saw_during_it(suite: Suite) -> None:
    told = ends_with(suite("-W", "ignore", test_it=FAILING), passed=1, failed=8)
    parts = re.split(r"^_+ (\w+)\S* _+$", told, flags=re.MULTILINE)
    tests = dict(zip(parts[1::2], parts[2::2], strict=True))
    saw = {
        test: re.findall(r"^-+ what the broker at \S+ saw during this test -+$", text, re.MULTILINE)
        for test, text in tests.items()
    }
    assert {test: len(titles) for test, titles in saw.items()} == {
        "test_failing": 1,
        "test_failing_with_its_own": 1,
        "test_failing_with_one_that_it_has_opened": 1,
        "test_failing_without": 0,
        "test_failing_with_a_wait": 0,
        "test_failing_with_a_topic": 0,
        "test_failing_with_an_error_of_its_own": 0,
        "test_failing_in_a_loop": 0,
    }
    for test in ("test_failing_with_a_wait", "test_failing_with_a_topic", "test_failing_in_a_loop"):
        assert "testing/" not in tests[test], "who is told all in a sentence is not shown our files"
    assert re.search(
        r"^E .*nothing has no records after 0 s, not 1: there is no topic nothing; ",
        tests["test_failing_with_a_wait"],
        re.MULTILINE,
    )
    assert "testing/waiting.py" in tests["test_failing_with_an_error_of_its_own"], "but where his own code was called"
    failing = tests["test_failing"]
    assert re.search(r"shop Produce v\d+ orders: NOT_LEADER_OR_FOLLOWER .*\(fault: fails with NOT_LEADER", failing)
    assert re.search(r"shop Produce v\d+ orders: ok", failing)
    assert "Fetch: fails with UNKNOWN_SERVER_ERROR, met 0 times, 1 more" in failing
    assert "before" not in failing
    assert "payments: ok" in tests["test_failing_with_its_own"]
    assert "shipments: UNKNOWN_TOPIC_OR_PARTITION" in tests["test_failing_with_one_that_it_has_opened"]


XDIST = """
import os, pathlib, pytest

@pytest.mark.parametrize("number", range(6))
def test_topics(kafka, kafka_topic, number):
    kafka.produce(kafka_topic, number)
    assert [record.json() for record in kafka.records(kafka_topic)] == [number]
    with open(pathlib.Path(__file__).with_name("told"), "a") as told:
        told.write(f"{os.environ['PYTEST_XDIST_WORKER']} {kafka.bootstrap_servers} {kafka_topic}\\n")
"""


@pytest.mark.slow
def test_each_worker_of_xdist_has_its_broker(suite: Suite, pytester: pytest.Pytester) -> None:
    ends_with(suite("-n2", test_it=XDIST), passed=6)
    told = [line.split() for line in (pytester.path / "told").read_text().splitlines()]
    assert len({topic for _, _, topic in told}) == 6
    brokers = {(worker, bootstrap) for worker, bootstrap, _ in told}
    assert {worker for worker, _ in brokers} == {"gw0", "gw1"}
    assert len({bootstrap for _, bootstrap in brokers}) == len(brokers) == 2


ANY_CLUSTER = """
import pytest

@pytest.mark.kafka(partitions=2, config={"retention.ms": 1000_000})
def test_records(kafka, kafka_topic, kafka_producer, kafka_consumer):
    assert kafka.topics()[kafka_topic] == 2
    for number in range(5):
        kafka_producer.send(kafka_topic, b"%d" % number, key=b"%d" % number, headers=[("h", b"x")])
    produced = kafka.produce(kafka_topic, {"a": 1}, key="k", partition=1)
    found = kafka.wait_for(kafka_topic, count=6)
    assert sorted(record.value for record in found) == [b"0", b"1", b"2", b"3", b"4", b'{"a": 1}']
    assert produced in found
    assert kafka.wait_for(kafka_topic, matching=lambda record: record.headers and record.key == b"3")[0].text == "3"
    assert kafka.records(kafka_topic, partition=1) == [record for record in found if record.partition == 1]
    for _ in range(6):
        next(kafka_consumer)
    (member,) = kafka.wait_for_group(kafka_topic).members
    assert member.partitions == ((kafka_topic, 0), (kafka_topic, 1))
    assert (member.host, kafka.groups()[kafka_topic].protocol) == ("127.0.0.1", "range")
    kafka_consumer.commit()
    offsets = kafka.group_offsets(kafka_topic)
    assert sum(offsets.values()) == 6
    assert kafka.wait_for_offset(kafka_topic, kafka_topic, offsets[kafka_topic, 1], partition=1) == offsets

def test_the_one_before_has_left_nothing(kafka):
    assert not [name for name in kafka.topics() if name.startswith("test_records")]

def test_nothing_comes(kafka, kafka_topic):
    with pytest.raises(AssertionError, match="no records after 0.2 s, not 1: it is empty"):
        kafka.wait_for(kafka_topic, timeout=0.2)
    sent = kafka.produce(kafka_topic, "7", partition=0)
    assert kafka.wait_for(kafka_topic, timeout=0) == [sent]
    with pytest.raises(AssertionError, match="has 1 record after 0 s, not 2: \\n  .*-0 @0 key=None value=b'7'"):
        kafka.wait_for(kafka_topic, count=2, timeout=0)
    with pytest.raises(AssertionError, match="has no partition 9, but 1 in all"):
        kafka.wait_for(kafka_topic, partition=9, timeout=0)
    with pytest.raises(LookupError, match="there is no topic nothing; there are: .*test_nothing_comes"):
        kafka.records("nothing")
    with pytest.raises(AssertionError, match="after 0.2 s"):
        kafka.wait_for_group(kafka_topic, timeout=0.2)
    with pytest.raises(AssertionError, match="after 0.2 s"):
        kafka.wait_for_offset(kafka_topic, kafka_topic, 1, timeout=0.2)
"""

OWN_ONLY = """
@pytest.mark.kafka(own_broker=True)
def test_with_its_own(kafka):
    kafka.kill()

def test_that_stops_it(kafka):
    kafka.kill()
"""


@pytest.mark.slow
def test_the_fixtures(suite: Suite) -> None:
    """In one run: the broker of all tests is one."""
    files = {"fixtures": FIXTURES, "harming": HARMING, "others": OTHERS, "wrong": WRONG, "any_cluster": ANY_CLUSTER}
    told = ends_with(
        suite("--strict-markers", **{f"test_{name}": text for name, text in files.items()}),
        passed=10 + 3 + 1 + 0 + 3,
        errors=1 + 0 + 1 + 7 + 0,
    )
    for words in (
        "own_broker= and settings= of @pytest.mark.kafka here, and open a barnabas.testing.Broker in setUp",
        "@pytest.mark.kafka takes no 3: name what it is, as in partitions=3.",
        "@pytest.mark.kafka has no partition=: it has partitions, config, settings, own_broker.",
        "@pytest.mark.kafka(settings=...): log.retention.ms=soon is wrong",
        "@pytest.mark.kafka(settings=...): listeners is said in another way",
        "auto.create.topic.enable is no key of a broker: did you mean auto.create.topics.enable?",
        "@pytest.mark.kafka(partitions=0) is wrong: a topic has 1 partition or more.",
        "INVALID_CONFIG: the topic test_a_configuration_that_is_none-",
        "kafka_topic needs Barnabas's fixture kafka, and this project has its own, a str.",
    ):
        assert words in told
    assert "testing/topics.py" not in told


@pytest.mark.java
@pytest.mark.slow
def test_the_same_tests_on_apache_kafka(suite: Suite, kafka_broker: KafkaBroker) -> None:
    told = ends_with(
        suite(f"--kafka-bootstrap={kafka_broker.bootstrap}", "-rs", test_it=ANY_CLUSTER + OWN_ONLY), passed=3, skipped=2
    )
    assert f"it wants a broker of its own, and --kafka-bootstrap names {kafka_broker.bootstrap}" in told
    assert "kafka.kill needs a broker of the test's own" in told


def test_a_cluster_that_is_not_there_is_named(suite: Suite) -> None:
    told = ends_with(suite("--kafka-bootstrap=127.0.0.1:1", "-k", "comes", test_it=ANY_CLUSTER), errors=1, deselected=2)
    assert "127.0.0.1:1 cannot be reached (Connection refused): is a broker running there?" in told
    assert "Traceback" not in told
    assert "dialing.py" not in told


@pytest.mark.parametrize(
    "name",
    [
        "topics",
        "create_topic",
        "delete_topic",
        "produce",
        "records",
        "wait_for",
        "groups",
        "group_offsets",
        "wait_for_group",
        "wait_for_offset",
    ],
)
def test_a_cluster_is_asked_as_a_broker_is(name: str) -> None:
    ours, theirs = (inspect.signature(getattr(kind, name)).parameters for kind in (Broker, RealKafka))
    assert [(each.name, each.kind) for each in ours.values()] == [(each.name, each.kind) for each in theirs.values()]


COLLECTED = """
import json, sys, pytest
pytest.main(["--collect-only", "-q", "-p", "no:cacheprovider", sys.argv[1]])
print(json.dumps([name for name in sys.modules if name.split(".")[0] in ("barnabas", "kafka")]))
"""


def test_a_suite_that_has_nothing_to_do_with_kafka_loads_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_other.py").write_text("def test_other(): pass\n")
    command = [sys.executable, "-c", COLLECTED, str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    loaded = json.loads(done.stdout.splitlines()[-1])
    assert set(loaded) - {"barnabas"} == {"barnabas.testing", "barnabas.testing.pytest_plugin"}
