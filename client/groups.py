"""Groups, as their coordinators tell of them: which there are, who is in them, what they have committed. Classic
groups and those of the consumer protocol (KIP-848) look the same from here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from barnabas.client.cluster import Cluster, Node, Partition, check
from barnabas.client.errors import NotOffered
from barnabas.client.spreading import ask_coordinators, error_of
from barnabas.protocol.apis import APIS
from barnabas.protocol.errors import ErrorCode, KafkaError, MalformedFrame
from barnabas.protocol.log_records import decode_versioned
from barnabas.protocol.messages.consumer_group_describe import (
    Assignment,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from barnabas.protocol.messages.consumer_group_describe import DescribedGroup as DescribedConsumerGroup
from barnabas.protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from barnabas.protocol.messages.describe_groups import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from barnabas.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from barnabas.protocol.records.consumer_protocol import ConsumerProtocolAssignment

__all__ = [
    "CLASSIC",
    "CONSUMER",
    "CONSUMER_PROTOCOL",
    "SHARE",
    "STREAMS",
    "Group",
    "ListedGroup",
    "Member",
    "delete_groups",
    "describe_consumer_groups",
    "list_groups",
    "with_coordinators",
]

CLASSIC, CONSUMER, SHARE, STREAMS = "Classic", "Consumer", "Share", "Streams"
CONSUMER_PROTOCOL = "consumer"
"""What a classic group says that it is of, if its members are consumers."""

_LIST_GROUPS, _CONSUMER_GROUP_DESCRIBE = APIS[16], APIS[69]
_FIRST_VERSION_WITH_STATES = 4
_FIRST_VERSION_WITH_TYPES = 5
_CONSUMER_MEMBER = 1
_UNKNOWN_MEMBER = -1


@dataclass(frozen=True, slots=True)
class ListedGroup:
    name: str
    protocol: str
    """Empty: nobody has joined yet, offsets were committed by hand."""
    state: str
    type: str
    """State and type are empty if the broker is too old to tell."""


@dataclass(frozen=True, slots=True)
class Member:
    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    assigned: list[Partition]
    target: list[Partition] = field(default_factory=list)
    epoch: int | None = None
    upgraded: bool | None = None
    """Whether it speaks the consumer protocol, where the broker tells."""


@dataclass(frozen=True, slots=True)
class Group:
    name: str
    type: str
    state: str
    coordinator: Node
    protocol: str
    assignor: str
    members: list[Member]
    epoch: int | None = None
    target_epoch: int | None = None


def list_groups(cluster: Cluster, *, states: Iterable[str] = (), types: Iterable[str] = ()) -> list[ListedGroup]:
    """Of all brokers, by name. The filters are Kafka's names of states and types; none: all."""
    wanted_states, wanted_types = list(states), list(types)
    version = cluster.version_of(_LIST_GROUPS)
    if wanted_states and version < _FIRST_VERSION_WITH_STATES:
        raise NotOffered("The brokers are too old to list groups by their state: list them without.")
    may_filter_types = version >= _FIRST_VERSION_WITH_TYPES
    request = ListGroupsRequest(states_filter=wanted_states, types_filter=wanted_types if may_filter_types else [])
    found: dict[str, ListedGroup] = {}
    for node in _nodes_now(cluster):
        answer = cluster.retry(lambda node_id=node.node_id: _list_of(cluster, node_id, request))  # type: ignore[misc]
        for each in answer.groups:
            # Brokers that do not know of types have classic groups alone.
            kind = each.group_type.capitalize() or ("" if may_filter_types else CLASSIC)
            found[each.group_id] = ListedGroup(each.group_id, each.protocol_type, each.group_state, kind)
    return [found[name] for name in sorted(found) if not wanted_types or found[name].type in wanted_types]


def _nodes_now(cluster: Cluster) -> list[Node]:
    cluster.metadata(topics=[])
    return cluster.nodes


def _list_of(cluster: Cluster, node_id: int, request: ListGroupsRequest) -> ListGroupsResponse:
    answer = cluster.ask_node(node_id, request, ListGroupsResponse)
    check(answer.error_code)
    return answer


