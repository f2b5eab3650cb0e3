"""Frames: what goes over a connection, each a 32-bit size, a header and a message.

Nothing here reads or writes a socket. `FrameReader` takes bytes as they arrive and gives whole frames; the
functions turn a frame into a request or a response, and these into chunks to send. A frame keeps its size in
front, so that a read which brought exactly one frame is handed on without a copy.
"""

from __future__ import annotations

from collections.abc import Mapping
from struct import Struct, error

import msgspec

from barnabas.protocol.apis import API_VERSIONS, APIS, Api
from barnabas.protocol.codec import Chunk, Decoder, decode_from, decoder_of, encode_to
from barnabas.protocol.errors import ErrorCode, KafkaError, MalformedFrame
from barnabas.protocol.messages.header import RequestHeader, ResponseHeader
from barnabas.protocol.schema import Message

__all__ = [
    "FrameReader",
    "Request",
    "UnsupportedRequest",
    "decode_request",
    "decode_response",
    "encode_request",
    "encode_response",
    "unsupported_api_versions",
]

Frame = bytes | bytearray

_SIZE = Struct(">i")
_REQUEST_START = Struct(">hhi")
_RESPONSE_HEADERS = (Struct(">ii"), Struct(">iix"))
"""Behind the size: the correlation id, and from version 1 on the number of tagged fields, of which there are none."""

_decoders: dict[tuple[int, int], tuple[Decoder, Decoder]] = {}
"""Of the header and the message, by API and version."""


class FrameReader:
    """Cuts what a connection receives into frames, whatever the pieces in which it arrives.

    It holds no more than the bytes that did arrive: a claimed size is checked and reserves nothing.
    """

    __slots__ = ("_buffer", "_max_size", "_position")

    def __init__(self, max_size: int) -> None:
        """`max_size` is Kafka's socket.request.max.bytes: the size of a frame without the size itself."""
        self._max_size = max_size
        self._buffer: Frame = b""
        self._position = 0

    @property
    def held(self) -> int:
        """Bytes that are here and have not been handed out, or only as parts of what is."""
        return len(self._buffer)

    def receive(self, data: bytes) -> None:
        """`data` has to be bytes, which nobody changes: it may be handed out as a frame."""
        assert type(data) is bytes
        self._forget_frames()
        if not self._buffer:
            self._buffer = data
        elif isinstance(self._buffer, bytearray):
            self._buffer += data
        else:
            self._buffer = bytearray(self._buffer) + data

    def next_frame(self) -> Frame | None:
        """The next whole frame, or None until more has been received."""
        buffer, start = self._buffer, self._position
        if len(buffer) - start < _SIZE.size:
            self._forget_frames()
            return None
        (size,) = _SIZE.unpack_from(buffer, start)
        if not 0 <= size <= self._max_size:
            raise MalformedFrame(f"a frame claims {size} bytes, and may have 0 to {self._max_size}")
        end = start + _SIZE.size + size
        if end > len(buffer):
            self._forget_frames()
            return None
        if end == len(buffer):
            self._buffer, self._position = b"", 0
            return buffer[start:] if start else buffer
        self._position = end
        return buffer[start:end]

    def _forget_frames(self) -> None:
        """Keep only what has not been handed out: an idle connection shall not hold its last frame."""
        if self._position:
            self._buffer = self._buffer[self._position :]
            self._position = 0


class Request(msgspec.Struct, gc=False):
    """A request as it came in. Where `message` has records, they are memoryviews of its frame, which can be written to
    only if the frame arrived in pieces: who stamps a batch writes the stamp beside it (storage/log.py) or copies."""

    api: Api
    header: RequestHeader
    message: Message


class UnsupportedRequest(KafkaError):  # noqa: N818 - like KafkaError, it is named for what is answered
    """A whole frame, of an API or version that is not spoken here.

    The connection's place is not lost. To ApiVersions the answer is `unsupported_api_versions`; for anything
    else Kafka knows none, since the asker could not read it, and closes the connection.
    """

    def __init__(self, api_key: int, version: int, correlation_id: int) -> None:
        super().__init__(ErrorCode.UNSUPPORTED_VERSION, f"version {version} of API {api_key} is not spoken here")
        self.api_key = api_key
        self.version = version
        self.correlation_id = correlation_id


def decode_request(frame: Frame, apis: Mapping[int, Api] = APIS) -> Request:
    """The request in a frame. `apis` are those that are spoken here.

    Bytes behind the message are ignored, as Kafka ignores them.
    """
    try:
        api_key, version, correlation_id = _REQUEST_START.unpack_from(frame, _SIZE.size)
    except error:
        raise MalformedFrame(f"a request of {len(frame) - _SIZE.size} bytes has no header") from None
    api = apis.get(api_key)
    if api is None or not api.supports(version):
        raise UnsupportedRequest(api_key, version, correlation_id)
    found = _decoders.get((api_key, version))
    if found is None:
        found = _decoders[api_key, version] = (
            decoder_of(RequestHeader, api.request_header_version(version)),
            decoder_of(api.request, version),
        )
    decode_header, decode_message = found
    end = len(frame)
    header, position = decode_header(frame, _SIZE.size, end)
    message, _ = decode_message(frame, position, end)
    return Request(api, header, message)


def encode_response(api: Api, version: int, correlation_id: int, message: Message) -> list[Chunk]:
    """The frame that answers a request of that API and version, in chunks: their lengths are known, and what is
    not in memory has stayed where it is."""
    chunks: list[Chunk] = [b""]
    encode_to(message, version, chunks)
    header = _RESPONSE_HEADERS[api.response_header_version(version)]
    chunks[0] = header.pack(sum(map(len, chunks)) + header.size - _SIZE.size, correlation_id)
    return chunks


def encode_request(api: Api, version: int, correlation_id: int, client_id: str | None, message: Message) -> list[Chunk]:
    chunks: list[Chunk] = [b""]
    encode_to(RequestHeader(api.key, version, correlation_id, client_id), api.request_header_version(version), chunks)
    encode_to(message, version, chunks)
    chunks[0] = _SIZE.pack(sum(map(len, chunks)))
    return chunks


def decode_response(api: Api, version: int, frame: Frame) -> tuple[int, Message]:
    """The correlation id and the message of the frame that answers a request of that API and version."""
    header, position = decode_from(ResponseHeader, api.response_header_version(version), frame, _SIZE.size)
    message, _ = decode_from(api.response, version, frame, position)
    return header.correlation_id, message


def unsupported_api_versions(correlation_id: int) -> list[Chunk]:
    """The answer to an ApiVersions of a version that we do not know: version 0, which every client can read, with
    the versions of ApiVersions itself, so that the client asks again."""
    from barnabas.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse

    api = APIS[API_VERSIONS]
    spoken = ApiVersion(api_key=api.key, min_version=api.first_advertised, max_version=api.last_stable)
    message = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=[spoken])
    return encode_response(api, 0, correlation_id, message)
