"""Groups described: what they have committed and how far that is behind, who is in them, in which state they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from barnabas.cli.groups.arguments import CONSUMER_KIND, SHARE_KIND, Wanted
from barnabas.cli.groups.listing import names_of
from barnabas.cli.groups.positions import Position, positions_of
from barnabas.cli.groups.troubles import complain, trouble_with
from barnabas.cli.output import Output
from barnabas.client.cluster import Cluster, Partition
from barnabas.client.committed import Offsets, committed_offsets
from barnabas.client.groups import Group, Member, describe_consumer_groups
from barnabas.client.offsets import LATEST, FoundOffset, list_offsets
from barnabas.protocol.errors import KafkaError

__all__ = ["describe", "ends_of", "look_at", "show_assignment"]

_EMPTY, _DEAD = "Empty", "Dead"
_REBALANCING = ("PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling")


def describe(cluster: Cluster, output: Output, wanted: Wanted) -> bool:
    """Whether there was something to complain of."""
    if wanted.kind == SHARE_KIND:
        from barnabas.cli.groups.share import describe_share_groups

        return describe_share_groups(cluster, output, wanted)
    if wanted.kind != CONSUMER_KIND:
        from barnabas.cli.groups.streams import describe as describe_streams_groups

        return describe_streams_groups(cluster, output, wanted)
    options = wanted.options
    groups, complained = look_at(cluster, output, wanted)
    if options.members:
        show = _show_members
    elif options.state is not None:
        show = _show_state
    else:
        return _describe_offsets(cluster, output, groups, verbose=options.verbose) or complained
    for group in groups:
        if _is_worth_showing(output, group, 1):
            show(output, group, verbose=options.verbose)
    if output.as_json:
        output.json([_group_json(group) for group in groups])
    return complained


def look_at(cluster: Cluster, output: Output, wanted: Wanted) -> tuple[list[Group], bool]:
    """Those that are there, by name, and whether others were complained of."""
    found = describe_consumer_groups(cluster, names_of(cluster, wanted))
    groups = []
    for name in sorted(found):
        result = found[name]
        if isinstance(result, KafkaError):
            complain(output, trouble_with(cluster, name, result))
        else:
            groups.append(result)
    return groups, len(groups) < len(found)


def _is_worth_showing(output: Output, group: Group, rows: int) -> bool:
    """With Kafka's words for what is to be known before the table."""
    if group.state == _DEAD:
        output.note(f"Consumer group '{group.name}' does not exist.")
    elif output.as_json:
        return False
    elif group.state == _EMPTY:
        output.note(f"Consumer group '{group.name}' has no active members.")
    elif group.state in _REBALANCING:
        output.note(f"Warning: Consumer group '{group.name}' is rebalancing.")
    return group.state != _DEAD and rows > 0


def _describe_offsets(cluster: Cluster, output: Output, groups: Sequence[Group], *, verbose: bool) -> bool:
    committed = committed_offsets(cluster, [group.name for group in groups])
    complained = False
    offsets: dict[str, Offsets] = {}
    for name, result in committed.items():
        if isinstance(result, KafkaError):
            complain(output, trouble_with(cluster, name, result))
            complained = True
        else:
            offsets[name] = result
    ends = ends_of(cluster, groups, offsets)
    told = []
    for group in groups:
        if group.name not in offsets:
            continue
        positions = positions_of(group, offsets[group.name], ends)
        if _is_worth_showing(output, group, len(positions)):
            _show_positions(output, group, positions, verbose=verbose)
        lags = [each.lag for each in positions if each.lag is not None]
        told.append(
            _group_json(group) | {"lag": sum(lags) if lags else None, "offsets": [each.as_json() for each in positions]}
        )
    if output.as_json:
        output.json(told)
    return complained


