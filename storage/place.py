"""A batch in a segment's file: where it is, and what its header says. Its bytes are left alone."""

from __future__ import annotations

from typing import NamedTuple

from barnabas.protocol.batches import HEADER_BYTES, Batch, batch_at
from barnabas.protocol.errors import MalformedFrame
from barnabas.storage.disk import File
from barnabas.storage.index import MAX_RELATIVE_OFFSET

__all__ = ["Place", "read_place"]

_LEGACY_START_BYTES = 12
"""The offset and the length of a message."""


class Place(NamedTuple):
    batch: Batch
    position: int

    @property
    def end(self) -> int:
        return self.position + self.batch.size


def read_place(file: File, position: int, size: int, base_offset: int) -> Place:
    """The batch that begins at `position` of a segment of so many bytes. MalformedFrame if there is none."""
    head = file.read(position, HEADER_BYTES)
    batch = Batch(head) if len(head) == HEADER_BYTES and head[16] == 2 else _legacy_batch(file, position, size)
    # Cheap to ask, and it keeps what no segment can hold out of the indexes and away from the end of the log.
    if not base_offset <= batch.base_offset <= batch.last_offset <= base_offset + MAX_RELATIVE_OFFSET:
        raise MalformedFrame(f"a batch of offsets {batch.base_offset} to {batch.last_offset}")
    if position + batch.size > size:
        raise MalformedFrame(f"a batch of {batch.size} bytes ends behind the file")
    return Place(batch, position)


def _legacy_batch(file: File, position: int, size: int) -> Batch:
    """A message of an old format is read as a whole: its header alone does not tell what a batch has to."""
    head = file.read(position, _LEGACY_START_BYTES)
    length = int.from_bytes(head[8:], "big", signed=True) if len(head) == _LEGACY_START_BYTES else -1
    if not 0 <= length <= size - position:
        raise MalformedFrame(f"a batch of length {length}")
    batch = batch_at(file.read(position, _LEGACY_START_BYTES + length))
    if batch is None:
        raise MalformedFrame("a batch ends early")
    return batch
