"""Python source under construction: what reading.py and writing.py compile their functions from."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from struct import Struct as FixedWidth
from typing import Any

__all__ = ["FIXED", "SHORT_ARRAY", "Source"]

# The struct module's letter for each wire type of fixed width.
FIXED = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint16": "H",
    "uint32": "I",
    "float64": "d",
    "uuid": "16s",
}


SHORT_ARRAY = 16
"""Arrays of fewer elements have their struct ready; for any other it is looked up by its format each time."""


@cache
def _short_arrays(wire_format: str, method: str) -> tuple[Callable[..., Any], ...]:
    return tuple(getattr(FixedWidth(f">{length}{wire_format}"), method) for length in range(SHORT_ARRAY))


class Source:
    """Lines, and the names that they use."""

    def __init__(self, **names: object) -> None:
        self.names: dict[str, Any] = dict(names)
        self._lines: list[str] = []
        self._depth = 1
        self._counter = 0

    def line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        self.line(head)
        self._depth += 1
        yield
        self._depth -= 1

    def variable(self, hint: str) -> str:
        """A name that nothing else in this function has."""
        self._counter += 1
        return f"{hint}_{self._counter}"

    def fixed_width(self, formats: str, method: str) -> str:
        """The name of the bound `method` of a big-endian struct of these formats."""
        name = f"{method}_{formats.replace('?', 'B_')}"
        self.names.setdefault(name, getattr(FixedWidth(f">{formats}"), method))
        return name

    def short_arrays(self, wire_format: str, method: str) -> str:
        """The name of a tuple: the bound `method` for arrays of 0, 1, 2 ... elements, which lists of replicas are."""
        name = f"{method}_array_{wire_format}"
        if name not in self.names:
            self.names[name] = _short_arrays(wire_format, method)
        return name

    def function(self, title: str, head: str) -> Callable[..., Any]:
        """Compile the lines as the body of one function; tracebacks show its lines."""
        text = "\n".join([head, *self._lines, ""])
        linecache.cache[title] = (len(text), None, text.splitlines(keepends=True), title)
        exec(compile(text, title, "exec"), self.names)  # noqa: S102 - the text is made of our own schemas
        made: Callable[..., Any] = self.names["compiled"]
        return made
