"""What groups have committed, set anew: planned first for all of them, shown, and done only with --execute."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from barnabas.cli.failures import CommandFailed
from barnabas.cli.groups.arguments import SHARE_KIND, STREAMS_KIND, Wanted
from barnabas.cli.groups.internal_topics import delete_topics, topics_to_delete
from barnabas.cli.groups.listing import names_of
from barnabas.cli.groups.plans import Plan, plan_lines, read_plan
from barnabas.cli.groups.scenarios import (
    at_timestamp,
    current,
    offsets_at,
    shifted,
    timestamp_wanted,
    within_limits,
)
from barnabas.cli.groups.troubles import complain, trouble_with
from barnabas.cli.output import Output, confirm
from barnabas.cli.partition_words import check_there, partitions_named
from barnabas.cli.refusals import sentence_of
from barnabas.client.cluster import Cluster, Partition
from barnabas.client.committed import Committed, Offsets, commit_offsets, committed_offsets
from barnabas.client.groups import Group, describe_consumer_groups
from barnabas.client.offsets import EARLIEST, LATEST
from barnabas.client.streams_groups import StreamsGroup, describe_streams_groups
from barnabas.protocol.errors import ErrorCode, KafkaError

__all__ = ["reset"]

_INACTIVE = ("Empty", "Dead")


class _Step(NamedTuple):
    group: str
    partition: Partition
    before: int | None
    after: int


def reset(cluster: Cluster, output: Output, wanted: Wanted) -> bool:
    """Whether there was something to complain of."""
    options = wanted.options
    resetter = _Resetter(cluster, output, wanted)
    if not options.execute and not options.dry_run:
        output.note("Nothing is changed without --execute: this is a dry run.")
    plan = resetter.plan()
    steps = [
        _Step(group, partition, resetter.before(group, partition), offset)
        for group, offsets in plan.items()
        for partition, offset in sorted(offsets.items())
    ]
    if options.execute and steps:
        names = ", ".join(f"'{group}'" for group, offsets in plan.items() if offsets)
        confirm(f"Set {len(steps)} offsets of {names}?", yes=options.yes)
        resetter.carry_out(plan)
    if options.export and not output.as_json:
        for line in plan_lines(plan, with_group=len(wanted.groups) != 1):
            output.line(line)
        # Kafka ends its CSV with a line of nothing.
        output.line()
    else:
        _show(output, steps, executed=options.execute)
    return resetter.complained


def _show(output: Output, steps: list[_Step], *, executed: bool) -> None:
    if output.as_json:
        rows: list[dict[str, Any]] = [
            {
                "group": step.group,
                "topic": step.partition.topic,
                "partition": step.partition.number,
                "new_offset": step.after,
                "current_offset": step.before,
            }
            for step in steps
        ]
        output.json({"executed": executed, "offsets": rows})
        return
    output.line()
    output.table(
        ["group", "topic", "partition", "new-offset", "current-offset", "change"],
        [
            [
                step.group,
                step.partition.topic,
                step.partition.number,
                step.after,
                step.before,
                None if step.before is None else step.after - step.before,
            ]
            for step in steps
        ],
    )


class _Resetter:
    def __init__(self, cluster: Cluster, output: Output, wanted: Wanted) -> None:
        self.complained = False
        self._cluster = cluster
        self._output = output
        self._wanted = wanted
        self._options = wanted.options
        self._timestamp = timestamp_wanted(wanted.options)
        self._committed: dict[str, Offsets] = {}
        self._streams: dict[str, StreamsGroup] = {}
        self._planned: Plan = {}

    def plan(self) -> Plan:
        names = names_of(self._cluster, self._wanted)
        inactive = [name for name, found in self._describe(names).items() if self._is_inactive(name, found)]
        self._read_committed(inactive)
        if self._options.from_file is not None:
            only = self._wanted.groups[0] if len(self._wanted.groups) == 1 else None
            self._planned = read_plan(self._options.from_file, only)
        plan = {}
        for name in inactive:
            if name in self._committed and (offsets := self._offsets_of(name)) is not None:
                plan[name] = offsets
        return plan

    def before(self, group: str, partition: Partition) -> int | None:
        known = self._committed[group].get(partition)
        return known.offset if known else None

    def carry_out(self, plan: Plan) -> None:
        for group, offsets in plan.items():
            for partition, error in self._commit(group, offsets).items():
                self._complain(f"{partition} of {group}: {trouble_with(self._cluster, group, error)}")
            if group in self._streams:
                for topic, error in delete_topics(
                    self._cluster, topics_to_delete(self._options, self._streams[group])
                ).items():
                    self._complain(f"The internal topic {topic} is not deleted. {sentence_of(error)}")

    def _commit(self, group: str, offsets: Mapping[Partition, int]) -> Mapping[Partition, KafkaError]:
        if self._wanted.kind == SHARE_KIND:
            from barnabas.client.share_groups import alter_share_offsets

            return alter_share_offsets(self._cluster, group, offsets)
        return commit_offsets(self._cluster, group, offsets)

    def _describe(self, names: list[str]) -> Mapping[str, Group | StreamsGroup | KafkaError]:
        if self._wanted.kind == STREAMS_KIND:
            found = describe_streams_groups(self._cluster, names)
            self._streams = {name: group for name, group in found.items() if isinstance(group, StreamsGroup)}
            return found
        if self._wanted.kind == SHARE_KIND:
            from barnabas.client.share_groups import describe_share_groups

            return describe_share_groups(self._cluster, names)
        return describe_consumer_groups(self._cluster, names)

    def _is_inactive(self, name: str, found: Group | StreamsGroup | KafkaError) -> bool:
        if isinstance(found, KafkaError):
            # A group that is not there is made by what is committed for it; of Kafka Streams, its application makes it.
            if found.code is ErrorCode.GROUP_ID_NOT_FOUND and self._wanted.kind != STREAMS_KIND:
                return True
            self._complain(trouble_with(self._cluster, name, found))
            return False
        if found.state not in _INACTIVE:
            self._complain(f"{name} has members (it is {found.state}): stop them, and its offsets can be set.")
            return False
        return True

    def _read_committed(self, names: list[str]) -> None:
        if self._wanted.kind == SHARE_KIND:
            from barnabas.client.share_groups import share_offsets

            for name, found in share_offsets(self._cluster, names).items():
                offsets = {} if isinstance(found, KafkaError) else found
                self._committed[name] = {
                    partition: Committed(each.start, each.leader_epoch, "")
                    for partition, each in offsets.items()
                    if each.start is not None
                }
            return
        for name, result in committed_offsets(self._cluster, names).items():
            if isinstance(result, KafkaError):
                self._complain(trouble_with(self._cluster, name, result))
            else:
                self._committed[name] = result

    def _offsets_of(self, group: str) -> dict[Partition, int] | None:
        options, cluster, note = self._options, self._cluster, self._output.note
        if options.from_file is not None:
            if group not in self._planned:
                self._complain(f"{options.from_file} has no line for {group}.")
                return None
            check_there(cluster, list(self._planned[group]))
            return within_limits(cluster, self._planned[group], note)
        partitions = self._partitions_of(group)
        committed = self._committed[group]
        if options.to_offset is not None:
            return within_limits(cluster, dict.fromkeys(partitions, options.to_offset), note)
        if options.shift_by is not None:
            return within_limits(cluster, shifted(partitions, committed, options.shift_by), note)
        if options.to_current:
            return current(cluster, partitions, committed)
        if self._timestamp is not None:
            return at_timestamp(cluster, partitions, self._timestamp, note)
        return offsets_at(cluster, partitions, EARLIEST if options.to_earliest else LATEST)

    def _partitions_of(self, group: str) -> list[Partition]:
        committed = self._committed[group]
        streams = self._streams.get(group)
        if self._options.all_topics:
            partitions = sorted(each for each in committed if streams is None or each.topic in streams.sources)
        else:
            partitions = partitions_named(self._cluster, self._options.topic)
            others = sorted({each.topic for each in partitions if each not in committed})
            if streams is not None and others:
                raise CommandFailed(f"{', '.join(others)} is no input of {group}; see barnabas groups --streams.")
        if not partitions and self._options.all_topics and len(self._wanted.groups) == 1:
            self._output.note(f"{group} has committed nothing yet, so that --all-topics is none: name the --topic.")
        check_there(self._cluster, partitions)
        return partitions

    def _complain(self, sentence: str) -> None:
        self.complained = True
        complain(self._output, sentence)
