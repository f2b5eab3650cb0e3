"""Kafka and a node of ours, asked the same requests in the same order, and what their answers differ in."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple

from barnabas.broker.apis import MODULES
from barnabas.protocol.apis import APIS
from barnabas.protocol.batches import iterate_batches
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.alter_client_quotas import AlterClientQuotasRequest, EntityData, EntryData, OpData
from barnabas.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from barnabas.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest, DescribeClientQuotasResponse
from barnabas.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from barnabas.protocol.messages.describe_groups import DescribeGroupsRequest
from barnabas.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from barnabas.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from barnabas.protocol.messages.list_config_resources import ListConfigResourcesRequest, ListConfigResourcesResponse
from barnabas.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataResponse
from barnabas.protocol.messages.produce import ProduceRequest
from barnabas.protocol.record import read_records
from barnabas.protocol.schema import Message, Struct, Uuid
from tests.broker.told import OWN_KEYS
from tests.kafka.client import RawClient
from tests.readable import readable

from .drawn_records import DrawnRecords
from .symbols import KAFKA, OURS, SIDES, Symbols, Unknown

__all__ = ["BROKE", "CLOSED", "PENDING", "Beside", "Difference", "Run", "Step", "is_decided_by_controller"]

CLOSED = "the connection is closed"
PENDING = "no answer yet"
BROKE = "an exception of Kafka's own"
PATIENCE_S = 5.0
QUIET_S = 0.08
"""So long is waited for an answer that may be meant to come later."""
RECENT_MS = time.time_ns() // 1_000_000 - 3_600_000
MARKER = "marker"

MAY_WAIT = {"JoinGroup", "SyncGroup", "Fetch"}
DECIDED_BY_CONTROLLER = {
    "CreateTopics",
    "DeleteTopics",
    "CreatePartitions",
    "AlterConfigs",
    "IncrementalAlterConfigs",
    "AlterClientQuotas",
    "AlterPartitionReassignments",
    "ElectLeaders",
}

OF_THE_MACHINE = {
    "throttle_time_ms",
    "cluster_id",
    "total_bytes",
    "usable_bytes",
    "last_fetch_timestamp",
    "last_caught_up_timestamp",
    "broker_epoch",
    "finalized_features_epoch",
}
OF_THE_QUORUM = {"log_end_offset", "high_watermark", "leader_epoch", "replica_directory_id"}
"""In DescribeQuorum's answer: Kafka writes other records than we, and more of them."""


class Step(NamedTuple):
    who: int
    """Which of the connections asks."""
    request: Message
    version: int

    def __str__(self) -> str:
        return f"connection {self.who}: v{self.version} of {self.request}"


class Difference(NamedTuple):
    step: Step
    place: str
    kafka: Any
    ours: Any

    @property
    def signature(self) -> tuple[str, str, str, str]:
        place = "".join(letter for letter in self.place if not letter.isdigit())
        return type(self.step.request).__name__, place, _short(self.kafka), _short(self.ours)

    def __str__(self) -> str:
        return f"{self.place}: Kafka {self.kafka!r}, Barnabas {self.ours!r}"


def _short(value: Any) -> str:
    return repr(value) if isinstance(value, int | bool | None) else type(value).__name__


def is_decided_by_controller(step: Step) -> bool:
    return APIS[step.request.__definition__.key].name in DECIDED_BY_CONTROLLER


