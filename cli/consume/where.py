"""`--where`: a condition on a record, such as `value.user.id == 3 and "EU" in headers.region`.

It looks like Python and is none: its tree is walked once, and whatever is not a comparison, a field, a literal or one
of the few functions is refused. Nothing of it is ever run as code.

There are key, value (its JSON, or else its text), text (always text), headers, topic, partition, offset, timestamp and
size. What is missing is null, and what cannot be compared is not smaller, greater or equal.
"""

from __future__ import annotations

import ast
import json
import operator
import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from barnabas.cli.consume.formatter import Record
from barnabas.cli.failures import WrongUsage
from barnabas.cli.times import moment_ms

__all__ = ["condition"]

_Evaluate = Callable[["_Subject"], Any]
_LONGEST = 4096


class _Subject:
    """A record, whose value is read as JSON if somebody asks, and once."""

    def __init__(self, record: Record) -> None:
        self.record = record

    @cached_property
    def text(self) -> str | None:
        return _text(self.record.value)

    @cached_property
    def value(self) -> Any:
        try:
            return json.loads(self.record.value or b"")
        except (ValueError, RecursionError):
            return self.text

    @cached_property
    def headers(self) -> dict[str, str | None]:
        return {name: _text(value) for name, value in self.record.headers}


_NAMES: Mapping[str, _Evaluate] = {
    "headers": lambda subject: subject.headers,
    "key": lambda subject: _text(subject.record.key),
    "offset": lambda subject: subject.record.offset,
    "partition": lambda subject: subject.record.partition,
    "size": lambda subject: len(subject.record.value or b""),
    "text": lambda subject: subject.text,
    "timestamp": lambda subject: subject.record.timestamp,
    "topic": lambda subject: subject.record.topic,
    "value": lambda subject: subject.value,
}
_WORDS = {"true": True, "false": False, "null": None}
_COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.eq,
    ast.IsNot: operator.ne,
    ast.In: lambda part, whole: part in whole,
    ast.NotIn: lambda part, whole: whole is None or part not in whole,
}
_FUNCTIONS: Mapping[str, tuple[int, Callable[..., Any]]] = {
    "ends": (2, lambda text, end: isinstance(text, str) and text.endswith(end)),
    "len": (1, lambda what: len(what) if hasattr(what, "__len__") else None),
    "lower": (1, lambda text: text.lower() if isinstance(text, str) else None),
    "matches": (2, lambda text, pattern: isinstance(text, str) and re.search(pattern, text) is not None),
    "starts": (2, lambda text, start: isinstance(text, str) and text.startswith(start)),
}


def condition(text: str) -> Callable[[Record], bool]:
    """WrongUsage says what is not understood."""
    if len(text) > _LONGEST:
        raise WrongUsage(f"--where is longer than {_LONGEST} letters")
    try:
        tree = ast.parse(text.strip(), mode="eval")
        evaluate = _read(tree.body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise WrongUsage(
            f"--where {text} is no condition: write one such as 'value.user.id == 3 and key != null', "
            'and value["from"] for a field whose name is a word of Python'
        ) from None
    return lambda record: bool(evaluate(_Subject(record)))


def _read(node: ast.expr) -> _Evaluate:
    match node:
        case ast.Constant(value=bool() | int() | float() | str() | None as constant):
            return lambda _: constant
        case ast.Name(id=name) if name in _WORDS:
            word = _WORDS[name]
            return lambda _: word
        case ast.Name(id=name) if name in _NAMES:
            return _NAMES[name]
        case ast.Attribute(value=inner, attr=name):
            return _field(_read(inner), name)
        case ast.Subscript(value=inner, slice=ast.Constant(value=str() | int() as name)):
            return _field(_read(inner), name)
        case ast.Subscript(value=inner, slice=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as number))):
            return _field(_read(inner), -number)
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            negated = _read(inner)
            return lambda subject: not negated(subject)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return lambda _: -number
        case ast.BoolOp(op=how, values=parts):
            return _all_or_any([_read(part) for part in parts], all if isinstance(how, ast.And) else any)
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            elements = [_read(part) for part in parts]
            return lambda subject: [element(subject) for element in elements]
        case ast.Compare(left=left, ops=operators, comparators=rest):
            return _comparison([left, *rest], operators)
        case ast.Call(func=ast.Name(id=name), args=given, keywords=[]) if name in _FUNCTIONS:
            return _call(name, given)
    raise _not_understood(node)


def _not_understood(node: ast.expr) -> WrongUsage:
    shown = ast.unparse(node)
    functions = ", ".join(_FUNCTIONS)
    return WrongUsage(
        f"--where does not understand {shown}: there are {', '.join(_NAMES)} and their fields, "
        f"comparisons, in, and, or, not, and the functions {functions}"
    )


def _field(inner: _Evaluate, name: str | int) -> _Evaluate:
    def get(subject: _Subject) -> Any:
        found = inner(subject)
        if isinstance(found, dict):
            return found.get(name)
        if isinstance(found, list) and isinstance(name, int) and -len(found) <= name < len(found):
            return found[name]
        return None

    return get


def _all_or_any(parts: list[_Evaluate], how: Callable[[Any], bool]) -> _Evaluate:
    return lambda subject: how(part(subject) for part in parts)


def _comparison(sides: list[ast.expr], operators: list[ast.cmpop]) -> _Evaluate:
    """`1 < offset < 9` is two; a text beside `timestamp` is a moment."""
    dated = any(isinstance(side, ast.Name) and side.id == "timestamp" for side in sides)
    read = [_moment(side) if dated and _is_text(side) else _read(side) for side in sides]
    compare = [_COMPARISONS[type(each)] for each in operators]

    def holds(subject: _Subject) -> bool:
        values = [each(subject) for each in read]
        try:
            return all(how(values[at], values[at + 1]) for at, how in enumerate(compare))
        except TypeError:
            return False

    return holds


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _moment(node: ast.expr) -> _Evaluate:
    assert isinstance(node, ast.Constant)
    timestamp = moment_ms(str(node.value), "--where timestamp and")
    return lambda _: timestamp


def _call(name: str, given: list[ast.expr]) -> _Evaluate:
    count, function = _FUNCTIONS[name]
    if len(given) != count:
        raise WrongUsage(f"--where: {name} takes {count} values, and not {len(given)}")
    if name == "matches":
        _check_pattern(given[1])
    read = [_read(each) for each in given]

    def call(subject: _Subject) -> Any:
        try:
            return function(*(each(subject) for each in read))
        except TypeError:
            return None

    return call


def _check_pattern(node: ast.expr) -> None:
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        raise WrongUsage('--where: the pattern of matches is a text, as in matches(key, "^a")')
    try:
        re.compile(node.value)
    except re.error as error:
        raise WrongUsage(f"--where: {node.value} is no regular expression ({error})") from None


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "replace")
