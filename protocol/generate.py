"""Writes messages/ and records/ out of the schemas in Kafka's published jars.

    python -m barnabas.protocol.generate DIRECTORY_OF_JARS     (or: make generate)

Every class keeps Kafka's name and every field its name in snake case; versions are cut to those that this
Kafka still speaks, and nothing of the schemas' prose is taken over. Running it for another version of Kafka shows
what changed as a diff of these files. Nothing imports this module.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from barnabas.protocol import schema as vocabulary
from barnabas.protocol.schema import HIGHEST, ZERO, Versions

Json = dict[str, Any]

# Which file each record of Kafka's own logs and files goes to: the first whose pattern its name fully matches.
RECORD_FILES = [
    ("producer_snapshot", "the file of a log's producers: N.snapshot", "ProducerSnapshot"),
    ("quorum_state", "the file quorum-state of __cluster_metadata", "QuorumStateData"),
    ("principal", "a client's principal, inside an Envelope request", "DefaultPrincipalData"),
    (
        "consumer_protocol",
        "what consumers tell each other through JoinGroup and SyncGroup",
        "ConsumerProtocol.*",
    ),
    (
        "control",
        "control records: the end of a transaction, and what raft writes into __cluster_metadata",
        "ControlRecordTypeSchema|EndTxnMarker|LeaderChangeMessage|Snapshot.*|KRaftVersionRecord|VotersRecord",
    ),
    (
        "classic_group",
        "__consumer_offsets: committed offsets and classic groups",
        "(Legacy)?OffsetCommit.*|GroupMetadata.*",
    ),
    ("consumer_group", "__consumer_offsets: groups of the consumer protocol (KIP-848)", "ConsumerGroup.*"),
    ("share_group", "__consumer_offsets: share groups (KIP-932)", "ShareGroup.*"),
    ("streams_group", "__consumer_offsets: streams groups (KIP-1071)", "StreamsGroup.*"),
    ("transaction_state", "__transaction_state", "TransactionLog.*"),
    ("share_state", "__share_group_state", "Share(Snapshot|Update).*"),
    ("remote_log_metadata", "__remote_log_metadata", "Remote.*"),
    ("cluster_metadata", "__cluster_metadata", ".*"),
]

# The wire types by the schemas' names.
WIRE = {name.replace("record_bytes", "records"): zero for name, zero in ZERO.items()}
INTEGERS = frozenset(name for name, zero in WIRE.items() if type(zero) is int)


@dataclass
class Schema:
    """One JSON schema, as far as it is needed here."""

    name: str
    kind: str
    key: int
    versions: Versions
    json: Json

    @property
    def structs(self) -> Iterator[tuple[str, list[Json]]]:
        """Every struct inside, in the order in which a reader meets them."""
        common = {part["name"]: part["fields"] for part in self.json.get("commonStructs", [])}
        seen = set()

        def inside(fields: list[Json]) -> Iterator[tuple[str, list[Json]]]:
            for each in fields:
                name = each["type"].removeprefix("[]")
                if name not in WIRE and name not in seen:
                    seen.add(name)
                    parts = each.get("fields") or common[name]
                    yield name, parts
                    yield from inside(parts)

        return inside(self.json["fields"])


@dataclass
class Module:
    """A file to write: messages, and the structs that they are made of."""

    title: str
    schemas: list[Schema] = field(default_factory=list)

    def source(self, version: str) -> str:
        names = self._struct_names()
        classes: dict[str, str] = {}
        for schema in self.schemas:
            classes[schema.name] = _class(schema, schema.name, schema.json["fields"], names)
            for name, fields in schema.structs:
                classes.setdefault(names[schema.name, name], _class(schema, names[schema.name, name], fields, names))
        body = "\n\n".join(classes.values())
        used = sorted(word for word in _EXPORTED if re.search(rf"\b{word}\b", body))
        return (
            f'"""{self.title}"""\n\n'
            f"{made_from(version)}"
            "from __future__ import annotations\n\n"
            f"from barnabas.protocol.schema import {', '.join(used)}\n\n\n{body}"
        )

    def _struct_names(self) -> dict[tuple[str, str], str]:
        """The class of each message's struct. Messages of one file share a struct that is the same in both;
        where only the name is the same, the later one's is lengthened by what tells the messages apart."""
        meant: dict[str, str] = {}
        names = {}
        for schema in self.schemas:
            for name, fields in schema.structs:
                wire = json.dumps([schema.versions, _without_prose(fields)])
                chosen = name if meant.setdefault(name, wire) == wire else _distinct(schema, name)
                assert meant.setdefault(chosen, wire) == wire, f"two structs would be called {chosen}"
                names[schema.name, name] = chosen
        return names


