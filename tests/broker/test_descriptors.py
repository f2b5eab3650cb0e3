"""The limit on open files: clients in vain wait for their connection, and no log is ever offline for want of a file."""

from __future__ import annotations

import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from barnabas.protocol.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from barnabas.protocol.record import Record
from tests.cli.starting import StartedBroker
from tests.clients.waiting import wait_until
from tests.kafka.client import RawClient

from .asking import create
from .attackers import frame

pytestmark = pytest.mark.slow

TOPIC = "orders"
SEGMENT_BYTES = str(1 << 20)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[StartedBroker]:
    with StartedBroker(tmp_path).wait_ready() as started:
        yield started
        started.signal()
        assert (started.wait(), started.errors) == (0, "")


def files(broker: StartedBroker) -> int:
    return len(list(Path(f"/proc/{broker.process.pid}/fd").iterdir()))


def limit(broker: StartedBroker, count: int) -> None:
    hard = resource.prlimit(broker.process.pid, resource.RLIMIT_NOFILE)[1]
    resource.prlimit(broker.process.pid, resource.RLIMIT_NOFILE, (count, hard))


def produce(client: RawClient, size: int) -> int:
    """The error code."""
    batch = build_batch([Record(value=bytes(size), timestamp=1_700_000_000_000)])
    data = TopicProduceData(TOPIC, partition_data=[PartitionProduceData(index=0, records=batch)])
    answer = client.ask(ProduceRequest(acks=-1, timeout_ms=5_000, topic_data=[data]), 12, ProduceResponse)
    return answer.responses[0].partition_responses[0].error_code


def end_offset(client: RawClient) -> int:
    asked = ListOffsetsTopic(name=TOPIC, partitions=[ListOffsetsPartition(partition_index=0, timestamp=-1)])
    return client.ask(ListOffsetsRequest(topics=[asked]), 7, ListOffsetsResponse).topics[0].partitions[0].offset


def told(broker: StartedBroker, text: str) -> int:
    return sum(text in message for message in broker.messages)


def test_more_clients_than_files(broker: StartedBroker) -> None:
    with broker.client() as client, ExitStack() as clients:
        create(client, TOPIC, segment_bytes=SEGMENT_BYTES)
        limit(broker, files(broker) + 60)
        crowd = [clients.enter_context(socket.create_connection(broker.address)) for _ in range(80)]
        wait_until(lambda: told(broker, "no more connections can be accepted"), "the broker to say so")
        # Logs have the files that they need, and topics can be created.
        assert [produce(client, 600_000) for _ in range(6)] == [0] * 6
        create(client, "more", 3)
        last = crowd[-1]
        last.sendall(frame(ApiVersionsRequest(client_software_name="test", client_software_version="1"), 3))
        for sock in crowd[:-1]:
            sock.close()
        # Who has waited gets in.
        last.settimeout(20)
        assert last.recv(100)
        with broker.client() as other:
            request = ApiVersionsRequest(client_software_name="test", client_software_version="1")
            assert other.ask(request, 3, ApiVersionsResponse).error_code == 0
    assert told(broker, "no more connections can be accepted") == 1
    assert told(broker, "offline") == 0


def test_no_file_at_all(broker: StartedBroker) -> None:
    """Another part of the program, or the system, has taken them."""
    with broker.client() as client, broker.client() as other:
        create(client, TOPIC, segment_bytes=SEGMENT_BYTES)
        assert produce(client, 600_000) == 0
        assert end_offset(other) == 1  # it has come in, and what it asks has been loaded
        limit(broker, files(broker))
        # The next segment cannot be opened.
        assert [produce(client, 600_000) for _ in range(3)] == [ErrorCode.KAFKA_STORAGE_ERROR] * 3
        assert end_offset(other) == 1
        limit(broker, files(broker) + 100)
        assert [produce(client, 600_000) for _ in range(3)] == [0] * 3
    assert told(broker, "offline") == 0
