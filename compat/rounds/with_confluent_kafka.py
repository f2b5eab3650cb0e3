"""confluent-kafka, which is librdkafka."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import confluent_kafka
import confluent_kafka.admin

from compat.rounds.adapter import Committed, ConsumerSettings, Headers, Received, headers_of
from tests.clients.waiting import PATIENCE_S

SENDS_EMPTY_RECORDS = True
ADMIN_CANNOT: frozenset[str] = frozenset()
ASSIGNORS = ("range", "roundrobin", "cooperative-sticky")
HAS_NEXT_PROTOCOL = True

rd: Any = confluent_kafka
rd_admin: Any = confluent_kafka.admin
"""Its annotations and it do not agree on what is exported, nor on what may be None."""

QUICK_TO_RETURN = {"reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 200, "retry.backoff.ms": 50}
NO_OFFSET = -1001
TRANSACTION_S = 10.0


class Producer:
    def __init__(self, bootstrap: str, codec: str, idempotent: bool, transactional: str | None) -> None:
        self._bootstrap = bootstrap
        self._producer = rd.Producer(
            {
                "bootstrap.servers": bootstrap,
                "compression.type": codec,
                "enable.idempotence": idempotent,
                "linger.ms": 2,
                "message.max.bytes": 2_000_000,
                "delivery.timeout.ms": 60_000,
                **QUICK_TO_RETURN,
                **({} if transactional is None else {"transactional.id": transactional}),
            }
        )
        if transactional is not None:
            self._producer.init_transactions(TRANSACTION_S)
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
        place = len(self._sent)
        self._sent.append(None)
        sent = self._sent

        def delivered(error: Any, message: Any) -> None:
            sent[place] = error or (message.partition(), message.offset())

        more = {} if timestamp is None else {"timestamp": timestamp}
        self._producer.produce(
            topic, value, key, partition, headers=list(headers) or None, on_delivery=delivered, **more
        )
        self._producer.poll(0)

    def flush(self) -> list[tuple[int, int]]:
        left = self._producer.flush(PATIENCE_S)
        assert left == 0, f"{left} records were not delivered in {PATIENCE_S:.0f} s"
        sent, self._sent = self._sent, []
        for each in sent:
            if isinstance(each, rd.KafkaError):
                raise rd.KafkaException(each)
        return sent

    def begin(self) -> None:
        self._producer.begin_transaction()

    def send_offset(self, group: str, topic: str, partition: int, offset: int) -> None:
        """It wants the group as a consumer knows it, and takes one that has not joined."""
        consumer = rd.Consumer({"bootstrap.servers": self._bootstrap, "group.id": group})
        known_as = consumer.consumer_group_metadata()
        consumer.close()
        self._producer.send_offsets_to_transaction([rd.TopicPartition(topic, partition, offset)], known_as)

    def commit(self) -> None:
        self._producer.commit_transaction(TRANSACTION_S)

    def abort(self) -> None:
        self._producer.abort_transaction(TRANSACTION_S)

    def close(self) -> None:
        self._producer.flush(PATIENCE_S)


class Consumer:
    def __init__(self, settings: ConsumerSettings) -> None:
        self._topic = settings.topic
        more: dict[str, Any] = {} if settings.instance is None else {"group.instance.id": settings.instance}
        if settings.next_protocol:
            more["group.protocol"] = "consumer"
        else:
            more |= {
                "partition.assignment.strategy": settings.strategy,
                "session.timeout.ms": settings.session_timeout_ms,
                "heartbeat.interval.ms": min(settings.session_timeout_ms // 4, 500),
            }
        self._consumer = rd.Consumer(
            {
                "bootstrap.servers": settings.bootstrap,
                "client.id": settings.client_id,
                "group.id": settings.group or "nobody",
                "isolation.level": "read_committed" if settings.committed_only else "read_uncommitted",
                "enable.auto.commit": settings.auto_commit_ms is not None,
                "auto.commit.interval.ms": settings.auto_commit_ms or 5_000,
                "auto.offset.reset": "earliest",
                "fetch.wait.max.ms": 50,
                "topic.metadata.refresh.interval.ms": settings.metadata_max_age_ms,
                **QUICK_TO_RETURN,
                **more,
            }
        )

    def _at(self, partition: int, offset: int = NO_OFFSET) -> Any:
        return rd.TopicPartition(self._topic, partition, offset)

    def subscribe(self) -> None:
        self._consumer.subscribe([self._topic])

    def assign(self, *partitions: int) -> None:
        self._consumer.assign([self._at(each) for each in partitions])

    def assignment(self) -> set[int]:
        return {each.partition for each in self._consumer.assignment()}

    def poll(self, timeout_s: float) -> list[Received]:
        found = []
        for message in self._consumer.consume(500, timeout_s):
            if message.error() is not None:
                if message.error().fatal():
                    raise rd.KafkaException(message.error())
                continue
            _, timestamp = message.timestamp()
            found.append(
                Received(
                    message.partition(),
                    message.offset(),
                    timestamp,
                    message.key(),
                    message.value(),
                    headers_of(message.headers()),
                )
            )
        return found

    def commit(self, offsets: Mapping[int, Committed] | None = None) -> None:
        if offsets is None:
            try:
                self._consumer.commit(asynchronous=False)
            except rd.KafkaException as error:
                if error.args[0].code() != rd.KafkaError._NO_OFFSET:  # nothing is new
                    raise
            return
        wanted = [rd.TopicPartition(self._topic, each, one.offset, one.metadata) for each, one in offsets.items()]
        for done in self._consumer.commit(offsets=wanted, asynchronous=False):
            if done.error is not None:
                raise rd.KafkaException(done.error)

    def committed(self, partition: int) -> Committed | None:
        (found,) = self._consumer.committed([self._at(partition)], PATIENCE_S)
        return None if found.offset == NO_OFFSET else Committed(found.offset, found.metadata or "")

    def position(self, partition: int) -> int:
        return int(self._consumer.position([self._at(partition)])[0].offset)

    def seek(self, partition: int, offset: int) -> None:
        self._consumer.seek(self._at(partition, offset))

    def offset_at(self, partition: int, timestamp: int) -> int | None:
        (found,) = self._consumer.offsets_for_times([self._at(partition, timestamp)], PATIENCE_S)
        return None if found.offset == -1 else int(found.offset)

    def bounds(self, partition: int) -> tuple[int, int]:
        first, end = self._consumer.get_watermark_offsets(self._at(partition), PATIENCE_S)
        return first, end

    def pause(self, partition: int) -> None:
        self._consumer.pause([self._at(partition)])

    def resume(self, partition: int) -> None:
        self._consumer.resume([self._at(partition)])

    def close(self) -> None:
        self._consumer.close()


class Admin:
    def __init__(self, bootstrap: str) -> None:
        self._admin = rd_admin.AdminClient({"bootstrap.servers": bootstrap, **QUICK_TO_RETURN})

    def _only(self, futures: Mapping[Any, Any]) -> Any:
        (future,) = futures.values()
        return future.result(PATIENCE_S)

    def brokers(self) -> set[str]:
        found = self._only({0: self._admin.describe_cluster()})
        return {f"{each.host}:{each.port}" for each in found.nodes}

    def create_topic(self, name: str, partitions: int = 1, config: Mapping[str, str] | None = None) -> None:
        self._only(self._admin.create_topics([rd_admin.NewTopic(name, partitions, 1, config=dict(config or {}))]))

    def delete_topic(self, name: str) -> None:
        self._only(self._admin.delete_topics([name]))

    def topics(self) -> set[str]:
        return set(self._admin.list_topics(timeout=PATIENCE_S).topics)

    def partitions(self, topic: str) -> int:
        return len(self._admin.list_topics(topic, timeout=PATIENCE_S).topics[topic].partitions)

    def add_partitions(self, topic: str, total: int) -> None:
        self._only(self._admin.create_partitions([rd_admin.NewPartitions(topic, total)]))

    def config(self, topic: str) -> Mapping[str, str | None]:
        found = self._only(
            self._admin.describe_configs([rd_admin.ConfigResource(rd_admin.ConfigResource.Type.TOPIC, topic)])
        )
        return {name: entry.value for name, entry in found.items()}

    def set_config(self, topic: str, name: str, value: str) -> None:
        resource = rd_admin.ConfigResource(rd_admin.ConfigResource.Type.TOPIC, topic)
        resource.add_incremental_config(
            rd_admin.ConfigEntry(name, value, incremental_operation=rd_admin.AlterConfigOpType.SET)
        )
        self._only(self._admin.incremental_alter_configs([resource]))

    def groups(self) -> set[str]:
        return {each.group_id for each in self._admin.list_consumer_groups().result(PATIENCE_S).valid}

    def group_state(self, group: str) -> tuple[str, int]:
        found = self._only(self._admin.describe_consumer_groups([group]))
        return found.state.name.lower().replace("_", ""), len(found.members)

    def group_offsets(self, group: str) -> dict[int, Committed]:
        found = self._only(self._admin.list_consumer_group_offsets([rd.ConsumerGroupTopicPartitions(group)]))
        return {one.partition: Committed(one.offset, one.metadata or "") for one in found.topic_partitions}

    def set_group_offset(self, group: str, topic: str, partition: int, offset: int) -> None:
        wanted = rd.ConsumerGroupTopicPartitions(group, [rd.TopicPartition(topic, partition, offset)])
        found = self._only(self._admin.alter_consumer_group_offsets([wanted]))
        assert all(one.error is None for one in found.topic_partitions)

    def delete_group(self, group: str) -> None:
        self._only(self._admin.delete_consumer_groups([group]))

    def delete_records(self, topic: str, partition: int, before: int) -> int:
        return int(self._only(self._admin.delete_records([rd.TopicPartition(topic, partition, before)])).low_watermark)

    def close(self) -> None:
        pass


def produce(
    bootstrap: str, *, codec: str = "none", idempotent: bool = True, transactional: str | None = None
) -> Producer:
    return Producer(bootstrap, codec, idempotent, transactional)


def consume(settings: ConsumerSettings) -> Consumer:
    return Consumer(settings)


def administer(bootstrap: str) -> Admin:
    return Admin(bootstrap)
