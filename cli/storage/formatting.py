"""What formatting writes into each directory that has no meta.properties, in an order in which that file comes last."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from barnabas.cli.failures import CommandFailed
from barnabas.cli.storage.node_files import NodeFiles
from barnabas.cli.storage.voters import InitialVoter, voters_record
from barnabas.coordination.cluster.bootstrap import (
    BOOTSTRAP_CHECKPOINT,
    encode_bootstrap_checkpoint,
    encode_first_snapshot,
)
from barnabas.coordination.cluster.metadata_version import MetadataVersion
from barnabas.coordination.cluster.records import MetadataRecord
from barnabas.coordination.cluster.snapshot_file import BOOTSTRAP_SNAPSHOT
from barnabas.protocol.schema import Uuid
from barnabas.storage.checkpoints import MalformedFile
from barnabas.storage.directory_names import METADATA_TOPIC
from barnabas.storage.disk import ReadOnlyDisk, SystemDisk
from barnabas.storage.meta_properties import (
    MetaProperties,
    check_directories,
    draw_directory_id,
    read_meta_properties,
    write_meta_properties,
)

__all__ = ["format_directories", "random_ids"]


def random_ids() -> Iterator[bytes]:
    while True:
        yield secrets.token_bytes(16)


def format_directories(
    node: NodeFiles,
    cluster_id: str,
    version: MetadataVersion,
    records: Sequence[MetadataRecord],
    voters: Sequence[InitialVoter],
    *,
    ignore_formatted: bool,
    now_ms: int,
    tell: Callable[[str], None],
) -> list[Path]:
    """Those that were formatted. Nothing is written if any of them cannot be this node's."""
    found, unusable = _look_at(node)
    problems = check_directories(found, cluster_id, node.node_id)
    if problems:
        raise CommandFailed(problems[0])
    formatted = [path for path, meta in found.items() if meta is not None]
    if formatted and not ignore_formatted:
        raise CommandFailed(
            f"Log directory {formatted[0]} is already formatted. Use --ignore-formatted to ignore this directory and "
            "format the others."
        )
    for path in unusable:
        tell(f"I/O error trying to read log directory {path}. Ignoring...")
    if not found:
        raise CommandFailed("No available log directories to format: see to the disks that log.dirs names.")
    empty = sorted(
        (path for path, meta in found.items() if meta is None), key=lambda each: each != node.metadata_directory
    )
    if not empty:
        tell("All of the log directories are already formatted.")
    taken = {meta.directory_id for meta in found.values() if meta is not None and meta.directory_id is not None}
    ours = {voter.node_id: voter.directory_id for voter in voters}.get(node.node_id)
    for path in empty:
        is_metadata = path == node.metadata_directory
        directory_id = ours if is_metadata and ours else draw_directory_id(random_ids(), taken)
        taken.add(directory_id)
        kind = _kind(is_metadata=is_metadata, has_voters=bool(voters), votes=ours is not None)
        tell(f"Formatting {kind} {path} with metadata.version {version.text}.")
        quorum = voters if is_metadata else ()
        _write(path, node, MetaProperties.fresh(cluster_id, node.node_id, directory_id), records, quorum, now_ms)
    return empty


def _look_at(node: NodeFiles) -> tuple[dict[Path, MetaProperties | None], list[Path]]:
    disk = ReadOnlyDisk()
    found: dict[Path, MetaProperties | None] = {}
    unusable = []
    for path in node.directories:
        try:
            found[path] = read_meta_properties(disk, path)
            if path.exists() and not path.is_dir():
                raise NotADirectoryError
        except MalformedFile as error:
            raise CommandFailed(f"{error}.") from None
        except OSError:
            found.pop(path, None)
            unusable.append(path)
    return found, unusable


def _kind(*, is_metadata: bool, has_voters: bool, votes: bool) -> str:
    if not is_metadata:
        return "data directory"
    if not has_voters:
        return "metadata directory"
    return "dynamic metadata voter directory" if votes else "dynamic metadata directory"


def _write(
    path: Path,
    node: NodeFiles,
    meta: MetaProperties,
    records: Sequence[MetadataRecord],
    voters: Sequence[InitialVoter],
    now_ms: int,
) -> None:
    disk = SystemDisk()
    disk.make_directory(path)
    disk.replace_file(path / BOOTSTRAP_CHECKPOINT, encode_bootstrap_checkpoint(records, now_ms=now_ms))
    if voters:
        directory = path / f"{METADATA_TOPIC}-0"
        disk.make_directory(directory)
        snapshot = encode_first_snapshot(voters_record(voters, node.controller_listener), now_ms=now_ms)
        disk.replace_file(directory / BOOTSTRAP_SNAPSHOT.file_name, snapshot)
        disk.sync_directory(path)
    write_meta_properties(disk, path, meta)


def standalone(node: NodeFiles) -> list[InitialVoter]:
    """This node alone."""
    if "controller" not in node.roles:
        raise CommandFailed("You can only use --standalone on a controller, which process.roles does not name.")
    directory_id: Uuid = draw_directory_id(random_ids())
    return [InitialVoter(node.node_id, node.controller_host, node.controller_port, directory_id)]
