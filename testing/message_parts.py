"""What messages of any API have in common: the topics and the group that a request names, and an answer's error codes.

Which fields to look at is found out once for each class, from what its fields declare.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.schema import Message, Struct, Uuid

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["error_codes", "exchange_error_code", "group_of", "topics_of"]

_TOPIC = 2
"""The type of a resource whose configuration is asked for."""


# Error codes


class _Codes(NamedTuple):
    has_code: bool
    parts: tuple[tuple[str, bool, _Codes], ...]
    """Fields that are structs, or lists of them."""


def error_codes(answer: Message) -> set[int]:
    """Without NONE."""
    found: set[int] = set()
    _collect(_codes(type(answer)), answer, found)
    found.discard(ErrorCode.NONE)
    return found


def exchange_error_code(answer: Message, old: int, new: int) -> None:
    """Everywhere in it."""
    _exchange(_codes(type(answer)), answer, old, new)


def _collect(codes: _Codes, part: Any, found: set[int]) -> None:
    if codes.has_code:
        found.add(part.error_code)
    for name, is_list, inner in codes.parts:
        for each in _each(part, name, is_list):
            _collect(inner, each, found)


def _exchange(codes: _Codes, part: Any, old: int, new: int) -> None:
    if codes.has_code and part.error_code == old:
        part.error_code = new
    for name, is_list, inner in codes.parts:
        for each in _each(part, name, is_list):
            _exchange(inner, each, old, new)


def _each(part: Any, name: str, is_list: bool) -> Any:
    value = getattr(part, name)
    if is_list:
        return value or ()
    return () if value is None else (value,)


@cache
def _codes(kind: type[Struct]) -> _Codes:
    parts = []
    for field in kind.__fields__:
        if field.type.is_struct:
            inner = _codes(_struct(kind, field.type.name))
            if inner.has_code or inner.parts:
                parts.append((field.name, field.type.is_array, inner))
    return _Codes(any(field.name == "error_code" for field in kind.__fields__), tuple(parts))


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
    names = {_name(each, node) for each in found if each not in ("", None, Uuid.ZERO)}
    return tuple(sorted(names))


def _name(topic: str | Uuid, node: Node) -> str:
    if not isinstance(topic, Uuid):
        return topic
    known = node.image.topics.by_id.get(topic)
    return str(topic) if known is None else known.name


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
    group = getattr(message, "group_id", "")
    if not group:
        groups = getattr(message, "groups", None) or getattr(message, "groups_names", None)
        if groups and len(groups) == 1:
            group = getattr(groups[0], "group_id", groups[0])
    return group if isinstance(group, str) and group else None
