"""Whether a regular expression can be a subscription's pattern. Kafka's brokers read these with RE2."""

from __future__ import annotations

import re

from barnabas.cli.failures import FAILED

__all__ = ["validate", "why_invalid"]

_NOT_IN_RE2 = re.compile(r"\(\?(?:[=!>]|<[=!]|P=|\()|(?<!\\)(?:\\\\)*\\[1-9]")
"""Looking around, atomic groups, and what refers back: RE2 has none of them, so that it never takes long."""
_POSSESSIVE = re.compile(r"(?<!\\)(?:[*+?]|\})\+")


def why_invalid(pattern: str) -> str | None:
    found = _NOT_IN_RE2.search(pattern) or _POSSESSIVE.search(pattern)
    if found is not None:
        return f"RE2 has no {found[0]}"
    try:
        re.compile(_as_python(pattern))
    except re.error as error:
        return str(error)
    return None


def _as_python(pattern: str) -> str:
    """What RE2 writes otherwise than Python: classes by name, the end of the text, and literal runs."""
    pattern = re.sub(r"\\Q(.*?)(?:\\E|$)", lambda match: re.escape(match[1]), pattern, flags=re.DOTALL)
    pattern = re.sub(r"\[:\^?[a-z]+:\]", "a-z", pattern)
    pattern = re.sub(r"\\[pP](?:\{\^?[A-Za-z_]+\}|[A-Z])", "a", pattern)
    return pattern.replace(r"\z", r"\Z").replace(r"\C", ".").replace("(?s)", "").replace("(?U)", "")


def validate(pattern: str) -> int:
    why = why_invalid(pattern)
    if why is None:
        print(f"The regular expression `{pattern}` is valid.")  # noqa: T201 - the result
        return 0
    print(f"The regular expression `{pattern}` is invalid: {why}.")  # noqa: T201
    return FAILED
