"""Kafka's message schemas, as its jar has them.

They are read when they are first asked for: a request that Kafka's next version knows needs another jar and no change
here.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from uuid import UUID

__all__ = ["Api", "Field", "Message", "Versions", "api", "apis"]

CACHE = Path(__file__).resolve().parents[2] / ".cache"
FOLDER = "common/message/"
LAST = 32_767


@dataclass(frozen=True, slots=True)
class Versions:
    first: int
    last: int

    @classmethod
    def parse(cls, text: str) -> Versions:
        """`3`, `3-5`, `3+` or `none`."""
        if text == "none":
            return cls(0, -1)
        first, separator, last = text.partition("-")
        if text.endswith("+"):
            return cls(int(text[:-1]), LAST)
        return cls(int(first), int(last) if separator else int(first))

    def __contains__(self, version: int) -> bool:
        return self.first <= version <= self.last


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    type: str
    """Of one element, where it is an array."""
    is_array: bool
    versions: Versions
    nullable: Versions
    tagged: Versions
    tag: int
    default: Any
    fields: tuple[Field, ...] = ()
    """Of a struct."""

    @property
    def is_struct(self) -> bool:
        return bool(self.fields)


@dataclass(frozen=True, slots=True)
class Message:
    name: str
    versions: Versions
    flexible: Versions
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Api:
    name: str
    """As in the protocol guide: Fetch, ListOffsets."""
    key: int
    request: Message
    response: Message
    first: int
    last: int
    """The last that is stable."""


def api(name: str) -> Api:
    found = apis().get(name)
    if found is None:
        raise KeyError(f"Kafka has no API {name}; it has {', '.join(sorted(apis()))}")
    return found


@cache
def apis() -> Mapping[str, Api]:
    definitions: dict[str, dict[str, Any]] = {}
    with zipfile.ZipFile(_jar()) as jar:
        for entry in jar.namelist():
            if entry.startswith(FOLDER) and entry.endswith(("Request.json", "Response.json")):
                definition = json.loads(re.sub(r"^\s*//.*$", "", jar.read(entry).decode(), flags=re.MULTILINE))
                definitions[definition["name"]] = definition
    found = {}
    for name, definition in definitions.items():
        if definition["type"] == "request" and definition["validVersions"] != "none":
            short = name.removesuffix("Request")
            versions = Versions.parse(definition["validVersions"])
            last = versions.last - bool(definition.get("latestVersionUnstable"))
            response = _message(definitions[f"{short}Response"])
            found[short] = Api(short, definition["apiKey"], _message(definition), response, versions.first, last)
    return found


def _jar() -> Path:
    jars = sorted(CACHE.glob("kafka-4*/kafka-clients-*.jar"))
    if not jars:
        raise FileNotFoundError("Apache Kafka's jars are not in .cache/: run `make kafka`")
    return jars[-1]


def _message(definition: Mapping[str, Any]) -> Message:
    common = {struct["name"]: struct for struct in definition.get("commonStructs", ())}
    return Message(
        definition["name"],
        Versions.parse(definition["validVersions"]),
        Versions.parse(definition["flexibleVersions"]),
        tuple(_field(each, common) for each in definition["fields"]),
    )


def _field(definition: Mapping[str, Any], common: Mapping[str, Mapping[str, Any]]) -> Field:
    kind = definition["type"].removeprefix("[]")
    is_array = definition["type"].startswith("[]")
    inner = definition.get("fields") or common.get(kind, {}).get("fields", ())
    return Field(
        name=definition["name"][0].upper() + definition["name"][1:],  # Kafka has timeoutMs beside TimeoutMs
        type=kind,
        is_array=is_array,
        versions=Versions.parse(definition["versions"]),
        nullable=Versions.parse(definition.get("nullableVersions", "none")),
        tagged=Versions.parse(definition.get("taggedVersions", "none")),
        tag=definition.get("tag", -1),
        default=_default(kind, is_array, definition.get("default")),
        fields=tuple(_field(each, common) for each in inner),
    )


def _default(kind: str, is_array: bool, given: Any) -> Any:
    if given == "null":
        return None
    if is_array:
        return []
    match kind:
        case "bool":
            return str(given).lower() == "true"
        case "string":
            return given or ""
        case "bytes":
            return b""
        case "uuid":
            return UUID(int=0)
        case "float64":
            return float(given or 0)
        case "records":
            return None
    # A struct's fields have their own defaults.
    return {} if kind[0].isupper() else int(str(given or 0), 0)
