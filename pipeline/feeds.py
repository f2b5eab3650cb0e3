"""Batches of results into a topic, each once, though a batch whose job was killed comes again.

Before the first of a batch is sent, the checkpoint is told where the topic ends; each record has the batch in a header.
So a batch that comes again finds in the topic what is there of it already. With transactions that is all or nothing,
and a writer that was thought dead cannot write any more.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import chain

from barnabas.pipeline.copying.target import Target
from barnabas.pipeline.files import Files
from barnabas.pipeline.writing import Row, Writer

__all__ = ["BATCH_HEADER", "Feed"]

BATCH_HEADER = "barnabas.batch"
_SENDS = "sends"


class Feed:
    def __init__(
        self, topic: str, properties: Mapping[str, str], files: Files, name: str, *, transactional: bool
    ) -> None:
        """`files` are those of the checkpoint, `name` is its name: it is part of what each record says."""
        self._topic = topic
        self._properties = dict(properties)
        self._files = files
        self._name = name
        self._transactional_id = f"barnabas-{name}" if transactional else None

    def send(self, batch: int, rows: Iterable[tuple[str, str]]) -> int:
        """Keys and values, each key once. How many were still to be sent."""
        rows = iter(rows)
        begun = self._begun(batch)
        first = next(rows, None)
        if first is None:
            return 0
        with Writer(self._properties, transactional_id=self._transactional_id) as writer:
            # What an earlier writer of that name had in hand is ended by now, so that nothing comes behind this look.
            sent = self._sent_since(begun, batch) if begun is not None else set()
            if begun is None:
                self._begin(batch)
            header = ((BATCH_HEADER, self._mark(batch)),)
            records = (
                Row(self._topic, key, value, header)
                for key, value in ((key.encode(), value.encode()) for key, value in chain([first], rows))
                if (key, value) not in sent
            )
            places = writer.send(records)
        return len(places)

    def finish(self, batch: int) -> None:
        """If it is sent again, it is another one of that number."""
        self._files.delete(f"{_SENDS}/{batch}.json")

    def _mark(self, batch: int) -> bytes:
        return f"{self._name}/{batch}".encode()

    def _begun(self, batch: int) -> dict[int, int] | None:
        """Where the topic ended when this batch was begun; None if it was not."""
        file = f"{_SENDS}/{batch}.json"
        if not self._files.exists(file):
            return None
        try:
            return {int(partition): end for partition, end in json.loads(self._files.read(file)).items()}
        except json.JSONDecodeError:
            self._files.delete(file)  # killed while it was written: then nothing had been sent
            return None

    def _begin(self, batch: int) -> None:
        ends = self._ends()
        for name in self._files.names(_SENDS):
            self._files.delete(f"{_SENDS}/{name}")  # of batches that Spark has done
        self._files.create(f"{_SENDS}/{batch}.json", json.dumps(ends))

    def _ends(self) -> dict[int, int]:
        with self._look() as target:
            return {number: target.bounds(self._topic, number)[1] for number in range(target.partitions(self._topic))}

    def _sent_since(self, ends: Mapping[int, int], batch: int) -> set[tuple[bytes, bytes]]:
        mark = (BATCH_HEADER, self._mark(batch))
        sent = set()
        now = self._ends()  # of more partitions, where some have been added
        with self._look() as target:
            for number, end in now.items():
                for found in target.records(self._topic, number, ends.get(number, 0), end):
                    if mark in found.row.headers:
                        sent.add((found.row.key or b"", found.row.value or b""))
        return sent

    def _look(self) -> Target:
        # What a transaction has taken back was not sent.
        return Target(self._properties, isolation="read_committed")
