"""Kafka's own JSON of a message, compared with ours field by field."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

from barnabas.protocol.generate import snake_case
from barnabas.protocol.schema import Field, Struct


def assert_same(ours: Any, theirs: Any, version: int) -> None:
    """Our message and Kafka's JSON of it have the same names and the same values."""
    their_values = {snake_case(name): value for name, value in theirs.items()}
    travelling = {field.name: field for field in ours.__fields__ if version in field.versions}
    for name, field in travelling.items():
        if name in their_values:
            assert_same_value(getattr(ours, name), their_values.pop(name), version)
        elif field.type.name == "record_bytes":
            size = their_values.pop(f"{name}_size_in_bytes")
            assert size == len(getattr(ours, name) or b"")
        else:
            assert field.tag is not None, f"Kafka has no {name}"
            assert is_default(ours, field), f"Kafka takes {name} for its default"
    assert not their_values


def is_default(ours: Struct, field: Field) -> bool:
    return bool(getattr(ours, field.name) == getattr(type(ours)(), field.name))


def assert_same_value(ours: Any, theirs: Any, version: int) -> None:
    if isinstance(ours, Struct):
        assert_same(ours, theirs, version)
    elif isinstance(ours, list):
        assert len(ours) == len(theirs)
        for our, their in zip(ours, theirs, strict=True):
            assert_same_value(our, their, version)
    elif type(ours) is bytes:
        assert ours == b64decode(theirs)
    elif isinstance(ours, bytes):
        assert str(ours) == theirs
    elif isinstance(ours, float):
        assert ours == float(theirs)  # Kafka writes infinity as a string
    else:
        assert ours == theirs
