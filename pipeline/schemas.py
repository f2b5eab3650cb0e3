"""Which schemas a topic's decoded events have had: each change of its schema's file is a version of its own."""

from __future__ import annotations

import json

from pyspark.sql.types import StructType

from barnabas.pipeline.files import Files

__all__ = ["version_of", "versions"]

_SCHEMAS = "_schemas"


def versions(files: Files, topic: str) -> dict[int, StructType]:
    where = f"{_SCHEMAS}/{topic}"
    found = {int(name.removesuffix(".json")): files.read(f"{where}/{name}") for name in files.names(where)}
    return {number: StructType.fromJson(json.loads(text)) for number, text in sorted(found.items())}


def version_of(files: Files, topic: str, fields: StructType) -> int:
    """The version with these fields: the newest one, or one more. A schema that comes back is new again."""
    known = versions(files, topic)
    newest = max(known, default=0)
    if newest and known[newest] == fields:
        return newest
    # Moved into place whole: half a schema would be in every reader's way.
    half = f"{_SCHEMAS}/{topic}.half"
    files.delete(half)
    files.create(half, fields.json())
    files.move(half, f"{_SCHEMAS}/{topic}/{newest + 1}.json")
    return newest + 1
