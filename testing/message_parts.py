"""What messages of any API have in common: the topics and the group that a request names, and an answer's error codes.

Which fields to look at is found out once for each class, from what its fields declare.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from barnabas.protocol.schema import Message, Struct, Uuid

if TYPE_CHECKING:
    from barnabas.broker.node import Node
    from barnabas.coordination.cluster.topics import Topic

__all__ = ["error_codes", "exchange_error_code", "group_of", "topics_of"]

_TOPIC = 2
"""The type of a resource whose configuration is asked for."""


# Error codes


class _Codes(NamedTuple):
    has_code: bool
    lists: tuple[tuple[str, _Codes], ...]
    """Fields that have more of them."""
    structs: tuple[tuple[str, _Codes], ...]


def error_codes(answer: Message) -> set[int]:
    """Without NONE."""
    found: set[int] = set()
    _collect(_codes(type(answer)), answer, found)
    return found


def exchange_error_code(answer: Message, old: int, new: int) -> None:
    """Everywhere in it."""
    _exchange(_codes(type(answer)), answer, old, new)


def _collect(codes: _Codes, part: Any, found: set[int]) -> None:
    has_code, lists, structs = codes
    if has_code and part.error_code:
        found.add(part.error_code)
    for name, inner in lists:
        for each in getattr(part, name) or ():
            _collect(inner, each, found)
    for name, inner in structs:
        if (one := getattr(part, name)) is not None:
            _collect(inner, one, found)


def _exchange(codes: _Codes, part: Any, old: int, new: int) -> None:
    if codes.has_code and part.error_code == old:
        part.error_code = new
    for name, inner in codes.lists:
        for each in getattr(part, name) or ():
            _exchange(inner, each, old, new)
    for name, inner in codes.structs:
        if (one := getattr(part, name)) is not None:
            _exchange(inner, one, old, new)


@cache
def _codes(kind: type[Struct]) -> _Codes:
    parts: dict[bool, list[tuple[str, _Codes]]] = {True: [], False: []}
    for field in kind.__fields__:
        if field.type.is_struct:
            inner = _codes(_struct(kind, field.type.name))
            if inner.has_code or inner.lists or inner.structs:
                parts[field.type.is_array].append((field.name, inner))
    has_code = any(field.name == "error_code" for field in kind.__fields__)
    return _Codes(has_code, tuple(parts[True]), tuple(parts[False]))


def _struct(owner: type[Struct], name: str) -> type[Struct]:
    found: type[Struct] = getattr(sys.modules[owner.__module__], name)
    return found


# Topics


Find = Callable[[Any, set[str | Uuid]], None]


def topics_of(message: Message, node: Node) -> tuple[str, ...]:
    """By their names, sorted; those of ids that nobody knows by these."""
    finds = _finds(type(message))
    if not finds:
        return ()
    found: set[str | Uuid] = set()
    for find in finds:
        find(message, found)
    found -= _NO_TOPICS
    by_id = node.image.topics.by_id
    names = [each if type(each) is str else _name(by_id.get(each), each) for each in found]  # type: ignore[arg-type]
    return tuple(sorted(names)) if len(names) > 1 else tuple(names)


_NO_TOPICS = frozenset({"", None, Uuid.ZERO})


def _name(known: Topic | None, topic_id: str | Uuid) -> str:
    return str(topic_id) if known is None else known.name


@cache
def _finds(kind: type[Struct]) -> tuple[Find, ...]:
    return tuple(_found_in(kind))


def _found_in(kind: type[Struct]) -> Iterator[Find]:
    for field in kind.__fields__:
        if not field.type.is_array:
            continue
        if not field.type.is_struct:
            if field.type.name == "string" and "topic" in field.name:
                yield _names_themselves(field.name)
            continue
        inner = _struct(kind, field.type.name)
        names = [each.name for each in inner.__fields__]
        if "topic" in field.name or field.name == "responses":
            called = [name for name in ("topic", "topic_name", "name", "topic_id") if name in names]
            if called:
                yield _names_of(field.name, called)
        elif "resource_name" in names:
            yield _resources(field.name)
        else:
            deeper = _finds(inner)
            if deeper:
                yield _of_each(field.name, deeper)


def _names_themselves(field: str) -> Find:
    return lambda message, found: found.update(getattr(message, field) or ())


def _names_of(field: str, names: Sequence[str]) -> Find:
    def find(message: Any, found: set[str | Uuid]) -> None:
        for topic in getattr(message, field) or ():
            for name in names:
                found.add(getattr(topic, name))

    return find


def _resources(field: str) -> Find:
    def find(message: Any, found: set[str | Uuid]) -> None:
        for resource in getattr(message, field):
            if resource.resource_type == _TOPIC:
                found.add(resource.resource_name)

    return find


def _of_each(field: str, finds: tuple[Find, ...]) -> Find:
    def find(message: Any, found: set[str | Uuid]) -> None:
        for part in getattr(message, field) or ():
            for inner in finds:
                inner(part, found)

    return find


# Groups


def group_of(message: Message) -> str | None:
    """The one group that it is about, if it is about one."""
    fields = _group_fields(type(message))
    for field in fields:
        value: Any = getattr(message, field)
        if type(value) is list:
            if len(value) != 1:
                continue
            value = getattr(value[0], "group_id", value[0])
        if value:
            return str(value)
    return None


@cache
def _group_fields(kind: type[Struct]) -> tuple[str, ...]:
    names = [field.name for field in kind.__fields__]
    return tuple(name for name in ("group_id", "groups", "groups_names") if name in names)
