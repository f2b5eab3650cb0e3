"""Reads the range, writes it into the other topic, and keeps the books."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from barnabas.cli.clients.alive import Vigil
from barnabas.cli.clients.arguments import reach, tell_of_ignored
from barnabas.cli.clients.consuming import Incoming, RecordConsumer, open_consumer
from barnabas.cli.clients.interruption import Interruption
from barnabas.cli.clients.producing import Outgoing, RecordProducer, open_producer
from barnabas.cli.clients.topics import partitions_of
from barnabas.cli.clients.words import sentence_for
from barnabas.cli.consume.running import record_filter
from barnabas.cli.failures import CommandFailed
from barnabas.cli.output import Output, Progress, confirm, progress
from barnabas.cli.replay.ledger import Ledger
from barnabas.cli.replay.planning import Plan, plan_of, range_of
from barnabas.client.cluster import Cluster, Partition
from barnabas.client.errors import ClientError

__all__ = ["replay"]

_POLL_S = 0.2
_LONGEST_PAUSE_S = 0.1


def replay(arguments: argparse.Namespace) -> int:
    output = Output(as_json=arguments.json)
    plan = plan_of(arguments)
    keep = record_filter(arguments)
    with Interruption() as interruption, reach(plan.bootstrap, plan.properties, arguments.timeout) as cluster:
        starts, ends = range_of(cluster, arguments, plan.source)
        there = _target_partitions(cluster, arguments, plan, 1 + max(each.number for each in starts))
        if not arguments.repartition and (
            missing := sorted(each.number for each in starts if each.number not in there)
        ):
            raise CommandFailed(
                f"{plan.target} has no partition {missing[0]}: give it more (barnabas topics --alter --partitions), "
                "or spread the records anew with --repartition."
            )
        if arguments.dry_run:
            _tell_plan(output, plan, starts, ends)
            return 0
        if plan.is_same_cluster and plan.source == plan.target:
            confirm(f"Replay {plan.source} into itself, so that its records are in it twice?", yes=arguments.yes)
        vigil = Vigil(cluster, [plan.source], arguments.timeout, output.note)
        run = _Run(arguments, plan, starts, ends, keep, interruption, vigil, output)
        run.carry()
        run.tell()
        return interruption.exit_code


def _target_partitions(cluster: Cluster, arguments: argparse.Namespace, plan: Plan, needed: int) -> set[int]:
    """It is not made here: who writes it anew knows how many partitions it needs, and for how long it keeps records."""
    if plan.is_same_cluster:
        return set(partitions_of(cluster, plan.target, as_many_as=needed))
    with reach(plan.to_bootstrap, plan.to_properties, arguments.timeout) as other:
        return set(partitions_of(other, plan.target, as_many_as=needed))


def _tell_plan(output: Output, plan: Plan, starts: Mapping[Partition, int], ends: Mapping[Partition, int]) -> None:
    rows = [(each.number, starts[each], ends[each], ends[each] - starts[each]) for each in starts]
    if output.as_json:
        names = ("partition", "from", "to", "offsets")
        output.json(
            {"from": plan.source, "to": plan.target, "partitions": [dict(zip(names, row, strict=True)) for row in rows]}
        )
        return
    output.line(f"From {plan.source} to {plan.target} would go what is in these offsets:")
    output.table(["partition", "from", "to", "offsets"], rows)


class _Run:
    def __init__(
        self,
        arguments: argparse.Namespace,
        plan: Plan,
        starts: Mapping[Partition, int],
        ends: Mapping[Partition, int],
        keep: Callable[[Incoming], bool],
        interruption: Interruption,
        vigil: Vigil,
        output: Output,
    ) -> None:
        self._plan = plan
        self._ends = ends
        self._keep = keep
        self._interruption = interruption
        self._vigil = vigil
        self._output = output
        self._rate: float | None = arguments.rate
        self._left: int | None = arguments.max_messages
        self._repartition: bool = arguments.repartition
        self._new_timestamps: bool = arguments.new_timestamps
        self._ledger = Ledger(starts)
        self._open = {each for each in starts if starts[each] < ends[each]}
        self._starts = starts
        self._sent = 0
        self._failure: CommandFailed | ClientError | None = None

    def carry(self) -> None:
        """Until all is there, somebody ends it, or something goes wrong, which `tell` then says."""
        self._output.note(f"Records go through {self._plan.client}.")
        if not self._open:
            self._seconds = 0.0
            return
        plan = self._plan
        producer = open_producer(plan.client, plan.to_bootstrap, {"linger.ms": "5"} | plan.to_properties)
        began_s = time.monotonic()
        try:
            consumer = open_consumer(
                plan.client, plan.bootstrap, plan.properties, {each: self._starts[each] for each in self._open}
            )
            self._tell_of_ignored(consumer, producer)
            try:
                total = sum(self._ends[each] - self._starts[each] for each in self._open)
                with progress(f"{plan.source} to {plan.target}", total) as bar:
                    self._carry(consumer, producer, bar, began_s)
            finally:
                consumer.close()
        except (CommandFailed, ClientError) as error:
            self._failure = error
        finally:
            producer.flush()
            producer.close()
            self._seconds = time.monotonic() - began_s

    def _tell_of_ignored(self, consumer: RecordConsumer, producer: RecordProducer) -> None:
        ignored = {*consumer.ignored, *producer.ignored}
        if note := tell_of_ignored(sorted(ignored), self._plan.client):
            self._output.note(note)

    def _carry(self, consumer: RecordConsumer, producer: RecordProducer, bar: Progress, began_s: float) -> None:
        while self._open and not self._interruption:
            found = consumer.poll(_POLL_S)
            if found:
                self._vigil.busy()
            else:
                self._vigil.idle()
            for record in found:
                partition = Partition(record.topic, record.partition)
                if partition not in self._open or record.offset >= self._ends[partition]:
                    continue
                if self._interruption or self._left == 0 or self._ledger.first_failure is not None:
                    return
                bar.advance()
                if self._keep(record):
                    self._pace(began_s)
                    self._send(producer, partition, record)
                else:
                    self._ledger.read_up_to(partition, record.offset + 1)
            self._close(consumer, self._at_their_end(consumer, found))

    def _at_their_end(self, consumer: RecordConsumer, found: Sequence[Incoming]) -> set[Partition]:
        """What records show; where none come any more, what positions show, which pass over what is no record.
        kafka-python looks at all its partitions to tell the position of one: it is asked seldom."""
        if not found:
            return {each for each in self._open if consumer.position(each) >= self._ends[each]}
        last = {Partition(record.topic, record.partition): record.offset for record in found}
        return {each for each, offset in last.items() if each in self._open and offset + 1 >= self._ends[each]}

    def _close(self, consumer: RecordConsumer, partitions: Iterable[Partition]) -> None:
        for partition in partitions:
            consumer.pause(partition)
            self._open.discard(partition)
            self._ledger.read_up_to(partition, self._ends[partition])

    def _pace(self, began_s: float) -> None:
        """Waits until the next one is due."""
        if self._rate is None:
            return
        while (early_s := self._sent / self._rate - (time.monotonic() - began_s)) > 0 and not self._interruption:
            time.sleep(min(early_s, _LONGEST_PAUSE_S))

    def _send(self, producer: RecordProducer, partition: Partition, record: Incoming) -> None:
        outgoing = Outgoing(
            self._plan.target,
            record.key,
            record.value,
            list(record.headers),
            None if self._repartition else record.partition,
            None if self._new_timestamps or record.timestamp < 0 else record.timestamp,
        )
        offset, size = record.offset, outgoing.size
        self._ledger.sent(partition, offset)
        producer.send(outgoing, lambda error: self._ledger.ended(partition, offset, size, error))
        self._sent += 1
        if self._left is not None:
            self._left -= 1

    def tell(self) -> None:
        """CommandFailed behind the figures if something went wrong."""
        ledger, plan = self._ledger, self._plan
        go_on_at = ledger.go_on_at()
        is_whole = all(go_on_at[each] >= self._ends[each] for each in go_on_at)
        if self._output.as_json:
            self._output.json(
                {
                    "from": plan.source,
                    "to": plan.target,
                    "client": plan.client,
                    "replayed": ledger.replayed,
                    "bytes": ledger.bytes,
                    "seconds": round(self._seconds, 3),
                    "complete": is_whole,
                    "next_offsets": {str(each.number): offset for each, offset in go_on_at.items()},
                }
            )
        else:
            rate = ledger.replayed / self._seconds if self._seconds else 0.0
            self._output.line(
                f"{ledger.replayed} records of {plan.source} are in {plan.target}, in {self._seconds:.1f} s "
                f"({rate:.0f} records/sec)."
            )
            for each, offset in go_on_at.items():
                self._output.line(f"{each.topic}:{each.number}:{offset}")
        if not is_whole:
            text = ",".join(f"{each.number}:{offset}" for each, offset in go_on_at.items())
            self._output.note(f"To go on: --from-offsets {text}")
        if ledger.first_failure is not None:
            raise CommandFailed(f"A record was not taken: {sentence_for(ledger.first_failure)}.")
        if self._failure is not None:
            raise self._failure
        if ledger.in_doubt:
            raise CommandFailed(f"Of {ledger.in_doubt} records nothing was heard: they may be there or not.")
