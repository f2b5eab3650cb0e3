"""The vocabulary of the message files: how a class says what Kafka's bytes for it are.

    @message(key=1, versions="4-18", flexible="12+")
    class FetchRequest(Message):
        replica_id: int32 = field("0-14", default=-1)
        topics: list[FetchTopic] = field()

The annotation names the wire type; `field` says in which versions it travels and what it is where it does not.
Messages are version-neutral: one class serves every version, and codec.py compiles an encoder and a decoder for
each version on first use. Annotations are read as text (the message files postpone their evaluation), so that
declaring a message costs little more than its class.
"""

from __future__ import annotations

import sys
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable
from inspect import get_annotations
from re import fullmatch
from typing import Any, ClassVar, NamedTuple, Protocol, Self, TypeAlias, TypeVar, cast, dataclass_transform

import msgspec

__all__ = [
    "Data",
    "Field",
    "Kept",
    "Message",
    "Struct",
    "UnknownTag",
    "Unread",
    "Uuid",
    "Versions",
    "WireType",
    "data",
    "field",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "message",
    "record_bytes",
    "string",
    "struct",
    "uint16",
    "uint32",
    "uuid",
]


T = TypeVar("T")


class Uuid(bytes):
    """Sixteen bytes that print as Kafka prints them: URL-safe base64 without padding.

    Kafka's topic and directory ids; a subclass of bytes because making a uuid.UUID costs ten times as much,
    on every Fetch and Produce.
    """

    __slots__ = ()

    ZERO: ClassVar[Uuid]

    def __new__(cls, value: Iterable[int] = bytes(16)) -> Self:
        made = super().__new__(cls, value)
        if len(made) != 16:
            raise ValueError(f"a uuid has 16 bytes, not {len(made)}")
        return made

    def __str__(self) -> str:
        return urlsafe_b64encode(self).rstrip(b"=").decode()

    def __repr__(self) -> str:
        return f"Uuid({str(self)!r})"

    @classmethod
    def parse(cls, text: str) -> Uuid:
        """The reverse of str, which like Kafka takes padding as well."""
        if not fullmatch("[A-Za-z0-9_-]{22}(==)?", text):
            raise ValueError(f"{text[:100]!r} is no Kafka uuid, which is 22 letters of URL-safe base64")
        return cls(urlsafe_b64decode(text[:22] + "=="))


Uuid.ZERO = Uuid()


class Unread(Protocol):
    """Bytes that are not in memory, such as a slice of a file: the codec asks for their length and passes the
    object on, for the connection to send (sendfile)."""

    def __len__(self) -> int: ...


class Kept(list[T]):
    """An array of structs that many answers have in common: it is encoded once for each version, and nobody changes it
    after that."""

    __slots__ = ("encoded",)

    def __init__(self, items: Iterable[T] = ()) -> None:
        super().__init__(items)
        self.encoded: dict[int, bytes] = {}
        """By version, what follows its length."""


# The wire types, by Kafka's names. For a type checker they are what a Python program puts there.
int8: TypeAlias = int
int16: TypeAlias = int
int32: TypeAlias = int
int64: TypeAlias = int
uint16: TypeAlias = int
uint32: TypeAlias = int
float64: TypeAlias = float
string: TypeAlias = str
uuid: TypeAlias = Uuid
record_bytes: TypeAlias = bytes | bytearray | memoryview | Unread

HIGHEST = 32767


class Versions(NamedTuple):
    """A range of versions, both ends included, written as Kafka does: "3", "4-18", "12+", "none"."""

    first: int
    last: int

    @classmethod
    def parse(cls, text: str) -> Versions:
        if text == "none":
            return cls(HIGHEST, -1)
        first, dash, last = text.partition("-")
        if first.endswith("+"):
            return cls(int(first[:-1]), HIGHEST)
        return cls(int(first), int(last) if dash else int(first))

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and self.first <= version <= self.last


ALL = Versions(0, HIGHEST)
NONE = Versions(HIGHEST, -1)


class WireType(NamedTuple):
    """`name` is one of Kafka's wire types or the name of a struct of the same module."""

    name: str
    is_array: bool
    nullable: bool

    @classmethod
    def parse(cls, annotation: str) -> WireType:
        name = annotation.removesuffix(" | None")
        nullable = name != annotation
        is_array = name.startswith("list[")
        return cls(name[5:-1] if is_array else name, is_array, nullable)

    @property
    def is_struct(self) -> bool:
        return self.name not in ZERO


# What a field of each type is when nothing is said of it. Kafka's null is the zero of records alone.
ZERO: dict[str, object] = {
    "bool": False,
    "int8": 0,
    "int16": 0,
    "int32": 0,
    "int64": 0,
    "uint16": 0,
    "uint32": 0,
    "float64": 0.0,
    "string": "",
    "bytes": b"",
    "uuid": Uuid.ZERO,
    "record_bytes": None,
}


class _Unset:
    """Tells "no default was said" from the default None."""


class Declaration(NamedTuple):
    """What `field` was called with, until its class is complete."""

    versions: Versions
    default: object
    nullable: Versions | None
    tag: int | None
    ignorable: bool
    classic: bool