class Client:
    """One connection that is opened again where it was closed."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.address = address
        self.raw = RawClient(*address)
        self.answer: type[Message] | None = None

    def close(self) -> None:
        self.raw.__exit__(None, None, None)

    def send(self, request: Message, version: int) -> None:
        self.answer = APIS[request.__definition__.key].response
        try:
            self.raw.send(request, version)
            if isinstance(request, ProduceRequest) and request.acks == 0:
                # Nothing is answered to it, but to what comes behind it, if the connection lives.
                self.raw._asked.clear()
                self.raw.send(ApiVersionsRequest(), 0)
                self.answer = ApiVersionsResponse
        except ConnectionError:
            pass

    def is_silent(self) -> bool:
        return not readable(self.raw._socket, within_s=0)

    def waits_until(self, deadline: float) -> bool:
        """Whether nothing came until then."""
        return not readable(self.raw._socket, within_s=deadline - time.monotonic())

    def receive(self) -> Message | str:
        assert self.answer is not None
        try:
            return self.raw.receive(self.answer)
        except ConnectionError:
            self.close()
            self.raw = RawClient(*self.address)
            return CLOSED

    def ask(self, request: Message, version: int) -> Any:
        self.send(request, version)
        return self.receive()


@dataclass
class Asked:
    number: int
    step: Step


class Beside:
    """The two brokers, and one onlooker at each."""

    def __init__(self, kafka: tuple[str, int], ours: tuple[str, int], directories: tuple[str, str]) -> None:
        self.addresses = kafka, ours
        self.directories = directories
        self.onlookers = tuple(Client(address) for address in self.addresses)
        self._runs = count()
        self._marks = count()
        self.comparisons = 0

    def close(self) -> None:
        for onlooker in self.onlookers:
            onlooker.close()

    def run(self, connections: int = 1) -> Run:
        return Run(self, f"r{next(self._runs)}-", connections)

    def settle(self) -> None:
        """Until Kafka's broker knows all that its controller decided. A mark is decided behind it; when the broker
        shows it, it may still be at work on the same delta; when it shows a second one, that is done."""
        for _ in range(2):
            value = str(5000 + next(self._marks) % 10_000)
            resource = AlterConfigsResource(
                resource_type=32,
                resource_name=MARKER,
                configs=[AlterableConfig(name="consumer.heartbeat.interval.ms", value=value)],
            )
            for side in SIDES:
                answer = self.onlookers[side].ask(IncrementalAlterConfigsRequest(resources=[resource]), 1)
                assert isinstance(answer, IncrementalAlterConfigsResponse)
                assert answer.responses[0].error_code == 0, answer
            wanted = DescribeConfigsRequest(
                resources=[
                    DescribeConfigsResource(
                        resource_type=32,
                        resource_name=MARKER,
                        configuration_keys=["consumer.heartbeat.interval.ms"],
                    )
                ]
            )
            deadline = time.monotonic() + PATIENCE_S
            while True:
                answer = self.onlookers[KAFKA].ask(wanted, 4)
                assert isinstance(answer, DescribeConfigsResponse)
                if answer.results[0].configs[0].value == value:
                    break
                assert time.monotonic() < deadline, "Kafka's broker does not follow its controller"

    def clean(self, symbols: Symbols) -> None:
        """Both as they were before: no topics but their own, no groups, no configurations, no quotas."""
        for side in SIDES:
            members = [symbols.values[each][side] for each in symbols.of_kind("member")]
            self._clean(self.onlookers[side], members)
        self.settle()

    def _clean(self, client: Client, known_members: list[str]) -> None:
        groups = client.ask(ListGroupsRequest(), 5)
        assert isinstance(groups, ListGroupsResponse)
        names = [group.group_id for group in groups.groups]
        for name in names:
            for group in client.ask(DescribeGroupsRequest(groups=[name]), 5).groups:
                # Those, too, that were given a name and have not joined under it.
                ids = {each.member_id for each in group.members}.union(known_members)
                members = [MemberIdentity(member_id=each) for each in sorted(ids)]
                if members:
                    left = client.ask(LeaveGroupRequest(group_id=name, members=members), 5)
                    assert isinstance(left, LeaveGroupResponse)
        if names:
            deleted = client.ask(DeleteGroupsRequest(groups_names=names), 2)
            assert isinstance(deleted, DeleteGroupsResponse)
        topics = client.ask(MetadataRequest(topics=None), 12)
        assert isinstance(topics, MetadataResponse)
        unwanted = [DeleteTopicState(name=topic.name) for topic in topics.topics if not topic.is_internal]
        if unwanted:
            gone = client.ask(DeleteTopicsRequest(topics=unwanted, timeout_ms=10_000), 6)
            assert isinstance(gone, DeleteTopicsResponse)
            assert not any(each.error_code for each in gone.responses), gone
        quotas = client.ask(DescribeClientQuotasRequest(), 1)
        assert isinstance(quotas, DescribeClientQuotasResponse)
        entries = [
            EntryData(
                entity=[EntityData(entity_type=one.entity_type, entity_name=one.entity_name) for one in entry.entity],
                ops=[OpData(key=value.key, remove=True) for value in entry.values],
            )
            for entry in quotas.entries or []
        ]
        if entries:
            client.ask(AlterClientQuotasRequest(entries=entries), 1)
        self._clean_configs(client)

    def _clean_configs(self, client: Client) -> None:
        listed = client.ask(ListConfigResourcesRequest(resource_types=[16, 32]), 1)
        assert isinstance(listed, ListConfigResourcesResponse)
        resources = [(each.resource_type, each.resource_name) for each in listed.config_resources]
        resources = [each for each in resources if each[1] != MARKER] + [(4, "1"), (4, ""), (2, "__consumer_offsets")]
        asked = [
            DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=None)
            for kind, name in resources
        ]
        described = client.ask(DescribeConfigsRequest(resources=asked), 4)
        assert isinstance(described, DescribeConfigsResponse)
        sources = {2: 1, 4: 2, 16: 7, 32: 8}
        changes = []
        for result in described.results:
            own = {3} if result.resource_type == 4 and not result.resource_name else {sources[result.resource_type]}
            keep = ("cleanup.policy", "compression.type", "segment.bytes") if result.resource_type == 2 else ()
            names = [each.name for each in result.configs if each.config_source in own and each.name not in keep]
            if names:
                changes.append(
                    AlterConfigsResource(
                        resource_type=result.resource_type,
                        resource_name=result.resource_name,
                        configs=[AlterableConfig(name=name, config_operation=1, value=None) for name in names],
                    )
                )
        if changes:
            client.ask(IncrementalAlterConfigsRequest(resources=changes), 1)


class Run:
    """One plan, from the first step on, under names of its own."""

    def __init__(self, beside: Beside, prefix: str, connections: int) -> None:
        self.beside = beside
        self.symbols = Symbols(prefix)
        self.clients = [tuple(Client(address) for address in beside.addresses) for _ in range(connections)]
        self.waiting: dict[int, Asked] = {}
        self.steps = 0
        self.answers: list[Any] = []
        self._facts: set[str] = set()

    def close(self) -> None:
        for pair in self.clients:
            for client in pair:
                client.close()

    def idle(self) -> list[int]:
        return [who for who in range(len(self.clients)) if who not in self.waiting]

    def take(self, step: Step) -> list[Difference]:
        """One step, and what those that waited got meanwhile."""
        number = self.steps
        self.steps += 1
        if step.who in self.waiting:
            return []  # Only where a plan is run again with steps left out.
        name = APIS[step.request.__definition__.key].name
        clients = self.clients[step.who]
        for side in SIDES:
            clients[side].send(self._as_sent(step.request, step.version, side), step.version)
        asked = Asked(number, step)
        found: list[Difference] = []
        if name in MAY_WAIT and len(self.clients) > 1 and self._is_silent(clients):
            self.waiting[step.who] = asked
        else:
            found = self._compare(asked, clients)
        found += self._released()
        if name in DECIDED_BY_CONTROLLER:
            self.beside.settle()
        return found

    def _is_silent(self, clients: tuple[Client, ...]) -> bool:
        deadline = time.monotonic() + QUIET_S
        sockets = [client.raw._socket for client in clients]
        return not readable(*sockets, within_s=deadline - time.monotonic())

    def _released(self) -> list[Difference]:
        found = []
        for who, asked in list(self.waiting.items()):
            clients = self.clients[who]
            if not all(client.is_silent() for client in clients):
                del self.waiting[who]
                found += self._compare(asked, clients)
        return found

    def _compare(self, asked: Asked, clients: tuple[Client, ...]) -> list[Difference]:
        deadline = time.monotonic() + PATIENCE_S
        told = []
        for side in SIDES:
            answer: Any = PENDING
            if not clients[side].waits_until(deadline):
                answer = clients[side].receive()
            else:
                clients[side].close()
                clients[side].raw = RawClient(*clients[side].address)
            told.append(answer if isinstance(answer, str) else self.told(answer, side, type(answer).__name__))
        kafka, ours = told
        request = asked.step.request
        # Of several wrong configurations a hash table decides which is told of.
        told_of = all(len(each.configs) < 2 for each in getattr(request, "resources", ()) if hasattr(each, "configs"))
        is_shown = APIS[request.__definition__.key].name in SHOWN_BY_TOOLS and told_of
        self._facts = set(_facts(request)) if is_shown else set()
        kafka, ours = self._aligned(asked.number, kafka, ours)
        if kafka != ours and _broke(kafka):
            return [Difference(asked.step, BROKE, kafka, ours)]
        self.answers.append((asked, kafka))
        self.beside.comparisons += 1
        return [Difference(asked.step, *each) for each in differences(kafka, ours)]

    def _as_sent(self, request: Any, version: int, side: int) -> Any:
        if isinstance(request, list):
            return [self._as_sent(each, version, side) for each in request]
        if isinstance(request, DrawnRecords):
            return request.made(self.symbols, side)
        if not isinstance(request, Struct):
            if isinstance(request, str) and "DIRECTORY" in request:
                return request.replace("DIRECTORY", self.beside.directories[side])
            return self.symbols.sent(request, side)
        made = type(request)()
        for field in request.__fields__:
            setattr(made, field.name, self._as_sent(getattr(request, field.name), version, side))
        return made

    def told(self, value: Any, side: int, place: str) -> Any:
        """An answer as plain values, without what may differ."""
        if isinstance(value, Struct):
            return self._told_struct(value, side, place)
        if isinstance(value, list):
            told = [self.told(each, side, place) for each in value if not _is_left_out(each)]
            return sorted(told, key=repr) if place.partition(".")[2] and place in UNORDERED else told
        if isinstance(value, Uuid):
            return value if not any(value[:15]) else self.symbols.named("uuid", value, side)
        if isinstance(value, str):
            value = value.replace(self.beside.directories[side], "DIRECTORY")
            return self.symbols.told(value, side)
        if type(value) is int and value > RECENT_MS and value < 4_000_000_000_000:
            return "a time"
        return value

    def _told_struct(self, value: Struct, side: int, place: str) -> Any:
        kind = type(value).__name__
        its_name = getattr(value, "name", None)
        if kind == "DescribeConfigsResourceResult" and its_name in OWN_KEYS:
            return {"name": its_name}
        told: dict[str, Any] = {"": kind}
        if kind == "DescribeLogDirsTopic" and its_name == "__consumer_offsets":
            return {"name": its_name}  # what is in it and how it is cleaned up is compared elsewhere
        for field in value.__fields__:
            one = getattr(value, field.name)
            name = field.name
            if name in OF_THE_MACHINE or (place == "DescribeQuorumResponse" and name in OF_THE_QUORUM):
                continue
            if name == "topic_id" and its_name == "__consumer_offsets":
                continue  # so that nobody asks for it by its id: what is in it is Kafka's own
            if name == "port" and one == self.beside.addresses[side][1]:
                told[name] = "its port"
            elif name == "documentation":
                told[name] = "words" if one else one
            elif name in WORDS:
                told[name] = Words(self.symbols.told(one, side)) if one else one
            elif name == "error_code":
                told[name] = ErrorCode(one).name
            elif name == "records" and one is not None:
                told[name] = self._records(one, side)
            elif name == "session_id" and one:
                told[name] = self.symbols.named("session", one, side)
            elif name == "producer_id" and one >= 0:
                told[name] = self.symbols.named("producer", one, side)
            else:
                of_quorum = place == "DescribeQuorumResponse"
                told[name] = self.told(one, side, place if of_quorum else f"{kind}.{name}")
        if value.unknown_tags:
            told["unknown tags"] = value.unknown_tags
        return told

    def _records(self, data: Any, side: int) -> Any:
        told: list[Any] = []
        for batch in iterate_batches(data):
            producer = self.symbols.named("producer", batch.producer_id, side) if batch.producer_id >= 0 else -1
            header = {
                "offsets": (batch.base_offset, batch.last_offset),
                "size": batch.size,
                "leader epoch": batch.partition_leader_epoch,
                "kind": (batch.compression.name, batch.timestamp_type.name),
                "producer": producer,
                "numbered": (batch.producer_epoch, batch.base_sequence),
            }
            late = batch.timestamp_type.name == "LOG_APPEND_TIME"
            records = [
                (one.offset, one.key, one.value, "a time" if late else one.timestamp) for one in read_records(batch)
            ]
            told.append([header, records])
        return told

    def _aligned(self, step: int, kafka: Any, ours: Any) -> tuple[Any, Any]:
        """Where both have a new value of their own at the same place, it is the same one from now on."""
        if isinstance(kafka, Unknown) and isinstance(ours, Unknown) and kafka.kind == ours.kind:
            if kafka.told != ours.told:
                return kafka, ours
            known = self.symbols.names[KAFKA].get((kafka.kind, kafka.value))
            if known is not None and self.symbols.names[OURS].get((ours.kind, ours.value)) == known:
                return known, known
            symbol = self.symbols.bind(step, kafka, ours)
            return symbol, symbol
        if isinstance(kafka, Words) and isinstance(ours, Words):
            forgotten = [fact for fact in self._facts if fact in kafka and fact not in ours]
            return (str(kafka), str(ours)) if forgotten else ("words", "words")
        if isinstance(kafka, dict) and isinstance(ours, dict) and kafka.keys() == ours.keys():
            pairs = {name: self._aligned(step, kafka[name], ours[name]) for name in kafka}
            return {name: pair[0] for name, pair in pairs.items()}, {name: pair[1] for name, pair in pairs.items()}
        if isinstance(kafka, list) and isinstance(ours, list) and len(kafka) == len(ours):
            both = [self._aligned(step, one, other) for one, other in zip(kafka, ours, strict=True)]
            return [one for one, _ in both], [other for _, other in both]
        return kafka, ours


UNORDERED = {
    "ProduceResponse.responses",
    "TopicProduceResponse.partition_responses",
    "ListOffsetsResponse.topics",
    "ListOffsetsTopicResponse.partitions",
    "MetadataResponse.topics",
    "DescribeConfigsResult.configs",
    "DescribeConfigsResponse.results",
    "DeleteTopicsResponse.responses",
    "AlterReplicaLogDirsResponse.results",
    "AlterReplicaLogDirTopicResult.partitions",
    "OffsetFetchResponse.topics",
    "OffsetFetchResponseGroup.topics",
    "OffsetFetchResponseTopics.partitions",
    "ApiVersionsResponse.supported_features",
    "DescribeUserScramCredentialsResponse.results",
    "ApiVersionsResponse.finalized_features",
    "CreatePartitionsResponse.results",
    "DeleteRecordsResponse.topics",
    "DeleteRecordsTopicResult.partitions",
    "ListGroupsResponse.groups",
    "ListConfigResourcesResponse.config_resources",
    "DescribeLogDirsResult.topics",
    "DescribeLogDirsTopic.partitions",
    "AlterClientQuotasResponse.entries",
    "ResponseEntryData.entity",
    "DescribeClientQuotasResponse.entries",
    "EntryData.entity",
    "EntryData.values",
    "DeleteGroupsResponse.results",
    "DescribedGroup.members",
    "PartitionResponse.active_producers",
    "JoinGroupResponse.members",
    "ElectLeadersResponse.replica_election_results",
    "ReplicaElectionResult.partition_result",
}
"""Kafka answers these as its hash tables have them."""
WORDS = {"error_message", "batch_index_error_message"}


class Words(str):
    """For people. Ours are our own; but what of the request Kafka's repeat, such as a name or a value that is wrong,
    ours have to repeat."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "words"  # of no weight where answers are put in order


