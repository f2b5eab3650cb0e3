"""meta.properties: to which cluster and node a log directory belongs, and what the directory is called.

Version 1 names the node node.id and always has it and cluster.id. Version 0, from before KRaft, calls it broker.id and
promises nothing; a file without a version is one. directory.id tells the log directories of a node apart (KIP-858).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from barnabas.protocol.directory_ids import is_reserved
from barnabas.protocol.java_properties import format_properties, parse_properties
from barnabas.protocol.java_text import parse_integer, trim
from barnabas.protocol.schema import Uuid
from barnabas.storage.checkpoints import MalformedFile
from barnabas.storage.disk import Disk

__all__ = [
    "META_PROPERTIES",
    "MetaProperties",
    "check_directories",
    "draw_cluster_id",
    "draw_directory_id",
    "read_meta_properties",
    "write_meta_properties",
]

META_PROPERTIES = "meta.properties"
_REMEDY = "restore the file from a copy; only if the directory holds no data that matters, empty it to start afresh"


@dataclass(frozen=True, slots=True)
class MetaProperties:
    version: int = 1
    cluster_id: str | None = None
    node_id: int | None = None
    directory_id: Uuid | None = None
    others: Mapping[str, str] = field(default_factory=dict)
    """Keys that mean nothing to us: they stay in the file. Kafka would drop them when it writes."""

    @classmethod
    def fresh(cls, cluster_id: str, node_id: int, directory_id: Uuid) -> MetaProperties:
        """For a directory that was empty; `draw_directory_id` gives the id."""
        assert cluster_id and 0 <= node_id < 2**31, (cluster_id, node_id)
        if is_reserved(directory_id):
            raise ValueError(f"the directory id {directory_id} is reserved")
        return cls(1, cluster_id, node_id, directory_id)


def draw_directory_id(random_ids: Iterator[bytes], taken: Collection[Uuid] = ()) -> Uuid:
    """The first of the random 16 bytes that may name a directory, as Kafka draws: not reserved, not another's, and not
    beginning with a dash, which its tools would take for an option."""
    for drawn in map(Uuid, random_ids):
        if not (is_reserved(drawn) or str(drawn).startswith("-") or drawn in taken):
            return drawn
    raise ValueError("there is no random id left to name a directory")


def draw_cluster_id(random_ids: Iterator[bytes]) -> str:
    """The name of a new cluster, which Kafka draws with the same rules."""
    return str(draw_directory_id(random_ids))


def read_meta_properties(disk: Disk, directory: Path) -> MetaProperties | None:
    """None for a directory that has none yet."""
    path = directory / META_PROPERTIES
    if not disk.exists(path):
        return None
    try:
        return _from_properties(parse_properties(disk.read_file(path)))
    except ValueError as error:
        raise MalformedFile(path, None, str(error), _REMEDY) from None


def write_meta_properties(disk: Disk, directory: Path, meta: MetaProperties) -> None:
    disk.replace_file(directory / META_PROPERTIES, format_properties(_to_properties(meta)))


def check_directories(
    found: Mapping[Path, MetaProperties | None], cluster_id: str | None = None, node_id: int | None = None
) -> list[str]:
    """What forbids these log directories to be those of one node: one sentence each, none if all is well.

    Without an expectation, the first directory by name sets it. Directories that are empty (None) agree with all; that
    some directory is not empty is what a start, and not a format, has to ask in addition. Those whose file could not
    be read do not belong here: Kafka takes them offline, and goes on with the rest."""
    problems = []
    first: dict[str, tuple[object, str]] = {}
    if cluster_id is not None:
        first["cluster.id"] = cluster_id, "this node is configured with"
    if node_id is not None:
        first["node.id"] = node_id, "this node is configured with"
    owners: dict[Uuid, Path] = {}
    for directory, meta in sorted(found.items()):
        if meta is None:
            continue
        path = directory / META_PROPERTIES
        for key, attribute in (("cluster.id", "cluster_id"), ("node.id", "node_id")):
            value = getattr(meta, attribute)
            if value is None:
                continue
            expected, where = first.setdefault(key, (value, f"{path} says"))
            if value != expected:
                rest = [other for other, its in found.items() if its is None or getattr(its, attribute) == expected]
                problems.append(_mismatch(path, key, value, where, expected, sorted(rest)))
        if meta.directory_id is None:
            continue
        owner = owners.setdefault(meta.directory_id, directory)
        if is_reserved(meta.directory_id):
            problems.append(f"{path} says directory.id={meta.directory_id}, which is reserved: {_without_id(path)}.")
        elif owner != directory:
            problems.append(
                f"{path} says directory.id={meta.directory_id} as {owner / META_PROPERTIES} does: take the one that is "
                f"a copy out of log.dirs, or if it is this one, {_without_id(path)}."
            )
    return problems


def _without_id(path: Path) -> str:
    return f"run: sed -i '/^directory.id=/d' '{path}', and the directory is given another id at the next start"


def _mismatch(path: Path, key: str, value: object, where: str, expected: object, rest: Sequence[Path]) -> str:
    without = "take the directory out of log.dirs"
    if rest:
        without += f" (barnabas start --set log.dirs={','.join(map(str, rest))})"
    if key == "cluster.id":
        remedy = f"{without}, or join the cluster that it belongs to"
    else:
        remedy = f"if the data is this node's, set node.id={value} (barnabas start --set node.id={value}), or {without}"
    return f"{path} says {key}={value}, but {where} {key}={expected}: {remedy}."


def _from_properties(properties: dict[str, str]) -> MetaProperties:
    version = _integer("version", trim(properties.pop("version", "0")))
    if version not in (0, 1):
        raise ValueError(f"version={version} is unknown: it is from a later Kafka, or damaged")
    node_key = "node.id" if version else "broker.id"
    if version:
        for key in ("node.id", "cluster.id"):
            if key not in properties:
                raise ValueError(f"{key} is missing, which version 1 always has")
    node_id, directory_id = properties.pop(node_key, None), properties.pop("directory.id", None)
    try:
        directory = None if directory_id is None else Uuid.parse(directory_id)
    except ValueError as error:
        raise ValueError(f"directory.id={error}") from None
    return MetaProperties(
        version=version,
        cluster_id=properties.pop("cluster.id", None),
        node_id=None if node_id is None else _integer(node_key, node_id),
        directory_id=directory,
        others=properties,
    )


def _to_properties(meta: MetaProperties) -> dict[str, str]:
    known = {
        "version": meta.version,
        "cluster.id": meta.cluster_id,
        "node.id" if meta.version else "broker.id": meta.node_id,
        "directory.id": meta.directory_id,
    }
    assert meta.version == 0 or (meta.cluster_id is not None and meta.node_id is not None), meta
    return {**meta.others, **{key: str(value) for key, value in known.items() if value is not None}}


def _integer(key: str, value: str) -> int:
    try:
        return parse_integer(value, 32)
    except ValueError as error:
        raise ValueError(f"{key}={error}") from None
