"""Share groups described, and their offsets deleted, as kafka-share-groups.sh does."""

from __future__ import annotations

from typing import Any

from barnabas.cli.failures import CommandFailed
from barnabas.cli.groups.arguments import Wanted
from barnabas.cli.groups.describing import show_assignment
from barnabas.cli.groups.listing import names_of
from barnabas.cli.groups.troubles import complain, trouble_with
from barnabas.cli.output import Output, confirm
from barnabas.cli.refusals import words_for
from barnabas.client import share_groups
from barnabas.client.cluster import Cluster, Partition
from barnabas.client.groups import Group
from barnabas.client.share_groups import ShareOffset, share_offsets
from barnabas.protocol.errors import KafkaError

__all__ = ["delete_share_offsets", "describe_share_groups"]

_EMPTY, _DEAD = "Empty", "Dead"


def describe_share_groups(cluster: Cluster, output: Output, wanted: Wanted) -> bool:
    """Whether there was something to complain of."""
    options = wanted.options
    found = share_groups.describe_share_groups(cluster, names_of(cluster, wanted))
    troubles = {name: result for name, result in found.items() if isinstance(result, KafkaError)}
    groups = [result for _, result in sorted(found.items()) if isinstance(result, Group)]
    offsets: dict[str, dict[Partition, ShareOffset]] = {}
    if not options.members and options.state is None:
        for name, told in share_offsets(cluster, [group.name for group in groups]).items():
            if isinstance(told, KafkaError):
                troubles[name] = told
            else:
                offsets[name] = told
    for name, error in troubles.items():
        complain(output, trouble_with(cluster, name, error))
    if output.as_json:
        output.json([_as_json(group, offsets.get(group.name)) for group in groups])
        return bool(troubles)
    for group in groups:
        if options.members:
            _show_members(output, group, verbose=options.verbose)
        elif options.state is not None:
            _show_state(output, group, verbose=options.verbose)
        elif group.name in offsets:
            _show_offsets(output, group, offsets[group.name], verbose=options.verbose)
    return bool(troubles)


def _tell_if_empty(output: Output, group: Group) -> None:
    if group.state == _DEAD:
        output.note(f"Share group '{group.name}' does not exist.")
    elif group.state == _EMPTY:
        output.note(f"Share group '{group.name}' has no active members.")


def _show_offsets(output: Output, group: Group, offsets: dict[Partition, ShareOffset], *, verbose: bool) -> None:
    if not offsets:
        output.note(f"Share group '{group.name}' has no offset information.")
        return
    columns = ["group", "topic", "partition", *(["leader-epoch"] * verbose), "start-offset", "lag"]
    rows = [
        [group.name, each.topic, each.number, *([told.leader_epoch] * verbose), told.start, told.lag]
        for each, told in sorted(offsets.items())
    ]
    output.line()
    output.table(columns, rows)


def _show_members(output: Output, group: Group, *, verbose: bool) -> None:
    _tell_if_empty(output, group)
    if group.state == _DEAD or not group.members:
        return
    columns = ["group", "consumer-id", "host", "client-id", "#partitions", *(["member-epoch"] * verbose), "assignment"]
    rows = [
        [
            group.name,
            member.member_id,
            member.host,
            member.client_id,
            len(member.assigned),
            *([member.epoch] * verbose),
            show_assignment(member.assigned),
        ]
        for member in sorted(group.members, key=lambda each: each.member_id)
    ]
    output.line()
    output.table(columns, rows)


def _show_state(output: Output, group: Group, *, verbose: bool) -> None:
    _tell_if_empty(output, group)
    node = group.coordinator
    epochs = [group.epoch, group.target_epoch] if verbose else []
    columns = ["group", "coordinator (id)", "state", *(["group-epoch", "assignment-epoch"] * verbose), "#members"]
    row = [group.name, f"{node.address}  ({node.node_id})", group.state, *epochs, len(group.members)]
    output.line()
    output.table(columns, [row])


def _as_json(group: Group, offsets: dict[Partition, ShareOffset] | None) -> dict[str, Any]:
    node = group.coordinator
    told: dict[str, Any] = {
        "group": group.name,
        "type": group.type,
        "state": group.state,
        "assignor": group.assignor,
        "coordinator": {"id": node.node_id, "host": node.address.host, "port": node.address.port},
        "epoch": group.epoch,
        "target_epoch": group.target_epoch,
        "members": [
            {
                "consumer_id": member.member_id,
                "client_id": member.client_id,
                "host": member.host,
                "epoch": member.epoch,
                "assignment": [{"topic": each.topic, "partition": each.number} for each in member.assigned],
            }
            for member in group.members
        ],
    }
    if offsets is not None:
        told["offsets"] = [
            {
                "topic": each.topic,
                "partition": each.number,
                "start_offset": offset.start,
                "leader_epoch": offset.leader_epoch,
                "lag": offset.lag,
            }
            for each, offset in sorted(offsets.items())
        ]
    return told


def delete_share_offsets(cluster: Cluster, output: Output, wanted: Wanted) -> bool:
    (group,) = wanted.groups
    topics = list(dict.fromkeys(wanted.options.topic))
    confirm(f"Delete the offsets of share group {group} for {', '.join(topics)}?", yes=wanted.options.yes)
    try:
        results = share_groups.delete_share_offsets(cluster, group, topics)
    except KafkaError as error:
        raise CommandFailed(trouble_with(cluster, group, error)) from None
    rows = [
        [topic, "Successful" if error is None else f"Error: {words_for(error.code, error.message)} [{error.code.name}]"]
        for topic, error in sorted(results.items())
    ]
    output.line()
    output.table(["topic", "status"], rows)
    if output.as_json:
        output.json(
            [
                {"group": group, "topic": topic, "deleted": error is None}
                | ({"error": error.code.name} if error is not None else {})
                for topic, error in sorted(results.items())
            ]
        )
    return any(results.values())
