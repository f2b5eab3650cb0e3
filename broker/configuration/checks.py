"""What does not fit together among the values of a node, as Kafka finds it when a broker starts."""

from __future__ import annotations

from collections.abc import Iterator

from barnabas.broker.configuration.addresses import is_host
from barnabas.broker.configuration.key import as_text
from barnabas.broker.configuration.listeners import parse_map
from barnabas.broker.configuration.values import Check, Values, wrong
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.java_text import parse_integer, trim
from barnabas.storage.topic_config import TOPIC_CONFIGS, TopicConfig

__all__ = ["CHECKS", "WARNINGS", "connection_overrides", "parse_super_users", "topic_defaults"]

MEBIBYTE = 1 << 20


def _bounded(prefix: str, name: str) -> tuple[tuple[str, str], ...]:
    """min.NAME <= NAME <= max.NAME, behind the prefix."""
    least, value, most = f"{prefix}.min.{name}", f"{prefix}.{name}", f"{prefix}.max.{name}"
    return ((least, most), (least, value), (value, most))


ORDERED = (
    *(
        pair
        for kind in ("consumer", "share", "streams")
        for name in ("heartbeat.interval.ms", "session.timeout.ms", "assignment.interval.ms")
        for pair in _bounded(f"group.{kind}", name)
    ),
    *_bounded("group.share", "delivery.count.limit"),
    *_bounded("group.share", "partition.max.record.locks"),
    *_bounded("group.share", "record.lock.duration.ms"),
    ("group.share.max.size", "group.share.max.share.sessions"),
    ("group.streams.num.standby.replicas", "group.streams.max.standby.replicas"),
    ("replica.fetch.wait.max.ms", "replica.socket.timeout.ms"),
    ("replica.fetch.wait.max.ms", "replica.lag.time.max.ms"),
)
"""The first is no more than the second."""


def _no_more_than(first: str, second: str) -> Check:
    def check(values: Values) -> Iterator[str]:
        if values[first] > values[second]:
            yield wrong(first, values[first], f"must be no more than {second}={values[second]}")

    return check


def _less_than(first: str, second: str) -> Check:
    def check(values: Values) -> Iterator[str]:
        if values[first] >= values[second]:
            yield wrong(first, values[first], f"must be less than {second}={values[second]}")

    return check


def _check_node_id(values: Values) -> Iterator[str]:
    if values["node.id"] != values["broker.id"] and values.is_set("broker.id"):
        yield wrong("broker.id", values["broker.id"], f"must be node.id={values['node.id']}, or left out")


def _check_log_directories(values: Values) -> Iterator[str]:
    if "broker" not in values["process.roles"]:
        return
    cordoned = values["cordoned.log.dirs"]
    directories = values["log.dirs"] or values["log.dir"]
    if "*" in cordoned and len(cordoned) > 1:
        yield wrong("cordoned.log.dirs", cordoned, "must be * alone, or name directories")
    elif "*" not in cordoned and not set(cordoned) <= set(directories):
        yield wrong("cordoned.log.dirs", cordoned, f"must be among log.dirs={as_text(directories)}")


def _check_cleaner(values: Values) -> Iterator[str]:
    threads = values["log.cleaner.threads"]
    size = values["log.cleaner.dedupe.buffer.size"]
    if threads == 0:
        yield wrong("log.cleaner.threads", threads, "must be at least 1")
    elif size // threads <= MEBIBYTE:
        yield wrong(
            "log.cleaner.dedupe.buffer.size", size, f"must be more than {MEBIBYTE} for each of {threads} threads"
        )


def _check_group_protocols(values: Values) -> Iterator[str]:
    protocols = values["group.coordinator.rebalance.protocols"]
    if "classic" not in protocols:
        yield wrong("group.coordinator.rebalance.protocols", protocols, "must have classic among it")


