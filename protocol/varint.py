"""Kafka's variable-length integers: seven bits a byte, lowest first, the high bit saying "more follows".

Lengths and tags on the wire are unsigned 32-bit; inside record batches, integers are signed (zig-zag) and of
32 or 64 bits. A reader takes bytes and a position and returns the value and the position behind it; running
past the end raises IndexError, which each caller turns into MalformedFrame once for a whole message.
"""

from __future__ import annotations

from barnabas.protocol.errors import MalformedFrame

__all__ = ["ONE_BYTE", "ONE_BYTE_SIGNED", "read_int32_uvarint", "read_uvarint", "read_varint", "uvarint", "varint"]

Bytes = bytes | bytearray | memoryview

ONE_BYTE = tuple(bytes((value,)) for value in range(0x80))
ONE_BYTE_SIGNED = tuple((byte >> 1) ^ -(byte & 1) for byte in range(0x80))
_SHORT = tuple(ONE_BYTE[value << 1] for value in range(0x40)) + tuple(
    ONE_BYTE[(-value << 1) - 1] for value in range(-0x40, 0)
)
"""The bytes of signed values from -64 to 63, those below 0 where Python looks for a negative index."""


def uvarint(value: int) -> bytes:
    """The bytes of an unsigned value."""
    if 0 <= value < 0x80:
        return ONE_BYTE[value]
    if value < 0:
        raise ValueError(f"an unsigned varint cannot hold {value}")
    if value < 0x4000:
        return bytes((value & 0x7F | 0x80, value >> 7))
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def varint(value: int) -> bytes:
    """The bytes of a signed value; the same for Kafka's varint and varlong."""
    if -0x40 <= value < 0x40:
        return _SHORT[value]
    return uvarint(value << 1 if value >= 0 else (-value << 1) - 1)


def read_uvarint(buffer: Bytes, position: int, bits: int = 32) -> tuple[int, int]:
    """The unsigned value at `position`, which must fit into `bits`."""
    value = buffer[position]
    if value < 0x80:
        return value, position + 1
    byte = buffer[position + 1]
    if byte < 0x80:
        return value & 0x7F | byte << 7, position + 2
    value = shift = 0
    while True:
        byte = buffer[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
        if shift >= bits:
            raise MalformedFrame(f"a varint does not end within {bits} bits")
    if value >> bits:
        raise MalformedFrame(f"a varint exceeds {bits} bits")
    return value, position


def read_int32_uvarint(buffer: Bytes, position: int) -> tuple[int, int]:
    """As Java's readUnsignedVarint, which every length and tag of a message goes through: five bytes fill a signed int,
    so that what exceeds 31 bits is a negative number, and what exceeds 32 is dropped."""
    value, position = read_uvarint(buffer, position, 35)
    value &= 0xFFFF_FFFF
    return (value - (1 << 32) if value >> 31 else value), position


def read_varint(buffer: Bytes, position: int, bits: int = 32) -> tuple[int, int]:
    """The signed value at `position`, which must fit into `bits`.

    Nearly every varint of a record has one byte or two, and the short way halves the time.
    """
    byte = buffer[position]
    if byte < 0x80:
        return ONE_BYTE_SIGNED[byte], position + 1
    second = buffer[position + 1]
    if second < 0x80:
        value = byte & 0x7F | second << 7
        return (value >> 1) ^ -(value & 1), position + 2
    value, position = read_uvarint(buffer, position, bits)
    return (value >> 1) ^ -(value & 1), position
