"""Groups deleted, and what they have committed for some topics."""

from __future__ import annotations

from typing import Any

from barnabas.cli.failures import CommandFailed
from barnabas.cli.groups.arguments import CONSUMER_KIND, SHARE_KIND, STREAMS_KIND, Wanted
from barnabas.cli.groups.listing import groups_of_kind, names_of
from barnabas.cli.groups.troubles import complain, trouble_with
from barnabas.cli.output import Output, confirm
from barnabas.cli.partition_words import partitions_named
from barnabas.cli.refusals import sentence_of, words_for
from barnabas.client.cluster import Cluster, Partition
from barnabas.client.committed import committed_offsets, delete_offsets
from barnabas.client.groups import delete_groups
from barnabas.protocol.errors import ErrorCode, KafkaError

__all__ = ["delete", "delete_committed"]

_HINTS = {
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC: "The group's members consume this topic now; stop them first",
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "There is no such topic or partition",
}


def delete(cluster: Cluster, output: Output, wanted: Wanted) -> bool:
    """Whether there was something to complain of."""
    names = names_of(cluster, wanted)
    if not names:
        raise CommandFailed("There is no group to delete.")
    if wanted.kind != CONSUMER_KIND:
        _check_kind(cluster, wanted.kind, names)
    topics = _internal_topics(cluster, wanted, names)
    quoted = ", ".join(f"'{name}'" for name in names)
    confirm(f"Delete the groups {quoted} with all that they have committed?", yes=wanted.options.yes)
    results = delete_groups(cluster, names)
    failed = {name: error for name, error in results.items() if error is not None}
    deleted = ", ".join(f"'{name}'" for name in names if name not in failed)
    if deleted:
        output.line(f"Deletion of requested {wanted.kind} groups ({deleted}) was successful.")
    for name, error in failed.items():
        complain(output, f"{name} is not deleted. {trouble_with(cluster, name, error).removeprefix(f'{name}: ')}")
    internal = [topic for name in names if name not in failed for topic in topics.get(name, [])]
    complained = _delete_topics(cluster, output, internal) or bool(failed)
    if output.as_json:
        output.json(
            [
                {"group": name, "deleted": name not in failed}
                | ({"error": failed[name].code.name} if name in failed else {})
                for name in names
            ]
        )
    return complained


def _check_kind(cluster: Cluster, kind: str, names: list[str]) -> None:
    """Brokers delete a group of any type by its name."""
    there = {each.name for each in groups_of_kind(cluster, kind)}
    others = [name for name in names if name not in there]
    if others:
        raise CommandFailed(f"There is no {kind} group {', '.join(others)}; see barnabas groups --list --{kind}.")


def _internal_topics(cluster: Cluster, wanted: Wanted, names: list[str]) -> dict[str, list[str]]:
    """To be asked before the groups are gone, which know them."""
    if wanted.kind != STREAMS_KIND or not wanted.options.delete_all_internal_topics:
        return {}
    from barnabas.cli.groups.internal_topics import topics_to_delete
    from barnabas.client.streams_groups import StreamsGroup, describe_streams_groups

    found = describe_streams_groups(cluster, names)
    return {
        name: topics_to_delete(wanted.options, group)
        for name, group in found.items()
        if isinstance(group, StreamsGroup)
    }


def _delete_topics(cluster: Cluster, output: Output, names: list[str]) -> bool:
    from barnabas.cli.groups.internal_topics import delete_topics

    failed = delete_topics(cluster, names)
    for name, error in failed.items():
        complain(output, f"The internal topic {name} is not deleted. {sentence_of(error)}")
    deleted = [name for name in names if name not in failed]
    if deleted:
        output.line(f"Deleted the internal topics {', '.join(deleted)}.")
    return bool(failed)


def delete_committed(cluster: Cluster, output: Output, wanted: Wanted) -> bool:
    (group,) = wanted.groups
    if wanted.kind == SHARE_KIND:
        from barnabas.cli.groups.share import delete_share_offsets

        return delete_share_offsets(cluster, output, wanted)
    results: dict[tuple[str, int | None], KafkaError | None] = {}
    partitions: list[Partition] = []
    if wanted.options.all_topics:
        partitions = _of_its_inputs(cluster, group)
    for topic in wanted.options.topic:
        try:
            partitions += partitions_named(cluster, [topic])
        except KafkaError as error:
            results[topic, None] = error
    partitions = sorted(set(partitions))
    if partitions:
        named = ", ".join(map(str, partitions[:5])) + (" ..." if len(partitions) > 5 else "")
        confirm(f"Delete what {group} has committed for {named}?", yes=wanted.options.yes)
        try:
            deleted = delete_offsets(cluster, group, partitions)
        except KafkaError as error:
            raise CommandFailed(trouble_with(cluster, group, error)) from None
        results |= {(each.topic, each.number): error for each, error in deleted.items()}
    _show(output, group, results)
    return any(results.values())


def _of_its_inputs(cluster: Cluster, name: str) -> list[Partition]:
    """What a group of Kafka Streams has committed for the topics that others write."""
    from barnabas.client.streams_groups import describe_streams_groups

    group, committed = describe_streams_groups(cluster, [name])[name], committed_offsets(cluster, [name])[name]
    for found in (group, committed):
        if isinstance(found, KafkaError):
            raise CommandFailed(trouble_with(cluster, name, found))
    assert not isinstance(group, KafkaError)
    assert not isinstance(committed, KafkaError)
    return [partition for partition in committed if partition.topic in group.sources]


def _show(output: Output, group: str, results: dict[tuple[str, int | None], KafkaError | None]) -> None:
    def status(error: KafkaError | None) -> str:
        if error is None:
            return "Successful"
        return f"Error: {_HINTS.get(error.code) or words_for(error.code)} [{error.code.name}]"

    if not any(results.values()):
        output.line(f"Request succeeded for deleting offsets from group {group}.")
    output.line()
    ordered = sorted(results.items(), key=lambda each: (each[0][0], each[0][1] or 0))
    output.table(
        ["topic", "partition", "status"], [[topic, number, status(error)] for (topic, number), error in ordered]
    )
    if output.as_json:
        told: list[dict[str, Any]] = [
            {"group": group, "topic": topic, "partition": number, "deleted": error is None}
            | ({"error": error.code.name} if error is not None else {})
            for (topic, number), error in ordered
        ]
        output.json(told)
