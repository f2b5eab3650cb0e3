"""`barnabas storage info`: what kafka-storage.sh info says of a node's log directories."""

from __future__ import annotations

import argparse
from pathlib import Path

from barnabas.cli.output import Output, add_output_arguments
from barnabas.cli.storage.node_files import NodeFiles, add_config_argument, read_node_files
from barnabas.storage.checkpoints import MalformedFile
from barnabas.storage.disk import ReadOnlyDisk
from barnabas.storage.meta_properties import META_PROPERTIES, MetaProperties, read_meta_properties

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_config_argument(parser)
    add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    output = Output(as_json=arguments.json)
    found, metas, problems = _look_at(read_node_files(arguments.config))
    if output.as_json:
        said = [{"directory": str(path), **_properties(meta)} for path, meta in metas.items()]
        output.json({"found": list(map(str, found)), "metadata": said, "problems": problems})
        return 1 if problems else 0
    if found:
        output.line("Found log directory:" if len(found) == 1 else "Found log directories:")
        for path in found:
            output.line(f"  {path}")
        output.line()
    if metas:
        properties = _properties(next(iter(metas.values())))
        told = ", ".join(f"{key}={value}" for key, value in sorted(properties.items()))
        output.line(f"Found metadata: {{{told}}}")
        output.line()
    if problems:
        output.line("Found problem:" if len(problems) == 1 else "Found problems:")
        for problem in problems:
            output.line(f"  {problem}")
        output.line()
    return 1 if problems else 0


def _look_at(node: NodeFiles) -> tuple[list[Path], dict[Path, MetaProperties], list[str]]:
    found, metas, problems = [], {}, []
    first: MetaProperties | None = None
    for path in node.directories:
        if not path.is_dir():
            problems.append(f"{path} {'is not a directory' if path.exists() else 'does not exist'}")
            continue
        found.append(path)
        try:
            meta = read_meta_properties(ReadOnlyDisk(), path)
        except MalformedFile as error:
            problems.append(f"Error loading {path / META_PROPERTIES}: {error.reason}")
            continue
        if meta is None:
            problems.append(f"{path} is not formatted.")
            continue
        metas[path] = meta
        first = first or meta
        if meta.cluster_id != first.cluster_id:
            problems.append("Mismatched cluster IDs between storage directories.")
        elif meta.node_id != first.node_id:
            problems.append("Mismatched node IDs between storage directories.")
    if first is not None and first.version == 0:
        problems.append(
            "The kafka configuration file appears to be for a cluster in KRaft mode, but the directories are formatted "
            "for legacy mode."
        )
    return found, metas, problems


def _properties(meta: MetaProperties) -> dict[str, str]:
    known = {
        "cluster.id": meta.cluster_id,
        "directory.id": meta.directory_id,
        "node.id" if meta.version else "broker.id": meta.node_id,
        "version": meta.version,
    }
    return {key: str(value) for key, value in known.items() if value is not None}
