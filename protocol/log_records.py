"""What stands around a message that is kept in a log of Kafka's own, so that its reader knows which it is.

- A record of `__cluster_metadata` or `__remote_log_metadata` is a value: frame version, type and version as varints,
  then the message.
- A record of `__consumer_offsets`, `__transaction_state` or `__share_group_state` has a key, its type and then a
  message of version 0, and a value, its version and then a message; no value says that what the key names is gone.
- What group members tell each other is a version and then a message.

Types that this Kafka does not know come out as UnknownRecord: a reader decides whether it may pass over them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from struct import Struct as FixedWidth
from typing import NamedTuple, TypeVar

from barnabas.protocol.codec import decode, decode_from, encode
from barnabas.protocol.errors import MalformedFrame
from barnabas.protocol.schema import Data
from barnabas.protocol.varint import Bytes, read_uvarint, uvarint

__all__ = [
    "CONSUMER_OFFSETS",
    "SHARE_GROUP_STATE",
    "TRANSACTION_STATE",
    "CoordinatorLog",
    "UnknownRecord",
    "decode_metadata_record",
    "decode_remote_log_record",
    "decode_versioned",
    "encode_coordinator_key",
    "encode_metadata_record",
    "encode_versioned",
]

FRAME_VERSION = 1
"""Of metadata records; 0 was a preview's."""

D = TypeVar("D", bound=Data)
_INT16 = FixedWidth(">h")


class UnknownRecord(LookupError):  # noqa: N818 - named for what was met, like MalformedFrame
    """A well-formed record of a type or version that this Kafka does not have."""

    def __init__(self, log: str, record_type: int, version: int | None = None) -> None:
        what = f"type {record_type}" + ("" if version is None else f", version {version},")
        super().__init__(f"a record of {what} in {log} is not known")
        self.record_type = record_type
        self.version = version


# __cluster_metadata


def encode_metadata_record(message: Data, version: int) -> bytes:
    key = message.__definition__.key
    return uvarint(FRAME_VERSION) + uvarint(key) + uvarint(version) + encode(message, version)


def decode_metadata_record(data: Bytes) -> tuple[Data, int]:
    """The message and its version; bytes behind it are refused, as Kafka refuses them."""
    return _decode_framed(data, "cluster_metadata", "__cluster_metadata")


def decode_remote_log_record(data: Bytes) -> tuple[Data, int]:
    """The same of `__remote_log_metadata`, whose records look alike."""
    return _decode_framed(data, "remote_log_metadata", "__remote_log_metadata")


def _decode_framed(data: Bytes, module: str, log: str) -> tuple[Data, int]:
    try:
        frame_version, position = read_uvarint(data, 0)
        record_type, position = read_uvarint(data, position)
        version, position = read_uvarint(data, position)
    except IndexError:
        raise MalformedFrame("a metadata record ends within its header") from None
    if frame_version != FRAME_VERSION:
        raise MalformedFrame(f"a metadata record has frame version {frame_version}, and only {FRAME_VERSION} is known")
    cls = _by_type(module, "Record").get(record_type)
    if cls is None or not _has(cls, version):
        raise UnknownRecord(log, record_type, version)
    return decode(cls, version, data[position:]), version


# The logs of coordinators


class CoordinatorLog(NamedTuple):
    """One of the three topics in which coordinators keep their state."""

    topic: str
    modules: tuple[str, ...]

    def decode_key(self, data: Bytes) -> Data:
        record_type, position = _int16(data)
        cls = self._class(record_type, "Key")
        return decode_from(cls, 0, data, position)[0]

    def decode_value(self, key: Data, data: Bytes) -> tuple[Data, int]:
        """The message and its version. Bytes behind it are ignored, as Kafka ignores them."""
        record_type = key.__definition__.key
        version, position = _int16(data)
        cls = self._class(record_type, "Value")
        if not _has(cls, version):
            raise UnknownRecord(self.topic, record_type, version)
        return decode_from(cls, version, data, position)[0], version

    def _class(self, record_type: int, kind: str) -> type[Data]:
        for module in self.modules:
            cls = _by_type(module, kind).get(record_type)
            if cls is not None:
                return cls
        raise UnknownRecord(self.topic, record_type)


CONSUMER_OFFSETS = CoordinatorLog(
    "__consumer_offsets", ("classic_group", "consumer_group", "share_group", "streams_group")
)
TRANSACTION_STATE = CoordinatorLog("__transaction_state", ("transaction_state",))
SHARE_GROUP_STATE = CoordinatorLog("__share_group_state", ("share_state",))


def encode_coordinator_key(key: Data) -> bytes:
    """Its value is written by `encode_versioned`."""
    return _INT16.pack(key.__definition__.key) + encode(key, 0)


# A version and a message: the values above, subscriptions and assignments


def encode_versioned(message: Data, version: int) -> bytes:
    return _INT16.pack(version) + encode(message, version)


def decode_versioned(cls: type[D], data: Bytes) -> tuple[D, int]:
    """The message and its version. A version newer than we know is read as the newest that we do: members of a group
    may run different clients, and new fields stand behind the old ones."""
    version, position = _int16(data)
    first, last = cls.__definition__.versions
    if version < first:
        raise MalformedFrame(f"{cls.__name__} has version {version}, below {first}")
    return decode_from(cls, min(version, last), data, position)[0], version


def _int16(data: Bytes) -> tuple[int, int]:
    if len(data) < _INT16.size:
        raise MalformedFrame(f"{len(data)} bytes hold no type or version")
    (value,) = _INT16.unpack_from(data)
    return value, _INT16.size


def _has(cls: type[Data], version: int) -> bool:
    return version in cls.__definition__.versions


@cache
def _by_type(module: str, kind: str) -> dict[int, type[Data]]:
    """The classes of a file in records/ whose names end with `kind`, by the type of their records."""

    def classes() -> Iterator[type[Data]]:
        for found in vars(import_module(f"barnabas.protocol.records.{module}")).values():
            if isinstance(found, type) and issubclass(found, Data) and found.__name__.endswith(kind):
                yield found

    return {cls.__definition__.key: cls for cls in classes()}
