"""aiokafka: asyncio, so each of these has an event loop in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.structs import OffsetAndMetadata

from compat.rounds.adapter import Committed, ConsumerSettings, Headers, Received, headers_of
from tests.clients.waiting import PATIENCE_S

ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
}
SENDS_EMPTY_RECORDS = False
HAS_NEXT_PROTOCOL = False
ADMIN_CANNOT = {"set_group_offset": "alter_consumer_group_offsets", "delete_group": "delete_consumer_groups"}
"""And what it would call them."""

TRANSACTION_S = 10.0

T = TypeVar("T")


class Loop:
    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        # A test that fails closes nothing, and must not keep the process alive.
        self._thread = threading.Thread(target=self._loop.run_forever, name="aiokafka", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE_S * 2)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE_S)
        self._loop.close()


async def _call(function: Any, *arguments: Any) -> Any:
    """A plain function, in the loop's thread."""
    return function(*arguments)


class Producer:
    def __init__(self, bootstrap: str, codec: str, idempotent: bool, transactional: str | None) -> None:
        self._loop = Loop()
        self._sent: list[Any] = []
        self._loop.run(self._start(bootstrap, codec, idempotent, transactional))

    async def _start(self, bootstrap: str, codec: str, idempotent: bool, transactional: str | None) -> None:
        self._producer = AIOKafkaProducer(
            bootstrap_servers=bootstrap,
            compression_type=None if codec == "none" else codec,
            enable_idempotence=idempotent,
            linger_ms=2,
            max_request_size=2_000_000,
            retry_backoff_ms=50,
            transactional_id=transactional,
        )
        # It asks for as long as it is let.
        await asyncio.wait_for(self._producer.start(), None if transactional is None else TRANSACTION_S)

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
        sending = self._producer.send(
            topic, value, key, partition=partition, timestamp_ms=timestamp, headers=list(headers)
        )
        self._sent.append(self._loop.run(sending))

    def flush(self) -> list[tuple[int, int]]:
        sent, self._sent = self._sent, []
        done = self._loop.run(_all(sent))
        return [(each.partition, each.offset) for each in done]

    def begin(self) -> None:
        self._loop.run(self._producer.begin_transaction())

    def send_offset(self, group: str, topic: str, partition: int, offset: int) -> None:
        self._loop.run(self._producer.send_offsets_to_transaction({TopicPartition(topic, partition): offset}, group))

    def commit(self) -> None:
        self._loop.run(self._producer.commit_transaction())

    def abort(self) -> None:
        self._loop.run(self._producer.abort_transaction())

    def close(self) -> None:
        self._loop.run(self._producer.stop())
        self._loop.close()


async def _all(futures: list[Any]) -> list[Any]:
    return await asyncio.gather(*futures)


