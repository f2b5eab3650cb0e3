"""`barnabas doctor` of a cluster: one that is well, and each hop that can fail."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from barnabas.cli.doctor import hops
from barnabas.cli.doctor.hops import is_local
from barnabas.cli.doctor.needs import check_needs, kafka_python_versions
from barnabas.cli.doctor.remote import check_cluster, clock_check
from barnabas.client.address import Address
from barnabas.client.properties import ClientProperties
from barnabas.protocol.frames import Request
from barnabas.protocol.messages.describe_cluster import DescribeClusterResponse
from barnabas.protocol.messages.describe_log_dirs import DescribeLogDirsResponse, DescribeLogDirsResult
from barnabas.protocol.messages.describe_quorum import DescribeQuorumResponse
from barnabas.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from barnabas.protocol.schema import Message
from tests.cli.beside import Side, run
from tests.client.fake_servers import FakeBroker, FakeServer, closed_port

PLENTY_S = 10.0


def states(checks: list[Any]) -> dict[str, str]:
    return {check.what: check.state for check in checks}


def test_a_cluster_that_is_well(side: Side, name: str) -> None:
    side.create(name, 3)
    told = side.json("doctor")
    assert told["ok"] is True
    by_name = {each["what"]: each for each in told["checks"]}
    assert {name: each["state"] for name, each in by_name.items() if name != "versions"} == dict.fromkeys(
        [
            *(f"bootstrap: {hop}" for hop in ("name", "port", "Kafka")),
            *(f"broker 1: {hop}" for hop in ("name", "port", "Kafka", "cluster")),
            *("clock", "leaders", "replicas", "directory"),
        ],
        "ok",
    )
    assert by_name["broker 1: Kafka"]["where"] == side.bootstrap
    assert by_name["versions"]["state"] in ("ok", "warn")
    assert by_name["clock"]["found"].startswith("as here, within ")
    assert "GiB free" in by_name["directory"]["found"]
    text = side.run("doctor")
    assert text.splitlines()[0].startswith("ok       bootstrap: name")
    assert "checks" in text.splitlines()[-1]


def test_nobody_there() -> None:
    address = closed_port()
    ran = run("doctor", "--bootstrap-server", str(address))
    assert ran.code == 1
    assert ran.err == ""
    assert "127.0.0.1: Connection refused" in ran.out
    assert "-> start the broker, or name the port where it listens" in ran.out
    assert ran.out.endswith("1 of 2 checks failed: begin with the first of them.\n")


def test_a_name_that_nobody_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    (check,) = check_cluster([Address("kafka.example", 9092)], ClientProperties(), PLENTY_S)
    assert (check.state, check.what) == ("fail", "bootstrap: name")
    assert "kafka.example cannot be resolved" in check.found


def test_something_else_there() -> None:
    def web(connection: socket.socket) -> None:
        if connection.recv(1 << 16):
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            connection.recv(1 << 16)

    with FakeServer(web) as server:
        checks = check_cluster([server.address], ClientProperties(), PLENTY_S)
    assert states(checks) == {"bootstrap: name": "ok", "bootstrap: port": "ok", "bootstrap: Kafka": "fail"}
    assert "is a web server and no Kafka broker" in checks[-1].found


def test_one_of_two_bootstrap_addresses_is_dead(ours: Side) -> None:
    dead, works = closed_port(), Address(ours.broker.host, ours.broker.port)
    checks = check_cluster([dead, works], ClientProperties(), PLENTY_S)
    assert [check.where for check in checks if check.state == "fail"] == [str(dead)]
    assert states(checks)["broker 1: Kafka"] == "ok", "the other is gone on with"


def test_a_name_of_which_one_address_does_not_answer(ours: Side, monkeypatch: pytest.MonkeyPatch) -> None:
    """As localhost, where a broker listens at 127.0.0.1 only and clients begin with ::1."""
    works = Address(ours.broker.host, ours.broker.port)
    dead = closed_port()
    places = [(socket.AF_INET, tuple(dead)), (socket.AF_INET, tuple(works))]
    monkeypatch.setattr(hops, "resolve", lambda *_: places)
    (port,) = [
        check for check in check_cluster([works], ClientProperties(), PLENTY_S) if check.what == "bootstrap: port"
    ]
    assert port.state == "warn"
    assert "open, in " in port.found
    assert "127.0.0.1: Connection refused" in port.found


Answers = dict[str, Message]


def broker_of(answers: Answers) -> FakeBroker:
    def answer(request: Request) -> Message | None:
        return answers.get(request.api.name)

    return FakeBroker(answer)


def metadata_of(*addresses: Address, **fields: Any) -> MetadataResponse:
    brokers = [
        MetadataResponseBroker(node_id=number, host=address.host, port=address.port)
        for number, address in enumerate(addresses, 1)
    ]
    return MetadataResponse(brokers=brokers, cluster_id="ours", **fields)


def test_an_advertised_address_that_nobody_reaches() -> None:
    dead = closed_port()
    answers: Answers = {"Metadata": metadata_of(dead)}
    with broker_of(answers) as server:
        checks = check_cluster([server.address], ClientProperties(), PLENTY_S)
    (check,) = [check for check in checks if check.what == "broker 1: port"]
    assert (check.state, check.where) == ("fail", str(dead))
    assert check.advice is not None
    assert "make advertised.listeners of broker 1 one that they reach" in check.advice


def test_an_advertised_address_of_another_cluster() -> None:
    answers: Answers = {"DescribeCluster": DescribeClusterResponse(cluster_id="theirs")}
    with broker_of({"DescribeCluster": DescribeClusterResponse(cluster_id="theirs")}) as other:
        answers["Metadata"] = metadata_of(other.address)
        with broker_of(answers) as server:
            checks = check_cluster([server.address], ClientProperties(), PLENTY_S)
    (check,) = [check for check in checks if check.what == "broker 1: cluster"]
    assert check.state == "fail"
    assert check.found == "is of cluster theirs, and the bootstrap of ours"


def test_a_broker_that_calls_itself_localhost(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: Answers = {"Metadata": metadata_of(Address("127.0.0.1", 1))}
    with broker_of(answers) as server:
        port = server.address.port
        found = [(socket.AF_INET, ("127.0.0.1", port))]
        monkeypatch.setattr(hops, "resolve", lambda *_: found)
        monkeypatch.setattr("barnabas.client.dialing.resolve", lambda *_: found)
        checks = check_cluster([Address("kafka.example", port)], ClientProperties(), PLENTY_S)
    (check,) = [check for check in checks if check.what == "advertised"]
    assert check.state == "warn"
    assert check.advice == "set advertised.listeners to a name that clients reach it by, such as kafka.example."


@pytest.mark.parametrize(
    ("host", "local"),
    [("localhost", True), ("127.0.0.1", True), ("::1", True), ("0.0.0.0", True), ("10.0.0.1", False), ("a.b", False)],
)
def test_names_that_every_machine_has_for_itself(host: str, local: bool) -> None:
    assert is_local(Address(host, 1)) is local


def sick() -> tuple[Callable[[Address], Answers], list[str]]:
    def answers(address: Address) -> Answers:
        partitions = [
            MetadataResponsePartition(partition_index=0, leader_id=-1, replica_nodes=[1], isr_nodes=[1]),
            *(
                MetadataResponsePartition(partition_index=number, leader_id=1, replica_nodes=[1, 2], isr_nodes=[1])
                for number in range(1, 9)
            ),
        ]
        topic = MetadataResponseTopic(name="t", partitions=partitions)
        directories = [
            DescribeLogDirsResult(error_code=56, log_dir="/broken"),
            DescribeLogDirsResult(error_code=0, log_dir="/full", total_bytes=1 << 40, usable_bytes=1 << 30),
            DescribeLogDirsResult(error_code=0, log_dir="/old"),
        ]
        return {
            "Metadata": metadata_of(address, topics=[topic]),
            "DescribeCluster": DescribeClusterResponse(cluster_id="ours"),
            "DescribeQuorum": DescribeQuorumResponse(error_code=31),
            "DescribeLogDirs": DescribeLogDirsResponse(results=directories),
        }

    return answers, ["leaders", "directory"]


def test_a_cluster_that_is_not_well() -> None:
    make, failing = sick()
    answers: Answers = {}
    with broker_of(answers) as server:
        answers.update(make(server.address))
        checks = check_cluster([server.address], ClientProperties(), PLENTY_S)
    assert [check.what for check in checks if check.state == "fail"] == failing
    found = {(check.what, check.state): check.found for check in checks}
    assert found["leaders", "fail"] == "t-0 have none"
    assert found["replicas", "warn"] == "t-1, t-2, t-3, t-4, t-5 and 3 more are under-replicated"
    assert found["directory", "fail"] == "/broken: KAFKA_STORAGE_ERROR"
    assert found["directory", "warn"].startswith("/full: 1.0 of 1,024.0 GiB free")
    assert found["directory", "ok"] == "/old"
    assert found["clock", "unknown"].startswith("not known: ")


@pytest.mark.parametrize(
    ("theirs_s", "state", "found"),
    [
        (100.05, "ok", "as here, within 100.0 ms"),
        (99.5, "ok", "0.500 s behind this machine's"),
        (98.0, "warn", "2.000 s behind this machine's"),
        (103.1, "warn", "3.000 s ahead of this machine's"),
        (1100.1, "fail", "1000.000 s ahead of this machine's"),
    ],
)
def test_how_far_clocks_are_apart(theirs_s: float, state: str, found: str) -> None:
    check = clock_check("controller 1", theirs_s, 100.0, 100.1)
    assert (check.state, check.found) == (state, found)


def test_versions_that_clients_need() -> None:
    needed = kafka_python_versions()
    assert {0, 1, 3, 18} <= needed.keys()
    (check,) = check_needs("a:1", needed, needed)
    assert check.state == "ok"
    (check,) = check_needs("a:1", {key: versions for key, versions in needed.items() if key != 26}, needed)
    assert (check.state, check.found) == ("warn", "all that kafka-python asks for but EndTxn")
    (check,) = check_needs("a:1", {**needed, 0: (90, 99), 1: (0, 0)}, {0: (3, 13), 1: (4, 18), 3: (0, 13)})
    assert check.state == "fail"
    assert check.found == "Produce 90 to 99, and the library 3 to 13; Fetch 0 to 0, and the library 4 to 18"
    (check,) = check_needs("a:1", {}, {0: (3, 13)})
    assert (check.state, check.found) == ("fail", "does not offer Produce")


def test_options_of_this_machine_go_with_local() -> None:
    ran = run("doctor", "--data", "x")
    assert ran.code == 2
    assert "--data goes with --local" in ran.err


def test_wrong_properties(tmp_path: Path) -> None:
    ran = run("doctor", "--command-config", str(tmp_path / "none"))
    assert ran.code == 1
    assert "cannot be read" in ran.err
