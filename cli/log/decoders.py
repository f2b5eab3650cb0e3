"""What the records of a log say, by the option that names their kind: text, or the messages of Kafka's own logs."""

from __future__ import annotations

import re
import struct
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from barnabas.cli.failures import CommandFailed
from barnabas.protocol.codec import decode_from
from barnabas.protocol.errors import MalformedFrame
from barnabas.protocol.kafka_json import as_json, compact
from barnabas.protocol.log_records import (
    CONSUMER_OFFSETS,
    SHARE_GROUP_STATE,
    TRANSACTION_STATE,
    CoordinatorLog,
    UnknownRecord,
    decode_metadata_record,
)
from barnabas.protocol.record import Record
from barnabas.protocol.schema import Data

__all__ = ["OF_TOPICS", "Decoder", "Said", "coordinator_decoder", "metadata_decoder", "of_classes", "remote_decoder"]

_CLASS = "org.apache.kafka.tools.api."


class Said(NamedTuple):
    """Of one record: what a program gets as JSON, and Kafka's tool prints; None for nothing."""

    key: Any
    value: Any

    def text(self) -> str:
        """As Kafka's tool ends the line, with a blank in front of each."""
        key = "" if self.key is None else f" key: {_text(self.key)}"
        return key + ("" if self.value is None else f" payload: {_text(self.value)}")


Decoder = Callable[[Record], Said]


def _text(said: Any) -> str:
    return said if isinstance(said, str) else compact(said)


# Text and numbers


def _string(data: bytes) -> str:
    return data.decode(errors="replace")


def _number(form: str) -> Callable[[bytes], str]:
    unpacked = struct.Struct(form)

    def read(data: bytes) -> str:
        if len(data) < unpacked.size:
            raise CommandFailed(
                f"A key or value of {len(data)} bytes is no number of {unpacked.size}: leave out the decoder's class, "
                "and it is shown as text."
            )
        return str(unpacked.unpack_from(data)[0])

    return read


_CLASSES: Mapping[str, Callable[[bytes], str]] = {
    f"{_CLASS}StringDecoder": _string,
    f"{_CLASS}IntegerDecoder": _number(">i"),
    f"{_CLASS}LongDecoder": _number(">q"),
}


def of_classes(key_class: str | None, value_class: str | None) -> Decoder:
    """The decoders that Kafka ships, by their names; classes of others are Java, which nothing here can run."""
    read_key, read_value = _of_class(key_class), _of_class(value_class)

    def read(record: Record) -> Said:
        return Said(
            None if record.key is None else read_key(record.key),
            None if record.value is None else read_value(record.value),
        )

    return read


def _of_class(name: str | None) -> Callable[[bytes], str]:
    found = _CLASSES.get(name or f"{_CLASS}StringDecoder")
    if found is None:
        raise CommandFailed(
            f"{name} is a class of Java, which cannot be run here: use one of "
            f"{', '.join(each.removeprefix(_CLASS) for each in _CLASSES)} with {_CLASS} in front, or --json, which "
            "shows bytes that are no text as base64."
        )
    return found


# Kafka's own logs


def coordinator_decoder(log: CoordinatorLog) -> Decoder:
    def read(record: Record) -> Said:
        if record.key is None:
            raise CommandFailed(
                f"The record at offset {record.offset} has no key, so that it is none of {log.topic}: "
                "choose the decoder of the topic that this is, or --print-data-log."
            )
        try:
            key = log.decode_key(record.key)
            said = {"type": str(key.__definition__.key), "data": as_json(key, 0)}
            if record.value is None:
                return Said(said, "<DELETE>")
            value, version = log.decode_value(key, record.value)
        except UnknownRecord as unknown:
            return Said(f"Unknown record type {unknown.record_type} at offset {record.offset}, skipping.", None)
        except MalformedFrame as error:
            return Said(f"Error at offset {record.offset}, skipping. {error}", None)
        return Said(said, {"version": str(version), "data": _with_members(as_json(value, version), value)})

    return read


def _with_members(data: dict[str, Any], message: Data) -> dict[str, Any]:
    """In a classic group of consumers, what members told each other is no secret."""
    if type(message).__name__ != "GroupMetadataValue" or data.get("protocolType") != "consumer":
        return data
    from barnabas.protocol.records.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription

    for member in data["members"]:
        for name, cls in (("subscription", ConsumerProtocolSubscription), ("assignment", ConsumerProtocolAssignment)):
            member[name] = _as_told(cls, member[name])
    return data


def _as_told(cls: type[Data], told: str) -> Any:
    """What cannot be read stays as it is."""
    data = b64decode(told)
    version = int.from_bytes(data[:2], "big", signed=True)
    if len(data) < 2 or version not in cls.__definition__.versions:
        return told
    try:
        return as_json(decode_from(cls, version, data, 2)[0], version)
    except MalformedFrame:
        return told


def metadata_decoder(record: Record) -> Said:
    try:
        message, version = decode_metadata_record(record.value or b"")
    except (MalformedFrame, UnknownRecord) as error:
        return Said(None, f"Error at {record.offset}, skipping. {error}")
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(message).__name__).upper()
    return Said(None, {"type": name, "version": version, "data": as_json(message, version)})


def remote_decoder(record: Record) -> Said:
    from barnabas.cli.log.remote_metadata import describe

    try:
        return Said(None, describe(record.value or b""))
    except (MalformedFrame, LookupError) as error:
        return Said(None, f"Error at offset {record.offset}, skipping. {error}")


OF_TOPICS: Mapping[str, Decoder] = {
    "__cluster_metadata": metadata_decoder,
    "__consumer_offsets": coordinator_decoder(CONSUMER_OFFSETS),
    "__transaction_state": coordinator_decoder(TRANSACTION_STATE),
    "__share_group_state": coordinator_decoder(SHARE_GROUP_STATE),
    "__remote_log_metadata": remote_decoder,
}
"""What is in a topic whose name everybody knows."""


def readable(data: bytes | None) -> Any:
    """For programs: text where it is text, and else base64."""
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": b64encode(data).decode()}
