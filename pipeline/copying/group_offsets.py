"""Committed offsets of the source's groups, as what they are at the target."""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.pipeline.copying.offset_map import Copied
from barnabas.pipeline.copying.source_cluster import SourceCluster
from barnabas.pipeline.copying.target_cluster import TargetCluster
from barnabas.pipeline.failures import PipelineFailed
from barnabas.pipeline.progress import Say

__all__ = ["copy_groups", "translated"]

Places = Mapping[tuple[str, int], int]


def copy_groups(
    source: SourceCluster,
    target: TargetCluster,
    pattern: str,
    copied: Mapping[tuple[str, int], Copied],
    ids: Mapping[str, str],
    prefix: str,
    say: Say,
) -> None:
    """Only forward: a group that reads at the target has been further than it was at the source."""
    for group in source.groups(pattern):
        wanted = translated(source.committed(group), copied, ids, prefix)
        try:
            there = target.committed(group)
            news = {place: offset for place, offset in wanted.items() if offset > there.get(place, -1)}
            if not news:
                continue
            target.commit(group, news)
        except PipelineFailed as error:
            say(f"The group {group} was left as it is: {error}", event="group", group=group, error=str(error))
            continue
        say(f"group {group}: {len(news)} offsets", event="group", group=group, offsets=len(news))


def translated(
    committed: Places, copied: Mapping[tuple[str, int], Copied], ids: Mapping[str, str], prefix: str
) -> dict[tuple[str, int], int]:
    found = {}
    for (topic, number), offset in committed.items():
        if (topic, number) in copied:
            to = copied[topic, number].translate(ids[topic], offset)
            if to is not None:
                found[prefix + topic, number] = to
    return found
