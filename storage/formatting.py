"""Whose a node's log directories are, and what an empty one becomes: formatting, which nobody has to ask for.

Kafka wants `kafka-storage format` first, and refuses a directory without meta.properties. Here an empty directory is
formatted when the node starts: all of them with one cluster id if all are empty, a new one like those beside it. What
could hide data is refused as in Kafka, each with one sentence that ends with what to do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from barnabas.protocol.schema import Uuid
from barnabas.storage.meta_properties import (
    META_PROPERTIES,
    MetaProperties,
    check_directories,
    draw_cluster_id,
    draw_directory_id,
)

__all__ = ["Found", "Node", "check_paths", "choose_identities"]


@dataclass(frozen=True, slots=True)
class Node:
    """What the configuration says of the node. Without a cluster id it belongs to the cluster that its directories
    name, or begins a new one."""

    node_id: int
    cluster_id: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """What was seen of one directory before anything was changed."""

    meta: MetaProperties | None
    is_empty: bool


def check_paths(paths: Sequence[Path], metadata_directory: Path) -> list[str]:
    """What is wrong with the configured paths alone: one sentence each. Symbolic links have been resolved before."""
    problems = [] if paths else ["log.dirs names no directory: give at least one."]
    problems += [
        f"log.dirs: {path} is no absolute path: write it from / on." for path in paths if not path.is_absolute()
    ]
    seen: set[Path] = set()
    for path in paths:
        if path in seen:
            problems.append(f"log.dirs names {path} twice: take one of them out.")
        seen.add(path)
    for path in sorted({*paths, metadata_directory}):
        outer = next((parent for parent in path.parents if parent in seen or parent == metadata_directory), None)
        if outer is not None:
            problems.append(
                f"{path} lies inside {outer}, which is a log directory too and may hold partitions only: move one of "
                "them beside the other."
            )
    return problems


def choose_identities(
    found: Mapping[Path, Found],
    unreadable: Collection[Path],
    node: Node,
    metadata_directory: Path,
    random_ids: Iterator[bytes],
) -> tuple[dict[Path, MetaProperties], list[str]]:
    """What to write as meta.properties, in this order, and what forbids the start: one sentence each. Nothing is to be
    written if there is any."""
    metas = {path: each.meta for path, each in found.items()}
    known = {path: meta for path, meta in metas.items() if meta is not None}
    problems = check_directories(metas, node.cluster_id, node.node_id)
    problems += [_incomplete(path, missing) for path, meta in known.items() if (missing := _missing(meta))]
    cluster_id = node.cluster_id or next((meta.cluster_id for meta in known.values() if meta.cluster_id), None)
    empty = [path for path, each in found.items() if each.meta is None and each.is_empty]
    for path, each in found.items():
        if each.meta is None and not each.is_empty:
            problems.append(_nobodys(path, cluster_id, node.node_id))
    if empty and cluster_id is None and unreadable and not problems:
        problems.append(
            f"{_listed(empty)} {_be(empty)} empty and {_listed(unreadable)} cannot be read, so that it is not known to "
            "which cluster this node belongs: mend that directory first, or with the cluster's id in place of ID, run: "
            f"{_command(empty[0], 'ID', node.node_id)}"
        )
    if metadata_directory in empty and known:
        problems.append(
            f"{metadata_directory} is empty, and the log of the cluster's metadata should be there, since this node "
            f"has been formatted before: bring the directory back, or set metadata.log.dir to the one that has "
            f"__cluster_metadata-0; to let the node fetch that log anew from other controllers, run: "
            f"{_command(metadata_directory, cluster_id, node.node_id)}"
        )
    if problems:
        return {}, problems
    return _identities(known, empty, cluster_id or draw_cluster_id(random_ids), node, metadata_directory, random_ids)


def _identities(
    known: Mapping[Path, MetaProperties],
    empty: Sequence[Path],
    cluster_id: str,
    node: Node,
    metadata_directory: Path,
    random_ids: Iterator[bytes],
) -> tuple[dict[Path, MetaProperties], list[str]]:
    taken: set[Uuid] = {meta.directory_id for meta in known.values() if meta.directory_id is not None}
    chosen: dict[Path, MetaProperties] = {}
    # The one that is asked for next time comes first: a node that is killed in between goes on where it was.
    for path in sorted(empty, key=lambda path: path != metadata_directory):
        directory_id = draw_directory_id(random_ids, taken)
        taken.add(directory_id)
        chosen[path] = MetaProperties.fresh(cluster_id, node.node_id, directory_id)
    for path, meta in known.items():
        if meta.directory_id is None:
            directory_id = draw_directory_id(random_ids, taken)
            taken.add(directory_id)
            chosen[path] = replace(meta, directory_id=directory_id)
    return chosen, []


def _missing(meta: MetaProperties) -> str:
    """What version 0 need not say, and a node without ZooKeeper has to know."""
    if meta.node_id is None:
        return "node.id" if meta.version else "broker.id"
    return "" if meta.cluster_id else "cluster.id"


def _incomplete(path: Path, key: str) -> str:
    return f"{path / META_PROPERTIES} does not say {key}: add that line, or restore the file from a copy."


def _nobodys(path: Path, cluster_id: str | None, node_id: int) -> str:
    remedy = "restore that file from a copy, or move the files elsewhere and the directory is formatted"
    if cluster_id is not None:
        remedy = "move them elsewhere and the directory is formatted, or if they are this node's, run: "
        remedy += _command(path, cluster_id, node_id)
        return f"{path} holds files and no {META_PROPERTIES} that says whose they are: {remedy}"
    return f"{path} holds files and no {META_PROPERTIES} that says whose they are: {remedy}."


def _command(path: Path, cluster_id: str | None, node_id: int) -> str:
    """Kafka takes such a file too, and both give the directory an id at the next start."""
    content = f"version=1\\nnode.id={node_id}\\ncluster.id={cluster_id}\\n"
    return f"printf '{content}' > '{path / META_PROPERTIES}'"


def _listed(paths: Collection[Path]) -> str:
    return ", ".join(map(str, sorted(paths)))


def _be(paths: Collection[Path]) -> str:
    return "is" if len(paths) == 1 else "are"
