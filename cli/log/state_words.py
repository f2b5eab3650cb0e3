"""What `barnabas log state` says: of a change of a partition or a node, and of what is wrong with the logs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from barnabas.cli.log.leadership import Change, NodeChange
from barnabas.cli.log.metadata_merging import Compared, Difference, Missing, Unreadable
from barnabas.cli.moments import show_moment
from barnabas.coordination.cluster.partition import NO_LEADER, Partition
from barnabas.protocol.batches import Batch

__all__ = ["HEADERS", "cells", "head_line", "json_of", "line_of", "trouble_of", "unlike"]

HEADERS = ("time", "offset", "leader", "epoch", "isr", "elr", "last known", "replicas", "what")
_WIDTHS = (24, 8, 6, 5, 9, 9, 10, 9)
"""Lines come one by one: how wide a column will have to be is not known. These do for three brokers."""


def head_line() -> str:
    return f"{_padded([header.upper() for header in HEADERS[:8]])}  PARTITION: WHAT"


def line_of(change: Change | NodeChange) -> str:
    if isinstance(change, NodeChange):
        first = [show_moment(change.time_ms), str(change.offset), *[""] * 6]
        return f"{_padded(first)}  {change.kind} {change.node_id}: {change.what}"
    *first, what = map(str, cells(change))
    return f"{_padded(first)}  {change.topic}-{change.number}: {what}"


def _padded(texts: Sequence[str]) -> str:
    return "  ".join(f"{text:<{width}}" for text, width in zip(texts, _WIDTHS, strict=True))


def cells(change: Change) -> list[object]:
    state = change.after or change.before
    assert state is not None
    what = ", ".join(change.what)
    if change.after is None:
        return [show_moment(change.time_ms), change.offset, "-", state.leader_epoch, "", "", "", "", what]
    return [
        show_moment(change.time_ms),
        change.offset,
        "none" if state.leader == NO_LEADER else state.leader,
        state.leader_epoch,
        _ids(state.isr),
        _ids(state.eligible_leader_replicas),
        _ids(state.last_known_elr),
        _ids(state.replicas),
        what,
    ]


def _ids(ids: Iterable[int]) -> str:
    return ",".join(map(str, ids))


def json_of(change: Change | NodeChange) -> dict[str, Any]:
    if isinstance(change, NodeChange):
        return {
            "kind": change.kind,
            "offset": change.offset,
            "time_ms": change.time_ms,
            "id": change.node_id,
            "what": change.what,
        }
    return {
        "kind": "partition",
        "offset": change.offset,
        "time_ms": change.time_ms,
        "topic": change.topic,
        "topic_id": change.topic_id,
        "partition": change.number,
        "what": list(change.what),
        **(_state_json(change.after) if change.after is not None else {}),
    }


def _state_json(state: Partition) -> dict[str, Any]:
    return {
        "leader": None if state.leader == NO_LEADER else state.leader,
        "leader_epoch": state.leader_epoch,
        "partition_epoch": state.partition_epoch,
        "replicas": state.replicas,
        "isr": state.isr,
        "elr": state.eligible_leader_replicas,
        "last_known_elr": state.last_known_elr,
        "adding_replicas": state.adding_replicas,
        "removing_replicas": state.removing_replicas,
        "recovering": bool(state.leader_recovery_state),
    }


# What is wrong


def trouble_of(step: Difference | Missing | Unreadable) -> tuple[str, dict[str, Any]]:
    if isinstance(step, Missing):
        text = (
            f"Offsets {step.first} to {step.end - 1} are in no directory, nor in a snapshot: what changed is not known"
        )
        return text, {"kind": "missing", "first_offset": step.first, "last_offset": step.end - 1}
    if isinstance(step, Unreadable):
        text = f"{step.node} is read up to offset {step.offset} only ({step.why}); barnabas log verify tells more"
        return text, {"kind": "unreadable", "node": step.node, "offset": step.offset, "why": step.why}
    shown, other = _batch_text(step.shown_batch), _batch_text(step.other_batch)
    text = (
        f"From offset {step.offset} on the logs differ: {step.shown} has {shown}, {step.other} has {other}. "
        f"What {step.shown} has is shown"
    )
    return text, {
        "kind": "difference",
        "offset": step.offset,
        "shown": {"node": step.shown, **_batch_json(step.shown_batch)},
        "other": {"node": step.other, **_batch_json(step.other_batch)},
    }


def _batch_text(batch: Batch) -> str:
    return (
        f"offsets {batch.base_offset} to {batch.last_offset} of epoch {batch.partition_leader_epoch} "
        f"with checksum {batch.crc:08x}"
    )


def _batch_json(batch: Batch) -> dict[str, Any]:
    return {
        "base_offset": batch.base_offset,
        "last_offset": batch.last_offset,
        "epoch": batch.partition_leader_epoch,
        "crc": batch.crc,
    }


def unlike(step: Compared, partitions: Sequence[str]) -> tuple[str, dict[str, Any]]:
    shown = ", ".join(partitions[:5]) + (", ..." if len(partitions) > 5 else "")
    text = f"{step.node} has a snapshot {step.id.file_name} that does not say what the log says of {shown}"
    return text, {
        "kind": "snapshot",
        "node": step.node,
        "offset": step.id.end_offset,
        "partitions": list(partitions),
    }
