"""Brokers come to a controller's door, live, fall silent and go; and what becomes of their partitions."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.broker.configuration.node_config import NodeConfig
from barnabas.broker.controller_apis import MODULES
from barnabas.coordination.cluster.partition import Partition
from barnabas.coordination.controller.stale_brokers import fence_stale_broker
from barnabas.protocol.apis import APIS
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages import controller_registration as registering
from barnabas.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from barnabas.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.protocol.messages.assign_replicas_to_dirs import AssignReplicasToDirsResponse
from barnabas.protocol.messages.broker_registration import BrokerRegistrationResponse
from barnabas.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from barnabas.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from barnabas.protocol.messages.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse
from barnabas.protocol.schema import Uuid
from tests.broker.controller_door.broker_requests import FakeBroker, assignment, directory_of, registration
from tests.broker.controller_door.door import METADATA, ControllerNode
from tests.broker.housekeeping.breaking_disk import BreakingDisk
from tests.broker.moved_clock import MovedClock

SESSION_MS = 9_000
STEP_MS = 500


class Cluster:
    """A controller at whose clock a test turns, and brokers that are none."""

    def __init__(self, node: ControllerNode, clock: MovedClock) -> None:
        self.node = node
        self.clock = clock
        self.door = node.controller()
        assert node.node is not None
        self.cluster_id = node.node.cluster_id

    def broker(self, broker_id: int, **fields: int) -> FakeBroker:
        return FakeBroker(self.door, self.cluster_id, broker_id, **fields).in_service()

    def topic(self, name: str, *replicas: list[int]) -> Uuid:
        assignments = [CreatableReplicaAssignment(number, each) for number, each in enumerate(replicas)]
        topic = CreatableTopic(name=name, num_partitions=-1, replication_factor=-1, assignments=assignments)
        (answer,) = self.door.ask(CreateTopicsRequest(topics=[topic], timeout_ms=5_000), 7, CreateTopicsResponse).topics
        assert answer.error_code == 0, answer
        return answer.topic_id

    def partition(self, topic: str, number: int = 0) -> Partition:
        return self.node.do(lambda node: node.image.topics.by_name[topic].partitions[number])

    def is_fenced(self, broker_id: int) -> bool:
        return self.node.do(lambda node: node.image.brokers[broker_id].fenced)

    def pass_time(self, duration_ms: int, *heard_of: FakeBroker) -> None:
        """In steps shorter than those in which a controller looks around; who is heard of is so in each of them."""
        for _ in range(duration_ms // STEP_MS):
            self.node.do(lambda _: self.clock.advance(STEP_MS))
            for broker in heard_of:
                broker.beat()
            self.node.carry_out(lambda node: node.heartbeats.beat())


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    clock = MovedClock()
    with ControllerNode(tmp_path / "data", clock=clock) as node:
        made = Cluster(node, clock)
        yield made
        made.door.__exit__(None, None, None)


def test_a_broker_is_let_in_when_it_has_read_its_registration(cluster: Cluster) -> None:
    broker = FakeBroker(cluster.door, cluster.cluster_id, 2)
    answer = broker.beat(current_metadata_offset=broker.epoch - 1)
    assert (answer.is_caught_up, answer.is_fenced) == (False, True)
    answer = broker.beat(current_metadata_offset=broker.epoch, want_fence=True)
    assert (answer.is_caught_up, answer.is_fenced) == (True, True)
    answer = broker.beat(current_metadata_offset=broker.epoch)
    assert (answer.is_caught_up, answer.is_fenced) == (True, False)
    assert not cluster.is_fenced(2)


def test_who_is_silent_is_fenced_and_who_speaks_is_not(cluster: Cluster) -> None:
    quiet, loud = cluster.broker(2), cluster.broker(3)
    cluster.topic("orders", [2, 3])
    cluster.topic("alone", [2])
    cluster.pass_time(SESSION_MS, loud)
    assert not cluster.is_fenced(2)
    cluster.pass_time(2_000, loud)
    cluster.node.until(lambda node: node.image.brokers[2].fenced)
    assert not cluster.is_fenced(3)
    assert not cluster.is_fenced(1)
    assert (cluster.partition("orders").leader, cluster.partition("orders").isr) == (3, (3,))
    assert cluster.partition("alone").leader == -1
    assert any("broker 2 is fenced" in line for line in cluster.node.lines)

    quiet.in_service()
    assert cluster.partition("alone").leader == 2, "nobody else could"
    assert cluster.partition("orders").leader == 3, "it has to catch up first"


def test_who_speaks_is_heard_though_the_controllers_disk_has_no_room_for_what_he_says(tmp_path: Path) -> None:
    clock, disk, data = MovedClock(), BreakingDisk(errno.ENOSPC), tmp_path / "data"
    with ControllerNode(data, clock=clock, disk=disk) as node:
        cluster = Cluster(node, clock)
        broker = cluster.broker(2, directories=2)
        disk.break_at(data / f"{METADATA}-0", "write")
        for _ in range(2 * SESSION_MS // STEP_MS):
            node.do(lambda _: clock.advance(STEP_MS))
            answer = broker.beat(offline_log_dirs=[directory_of(2, 1)])
            assert answer.error_code == ErrorCode.KAFKA_STORAGE_ERROR
            node.carry_out(lambda node: node.heartbeats.beat())
        disk.broken.clear()
        assert not node.carry_out(lambda node: node.controller.decide(fence_stale_broker))
        another = cluster.door.ask(registration(2, cluster.cluster_id, incarnation=2), 4, BrokerRegistrationResponse)
        assert another.error_code == ErrorCode.DUPLICATE_BROKER_REGISTRATION
        assert not cluster.is_fenced(2)
        cluster.door.__exit__(None, None, None)


def test_a_controller_that_stood_still_blames_nobody_for_that(cluster: Cluster) -> None:
    cluster.broker(2)
    cluster.pass_time(4_000)
    cluster.node.do(lambda _: cluster.clock.advance(3_600_000))
    cluster.pass_time(4_000)
    assert not cluster.is_fenced(2)
    cluster.pass_time(4_000)
    cluster.node.until(lambda node: node.image.brokers[2].fenced)


def test_the_same_run_may_come_again_and_another_only_when_the_last_is_over(cluster: Cluster) -> None:
    first = cluster.broker(2)

    def code(**fields: int) -> int:
        request = registration(2, cluster.cluster_id, **fields)
        return cluster.door.ask(request, 4, BrokerRegistrationResponse).error_code

    assert code() == 0
    assert code(incarnation=2) == ErrorCode.DUPLICATE_BROKER_REGISTRATION
    cluster.pass_time(SESSION_MS + 2_000)
    cluster.node.until(lambda node: node.image.brokers[2].fenced)
    assert code(incarnation=2) == 0
    assert first.beat().error_code == ErrorCode.STALE_BROKER_EPOCH


def test_a_broker_that_is_not_let_in_is_named_in_the_log(cluster: Cluster) -> None:
    answer = cluster.door.ask(registration(2, "another"), 4, BrokerRegistrationResponse)
    assert answer.error_code == ErrorCode.INCONSISTENT_CLUSTER_ID
    assert any("broker 2 at 127.0.0.1 is not let in: this is cluster" in line for line in cluster.node.lines)


def test_a_broker_leaves_when_others_lead_and_know_it(cluster: Cluster) -> None:
    leaving, staying = cluster.broker(2), cluster.broker(3)
    cluster.topic("orders", [2, 3])
    answer = leaving.beat(want_shut_down=True)
    assert not answer.should_shut_down
    assert cluster.partition("orders").leader == 3
    end = cluster.node.do(lambda node: node.image.next_offset)
    staying.beat(current_metadata_offset=end - 2)
    assert not leaving.beat(want_shut_down=True).should_shut_down
    staying.beat(current_metadata_offset=end)
    cluster.node.carry_out(lambda node: node.heartbeats.beat())
    answer = leaving.beat(want_shut_down=True)
    assert (answer.should_shut_down, answer.is_fenced) == (True, True)


def test_a_leader_tells_who_is_in_sync(cluster: Cluster) -> None:
    leader, follower = cluster.broker(2), cluster.broker(3)
    topic_id = cluster.topic("orders", [2, 3])
    shrunk = leader.alter(topic_id, leader)
    assert (shrunk.error_code, shrunk.isr, shrunk.partition_epoch) == (0, [2], 1)
    again = leader.alter(topic_id, leader, follower)
    assert again.error_code == ErrorCode.INVALID_UPDATE_VERSION
    whole = leader.alter(topic_id, leader, follower, partition_epoch=1)
    assert (whole.error_code, whole.isr, whole.leader_id) == (0, [2, 3], 2)
    assert follower.alter(topic_id, follower, partition_epoch=2).error_code == ErrorCode.INVALID_REQUEST
    assert cluster.partition("orders").isr == (2, 3)


def test_no_two_brokers_get_the_same_producer_ids(cluster: Cluster) -> None:
    given: set[int] = set()
    for broker in (cluster.broker(2), cluster.broker(3)):
        request = AllocateProducerIdsRequest(broker_id=broker.id, broker_epoch=broker.epoch)
        answer = cluster.door.ask(request, 0, AllocateProducerIdsResponse)
        block = range(answer.producer_id_start, answer.producer_id_start + answer.producer_id_len)
        assert answer.error_code == 0
        assert len(block) == 1_000
        assert given.isdisjoint(block)
        given.update(block)
    stale = AllocateProducerIdsRequest(broker_id=2, broker_epoch=1)
    assert cluster.door.ask(stale, 0, AllocateProducerIdsResponse).error_code == ErrorCode.STALE_BROKER_EPOCH


def test_a_broker_says_in_which_directory_it_has_what(cluster: Cluster) -> None:
    broker = cluster.broker(2, directories=2)
    topic_id = cluster.topic("orders", [2], [2])
    request = assignment(2, broker.epoch, directory_of(2, 1), topic_id, 0, 7)
    (told,) = cluster.door.ask(request, 0, AssignReplicasToDirsResponse).directories
    codes = [one.error_code for one in told.topics[0].partitions]
    assert codes == [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert cluster.partition("orders").directories == (directory_of(2, 1),)
    # It loses that one.
    broker.beat(offline_log_dirs=[directory_of(2, 1)])
    assert [cluster.partition("orders", number).leader for number in (0, 1)] == [-1, 2]


def test_another_controller_says_where_it_is(cluster: Cluster) -> None:
    request = registering.ControllerRegistrationRequest(
        controller_id=9,
        incarnation_id=Uuid([3] * 16),
        zk_migration_ready=False,
        listeners=[registering.Listener("CONTROLLER", "elsewhere", 9093, 0)],
        features=[registering.Feature("metadata.version", 7, 30)],
    )
    assert cluster.door.ask(request, 0, registering.ControllerRegistrationResponse).error_code == 0
    answer = cluster.door.ask(DescribeClusterRequest(endpoint_type=2), 2, DescribeClusterResponse)
    assert answer.controller_id == 1
    found = {(one.broker_id, one.host, one.port) for one in answer.brokers}
    assert found == {(1, "127.0.0.1", cluster.node.controller_port), (9, "elsewhere", 9093)}


def test_a_broker_that_does_not_come_back_is_forgotten(cluster: Cluster) -> None:
    gone = cluster.broker(2)
    cluster.broker(3)
    cluster.topic("orders", [2, 3])
    request = UnregisterBrokerRequest(broker_id=2)
    assert cluster.door.ask(request, 0, UnregisterBrokerResponse).error_code == 0
    assert cluster.node.do(lambda node: sorted(node.image.brokers)) == [1, 3]
    assert cluster.partition("orders").leader == 3
    assert gone.beat().error_code == ErrorCode.STALE_BROKER_EPOCH
    again = cluster.door.ask(request, 0, UnregisterBrokerResponse)
    assert again.error_code == ErrorCode.BROKER_ID_NOT_REGISTERED


def test_leadership_goes_back_to_preferred_leaders_after_a_while(cluster: Cluster) -> None:
    first, second = cluster.broker(2), cluster.broker(3)
    topic_id = cluster.topic("orders", [2, 3])
    first.beat(want_fence=True)
    assert cluster.partition("orders").leader == 3
    first.in_service()
    epoch = cluster.partition("orders").leader_epoch
    partition_epoch = cluster.partition("orders").partition_epoch
    whole = second.alter(topic_id, second, first, leader_epoch=epoch, partition_epoch=partition_epoch)
    assert whole.error_code == 0
    cluster.pass_time(290_000, first, second)
    assert cluster.partition("orders").leader == 3
    cluster.pass_time(20_000, first, second)
    assert cluster.partition("orders").leader == 2


@pytest.mark.parametrize("setting", ["auto.leader.rebalance.enable", "leader.imbalance.check.interval.seconds"])
def test_keys_that_do_something_are_not_said_to_do_nothing(setting: str) -> None:
    config = NodeConfig.load({setting: "true" if setting.endswith("enable") else "7"})
    assert not [notice for notice in config.notices if setting in notice.text]


def test_what_the_door_offers(cluster: Cluster) -> None:
    answer = cluster.door.ask(ApiVersionsRequest("raw", "1"), 4, ApiVersionsResponse)
    offered = {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}
    assert offered == {key: (APIS[key].first, APIS[key].last_stable) for key in MODULES}
    # Passwords and tokens are all that Kafka's controller has and this one has not.
    lacking = {api.name for api in APIS.values() if "controller" in api.listeners and api.key not in offered}
    assert lacking == {
        "SaslHandshake",
        "SaslAuthenticate",
        "CreateDelegationToken",
        "RenewDelegationToken",
        "ExpireDelegationToken",
        "DescribeDelegationToken",
        "DescribeUserScramCredentials",
        "AlterUserScramCredentials",
    }