_EXPORTED = vocabulary.__all__


def _distinct(schema: Schema, struct_name: str) -> str:
    prefix = {"request": "Request", "response": "Response"}.get(schema.kind, schema.name)
    return prefix + struct_name


def _without_prose(fields: list[Json]) -> list[Json]:
    return [
        {key: _without_prose(value) if key == "fields" else value for key, value in each.items() if key != "about"}
        for each in fields
    ]


def _class(schema: Schema, class_name: str, fields: list[Json], names: dict[tuple[str, str], str]) -> str:
    flexible = schema.json["flexibleVersions"]
    versions = schema.json["validVersions"]
    if class_name != schema.name:
        head = f"@struct\nclass {class_name}(Struct):\n"
    elif schema.kind in ("request", "response"):
        head = (
            f'@message(key={schema.key}, versions="{versions}", flexible="{flexible}")\nclass {class_name}(Message):\n'
        )
    else:
        key = f"key={schema.key}, " if schema.key >= 0 else ""
        head = f'@data({key}versions="{versions}", flexible="{flexible}")\nclass {class_name}(Data):\n'
    lines = [line for each in fields for line in _field(schema, each, names)]
    return head + ("".join(lines) or "    pass\n")


def _field(schema: Schema, json_field: Json, names: dict[tuple[str, str], str]) -> Iterator[str]:
    travels = Versions.parse(json_field.get("versions") or json_field["taggedVersions"])
    versions = _cut(travels, schema.versions)
    if versions is None:
        return  # of a version that this Kafka no longer speaks
    json_type = json_field["type"]
    name = json_type.removeprefix("[]")
    is_array = name != json_type
    is_struct = name not in WIRE
    # `records` is also what the field is called, and inside the class that name would mean the field.
    wire = names[schema.name, name] if is_struct else name.replace("records", "record_bytes")
    annotation = f"list[{wire}]" if is_array else wire
    tag = json_field.get("tag")
    nullable = _cut(Versions.parse(json_field.get("nullableVersions", "none")), schema.versions)
    null_at_times = nullable is not None
    tagged_struct = is_struct and not is_array and tag is not None
    default = _default(name, is_array, json_field.get("default"))
    if null_at_times or tagged_struct or default == "None" or name == "records":
        annotation += " | None"

    arguments = []
    if versions != schema.versions:
        arguments.append(_text(versions, schema.versions))
    if default is not None:
        arguments.append(f"default={default}")
    if null_at_times and (tagged_struct or _narrower(nullable, versions)):
        assert nullable is not None
        arguments.append(f"nullable={_text(nullable, schema.versions)}")
    elif not null_at_times and annotation.endswith("| None") and not tagged_struct:
        arguments.append('nullable="none"')
    if tag is not None:
        arguments.append(f"tag={tag}")
    if json_field.get("ignorable") and versions != schema.versions:
        arguments.append("ignorable=True")
    if json_field.get("flexibleVersions") == "none":
        arguments.append("classic=True")
    yield f"    {snake_case(json_field['name'])}: {annotation} = field({', '.join(arguments)})\n"


def _narrower(nullable: Versions | None, versions: Versions) -> bool:
    """Whether there is a version in which the field travels and may not be null."""
    return nullable is not None and (nullable.first > versions.first or nullable.last < versions.last)


def _default(type_name: str, is_array: bool, json_default: object) -> str | None:
    """The default as Python text; None where it is the zero of the type. A JSON null says nothing: Kafka's own
    generator takes it for "no default" and only the string "null" for null."""
    if json_default is None or json_default == "":
        return None
    if json_default == "null":
        return "None"
    if is_array or type_name not in WIRE:
        raise ValueError(f"a default of {json_default!r} for a list or struct")
    if type_name in INTEGERS:
        value: object = int(str(json_default), 0)
    elif type_name == "bool":
        value = str(json_default).lower() == "true"
    else:
        value = json_default
    return None if value == WIRE[type_name] else repr(value)


def _cut(versions: Versions, within: Versions) -> Versions | None:
    first, last = max(versions.first, within.first), min(versions.last, within.last)
    return Versions(first, last) if first <= last else None


