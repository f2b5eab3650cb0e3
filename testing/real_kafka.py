"""A cluster that runs already, asked as a test asks its `Broker`: what `kafka` is with `--kafka-bootstrap`.

It has what can be asked of any Kafka broker. What only a broker of the test's own does (faults, its clock, kill) skips
the test that wants it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, NoReturn, Self

import pytest

from barnabas.client.address import parse_bootstrap
from barnabas.client.cluster import Cluster, Partition, check
from barnabas.client.committed import committed_offsets
from barnabas.client.groups import Group as ClientGroup
from barnabas.client.groups import describe_consumer_groups, list_groups
from barnabas.client.properties import ClientProperties
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from barnabas.testing.broker import Broker
from barnabas.testing.errors import NotInTime, UnknownTopic, says_all
from barnabas.testing.groups import Group, GroupMember
from barnabas.testing.reading import READ_COMMITTED
from barnabas.testing.record import Record
from barnabas.testing.settings import as_text
from barnabas.testing.topics import Headers, new_record, number_of_partitions
from barnabas.testing.waiting import (
    check_waiting,
    counted,
    group_is_not_settled,
    is_settled,
    offset_is_not_committed,
    shown,
)

__all__ = ["RealKafka"]

__tracebackhide__ = says_all

_TIMEOUT_S = 30.0
_PATIENCE_S = 15.0
"""Longer than a broker in this process is given."""
_PAUSE_S = 0.05


class RealKafka:
    def __init__(self, bootstrap_servers: str) -> None:
        self.bootstrap_servers = bootstrap_servers
        self._cluster = Cluster(parse_bootstrap(bootstrap_servers), ClientProperties(), _TIMEOUT_S)
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<RealKafka at {self.bootstrap_servers}>"

    def __getattr__(self, name: str) -> NoReturn:
        if name == "clock" or hasattr(Broker, name):
            pytest.skip(f"kafka.{name} needs a broker of the test's own: --kafka-bootstrap is {self.bootstrap_servers}")
        raise AttributeError(name)

    def close(self) -> None:
        self._cluster.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Topics

    def topics(self) -> dict[str, int]:
        with self._lock:
            found = self._cluster.topics()
        return {name: len(topic.partitions) for name, topic in sorted(found.items()) if not topic.is_internal}

    def create_topic(
        self, name: str, partitions: int | None = None, config: Mapping[str, object] | None = None
    ) -> None:
        configs = [CreatableTopicConfig(name=key, value=as_text(value)) for key, value in (config or {}).items()]
        asked = number_of_partitions(partitions)
        topic = CreatableTopic(name=name, num_partitions=asked, replication_factor=-1, configs=configs)
        request = CreateTopicsRequest(topics=[topic], timeout_ms=int(_TIMEOUT_S * 1000))
        with self._lock:
            for one in self._cluster.ask_controller(request, CreateTopicsResponse).topics:
                check(one.error_code, one.error_message)
                # Brokers learn of it a moment later than the controller.
                made = [Partition(name, number) for number in range(max(asked, one.num_partitions))]
                self._cluster.retry(partial(self._cluster.by_leader, made))

    def delete_topic(self, name: str) -> None:
        request = DeleteTopicsRequest(topics=[DeleteTopicState(name=name)], timeout_ms=int(_TIMEOUT_S * 1000))
        with self._lock:
            for one in self._cluster.ask_controller(request, DeleteTopicsResponse).responses:
                check(one.error_code, one.error_message)

    # Records

    def produce(
        self,
        topic: str,
        value: object,
        *,
        key: object = None,
        headers: Headers = (),
        partition: int | None = None,
        timestamp: int | None = None,
    ) -> Record:
        from kafka import KafkaProducer

        new = new_record(value, key, headers, timestamp)
        producer = KafkaProducer(bootstrap_servers=self.bootstrap_servers, acks="all")
        try:
            sent = producer.send(topic, new.value, new.key, list(new.headers), partition, timestamp).get(_TIMEOUT_S)
        finally:
            producer.close()
        return Record(topic, sent.partition, sent.offset, sent.timestamp, new.key, new.value, tuple(new.headers))

    def records(self, topic: str, partition: int | None = None, *, isolation: str = READ_COMMITTED) -> list[Record]:
        with self._reader(topic, partition, isolation) as reader:
            return reader.read()

    def wait_for(
        self,
        topic: str,
        count: int = 1,
        timeout: float = _PATIENCE_S,
        *,
        partition: int | None = None,
        matching: Callable[[Record], object] | None = None,
        isolation: str = READ_COMMITTED,
    ) -> list[Record]:
        check_waiting(count, timeout)
        deadline = time.monotonic() + timeout
        found: list[Record] = []
        instead, is_last = "", False
        while not is_last:
            try:
                with self._reader(topic, partition, isolation) as reader:
                    while not is_last:
                        is_last = time.monotonic() >= deadline
                        there = reader.read()
                        found = [one for one in there if matching is None or matching(one)]
                        if len(found) >= count:
                            return found
                        instead = shown(there)
                        time.sleep(_PAUSE_S)
            except UnknownTopic as unknown:
                is_last = time.monotonic() >= deadline
                instead = str(unknown)
                time.sleep(_PAUSE_S)
        wanted = "record" if matching is None else "matching record"
        raise NotInTime(f"{topic} has {counted(len(found), wanted)} after {timeout:g} s, not {count}: {instead}")

    @contextmanager
    def _reader(self, topic: str, partition: int | None, isolation: str) -> Iterator[_Reader]:
        from kafka import KafkaConsumer

        topics = self.topics()
        if topic not in topics:
            raise UnknownTopic(f"there is no topic {topic}; there are: {', '.join(topics) or 'none'}")
        if partition is not None and partition not in range(topics[topic]):
            raise UnknownTopic(f"{topic} has no partition {partition}, but {topics[topic]} in all")
        consumer = KafkaConsumer(
            bootstrap_servers=self.bootstrap_servers,
            isolation_level=isolation,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
        )
        try:
            yield _Reader(consumer, topic, range(topics[topic]) if partition is None else [partition])
        finally:
            consumer.close()

    # Groups

    def groups(self) -> dict[str, Group]:
        with self._lock:
            names = [one.name for one in list_groups(self._cluster)]
            described = describe_consumer_groups(self._cluster, names)
        # One that is of other things than consumers, or is gone meanwhile, is an error.
        return {name: _group(one) for name, one in described.items() if not isinstance(one, KafkaError)}

    def wait_for_group(self, group: str, members: int = 1, timeout: float = _PATIENCE_S) -> Group:
        check_waiting(1, timeout)
        deadline = time.monotonic() + timeout
        while (found := (groups := self.groups()).get(group)) is None or not is_settled(found, members):
            if time.monotonic() > deadline:
                raise NotInTime(group_is_not_settled(groups, group, members, timeout))
            time.sleep(_PAUSE_S)
        return found

    def group_offsets(self, group: str) -> dict[tuple[str, int], int]:
        with self._lock:
            found = committed_offsets(self._cluster, [group])[group]
        if isinstance(found, KafkaError):
            raise found
        return {(partition.topic, partition.number): one.offset for partition, one in found.items()}

    def wait_for_offset(
        self, group: str, topic: str, offset: int, *, partition: int = 0, timeout: float = _PATIENCE_S
    ) -> dict[tuple[str, int], int]:
        check_waiting(1, timeout)
        deadline = time.monotonic() + timeout
        while (offsets := self.group_offsets(group)).get((topic, partition), -1) < offset:
            if time.monotonic() > deadline:
                raise NotInTime(offset_is_not_committed(offsets, group, topic, partition, offset, timeout))
            time.sleep(_PAUSE_S)
        return offsets


def _group(told: ClientGroup) -> Group:
    members = tuple(
        GroupMember(
            one.member_id,
            one.instance_id,
            one.client_id,
            one.host.removeprefix("/"),
            tuple(sorted((partition.topic, partition.number) for partition in one.assigned)),
        )
        for one in told.members
    )
    return Group(told.name, told.state, told.assignor, members)


class _Reader:
    """A consumer that is given some partitions, and remembers what it has read."""

    def __init__(self, consumer: Any, topic: str, partitions: Iterable[int]) -> None:
        from kafka import TopicPartition

        self._consumer = consumer
        self._partitions = [TopicPartition(topic, number) for number in partitions]
        self._records: list[Record] = []
        consumer.assign(self._partitions)
        consumer.seek_to_beginning(*self._partitions)

    def read(self) -> list[Record]:
        """All that is there by now, in the order of partitions and offsets."""
        ends = self._consumer.end_offsets(self._partitions)
        deadline = time.monotonic() + _TIMEOUT_S
        while any(self._consumer.position(one) < ends[one] for one in self._partitions):
            if time.monotonic() > deadline:
                raise NotInTime(f"{self._partitions} could not be read up to {ends} within {_TIMEOUT_S:g} s")
            for some in self._consumer.poll(timeout_ms=int(_PAUSE_S * 1000)).values():
                self._records += [
                    Record(one.topic, one.partition, one.offset, one.timestamp, one.key, one.value, tuple(one.headers))
                    for one in some
                ]
        return sorted(self._records, key=lambda one: (one.partition, one.offset))
