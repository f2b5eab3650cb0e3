"""What other writers' streams look like, and bombs."""

from __future__ import annotations

import gzip
import tracemalloc
from collections.abc import Iterator
from contextlib import suppress

import lz4.frame
import pytest
import snappy
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from barnabas.protocol.compression import Compression, compress, decompress, lz4_header_checksum
from barnabas.protocol.errors import MalformedFrame

CODECS = [codec for codec in Compression if codec is not Compression.NONE]
TEXT = b"Someone must have been telling lies about Josef K. " * 3000
XERIAL_HEADER = b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"


@pytest.fixture(params=list(Compression))
def codec(request: pytest.FixtureRequest) -> Compression:
    found = request.param
    assert isinstance(found, Compression)
    return found


@given(st.binary(max_size=2000), st.sampled_from(Compression), st.integers(1, 3))
def test_any_bytes_come_back(data: bytes, codec: Compression, times: int) -> None:
    packed = compress(codec, data * times)
    for kind in (bytes, bytearray, memoryview):
        assert decompress(codec, kind(packed), len(data) * times) == data * times


def test_long_data_comes_back(codec: Compression) -> None:
    packed = compress(codec, memoryview(TEXT))
    assert decompress(codec, packed) == TEXT
    assert codec is Compression.NONE or len(packed) < len(TEXT) / 10


def test_levels() -> None:
    for codec, levels in (
        (Compression.GZIP, (-1, 1, 9)),
        (Compression.LZ4, (1, 9, 17)),
        (Compression.ZSTD, (-131072, 3, 22)),
        (Compression.SNAPPY, (None,)),
    ):
        for level in levels:
            assert decompress(codec, compress(codec, TEXT, level)) == TEXT
    assert len(compress(Compression.GZIP, TEXT, 9)) < len(compress(Compression.GZIP, TEXT, 1))
    assert compress(Compression.LZ4, TEXT, 9) == compress(Compression.LZ4, TEXT)


def test_the_limit_is_exact(codec: Compression) -> None:
    packed = compress(codec, TEXT)
    assert decompress(codec, packed, len(TEXT)) == TEXT
    with pytest.raises(MalformedFrame, match=f"exceed {len(TEXT) - 1} bytes"):
        decompress(codec, packed, len(TEXT) - 1)


@pytest.fixture
def traced() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


@pytest.mark.usefixtures("traced")
@pytest.mark.parametrize("codec", CODECS)
def test_a_bomb_goes_off_small(codec: Compression) -> None:
    bomb = compress(codec, bytes(32 << 20))
    assert len(bomb) < 2 << 20
    tracemalloc.reset_peak()
    before, _ = tracemalloc.get_traced_memory()
    with pytest.raises(MalformedFrame, match="exceed 1048576 bytes"):
        decompress(codec, bomb, 1 << 20)
    _, peak = tracemalloc.get_traced_memory()
    assert peak - before < 6 << 20


@pytest.mark.parametrize("codec", CODECS)
def test_a_stream_that_ends_early(codec: Compression) -> None:
    packed = compress(codec, b"some records and some more records")
    for end in range(len(packed)):
        if codec is Compression.SNAPPY and end == len(XERIAL_HEADER):
            assert decompress(codec, packed[:end]) == b""
        else:
            with pytest.raises(MalformedFrame):
                decompress(codec, packed[:end])


@pytest.mark.parametrize("codec", CODECS)
@given(data=st.binary(max_size=300))
def test_any_bytes(codec: Compression, data: bytes) -> None:
    with suppress(MalformedFrame):
        assert len(decompress(codec, data, 10_000)) <= 10_000


def test_gzip_members_follow_one_another() -> None:
    packed = gzip.compress(b"one", mtime=0) + gzip.compress(b"", mtime=0) + gzip.compress(b"two", mtime=0)
    assert decompress(Compression.GZIP, packed, 6) == b"onetwo"
    assert decompress(Compression.GZIP, packed + bytes(30), 6) == b"onetwo"
    with pytest.raises(MalformedFrame, match="exceed 5"):
        decompress(Compression.GZIP, packed, 5)


def test_gzip_checks_its_checksum_and_limits_its_members() -> None:
    packed = bytearray(gzip.compress(b"one", mtime=0))
    packed[-8] ^= 1
    with pytest.raises(MalformedFrame, match="gzip"):
        decompress(Compression.GZIP, packed)
    with pytest.raises(MalformedFrame, match="members"):
        decompress(Compression.GZIP, gzip.compress(b"", mtime=0) * 1001)


