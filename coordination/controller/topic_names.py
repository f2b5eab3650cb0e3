"""Which names a topic may have: they are names of directories, and of metrics."""

from __future__ import annotations

import re

__all__ = ["CLUSTER_METADATA_TOPIC", "why_invalid"]

CLUSTER_METADATA_TOPIC = "__cluster_metadata"
MAX_LENGTH = 249
"""With a dash, a partition's number and a suffix it is still the name of a file."""

_LEGAL = re.compile(r"[a-zA-Z0-9._-]*")


def why_invalid(name: str) -> str | None:
    """What is wrong with a topic's name, in words; None if it may be one."""
    if not name:
        return "A topic's name must not be empty."
    if name in (".", ".."):
        return f"A topic cannot be named '{name}', which means a directory."
    if len(name.encode("utf-16-le", "surrogatepass")) // 2 > MAX_LENGTH:
        return f"A topic's name has at most {MAX_LENGTH} letters, and this one has {len(name)}."
    if not _LEGAL.fullmatch(name):
        return f"The topic name '{name}' may only have letters of ASCII, digits, '.', '_' and '-'."
    return None
