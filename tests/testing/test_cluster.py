"""`barnabas.testing.Cluster`: several brokers that replicate, fail and come back."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from barnabas.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from barnabas.testing import BrokerFailed, Cluster, ClusterNode, ErrorCode, KafkaError, NotInTime
from tests.clients.waiting import wait_until
from tests.kafka.client import RawClient

CONFIG = {"min.insync.replicas": 2}


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster(nodes=3) as cluster:
        cluster.create_topic("orders", config=CONFIG, replicas=[[2, 3, 1]])
        cluster.wait_for_in_sync("orders")
        yield cluster


def has_heard(node: ClusterNode) -> bool:
    return node.ask(lambda one: one.topic_config("orders").retention_ms) == 7000


def values(cluster: Cluster, topic: str = "orders") -> list[bytes | None]:
    return [record.value for record in cluster.records(topic)]


def test_every_record_is_everywhere(cluster: Cluster) -> None:
    for number in range(10):
        assert cluster.produce("orders", f"{number}").offset == number
    assert values(cluster) == [b"%d" % number for number in range(10)]
    for node in cluster.nodes:
        # Up to where it knows it to count; a follower hears of that with the next answer.
        assert {record.value for record in node.records("orders")} <= set(values(cluster))
        assert node.ask(lambda one: one.partition("orders", 0).log.end_offset) == 10


def test_another_node_leads_when_one_is_killed(cluster: Cluster) -> None:
    cluster.produce("orders", "before")
    leader = cluster.leader("orders")
    assert leader.id == 2
    leader.kill()
    follower = cluster.leader("orders")
    assert follower.id != leader.id
    cluster.produce("orders", "after")
    assert values(cluster) == [b"before", b"after"]
    assert leader.id not in cluster.in_sync("orders")
    leader.start()
    cluster.wait_for_in_sync("orders")
    assert leader.ask(lambda one: one.partition("orders", 0).log.end_offset) == 2


def test_a_clean_stop_hands_over_first(cluster: Cluster) -> None:
    for node in cluster.nodes[1:]:
        cluster.produce("orders", f"{node.id}")
        node.restart()
        cluster.wait_for_in_sync("orders")
    assert values(cluster) == [b"2", b"3"]


def test_a_node_that_is_cut_off_falls_behind_and_comes_back(cluster: Cluster) -> None:
    lonely = 3
    cluster.cut(lonely)
    # It waits for who is cut off until it knows.
    cluster.produce("orders", "without")
    cluster.wait_for_in_sync("orders", nodes=2)
    assert lonely not in cluster.in_sync("orders")
    cluster.produce("orders", "again")
    cluster.heal()
    cluster.wait_for_in_sync("orders")
    assert values(cluster) == [b"without", b"again"]


def test_a_leader_that_is_cut_off_acknowledges_nothing(cluster: Cluster) -> None:
    old = cluster.leader("orders")
    cluster.cut(old.id)
    wait_until(lambda: cluster.leader("orders") is not old, "another leader")
    cluster.produce("orders", "counts")
    cluster.heal()
    cluster.wait_for_in_sync("orders")
    assert values(cluster) == [b"counts"]


def test_a_frozen_node_goes_on_where_it_stood(cluster: Cluster) -> None:
    frozen = cluster.node(3)
    frozen.freeze()
    cluster.wait_for_in_sync("orders", nodes=2)
    cluster.produce("orders", "meanwhile")
    frozen.thaw()
    cluster.wait_for_in_sync("orders")
    assert values(cluster) == [b"meanwhile"]


def test_a_slow_link_is_no_failure(cluster: Cluster) -> None:
    cluster.slow(0.05, 1)
    for number in range(3):
        cluster.produce("orders", f"{number}")
    assert cluster.in_sync("orders") == {1, 2, 3}


def test_too_few_in_sync(cluster: Cluster) -> None:
    for node in cluster.nodes[1:]:
        node.kill()
    cluster.wait_for_in_sync("orders", nodes=1)
    with pytest.raises(KafkaError, match=r"min\.insync\.replicas"):
        cluster.produce("orders", "refused")


def test_a_broker_alters_its_own_loggers_and_passes_on_the_rest(cluster: Cluster) -> None:
    def resource(kind: int, name: str, key: str, value: str) -> AlterConfigsResource:
        config = AlterableConfig(name=key, config_operation=0, value=value)
        return AlterConfigsResource(resource_type=kind, resource_name=name, configs=[config])

    request = IncrementalAlterConfigsRequest(
        resources=[
            resource(8, "2", "root", "WARN"),
            resource(2, "orders", "retention.ms", "7000"),
            resource(8, "1", "root", "WARN"),
        ]
    )
    with RawClient(cluster.node(2).host, cluster.node(2).port) as client:
        answer = client.ask(request, 1, IncrementalAlterConfigsResponse)
    assert [(each.resource_type, each.resource_name, each.error_code) for each in answer.responses] == [
        (2, "orders", 0),
        (8, "2", 0),
        (8, "1", ErrorCode.INVALID_REQUEST),
    ]
    for node in cluster.nodes:
        wait_until(partial(has_heard, node), f"{node} to hear of it")


def test_it_keeps_what_it_is_given_a_directory_for(tmp_path: Path) -> None:
    with Cluster(nodes=3, data_dir=tmp_path) as cluster:
        cluster.create_topic("kept", config=CONFIG)
        cluster.produce("kept", "it")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["node-1", "node-2", "node-3"]
    with Cluster(nodes=3, data_dir=tmp_path) as cluster:
        cluster.wait_for_in_sync("kept")
        assert values(cluster, "kept") == [b"it"]


def test_one_node_is_a_cluster_too() -> None:
    with Cluster(nodes=1) as cluster:
        cluster.create_topic("alone")
        cluster.produce("alone", "x")
        assert cluster.in_sync("alone") == {1}
        cluster.node(1).kill()
        with pytest.raises(BrokerFailed, match="all nodes are down"):
            cluster.in_sync("alone")


@pytest.mark.parametrize("nodes", [0, -1, "3"])
def test_how_many_nodes(nodes: object) -> None:
    with pytest.raises(ValueError, match="a cluster has 1 node or more"):
        Cluster(nodes=nodes)  # type: ignore[arg-type]


def test_what_does_not_come_is_told(cluster: Cluster) -> None:
    with pytest.raises(NotInTime, match=r"orders has not 1 records after 0\.05 s"):
        cluster.wait_for("orders", count=1, timeout=0.05)
    with pytest.raises(ValueError, match="there is no node 4: they are 1 to 3"):
        cluster.cut(4)