def test_snappy_is_written_in_javas_frame() -> None:
    data = bytes(range(256)) * 300
    packed = compress(Compression.SNAPPY, data)
    assert packed.startswith(XERIAL_HEADER)
    length = int.from_bytes(packed[16:20], "big")
    assert snappy.decompress(packed[20 : 20 + length]) == data[: 32 * 1024]


def test_snappy_is_read_raw_and_in_frames_that_follow_one_another() -> None:
    assert decompress(Compression.SNAPPY, snappy.compress(TEXT)) == TEXT
    assert decompress(Compression.SNAPPY, snappy.compress(b"")) == b""
    twice = compress(Compression.SNAPPY, b"one") + compress(Compression.SNAPPY, b"two")
    assert decompress(Compression.SNAPPY, twice, 6) == b"onetwo"
    with pytest.raises(MalformedFrame, match="exceed 5"):
        decompress(Compression.SNAPPY, twice, 5)
    assert decompress(Compression.SNAPPY, XERIAL_HEADER) == b""


@pytest.mark.parametrize(
    "stream",
    [
        b"",
        b"\xff\xff\xff\xff\x0f",  # claims 4 GB
        b"\x80\x80\x04\x00",  # claims 64 KB, in 4 bytes
        b"\xff" * 12,
        XERIAL_HEADER + b"\xff\xff\xff\xff" + b"\x00" * 9,
        XERIAL_HEADER + b"\x00\x00\x00\x00",
        XERIAL_HEADER + b"\x00\x00",
        XERIAL_HEADER + XERIAL_HEADER[:10],
    ],
)
def test_snappy_streams_that_lie(stream: bytes) -> None:
    with pytest.raises(MalformedFrame):
        decompress(Compression.SNAPPY, stream)


def test_lz4_is_written_as_java_writes_it() -> None:
    packed = compress(Compression.LZ4, TEXT)
    assert packed[:7] == b"\x04\x22\x4d\x18\x60\x40\x82"
    assert packed[-4:] == bytes(4)
    length = int.from_bytes(packed[7:11], "little")
    assert lz4.frame.decompress(packed[: 11 + length] + bytes(4)) == TEXT[: 64 * 1024]


def test_lz4_as_other_clients_write_it() -> None:
    for block_size in (4, 5, 6, 7):
        for checksums in (False, True):
            packed = lz4.frame.compress(
                TEXT,
                block_size=block_size,
                block_linked=False,
                content_checksum=checksums,
                block_checksum=checksums,
                store_size=checksums,
            )
            assert decompress(Compression.LZ4, packed) == TEXT
            assert decompress(Compression.LZ4, packed + b"whatever follows") == TEXT


def test_lz4_blocks_that_need_each_other_are_refused_as_by_kafka() -> None:
    with pytest.raises(MalformedFrame, match="dependent"):
        decompress(Compression.LZ4, lz4.frame.compress(TEXT, block_size=4, block_linked=True))


@pytest.mark.parametrize("store_size", [False, True])
def test_lz4_with_the_broken_header_of_magic_0(store_size: bool) -> None:
    packed = bytearray(lz4.frame.compress(TEXT, block_size=4, block_linked=False, store_size=store_size))
    end = 14 if store_size else 6
    assert packed[end] == lz4_header_checksum(packed[4:end])
    packed[end] ^= 0x55
    with pytest.raises(MalformedFrame, match="lz4"):
        decompress(Compression.LZ4, packed)
    assert decompress(Compression.LZ4, packed, broken_lz4_header=True) == TEXT
    for cut in range(end + 1):
        with pytest.raises(MalformedFrame):
            decompress(Compression.LZ4, packed[:cut], broken_lz4_header=True)


@pytest.mark.parametrize("with_size", [False, True])
@pytest.mark.parametrize("with_checksum", [False, True])
def test_zstd_frames(with_size: bool, with_checksum: bool) -> None:
    packer = zstandard.ZstdCompressor(write_content_size=with_size, write_checksum=with_checksum)
    one, two = packer.compress(TEXT), packer.compress(b"two")
    assert decompress(Compression.ZSTD, one) == TEXT
    assert decompress(Compression.ZSTD, two + one + two) == b"two" + TEXT + b"two"
    with pytest.raises(MalformedFrame, match="zstd"):
        decompress(Compression.ZSTD, one + b"behind")


def test_zstd_as_a_stream_without_a_size() -> None:
    packer = zstandard.ZstdCompressor().compressobj()
    packed = b"".join([packer.compress(TEXT), packer.flush()])
    assert zstandard.frame_content_size(packed) == -1
    assert decompress(Compression.ZSTD, packed, len(TEXT)) == TEXT
