"""What a running Kafka answers to DescribeConfigs and IncrementalAlterConfigs, Barnabas answers too."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import pytest

from barnabas.broker.configuration.barnabas_defaults import BARNABAS_DEFAULTS
from barnabas.broker.configuration.describe import Described, describe_broker, describe_cluster, describe_topic
from barnabas.broker.configuration.node_config import NodeConfig
from barnabas.broker.configuration.properties_file import read_properties
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.alter_configs import (
    AlterableConfig as ReplacingConfig,
)
from barnabas.protocol.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResponse,
)
from barnabas.protocol.messages.alter_configs import (
    AlterConfigsResource as ReplacedResource,
)
from barnabas.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from barnabas.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
)
from barnabas.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from tests.kafka.broker import KafkaBroker
from tests.kafka.client import RawClient

from . import altering
from .altering import APPEND, BROKER, DELETE, SET, SUBTRACT, TOPIC, Change

pytestmark = [pytest.mark.java, pytest.mark.slow]

GIVEN = {
    "log.retention.hours": "5 ",
    "log.roll.ms": "7200000",
    "ssl.key.password": "secret",
    "unknown.key": "y",
    "listener.name.plaintext.ssl.key.password": "secret",
    "listener.name.plaintext.max.connections": "9",
    "listener.name.other.plain.sasl.jaas.config": "secret",
    "log.initial.task.delay.ms": "40000",
    "log.cleaner.io.buffer.load.factor": "0.0005",
    "log.cleaner.io.max.bytes.per.second": "12345678",
}


class Running(NamedTuple):
    client: RawClient
    config: NodeConfig


@pytest.fixture(scope="module")
def kafka(kafka_classpath: str) -> Iterator[Running]:
    with KafkaBroker(kafka_classpath, config=GIVEN) as broker, RawClient(broker.host, broker.port) as client:
        yield Running(client, NodeConfig.load(read_properties(broker.data_directory.parent / "server.properties")))


def describe(
    client: RawClient, kind: int, name: str, keys: list[str] | None = None
) -> list[DescribeConfigsResourceResult]:
    resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=keys)
    request = DescribeConfigsRequest(resources=[resource], include_synonyms=True, include_documentation=True)
    (result,) = client.ask(request, 4, DescribeConfigsResponse).results
    assert result.error_code == 0, result.error_message
    return result.configs


Row = tuple[str, str | None, int, bool, bool, list[tuple[str, str | None, int]], int, bool]


def of_kafka(configs: Iterable[DescribeConfigsResourceResult]) -> dict[str, Row]:
    return {
        one.name: (
            one.name,
            one.value,
            one.config_source,
            one.is_sensitive,
            one.read_only,
            [(other.name, other.value, other.source) for other in one.synonyms],
            one.config_type or 0,
            one.documentation is not None,
        )
        for one in configs
    }


def of_barnabas(described: Iterable[Described]) -> dict[str, Row]:
    return {
        one.name: (
            one.name,
            one.value,
            int(one.source),
            one.sensitive,
            one.read_only,
            [(other.name, other.value, int(other.source)) for other in one.synonyms],
            int(one.type),
            one.documentation is not None,
        )
        for one in described
    }


def without_own(rows: dict[str, Row]) -> dict[str, Row]:
    """Kafka has none of our keys, and other defaults for some."""
    return {
        name: row for name, row in rows.items() if not name.startswith("barnabas.") and name not in BARNABAS_DEFAULTS
    }


def alter(
    client: RawClient, kind: int, name: str, changes: Sequence[Change], *, validate_only: bool = True
) -> tuple[int, str | None]:
    configs = [AlterableConfig(name=key, config_operation=operation, value=text) for key, operation, text in changes]
    request = IncrementalAlterConfigsRequest(
        resources=[AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)],
        validate_only=validate_only,
    )
    (answer,) = client.ask(request, 1, IncrementalAlterConfigsResponse).responses
    return answer.error_code, answer.error_message


def replace(client: RawClient, kind: int, name: str, wanted: dict[str, str | None]) -> int:
    configs = [ReplacingConfig(name=key, value=text) for key, text in wanted.items()]
    request = AlterConfigsRequest(
        resources=[ReplacedResource(resource_type=kind, resource_name=name, configs=configs)], validate_only=True
    )
    (answer,) = client.ask(request, 2, AlterConfigsResponse).responses
    return answer.error_code


# What a cluster of 4.3 begins with: eligible leader replicas need the same min.insync.replicas everywhere.
CLUSTER = {"min.insync.replicas": "1"}


def test_a_broker_describes_itself_alike(kafka: Running) -> None:
    config = kafka.config.with_dynamic(CLUSTER, {})
    theirs = of_kafka(describe(kafka.client, BROKER, "1"))
    assert len(theirs) > 330
    assert without_own(of_barnabas(describe_broker(config))) == without_own(theirs)
    some = ["log.roll.ms", "nothing", "unknown.key", "log.cleaner.io.buffer.load.factor"]
    assert of_barnabas(describe_broker(config, some)) == of_kafka(describe(kafka.client, BROKER, "1", some))


def wait_for_source(client: RawClient, name: str, source: int) -> None:
    """The broker learns from the metadata, a moment later, what was set."""
    deadline = time.monotonic() + 30
    while of_kafka(describe(client, BROKER, "1", [name]))[name][2] != source:
        assert time.monotonic() < deadline


def test_what_is_set_while_it_runs_is_described_alike(kafka: Running) -> None:
    cluster = {
        "log.retention.ms": "70000",
        "message.max.bytes": "2000000",
        "leader.replication.throttled.rate": "55",
        "max.connections": "100",
        "custom.key": "x",
    }
    broker = {
        "log.retention.ms": "80000",
        "log.cleaner.threads": "2",
        "listener.name.plaintext.max.connections": "8",
        "compression.type": "zstd ",
    }
    overrides = {"retention.ms": "90000", "cleanup.policy": "compact, delete", "segment.bytes": "2000000"}
    topic = CreatableTopic(name="described", num_partitions=1, replication_factor=1, assignments=[], configs=[])
    created = kafka.client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=30_000), 7, CreateTopicsResponse)
    assert created.topics[0].error_code == 0
    for kind, name, wanted in ((BROKER, "", cluster), (BROKER, "1", broker), (TOPIC, "described", overrides)):
        changes = [Change(key, SET, text) for key, text in wanted.items()]
        assert alter(kafka.client, kind, name, changes, validate_only=False) == (0, None)
    try:
        wait_for_source(kafka.client, "compression.type", 2)
        config = kafka.config.with_dynamic(CLUSTER | cluster, broker)
        assert without_own(of_barnabas(describe_broker(config))) == without_own(
            of_kafka(describe(kafka.client, BROKER, "1"))
        )
        assert of_barnabas(describe_cluster(config)) == of_kafka(describe(kafka.client, BROKER, ""))
        ours = of_barnabas(describe_topic(config, overrides))
        assert ours == of_kafka(describe(kafka.client, TOPIC, "described"))
        assert ours["retention.ms"][5][:2] == [("retention.ms", "90000", 1), ("log.retention.ms", "80000", 2)]
    finally:
        for name, names in (("", cluster), ("1", broker)):
            undo = [Change(key, DELETE, None) for key in names]
            assert alter(kafka.client, BROKER, name, undo, validate_only=False) == (0, None)
        wait_for_source(kafka.client, "compression.type", 5)


BROKER_CHANGES: list[tuple[Change, ...]] = [
    (Change(name, SET, text),)
    for name, texts in {
        "log.retention.ms": ["5", "0", "-7", "x", ""],
        "log.retention.hours": ["1"],
        "log.roll.ms": ["1", "0"],
        "num.partitions": ["2"],
        "node.id": ["2"],
        "unknown.name": ["x"],
        "listeners": ["PLAINTEXT://localhost:1,CONTROLLER://localhost:2", "x"],
        "advertised.listeners": ["PLAINTEXT://localhost:1"],
        "ssl.keystore.location": ["x"],
        "ssl.client.auth": ["required", "maybe"],
        "sasl.jaas.config": ["x"],
        "listener.name.plaintext.ssl.client.auth": ["maybe"],
        "listener.name.plaintext.max.connections": ["5", "0", "x"],
        "listener.name.plaintext.num.network.threads": ["2", "9", "x"],
        "listener.name.other.ssl.key.password": ["x"],
        "num.io.threads": ["4", "8", "9", "1", "0", "2"],
        "num.network.threads": ["4", "5", "0"],
        "background.threads": ["1", "4", "5"],
        "log.cleaner.threads": ["2", "3", "0"],
        "max.connections": ["0", "1", "-1"],
        "max.connection.creation.rate": ["0", "1"],
        "max.connections.per.ip": ["0", "1"],
        "max.connections.per.ip.overrides": ["h:1", "h", "h h:1"],
        "message.max.bytes": ["-1", "0", "1", "1.5"],
        "compression.type": ["gzip", "none", " zstd "],
        "log.cleanup.policy": ["", "compact", "compact,delete,compact", "other"],
        "log.local.retention.ms": ["-1", "-2", "1", "18000001"],
        "log.local.retention.bytes": ["-1", "5"],
        "log.cleaner.min.compaction.lag.ms": ["1", "9223372036854775807"],
        "log.cleaner.dedupe.buffer.size": ["1", "2097152"],
        "leader.replication.throttled.rate": ["1", "-1", "x"],
        "group.consumer.assignment.interval.ms": ["0", "15000", "15001"],
        "producer.id.expiration.ms": ["0", "1"],
        "follower.fetch.last.tiered.offset.enable": ["TRUE", "1"],
        "remote.log.reader.threads": ["10", "4", "21"],
        "cordoned.log.dirs": ["*", "nowhere", ""],
        "principal.builder.class": ["org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder"],
        "min.insync.replicas": ["1", "2", "0"],
    }.items()
    for text in texts
] + [
    (Change("log.retention.ms", DELETE, None),),
    (Change("log.retention.ms", DELETE, "x"),),
    (Change("min.insync.replicas", DELETE, None),),
    (Change("num.partitions", DELETE, None),),
    (Change("unknown.name", DELETE, None),),
    (Change("log.retention.ms", SET, None),),
    (Change("log.retention.ms", APPEND, "1"),),
    (Change("log.cleanup.policy", APPEND, None),),
    (Change("log.cleanup.policy", APPEND, "compact"),),
    (Change("log.cleanup.policy", APPEND, "other"),),
    (Change("log.cleanup.policy", SUBTRACT, "delete"),),
    (Change("log.cleanup.policy", SUBTRACT, "other"),),
    (Change("unknown.name", APPEND, "1"),),
    (Change("unknown.name", SUBTRACT, "1"),),
    (Change("num.partitions", APPEND, "1"),),
    (Change("leader.replication.throttled.rate", APPEND, "1"),),
    (Change("log.retention.ms", 4, "1"),),
    (Change("log.retention.ms", SET, "1"), Change("log.retention.ms", DELETE, None)),
    (Change("log.retention.ms", SET, "1"), Change("num.partitions", SET, "2")),
    (Change("unknown.name", SET, "x" * 32767),),
]  # fmt: skip


def code_of(function: object, *arguments: object, **named: object) -> int:
    assert callable(function)
    try:
        function(*arguments, **named)
    except KafkaError as error:
        assert error.message
        return int(error.code)
    return 0


@pytest.mark.parametrize("scope", ["", "1"])
def test_brokers_are_altered_or_refused_alike(kafka: Running, scope: str) -> None:
    config = kafka.config.with_dynamic(CLUSTER, {})
    stored = CLUSTER if scope == "" else {}
    differences = []
    codes = set()
    for changes in BROKER_CHANGES:
        theirs = alter(kafka.client, BROKER, scope, changes)
        ours = code_of(altering.alter, config, BROKER, scope, stored, changes)
        codes.add(ours)
        if ours != theirs[0]:
            differences.append((changes[0].name, changes[0].operation, str(changes[0].value)[:50], theirs, ours))
    assert differences == []
    assert codes == {0, ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_CONFIG}


def test_several_changes_at_once_are_taken_or_refused_alike(kafka: Running) -> None:
    chance = random.Random(8)
    config = kafka.config.with_dynamic(CLUSTER, {})
    accepted = 0
    for _ in range(600):
        scope = chance.choice(["", "1"])
        changes = [change for several in chance.sample(BROKER_CHANGES, 3) for change in several]
        theirs = alter(kafka.client, BROKER, scope, changes)
        stored = CLUSTER if scope == "" else {}
        ours = code_of(altering.alter, config, BROKER, scope, stored, changes)
        # Where several things are wrong, one of the two codes is as good as the other.
        assert (ours == 0) == (theirs[0] == 0), (scope, changes, theirs)
        accepted += ours == 0
    assert accepted > 30


@pytest.mark.parametrize("scope", ["", "1", "2", "x", " 1", "+1", "-1", "01", "99999999999"])
def test_names_of_brokers_are_taken_alike(kafka: Running, scope: str) -> None:
    wanted: dict[str, str | None] = {"log.retention.ms": "5", "min.insync.replicas": "1"}
    theirs = replace(kafka.client, BROKER, scope, wanted if scope == "" else {"log.retention.ms": "5"})
    config = kafka.config.with_dynamic(CLUSTER, {})
    ours = code_of(altering.replace, config, BROKER, scope, {}, wanted if scope == "" else {"log.retention.ms": "5"})
    assert ours == theirs


TOPIC_CHANGES: list[tuple[Change, ...]] = [
    (Change("retention.ms", SET, "5"),),
    (Change("retention.ms", SET, "-2"),),
    (Change("retention.ms", SET, None),),
    (Change("retention.ms", DELETE, None),),
    (Change("retention.ms", APPEND, "5"),),
    (Change("unknown.name", SET, "5"),),
    (Change("unknown.name", DELETE, None),),
    (Change("unknown.name", APPEND, "5"),),
    (Change("cleanup.policy", APPEND, "compact"),),
    (Change("cleanup.policy", APPEND, "other"),),
    (Change("cleanup.policy", SUBTRACT, "delete"),),
    (Change("cleanup.policy", SUBTRACT, "delete,other"),),
    (Change("leader.replication.throttled.replicas", APPEND, "0:1"),),
    (Change("leader.replication.throttled.replicas", APPEND, "x"),),
    (Change("retention.ms", SET, "5"), Change("retention.ms", SET, "6")),
    (Change("remote.storage.enable", SET, "true"),),
    (Change("min.compaction.lag.ms", SET, "5"), Change("max.compaction.lag.ms", SET, "4")),
    (Change("min.insync.replicas", SET, "7"),),
]


def test_topics_are_altered_or_refused_alike(kafka: Running) -> None:
    topic = CreatableTopic(name="altered", num_partitions=1, replication_factor=1, assignments=[], configs=[])
    kafka.client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=30_000), 7, CreateTopicsResponse)
    for changes in TOPIC_CHANGES:
        theirs = alter(kafka.client, TOPIC, "altered", changes)
        assert code_of(altering.alter, kafka.config, TOPIC, "altered", {}, changes) == theirs[0], (
            changes[0].name,
            theirs,
        )
    replacements: list[dict[str, str | None]] = [{"retention.ms": text} for text in ("5", "x", None)]
    replacements += [{"no": "5"}, {}]
    for wanted in replacements:
        ours = code_of(altering.replace, kafka.config, TOPIC, "altered", {}, wanted)
        assert ours == replace(kafka.client, TOPIC, "altered", wanted), wanted
