"""Groups of Kafka Streams described, as kafka-streams-groups.sh does."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from barnabas.cli.groups.arguments import Wanted
from barnabas.cli.groups.listing import names_of
from barnabas.cli.groups.troubles import complain, trouble_with
from barnabas.cli.output import Output
from barnabas.client.cluster import Cluster, Partition
from barnabas.client.committed import Offsets, committed_offsets
from barnabas.client.offsets import EARLIEST, LATEST, FoundOffset, list_offsets
from barnabas.client.streams_groups import StreamsGroup, Tasks, describe_streams_groups
from barnabas.protocol.errors import KafkaError

__all__ = ["describe", "show_tasks"]

_EMPTY, _DEAD = "Empty", "Dead"


def describe(cluster: Cluster, output: Output, wanted: Wanted) -> bool:
    """Whether there was something to complain of."""
    options = wanted.options
    found = describe_streams_groups(cluster, names_of(cluster, wanted))
    told: list[dict[str, Any]] = []
    complained = False
    for name, group in sorted(found.items()):
        if isinstance(group, KafkaError):
            complain(output, trouble_with(cluster, name, group))
            complained = True
            continue
        if not output.as_json:
            _tell_if_empty(output, group)
        told.append(_as_json(group))
        if options.members:
            _show_members(output, group, verbose=options.verbose)
        elif options.state is not None:
            _show_state(output, group, verbose=options.verbose)
        else:
            rows = _positions(cluster, group)
            told[-1]["offsets"] = rows
            _show_offsets(output, group, rows, verbose=options.verbose)
    if output.as_json:
        output.json(told)
    return complained


def _tell_if_empty(output: Output, group: StreamsGroup) -> None:
    if group.state == _DEAD:
        output.note(f"Streams group '{group.name}' does not exist.")
    elif group.state == _EMPTY:
        output.note(f"Streams group '{group.name}' has no active members.")


def _positions(cluster: Cluster, group: StreamsGroup) -> list[dict[str, Any]]:
    """Of what its members have now: a partition without an offset is behind by all it has."""
    wanted = _inputs_of_members(group)
    committed = committed_offsets(cluster, [group.name])[group.name]
    offsets: Offsets = {} if isinstance(committed, KafkaError) else committed
    starts = list_offsets(cluster, dict.fromkeys(wanted, EARLIEST), patient=False)
    ends = list_offsets(cluster, dict.fromkeys(wanted, LATEST), patient=False)
    rows: list[dict[str, Any]] = []
    for partition in wanted:
        start, end = starts[partition], ends[partition]
        if not isinstance(start, FoundOffset) or not isinstance(end, FoundOffset):
            continue  # of a topic with fewer partitions than its subtopology has tasks
        known = offsets.get(partition)
        rows.append(
            {
                "topic": partition.topic,
                "partition": partition.number,
                "offset": known.offset if known else None,
                "leader_epoch": known.leader_epoch if known else None,
                "log_end_offset": end.offset,
                "lag": end.offset - (known.offset if known else start.offset),
            }
        )
    return rows


def _inputs_of_members(group: StreamsGroup) -> list[Partition]:
    return sorted(
        {
            Partition(topic, number)
            for member in group.members
            for subtopology, numbers in member.tasks.active.items()
            for topic in group.inputs.get(subtopology, [])
            for number in numbers
        }
    )


def _show_offsets(output: Output, group: StreamsGroup, rows: list[dict[str, Any]], *, verbose: bool) -> None:
    if not rows:
        return
    if verbose:
        columns = ["topic", "partition", "current-offset", "leader-epoch", "log-end-offset", "offset-lag"]
        keys = ["topic", "partition", "offset", "leader_epoch", "log_end_offset", "lag"]
    else:
        columns, keys = ["topic", "partition", "offset-lag"], ["topic", "partition", "lag"]
    output.table(["group", *columns], [[group.name, *(row[key] for key in keys)] for row in rows])


def _show_members(output: Output, group: StreamsGroup, *, verbose: bool) -> None:
    if not group.members:
        return
    if not verbose:
        rows = [
            [group.name, each.member_id, each.process_id, each.client_id, show_tasks(each.tasks)]
            for each in group.members
        ]
        output.table(["group", "member", "process", "client-id", "assignments"], rows)
        return
    columns = ["group", "target-assignment-epoch", "topology-epoch", "member", "member-protocol", "member-epoch"]
    columns += ["process", "client-id", "assignments"]
    rows_with_more = [
        [
            group.name,
            group.target_epoch,
            group.topology_epoch,
            each.member_id,
            "classic" if each.is_classic else "streams",
            each.epoch,
            each.process_id,
            each.client_id,
            show_tasks(each.tasks) + show_tasks(each.target, "TARGET-"),
        ]
        for each in group.members
    ]
    output.table(columns, rows_with_more)


def show_tasks(tasks: Tasks, prefix: str = "") -> str:
    """`ACTIVE: 0:[0,1]; 1:[2]; STANDBY: ...`, as Kafka's tool writes it."""
    text = ""
    for kind, numbers in (("ACTIVE", tasks.active), ("STANDBY", tasks.standby), ("WARMUP", tasks.warmup)):
        if numbers:
            text += f"{prefix}{kind}: "
            text += "".join(f"{name}:[{','.join(map(str, own))}]; " for name, own in sorted(numbers.items()))
    return text


def _show_state(output: Output, group: StreamsGroup, *, verbose: bool) -> None:
    node = group.coordinator
    epochs = [group.epoch, group.target_epoch] if verbose else []
    columns = [
        "group",
        "coordinator (id)",
        "state",
        *(["group-epoch", "target-assignment-epoch"] * verbose),
        "#members",
    ]
    row = [group.name, f"{node.address} ({node.node_id})", group.state, *epochs, len(group.members)]
    output.table(columns, [row])


def _as_json(group: StreamsGroup) -> dict[str, Any]:
    node = group.coordinator
    told = asdict(group)
    told["group"] = told.pop("name")
    told["type"] = "Streams"
    told["coordinator"] = {"id": node.node_id, "host": node.address.host, "port": node.address.port}
    return told
