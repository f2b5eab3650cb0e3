"""What young brokers got wrong with records, asked request by request."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from barnabas.protocol.apis import APIS
from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.compression import Compression
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.frames import encode_request
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from barnabas.protocol.record import Record, read_records
from tests.clients.broker_process import BrokerProcess
from tests.clients.raw_records import create_topic, fetch, list_offset, produce, produce_request
from tests.clients.waiting import wait_until
from tests.kafka.client import RawClient

LONG_AGO = 1_700_000_000_000
LATEST, HIGHEST_TIMESTAMP = -1, -3
IN_FLIGHT = 5
PRODUCE = 0


@pytest.fixture
def client(broker: BrokerProcess) -> Iterator[RawClient]:
    with RawClient(broker.host, broker.port) as connected:
        yield connected


def batch_of(count: int, compression: Compression = Compression.NONE, first_timestamp: int = LONG_AGO) -> bytes:
    records = [Record(value=b"%d" % number, timestamp=first_timestamp + number) for number in range(count)]
    for number, record in enumerate(records):
        record.offset = number
    return build_batch(records, compression=compression)


@pytest.mark.parametrize("compression", list(Compression), ids=lambda one: one.name.lower())
def test_an_offset_in_mid_batch_gives_the_whole_batch(client: RawClient, name: str, compression: Compression) -> None:
    create_topic(client, name)
    for number in range(3):
        assert produce(client, name, batch_of(10, compression)).base_offset == 10 * number
    for offset, first in ((0, 0), (7, 0), (10, 10), (19, 10), (25, 20)):
        batches = fetch(client, name, offset)
        assert [one.base_offset for one in batches] == list(range(first, 30, 10))
        assert [record.value for record in read_records(batches[0])] == [b"%d" % number for number in range(10)]


@pytest.mark.parametrize("compression", list(Compression), ids=lambda one: one.name.lower())
def test_a_time_within_a_batch_finds_its_record(client: RawClient, name: str, compression: Compression) -> None:
    create_topic(client, name)
    for number in range(3):
        produce(client, name, batch_of(10, compression, first_timestamp=LONG_AGO + 100 * number))
    for timestamp, offset in ((0, 0), (4, 4), (9, 9), (10, 10), (105, 15), (110, 20), (209, 29)):
        found = list_offset(client, name, LONG_AGO + timestamp)
        assert (found.error_code, found.offset) == (0, offset)
        assert found.timestamp == LONG_AGO + 100 * (offset // 10) + offset % 10
    beyond = list_offset(client, name, LONG_AGO + 210)
    assert (beyond.error_code, beyond.offset, beyond.timestamp) == (0, -1, -1)
    assert list_offset(client, name, HIGHEST_TIMESTAMP).offset == 29


def test_a_topic_has_its_own_largest_message(client: RawClient, name: str) -> None:
    create_topic(client, name, {"max.message.bytes": "1000"})
    large = build_batch([Record(value=bytes(1_000), timestamp=LONG_AGO)])
    assert produce(client, name, large).error_code == ErrorCode.MESSAGE_TOO_LARGE
    small = build_batch([Record(value=bytes(900), timestamp=LONG_AGO)])
    assert produce(client, name, small).error_code == 0
    packed = build_batch([Record(value=bytes(100_000), timestamp=LONG_AGO)], compression=Compression.ZSTD)
    assert len(packed) < 1_000
    assert produce(client, name, packed).error_code == 0  # the size of the batch counts, as it came


def new_producer_id(client: RawClient) -> int:
    """A broker that has just started may ask for patience."""
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
    given = [-1]

    def is_given() -> bool:
        given[0] = client.ask(request, 4, InitProducerIdResponse).producer_id
        return given[0] >= 0

    wait_until(is_given, "a producer id")
    return given[0]


def numbered_batch(producer_id: int, sequence: int) -> bytes:
    # Not from long ago: with the producer's last batch its state expires.
    record = Record(value=b"%d" % sequence, timestamp=int(time.time() * 1000))
    return build_batch([record], producer_id=producer_id, producer_epoch=0, base_sequence=sequence)


def send_without_reading(broker: BrokerProcess, topic: str, batches: list[bytes]) -> None:
    """All at once, and gone before an answer can come."""
    with RawClient(broker.host, broker.port) as client:
        for number, batch in enumerate(batches):
            frame = encode_request(APIS[PRODUCE], 12, number, "raw", produce_request(topic, batch))
            client._socket.sendall(b"".join(frame))  # type: ignore[arg-type] # nothing of it is a file
        with RawClient(broker.host, broker.port) as other:
            wait_until(lambda: list_offset(other, topic, LATEST).offset >= len(batches), "the batches to be there")


@pytest.mark.slow
@pytest.mark.parametrize("kill", [False, True], ids=["stop", "kill"])
def test_five_batches_whose_answers_were_lost(own_broker: Callable[..., BrokerProcess], name: str, kill: bool) -> None:
    """Sent again, before a restart and after it, they are there once, in order."""
    broker = own_broker()
    with RawClient(broker.host, broker.port) as client:
        create_topic(client, name)
        producer_id = new_producer_id(client)
    batches = [numbered_batch(producer_id, sequence) for sequence in range(IN_FLIGHT)]
    send_without_reading(broker, name, batches)
    with RawClient(broker.host, broker.port) as client:
        again = [produce(client, name, batch) for batch in batches]
        assert [(one.error_code, one.base_offset) for one in again] == [(0, offset) for offset in range(IN_FLIGHT)]
    broker.restart(kill=kill)
    with RawClient(broker.host, broker.port) as client:
        *earlier, last = (produce(client, name, batch) for batch in batches)
        assert (last.error_code, last.base_offset) == (0, IN_FLIGHT - 1)
        # A snapshot of producers holds the last batch of each only, so Kafka refuses those before it; a log that is
        # read again tells them all. Neither appends.
        refused = (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
        for offset, one in enumerate(earlier):
            assert (one.error_code, one.base_offset) in (refused, (0, offset))
        gap = produce(client, name, numbered_batch(producer_id, IN_FLIGHT + 1))
        assert gap.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        assert produce(client, name, numbered_batch(producer_id, IN_FLIGHT)).base_offset == IN_FLIGHT
        values = [record.value for batch in fetch(client, name, 0) for record in read_records(batch)]
    assert values == [b"%d" % sequence for sequence in range(IN_FLIGHT + 1)]
