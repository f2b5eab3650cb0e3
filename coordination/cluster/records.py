"""One record of `__cluster_metadata`: a message, and the version in which it stands in the log.

The version belongs to the record, because a cluster whose metadata.version is old must be able to read it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from barnabas.protocol.log_records import UnknownRecord, decode_metadata_record, encode_metadata_record
from barnabas.protocol.schema import Data

__all__ = ["MetadataRecord", "UnknownMessage", "UnreplayableRecord", "decode_record", "encode_record"]


class UnreplayableRecord(ValueError):  # noqa: N818 - named for what was met, as MalformedFrame is
    """A record contradicts those before it: the log is not one that a controller wrote."""


@dataclass(frozen=True, slots=True)
class UnknownMessage:
    """A record of a type or version that this Kafka does not have: kept as it came, and written back so."""

    record_type: int
    data: bytes
    """The whole record, its type and version included."""


class MetadataRecord(NamedTuple):
    message: Data | UnknownMessage
    version: int = 0


def encode_record(record: MetadataRecord) -> bytes:
    if isinstance(record.message, UnknownMessage):
        return record.message.data
    return encode_metadata_record(record.message, record.version)


def decode_record(data: bytes) -> MetadataRecord:
    try:
        return MetadataRecord(*decode_metadata_record(data))
    except UnknownRecord as unknown:
        return MetadataRecord(UnknownMessage(unknown.record_type, bytes(data)), unknown.version or 0)
