"""`barnabas start`, as a process: ready, stopped, killed, refused."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.cli.health import main as health
from barnabas.cli.version import VERSION
from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from barnabas.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from barnabas.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from barnabas.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from barnabas.protocol.record import Record
from tests.kafka.client import RawClient

from .starting import StartedBroker

pytestmark = pytest.mark.slow

TOPIC = "orders"


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[StartedBroker]:
    with StartedBroker(tmp_path / "here") as started:
        yield started.wait_ready()


def create(client: RawClient) -> None:
    topic = CreatableTopic(name=TOPIC, num_partitions=1, replication_factor=1)
    answer = client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=5_000), 7, CreateTopicsResponse)
    assert [one.error_code for one in answer.topics] == [0]


def produce(client: RawClient, value: bytes) -> None:
    data = PartitionProduceData(index=0, records=build_batch([Record(value=value, timestamp=1)]))
    request = ProduceRequest(acks=-1, timeout_ms=5_000, topic_data=[TopicProduceData(TOPIC, partition_data=[data])])
    answer = client.ask(request, 12, ProduceResponse)
    assert answer.responses[0].partition_responses[0].error_code == 0


def end_offset(client: RawClient) -> int:
    topic = ListOffsetsTopic(name=TOPIC, partitions=[ListOffsetsPartition(partition_index=0, timestamp=-1)])
    answer = client.ask(ListOffsetsRequest(topics=[topic]), 7, ListOffsetsResponse)
    return answer.topics[0].partitions[0].offset


def fetch_request(max_wait_ms: int, min_bytes: int = 1, offset: int = 0) -> FetchRequest:
    partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 30)
    topics = [FetchTopic(topic=TOPIC, partitions=[partition])]
    return FetchRequest(
        max_wait_ms=max_wait_ms, min_bytes=min_bytes, max_bytes=1 << 30, topics=topics, session_epoch=-1
    )


def test_without_anything_it_formats_a_directory_and_is_ready(broker: StartedBroker) -> None:
    banner = broker.banner
    data = broker.directory / "barnabas-data"
    assert banner["version"] == VERSION
    assert banner["directories"] == [str(data)]
    assert banner["durability"] == "kafka"
    assert (banner["topics"], banner["partitions"]) == (0, 0)
    assert f"cluster.id={banner['cluster_id']}\n" in (data / "meta.properties").read_text()
    assert health([":".join(map(str, broker.address))]) == 0
    broker.signal()
    assert (broker.wait(), broker.errors) == (0, "")
    assert (data / ".kafka_cleanshutdown").exists()
    assert broker.messages[-1] == "the broker has stopped"


def test_the_partitions_lie_directly_in_the_directory_that_is_named(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with StartedBroker(tmp_path, "--data", str(data)) as broker, broker.wait_ready().client() as client:
        create(client)
        assert (data / f"{TOPIC}-0" / "00000000000000000000.log").exists()


def test_who_waits_for_records_is_answered_when_the_broker_stops(broker: StartedBroker) -> None:
    with broker.client() as client, broker.client() as other:
        create(client)
        produce(client, b"there")
        began = time.monotonic()

        def stop_when_it_waits() -> None:
            # Its own answer says that the request before it, on another connection, was read.
            end_offset(other)
            broker.signal()

        client.send(fetch_request(60_000, min_bytes=1000), 12)
        stop_when_it_waits()
        answer = client.receive(FetchResponse)
        assert answer.responses[0].partitions[0].error_code in (0, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert broker.wait() == 0
    assert time.monotonic() - began < 10


def test_a_second_signal_ends_it_at_once(broker: StartedBroker) -> None:
    with broker.client() as client:
        create(client)
        for _ in range(16):
            produce(client, bytes(1_000_000))
        # An answer that is larger than all buffers, and that nobody reads: the stop waits for a while.
        for _ in range(8):
            client.send(fetch_request(0), 12)
        broker.signal()
        wait_until_told(broker, "the broker stops")
        broker.signal(signal.SIGINT)
        assert broker.wait() == 128 + signal.SIGINT
    assert not (broker.directory / "barnabas-data" / ".kafka_cleanshutdown").exists()


def wait_until_told(broker: StartedBroker, text: str) -> None:
    deadline = time.monotonic() + 10
    while not any(text in message for message in broker.messages):
        assert time.monotonic() < deadline, broker.messages


def test_what_was_acknowledged_is_there_after_kill(tmp_path: Path) -> None:
    with StartedBroker(tmp_path) as broker, broker.wait_ready().client() as client:
        create(client)
        for number in range(100):
            produce(client, b"%d" % number)
        broker.signal(signal.SIGKILL)
        assert broker.wait() == -signal.SIGKILL
    with StartedBroker(tmp_path) as broker, broker.wait_ready().client() as client:
        assert end_offset(client) == 100
        assert broker.banner["topics"] == 1
        assert [line for line in broker.lines if line["level"] != "info"] == []


def test_a_second_broker_on_the_same_directory_is_told_of_the_first(broker: StartedBroker) -> None:
    with StartedBroker(broker.directory) as second:
        assert second.wait() == 1
        assert f"in use by barnabas, process {broker.process.pid}" in second.errors
        assert len(second.errors.splitlines()) == 1
    with broker.client() as client:
        create(client)


def test_an_address_that_is_taken_is_named(broker: StartedBroker, tmp_path: Path) -> None:
    host, port = broker.address
    with StartedBroker(tmp_path / "other", listen=f"{host}:{port}") as second:
        assert second.wait() == 1
        assert f"cannot listen on {host}:{port}" in second.errors
        assert "Traceback" not in second.errors


def test_a_client_that_talks_nonsense_leaves_no_traceback(broker: StartedBroker) -> None:
    with socket.create_connection(broker.address, timeout=10) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert connection.recv(100) == b""
    assert health([":".join(map(str, broker.address))]) == 0
    broker.signal()
    assert (broker.wait(), broker.errors) == (0, "")
    assert "Traceback" not in json.dumps(broker.lines)


def test_people_get_a_banner_and_lines_and_may_stop_reading(tmp_path: Path) -> None:
    """As in `barnabas start | head`."""
    with subprocess.Popen(
        [sys.executable, "-m", "barnabas.cli", "start", "--listen", "127.0.0.1:0", "--set", "num.partition=3"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        lines = []
        for line in process.stdout:
            lines.append(line)
            if "topics" in line:
                break
        process.stdout.close()
        process.terminate()
        assert (process.wait(15), process.stderr.read()) == (0, "")
    told = "".join(lines)
    assert "WARNING num.partition is no key of a broker, and is left alone: did you mean num.partitions?" in told
    assert f"Barnabas {VERSION} is ready" in told
    assert f"data        {tmp_path / 'barnabas-data'}" in told


def test_as_many_files_as_the_user_may_have() -> None:
    code = (
        "from resource import RLIMIT_NOFILE as FILES, getrlimit, setrlimit\n"
        "possible = getrlimit(FILES)[1]\n"
        "setrlimit(FILES, (256, possible))\n"
        "from barnabas.cli.start import allow_all_files\n"
        "allow_all_files()\n"
        "print(getrlimit(FILES) == (possible, possible))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"
