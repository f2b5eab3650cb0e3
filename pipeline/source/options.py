"""The source's options: those of Spark's own Kafka source, under its names, where they mean the same here."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass

from barnabas.client.address import Address, parse_bootstrap
from barnabas.client.cluster import Cluster, Partition
from barnabas.client.errors import MisconfiguredClient
from barnabas.client.offsets import EARLIEST, LATEST
from barnabas.client.properties import ClientProperties
from barnabas.pipeline.source.bounds import (
    Bound,
    parse_offsets,
    parse_partitions,
    parse_timestamp,
    parse_timestamps,
)
from barnabas.pipeline.source.errors import SourceError

__all__ = ["SourceOptions", "Subscription", "parse_options", "wants_headers"]

_SUBSCRIPTIONS = ("subscribe", "subscribePattern", "assign")
_ENDINGS = ("endingOffsets", "endingOffsetsByTimestamp", "endingTimestamp")
_ALL = (
    *_SUBSCRIPTIONS,
    *_ENDINGS,
    "startingOffsets",
    "startingOffsetsByTimestamp",
    "startingTimestamp",
    "startingOffsetsByTimestampStrategy",
    "failOnDataLoss",
    "includeHeaders",
    "minPartitions",
    "maxRecordsPerPartition",
    "maxOffsetsPerTrigger",
)
_CLIENT = (
    "bootstrap.servers",
    "client.id",
    "default.api.timeout.ms",
    "isolation.level",
    "max.partition.fetch.bytes",
    "request.timeout.ms",
    "sasl.jaas.config",
    "sasl.mechanism",
    "security.protocol",
    "ssl.endpoint.identification.algorithm",
    "ssl.key.password",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.keystore.type",
    "ssl.truststore.certificates",
    "ssl.truststore.location",
    "ssl.truststore.type",
)
_NOT_HERE = {
    "path": "load() takes no path: name topics in subscribe",
    "kafka.group.id": "this source reads without a consumer group",
    "groupidprefix": "this source reads without a consumer group",
    "kafka.auto.offset.reset": "startingOffsets says where reading begins",
    "kafka.enable.auto.commit": "this source commits no offsets: Spark's checkpoint has them",
    "kafka.key.deserializer": "keys come as bytes: cast them to what they are",
    "kafka.value.deserializer": "values come as bytes: cast them to what they are",
    "kafka.interceptor.classes": "a class of Java's cannot run here",
    "kafkaconsumer.polltimeoutms": "kafka.default.api.timeout.ms says how long a cluster may be away",
    "fetchoffset.numretries": "kafka.default.api.timeout.ms says how long a cluster may be away",
    "fetchoffset.retryintervalms": "kafka.default.api.timeout.ms says how long a cluster may be away",
    "minoffsetspertrigger": "this source begins a batch as soon as there is a record; set a trigger's processingTime",
    "maxtriggerdelay": "this source begins a batch as soon as there is a record; set a trigger's processingTime",
}
_MOST = 2**63 - 1
_LARGEST_FETCH = 256 << 20


@dataclass(frozen=True)
class Subscription:
    """One of the three is set."""

    topics: frozenset[str] = frozenset()
    pattern: str = ""
    partitions: frozenset[Partition] = frozenset()


@dataclass(frozen=True)
class SourceOptions:
    bootstrap: tuple[Address, ...]
    properties: ClientProperties
    subscription: Subscription
    starting: Bound
    ending: Bound
    latest_if_too_young: bool
    """Where no record is as young as the time that reading begins at: from the end on, instead of an error."""
    fail_on_data_loss: bool
    include_headers: bool
    min_partitions: int | None
    max_records_per_partition: int | None
    max_offsets_per_trigger: int | None
    committed: bool
    """Without records of transactions that are open or aborted."""
    fetch_bytes: int
    request_timeout_s: float
    patience_s: float
    """For how long a cluster may be away, or a partition without a leader, until that is an error."""

    def connect(self) -> Cluster:
        return Cluster(self.bootstrap, self.properties, self.request_timeout_s)


def parse_options(options: Mapping[str, str], *, streaming: bool) -> SourceOptions:
    """SourceError for what is not known, missing, wrong or of no meaning in a query of this kind."""
    given = {name.lower(): value for name, value in options.items()}
    _check_names(given)
    client = {name: given[f"kafka.{name}"] for name in _CLIENT if f"kafka.{name}" in given}
    if not client.get("bootstrap.servers", "").strip():
        raise SourceError("kafka.bootstrap.servers is missing: name brokers as HOST:PORT,HOST:PORT.")
    starting, ending = _starting(given, streaming), _ending(given, streaming)
    _check_order(starting, ending)
    try:
        return SourceOptions(
            bootstrap=tuple(parse_bootstrap(client["bootstrap.servers"])),
            properties=ClientProperties(client),
            subscription=_subscription(given),
            starting=starting,
            ending=ending,
            latest_if_too_young=_one_of(given, "startingOffsetsByTimestampStrategy", "error", "latest") == "latest",
            fail_on_data_loss=_one_of(given, "failOnDataLoss", "true", "false") == "true",
            include_headers=wants_headers(given),
            min_partitions=_count(given, "minPartitions"),
            max_records_per_partition=_count(given, "maxRecordsPerPartition"),
            max_offsets_per_trigger=_count(given, "maxOffsetsPerTrigger"),
            committed=_one_of(given, "kafka.isolation.level", "read_uncommitted", "read_committed") == "read_committed",
            fetch_bytes=_count(given, "kafka.max.partition.fetch.bytes", _LARGEST_FETCH) or 4 << 20,
            request_timeout_s=(_count(given, "kafka.request.timeout.ms") or 30_000) / 1000,
            patience_s=(_count(given, "kafka.default.api.timeout.ms") or 60_000) / 1000,
        )
    except MisconfiguredClient as error:
        raise SourceError(str(error)) from None


def wants_headers(options: Mapping[str, str]) -> bool:
    given = {name.lower(): value for name, value in options.items()}
    return _one_of(given, "includeHeaders", "false", "true") == "true"


def _check_names(given: Mapping[str, str]) -> None:
    known = {name.lower(): name for name in (*_ALL, *(f"kafka.{name}" for name in _CLIENT))}
    for name in sorted(given.keys() - known.keys()):
        if name in _NOT_HERE:
            raise SourceError(f"The option {name} is of no use here, leave it out: {_NOT_HERE[name]}.")
        near = difflib.get_close_matches(name, known, 1)
        hint = f"did you mean {known[near[0]]}" if near else f"there are {', '.join(known.values())}"
        raise SourceError(f"This source has no option {name}: {hint}{'?' if near else '.'}")


def _subscription(given: Mapping[str, str]) -> Subscription:
    named = [name for name in _SUBSCRIPTIONS if name.lower() in given]
    if len(named) != 1:
        what = f"{' and '.join(named)} contradict each other" if named else "nothing says what to read"
        raise SourceError(f"Set one of subscribe, subscribePattern and assign: {what}.")
    text = given[named[0].lower()]
    if named[0] == "assign":
        return Subscription(partitions=parse_partitions("assign", text))
    if named[0] == "subscribePattern":
        try:
            re.compile(text)
        except re.error as error:
            raise SourceError(f"subscribePattern={text} is no regular expression: {error}.") from None
        if text:
            return Subscription(pattern=text)
    topics = frozenset(each.strip() for each in text.split(",") if each.strip())
    if not topics:
        raise SourceError(f"{named[0]} names no topic: write one, or several with commas between them.")
    return Subscription(topics=topics)


def _starting(given: Mapping[str, str], streaming: bool) -> Bound:
    """As in Spark, a time for all goes before times for each, and these before offsets."""
    if "startingtimestamp" in given:
        return parse_timestamp("startingTimestamp", given["startingtimestamp"])
    if "startingoffsetsbytimestamp" in given:
        return parse_timestamps("startingOffsetsByTimestamp", given["startingoffsetsbytimestamp"])
    bound = parse_offsets("startingOffsets", given.get("startingoffsets", "latest" if streaming else "earliest"))
    if not streaming and LATEST in _values(bound):
        raise SourceError("startingOffsets cannot be latest (-1) in a batch query: it would read nothing.")
    return bound


def _ending(given: Mapping[str, str], streaming: bool) -> Bound:
    for option in _ENDINGS:
        if streaming and option.lower() in given:
            raise SourceError(f"{option} is of no use in a streaming query, which has no end: leave it out.")
    if "endingtimestamp" in given:
        return parse_timestamp("endingTimestamp", given["endingtimestamp"])
    if "endingoffsetsbytimestamp" in given:
        return parse_timestamps("endingOffsetsByTimestamp", given["endingoffsetsbytimestamp"])
    bound = parse_offsets("endingOffsets", given.get("endingoffsets", "latest"))
    if EARLIEST in _values(bound):
        raise SourceError("endingOffsets cannot be earliest (-2): it would read nothing.")
    return bound


def _values(bound: Bound) -> list[int]:
    return [bound.where] if isinstance(bound.where, int) else list(bound.where.values())


def _check_order(starting: Bound, ending: Bound) -> None:
    if isinstance(starting.where, int) and isinstance(ending.where, int):
        pairs = {"every partition": (starting.where, ending.where)} if starting.by_time and ending.by_time else {}
    elif isinstance(starting.where, int) or isinstance(ending.where, int) or starting.by_time != ending.by_time:
        return
    else:
        pairs = {str(each): (start, ending.where.get(each, LATEST)) for each, start in starting.where.items()}
    for what, (start, end) in pairs.items():
        if start > end >= 0:
            raise SourceError(f"{starting.option} lies behind {ending.option} for {what}: {start} is above {end}.")


def _one_of(given: Mapping[str, str], option: str, *choices: str) -> str:
    """The first is the default."""
    value = given.get(option.lower(), choices[0]).strip().lower()
    if value not in choices:
        raise SourceError(f"{option}={value} is neither {' nor '.join(choices)}.")
    return value


def _count(given: Mapping[str, str], option: str, most: int = _MOST) -> int | None:
    text = given.get(option.lower())
    if text is None:
        return None
    if not text.strip().isdecimal() or not 0 < int(text) <= most:
        raise SourceError(f"{option}={text} is no number from 1 to {most}.")
    return int(text)