class Field(NamedTuple):
    """One field of a struct, as the codec compiles it."""

    name: str
    type: WireType
    versions: Versions
    nullable: Versions
    tag: int | None
    ignorable: bool
    classic: bool
    default: object
    """None also stands for the fresh list or struct that `fresh_default` is about."""
    fresh_default: bool
    """The default is a new list or a new struct for every message."""

    @property
    def element(self) -> Field:
        """One element of the list that this field is."""
        return self._replace(type=self.type._replace(is_array=False))


def field(
    versions: str = "0+",
    *,
    default: object = _Unset,
    nullable: str | None = None,
    tag: int | None = None,
    ignorable: bool = False,
    classic: bool = False,
) -> Any:
    """Declare a field.

    versions   travels in these, all within the versions of its message
    default    what it is elsewhere, or when nobody sets it; without it the zero of its type
    nullable   may be null on the wire in these; by default in all, if its annotation has "| None"
    tag        travels among the tagged fields, and only when it is not its default
    ignorable  may be dropped in a version that lacks it; setting any other there is an error
    classic    keeps the classic form of strings in flexible versions too (the request header's client id)

    A tagged struct that is not nullable is None where the tag is absent: Kafka makes an object of defaults
    there, which it then takes for absent.
    """
    return Declaration(
        Versions.parse(versions),
        default,
        None if nullable is None else Versions.parse(nullable),
        tag,
        ignorable,
        classic,
    )


class UnknownTag(NamedTuple):
    """A tagged field that this version of the schema does not know; it is kept and written again."""

    tag: int
    data: bytes


# Messages hold no cycles: the garbage collector need not look at them.
class Struct(msgspec.Struct, kw_only=True, gc=False):
    """A part of a message. Subclasses are made by `struct`, `message` or `data`."""

    unknown_tags: tuple[UnknownTag, ...] = ()

    __fields__: ClassVar[tuple[Field, ...]] = ()

    def __repr__(self) -> str:
        """The fields that are not their defaults."""
        parts = [
            f"{field.name}={value!r}"
            for field in self.__fields__
            if (value := getattr(self, field.name)) != ([] if field.fresh_default else field.default)
        ]
        if self.unknown_tags:
            parts.append(f"unknown_tags={self.unknown_tags!r}")
        return f"{type(self).__name__}({', '.join(parts)})"


class Definition(NamedTuple):
    """What holds for a message as a whole. `key` is the API's key, or the type of a record in a log."""

    key: int
    versions: Versions
    flexible: Versions


class Data(Struct):
    """A struct that stands for itself and has versions: a header, a record's key or value, a message."""

    __definition__: ClassVar[Definition]


class Message(Data):
    """A request or a response."""


S = TypeVar("S", bound=Struct)
D = TypeVar("D", bound=Data)


def _declare(cls: type[S], **constants: object) -> type[S]:
    """The class that was declared, once more with what its fields mean."""
    names = cls.__struct_fields__[: -len(Struct.__struct_fields__)]
    annotations = get_annotations(cls)
    fields = []
    attributes = []
    for name, declared in zip(names, cls.__struct_defaults__, strict=False):
        spec = _field(name, WireType.parse(annotations[name]), declared)
        fields.append(spec)
        if not spec.fresh_default:
            attribute = msgspec.field(default=spec.default)
        elif spec.type.is_array:
            attribute = msgspec.field(default_factory=list)
        else:
            attribute = msgspec.field(default_factory=_struct_factory(cls.__module__, spec.type.name))
        attributes.append((name, Any, attribute))
    constants |= {"__doc__": cls.__doc__, "__fields__": tuple(fields)}
    made = msgspec.defstruct(
        cls.__name__, attributes, bases=cls.__bases__, module=cls.__module__, namespace=constants, gc=False
    )
    return cast("type[S]", made)


def _field(name: str, wire_type: WireType, declared: Declaration) -> Field:
    absent_is_none = wire_type.is_struct and not wire_type.is_array and declared.tag is not None
    nullable = declared.nullable
    if nullable is None:
        nullable = NONE if absent_is_none or not wire_type.nullable else ALL
    default: object = declared.default
    fresh = False
    if default is _Unset:
        default = None
        if wire_type.is_array:
            fresh = True
        elif wire_type.is_struct:
            fresh = not absent_is_none or nullable != NONE
        else:
            default = ZERO[wire_type.name]
    return Field(
        name,
        wire_type,
        declared.versions,
        nullable,
        declared.tag,
        declared.ignorable,
        declared.classic,
        default,
        fresh,
    )


def _struct_factory(module: str, name: str) -> Any:
    """Makes the struct of that name, which its module may declare further down."""
    return lambda: getattr(sys.modules[module], name)()


@dataclass_transform(eq_default=True)
def struct(cls: type[S]) -> type[S]:
    """A part of messages, without versions of its own."""
    return _declare(cls)


@dataclass_transform(eq_default=True)
def _versioned(cls: type[D], key: int, versions: str, flexible: str) -> type[D]:
    return _declare(cls, __definition__=Definition(key, Versions.parse(versions), Versions.parse(flexible)))


@dataclass_transform(eq_default=True)
def message(*, key: int, versions: str, flexible: str) -> Any:
    """A request or response of the API `key`, in these versions; compact and tagged forms from `flexible` on."""
    return lambda cls: _versioned(cls, key, versions, flexible)


@dataclass_transform(eq_default=True)
def data(*, versions: str, flexible: str, key: int = -1) -> Any:
    """A header, or a record of one of Kafka's own logs, whose type is `key`."""
    return lambda cls: _versioned(cls, key, versions, flexible)
