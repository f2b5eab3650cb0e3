"""Which keys may be set while a broker runs, and what Kafka demands of the values then."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from barnabas.broker.configuration.key import Mode
from barnabas.broker.configuration.keys import KEYS
from barnabas.broker.configuration.node_config import NodeConfig, Notice
from barnabas.broker.configuration.synonyms import listener_key, names_a_listener
from barnabas.broker.configuration.values import HIDDEN, ConfigurationError, wrong
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.storage.topic_config import TOPIC_CONFIGS

__all__ = ["check_dynamic", "keep_valid"]

ONLY_OF_LISTENERS = frozenset(
    f"ssl.{name}"
    for name in (
        "keystore.type",
        "keystore.location",
        "keystore.password",
        "keystore.certificate.chain",
        "keystore.key",
        "key.password",
        "truststore.type",
        "truststore.location",
        "truststore.password",
        "truststore.certificates",
    )
)
"""They change with listener.name.NAME. in front, and never for all listeners at once."""

OF_CLUSTER_OR_LISTENER = frozenset({"max.connections", "max.connection.creation.rate", "num.network.threads"})


def _is_read_only(name: str) -> bool:
    return name in KEYS and KEYS[name].mode is Mode.READ_ONLY


def _is_of_one_broker(name: str) -> bool:
    if names_a_listener(name):
        return listener_key(name) not in OF_CLUSTER_OR_LISTENER
    return name in KEYS and KEYS[name].mode is Mode.PER_BROKER


def _type_problem(name: str, text: str) -> str | None:
    key = KEYS.get(listener_key(name))
    if key is None or key.mode is Mode.READ_ONLY:
        return None
    try:
        key.parse(text)
    except ValueError as error:
        return wrong(name, HIDDEN if key.sensitive else text, str(error))
    return None


def keep_valid(stored: Mapping[str, str], *, of_one_broker: bool) -> tuple[dict[str, str], list[Notice]]:
    """What counts of the configurations that the metadata has, perhaps from another version, for `with_dynamic`."""
    kept, notices = {}, []
    for name, text in stored.items():
        problem = _type_problem(name, text) or _place_problem(name, of_one_broker)
        if problem is None:
            kept[name] = text
        else:
            notices.append(Notice(True, f"A configuration of the running broker is left alone: {problem}"))
    return kept, notices


def _place_problem(name: str, of_one_broker: bool) -> str | None:
    if _is_read_only(name):
        return f"{name} cannot be changed while a broker runs: set it in server.properties and start again."
    if name in ONLY_OF_LISTENERS:
        return f"{name} can be changed for one listener only: set listener.name.NAME.{name}."
    if not of_one_broker and _is_of_one_broker(name):
        return f"{name} cannot be set for all brokers: name one, with --entity-name."
    return None


def check_dynamic(config: NodeConfig, wanted: Mapping[str, str], *, of_one_broker: bool) -> None:
    """`wanted` is all that would be set, for this broker or for the cluster. KafkaError(INVALID_REQUEST), as Kafka has
    it, for what may not be set so, and for what a broker could not run with."""
    problems = [_place_problem(name, of_one_broker) or _type_problem(name, text) for name, text in wanted.items()]
    _refuse(problems)
    try:
        if of_one_broker:
            new = config.with_dynamic(config.cluster, wanted, fitted=False)
        else:
            new = config.with_dynamic(wanted, config.broker, fitted=False)
    except ConfigurationError as error:
        _refuse(error.problems)
        raise
    changed = {name for name in config.texts.keys() | new.texts.keys() if config.texts.get(name) != new.texts.get(name)}
    _refuse(problem for check in _CHECKS for problem in check(config, new, changed))


def _refuse(problems: Iterable[str | None]) -> None:
    found = [problem for problem in problems if problem]
    if found:
        raise KafkaError(ErrorCode.INVALID_REQUEST, " ".join(found))


_Check = Callable[[NodeConfig, NodeConfig, set[str]], Iterator[str]]

POOLS = ("background.threads", "num.io.threads", "num.recovery.threads.per.data.dir", "num.replica.fetchers")
REMOTE_POOLS = (
    "remote.log.manager.copier.thread.pool.size",
    "remote.log.manager.expiration.thread.pool.size",
    "remote.log.manager.follower.thread.pool.size",
    "remote.log.reader.threads",
)


def _check_pools(old: NodeConfig, new: NodeConfig, changed: set[str]) -> Iterator[str]:
    """A pool grows and shrinks in steps: to no less than a half, and no more than the double."""
    for name in (*POOLS, *REMOTE_POOLS, "log.cleaner.threads"):
        if name in changed:
            yield from _pool_problem(name, old.values[name], new.values[name])


def _pool_problem(name: str, before: int, after: int) -> Iterator[str]:
    if not before // 2 <= after <= before * 2:
        yield wrong(name, after, f"must be from {max(1, before // 2)} to {before * 2} next, since it is {before} now")


_LOG_KEYS = frozenset(key.server_names[0] for key in TOPIC_CONFIGS.values() if key.server_names)


def _check_local_retention(_old: NodeConfig, new: NodeConfig, changed: set[str]) -> Iterator[str]:
    """What is kept here is a part of what is kept at all, even where nothing is stored elsewhere."""
    if not changed & _LOG_KEYS:
        return
    topics = new.topic_defaults
    for unit, local, whole in (
        ("ms", topics.local_retention_ms, topics.retention_ms),
        ("bytes", topics.local_retention_bytes, topics.retention_bytes),
    ):
        limited = whole != -1 if unit == "ms" else whole > -1
        if limited and local != -2 and not 0 <= local <= whole:
            why = f"must be -2, or from 0 to log.retention.{unit}={whole}"
            yield wrong(f"log.local.retention.{unit}", local, why)


def _check_connections(old: NodeConfig, new: NodeConfig, _changed: set[str]) -> Iterator[str]:
    for listener in (one.listener for one in old.listeners if one not in old.controller_listeners):
        for name in ("max.connections", "max.connection.creation.rate"):
            before, after = old.of_listener(listener, name), new.of_listener(listener, name)
            if after <= 0 and before != after:
                yield wrong(name, after, f"must be at least 1, or nobody can connect to {listener}")
        name = "num.network.threads"
        yield from _pool_problem(name, old.of_listener(listener, name), new.of_listener(listener, name))


_LISTENER_KEYS = frozenset(
    {
        "listeners",
        "listener.security.protocol.map",
        "principal.builder.class",
        "max.connections",
        "max.connection.creation.rate",
        "num.network.threads",
    }
    | {key.name for key in KEYS.values() if key.mode is Mode.PER_BROKER and key.name.startswith(("sasl.", "ssl."))}
)


def _check_listeners(old: NodeConfig, new: NodeConfig, changed: set[str]) -> Iterator[str]:
    if not changed & _LISTENER_KEYS:
        return
    before = {one.listener: one for one in old.listeners}
    after = {one.listener: one for one in new.listeners}
    gone = {one.listener for one in old.advertised_listeners} - after.keys()
    if gone:
        yield wrong(
            "listeners", new.texts.get("listeners", ""), f"must have {', '.join(sorted(gone))}, which is advertised"
        )
    for name in sorted(before.keys() & after.keys()):
        fixed = {key for key in changed if key.startswith(after[name].config_prefix) and not _may_change_later(key)}
        if fixed:
            yield f"{', '.join(sorted(fixed))} cannot be changed for a listener that is there: start again."
        if old.protocols.get(name) is not new.protocols.get(name):
            yield f"The protocol of the listener {name} cannot be changed: start again, or add another listener."


def _may_change_later(name: str) -> bool:
    return listener_key(name) in ONLY_OF_LISTENERS | OF_CLUSTER_OR_LISTENER


_CHECKS: tuple[_Check, ...] = (_check_pools, _check_local_retention, _check_connections, _check_listeners)