def ends_of(cluster: Cluster, groups: Sequence[Group], offsets: Mapping[str, Offsets]) -> dict[Partition, int | None]:
    """Where the partitions end that the groups have to do with, asked once for all of them."""
    partitions = {partition for own in offsets.values() for partition in own}
    partitions |= {partition for group in groups for member in group.members for partition in member.assigned}
    found = list_offsets(cluster, dict.fromkeys(sorted(partitions), LATEST), patient=False)
    return {
        partition: result.offset if isinstance(result, FoundOffset) else None for partition, result in found.items()
    }


def _show_positions(output: Output, group: Group, positions: Sequence[Position], *, verbose: bool) -> None:
    """Kafka's columns: scripts count them."""
    columns = ["group", "topic", "partition", "current-offset", "log-end-offset", "lag", "consumer-id", "host"]
    columns.append("client-id")
    if verbose:
        columns.insert(3, "leader-epoch")
    rows = []
    for each in positions:
        row: list[object] = [group.name, each.topic, each.partition, each.offset, each.end, each.lag]
        row += [each.consumer_id, each.host, each.client_id]
        if verbose:
            row.insert(3, each.leader_epoch)
        rows.append(row)
    output.line()
    output.table(columns, rows)


def show_assignment(partitions: Sequence[Partition]) -> str | None:
    """`clicks:0,1;orders:2`, None for nothing."""
    numbers: dict[str, list[int]] = {}
    for partition in sorted(partitions):
        numbers.setdefault(partition.topic, []).append(partition.number)
    return ";".join(f"{topic}:{','.join(map(str, own))}" for topic, own in numbers.items()) or None


def _show_members(output: Output, group: Group, *, verbose: bool) -> None:
    with_instances = any(member.instance_id for member in group.members)
    with_upgrades = verbose and {member.upgraded for member in group.members} >= {True, False}
    columns = ["group", "consumer-id", "group-instance-id", "host", "client-id", "#partitions"]
    if verbose:
        columns += ["current-epoch", "current-assignment", "target-epoch", "target-assignment"]
    if with_upgrades:
        columns.append("upgraded")
    rows = []
    for member in group.members:
        row: list[object] = [group.name, member.member_id, member.instance_id or None, member.host, member.client_id]
        row.append(len(member.assigned))
        if verbose:
            row += [member.epoch, show_assignment(member.assigned), group.target_epoch, show_assignment(member.target)]
        if with_upgrades:
            row.append(None if member.upgraded is None else str(member.upgraded).lower())
        rows.append(row)
    if not with_instances:
        columns.pop(2)
        for row in rows:
            row.pop(2)
    output.line()
    output.table(columns, rows)


def _show_state(output: Output, group: Group, *, verbose: bool) -> None:
    columns = ["group", "coordinator (id)", "assignment-strategy", "state", "#members"]
    node = group.coordinator
    row: list[object] = [group.name, f"{node.address}  ({node.node_id})", group.assignor or None, group.state]
    row.append(len(group.members))
    if verbose:
        columns[4:4] = ["group-epoch", "target-assignment-epoch"]
        row[4:4] = [group.epoch, group.target_epoch]
    output.line()
    output.table(columns, [row])


def _group_json(group: Group) -> dict[str, Any]:
    node = group.coordinator
    return {
        "group": group.name,
        "type": group.type,
        "state": group.state,
        "protocol": group.protocol,
        "assignor": group.assignor,
        "coordinator": {"id": node.node_id, "host": node.address.host, "port": node.address.port},
        "epoch": group.epoch,
        "target_epoch": group.target_epoch,
        "members": [_member_json(member) for member in group.members],
    }


def _member_json(member: Member) -> dict[str, Any]:
    return {
        "consumer_id": member.member_id,
        "instance_id": member.instance_id,
        "client_id": member.client_id,
        "host": member.host,
        "epoch": member.epoch,
        "assignment": [{"topic": each.topic, "partition": each.number} for each in member.assigned],
        "target_assignment": [{"topic": each.topic, "partition": each.number} for each in member.target],
        "upgraded": member.upgraded,
    }
