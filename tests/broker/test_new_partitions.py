"""New partitions: their files are made in a thread, while the loop serves others, and are there when the answer is."""

from __future__ import annotations

import threading
from pathlib import Path

from barnabas.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from barnabas.protocol.schema import Uuid
from barnabas.storage.checkpoints import RECOVERY_POINT_OFFSET_CHECKPOINT, read_offsets
from barnabas.storage.disk import SystemDisk
from tests.broker.controller_door.door import ControllerNode
from tests.broker.running import RunningNode
from tests.broker.test_produce_and_fetch import TOPIC, create, produce
from tests.kafka.client import RawClient
from tests.storage.counting_disk import CountingDisk


class WatchedDisk(SystemDisk):
    """Who makes directories, who waits for a sync of one, and who writes recovery points."""

    def __init__(self) -> None:
        self.makers: dict[Path, threading.Thread] = {}
        self.syncers: dict[Path, threading.Thread] = {}
        self.writers: list[threading.Thread] = []

    def make_directory(self, path: Path) -> None:
        self.makers.setdefault(path, threading.current_thread())
        super().make_directory(path)

    def replace_file(self, path: Path, data: bytes) -> None:
        if path.name == RECOVERY_POINT_OFFSET_CHECKPOINT:
            self.writers.append(threading.current_thread())
        super().replace_file(path, data)

    def sync_directory(self, directory: Path) -> None:
        self.syncers[directory] = threading.current_thread()
        super().sync_directory(directory)


def create_many(client: RawClient, names: list[str]) -> None:
    topics = [CreatableTopic(name=name, num_partitions=3, replication_factor=1) for name in names]
    answer = client.ask(CreateTopicsRequest(topics=topics, timeout_ms=10_000), 7, CreateTopicsResponse)
    assert [topic.error_code for topic in answer.topics] == [0] * len(names)


def test_a_thread_makes_them_and_nobody_waits_for_a_sync(tmp_path: Path) -> None:
    disk = WatchedDisk()
    names = [f"topic{number}" for number in range(20)]
    with RunningNode(tmp_path / "data", disk=disk) as running, running.client() as client:
        loop = running._thread
        disk.syncers.clear()
        create_many(client, names)
        made = {path.name: maker for path, maker in disk.makers.items() if path.name.startswith("topic")}
        assert set(made) == {f"{name}-{number}" for name in names for number in range(3)}
        assert loop not in made.values()
        assert not [path for path in disk.syncers if path.name in made]
        assert running.do(lambda node: {node.partition(name, 2).leads for name in names}) == {True}


def test_so_does_one_of_a_broker_that_follows_a_controller(tmp_path: Path) -> None:
    """Which has to say meanwhile that it is alive."""
    disk = WatchedDisk()
    first = ControllerNode(tmp_path / "1", replica_lag_time_max_ms="1000")
    second = RunningNode(
        tmp_path / "2",
        disk=disk,
        node_id="2",
        process_roles="broker",
        controller_listener_names="CONTROLLER",
        controller_quorum_bootstrap_servers=first.controllers,
    )
    with first, second, first.client() as client:
        assignments = [CreatableReplicaAssignment(partition_index=number, broker_ids=[2, 1]) for number in range(20)]
        topic = CreatableTopic(name="topic", num_partitions=-1, replication_factor=-1, assignments=assignments)
        answer = client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 7, CreateTopicsResponse)
        assert answer.topics[0].error_code == 0
        second.until(lambda node: sum(partition.leads for partition in node.partitions) == 20)
        made = {path.name: maker for path, maker in disk.makers.items() if path.name.startswith("topic")}
        assert len(made) == 20
        assert second._thread not in made.values()


def test_they_have_the_configuration_that_was_asked_for_with_them(tmp_path: Path) -> None:
    with RunningNode(tmp_path / "data") as running, running.client() as client:
        create(client, "fine", configs={"index.interval.bytes": "77"})
        log = running.do(lambda node: node.partition("fine", 0).log)
        assert (log.config.index_interval_bytes, log.active.index_interval_bytes) == (77, 77)


def test_one_that_takes_a_deleted_one_s_name_is_another(tmp_path: Path) -> None:
    running = RunningNode(tmp_path / "data")
    with running, running.client() as client:
        for _ in range(3):
            create(client)
            assert produce(client, b"value").base_offset == 0
            gone = DeleteTopicsRequest(topics=[DeleteTopicState(name=TOPIC, topic_id=Uuid.ZERO)], timeout_ms=10_000)
            assert client.ask(gone, 6, DeleteTopicsResponse).responses[0].error_code == 0
        create(client)
        produce(client, b"value")
    with running:
        assert running.do(lambda node: node.partition(TOPIC, 0).log.end_offset) == 1


def test_the_loop_forgets_where_a_deleted_one_was_synced_to_and_a_thread_makes_the_new_one(tmp_path: Path) -> None:
    """What a thread has gathered of other logs may be old when it writes it."""
    disk = WatchedDisk()
    with RunningNode(tmp_path / "data", disk=disk) as running, running.client() as client:
        create(client)
        (directory,) = running.do(lambda node: node.directories.online)
        running.do(lambda _: directory.write_recovery_points())
        gone = DeleteTopicsRequest(topics=[DeleteTopicState(name=TOPIC, topic_id=Uuid.ZERO)], timeout_ms=10_000)
        assert client.ask(gone, 6, DeleteTopicsResponse).responses[0].error_code == 0
        disk.makers.clear()
        disk.writers.clear()
        create(client)
        assert disk.writers == [running._thread]
        (maker,) = (maker for path, maker in disk.makers.items() if path.name == f"{TOPIC}-0")
        assert maker is not running._thread
        assert (TOPIC, 0) not in read_offsets(disk, directory.path / RECOVERY_POINT_OFFSET_CHECKPOINT)


def test_those_that_are_deleted_together_share_one_sync(tmp_path: Path) -> None:
    disk = CountingDisk()
    running = RunningNode(tmp_path / "data", disk=disk)
    with running, running.client() as client:
        create_many(client, [f"topic{number}" for number in range(20)])
        disk.forget()
        states = [DeleteTopicState(name=f"topic{number}", topic_id=Uuid.ZERO) for number in range(20)]
        answer = client.ask(DeleteTopicsRequest(topics=states, timeout_ms=10_000), 6, DeleteTopicsResponse)
        assert [topic.error_code for topic in answer.responses] == [0] * 20
        assert running.do(lambda node: len(list(node.partitions))) == 0
        assert disk.syncs.count(tmp_path / "data") == 1
