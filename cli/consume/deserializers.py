"""Kafka's deserializers by the names of their classes, and what Java prints of what they make of bytes."""

from __future__ import annotations

import codecs
import struct
import uuid
from collections.abc import Callable, Mapping

from barnabas.cli.failures import WrongUsage

__all__ = ["Deserializer", "deserializer"]

Deserializer = Callable[[bytes], str]
"""ValueError for bytes that are not what it is for."""

_PACKAGE = "org.apache.kafka.common.serialization."
_DELETE = 127


def deserializer(name: str, options: Mapping[str, str], *, is_key: bool = False) -> Deserializer | None:
    """None: the bytes as they are. `options` are its own properties, such as the encoding of text."""
    simple = name.removeprefix(_PACKAGE)
    if simple == "ByteArrayDeserializer":
        return None
    if simple == "StringDeserializer":
        return _text(options, is_key)
    if simple not in _KNOWN:
        names = ", ".join(["StringDeserializer", "ByteArrayDeserializer", *_KNOWN])
        raise WrongUsage(
            f"{name} is a class of Java's that cannot run here: there are {names}; consume --json has bytes in base64"
        )
    return _KNOWN[simple]


def _text(options: Mapping[str, str], is_key: bool) -> Deserializer:
    own = options.get("key.deserializer.encoding" if is_key else "value.deserializer.encoding")
    encoding = own or options.get("deserializer.encoding") or "UTF-8"
    try:
        codecs.lookup(encoding)
    except LookupError:
        raise WrongUsage(f"there is no encoding {encoding}") from None
    return lambda data: data.decode(encoding, "replace")


def _number(layout: str, what: str) -> Deserializer:
    def read(data: bytes) -> str:
        if len(data) != struct.calcsize(layout):
            raise ValueError(f"{len(data)} bytes are no {what}, which has {struct.calcsize(layout)}")
        return str(struct.unpack(layout, data)[0])

    return read


def _floating(layout: str, what: str) -> Deserializer:
    read = _number(layout, what)

    def show(data: bytes) -> str:
        text = read(data)
        return _OTHER[text] if text in _OTHER else _java_floating(struct.unpack(layout, data)[0], layout == ">f")

    return show


_OTHER = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def _java_floating(value: float, is_single: bool) -> str:
    """The shortest digits that mean this number, as Double.toString writes them: 1.0E10 from ten million on."""
    text = _shortest_single(value) if is_single else repr(value)
    mantissa, _, exponent = text.partition("e")
    sign, mantissa = ("-", mantissa[1:]) if mantissa.startswith("-") else ("", mantissa)
    whole, _, fraction = mantissa.partition(".")
    number = (whole + fraction).lstrip("0")
    if not number or not int(number):
        return f"{sign}0.0"
    power = len(whole) - 1 + int(exponent or 0)
    if whole == "0":
        power = -(len(fraction) - len(fraction.lstrip("0")) + 1) + int(exponent or 0)
    number = number.rstrip("0") or "0"
    if -3 <= power < 7:
        if power < 0:
            return f"{sign}0.{'0' * (-power - 1)}{number}"
        padded = number.ljust(power + 1, "0")
        return f"{sign}{padded[: power + 1]}.{padded[power + 1 :] or '0'}"
    return f"{sign}{number[0]}.{number[1:] or '0'}E{power}"


def _shortest_single(value: float) -> str:
    for digits in range(1, 10):
        text = f"{value:.{digits}g}"
        if struct.pack(">f", float(text)) == struct.pack(">f", value):
            return text
    return repr(value)


def _boolean(data: bytes) -> str:
    if data not in (b"\x00", b"\x01"):
        raise ValueError("these bytes are no boolean, which is one byte of 0 or 1")
    return "true" if data == b"\x01" else "false"


def _uuid(data: bytes) -> str:
    return str(uuid.UUID(data.decode("utf-8", "replace")))


def _bytes(data: bytes) -> str:
    """As Kafka's Bytes prints itself."""
    plain = set(range(ord(" "), _DELETE)) - {ord("\\")}
    return "".join(chr(byte) if byte in plain else f"\\x{byte:02X}" for byte in data)


def _byte_buffer(data: bytes) -> str:
    return f"java.nio.HeapByteBuffer[pos=0 lim={len(data)} cap={len(data)}]"


_KNOWN: Mapping[str, Deserializer] = {
    "BooleanDeserializer": _boolean,
    "ByteBufferDeserializer": _byte_buffer,
    "BytesDeserializer": _bytes,
    "DoubleDeserializer": _floating(">d", "double"),
    "FloatDeserializer": _floating(">f", "float"),
    "IntegerDeserializer": _number(">i", "integer"),
    "LongDeserializer": _number(">q", "long"),
    "ShortDeserializer": _number(">h", "short"),
    "UUIDDeserializer": _uuid,
}
