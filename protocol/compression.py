"""The five ways in which the records of a batch are packed, with a limit on what they unpack to.

The number of a way is the low three bits of a batch's attributes. Every reader takes what Apache Kafka's
reads, whoever wrote it; every writer writes what the oldest clients read. A batch that unpacks to more than
`max_bytes`, or that is no valid stream, raises MalformedFrame, and what is held until then is of the order
of `max_bytes`.

The libraries are imported at first use: a broker that never sees zstd never loads it.
"""

from __future__ import annotations

import zlib
from enum import IntEnum

from barnabas.protocol.errors import MalformedFrame
from barnabas.protocol.varint import Bytes, read_uvarint

__all__ = ["MAX_DECOMPRESSED_BYTES", "Compression", "check_lz4_frame", "compress", "decompress"]

MAX_DECOMPRESSED_BYTES = 1 << 27
"""What one batch may unpack to: over a hundred times Kafka's default `max.message.bytes`."""

_GZIP_WITH_HEADER = 16 + zlib.MAX_WBITS
_GZIP_MAGIC = b"\x1f\x8b\x08"
_GZIP_MAX_MEMBERS = 1000  # each costs a copy of all that follows it

_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = _XERIAL_MAGIC + b"\x00\x00\x00\x01" * 2  # its version, and the oldest version that can read it
_XERIAL_BLOCK_BYTES = 32 * 1024
_SNAPPY_MAX_RATIO = 32  # the densest element of snappy is 3 bytes for 64

_LZ4_MAGIC = b"\x04\x22\x4d\x18"
_LZ4_DEFAULT_LEVEL = 9  # Kafka's default, by which it means the fast compressor and no level at all
_LZ4_MAX_LEVEL = 12

_ZSTD_DEFAULT_LEVEL = 3
_ZSTD_MAX_RATIO = 1 << 15  # the densest block of zstd is 4 bytes for 128 KB


class Compression(IntEnum):
    """Kafka's numbers for the ways of packing; the lower-case names are those of `compression.type`."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


def compress(compression: Compression, data: Bytes, level: int | None = None) -> bytes:
    """`data` packed; `level` is what Kafka's `compression.*.level` says, None its default."""
    if compression is Compression.NONE:
        return bytes(data)
    if compression is Compression.GZIP:
        packer = zlib.compressobj(zlib.Z_DEFAULT_COMPRESSION if level is None else level, wbits=_GZIP_WITH_HEADER)
        return packer.compress(data) + packer.flush()
    if compression is Compression.SNAPPY:
        return _compress_snappy(data)
    if compression is Compression.LZ4:
        return _compress_lz4(data, level)
    import zstandard

    return zstandard.ZstdCompressor(level=_ZSTD_DEFAULT_LEVEL if level is None else level).compress(data)


def decompress(
    compression: Compression,
    data: Bytes,
    max_bytes: int = MAX_DECOMPRESSED_BYTES,
    *,
    broken_lz4_header: bool = False,
) -> bytes:
    """`data` unpacked, of `max_bytes` at most.

    `broken_lz4_header` is for message sets of magic 0: Kafka's first writer of lz4 took the checksum of the
    frame's header over the wrong bytes, and a reader of those sets has to ignore it.
    """
    if compression is Compression.NONE:
        if len(data) > max_bytes:
            raise _too_large(max_bytes)
        return bytes(data)
    if compression is Compression.GZIP:
        return _decompress_gzip(data, max_bytes)
    if compression is Compression.SNAPPY:
        return _decompress_snappy(memoryview(data), max_bytes)
    if compression is Compression.LZ4:
        return _decompress_lz4(data, max_bytes, broken_lz4_header)
    return _decompress_zstd(memoryview(data), max_bytes)


def _too_large(max_bytes: int) -> MalformedFrame:
    return MalformedFrame(f"compressed records exceed {max_bytes} bytes when decompressed")


def _decompress_gzip(data: Bytes, max_bytes: int) -> bytes:
    """Members one after the other, and then anything: java.util.zip reads on while a member begins."""
    parts: list[bytes] = []
    remaining = max_bytes
    for _ in range(_GZIP_MAX_MEMBERS):
        unpacker = zlib.decompressobj(_GZIP_WITH_HEADER)
        try:
            part = unpacker.decompress(data, remaining + 1)
        except zlib.error as error:
            raise MalformedFrame(f"records are no gzip stream: {error}") from None
        if len(part) > remaining:
            raise _too_large(max_bytes)
        if not unpacker.eof:
            raise MalformedFrame("a gzip stream of records ends early")
        parts.append(part)
        remaining -= len(part)
        data = unpacker.unused_data
        if not data.startswith(_GZIP_MAGIC):
            return b"".join(parts)
    raise MalformedFrame(f"a gzip stream of records has over {_GZIP_MAX_MEMBERS} members")


def _compress_snappy(data: Bytes) -> bytes:
    """The framing of xerial's snappy-java, which Java's clients took for snappy itself: 32 KB a block."""
    import snappy

    parts = [_XERIAL_HEADER]
    for start in range(0, len(data), _XERIAL_BLOCK_BYTES):
        block = snappy.compress(bytes(data[start : start + _XERIAL_BLOCK_BYTES]))
        parts += (len(block).to_bytes(4, "big"), block)
    return b"".join(parts)


