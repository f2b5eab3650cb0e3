"""The lake: Parquet files in directories by topic, date and hour, and the journal that says which are in it.

    raw/topic=T/date=D/hour=H/               every record as it was
    decoded/T/version=N/date=D/hour=H/       its value, read by the N-th schema of its topic
    quarantine/topic=T/date=D/hour=H/        values that could not be read, and why
    _journal/NUMBER.json                     a change of the lake: files that come, files that go
    _staging/                                files of a change that is not yet in the journal

A change is written below _staging, then its entry into the journal, and then its files are moved. The entry is the
change: what has none is thrown away, what has one is carried out, by whoever opens the lake next if need be. So a
reader of the directories sees no file of a change that did not happen.
"""

from __future__ import annotations

import json
import uuid
from pathlib import PurePosixPath
from typing import Literal

import msgspec
from pyspark.sql import SparkSession

from barnabas.pipeline.failures import PipelineFailed
from barnabas.pipeline.files import Files

__all__ = ["Ends", "Entry", "Lake"]

Ends = dict[str, dict[str, int]]
"""Of each topic and partition the offset after the last record that is in the lake."""
_JOURNAL = "_journal"
_STAGING = "_staging"
_KEPT_ENTRIES = 1_000


class Entry(msgspec.Struct, kw_only=True, frozen=True, rename="kebab"):
    number: int
    kind: Literal["batch", "merge"]
    checkpoint: str
    """Whose batch, by the name that its checkpoint has."""
    batch: int
    """That checkpoint's last batch which is in the lake."""
    records: int = 0
    quarantined: int = 0
    ends: Ends
    moves: list[tuple[str, str]] = []
    removes: list[str] = []


class Lake:
    def __init__(self, spark: SparkSession, root: str) -> None:
        self.files = Files(spark, root)
        self._last: Entry | None = None

    def open(self) -> None:
        """For the one who writes: finishes what a killed writer has begun."""
        names = self.files.names(_JOURNAL)
        if names and self._read(names[-1]) is None:
            self.files.delete(f"{_JOURNAL}/{names[-1]}")
        self._last = self.newest()
        if self._last is not None:
            self._carry_out(self._last)
        self.files.delete(_STAGING)  # of a change that did not happen

    @property
    def last(self) -> Entry | None:
        return self._last

    @property
    def ends(self) -> Ends:
        return self._last.ends if self._last is not None else {}

    def is_settled(self) -> bool:
        """For those who read: whether every file lies where the journal says, and none that it has taken out."""
        newest = self.newest()
        if newest is None:
            return True
        return not any(map(self.files.exists, [*newest.removes, *(source for source, _ in newest.moves)]))

    def newest(self) -> Entry | None:
        """The last change, whoever made it."""
        entries = map(self._read, reversed(self.files.names(_JOURNAL)))
        return next((entry for entry in entries if entry is not None), None)

    def stage(self, name: str) -> str:
        """A place for the files of a change, where no task of a killed job can still write."""
        return f"{_STAGING}/{name}-{uuid.uuid4().hex}"

    def staged(self, place: str, prefix: str) -> list[tuple[str, str]]:
        """What lies there, and where it goes; the prefix tells the files of one change from those of others."""
        moves = []
        for path, _ in self.files.walk(place):
            inner = PurePosixPath(path.removeprefix(f"{place}/"))
            if inner.suffix == ".parquet" and not inner.name.startswith((".", "_")):
                moves.append((path, str(inner.parent / f"{prefix}-{inner.name}")))
        return sorted(moves)

    def commit(self, entry: Entry) -> None:
        text = json.dumps(msgspec.to_builtins(entry))
        if not self.files.create(_entry_file(entry.number), text):
            raise PipelineFailed(
                f"Another job lands in {self.files.root}: its journal has an entry {entry.number} already. Let one job "
                "land all topics of a lake."
            )
        self._last = entry
        self._carry_out(entry)
        self.files.delete(_entry_file(entry.number - _KEPT_ENTRIES))

    @property
    def next_number(self) -> int:
        return self._last.number + 1 if self._last is not None else 0

    def _carry_out(self, entry: Entry) -> None:
        for source, target in entry.moves:
            self.files.move(source, target)
        for path in entry.removes:
            self.files.delete(path)
        self.files.delete(_STAGING)

    def _read(self, name: str) -> Entry | None:
        """None for half an entry: it is being written, or its writer was killed and the change did not happen."""
        path = f"{_JOURNAL}/{name}"
        try:
            return msgspec.json.decode(self.files.read(path), type=Entry)
        except msgspec.ValidationError:
            raise PipelineFailed(
                f"{self.files.uri(path)} is no entry of a lake's journal: name another directory as [lake] path."
            ) from None
        except msgspec.DecodeError:
            return None


def _entry_file(number: int) -> str:
    return f"{_JOURNAL}/{number:012}.json"
