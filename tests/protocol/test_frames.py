"""Frames: any split of the bytes, the limit, headers, and what is not spoken here."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.protocol.apis import API_VERSIONS, APIS, Api
from barnabas.protocol.codec import UnencodableMessage, encode
from barnabas.protocol.errors import ErrorCode, MalformedFrame
from barnabas.protocol.frames import (
    FrameReader,
    Request,
    UnsupportedRequest,
    decode_request,
    decode_response,
    encode_request,
    encode_response,
    unsupported_api_versions,
)
from barnabas.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.protocol.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from barnabas.protocol.messages.header import RequestHeader, ResponseHeader
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.protocol.schema import Message

METADATA, PRODUCE, FETCH = APIS[3], APIS[0], APIS[1]


def joined(chunks: list[object]) -> bytes:
    return b"".join(chunks)  # type: ignore[arg-type]


def metadata_frame(topic: str = "orders", correlation_id: int = 7) -> bytes:
    message = MetadataRequest(topics=[MetadataRequestTopic(name=topic)])
    return joined([*encode_request(METADATA, 12, correlation_id, "test", message)])


def frames_of(reader: FrameReader, *pieces: bytes) -> Iterator[bytes]:
    for piece in pieces:
        reader.receive(piece)
        while (frame := reader.next_frame()) is not None:
            yield bytes(frame)


@given(
    bodies=st.lists(st.binary(max_size=40), max_size=6),
    cuts=st.lists(st.integers(0, 300), max_size=12),
)
def test_any_split_gives_the_same_frames(bodies: list[bytes], cuts: list[int]) -> None:
    frames = [pack(">i", len(body)) + body for body in bodies]
    stream = b"".join(frames)
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    pieces = [stream[start:end] for start, end in pairwise(edges)]
    assert list(frames_of(FrameReader(40), *pieces)) == frames


def test_a_frame_byte_by_byte_and_with_the_next_one_begun() -> None:
    first, second = metadata_frame("a"), metadata_frame("b" * 3000)
    assert list(frames_of(FrameReader(10_000), *(bytes([byte]) for byte in first + second))) == [first, second]
    reader = FrameReader(10_000)
    assert list(frames_of(reader, first + second[:100])) == [first]
    assert list(frames_of(reader, second[100:])) == [second]


def test_a_read_of_one_frame_is_not_copied() -> None:
    data = metadata_frame()
    reader = FrameReader(1000)
    reader.receive(data)
    assert reader.next_frame() is data


def test_a_frame_in_pieces_is_copied_once() -> None:
    """The buffer in which the pieces met is the frame, and the next one gets a buffer of its own."""
    reader = FrameReader(1000)
    data = metadata_frame()
    reader.receive(data[:9])
    reader.receive(data[9:])
    frame = reader.next_frame()
    reader.receive(data)
    assert frame == data
    assert reader.next_frame() == data


@pytest.mark.parametrize("size", [1001, 2**31 - 1, -1, -(2**31)])
def test_a_size_over_the_limit_or_below_zero_is_refused_at_once(size: int) -> None:
    reader = FrameReader(1000)
    reader.receive(pack(">i", size))
    with pytest.raises(MalformedFrame, match=f"claims {size} bytes"):
        reader.next_frame()


def test_a_frame_of_exactly_the_limit_is_taken_and_frames_before_a_bad_one_too() -> None:
    reader = FrameReader(1000)
    reader.receive(pack(">i", 1000) + bytes(1000) + pack(">i", 1001))
    assert len(reader.next_frame() or b"") == 1004
    with pytest.raises(MalformedFrame):
        reader.next_frame()


def test_a_request_comes_back_from_its_frame() -> None:
    request = decode_request(metadata_frame("orders", 42))
    assert request == Request(
        METADATA,
        RequestHeader(3, 12, 42, "test"),
        MetadataRequest(topics=[MetadataRequestTopic(name="orders")]),
    )


def test_records_of_a_request_are_views_of_its_frame() -> None:
    partitions = [PartitionProduceData(records=b"r" * 100)]
    message = ProduceRequest(acks=-1, timeout_ms=1, topic_data=[TopicProduceData(name="t", partition_data=partitions)])
    frame = bytearray(joined([*encode_request(PRODUCE, 9, 1, None, message)]))
    decoded = decode_request(frame).message
    assert isinstance(decoded, ProduceRequest)
    records = decoded.topic_data[0].partition_data[0].records
    assert isinstance(records, memoryview)
    assert records.obj is frame
    assert records == b"r" * 100


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)
def test_both_directions_of_every_api_and_version(api: Api) -> None:
    for version in range(api.first, api.last_stable + 1):
        sent = joined([*encode_request(api, version, 5, "client", api.request())])
        request = decode_request(sent)
        assert (request.api, request.header.correlation_id, request.header.client_id) == (api, 5, "client")
        assert request.message == api.request()
        answer = joined([*encode_response(api, version, 5, api.response())])
        assert decode_response(api, version, answer) == (5, api.response())
        assert len(answer) == 4 + int.from_bytes(answer[:4], "big")


@pytest.mark.parametrize("version", range(5))
def test_the_answer_to_api_versions_has_the_oldest_header(version: int) -> None:
    answer = joined([*encode_response(APIS[API_VERSIONS], version, 9, ApiVersionsResponse())])
    assert answer[4:] == encode(ResponseHeader(9), 0) + encode(ApiVersionsResponse(), version)


@pytest.mark.parametrize(("api_key", "version"), [(3, 99), (3, -1), (22, 6), (200, 0), (4, 0), (0, 2), (-5, 1)])
def test_what_is_not_spoken_is_told_with_its_place(api_key: int, version: int) -> None:
    frame = pack(">ihhih", 10, api_key, version, 77, -1)
    with pytest.raises(UnsupportedRequest) as refused:
        decode_request(frame)
    assert (refused.value.api_key, refused.value.version, refused.value.correlation_id) == (api_key, version, 77)
    assert refused.value.code is ErrorCode.UNSUPPORTED_VERSION


def test_a_broker_may_speak_less() -> None:
    with pytest.raises(UnsupportedRequest):
        decode_request(metadata_frame(), {API_VERSIONS: APIS[API_VERSIONS]})


def test_a_too_new_api_versions_is_answered_so_that_the_client_asks_again() -> None:
    """Kafka 4.3.1 sends these very bytes: tests/golden has them from life."""
    frame = pack(">ihhih", 10, API_VERSIONS, 99, 77, -1)
    with pytest.raises(UnsupportedRequest) as refused:
        decode_request(frame)
    answer = joined([*unsupported_api_versions(refused.value.correlation_id)])
    correlation_id, message = decode_response(APIS[API_VERSIONS], 0, answer)
    assert isinstance(message, ApiVersionsResponse)
    assert correlation_id == 77
    assert message.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert [(each.api_key, each.min_version, each.max_version) for each in message.api_keys] == [(18, 0, 4)]


def test_bytes_behind_a_request_are_ignored_as_kafka_does() -> None:
    frame = metadata_frame()
    longer = pack(">i", len(frame) - 4 + 3) + frame[4:] + b"\1\2\3"
    assert decode_request(longer).message == decode_request(frame).message


@pytest.mark.parametrize("length", range(4, 12))
def test_a_frame_without_a_whole_header_is_malformed(length: int) -> None:
    with pytest.raises(MalformedFrame):
        decode_request(metadata_frame()[:length])


class Elsewhere:
    """Stands for a slice of a file: only its length is known."""

    def __len__(self) -> int:
        return 1_000_000


def test_what_is_not_in_memory_is_passed_through() -> None:
    slice_of_a_file = Elsewhere()
    topic = FetchableTopicResponse(topic="t", partitions=[PartitionData(records=slice_of_a_file)])
    message = FetchResponse(responses=[topic])
    chunks = encode_response(FETCH, 12, 3, message)
    place = next(index for index, chunk in enumerate(chunks) if chunk is slice_of_a_file)
    before, after = joined([*chunks[:place]]), joined([*chunks[place + 1 :]])
    assert int.from_bytes(before[:4], "big") == len(before) - 4 + 1_000_000 + len(after)
    with pytest.raises(UnencodableMessage, match="not in memory"):
        encode(message, 12)
    in_memory = FetchResponse(
        responses=[FetchableTopicResponse(topic="t", partitions=[PartitionData(records=bytes(1_000_000))])]
    )
    assert joined([*encode_response(FETCH, 12, 3, in_memory)]) == before + bytes(1_000_000) + after


def test_the_limits_of_a_version_are_told() -> None:
    message: Message = ApiVersionsRequest(client_software_name="x")
    with pytest.raises(UnencodableMessage, match="versions 0 to 4, not 5"):
        encode(message, 5)
