"""`barnabas start --nodes N`."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.cli.starting import StartedBroker
from tests.clients.waiting import wait_until
from tests.cluster.asking import create, metadata, partitions, produce, values
from tests.kafka.broker import free_ports
from tests.kafka.client import RawClient

pytestmark = pytest.mark.slow


class StartedNodes(StartedBroker):
    def __init__(self, directory: Path, *arguments: str, count: int = 3) -> None:
        super().__init__(directory, "--nodes", str(count), *arguments)

    @property
    def nodes(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.banner["nodes"]
        return found

    def client_of(self, node_id: int) -> RawClient:
        host, _, port = self.nodes[node_id - 1]["address"].rpartition(":")
        return RawClient(host, int(port))

    def pid_of(self, node_id: int) -> int:
        pid: int = self.nodes[node_id - 1]["pid"]
        return pid


def has_taken(client: RawClient, topic: str, partition: int) -> bool:
    return produce(client, topic, partition, b"x") == (0, 0)


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_cluster_by_one_command(tmp_path: Path) -> None:
    with StartedNodes(tmp_path, "--ephemeral").wait_ready() as cluster:
        assert [node["node_id"] for node in cluster.nodes] == [1, 2, 3]
        assert cluster.banner["bootstrap_servers"] == ",".join(node["address"] for node in cluster.nodes)
        with cluster.client_of(3) as client:
            answer = metadata(client)
            assert {f"{each.host}:{each.port}" for each in answer.brokers} == {
                each["address"] for each in cluster.nodes
            }
            assert create(client, "spread", [1], [2], [3]) == 0
            wait_until(lambda: not metadata(client, "spread").topics[0].error_code, "the topic")
            assert [each.leader_id for each in partitions(client, "spread")] == [1, 2, 3]
        for number in (1, 2, 3):
            with cluster.client_of(number) as client:
                wait_until(partial(has_taken, client, "spread", number - 1), "the partition")
                assert values(client, "spread", number - 1) == [b"x"]
        cluster.signal()
        assert (cluster.wait(), cluster.errors) == (0, "")
        assert not [node["pid"] for node in cluster.nodes if is_there(node["pid"])]
        stops = [line["node_id"] for line in cluster.lines if line["message"].endswith("the broker has stopped")]
        assert stops[-1] == 1
        assert sorted(stops) == [1, 2, 3]


def test_a_node_that_ends_is_told_of_and_can_be_started_again(tmp_path: Path) -> None:
    with StartedNodes(tmp_path, "--data", str(tmp_path / "data")).wait_ready() as cluster:
        with cluster.client_of(1) as client:
            assert create(client, "kept", [2]) == 0
        with cluster.client_of(2) as client:
            wait_until(lambda: produce(client, "kept", 0, b"before") == (0, 0), "the partition")
        os.kill(cluster.pid_of(2), signal.SIGKILL)
        wait_until(lambda: any("node 2 was ended by SIGKILL" in line for line in cluster.messages), "the line")
        (line,) = [line for line in cluster.messages if "node 2 was ended by SIGKILL" in line]
        file = line.rpartition(" ")[2]
        assert line.endswith(f"the others go on. To start it again: barnabas start --config {file}")
        with StartedBroker(tmp_path, "--config", file, listen=None).wait_ready() as again, again.client() as client:
            assert values(client, "kept", 0) == [b"before"]
            assert again.banner["node_id"] == 2
            again.signal()
            assert again.wait() == 0
        cluster.signal()
        assert cluster.wait() == 0
    with StartedNodes(tmp_path, "--data", str(tmp_path / "data")).wait_ready() as cluster:
        with cluster.client_of(2) as client:
            assert values(client, "kept", 0) == [b"before"]
        cluster.signal()
        assert cluster.wait() == 0


def test_nodes_end_with_whoever_started_them(tmp_path: Path) -> None:
    with StartedNodes(tmp_path, "--ephemeral").wait_ready() as cluster:
        pids = [node["pid"] for node in cluster.nodes]
        cluster.signal(signal.SIGKILL)
        cluster.wait()
        wait_until(lambda: not any(map(is_there, pids)), "the nodes to end")


def run(directory: Path, *arguments: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "barnabas.cli", "start", "--json", *arguments]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--nodes", "0"], 2, "--nodes 0: between 1 and 64 nodes make a cluster on one machine."),
        (["--nodes", "65"], 2, "--nodes 65: between 1 and 64 nodes make a cluster on one machine."),
        (["--nodes", "3", "--set", "node.id=7"], 2, "--nodes gives every node its own node.id: leave that away."),
        (
            ["--nodes", "3", "--set", "process.roles=broker"],
            2,
            "--nodes gives every node its own process.roles: leave that away.",
        ),
        (
            ["--nodes", "3", "--listen", ":9092"],
            2,
            "--listen :9092 names no host: nodes have to find each other, write --listen HOST:PORT.",
        ),
        (
            ["--nodes", "3", "--listen", "127.0.0.1:65533"],
            2,
            "--listen 127.0.0.1:65533 leaves no room for 4 ports: name a lower one.",
        ),
        (
            ["--nodes", "3", "--config", "none.properties"],
            1,
            "There is no file none.properties: check the path after --config, or leave it out.",
        ),
    ],
)
def test_what_it_does_not_take(tmp_path: Path, arguments: list[str], code: int, says: str) -> None:
    assert run(tmp_path, *arguments) == (code, f"barnabas: {says}\n")


def test_the_directory_of_one_node(tmp_path: Path) -> None:
    (tmp_path / "barnabas-data").mkdir()
    (tmp_path / "barnabas-data" / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=x\n")
    code, said = run(tmp_path, "--nodes", "3")
    assert code == 2
    assert "barnabas-data is the directory of one node" in said


def three_free_ports() -> int:
    """The first of three that follow each other, for node 1, whoever has the place of node 2, and the controller."""
    while True:
        (first,) = free_ports(1)
        with suppress(OSError), ExitStack() as held:
            for port in range(first, first + 3):
                held.enter_context(socket.create_server(("127.0.0.1", port)))
            return first


def test_a_node_that_cannot_start_ends_all(tmp_path: Path) -> None:
    port = three_free_ports() + 1
    with StartedBroker(tmp_path / "other", listen=f"127.0.0.1:{port}").wait_ready():
        command = ["--nodes", "2", "--listen", f"127.0.0.1:{port - 1}"]
        done = subprocess.run(
            [sys.executable, "-m", "barnabas.cli", "start", "--json", *command],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 1
        assert done.stderr == "barnabas: node 2 did not start: it ended with exit code 1, and has said why.\n"
        said = [json.loads(line)["message"] for line in done.stdout.splitlines()]
        assert any(line.startswith("node 2: ") and f":{port}" in line for line in said)
