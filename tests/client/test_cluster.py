"""The cluster behind bootstrap addresses: dead ones, moved ones, connections that were closed, and trying again."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.client.address import Address
from barnabas.client.cluster import Cluster, Partition, check
from barnabas.client.connection import Connection
from barnabas.client.deadline import Deadline
from barnabas.client.errors import CannotReach, NoAnswer
from barnabas.client.properties import ClientProperties
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.frames import Request
from barnabas.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataResponse, MetadataResponseBroker
from barnabas.protocol.schema import Message
from tests.broker.running import RunningNode

from .fake_servers import FakeBroker, FakeServer, closed_port

PLENTY_S = 20.0
SHORT_S = 0.3


def cluster_at(*addresses: Address, timeout_s: float = PLENTY_S, of_controllers: bool = False) -> Cluster:
    return Cluster(addresses, ClientProperties(), timeout_s, of_controllers=of_controllers)


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningNode]:
    with RunningNode(tmp_path_factory.mktemp("node")) as running:
        yield running


@pytest.fixture
def address(node: RunningNode) -> Address:
    return Address(*node.address)


def test_who_is_there(address: Address) -> None:
    with cluster_at(address) as cluster:
        (node,) = cluster.nodes
        assert node.address == address
        assert cluster.controller_id == node.node_id
        assert cluster.describe().cluster_id == cluster.metadata([]).cluster_id
        answer = cluster.ask_controller(DescribeClusterRequest(), DescribeClusterResponse)
        assert [each.broker_id for each in answer.brokers] == [node.node_id]


def test_the_first_bootstrap_address_may_be_dead(address: Address) -> None:
    with cluster_at(closed_port(), closed_port(), address) as cluster:
        assert cluster.topics() == {}


def test_the_first_bootstrap_address_may_be_somebody_elses(address: Address) -> None:
    """A broker that is just dying closes connections, too."""
    with FakeServer(lambda connection: None) as other, cluster_at(other.address, address) as cluster:
        assert cluster.topics() == {}
        assert other.connections == 1


def test_a_silent_first_address_leaves_time_for_the_second(address: Address) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        began_s = time.monotonic()
        with cluster_at(Address(*silent.getsockname()), address, timeout_s=1.0) as cluster:
            assert cluster.topics() == {}
        assert time.monotonic() - began_s < 1.0


def test_if_none_can_be_reached_the_last_is_named() -> None:
    dead = [closed_port() for _ in range(3)]
    with cluster_at(*dead) as cluster, pytest.raises(CannotReach, match=f"{dead[-1]} cannot be reached"):
        cluster.topics()


def test_an_advertised_address_that_cannot_be_reached() -> None:
    elsewhere = closed_port()
    metadata = MetadataResponse(
        brokers=[MetadataResponseBroker(node_id=4, host=elsewhere.host, port=elsewhere.port)], controller_id=4
    )
    with FakeBroker(lambda request: metadata) as server, cluster_at(server.address) as cluster:
        with pytest.raises(CannotReach) as raised:
            cluster.ask_controller(DescribeClusterRequest(), DescribeClusterResponse)
        assert str(raised.value) == (
            f"The cluster says that its broker 4 is at {elsewhere}, but: {elsewhere} cannot be reached "
            "(Connection refused): is a broker running there? "
            "If the broker runs, its advertised.listeners name an address that clients cannot use."
        )
        with pytest.raises(CannotReach, match=r"There is no broker 5 in the cluster: it has 4\."):
            cluster.ask_node(5, DescribeClusterRequest(), DescribeClusterResponse)


def test_another_broker_passes_on_what_the_one_that_is_named_cannot() -> None:
    """It has just gone, and nobody has noticed yet."""
    gone = closed_port()

    def answer(request: Request) -> Message:
        if request.api.name == "DescribeCluster":
            return DescribeClusterResponse(cluster_id="c")
        here = MetadataResponseBroker(node_id=5, host=server.address.host, port=server.address.port)
        there = MetadataResponseBroker(node_id=4, host=gone.host, port=gone.port)
        return MetadataResponse(brokers=[there, here], controller_id=4)

    with FakeBroker(answer) as server, cluster_at(server.address) as cluster:
        assert cluster.ask_controller(DescribeClusterRequest(), DescribeClusterResponse).cluster_id == "c"


def test_a_kept_connection_that_was_closed_meanwhile_is_made_anew(node: RunningNode, address: Address) -> None:
    with cluster_at(address) as cluster:
        before = cluster.describe()
        node.restart()
        assert cluster.describe() == before


def test_a_connection_is_kept(address: Address) -> None:
    with FakeBroker(lambda request: MetadataResponse(cluster_id="c")) as server, cluster_at(server.address) as cluster:
        for _ in range(3):
            assert cluster.metadata([]).cluster_id == "c"
        assert server.connections == 1
        assert server.asked == ["ApiVersions", "Metadata", "Metadata", "Metadata"]


def test_a_new_connection_that_is_closed_is_not_tried_for_ever() -> None:
    with FakeBroker(lambda request: None) as server, cluster_at(server.address) as cluster:
        with pytest.raises(NoAnswer, match="closed the connection when it was asked Metadata"):
            cluster.metadata([])
        assert server.connections == 1


def test_a_kept_connection_that_ends_is_replaced_once() -> None:
    answers: list[Message | None] = [MetadataResponse(cluster_id="c"), None, None]

    def answer(request: Request) -> Message | None:
        return answers.pop(0)

    with FakeBroker(answer) as server, cluster_at(server.address) as cluster:
        assert cluster.metadata([]).cluster_id == "c"
        with pytest.raises(NoAnswer):
            cluster.metadata([])
        assert server.connections == 2


def test_a_silent_broker_costs_no_more_than_the_timeout() -> None:
    def never(connection: socket.socket) -> None:
        while connection.recv(1 << 16):
            pass

    with FakeServer(never) as server:
        began_s = time.monotonic()
        with cluster_at(server.address, timeout_s=SHORT_S) as cluster, pytest.raises(NoAnswer, match=r"in 0\.3 s"):
            cluster.topics()
        assert time.monotonic() - began_s < 10 * SHORT_S


def test_what_passes_is_tried_again_until_it_has_passed() -> None:
    cluster = cluster_at(closed_port())
    left = [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]

    def attempt() -> str:
        if left:
            check(left.pop())
        return "done"

    assert cluster.retry(attempt) == "done"
    assert not left


def test_what_does_not_pass_is_tried_again_until_the_time_is_over() -> None:
    cluster = cluster_at(closed_port(), timeout_s=SHORT_S)
    tries = []

    def attempt() -> None:
        tries.append(time.monotonic())
        check(ErrorCode.LEADER_NOT_AVAILABLE)

    began_s = time.monotonic()
    with pytest.raises(KafkaError, match="LEADER_NOT_AVAILABLE"):
        cluster.retry(attempt)
    assert 2 <= len(tries) < 10
    assert time.monotonic() - began_s < 10 * SHORT_S


def test_what_never_passes_is_not_tried_again() -> None:
    tries = []

    def attempt() -> None:
        tries.append(1)
        check(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "no")

    with pytest.raises(KafkaError, match="CLUSTER_AUTHORIZATION_FAILED: no"):
        cluster_at(closed_port()).retry(attempt)
    assert tries == [1]


def test_an_error_of_a_newer_kafka_is_an_error_too() -> None:
    with pytest.raises(KafkaError, match="UNKNOWN_SERVER_ERROR: error 999"):
        check(999)
    with pytest.raises(KafkaError, match="UNKNOWN_SERVER_ERROR: what it said"):
        check(999, "what it said")
    check(0)


def test_partitions_that_are_not_there(address: Address) -> None:
    with cluster_at(address) as cluster:
        with pytest.raises(KafkaError, match="UNKNOWN_TOPIC_OR_PARTITION: topic nothing"):
            cluster.by_leader([Partition("nothing", 0)])
        assert cluster.topics() == {}, "asking makes no topic"


def test_a_coordinator_is_found_and_asked(address: Address) -> None:
    with cluster_at(address) as cluster:
        assert cluster.coordinator_of("a group") == cluster.nodes[0].node_id
        answer = cluster.ask_coordinator("a group", MetadataRequest(topics=[]), MetadataResponse)
        assert answer.cluster_id


def test_the_controllers_of_a_node_are_asked_themselves(tmp_path: Path) -> None:
    ports = {"listeners": "PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0"}
    settings = {**ports, "controller_listener_names": "CONTROLLER", "process_roles": "broker,controller"}
    with RunningNode(tmp_path, node_id="3", **settings) as node:  # type: ignore[arg-type]
        assert node.node is not None
        addresses = {each.endpoint.listener: Address(*each.address) for each in node.node.all_listeners}
        with cluster_at(addresses["CONTROLLER"], of_controllers=True) as cluster:
            assert [each.address for each in cluster.nodes] == [addresses["CONTROLLER"]]
            assert cluster.controller_id == 3
            assert cluster.ask_controller(DescribeClusterRequest(endpoint_type=2), DescribeClusterResponse).brokers
            with pytest.raises(CannotReach, match=r"There is no controller 9 in the cluster: it has 3\."):
                cluster.ask_node(9, DescribeClusterRequest(), DescribeClusterResponse)
        with (
            cluster_at(addresses["PLAINTEXT"], of_controllers=True) as cluster,
            pytest.raises(KafkaError, match="MISMATCHED_ENDPOINT_TYPE"),
        ):
            cluster.describe()


def test_a_deadline() -> None:
    deadline = Deadline(0.05)
    assert 0 < deadline.rest_s <= 0.05
    deadline.sleep(60)
    assert deadline.is_over
    assert deadline.rest_s == 0


def test_a_cluster_lets_go_of_its_sockets(address: Address) -> None:
    with cluster_at(address) as cluster:
        cluster.ask_controller(DescribeClusterRequest(), DescribeClusterResponse)
        kept = [cluster._any, *cluster._connections.values()]
    assert all(each is not None and each._socket.fileno() == -1 for each in kept)
    assert all(isinstance(each, Connection) for each in kept)