def _decompress_snappy(data: memoryview, max_bytes: int) -> bytes:
    """xerial's frame when its header is there, a single raw block when it is not (librdkafka writes that).

    Frames may follow one another, which is how appending to a snappy-java stream looks; the header of the
    next one then stands where the length of a block would.
    """
    if data[: len(_XERIAL_MAGIC)] != _XERIAL_MAGIC or len(data) < len(_XERIAL_HEADER):
        return _decompress_snappy_block(data, max_bytes, max_bytes)
    parts: list[bytes] = []
    remaining = max_bytes
    position = 0
    while position < len(data):
        if data[position : position + len(_XERIAL_MAGIC)] == _XERIAL_MAGIC:
            position += len(_XERIAL_HEADER)
            continue
        start = position + 4
        length = int.from_bytes(data[position:start], "big")
        position = start + length
        if position > len(data):
            raise MalformedFrame("a snappy stream of records ends early")
        part = _decompress_snappy_block(data[start:position], remaining, max_bytes)
        parts.append(part)
        remaining -= len(part)
    if position > len(data):
        raise MalformedFrame("a snappy stream of records ends early")
    return b"".join(parts)


def _decompress_snappy_block(block: memoryview, remaining: int, max_bytes: int) -> bytes:
    """One raw block: it begins with its unpacked length, for which the library would allocate unasked."""
    import snappy

    try:
        length, _ = read_uvarint(block, 0)
    except IndexError:
        raise MalformedFrame("a snappy stream of records ends early") from None
    if length > remaining:
        raise _too_large(max_bytes)
    if length > len(block) * _SNAPPY_MAX_RATIO:
        raise MalformedFrame(f"a snappy block of {len(block)} bytes cannot hold {length}")
    try:
        return bytes(snappy.decompress(block))
    except snappy.UncompressError as error:
        raise MalformedFrame(f"records are no snappy block: {error.__cause__}") from None


def _compress_lz4(data: Bytes, level: int | None) -> bytes:
    """One frame of independent 64 KB blocks without checksums or sizes, as Kafka writes it."""
    import lz4.frame

    packed: bytes = lz4.frame.compress(
        data,
        compression_level=0 if level is None or level == _LZ4_DEFAULT_LEVEL else min(level, _LZ4_MAX_LEVEL),
        block_size=lz4.frame.BLOCKSIZE_MAX64KB,
        block_linked=False,
        content_checksum=False,
        block_checksum=False,
        store_size=False,
    )
    return packed


def _decompress_lz4(data: Bytes, max_bytes: int, broken_header: bool) -> bytes:
    """The first frame. Kafka stops at its end mark, and refuses blocks that need each other."""
    import lz4.frame

    check_lz4_frame(data)
    if broken_header:
        data = _mend_lz4_header(data)
    unpacker = lz4.frame.LZ4FrameDecompressor()
    try:
        unpacked: bytes = unpacker.decompress(data, max_length=max_bytes + 1)
    except RuntimeError as error:
        raise MalformedFrame(f"records are no lz4 frame: {error}") from None
    if len(unpacked) > max_bytes:
        raise _too_large(max_bytes)
    if not unpacker.eof:
        raise MalformedFrame("an lz4 frame of records ends early")
    return unpacked


def check_lz4_frame(data: Bytes) -> None:
    """What its first bytes show without unpacking it: MalformedFrame if no Java consumer could begin to read it."""
    if len(data) < 7 or data[:4] != _LZ4_MAGIC:
        raise MalformedFrame("records are no lz4 frame")
    if not data[4] & 0x20:
        raise MalformedFrame("an lz4 frame of records has dependent blocks, which Kafka does not read")


def _mend_lz4_header(data: Bytes) -> bytes:
    """`data` with the checksum of its frame header as it should be."""
    end = 14 if data[4] & 0x08 else 6  # behind the flags, and the content size if there is one
    mended = bytearray(data)
    if len(mended) > end:
        mended[end] = lz4_header_checksum(mended[4:end])
    return bytes(mended)


def lz4_header_checksum(descriptor: Bytes) -> int:
    """The second byte of xxHash-32 with seed 0, for the few bytes (under 16) that a header has."""
    mask = 0xFFFFFFFF
    value = 374761393 + len(descriptor)
    whole = len(descriptor) & ~3
    for start in range(0, whole, 4):
        value = value + int.from_bytes(descriptor[start : start + 4], "little") * 3266489917 & mask
        value = (value << 17 | value >> 15) * 668265263 & mask
    for byte in descriptor[whole:]:
        value = value + byte * 374761393 & mask
        value = (value << 11 | value >> 21) * 2654435761 & mask
    value = (value ^ value >> 15) * 2246822519 & mask
    value = (value ^ value >> 13) * 3266489917 & mask
    return (value ^ value >> 16) >> 8 & 0xFF


def _decompress_zstd(data: memoryview, max_bytes: int) -> bytes:
    """Frames one after the other. The library unpacks all it is given, so it is given little at a time."""
    import zstandard

    unpacker = zstandard.ZstdDecompressor()
    frame = unpacker.decompressobj()
    parts: list[bytes] = []
    remaining = max_bytes
    position = 0
    while position < len(data):
        piece = data[position : position + max(64, remaining // _ZSTD_MAX_RATIO)]
        if frame.eof:
            frame = unpacker.decompressobj()
        try:
            part = frame.decompress(piece)
        except zstandard.ZstdError as error:
            raise MalformedFrame(f"records are no zstd frame: {error}") from None
        if len(part) > remaining:
            raise _too_large(max_bytes)
        parts.append(part)
        remaining -= len(part)
        position += len(piece) - len(frame.unused_data)
    if not frame.eof:
        raise MalformedFrame("a zstd frame of records ends early")
    return b"".join(parts)
