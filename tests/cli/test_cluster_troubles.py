"""The commands for the whole cluster, asked of brokers that are silent, too old, or not where they say they are."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import pytest

from barnabas.client.address import Address
from barnabas.protocol.apis import APIS
from barnabas.protocol.frames import Request
from barnabas.protocol.messages.describe_cluster import DescribeClusterBroker, DescribeClusterResponse
from barnabas.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from barnabas.protocol.schema import Message
from tests.cli.beside import run
from tests.client.fake_servers import FakeBroker, closed_port

PLAN = '{"partitions": [{"topic": "t", "partition": 0, "replicas": [1]}]}'
COMMANDS = [
    "cluster",
    "cluster id",
    "cluster endpoints",
    "cluster unregister 1",
    "cluster features",
    "cluster features upgrade group.version=1",
    "cluster quorum",
    "cluster quorum remove-controller -i 1 -d AAAAAAAAAAAAAAAAAAAAAQ",
    "cluster elect preferred --all-topic-partitions",
    "cluster reassign",
    "cluster reassign execute PLAN",
    "cluster reassign verify PLAN",
    "cluster reassign cancel PLAN",
    "cluster tokens",
    "cluster tokens create --max-life-time-period -1",
    "cluster tokens expire --hmac eA== --expiry-time-period -1",
    "acls",
    "acls add --cluster --allow-principal User:a",
    "acls remove --cluster",
    "transactions",
    "transactions describe x",
    "transactions describe-producers --topic t --partition 0",
    "transactions find-hanging --topic t",
    "transactions force-terminate x",
]


def arguments(command: str, directory: Path) -> list[str]:
    plan = directory / "plan.json"
    plan.write_text(PLAN)
    return [str(plan) if word == "PLAN" else word for word in command.split()]


@pytest.mark.parametrize("command", [*COMMANDS, "cluster api-versions"])
def test_a_broker_that_never_answers(command: str, tmp_path: Path) -> None:
    flag = "--request-timeout" if "reassign" in command else "--timeout"
    began_s = time.monotonic()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = str(Address(*silent.getsockname()))
        ran = run(*arguments(command, tmp_path), "--bootstrap-server", address, flag, "0.1")
    assert ran.code == 1
    assert ran.out == "" or ran.out.startswith("Calling "), "tokens say what they ask, as Kafka's tool does"
    assert ran.err.endswith(
        f": {address} does not answer ApiVersions in 0.1 s: is it busy, or is this another port than Kafka's?\n"
    )
    assert time.monotonic() - began_s < 5


@pytest.mark.parametrize("command", COMMANDS)
def test_a_broker_that_is_too_old(command: str, tmp_path: Path) -> None:
    """It answers Metadata, with the topic that is asked for, and nothing else."""
    answers: dict[str, Message] = {}

    def answer(request: Request) -> Message | None:
        return answers.get(request.api.name)

    with FakeBroker(answer, {3: (0, 9), 18: (0, 3)}) as server:
        host, port = server.address
        partition = MetadataResponsePartition(partition_index=0, leader_id=1, replica_nodes=[1], isr_nodes=[1])
        answers["Metadata"] = MetadataResponse(
            brokers=[MetadataResponseBroker(node_id=1, host=host, port=port)],
            controller_id=1,
            topics=[MetadataResponseTopic(name="t", partitions=[partition])],
        )
        ran = run(*arguments(command, tmp_path), "--bootstrap-server", str(server.address), "--yes")
        if ran.code == 2:
            ran = run(*arguments(command, tmp_path), "--bootstrap-server", str(server.address))
    if command == "cluster features":
        # What an old broker says of its features is nothing.
        assert (ran.code, ran.out) == (0, "")
        return
    assert ran.code == 1, ran
    assert ran.err.count("\n") == 1, ran
    assert "Traceback" not in ran.err
    assert "does not offer " in ran.err, ran


def test_api_versions_of_a_broker_that_is_not_where_it_says() -> None:
    answers: dict[str, Message] = {}
    dead = closed_port()
    with FakeBroker(lambda request: answers.get(request.api.name), {3: (0, 4), 999: (1, 1)}) as server:
        places = [(1, server.address), (2, dead)]
        answers["Metadata"] = MetadataResponse(
            brokers=[MetadataResponseBroker(node_id=number, host=at.host, port=at.port) for number, at in places]
        )
        ran = run("cluster", "api-versions", "--bootstrap-server", str(server.address))
    assert ran.code == 1
    assert "\tMetadata(3): 0 to 4 [usable: 4]," in ran.out
    assert "\tUNKNOWN(999): 1" in ran.out
    assert f"{dead} (id: 2 rack: null isFenced: false) -> ERROR: The cluster says that its broker 2 is at" in ran.out
    assert ran.err == "barnabas cluster api-versions: 1 of 2 brokers did not answer: barnabas doctor says why.\n"


def test_endpoints_with_racks() -> None:
    brokers = [
        DescribeClusterBroker(broker_id=10, host="a-long-name.example", port=9092, rack="east"),
        DescribeClusterBroker(broker_id=2, host="b", port=19092, is_fenced=True),
    ]
    described = DescribeClusterResponse(cluster_id="c", brokers=brokers)
    with FakeBroker(lambda request: described if request.api is APIS[60] else None) as server:
        ran = run("cluster", "endpoints", "--include-fenced-brokers", "--bootstrap-server", str(server.address))
    assert [line.split() for line in ran.out.splitlines()] == [
        ["ID", "HOST", "PORT", "RACK", "STATE", "ENDPOINT_TYPE"],
        ["2", "b", "19092", "null", "fenced", "broker"],
        ["10", "a-long-name.example", "9092", "east", "unfenced", "broker"],
    ]