SHOWN_BY_TOOLS = {
    "CreateTopics",
    "CreatePartitions",
    "DeleteTopics",
    "DescribeConfigs",
    "AlterConfigs",
    "IncrementalAlterConfigs",
    "AlterClientQuotas",
}


def _facts(request: Any) -> Iterator[str]:
    """What somebody may want to read again."""
    if isinstance(request, Struct):
        for field in request.__fields__:
            if field.name not in ("resource_name", "timeout_ms"):
                yield from _facts(getattr(request, field.name))
    elif isinstance(request, list):
        for each in request:
            yield from _facts(each)
    elif isinstance(request, str) and 1 < len(request) < 200:
        yield request
    elif type(request) is int and abs(request) > 1:
        yield str(request)


def _broke(kafka: Any) -> bool:
    """Whether it is told that something failed there that nobody foresaw."""
    if isinstance(kafka, dict):
        return kafka.get("error_code") == ErrorCode.UNKNOWN_SERVER_ERROR.name or any(map(_broke, kafka.values()))
    return isinstance(kafka, list) and any(map(_broke, kafka))


def _is_left_out(part: Any) -> bool:
    if type(part).__name__ == "ApiVersion":
        return part.api_key not in MODULES
    return str(getattr(part, "name", "")).startswith("barnabas.")


def differences(kafka: Any, ours: Any, place: str = "") -> Iterator[tuple[str, Any, Any]]:
    if isinstance(kafka, dict) and isinstance(ours, dict) and kafka.keys() == ours.keys():
        for name in kafka:
            yield from differences(kafka[name], ours[name], f"{place}.{name}")
    elif isinstance(kafka, list) and isinstance(ours, list) and len(kafka) == len(ours):
        for number, (theirs, own) in enumerate(zip(kafka, ours, strict=True)):
            yield from differences(theirs, own, f"{place}[{number}]")
    elif kafka != ours:
        yield place, kafka, ours
