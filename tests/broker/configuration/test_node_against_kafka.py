"""Listeners, quorums, and keys that depend on each other: Barnabas starts with what Kafka starts with, and no other."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from barnabas.broker.configuration.node_config import NodeConfig
from tests.broker.configuration.comparing import compare, compare_values
from tests.broker.configuration.configuration_oracle import BASE, SOURCE, ConfigurationOracle
from tests.kafka.java_oracle import JavaOracle

pytestmark = [pytest.mark.java, pytest.mark.slow]


@pytest.fixture(scope="module")
def kafka(java_oracle: Callable[[Path], JavaOracle]) -> ConfigurationOracle:
    return ConfigurationOracle(java_oracle(SOURCE))


# fmt: off
LISTENERS = [
    "PLAINTEXT://localhost:9092", "PLAINTEXT://:9092", "PLAINTEXT://[::1]:9092", "plaintext://h:1", "PLAINTEXT://h:0",
    "PLAINTEXT://h", "PLAINTEXT:h:1", "://h:1", " ://h:1", "PLAINTEXT://h h:1", "PLAINTEXT://h:1/", "X://h:1", "",
    "SSL://h:1", "SASL_SSL://h:1", "PLAINTEXT://0.0.0.0:1", "PLAINTEXT://h:x", "PLAINTEXT://h:99999999999",
    "PLAINTEXT://a:1,PLAINTEXT://b:2", "PLAINTEXT://a:1,SSL://b:1", "PLAINTEXT://1.2.3.4:1,SSL://[::1]:1",
    "PLAINTEXT://1.2.3.4:1,SSL://5.6.7.8:1", "PLAINTEXT://1.2.3.4:1,SSL://h:1", "PLAINTEXT://a:0,SSL://b:0",
    "PLAINTEXT://1.2.3.4:1,SSL://[::1]:1,SASL_SSL://h:1", "PLAINTEXT://a:1 , SSL://b:2", "PLAINTEXT://a:1,",
    "PLAINTEXT://[a:1", "PLAINTEXT://a]:1", "PLAINTEXT://01.2.3.4:1,SSL://[::1]:1", "PLAINTEXT://x://y:1",
    "PLAINTEXT://fe80::1%eth0:1", "PLAINTEXT://a.b-c_d:1",
]
# fmt: on


def test_listeners_are_read_alike(kafka: ConfigurationOracle) -> None:
    outcomes = []
    for listeners in LISTENERS:
        controllers = ("", ",CONTROLLER://localhost:9093", ",CONTROLLER://:9093", ",controller://0.0.0.0:9093")
        outcomes += [compare(kafka, BASE | {"listeners": listeners + controller}) for controller in controllers]
        outcomes += [
            compare(kafka, BASE | {"advertised.listeners": listeners + told}) for told in ("", ",CONTROLLER://told:7")
        ]
    assert outcomes.count(True) > 30
    assert outcomes.count(False) > 80


CHOICES: dict[str, list[str]] = {
    "process.roles": ["broker", "controller", "broker,controller", "controller,broker"],
    "node.id": ["1", "2"],
    "broker.id": ["1", "2"],
    "controller.quorum.voters": ["1@h:1", "2@h:1", "1@0.0.0.0:1,2@h:1", ""],
    "controller.quorum.bootstrap.servers": ["h:1", ""],
    "controller.listener.names": ["CONTROLLER", "controller", "CONTROLLER,EXTRA", "SSL", "PLAINTEXT", "EXTRA"],
    "controller.quorum.auto.join.enable": ["true", "false"],
    "listeners": [
        "PLAINTEXT://h:1",
        "PLAINTEXT://h:1,CONTROLLER://:2",
        "CONTROLLER://h:2",
        "PLAINTEXT://:1,EXTRA://h:3,CONTROLLER://h:2",
        "SSL://h:1,CONTROLLER://h:2",
        "INTERNAL://h:1,CONTROLLER://0.0.0.0:2",
        "SASL_PLAINTEXT://h:1,CONTROLLER://h:2",
    ],
    "advertised.listeners": [
        "PLAINTEXT://h:1",
        "PLAINTEXT://h:1,CONTROLLER://h:2",
        "INTERNAL://i:5",
        "EXTRA://0.0.0.0:1",
    ],
    "listener.security.protocol.map": [
        "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "PLAINTEXT:PLAINTEXT,CONTROLLER:SSL,EXTRA:PLAINTEXT,INTERNAL:SASL_PLAINTEXT",
        "a:PLAINTEXT,A:PLAINTEXT",
        "PLAINTEXT:nothing",
        "PLAINTEXT",
        "",
        "plaintext:plaintext,controller:ssl,internal:ssl,ssl:ssl",
    ],
    "inter.broker.listener.name": ["PLAINTEXT", "internal", "CONTROLLER", "NOWHERE", "EXTRA"],
    "security.inter.broker.protocol": ["PLAINTEXT", "SSL", "SASL_PLAINTEXT"],
    "early.start.listeners": ["CONTROLLER", "PLAINTEXT,CONTROLLER", "EXTRA", "plaintext", ""],
    "sasl.mechanism.inter.broker.protocol": ["PLAIN", "GSSAPI"],
    "sasl.enabled.mechanisms": ["PLAIN", "PLAIN,GSSAPI", ""],
    "listener.name.internal.sasl.enabled.mechanisms": ["PLAIN", "a,,b", "GSSAPI"],
    "listener.name.sasl_plaintext.sasl.enabled.mechanisms": ["PLAIN"],
    "listener.name.plaintext.max.connections": ["5", "x", "-1"],
    "listener.name.PLAINTEXT.max.connections": ["x"],
    "listener.name.controller.ssl.client.auth": ["required", "x"],
    "listener.name.internal.plain.connections.max.reauth.ms": ["5", "x"],
    "listener.name.plaintext.any.thing.max.connections": ["x"],
    "listener.name.nowhere.max.connections": ["x"],
    "metadata.log.dir": ["meta"],
    "log.dir": ["one,two"],
    "cordoned.log.dirs": ["*", "data", "one"],
}
OFTEN = ("process.roles", "controller.quorum.voters", "controller.listener.names", "listeners")


def knows_no_controller(given: dict[str, str]) -> bool:
    """Where Barnabas takes itself for the quorum, and Kafka does not start."""
    both = set(given["process.roles"].split(",")) == {"broker", "controller"}
    return both and not given.get("controller.quorum.voters") and not given.get("controller.quorum.bootstrap.servers")


def test_nodes_of_all_kinds_start_or_not_alike(kafka: ConfigurationOracle) -> None:
    chance = random.Random(5)
    accepted = compared = 0
    while compared < 2500:
        names = set(chance.sample(sorted(CHOICES), k=chance.randint(0, 4))) | set(
            chance.sample(OFTEN, k=chance.randint(0, 3))
        )
        given = BASE | {name: chance.choice(CHOICES[name]) for name in sorted(names)}
        if knows_no_controller(given):
            continue
        accepted += compare(kafka, given)
        compared += 1
    assert accepted > 250


def test_every_voter_has_an_address_where_this_node_takes_its_own_from_them(kafka: ConfigurationOracle) -> None:
    for listener in ("CONTROLLER://:2", "CONTROLLER://0.0.0.0:2", "CONTROLLER://h:2"):
        for node_id, voters in (("2", "1@0.0.0.0:1,2@h:1"), ("2", "2@0.0.0.0:1"), ("2", "1@g:1,2@h:1")):
            nodes = {"node.id": node_id, "controller.quorum.voters": voters}
            given = BASE | nodes | {"listeners": f"PLAINTEXT://h:1,{listener}"}
            assert compare(kafka, given) is ("0.0.0.0" not in voters or listener == "CONTROLLER://h:2"), given


GROUPS = {
    f"group.{kind}.{bound}{name}": ["4999", "5000", "5001", "15000", "15001", "44999", "45000", "60001"]
    for kind in ("consumer", "share", "streams")
    for bound in ("", "min.", "max.")
    for name in ("heartbeat.interval.ms", "session.timeout.ms", "assignment.interval.ms")
}
TOGETHER = GROUPS | {
    "log.retention.ms": ["-1", "-7", "0", "1", "5"],
    "log.retention.minutes": ["-1", "0", "1", "35000"],
    "log.retention.hours": ["-1", "0", "1", "2562047788015"],
    "log.roll.ms": ["0", "1", "-1"],
    "log.roll.hours": ["1", "2"],
    "log.roll.jitter.ms": ["0", "-1", "5"],
    "log.roll.jitter.hours": ["0", "1"],
    "log.flush.interval.ms": ["5", "-1"],
    "log.flush.scheduler.interval.ms": ["6", "-1"],
    "log.cleaner.min.compaction.lag.ms": ["0", "5"],
    "log.cleaner.max.compaction.lag.ms": ["4", "5"],
    "log.cleaner.threads": ["0", "1", "2", "127", "128"],
    "log.cleaner.dedupe.buffer.size": ["1048576", "1048577", "2097154", "2097153"],
    "replica.fetch.wait.max.ms": ["499", "30000", "30001", "5"],
    "replica.socket.timeout.ms": ["5", "30000", "30001"],
    "replica.lag.time.max.ms": ["4", "30000", "30001"],
    "queued.max.request.bytes": ["-1", "0", "1", "104857599", "104857600"],
    "socket.request.max.bytes": ["1", "104857600"],
    "max.connections.per.ip": ["0", "1"],
    "max.connections.per.ip.overrides": ["h:1", "", "h"],
    "connections.max.idle.ms": ["-1", "0", "100", "101"],
    "connection.failed.authentication.delay.ms": ["0", "100", "101"],
    "group.share.delivery.count.limit": ["2", "5", "10"],
    "group.share.min.delivery.count.limit": ["2", "5"],
    "group.share.max.delivery.count.limit": ["5", "10"],
    "group.share.partition.max.record.locks": ["100", "2000", "4001"],
    "group.share.min.partition.max.record.locks": ["100", "2000"],
    "group.share.max.partition.max.record.locks": ["2000", "10000"],
    "group.share.record.lock.duration.ms": ["1000", "30000", "60001"],
    "group.share.min.record.lock.duration.ms": ["1000", "30000"],
    "group.share.max.record.lock.duration.ms": ["30000", "60001"],
    "group.share.max.size": ["1", "200", "1000"],
    "group.share.max.share.sessions": ["199", "200", "2000"],
    "group.streams.num.standby.replicas": ["0", "2", "3"],
    "group.streams.max.standby.replicas": ["0", "2", "3"],
    "broker.heartbeat.interval.ms": ["4500", "4501"],
}


def test_what_depends_on_each_other_is_taken_or_refused_alike(kafka: ConfigurationOracle) -> None:
    chance = random.Random(6)
    accepted = 0
    for _ in range(3000):
        # Keys near each other in the table are those that depend on each other.
        start = chance.randrange(len(TOGETHER))
        near = sorted(TOGETHER)[max(0, start - 4) : start + 4]
        names = set(chance.sample(near, k=min(len(near), chance.randint(1, 3))))
        names |= set(chance.sample(sorted(TOGETHER), k=chance.randint(0, 2)))
        accepted += compare(kafka, BASE | {name: chance.choice(TOGETHER[name]) for name in sorted(names)})
    assert 500 < accepted < 2500


DYNAMIC = {
    "log.retention.ms": ["-1", "5"],
    "log.roll.ms": ["7"],
    "log.roll.jitter.ms": ["8"],
    "log.flush.interval.ms": ["9"],
    "log.cleaner.threads": ["2"],
    "message.max.bytes": ["77"],
    "max.connections": ["3"],
    "group.consumer.assignment.interval.ms": ["0", "15001", "7"],
    "group.share.assignment.interval.ms": ["99999"],
    "listener.name.plaintext.max.connections": ["4"],
    "unknown.key": ["x"],
}
STATIC = {
    "log.retention.ms": ["1"],
    "log.retention.minutes": ["2"],
    "log.retention.hours": ["3"],
    "log.roll.ms": ["4"],
    "log.roll.hours": ["5"],
    "log.flush.scheduler.interval.ms": ["6"],
    "group.consumer.max.assignment.interval.ms": ["2000"],
    "message.max.bytes": ["88"],
}


def test_what_is_set_while_a_broker_runs_wins_alike(kafka: ConfigurationOracle) -> None:
    chance = random.Random(7)
    for _ in range(300):

        def some(choices: dict[str, list[str]]) -> dict[str, str]:
            names = chance.sample(sorted(choices), k=chance.randint(0, 4))
            return {name: chance.choice(choices[name]) for name in names}

        given, cluster, broker = BASE | some(STATIC), some(DYNAMIC), some(DYNAMIC)
        theirs = kafka.with_dynamic(given, cluster, broker)
        assert not isinstance(theirs, str), theirs
        ours = NodeConfig.load(given).with_dynamic(cluster, broker)
        compare_values(ours, theirs, given | cluster | broker)