def describe_consumer_groups(cluster: Cluster, names: Iterable[str]) -> dict[str, Group | KafkaError]:
    """Consumer groups of both kinds: each is asked for as the newer kind, and as the older if it is not that. A group
    that is not there is GROUP_ID_NOT_FOUND; one that is of other things than consumers, INCONSISTENT_GROUP_PROTOCOL."""
    wanted = list(dict.fromkeys(names))
    found: dict[str, Group | KafkaError] = {}
    if _CONSUMER_GROUP_DESCRIBE.key in cluster.offered:
        found = with_coordinators(cluster, wanted, _describe_newer)
    rest = [name for name in wanted if _may_be_classic(found.get(name))]
    classic = with_coordinators(cluster, rest, _describe_classic)
    return {name: classic.get(name) or found[name] for name in wanted}


def _may_be_classic(result: Group | KafkaError | None) -> bool:
    return result is None or (
        isinstance(result, KafkaError) and result.code in (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION)
    )


def with_coordinators(
    cluster: Cluster,
    names: Iterable[str],
    describe: Callable[[Cluster, Node, list[str]], dict[str, Group | KafkaError]],
) -> dict[str, Group | KafkaError]:
    def ask(node_id: int, own: list[str]) -> dict[str, Group | KafkaError]:
        return describe(cluster, cluster.node(node_id), own)

    return ask_coordinators(cluster, names, ask)


def _describe_newer(cluster: Cluster, node: Node, names: list[str]) -> dict[str, Group | KafkaError]:
    request = ConsumerGroupDescribeRequest(group_ids=names)
    groups = cluster.ask_node(node.node_id, request, ConsumerGroupDescribeResponse).groups
    return {each.group_id: error_of(each.error_code, each.error_message) or _newer_group(node, each) for each in groups}


def _newer_group(node: Node, told: DescribedConsumerGroup) -> Group:
    members = [
        Member(
            each.member_id,
            each.instance_id,
            each.client_id,
            each.client_host,
            _partitions(each.assignment),
            _partitions(each.target_assignment),
            each.member_epoch,
            None if each.member_type == _UNKNOWN_MEMBER else each.member_type == _CONSUMER_MEMBER,
        )
        for each in told.members
    ]
    return Group(
        told.group_id,
        CONSUMER,
        told.group_state,
        node,
        CONSUMER_PROTOCOL,
        told.assignor_name,
        members,
        told.group_epoch,
        told.assignment_epoch,
    )


def _partitions(assignment: Assignment) -> list[Partition]:
    return sorted(
        Partition(topic.topic_name, number) for topic in assignment.topic_partitions for number in topic.partitions
    )


def _describe_classic(cluster: Cluster, node: Node, names: list[str]) -> dict[str, Group | KafkaError]:
    groups = cluster.ask_node(node.node_id, DescribeGroupsRequest(groups=names), DescribeGroupsResponse).groups
    return {
        each.group_id: error_of(each.error_code, each.error_message) or _classic_group(node, each) for each in groups
    }


def _classic_group(node: Node, told: DescribedGroup) -> Group | KafkaError:
    if told.protocol_type not in ("", CONSUMER_PROTOCOL):
        return KafkaError(
            ErrorCode.INCONSISTENT_GROUP_PROTOCOL, f"Group {told.group_id} is not of consumers ({told.protocol_type})"
        )
    members = [
        Member(
            each.member_id, each.group_instance_id, each.client_id, each.client_host, _classic(each.member_assignment)
        )
        for each in told.members
    ]
    return Group(told.group_id, CLASSIC, told.group_state, node, told.protocol_type, told.protocol_data, members)


def _classic(assignment: bytes) -> list[Partition]:
    """The members have agreed on these bytes among themselves: the broker has not looked at them."""
    if not assignment:
        return []
    try:
        told, _ = decode_versioned(ConsumerProtocolAssignment, assignment)
    except MalformedFrame:
        return []
    return sorted(Partition(topic.topic, number) for topic in told.assigned_partitions for number in topic.partitions)


def delete_groups(cluster: Cluster, names: Iterable[str]) -> Mapping[str, KafkaError | None]:
    """Groups of any type, with what they have committed."""

    def ask(node_id: int, own: list[str]) -> dict[str, KafkaError | None]:
        results = cluster.ask_node(node_id, DeleteGroupsRequest(groups_names=own), DeleteGroupsResponse).results
        return {each.group_id: error_of(each.error_code) for each in results}

    return ask_coordinators(cluster, names, ask)
