"""What Prometheus is told."""

from __future__ import annotations

import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from barnabas.broker.metrics.elections import Elections
from barnabas.broker.metrics.exposition import COUNTER, Metric, exposed
from barnabas.coordination.cluster.image import ClusterImage
from barnabas.coordination.cluster.records import MetadataRecord
from barnabas.protocol.records import cluster_metadata as r
from barnabas.protocol.schema import Data
from tests.broker.running import RunningNode
from tests.cluster.asking import create
from tests.coordination.cluster import samples


@pytest.fixture
def place(tmp_path: Path) -> Iterator[tuple[RunningNode, tuple[str, int]]]:
    with RunningNode(tmp_path, barnabas_metrics_listen="127.0.0.1:0") as node:
        address = node.do(lambda node: node.metrics.address)
        assert address is not None
        yield node, address


def scrape(address: tuple[str, int]) -> dict[str, float]:
    with urllib.request.urlopen(f"http://{address[0]}:{address[1]}/metrics", timeout=10) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        lines = answer.read().decode().splitlines()
    told = [line for line in lines if not line.startswith("#")]
    assert len(lines) == 3 * len(told), "each metric has its help and its type"
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in told)}


def test_a_node_tells_what_it_has(place: tuple[RunningNode, tuple[str, int]]) -> None:
    node, address = place
    with node.client() as client:
        assert create(client, "one", [1], [1], [1]) == 0
    told = scrape(address)
    assert told["kafka_server_replicamanager_partitioncount"] == 3
    assert told["kafka_server_replicamanager_leadercount"] == 3
    assert told["kafka_server_replicamanager_underreplicatedpartitions"] == 0
    assert told["kafka_server_replicamanager_underminisrpartitioncount"] == 0
    assert told["kafka_server_replicamanager_atminisrpartitioncount"] == 3
    assert told["kafka_server_replicamanager_offlinereplicacount"] == 0
    assert told["kafka_server_replicamanager_isrexpands_total"] == 0
    assert told["kafka_server_replicamanager_isrshrinks_total"] == 0
    assert told["kafka_server_replicamanager_failedisrupdates_total"] == 0
    assert told['kafka_server_replicafetchermanager_maxlag{clientId="Replica"}'] == 0
    assert told['kafka_server_replicafetchermanager_failedpartitionscount{clientId="Replica"}'] == 0
    assert told["kafka_controller_kafkacontroller_activecontrollercount"] == 1
    assert told["kafka_controller_kafkacontroller_activebrokercount"] == 1
    assert told["kafka_controller_kafkacontroller_globalpartitioncount"] == 3
    assert told["kafka_controller_kafkacontroller_offlinepartitionscount"] == 0
    assert told["kafka_server_broker_metadata_metrics_last_applied_record_offset"] == node.do(
        lambda node: node.image.next_offset - 1
    )
    assert told["process_resident_memory_bytes"] > 1 << 20


def test_there_are_none_where_nobody_asked_for_them(tmp_path: Path) -> None:
    with RunningNode(tmp_path) as node:
        assert node.do(lambda node: node.metrics.address) is None


@pytest.mark.parametrize(("method", "path", "code"), [("POST", "/metrics", 405), ("GET", "/", 404)])
def test_what_is_asked_otherwise_is_told_so(
    place: tuple[RunningNode, tuple[str, int]], method: str, path: str, code: int
) -> None:
    request = urllib.request.Request(f"http://{place[1][0]}:{place[1][1]}{path}", method=method)
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=10)
    assert refused.value.code == code
    refused.value.close()


@pytest.mark.parametrize("said", [b"", b"\x16\x03\x01garbage", b"GET /metrics HTTP/1.1\r\n" + b"x" * 20_000])
def test_who_says_nothing_sensible_is_let_go(place: tuple[RunningNode, tuple[str, int]], said: bytes) -> None:
    # What was not read makes the system's end a rude one, perhaps while more is sent.
    with socket.create_connection(place[1], timeout=20) as client, suppress(OSError):
        client.sendall(said)
        client.shutdown(socket.SHUT_WR)
        assert client.recv(1000) == b""
    assert scrape(place[1])


def test_labels_and_numbers_as_prometheus_reads_them() -> None:
    values = [({"source": 'a "b"\\\n'}, 1.5), ({}, 2.0)]
    assert exposed([Metric("x_total", COUNTER, "What it is.", values)]) == (
        b'# HELP x_total What it is.\n# TYPE x_total counter\nx_total{source="a \\"b\\"\\\\\\n"} 1.5\nx_total 2\n'
    )


def test_elections_are_counted() -> None:
    elections, image = Elections(), ClusterImage()

    def apply(*messages: Data) -> None:
        elections.note(image.apply_batch([MetadataRecord(one) for one in messages], image.next_offset))

    apply(samples.feature("metadata.version", 30), r.TopicRecord("one", samples.TOPIC_ID))
    apply(samples.partition(0, [1, 2, 3]))
    assert (elections.leaders, elections.unclean) == (0, 0)
    change = samples.change()
    change.leader, change.isr = 2, [2, 3]
    apply(change)
    assert (elections.leaders, elections.unclean) == (1, 0)
    nobody = samples.change()
    nobody.leader, nobody.isr = -1, [2]
    apply(nobody)
    assert elections.leaders == 1
    unclean = samples.change()
    unclean.leader, unclean.isr, unclean.leader_recovery_state = 3, [3], 1
    apply(unclean)
    assert (elections.leaders, elections.unclean) == (2, 1)
