"""Messages made by hypothesis from what their classes declare, for any class and version."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from barnabas.protocol import messages as messages_package
from barnabas.protocol import records as records_package
from barnabas.protocol.schema import Data, Field, Message, Struct, UnknownTag, Uuid

THOROUGH = os.environ.get("BARNABAS_THOROUGH") == "1"

D = TypeVar("D", bound=Data)
Values = Callable[[type[Struct], Field], st.SearchStrategy[Any] | None]
"""What a test wants in place of a field's values; None for no wish."""


def examples(few: int, many: int) -> settings:
    """`few` messages for each class and version in a common run, `many` in `make thorough`."""
    return settings(
        max_examples=many if THOROUGH else few,
        deadline=None,
        database=None,
        derandomize=not THOROUGH,
        suppress_health_check=list(HealthCheck),
    )


def _integers(bits: int, *, signed: bool = True) -> st.SearchStrategy[int]:
    return st.integers(-(1 << bits - 1), (1 << bits - 1) - 1) if signed else st.integers(0, (1 << bits) - 1)


PRIMITIVES: dict[str, st.SearchStrategy[Any]] = {
    "bool": st.booleans(),
    "int8": _integers(8),
    "int16": _integers(16),
    "int32": _integers(32),
    "int64": _integers(64),
    "uint16": _integers(16, signed=False),
    "uint32": _integers(32, signed=False),
    "float64": st.floats(allow_nan=False),
    # Lengths around one byte's worth, where a compact length gets its second byte.
    "string": st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
    | st.sampled_from([126, 127, 300]).map("x".__mul__),
    "bytes": st.binary(max_size=8) | st.sampled_from([126, 127, 20_000]).map(b"x".__mul__),
    "record_bytes": st.binary(max_size=8) | st.sampled_from([126, 127, 20_000]).map(b"x".__mul__),
    "uuid": st.binary(min_size=16, max_size=16).map(Uuid) | st.just(Uuid.ZERO),
}


def messages(
    cls: type[D], version: int, values: Values | None = None, *, unknown_tags: bool = False
) -> st.SearchStrategy[D]:
    """Messages of that class that its version can carry."""
    return _Maker(cls, version, values, unknown_tags).structs(cls)


class _Maker:
    def __init__(self, cls: type[Data], version: int, values: Values | None, unknown_tags: bool) -> None:
        self.version = version
        self.values = values
        self.module = sys.modules[cls.__module__]
        self.unknown_tags = unknown_tags and version in cls.__definition__.flexible

    def structs(self, cls: type[Any]) -> st.SearchStrategy[Any]:
        parts = {each.name: self.field(cls, each) for each in cls.__fields__ if self.version in each.versions}
        if self.unknown_tags:
            parts["unknown_tags"] = st.just(()) | st.just((UnknownTag(9_999, b"later"), UnknownTag(10_000, b"")))
        return st.tuples(*parts.values()).map(lambda made: cls(**dict(zip(parts, made, strict=True))))

    def field(self, cls: type[Struct], each: Field) -> st.SearchStrategy[Any]:
        wished = self.values and self.values(cls, each)
        made = wished if wished is not None else self.one(cls, each)
        if each.type.is_array:
            made = st.lists(made, max_size=3)
        elif each.type.is_struct and each.tag is not None and self.version not in each.nullable:
            return st.none() | made.map(_none_if_default)
        return st.none() | made if self.version in each.nullable else made

    def one(self, cls: type[Struct], each: Field) -> st.SearchStrategy[Any]:
        if each.type.is_struct:
            return self.structs(getattr(self.module, each.type.name))
        return PRIMITIVES[each.type.name]


def _none_if_default(made: Struct) -> Struct | None:
    """A tagged struct of defaults does not travel, and comes back as None."""
    return made if made != type(made)() else None


FULL: dict[str, Any] = {
    "bool": True,
    "int8": 1,
    "int16": 2,
    "int32": 3,
    "int64": 4,
    "uint16": 5,
    "uint32": 6,
    "float64": 7.5,
    "string": "ab",
    "bytes": b"cd",
    "record_bytes": b"ef",
    "uuid": Uuid(range(16)),
}


def full_message(cls: type[D], version: int) -> D:
    """The message in which everything is there that this version can carry. Its own lists have two elements, those
    inside have one: with two everywhere, the deepest message would have a thousand."""
    module = sys.modules[cls.__module__]
    tags = (UnknownTag(9_999, b"later"),) if version in cls.__definition__.flexible else ()

    def full(of: type[Any], elements: int) -> Any:
        values: dict[str, Any] = {}
        for each in of.__fields__:
            if version in each.versions:
                kind = each.type.name
                one = full(getattr(module, kind), 1) if each.type.is_struct else FULL[kind]
                values[each.name] = [one] * elements if each.type.is_array else one
        return of(**values, unknown_tags=tags)

    made: D = full(cls, 2)
    return made


def declared() -> Iterator[type[Data]]:
    """Every class of messages/ and records/ that has versions of its own."""
    for package in (messages_package, records_package):
        for module in iter_modules(package.__path__, package.__name__ + "."):
            for found in vars(import_module(module.name)).values():
                if isinstance(found, type) and issubclass(found, Data) and found not in (Data, Message):
                    yield found


def every_version() -> Iterator[tuple[type[Data], int]]:
    for cls in declared():
        first, last = cls.__definition__.versions
        for version in range(first, last + 1):
            yield cls, version
