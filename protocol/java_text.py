"""Text as Java reads it, where Kafka's small files and configurations depend on it: what ends a line, what is a blank,
what is a number. Python's own functions are more generous, and would accept what Kafka refuses."""

from __future__ import annotations

import re

__all__ = ["parse_floating", "parse_integer", "split_blanks", "split_lines", "trim"]

BLANK = r"[ \t\n\x0b\f\r]"
"""What `\\s` is in a Java pattern: of Unicode's blanks only these."""

_BLANKS = re.compile(BLANK + "+")
_LINE_END = re.compile(r"\r\n|\n|\r")
_TRIMMED = "".join(map(chr, range(0x21)))
_INTEGER = re.compile(r"[+-]?[0-9]{1,1000}")
_DECIMAL = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[fFdD]?")
_HEXADECIMAL = re.compile(r"([+-]?0[xX](?:[0-9a-fA-F]+\.?|[0-9a-fA-F]*\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[fFdD]?")
_NAMED = re.compile(r"[+-]?(NaN|Infinity)")


def split_lines(text: str) -> list[str]:
    """BufferedReader.readLine: an end of line behind the last one begins no other."""
    lines = _LINE_END.split(text)
    if not lines[-1]:
        lines.pop()
    return lines


def split_blanks(line: str) -> list[str]:
    """String.split("\\s+"): blanks in front make an empty first word, those behind make none."""
    words = _BLANKS.split(line)
    while words and not words[-1] and line:
        words.pop()
    return words


def trim(text: str) -> str:
    return text.strip(_TRIMMED)


def parse_integer(text: str, bits: int) -> int:
    """Integer.parseInt (32 bits) and Long.parseLong (64): a sign is fine, a blank or an underscore is not."""
    if not _INTEGER.fullmatch(text):
        raise ValueError(f"{text[:100]!r} is no integer")
    value = int(text)
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise ValueError(f"{text[:100]} does not fit into {bits} bits")
    return value


def parse_floating(text: str) -> float:
    """Double.parseDouble, which knows hexadecimal digits and a trailing f or d, and two names."""
    if _NAMED.fullmatch(text):
        return float(text)
    if found := _DECIMAL.fullmatch(text):
        return float(found[1])
    if found := _HEXADECIMAL.fullmatch(text):
        try:
            return float.fromhex(found[1])
        except OverflowError:
            return float("-inf" if text.startswith("-") else "inf")
    raise ValueError(f"{text[:100]!r} is no number")
