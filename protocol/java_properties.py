"""The syntax of Java's properties files, read exactly as java.util.Properties reads it from a stream of bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from barnabas.protocol.java_text import split_lines

__all__ = ["format_properties", "parse_properties"]

_BLANKS = " \t\f"
_KEY_AND_VALUE = re.compile(r"(?s)((?:\\.|[^\\=: \t\f])*)[ \t\f]*[=:]?[ \t\f]*(.*)")
_ESCAPE = re.compile(r"(?s)\\(u[0-9a-fA-F]{4}|.)")
_NAMED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_NAMES = {value: "\\" + name for name, value in _NAMED.items()}


def parse_properties(data: bytes) -> dict[str, str]:
    """The last of equal keys wins. ValueError for a \\u without its four digits: nothing else is wrong syntax."""
    found = {}
    for line in _logical_lines(data.decode("latin-1")):
        key_and_value = _KEY_AND_VALUE.fullmatch(line)
        assert key_and_value is not None, "any text is a key and a value"
        found[_unescape(key_and_value[1])] = _unescape(key_and_value[2])
    return found


def format_properties(properties: Mapping[str, str]) -> bytes:
    """Sorted by key. Kafka puts an empty comment and the date above; here equal properties are equal bytes.

    Kafka writes these files in UTF-8 and reads them in Latin-1, so that it garbles whatever is not ASCII;
    escaped, as here, it reads every letter right."""
    lines = [f"{_escape(key, blanks=True)}={_escape(properties[key], blanks=False)}\n" for key in sorted(properties)]
    return "".join(["#\n", *lines]).encode("ascii")


def _logical_lines(text: str) -> Iterator[str]:
    """Lines without comments and blank ones, those joined that end in a backslash which no other escapes."""
    joined, pending = "", False
    for line in split_lines(text):
        line = line.lstrip(_BLANKS)
        # Behind a lone backslash nothing has been joined yet, and Java looks for a comment once more.
        if not joined and (not line or line[0] in "#!"):
            pending = False
            continue
        pending = (len(line) - len(line.rstrip("\\"))) % 2 == 1
        joined += line[:-1] if pending else line
        if not pending:
            yield joined
            joined = ""
    if pending:
        yield joined


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    plain = _ESCAPE.sub(_unescaped, text)
    return plain.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _unescaped(escape: re.Match[str]) -> str:
    letter = escape[1]
    if len(letter) > 1:
        return chr(int(letter[1:], 16))
    if letter == "u":
        raise ValueError("\\u is not followed by four hexadecimal digits")
    return _NAMED.get(letter, letter)


def _escape(text: str, *, blanks: bool) -> str:
    units = text.encode("utf-16-be", "surrogatepass")
    letters = [int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2)]
    return "".join(_escaped(chr(unit), blanks or at == 0) for at, unit in enumerate(letters))


def _escaped(letter: str, blanks: bool) -> str:
    if letter in _NAMES:
        return _NAMES[letter]
    if letter in "\\=:#!" or (letter == " " and blanks):
        return "\\" + letter
    return letter if " " <= letter <= "~" else f"\\u{ord(letter):04X}"
