"""Bytes to messages and back: an encoder and a decoder for each (message, version), compiled on first use.

The compiled function is straight-line Python for one version: no field is looked up, no version compared, and
neighbours of fixed width are read or written by one struct call. What it reads or writes for each wire type is in
reading.py and writing.py; both follow the generated read and write methods of Kafka's own messages, whose
tolerance is kept too: text that is no UTF-8 is replaced, not refused, and a known tag's size is not checked.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, TypeVar

from barnabas.protocol.errors import MalformedFrame
from barnabas.protocol.reading import compile_decoder
from barnabas.protocol.schema import Data, Unread
from barnabas.protocol.writing import compile_encoder

__all__ = ["Chunk", "UnencodableMessage", "decode", "decode_from", "decoder_of", "encode", "encode_to"]

D = TypeVar("D", bound=Data)
Chunk = bytes | bytearray | memoryview | Unread

Decoder = Callable[[Any, int, int], tuple[Any, int]]

_decoders: dict[tuple[type[Data], int], Decoder] = {}
_encoders: dict[tuple[type[Data], int], Callable[[Any, list[Chunk]], None]] = {}


class UnencodableMessage(ValueError):  # noqa: N818 - named for the message, like MalformedFrame
    """A message holds what its version cannot carry: our own mistake, not the peer's."""


def decode(cls: type[D], version: int, data: bytes | bytearray | memoryview) -> D:
    """The message that `data` is, to the last byte."""
    message, end = decode_from(cls, version, data)
    if end != len(data):
        raise MalformedFrame(f"{len(data) - end} bytes follow {cls.__name__} v{version}")
    return message


def decode_from(cls: type[D], version: int, data: bytes | bytearray | memoryview, position: int = 0) -> tuple[D, int]:
    """The message that starts at `position`, and the position behind it.

    Its records, if it has any, are memoryviews of `data` (of a copy, where that is a memoryview itself), and can be
    written to only if `data` can; everything else is copied out of it.
    """
    if type(data) is memoryview:
        data = bytes(data)
    found: tuple[D, int] = decoder_of(cls, version)(data, position, len(data))
    return found


def decoder_of(cls: type[Data], version: int) -> Decoder:
    """The function behind `decode_from`, for who asks often: of (bytes, position, end)."""
    decoder = _decoders.get((cls, version))
    if decoder is None:
        _check_version(cls, version)
        decoder = _decoders[cls, version] = compile_decoder(cls, version)
    return decoder


def encode(message: Data, version: int) -> bytes:
    """The bytes of a message that is in memory as a whole."""
    chunks: list[Chunk] = []
    encode_to(message, version, chunks)
    try:
        return b"".join(chunks)  # type: ignore[arg-type] # what is Unread raises, as it should
    except TypeError:
        raise UnencodableMessage(f"{type(message).__name__} holds bytes that are not in memory") from None


def encode_to(message: Data, version: int, chunks: list[Chunk]) -> None:
    """Append the message's bytes to `chunks`; records go in as the very object that the message holds."""
    cls = type(message)
    encoder = _encoders.get((cls, version))
    if encoder is None:
        _check_version(cls, version)
        encoder = _encoders[cls, version] = compile_encoder(cls, version)
    try:
        encoder(message, chunks)
    except (struct.error, TypeError, AttributeError, ValueError) as error:
        raise UnencodableMessage(f"{cls.__name__} v{version}: {error}") from error


def _check_version(cls: type[Data], version: int) -> None:
    first, last = cls.__definition__.versions
    if not first <= version <= last:
        raise UnencodableMessage(f"{cls.__name__} has versions {first} to {last}, not {version}")