class Consumer:
    def __init__(self, settings: ConsumerSettings) -> None:
        self._topic = settings.topic
        self._loop = Loop()
        self._loop.run(self._start(settings))

    async def _start(self, settings: ConsumerSettings) -> None:
        self._consumer = AIOKafkaConsumer(
            bootstrap_servers=settings.bootstrap,
            client_id=settings.client_id,
            group_id=settings.group,
            group_instance_id=settings.instance,
            partition_assignment_strategy=(ASSIGNORS[settings.strategy],),
            session_timeout_ms=settings.session_timeout_ms,
            heartbeat_interval_ms=min(settings.session_timeout_ms // 4, 500),
            enable_auto_commit=settings.auto_commit_ms is not None,
            auto_commit_interval_ms=settings.auto_commit_ms or 5_000,
            auto_offset_reset="earliest",
            fetch_max_wait_ms=50,
            metadata_max_age_ms=settings.metadata_max_age_ms,
            isolation_level="read_committed" if settings.committed_only else "read_uncommitted",
            retry_backoff_ms=50,
        )
        await self._consumer.start()

    def _at(self, partition: int) -> TopicPartition:
        return TopicPartition(self._topic, partition)

    def subscribe(self) -> None:
        self._loop.run(_call(self._consumer.subscribe, [self._topic]))

    def assign(self, *partitions: int) -> None:
        self._loop.run(_call(self._consumer.assign, [self._at(each) for each in partitions]))

    def assignment(self) -> set[int]:
        return {each.partition for each in self._consumer.assignment()}

    def poll(self, timeout_s: float) -> list[Received]:
        found = self._loop.run(self._consumer.getmany(timeout_ms=int(timeout_s * 1000)))
        return [
            Received(one.partition, one.offset, one.timestamp, one.key, one.value, headers_of(one.headers))
            for records in found.values()
            for one in records
        ]

    def commit(self, offsets: Mapping[int, Committed] | None = None) -> None:
        if offsets is None:
            self._loop.run(self._consumer.commit())
            return
        wanted = {self._at(each): OffsetAndMetadata(one.offset, one.metadata) for each, one in offsets.items()}
        self._loop.run(self._consumer.commit(wanted))

    def committed(self, partition: int) -> Committed | None:
        """It gives the offset and keeps the metadata to itself."""
        found = self._loop.run(self._consumer._coordinator.fetch_committed_offsets([self._at(partition)]))
        one = found.get(self._at(partition))
        return None if one is None or one.offset < 0 else Committed(one.offset, one.metadata)

    def position(self, partition: int) -> int:
        return int(self._loop.run(self._consumer.position(self._at(partition))))

    def seek(self, partition: int, offset: int) -> None:
        self._loop.run(_call(self._consumer.seek, self._at(partition), offset))

    def offset_at(self, partition: int, timestamp: int) -> int | None:
        found = self._loop.run(self._consumer.offsets_for_times({self._at(partition): timestamp}))
        one = found[self._at(partition)]
        return None if one is None else one.offset

    def bounds(self, partition: int) -> tuple[int, int]:
        at = self._at(partition)
        first = self._loop.run(self._consumer.beginning_offsets([at]))
        end = self._loop.run(self._consumer.end_offsets([at]))
        return first[at], end[at]

    def pause(self, partition: int) -> None:
        self._loop.run(_call(self._consumer.pause, self._at(partition)))

    def resume(self, partition: int) -> None:
        self._loop.run(_call(self._consumer.resume, self._at(partition)))

    def close(self) -> None:
        self._loop.run(self._consumer.stop())
        self._loop.close()


class Admin:
    def __init__(self, bootstrap: str) -> None:
        self._loop = Loop()
        self._loop.run(self._start(bootstrap))

    async def _start(self, bootstrap: str) -> None:
        self._admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
        await self._admin.start()

    def brokers(self) -> set[str]:
        found = self._loop.run(self._admin.describe_cluster())
        return {f"{each['host']}:{each['port']}" for each in found["brokers"]}

    def create_topic(self, name: str, partitions: int = 1, config: Mapping[str, str] | None = None) -> None:
        topic = NewTopic(name, partitions, 1, topic_configs=dict(config or {}))
        answer = self._loop.run(self._admin.create_topics([topic]))
        assert [error[1] for error in answer.topic_errors] == [0], answer

    def delete_topic(self, name: str) -> None:
        answer = self._loop.run(self._admin.delete_topics([name]))
        assert [code for _, code in answer.topic_error_codes] == [0], answer

    def topics(self) -> set[str]:
        return set(self._loop.run(self._admin.list_topics()))

    def partitions(self, topic: str) -> int:
        (found,) = self._loop.run(self._admin.describe_topics([topic]))
        return len(found["partitions"])

    def add_partitions(self, topic: str, total: int) -> None:
        answer = self._loop.run(self._admin.create_partitions({topic: NewPartitions(total)}))
        assert [error[1] for error in answer.topic_errors] == [0], answer

    def config(self, topic: str) -> Mapping[str, str | None]:
        (answer,) = self._loop.run(self._admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)]))
        ((code, message, _type, _name, entries),) = answer.resources
        assert code == 0, message
        return {entry[0]: entry[1] for entry in entries}

    def set_config(self, topic: str, name: str, value: str) -> None:
        """It has the old AlterConfigs only, which sets everything anew."""
        resource = ConfigResource(ConfigResourceType.TOPIC, topic, configs={name: value})
        for answer in self._loop.run(self._admin.alter_configs([resource])):
            assert [each[0] for each in answer.resources] == [0], answer

    def groups(self) -> set[str]:
        return {name for name, _ in self._loop.run(self._admin.list_consumer_groups())}

    def group_state(self, group: str) -> tuple[str, int]:
        (answer,) = self._loop.run(self._admin.describe_consumer_groups([group]))
        ((code, _group, state, _kind, _protocol, members, *_),) = answer.groups
        assert code == 0, answer
        return state.lower(), len(members)

    def group_offsets(self, group: str) -> dict[int, Committed]:
        found = self._loop.run(self._admin.list_consumer_group_offsets(group))
        return {at.partition: Committed(one.offset, one.metadata) for at, one in found.items()}

    def set_group_offset(self, group: str, topic: str, partition: int, offset: int) -> None:
        raise NotImplementedError

    def delete_group(self, group: str) -> None:
        raise NotImplementedError

    def delete_records(self, topic: str, partition: int, before: int) -> int:
        at = TopicPartition(topic, partition)
        found = self._loop.run(self._admin.delete_records({at: RecordsToDelete(before)}))
        return int(found[at])

    def close(self) -> None:
        self._loop.run(self._admin.close())
        self._loop.close()


def produce(
    bootstrap: str, *, codec: str = "none", idempotent: bool = True, transactional: str | None = None
) -> Producer:
    return Producer(bootstrap, codec, idempotent, transactional)


def consume(settings: ConsumerSettings) -> Consumer:
    return Consumer(settings)


def administer(bootstrap: str) -> Admin:
    return Admin(bootstrap)
