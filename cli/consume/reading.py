"""Reads records of a cluster through kafka-python, between bounds if there are any, until there is a reason to end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from barnabas.cli.clients.alive import Vigil
from barnabas.cli.clients.interruption import Interruption
from barnabas.cli.clients.words import failed
from barnabas.cli.consume.formatter import Record
from barnabas.cli.failures import CommandFailed
from barnabas.client.cluster import Partition

__all__ = ["Reader"]

_POLL_MS = 200
_CLOSE_MS = 5000
_BROKEN_CLOSE_MS = 500

EndsOf = Callable[[list[Partition]], Mapping[Partition, int]]


class Reader:
    """`consumer` is a KafkaConsumer that is subscribed or assigned. `ends_of` says where new partitions end;
    `before_waiting` is called when nothing is left to be handed out."""

    def __init__(
        self,
        consumer: Any,
        vigil: Vigil,
        interruption: Interruption,
        ends_of: EndsOf,
        before_waiting: Callable[[], None],
        *,
        must_end: bool = False,
    ) -> None:
        from kafka import TopicPartition
        from kafka.errors import KafkaError

        self._consumer = consumer
        self._vigil = vigil
        self._interruption = interruption
        self._ends_of = ends_of
        self._before_waiting = before_waiting
        self._must_end = must_end
        self._ends: dict[Any, int] = {}
        self._unfinished: set[Any] = set()
        """Those of them that have not been reached."""
        self._known: set[Any] = set()
        self._partition = TopicPartition
        self._error = KafkaError
        self._rest: list[Record] = []
        self._is_broken = False

    def records(self, *, idle_s: float | None = None) -> Iterator[Record]:
        """Until all partitions are at their ends, nobody wants more, or nothing has come for that long."""
        last_s = time.monotonic()
        began_s = last_s
        while not self._interruption and not self._is_at_the_end():
            if self._must_end and not self._known and time.monotonic() - began_s > self._vigil.patience_s:
                raise CommandFailed(
                    f"No partition came to this consumer in {self._vigil.patience_s:g} s, so that it has no end: "
                    "no topic matches, or other members of the group have all of them."
                )
            left_s = None if idle_s is None else last_s + idle_s - time.monotonic()
            if left_s is not None and left_s < 0:
                return
            self._before_waiting()
            self._rest = self._poll(left_s)
            if not self._rest:
                self._vigil.idle()
                continue
            self._vigil.busy()
            while self._rest and not self._interruption:
                yield self._rest.pop()
            last_s = time.monotonic()

    def _poll(self, left_s: float | None) -> list[Record]:
        """In reverse, so that the next is at the end."""
        timeout_ms = _POLL_MS if left_s is None else min(_POLL_MS, int(left_s * 1000) + 1)
        try:
            found = self._consumer.poll(timeout_ms=timeout_ms)
            self._look_for_new_partitions()
        except self._error as error:
            self._is_broken = True
            raise failed("Records could not be read", error) from None
        records = [record for partition, own in found.items() for record in self._before_its_end(partition, own)]
        records.reverse()
        if not records:
            self._look_for_ends()
        return records

    def _before_its_end(self, partition: Any, records: list[Record]) -> list[Record]:
        """What lies behind the end is not read, and shall not be committed as if it were."""
        end = self._ends.get(partition)
        if end is None:
            return records
        last = records[-1].offset
        if last + 1 >= end:
            self._unfinished.discard(partition)
        if last < end:
            return records
        with suppress(self._error, AssertionError):
            self._consumer.seek(partition, end)
            self._consumer.pause(partition)
        return [record for record in records if record.offset < end]

    def _look_for_new_partitions(self) -> None:
        assigned = self._consumer.assignment()
        if assigned == self._known:
            return
        new = assigned - self._known
        self._known = set(assigned)
        self._unfinished &= assigned
        if new:
            ends = self._ends_of([Partition(each.topic, each.partition) for each in new])
            own = {self._partition(topic, number): end for (topic, number), end in ends.items()}
            self._ends |= own
            self._unfinished |= own.keys()

    def _look_for_ends(self) -> None:
        """Where nothing comes any more: positions pass over what is no record, the end of a transaction or what was
        compacted away. kafka-python looks at all its partitions to tell the position of one: it is asked seldom."""
        with suppress(self._error):
            for each in list(self._unfinished):
                if (self._consumer.position(each, timeout_ms=_POLL_MS) or 0) < self._ends[each]:
                    return
                self._unfinished.discard(each)

    def _is_at_the_end(self) -> bool:
        return bool(self._ends and self._known) and not self._unfinished

    def close(self) -> None:
        """What was not handed out is read again by whoever comes next in the group: it is not committed."""
        earliest: dict[Any, int] = {}
        for record in self._rest:
            earliest[self._partition(record.topic, record.partition)] = record.offset
        for partition, offset in earliest.items():
            # It may have gone to another member of the group.
            with suppress(self._error, AssertionError):
                self._consumer.seek(partition, offset)
        self._rest = []
        with suppress(self._error):
            self._consumer.close(
                autocommit=not self._is_broken, timeout_ms=_BROKEN_CLOSE_MS if self._is_broken else _CLOSE_MS
            )

    def broken(self) -> None:
        """The cluster is not there: nothing is committed, and nobody waits for it."""
        self._is_broken = True
