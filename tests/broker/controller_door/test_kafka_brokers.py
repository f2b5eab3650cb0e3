"""Apache Kafka's brokers take ours for their controller: they come, replicate, die, come back, and leave."""

from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.protocol.messages.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse
from tests.broker.asking import produce
from tests.broker.controller_door.door import quorum
from tests.broker.controller_door.kafka_cluster import KafkaCluster
from tests.clients.senders import python_sender
from tests.clients.waiting import wait_until
from tests.kafka.tool_runner import ToolRunner

pytestmark = [pytest.mark.java, pytest.mark.slow]


def test_a_broker_comes_dies_comes_back_and_leaves(kafka_classpath: str, tmp_path: Path) -> None:
    with KafkaCluster(kafka_classpath, tmp_path, cordoned=False, metadata_max_retention_bytes="0") as cluster:
        node = cluster.node
        with node.client() as client:
            for number in range(20):
                cluster.create(client, f"before-{number}", [1])
        # What it has to know is in no log any more.
        node.carry_out(lambda running: running.metadata_upkeep.take_snapshot())
        node.carry_out(lambda running: running.metadata_upkeep.clean())
        start = node.do(lambda running: running.journal.log.start_offset)
        assert start > 0
        broker = cluster.broker(2)
        assert list((broker.data_directory / "__cluster_metadata-0").glob(f"{start:020d}-*.checkpoint"))
        with node.controller() as door:
            (observer,) = quorum(door).observers
            assert observer.replica_id == 2
            assert observer.last_caught_up_timestamp > 0

        with cluster.client(2) as client:
            # It passes the request on to us, and gets the partition.
            cluster.create(client, "orders", [2])
            wait_until(lambda: _takes(cluster), "Kafka to lead its partition")
            produce(client, "orders", b"kept")
        broker.kill()
        cluster.until_fenced(2)
        assert cluster.partition("orders").leader == -1
        broker.start()
        cluster.until_led("orders", 0, 2)
        assert cluster.records(2, "orders")[-1] == b"kept"

        broker.stop()
        assert node.do(lambda running: running.image.brokers[2].fenced), "it is known at once that it has left"
        assert any("broker 2 wants to stop" in line for line in node.lines)
        with node.controller() as door:
            answer = door.ask(UnregisterBrokerRequest(broker_id=2), 0, UnregisterBrokerResponse)
        assert answer.error_code == 0
        assert node.do(lambda running: list(running.image.brokers)) == [1]


def _takes(cluster: KafkaCluster) -> bool:
    with cluster.client(2) as client:
        try:
            produce(client, "orders", b"first")
        except AssertionError:
            return False
        return True


def test_nothing_acknowledged_is_lost_when_a_leader_dies(kafka_classpath: str, tmp_path: Path) -> None:
    with KafkaCluster(kafka_classpath, tmp_path) as cluster:
        for broker_id in (2, 3, 4):
            cluster.broker(broker_id)
        with cluster.client(2) as client:
            cluster.create(client, "orders", [2, 3, 4], [3, 4, 2], min_insync_replicas="2")
        sender = python_sender("confluent-kafka", cluster.bootstrap, "orders", 2, tmp_path / "sender.log")
        with sender:
            wait_until(lambda: sender.rounds > 3, "the first records")
            cluster.brokers[2].kill()
            cluster.until_fenced(2)
            cluster.until_in_sync("orders", 0, 3, 4)
            assert cluster.partition("orders").leader == 3
            rounds = sender.rounds
            wait_until(lambda: sender.rounds > rounds + 3, "records with another leader")
            cluster.brokers[2].start()
            for number in (0, 1):
                cluster.until_in_sync("orders", number, 2, 3, 4)
            cluster.brokers[3].kill()
            cluster.until_led("orders", 1, 4)
            rounds = sender.rounds
            wait_until(lambda: sender.rounds > rounds + 3, "records with a third leader")
            sender.finish()
        for number in (0, 1):
            leader = cluster.partition("orders", number).leader
            numbers = [int(value.split()[1]) for value in cluster.records(leader, "orders", number)]
            assert numbers == [one for at, _, one in sender.acknowledged if at == number]
        assert len(sender.acknowledged) == sender.sent


def test_the_controller_stops_and_starts_under_its_brokers(kafka_classpath: str, tmp_path: Path) -> None:
    """They go on without it, take it back with a new epoch, and none of them is thought dead for its absence."""
    with KafkaCluster(kafka_classpath, tmp_path) as cluster:
        for broker_id in (2, 3):
            cluster.broker(broker_id)
        with cluster.client(2) as client:
            cluster.create(client, "orders", [2, 3], min_insync_replicas="2")
        sender = python_sender("confluent-kafka", cluster.bootstrap, "orders", 1, tmp_path / "sender.log")
        with sender:
            wait_until(lambda: sender.rounds > 3, "the first records")
            before = cluster.partition("orders")
            for _ in range(2):
                cluster.node.kill()
                rounds = sender.rounds
                wait_until(lambda: sender.rounds > rounds + 3, "records without a controller")  # noqa: B023
                cluster.node.start()
            cluster.until(lambda node: len(node.metadata_leader.observers.by_key) == 2)
            assert cluster.partition("orders") == before
            with cluster.client(3) as client:
                cluster.create(client, "later", [3, 2])
            sender.finish()
        assert len(cluster.records(2, "orders")) == sender.sent


def test_groups_and_several_directories(kafka_classpath: str, kafka_tools: ToolRunner, tmp_path: Path) -> None:
    """What Kafka's brokers have created for themselves, and say of their directories."""
    with KafkaCluster(kafka_classpath, tmp_path) as cluster:
        directories = f"{tmp_path / 'kafka-2/data'},{tmp_path / 'kafka-2/other'}"
        broker = cluster.broker(2, log_dirs=directories)
        with cluster.client(2) as client:
            cluster.create(client, "orders", *[[2]] * 6)
            wait_until(lambda: _takes(cluster), "Kafka to lead its partition")
        read = ("--bootstrap-server", broker.bootstrap, "--topic", "orders", "--group", "readers")
        consumer = "org.apache.kafka.tools.consumer.ConsoleConsumer"
        kafka_tools.run(consumer, *read, "--from-beginning", "--max-messages", "1", "--timeout-ms", "20000")
        assert cluster.partition("__consumer_offsets").replicas == (2,)
        ours = cluster.node.do(lambda node: set(node.image.brokers[2].directories))
        assert len(ours) == 2

        def assigned() -> bool:
            return {cluster.partition("orders", number).directories[0] for number in range(6)} == ours

        wait_until(assigned, "the broker to say in which directory each replica is")
