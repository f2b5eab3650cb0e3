"""A leader whose followers a test plays: broker 1 is a node of ours or Apache Kafka's, the others are these lines."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.batches import iterate_batches
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from barnabas.protocol.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    Feature,
    Listener,
)
from barnabas.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from barnabas.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from barnabas.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
    ReplicaState,
)
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from barnabas.protocol.messages.metadata import MetadataResponsePartition as PartitionMetadata
from barnabas.protocol.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from barnabas.protocol.record import Record, read_records
from barnabas.protocol.schema import Message, Uuid
from tests.kafka.broker import KafkaBroker, free_ports
from tests.kafka.client import RawClient

from .running import RunningNode

A = TypeVar("A", bound=Message)

LEADER = 1
CONSUMER = -1
LATEST_FETCH = 17
PATIENCE_S = 30

# As a broker of 4.3.1 registers.
FEATURES = {
    "metadata.version": (1, 30),
    "kraft.version": (0, 1),
    "group.version": (0, 1),
    "transaction.version": (0, 2),
    "share.version": (0, 1),
    "streams.version": (0, 1),
    "eligible.leader.replicas.version": (0, 1),
}
SETTINGS = {"broker.session.timeout.ms": "600000", "broker.rack": "a"}
"""Nobody has to beat regularly. The controller has to be told of these, too."""


class Led(ABC):
    """The leader, and its controller."""

    def __init__(self) -> None:
        self.client = self.connect()
        self.followers: list[Follower] = []
        self._names = 0

    @abstractmethod
    def connect(self) -> RawClient: ...

    @abstractmethod
    def ask_controller(self, request: Message, version: int, answer: type[A]) -> A: ...

    def close(self) -> None:
        """The leader may then stop without waiting for brokers that hear of nothing."""
        for follower in self.followers:
            if not follower.is_fenced:
                follower.beat(want_fence=True)
        self.client.__exit__(None, None, None)

    def new_topic(self, *replicas: int, **configs: str) -> Topic:
        self._names += 1
        name = f"orders-{self._names}"
        topic = CreatableTopic(
            name=name,
            num_partitions=-1,
            replication_factor=-1,
            assignments=[CreatableReplicaAssignment(partition_index=0, broker_ids=list(replicas))],
            configs=[CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()],
        )
        answer = self.client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 7, CreateTopicsResponse)
        (created,) = answer.topics
        assert created.error_code == 0, (ErrorCode(created.error_code), created.error_message)
        made = Topic(self, name, created.topic_id)
        until(lambda: made.metadata().leader_id == LEADER and made.fetch().startswith("nothing"))
        return made


class OurLeader(Led):
    def __init__(self, node: RunningNode) -> None:
        self._node = node
        super().__init__()

    def connect(self) -> RawClient:
        return self._node.client()

    def ask_controller(self, request: Message, version: int, answer: type[A]) -> A:
        return self._node.carry_out(lambda inside: inside.controller_link.ask(request, answer))


class KafkasLeader(Led):
    def __init__(self, broker: KafkaBroker) -> None:
        self._broker = broker
        super().__init__()
        self._controller = RawClient(broker.host, broker.controller_port)

    def connect(self) -> RawClient:
        return RawClient(self._broker.host, self._broker.port)

    def ask_controller(self, request: Message, version: int, answer: type[A]) -> A:
        return self._controller.ask(request, version, answer)

    def close(self) -> None:
        super().close()
        self._controller.__exit__(None, None, None)


class Follower:
    """A broker that is nothing but what it says."""

    def __init__(self, led: Led, number: int, *, rack: str | None = None, is_fenced: bool = False) -> None:
        self.number = number
        self._led = led
        self._rack = rack
        cluster_id = led.client.ask(DescribeClusterRequest(), 1, DescribeClusterResponse).cluster_id
        self._cluster_id = cluster_id
        self.is_fenced = True
        led.followers.append(self)
        self._register()
        if not is_fenced:
            self.beat()
            until(lambda: self.number in self._known())

    def _register(self) -> None:
        request = BrokerRegistrationRequest(
            broker_id=self.number,
            cluster_id=self._cluster_id,
            incarnation_id=Uuid(bytes([self.number, 100] * 8)),
            listeners=[Listener(name="PLAINTEXT", host="127.0.0.1", port=free_ports(1)[0], security_protocol=0)],
            features=[
                Feature(name=name, min_supported_version=low, max_supported_version=high)
                for name, (low, high) in FEATURES.items()
            ],
            rack=self._rack,
            log_dirs=[Uuid(bytes([self.number, 200] * 8))],
        )
        answer = self._led.ask_controller(request, 4, BrokerRegistrationResponse)
        assert answer.error_code == 0, ErrorCode(answer.error_code)
        self.epoch = answer.broker_epoch

    def beat(self, *, want_fence: bool = False) -> None:
        request = BrokerHeartbeatRequest(
            broker_id=self.number,
            broker_epoch=self.epoch,
            current_metadata_offset=self.epoch,
            want_fence=want_fence,
        )
        answer = self._led.ask_controller(request, 1, BrokerHeartbeatResponse)
        assert (answer.error_code, answer.is_fenced) == (0, want_fence)
        self.is_fenced = want_fence

    def _known(self) -> set[int]:
        answer = self._led.client.ask(MetadataRequest(topics=[]), 12, MetadataResponse)
        return {broker.node_id for broker in answer.brokers}


class Topic:
    """Of one partition."""

    def __init__(self, led: Led, name: str, topic_id: Uuid) -> None:
        self._led = led
        self.name = name
        self.id = topic_id

    def metadata(self) -> PartitionMetadata:
        request = MetadataRequest(topics=[MetadataRequestTopic(name=self.name)])
        (topic,) = self._led.client.ask(request, 12, MetadataResponse).topics
        return topic.partitions[0] if topic.partitions else PartitionMetadata(leader_id=-1)

    def in_sync(self) -> list[int]:
        return sorted(self.metadata().isr_nodes)

    def wait_for_in_sync(self, *wanted: int) -> None:
        until(lambda: self.in_sync() == list(wanted))

    def produce(self, *values: bytes, acks: int = 1, timeout_ms: int = 10_000) -> str:
        with self._led.connect() as client:
            self.send(client, *values, acks=acks, timeout_ms=timeout_ms)
            return acknowledged(client)

    def send(self, client: RawClient, *values: bytes, acks: int = -1, timeout_ms: int = 10_000) -> None:
        """What becomes of it is known by `acknowledged`."""
        records = build_batch([Record(value=value, timestamp=time.time_ns() // 1_000_000) for value in values])
        data = [TopicProduceData(name=self.name, partition_data=[PartitionProduceData(index=0, records=records)])]
        client.send(ProduceRequest(acks=acks, timeout_ms=timeout_ms, topic_data=data), 12)

    def fetch(
        self,
        follower: Follower | int = CONSUMER,
        offset: int = 0,
        *,
        client: RawClient | None = None,
        version: int = LATEST_FETCH,
        **more: Any,
    ) -> str:
        """As that follower, or a consumer; what was answered, in a line. More is said to `fetch_request`."""
        request = self.fetch_request(follower, offset, version=version, **more)
        return fetched((client or self._led.client).ask(request, version, FetchResponse))

    def fetch_request(
        self,
        follower: Follower | int,
        offset: int,
        *,
        version: int = LATEST_FETCH,
        broker_epoch: int | None = None,
        leader_epoch: int = 0,
        last_epoch: int = -1,
        log_start: int = 0,
        max_wait_ms: int = 0,
        min_bytes: int = 1,
        rack: str = "",
        session: tuple[int, int] = (0, -1),
    ) -> FetchRequest:
        number = follower if isinstance(follower, int) else follower.number
        epoch = -1 if isinstance(follower, int) else follower.epoch
        partition = FetchPartition(
            partition=0,
            current_leader_epoch=leader_epoch,
            fetch_offset=offset,
            last_fetched_epoch=last_epoch,
            log_start_offset=log_start if number >= 0 else -1,
            partition_max_bytes=1 << 20,
        )
        request = FetchRequest(
            max_wait_ms=max_wait_ms,
            min_bytes=min_bytes,
            topics=[FetchTopic(topic=self.name, topic_id=self.id, partitions=[partition])],
            session_id=session[0],
            session_epoch=session[1],
            rack_id=rack,
        )
        if version < 13:
            request.topics[0].topic_id = Uuid.ZERO
        if version < 15:
            request.replica_id = number
        elif number >= 0:
            epoch = epoch if broker_epoch is None else broker_epoch
            request.replica_state = ReplicaState(replica_id=number, replica_epoch=epoch)
        return request


def fetched(answer: FetchResponse) -> str:
    if answer.error_code:
        return ErrorCode(answer.error_code).name
    if not answer.responses:
        return "no news"
    (topic,) = answer.responses
    (data,) = topic.partitions
    return _told(data)


def _told(data: PartitionData) -> str:
    if data.error_code:
        return ErrorCode(data.error_code).name
    records = [
        (record.value or b"").decode()
        for batch in iterate_batches(data.records or b"")  # type: ignore[arg-type] # it came over a socket
        for record in read_records(batch)
    ]
    told = f"{', '.join(records) or 'nothing'}; counts to {data.high_watermark}, begins at {data.log_start_offset}"
    if data.diverging_epoch is not None and data.diverging_epoch.epoch >= 0:
        told += f", parts from epoch {data.diverging_epoch.epoch} at {data.diverging_epoch.end_offset}"
    if data.preferred_read_replica >= 0:
        told += f", read from {data.preferred_read_replica}"
    return told


def acknowledged(client: RawClient) -> str:
    (answer,) = client.receive(ProduceResponse).responses[0].partition_responses
    code = ErrorCode(answer.error_code).name
    return f"{code} from {answer.base_offset}"


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
