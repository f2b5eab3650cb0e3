"""The CSV of --export and --from-file: `topic,partition,offset` for one group, the group in front for several.

What is written is Kafka's to the byte: its library quotes what is longer than 24 letters, or has one below the hyphen.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

from barnabas.cli.failures import CommandFailed
from barnabas.client.cluster import Partition

__all__ = ["Plan", "plan_lines", "read_plan"]

Plan = dict[str, dict[Partition, int]]
"""New offsets, by group."""

_LONGEST_UNQUOTED = 24
_ALWAYS_QUOTED_BELOW = "-"


def plan_lines(plan: Mapping[str, Mapping[Partition, int]], *, with_group: bool) -> list[str]:
    lines = []
    for group, offsets in plan.items():
        for partition, offset in sorted(offsets.items()):
            cells = [_quoted(partition.topic), str(partition.number), str(offset)]
            lines.append(",".join([_quoted(group), *cells] if with_group else cells))
    return lines


def _quoted(text: str) -> str:
    if len(text) <= _LONGEST_UNQUOTED and all(letter >= _ALWAYS_QUOTED_BELOW for letter in text):
        return text
    return '"' + text.replace('"', '""') + '"'


def read_plan(path: Path, only_group: str | None) -> Plan:
    """`only_group`: the one that was named, whose lines may leave it out. CommandFailed for a line that is none."""
    plan: Plan = {}
    with path.open(newline="", encoding="utf-8") as file:
        try:
            for number, cells in enumerate(csv.reader(file), 1):
                if cells:
                    group, partition, offset = _read_line(path, number, cells, only_group)
                    plan.setdefault(group, {})[partition] = offset
        except (csv.Error, UnicodeDecodeError) as error:
            raise CommandFailed(f"{path} is no CSV: {error}. Let --export write one.") from None
    return plan


def _read_line(path: Path, number: int, cells: list[str], only_group: str | None) -> tuple[str, Partition, int]:
    group = only_group
    if len(cells) == 4:
        group, *cells = cells
    try:
        topic, partition, offset = (cell.strip() for cell in cells)
        if group is None:
            raise ValueError
        return group, Partition(topic, int(partition)), int(offset)
    except ValueError:
        wanted = "topic,partition,offset" if only_group is not None else "group,topic,partition,offset"
        raise CommandFailed(f"{path}, line {number} is not {wanted}.") from None
