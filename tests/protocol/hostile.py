"""Everything in protocol/ that reads bytes, behind one door: an input's first byte says which reader gets the rest."""

from __future__ import annotations

from contextlib import suppress

from barnabas.protocol.apis import APIS
from barnabas.protocol.batch_rules import check_batch, produced_batch
from barnabas.protocol.batches import iterate_batches
from barnabas.protocol.codec import decode, decode_from, encode
from barnabas.protocol.errors import KafkaError, MalformedFrame
from barnabas.protocol.frames import FrameReader, decode_request
from barnabas.protocol.record import read_records
from barnabas.protocol.schema import Data

from .generated import every_version

MAX_FRAME_BYTES = 10_000
MAX_RECORD_BYTES = 100_000

MESSAGES: list[tuple[type[Data], int]] = list(every_version())


def try_input(data: bytes) -> None:
    """Only MalformedFrame and KafkaError may come out of a reader, and they end here."""
    if data:
        with suppress(MalformedFrame, KafkaError):
            READERS[data[0] % len(READERS)](data[1:])


def read_stream(data: bytes) -> None:
    reader = FrameReader(MAX_FRAME_BYTES)
    reader.receive(data)
    while (frame := reader.next_frame()) is not None:
        request = decode_request(frame)
        assert request.api is APIS[request.header.request_api_key]
        check_rewriting(request.message, request.header.request_api_version)


def read_request(data: bytes) -> None:
    read_stream(len(data).to_bytes(4, "big") + data)


def read_message(data: bytes) -> None:
    """Any message or record; two bytes say which."""
    cls, version = MESSAGES[int.from_bytes(data[:2], "big") % len(MESSAGES)]
    message, _ = decode_from(cls, version, data, 2)
    check_rewriting(message, version)


def check_rewriting(message: Data, version: int) -> None:
    """What decoded can be written, and is the same when it has been through that: tags in order, no tag a default."""
    written = encode(message, version)
    assert encode(decode(type(message), version, written), version) == written


def read_batches(data: bytes) -> None:
    for batch in iterate_batches(data):
        with suppress(MalformedFrame):
            batch.check()
        for _ in read_records(batch, MAX_RECORD_BYTES):
            pass


def read_produced(data: bytes) -> None:
    check_batch(produced_batch(data, 13), MAX_FRAME_BYTES)


READERS = [read_stream, read_request, read_message, read_batches, read_produced]
