"""Lines as Kafka's LineMessageReader takes them apart: headers, key and value, each with its separator.

Bytes that are no UTF-8 go through as they are; Kafka's reader puts a question mark of Unicode's in their place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from barnabas.cli.failures import CommandFailed, WrongUsage

__all__ = ["KNOWN_PROPERTIES", "BadLine", "LineFormat", "Parsed", "java_lines"]

KNOWN_PROPERTIES = (
    "headers.delimiter",
    "headers.key.separator",
    "headers.separator",
    "ignore.error",
    "key.separator",
    "null.marker",
    "parse.headers",
    "parse.key",
)


class BadLine(CommandFailed):
    """It has not what the reader was told to find in it."""


class Parsed(NamedTuple):
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]
    partition: int | None = None
    timestamp: int | None = None


def java_lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Lines that end in \\n, \\r\\n or \\r, of blocks that each end in \\n (but the last)."""
    for block in blocks:
        whole = block.removesuffix(b"\n").removesuffix(b"\r") if block.endswith(b"\n") else block.removesuffix(b"\r")
        yield from whole.split(b"\r")


class LineFormat:
    def __init__(self, properties: Mapping[str, str]) -> None:
        """WrongUsage for separators that could not be told apart."""

        def is_true(name: str) -> bool:
            return properties.get(name, "false").strip().lower() == "true"

        self.parse_key = is_true("parse.key")
        self.parse_headers = is_true("parse.headers")
        self.ignore_error = is_true("ignore.error")
        self.key_separator = properties.get("key.separator", "\t")
        self.headers_delimiter = properties.get("headers.delimiter", "\t")
        self.headers_separator = properties.get("headers.separator", ",")
        self.headers_key_separator = properties.get("headers.key.separator", ":")
        self.null_marker = properties.get("null.marker")
        self._check()
        try:
            self._headers_pattern = re.compile(self.headers_separator)
        except re.error as error:
            raise WrongUsage(f"headers.separator={self.headers_separator} is no regular expression ({error})") from None

    def _check(self) -> None:
        separators = {
            "headers.delimiter": self.headers_delimiter,
            "headers.separator": self.headers_separator,
            "headers.key.separator": self.headers_key_separator,
        }
        names = list(separators)
        pairs = [(first, second) for at, first in enumerate(names) for second in names[at + 1 :]]
        for first, second in pairs:
            if separators[first] == separators[second]:
                raise WrongUsage(f"{first} and {second} may not be equal")
        for name, text in {"key.separator": self.key_separator, **separators}.items():
            if text == self.null_marker:
                raise WrongUsage(f"null.marker and {name} may not be equal")

    def parse(self, line: bytes, number: int) -> Parsed:
        """BadLine says on which line what is missing."""
        text = line.decode("utf-8", "surrogateescape")
        headers = self._part(self.parse_headers, text, 0, self.headers_delimiter, "headers delimiter", number)
        start = 0 if headers is None else len(headers) + len(self.headers_delimiter)
        key = self._part(self.parse_key, text, start, self.key_separator, "key separator", number)
        start += 0 if key is None else len(key) + len(self.key_separator)
        return Parsed(
            self._bytes(key),
            self._bytes(text[start:]),
            [] if headers is None or headers == self.null_marker else self._headers(headers, number),
        )

    def _part(self, wanted: bool, text: str, start: int, separator: str, name: str, number: int) -> str | None:
        if not wanted:
            return None
        end = text.find(separator, start)
        if end >= 0:
            return text[start:end]
        if self.ignore_error:
            return None
        raise BadLine(f"Line {number} has no {name} {_shown(separator)}: {_shown(text)}.")

    def _headers(self, text: str, number: int) -> list[tuple[str, bytes | None]]:
        pairs = self._headers_pattern.split(text)
        while len(pairs) > 1 and not pairs[-1]:  # as Java's split: nothing behind the last separator
            pairs.pop()
        return [self._header(pair, number) for pair in pairs]

    def _header(self, pair: str, number: int) -> tuple[str, bytes | None]:
        name, separator, value = pair.partition(self.headers_key_separator)
        if not separator:
            if self.ignore_error:
                return pair, None
            raise BadLine(
                f"Line {number} has a header without {_shown(self.headers_key_separator)} behind its name: "
                f"{_shown(pair)}."
            )
        if name == self.null_marker:
            raise BadLine(f"Line {number} has a header whose name is the null marker: a name cannot be null.")
        return name, self._bytes(value)

    def _bytes(self, text: str | None) -> bytes | None:
        return None if text is None or text == self.null_marker else text.encode("utf-8", "surrogateescape")


def _shown(text: str) -> str:
    return ascii(text if len(text) <= 60 else text[:60] + "...")