def _text(versions: Versions, within: Versions) -> str:
    if versions.last == within.last:
        return f'"{versions.first}+"'
    return f'"{versions.first}-{versions.last}"' if versions.first < versions.last else f'"{versions.first}"'


def snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", re.sub("[Kk]Raft", "Kraft", name)).lower()


def read_schemas(jars: Path) -> list[Schema]:
    schemas = []
    for jar in sorted(jars.glob("kafka-*.jar")):
        with ZipFile(jar) as archive:
            for entry in sorted(archive.namelist()):
                if not entry.endswith(".json"):
                    continue
                content = json.loads(re.sub(r"^\s*//.*$", "", archive.read(entry).decode(), flags=re.MULTILINE))
                if content.get("validVersions", "none") != "none":
                    versions = Versions.parse(content["validVersions"])
                    key = content.get("apiKey", -1)
                    schemas.append(Schema(content["name"], content["type"], key, versions, content))
    if not schemas:
        raise SystemExit(f"No message schemas in {jars}; `make kafka` fetches Kafka's jars.")
    return schemas


def api_modules(schemas: list[Schema]) -> dict[str, Module]:
    modules: dict[str, Module] = {}
    for schema in sorted(schemas, key=lambda each: (each.key, each.kind)):
        if schema.kind in ("request", "response"):
            name = re.sub("(Request|Response)$", "", schema.name)
            title = f"{name}, API {schema.key}: request and response."
            modules.setdefault(snake_case(name), Module(title)).schemas.append(schema)
    modules["header"] = Module("The headers of requests and responses.")
    modules["header"].schemas += [schema for schema in schemas if schema.kind == "header"]
    return modules


def record_modules(schemas: list[Schema]) -> dict[str, Module]:
    modules = {name: Module(f"What Kafka keeps in {text}.") for name, text, _ in RECORD_FILES}
    for schema in sorted(schemas, key=lambda each: each.key):
        if schema.kind not in ("request", "response", "header"):
            name = next(name for name, _, pattern in RECORD_FILES if re.fullmatch(pattern, schema.name))
            modules[name].schemas.append(schema)
    return modules


def api_table(modules: dict[str, Module], version: str) -> str:
    """messages/__init__.py: what is known of every API without importing its messages."""
    lines = []
    for name, module in modules.items():
        if name == "header":
            continue
        request, response = module.schemas
        for part in ("apiKey", "validVersions", "flexibleVersions"):
            assert request.json[part] == response.json[part], f"{name}: request and response differ in {part}"
        versions = request.versions
        flexible = Versions.parse(request.json["flexibleVersions"])
        stable = versions.last - bool(request.json.get("latestVersionUnstable"))
        lines.append(
            f'({request.key}, "{request.name.removesuffix("Request")}", "{name}", {versions.first}, {stable}, '
            f"{versions.last}, {min(flexible.first, HIGHEST)}, {tuple(sorted(request.json.get('listeners', ())))}),"
        )
    return (
        '"""The messages of every API, one file each; and the table for apis.py, which imports none of them."""\n\n'
        f"{made_from(version)}"
        "# key, name, file, first version, last stable version, last version, first flexible version, listeners\n"
        "APIS = (\n    " + "\n    ".join(lines) + "\n)\n"
    )


def made_from(version: str) -> str:
    return f"# Made by protocol/generate.py from the schemas of Kafka {version}.\n\n"


def generate(jars: Path, into: Path) -> None:
    schemas = read_schemas(jars)
    version = next(jars.glob("kafka-clients-*.jar")).stem.removeprefix("kafka-clients-")
    apis, records = api_modules(schemas), record_modules(schemas)
    for directory, modules in (("messages", apis), ("records", records)):
        (into / directory).mkdir(exist_ok=True)
        for old in (into / directory).glob("*.py"):
            if old.stem not in modules and old.stem != "__init__":
                old.unlink()
        for name, module in modules.items():
            (into / directory / f"{name}.py").write_text(module.source(version))
    (into / "messages" / "__init__.py").write_text(api_table(apis, version))
    print(f"{len(apis)} files of messages, {len(records)} of records, {len(schemas)} schemas")  # noqa: T201


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: python -m barnabas.protocol.generate DIRECTORY_OF_JARS")
    generate(Path(sys.argv[1]), Path(__file__).parent)