def _check_queued_bytes(values: Values) -> Iterator[str]:
    queued, largest = values["queued.max.request.bytes"], values["socket.request.max.bytes"]
    if 0 < queued < largest:
        yield wrong("queued.max.request.bytes", queued, f"must be at least socket.request.max.bytes={largest}, or -1")


def connection_overrides(text: str) -> dict[str, int]:
    """ValueError for what is not HOST:NUMBER."""
    overrides = {host: parse_integer(number, 32) for host, number in parse_map(text).items()}
    for host in overrides:
        if not is_host(host):
            raise ValueError(f"{host[:100]!r} is no host")
    return overrides


def _check_connections(values: Values) -> Iterator[str]:
    name = "max.connections.per.ip.overrides"
    try:
        overrides = connection_overrides(values[name])
    except ValueError:
        yield wrong(name, values[name], "must be HOST:NUMBER with commas between")
        return
    if values["max.connections.per.ip"] == 0 and not overrides:
        yield wrong("max.connections.per.ip", 0, f"must be at least 1, unless {name} says whom to let in")


def _check_authentication_delay(values: Values) -> Iterator[str]:
    delay, idle = values["connection.failed.authentication.delay.ms"], values["connections.max.idle.ms"]
    if 0 <= idle <= delay:
        yield wrong(
            "connection.failed.authentication.delay.ms", delay, f"must be less than connections.max.idle.ms={idle}"
        )


def topic_defaults(values: Values) -> TopicConfig:
    """What topics have that say nothing. KafkaError for what a topic could not have."""
    names = {name for key in TOPIC_CONFIGS.values() for name in key.server_names}
    return TopicConfig.server_defaults({name: values.texts[name] for name in names if values.is_set(name)})


def _check_topic_defaults(values: Values) -> Iterator[str]:
    """One topic key after the other, so that all are said that are wrong; then all, for what does not fit together."""
    found = False
    for key in TOPIC_CONFIGS.values():
        given = {name: values.texts[name] for name in key.server_names if values.is_set(name) and name in values}
        if not given:
            continue
        try:
            TopicConfig.server_defaults(given)
        except KafkaError as error:
            found = True
            yield f"{error.message}."
    if not found and all(name in values for key in TOPIC_CONFIGS.values() for name in key.server_names):
        try:
            topic_defaults(values)
        except KafkaError as error:
            yield f"{error.message}."


def parse_super_users(text: str) -> frozenset[str]:
    """ValueError for what is not TYPE:NAME."""
    users = frozenset(user for part in text.split(";") if (user := trim(part)))
    for user in users:
        if ":" not in user:
            raise ValueError(f"{user[:100]!r} is not TYPE:NAME")
    return users


def _check_super_users(values: Values) -> Iterator[str]:
    text = values.texts.get("super.users", "")
    try:
        parse_super_users(text)
    except ValueError:
        # Without an authorizer nobody looks at it.
        if values["authorizer.class.name"]:
            yield wrong("super.users", text, "must be TYPE:NAME with semicolons between, such as User:admin")


CHECKS: tuple[Check, ...] = (
    _check_super_users,
    _check_node_id,
    _check_log_directories,
    _check_cleaner,
    _check_topic_defaults,
    *(_no_more_than(first, second) for first, second in ORDERED),
    *(
        _less_than(f"group.{kind}.heartbeat.interval.ms", f"group.{kind}.session.timeout.ms")
        for kind in ("consumer", "share", "streams")
    ),
    _check_group_protocols,
    _check_queued_bytes,
    _check_connections,
    _check_authentication_delay,
)


def _warn_of_heartbeats(values: Values) -> Iterator[str]:
    heartbeat, session = values["broker.heartbeat.interval.ms"], values["broker.session.timeout.ms"]
    if heartbeat * 2 > session:
        why = (
            f"should be no more than half of broker.session.timeout.ms={session}, or one lost heartbeat fences a broker"
        )
        yield f"broker.heartbeat.interval.ms={heartbeat} {why}."


WARNINGS: tuple[Check, ...] = (_warn_of_heartbeats,)
"""What Kafka starts with all the same."""
