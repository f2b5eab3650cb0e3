"""Replicas as they lie on disks: for nodes that do not run, or copies of their directories."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from barnabas.cli.failures import CommandFailed
from barnabas.cli.log.files import LogFile, partition_files, position_of
from barnabas.cli.log.node_directories import ReplicaDirectory, read_nodes
from barnabas.cli.partition_words import PartitionFilter
from barnabas.cli.replicas.checked import Checked
from barnabas.client.cluster import Partition
from barnabas.protocol.batches import Batch
from barnabas.protocol.errors import MalformedFrame

__all__ = ["Comparison", "comparisons"]

_CHUNK_BYTES = 1 << 20
_LOOK_BYTES = 1 << 12
_NO_BATCH = b"\xff" * 64
_COMPACTED = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})


class Comparison(NamedTuple):
    checked: Checked
    replicas: dict[int, ReplicaDirectory]

    def go_on(self, advance: Callable[[int], None]) -> None:
        """To the end of the shortest; what others have behind that has no pendant."""
        checked = self.checked
        logs = {node_id: _Reader(each.path, checked.next_offset) for node_id, each in self.replicas.items()}
        while not checked.is_done:
            before = checked.next_offset
            if not checked.compare({replica: log.read(before) for replica, log in logs.items()}):
                break
            advance(checked.next_offset - before)
        checked.end_offset = checked.next_offset
        for node_id, log in logs.items():
            end = max(log.end(), checked.next_offset)
            committed = self.replicas[node_id].high_watermark or 0
            if end < committed:
                checked.absent[node_id] = f"its log ends at {end}, and up to {committed} it knew to be committed"
            if end > checked.next_offset:
                checked.tails[node_id] = end - checked.next_offset


def comparisons(places: Sequence[Path], wanted: PartitionFilter) -> list[Comparison]:
    nodes = read_nodes(places)
    if len(nodes) < 2:
        raise CommandFailed("These are directories of one node: name those of the others, each with --data.")
    knowing = next((node for node in nodes if node.knows_topics), None)
    found = []
    for name in sorted({each for node in nodes for each in node.replicas}):
        partition = Partition(name.topic, name.partition)
        if not wanted.takes(partition):
            continue
        replicas = {node.node_id: node.replicas[name] for node in nodes if name in node.replicas}
        compacted = name.topic in _COMPACTED or (knowing is not None and knowing.is_compacted(name.topic))
        found.append(_comparison(partition, replicas, compacted=compacted))
    if not found:
        raise CommandFailed("These directories hold no partition that is meant.")
    return found


def _comparison(partition: Partition, replicas: dict[int, ReplicaDirectory], *, compacted: bool) -> Comparison:
    ids = [each.topic_id for each in replicas.values()]
    most = max(ids, key=ids.count)
    same = {node_id: each for node_id, each in replicas.items() if each.topic_id == most}
    checked = Checked(partition, list(same), compacted=compacted)
    for node_id in replicas.keys() - same.keys():
        topic_id = replicas[node_id].topic_id
        checked.absent[node_id] = f"it is of another topic of that name, with the id {topic_id}"
    checked.begin(max(each.first_offset for each in same.values()))
    return Comparison(checked, same)


class _Reader:
    """A log from one offset on: as much at a time as a fetch would give."""

    def __init__(self, directory: Path, offset: int) -> None:
        self._broken = False
        """What stands behind the last batch is none, and more should be there."""
        self._batches = self._read(directory, offset)
        self._waiting: deque[Batch] = deque()

    def _read(self, directory: Path, offset: int) -> Iterator[Batch]:
        files = partition_files(directory, first=offset)
        for path in files:
            position = position_of(path, offset) if path is files[0] else 0
            try:
                with LogFile(path) as log:
                    try:
                        yield from (batch for _, batch in log.batches(position) if batch.last_offset >= offset)
                        # Only the last segment may end within a batch: its node was killed.
                        self._broken = log.position < log.size and path is not files[-1]
                    except MalformedFrame:
                        # Space may be allocated there that is not used yet.
                        self._broken = any(log.read(log.position, _LOOK_BYTES)) or path is not files[-1]
            except FileNotFoundError:
                continue  # retention was here
            if self._broken:
                return

    def read(self, offset: int) -> bytes:
        while self._waiting and self._waiting[0].last_offset < offset:
            self._waiting.popleft()
        size = sum(batch.size for batch in self._waiting)
        while size < _CHUNK_BYTES and (batch := next(self._batches, None)) is not None:
            if batch.last_offset >= offset:
                self._waiting.append(batch)
                size += batch.size
        chunks = [memoryview(batch.buffer)[batch.position : batch.end] for batch in self._waiting]
        return b"".join([*chunks, _NO_BATCH] if self._broken else chunks)

    def end(self) -> int:
        """Behind its last batch; nothing can be read any more then."""
        last = deque(self._batches, maxlen=1) or self._waiting
        return last[-1].next_offset if last else 0
