"""kafka-python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, NewTopic
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from kafka.errors import KafkaError

from compat.rounds.adapter import Committed, ConsumerSettings, Headers, Received, headers_of
from tests.clients.waiting import PATIENCE_S

ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}
SENDS_EMPTY_RECORDS = False
ADMIN_CANNOT: frozenset[str] = frozenset()
HAS_NEXT_PROTOCOL = False


class Producer:
    def __init__(self, bootstrap: str, codec: str, idempotent: bool, transactional: str | None) -> None:
        self._producer = KafkaProducer(
            bootstrap_servers=bootstrap,
            compression_type=None if codec == "none" else codec,
            enable_idempotence=idempotent,
            linger_ms=2,
            max_request_size=2_000_000,
            delivery_timeout_ms=60_000,
            request_timeout_ms=10_000,
            retry_backoff_ms=50,
            reconnect_backoff_ms=20,
            reconnect_backoff_max_ms=200,
            **({} if transactional is None else {"transactional_id": transactional, "max_block_ms": 10_000}),
        )
        if transactional is not None:
            self._producer.init_transactions()
        self._sent: list[Any] = []

    def send(
        self,
        topic: str,
        value: bytes | None,
        *,
        key: bytes | None = None,
        partition: int = 0,
        headers: Headers = (),
        timestamp: int | None = None,
    ) -> None:
        future = self._producer.send(
            topic, value, key, headers=list(headers), partition=partition, timestamp_ms=timestamp
        )
        self._sent.append(future)

    def flush(self) -> list[tuple[int, int]]:
        self._producer.flush(PATIENCE_S)
        sent, self._sent = self._sent, []
        done = [future.get(PATIENCE_S) for future in sent]
        return [(each.partition, each.offset) for each in done]

    def begin(self) -> None:
        self._producer.begin_transaction()

    def send_offset(self, group: str, topic: str, partition: int, offset: int) -> None:
        offsets = {TopicPartition(topic, partition): OffsetAndMetadata(offset, "", -1)}
        self._producer.send_offsets_to_transaction(offsets, group)

    def commit(self) -> None:
        self._producer.commit_transaction()

    def abort(self) -> None:
        self._producer.abort_transaction()

    def close(self) -> None:
        self._producer.close(PATIENCE_S)


class Consumer:
    def __init__(self, settings: ConsumerSettings) -> None:
        self._topic = settings.topic
        self._consumer = KafkaConsumer(
            bootstrap_servers=settings.bootstrap,
            client_id=settings.client_id,
            group_id=settings.group,
            group_instance_id=settings.instance,
            partition_assignment_strategy=[ASSIGNORS[settings.strategy]],
            session_timeout_ms=settings.session_timeout_ms,
            heartbeat_interval_ms=min(settings.session_timeout_ms // 4, 500),
            enable_auto_commit=settings.auto_commit_ms is not None,
            auto_commit_interval_ms=settings.auto_commit_ms or 5_000,
            auto_offset_reset="earliest",
            fetch_max_wait_ms=50,
            metadata_max_age_ms=settings.metadata_max_age_ms,
            isolation_level="read_committed" if settings.committed_only else "read_uncommitted",
            retry_backoff_ms=50,
            reconnect_backoff_ms=20,
            reconnect_backoff_max_ms=200,
        )

    def _at(self, partition: int) -> TopicPartition:
        return TopicPartition(self._topic, partition)

    def subscribe(self) -> None:
        # A leader whose metadata changes while it assigns hangs in 3.0.12, beside Apache Kafka too, once in 25 times.
        self._consumer.partitions_for_topic(self._topic)
        self._consumer.subscribe([self._topic])

    def assign(self, *partitions: int) -> None:
        self._consumer.assign([self._at(each) for each in partitions])

    def assignment(self) -> set[int]:
        return {each.partition for each in self._consumer.assignment()}

    def poll(self, timeout_s: float) -> list[Received]:
        try:
            found = self._consumer.poll(timeout_ms=int(timeout_s * 1000))
        except KafkaError as error:
            # While the broker is away its poll raises, and means that one should poll again.
            if not error.retriable:
                raise
            return []
        return [
            Received(one.partition, one.offset, one.timestamp, one.key, one.value, headers_of(one.headers))
            for records in found.values()
            for one in records
        ]

    def commit(self, offsets: Mapping[int, Committed] | None = None) -> None:
        if offsets is None:
            self._consumer.commit()
            return
        self._consumer.commit(
            {self._at(number): OffsetAndMetadata(one.offset, one.metadata, -1) for number, one in offsets.items()}
        )

    def committed(self, partition: int) -> Committed | None:
        found = self._consumer.committed(self._at(partition), metadata=True)
        return None if found is None else Committed(found.offset, found.metadata)

    def position(self, partition: int) -> int:
        return int(self._consumer.position(self._at(partition)))

    def seek(self, partition: int, offset: int) -> None:
        self._consumer.seek(self._at(partition), offset)

    def offset_at(self, partition: int, timestamp: int) -> int | None:
        found = self._consumer.offsets_for_times({self._at(partition): timestamp})[self._at(partition)]
        return None if found is None else found.offset

    def bounds(self, partition: int) -> tuple[int, int]:
        at = self._at(partition)
        return self._consumer.beginning_offsets([at])[at], self._consumer.end_offsets([at])[at]

    def pause(self, partition: int) -> None:
        self._consumer.pause(self._at(partition))

    def resume(self, partition: int) -> None:
        self._consumer.resume(self._at(partition))

    def close(self) -> None:
        self._consumer.close()


class Admin:
    def __init__(self, bootstrap: str) -> None:
        self._admin = KafkaAdminClient(bootstrap_servers=bootstrap)

    def brokers(self) -> set[str]:
        return {f"{each['host']}:{each['port']}" for each in self._admin.describe_cluster()["brokers"]}

    def create_topic(self, name: str, partitions: int = 1, config: Mapping[str, str] | None = None) -> None:
        topic = NewTopic(name, partitions, 1, topic_configs=dict(config or {}))
        self._admin.create_topics([topic])

    def delete_topic(self, name: str) -> None:
        self._admin.delete_topics([name])

    def topics(self) -> set[str]:
        return set(self._admin.list_topics())

    def partitions(self, topic: str) -> int:
        (found,) = self._admin.describe_topics([topic])
        return len(found["partitions"])

    def add_partitions(self, topic: str, total: int) -> None:
        self._admin.create_partitions({topic: total})

    def config(self, topic: str) -> Mapping[str, str | None]:
        found = self._admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)], config_filter="all")
        return _config_values(found, topic)

    def set_config(self, topic: str, name: str, value: str) -> None:
        self._admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, configs={name: value})])

    def groups(self) -> set[str]:
        return {_group_id(each) for each in self._admin.list_groups()}

    def group_state(self, group: str) -> tuple[str, int]:
        found = self._admin.describe_groups([group])[group]
        return found["group_state"].lower(), len(found["members"])

    def group_offsets(self, group: str) -> dict[int, Committed]:
        found = self._admin.list_group_offsets({group: None})[group]
        return {at.partition: Committed(one.offset, one.metadata) for at, one in found.items()}

    def set_group_offset(self, group: str, topic: str, partition: int, offset: int) -> None:
        self._admin.alter_group_offsets(group, {TopicPartition(topic, partition): OffsetAndMetadata(offset, "", -1)})

    def delete_group(self, group: str) -> None:
        self._admin.delete_groups([group])

    def delete_records(self, topic: str, partition: int, before: int) -> int:
        at = TopicPartition(topic, partition)
        return int(self._admin.delete_records({at: before})[at]["low_watermark"])

    def close(self) -> None:
        self._admin.close()


def _group_id(listed: Any) -> str:
    return str(listed["group_id"] if isinstance(listed, dict) else listed[0])


def _config_values(found: Any, topic: str) -> dict[str, str | None]:
    described = found[ConfigResourceType.TOPIC][topic] if ConfigResourceType.TOPIC in found else found["topic"][topic]
    return {name: one["value"] if isinstance(one, dict) else one for name, one in described.items()}


def produce(
    bootstrap: str, *, codec: str = "none", idempotent: bool = True, transactional: str | None = None
) -> Producer:
    return Producer(bootstrap, codec, idempotent, transactional)


def consume(settings: ConsumerSettings) -> Consumer:
    return Consumer(settings)


def administer(bootstrap: str) -> Admin:
    return Admin(bootstrap)
