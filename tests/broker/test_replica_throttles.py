"""The rates of replication, and for which replicas they hold, as somebody changes them while the node runs."""

from __future__ import annotations

from tests.kafka.client import RawClient

from .asking import BROKER, TOPIC, create, set_config
from .running import RunningNode

LEADER, FOLLOWER = "leader.replication.throttled", "follower.replication.throttled"


def test_replicas_and_rates_change_while_the_node_runs(node: RunningNode, client: RawClient) -> None:
    create(client, "orders", partitions=3)
    throttles = node.do(lambda node: node.replica_throttles)
    leader, follower = throttles.leader, throttles.follower
    assert leader.bytes_per_second == follower.bytes_per_second == 2**63 - 1
    assert set_config(client, TOPIC, "orders", f"{LEADER}.replicas", "0:1,1:2,2:1") == 0
    assert set_config(client, TOPIC, "orders", f"{FOLLOWER}.replicas", "*") == 0
    assert [leader.is_throttled("orders", number) for number in range(3)] == [True, False, True]
    assert [follower.is_throttled("orders", number) for number in range(3)] == [True, True, True]
    assert set_config(client, BROKER, "1", f"{LEADER}.rate", "1000") == 0
    assert set_config(client, BROKER, "1", f"{FOLLOWER}.rate", "2000") == 0
    assert (leader.bytes_per_second, follower.bytes_per_second) == (1000, 2000)
    create(client, "later", follower_replication_throttled_replicas="0:1")
    assert follower.is_throttled("later", 0)
    assert set_config(client, TOPIC, "orders", f"{FOLLOWER}.replicas", None) == 0
    assert not follower.is_throttled("orders", 0)


def test_the_number_of_fetchers_may_change(node: RunningNode, client: RawClient) -> None:
    assert set_config(client, BROKER, "", "num.replica.fetchers", "2") == 0
    assert node.do(lambda node: node.config.num_replica_fetchers) == 2
