"""The cluster behind a few bootstrap addresses: its brokers, who leads what, and requests to the right one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple, Self, TypeVar

from barnabas.client.address import Address
from barnabas.client.connection import Answer, Connection
from barnabas.client.deadline import Deadline
from barnabas.client.errors import CannotReach, ClientError, NoAnswer, NotKafka, NotOffered, code_of, name_of
from barnabas.client.properties import ClientProperties
from barnabas.protocol.apis import APIS, Api
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from barnabas.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)
from barnabas.protocol.schema import Message

__all__ = ["BROKERS", "CONTROLLERS", "GROUP", "TRANSACTION", "Cluster", "Node", "Partition", "check"]

Result = TypeVar("Result")

GROUP, TRANSACTION = 0, 1
"""What a coordinator is for."""

BROKERS, CONTROLLERS = 1, 2
"""What DescribeCluster is asked for."""

_CONNECT_S = 10.0
"""For one connection, of whatever the whole may take."""
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 1.0
FIND_COORDINATOR = APIS[10]
_LAST_VERSION_WITH_ONE_KEY = 3


class Node(NamedTuple):
    node_id: int
    address: Address
    rack: str | None


class Partition(NamedTuple):
    topic: str
    number: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.number}"


def check(code: int, message: str | None = None) -> None:
    """KafkaError unless the code is NONE."""
    if code:
        known = code_of(code)
        raise KafkaError(known, message or ("" if known == code else name_of(code)))


class Cluster:
    """Not for several threads at once. `timeout_s` is for each question as a whole, tries and pauses included.

    `of_controllers`: the bootstrap addresses are those of KRaft controllers, and so are all nodes here."""

    def __init__(
        self,
        bootstrap: Sequence[Address],
        properties: ClientProperties,
        timeout_s: float,
        *,
        of_controllers: bool = False,
    ) -> None:
        self.bootstrap = list(bootstrap)
        self.properties = properties
        self.timeout_s = timeout_s
        self.of_controllers = of_controllers
        self._any: Connection | None = None
        self._connections: dict[int, Connection] = {}
        self._nodes: dict[int, Node] = {}
        self._controller_id = -1
        self._leaders: dict[Partition, int] = {}
        self._coordinators: dict[tuple[int, str], int] = {}

    def close(self) -> None:
        for connection in [self._any, *self._connections.values()]:
            if connection is not None:
                connection.close()
        self._any = None
        self._connections.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Asking

    def ask(self, request: Message, answer: type[Answer], *, at_most: int | None = None) -> Answer:
        """Any broker."""
        return self._ask(lambda deadline: self._any_connection(deadline), request, answer, at_most)

    def ask_node(self, node_id: int, request: Message, answer: type[Answer], *, at_most: int | None = None) -> Answer:
        return self._ask(lambda deadline: self._connection_to(node_id, deadline), request, answer, at_most)

    def ask_controller(self, request: Message, answer: type[Answer], *, at_most: int | None = None) -> Answer:
        """Brokers of a KRaft cluster pass it on; of an older one, only the one that is the controller takes it."""
        if self._controller_id < 0:
            self._learn_nodes()
        if self._controller_id < 0:
            return self.ask(request, answer, at_most=at_most)
        try:
            return self.ask_node(self._controller_id, request, answer, at_most=at_most)
        except CannotReach:
            if self.of_controllers or len(self._nodes) < 2:
                raise
            # One that has just gone: any other broker passes it on, too.
            return self.ask(request, answer, at_most=at_most)

    def ask_coordinator(
        self, key: str, request: Message, answer: type[Answer], *, kind: int = GROUP, at_most: int | None = None
    ) -> Answer:
        """The broker that coordinates that group, or that transactional id."""
        return self.ask_node(self.coordinator_of(key, kind), request, answer, at_most=at_most)

    def version_of(self, api: Api) -> int:
        """In which version a broker would be asked; NotOffered if in none."""
        return self._any_connection(Deadline(self.timeout_s)).version_of(api)

    @property
    def offered(self) -> Mapping[int, tuple[int, int]]:
        """What the broker asked first offers: versions by API key."""
        return self._any_connection(Deadline(self.timeout_s)).offered

    def offered_by(self, node_id: int) -> Mapping[int, tuple[int, int]]:
        """As `offered`, of a certain one."""
        return self._connection_to(node_id, Deadline(self.timeout_s)).offered

    def retry(self, attempt: Callable[[], Result]) -> Result:
        """Again until the time is over while it raises KafkaError of a code that passes (a new leader, a coordinator
        that loads); whom to ask is asked anew."""
        deadline = Deadline(self.timeout_s)
        pause_s = _FIRST_PAUSE_S
        while True:
            try:
                return attempt()
            except KafkaError as error:
                if not error.code.retriable or deadline.rest_s <= pause_s:
                    raise
            self.forget()
            deadline.sleep(pause_s)
            pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)

    def forget(self) -> None:
        """Who leads and coordinates; the connections stay."""
        self._leaders.clear()
        self._coordinators.clear()
        self._controller_id = -1

    # Who is there

    def metadata(self, topics: Iterable[str] | None = None) -> MetadataResponse:
        """Of these topics, or of all. Never makes a topic. A topic's error is the caller's to look at."""
        wanted = None if topics is None else [MetadataRequestTopic(name=name) for name in topics]
        request = MetadataRequest(topics=wanted, allow_auto_topic_creation=False)
        found = self.ask(request, MetadataResponse)
        self._nodes = {
            each.node_id: Node(each.node_id, Address(each.host, each.port), each.rack) for each in found.brokers
        }
        self._controller_id = found.controller_id
        return found

    @property
    def nodes(self) -> list[Node]:
        if not self._nodes:
            self._learn_nodes()
        return sorted(self._nodes.values())

    def node(self, node_id: int) -> Node:
        """One that the cluster has told of."""
        return self._nodes[node_id]

    @property
    def controller_id(self) -> int:
        """-1 if there is none now. Of a KRaft cluster's brokers it is any that passes on what controllers do."""
        if self._controller_id < 0:
            self._learn_nodes()
        return self._controller_id

    def describe(self, *, include_fenced: bool = False) -> DescribeClusterResponse:
        """Its brokers; of controllers, theirs, and the one that is active."""
        kind = CONTROLLERS if self.of_controllers else BROKERS
        request = DescribeClusterRequest(endpoint_type=kind, include_fenced_brokers=include_fenced)
        found = self.ask(request, DescribeClusterResponse)
        check(found.error_code, found.error_message)
        return found

    def _learn_nodes(self) -> None:
        if not self.of_controllers:
            self.metadata(topics=[])
            return
        found = self.describe()
        self._nodes = {
            each.broker_id: Node(each.broker_id, Address(each.host, each.port), each.rack) for each in found.brokers
        }
        self._controller_id = found.controller_id

    def topics(self, names: Iterable[str] | None = None) -> dict[str, MetadataResponseTopic]:
        """With their partitions; KafkaError for a topic that was named and is not there."""
        topics = self.metadata(names).topics
        for topic in topics:
            if names is not None and topic.error_code:
                check(topic.error_code, f"topic {topic.name}")
        return {topic.name: topic for topic in topics if topic.name is not None}

    def by_leader(self, partitions: Iterable[Partition]) -> dict[int, list[Partition]]:
        """Node ids with the partitions they lead; KafkaError for a partition that is not there or has no leader now."""
        wanted = list(partitions)
        if any(partition not in self._leaders for partition in wanted):
            topics = self.topics(sorted({partition.topic for partition in wanted}))
            for name, topic in topics.items():
                self._leaders |= {Partition(name, each.partition_index): each.leader_id for each in topic.partitions}
        found: dict[int, list[Partition]] = {}
        for partition in wanted:
            leader = self._leaders.get(partition)
            if leader is None:
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"partition {partition}")
            if leader < 0:
                raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, f"partition {partition}")
            found.setdefault(leader, []).append(partition)
        return found

    def coordinator_of(self, key: str, kind: int = GROUP) -> int:
        if (kind, key) not in self._coordinators:
            self._coordinators[kind, key] = self.retry(lambda: self._find_coordinator(key, kind))
        return self._coordinators[kind, key]

    def find_coordinators(self, keys: Iterable[str], kind: int = GROUP) -> None:
        """Of many with one question, where the broker takes that. Those that cannot be found now are left."""
        unknown = [key for key in keys if (kind, key) not in self._coordinators]
        if len(unknown) < 2 or self.version_of(FIND_COORDINATOR) <= _LAST_VERSION_WITH_ONE_KEY:
            return
        request = FindCoordinatorRequest(key_type=kind, coordinator_keys=unknown)
        for found in self.ask(request, FindCoordinatorResponse).coordinators:
            if not found.error_code:
                self._nodes[found.node_id] = Node(found.node_id, Address(found.host, found.port), None)
                self._coordinators[kind, found.key] = found.node_id

    def _find_coordinator(self, key: str, kind: int) -> int:
        request = FindCoordinatorRequest(key=key, key_type=kind)
        found = self.ask(request, FindCoordinatorResponse, at_most=_LAST_VERSION_WITH_ONE_KEY)
        check(found.error_code, found.error_message)
        self._nodes[found.node_id] = Node(found.node_id, Address(found.host, found.port), None)
        return found.node_id

    # Connections

    def _ask(
        self,
        connect: Callable[[Deadline], Connection],
        request: Message,
        answer: type[Answer],
        at_most: int | None,
    ) -> Answer:
        """A connection that was kept may have been closed meanwhile: then once more, on a new one."""
        deadline = Deadline(self.timeout_s)
        connection = connect(deadline)
        was_kept = connection.answered > 0
        try:
            return connection.ask(request, answer, deadline, at_most=at_most)
        except NotOffered:
            raise
        except ClientError as error:
            self._drop(connection)
            if not was_kept or not isinstance(error, NoAnswer) or deadline.is_over:
                raise
        return connect(deadline).ask(request, answer, deadline, at_most=at_most)

    def _any_connection(self, deadline: Deadline) -> Connection:
        if self._any is None:
            self._any = self._first_of(self.bootstrap, deadline)
        return self._any

    def _first_of(self, addresses: Sequence[Address], deadline: Deadline) -> Connection:
        """The first that can be reached; if none can, what was wrong with the last. None takes the others' time."""
        for left, address in zip(range(len(addresses), 1, -1), addresses[:-1], strict=True):
            with suppress(CannotReach, NoAnswer, NotKafka):
                return self._connect(address, Deadline(deadline.rest_s / left))
        return self._connect(addresses[-1], deadline)

    def _connection_to(self, node_id: int, deadline: Deadline) -> Connection:
        if node_id not in self._connections:
            if node_id not in self._nodes:
                self._learn_nodes()
            node = self._nodes.get(node_id)
            if node is None:
                known = ", ".join(map(str, sorted(self._nodes))) or "none"
                raise CannotReach(f"There is no {self._kind} {node_id} in the cluster: it has {known}.")
            try:
                self._connections[node_id] = self._connect(node.address, deadline)
            except CannotReach as error:
                raise CannotReach(
                    f"The cluster says that its {self._kind} {node_id} is at {node.address}, but: {error} "
                    f"If the {self._kind} runs, its advertised.listeners name an address that clients cannot use."
                ) from None
        return self._connections[node_id]

    @property
    def _kind(self) -> str:
        return "controller" if self.of_controllers else "broker"

    def _connect(self, address: Address, deadline: Deadline) -> Connection:
        if deadline.timeout_s > _CONNECT_S:
            deadline = Deadline(min(deadline.rest_s, _CONNECT_S))
        return Connection(address, self.properties, deadline)

    def _drop(self, connection: Connection) -> None:
        connection.close()
        if connection is self._any:
            self._any = None
        for node_id in [node_id for node_id, each in self._connections.items() if each is connection]:
            del self._connections[node_id]
