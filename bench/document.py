"""The part of a document that `--write` writes: what lies between its two markers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.family import Value
from bench.report import Measured, growth_table, mean_of, named_below, table

__all__ = ["Circumstances", "as_json", "between_markers", "markdown", "summary", "write"]

BEGIN = "<!-- what `--write` writes begins here -->"
END = "<!-- and ends here -->"


@dataclass(frozen=True, slots=True)
class Circumstances:
    command: str
    machine: str
    versions: str
    load: tuple[float, float]
    """Of the machine, when it began and when it ended."""
    rounds: int
    names: tuple[str, str]
    durability: str


def markdown(all_measured: Sequence[Measured], run: Circumstances) -> str:
    load_before, load_after = run.load
    parts = [
        f"""`{run.command}`: {run.rounds} rounds in turns, each on a fresh directory; medians, with half the distance of
the least and the most. {run.machine}; load {load_before:.1f} at the beginning and {load_after:.1f} at the end, of which
what is measured is a part. {run.versions}. Durability: {run.durability}.""",
        summary(all_measured),
    ]
    for measured in all_measured:
        if measured.cells:
            parts.append(f"### {measured.family.name}\n\n{measured.family.about}")
            parts.append(table(measured, run.names))
            parts.append(_commands(measured))
    curves = [measured for measured in all_measured if any(measured.curves)]
    if curves:
        parts.append("### How cost grows\n\n" + " ".join(f"{each.family.about}" for each in curves))
        parts.append(growth_table(curves, run.names))
    return "\n\n".join(part for part in parts if part)


def summary(all_measured: Sequence[Measured]) -> str:
    count = sum(len(measured.cells) for measured in all_measured)
    if not count:
        return ""
    below = named_below(all_measured)
    text = f"Geometric mean over {count} cells: **{mean_of(all_measured):.2f}**."
    if not below:
        return f"{text} No cell is below 1."
    listed = "\n".join(f"- {each}" for each in below)
    return f"{text} Below 1 are {len(below)}:\n\n{listed}"


def _commands(measured: Measured) -> str:
    if not measured.commands:
        return ""
    return "<details><summary>commands</summary>\n\n```\n" + "\n".join(measured.commands) + "\n```\n</details>"


def between_markers(text: str, part: str) -> str:
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"it has not both of its markers: {BEGIN} and {END}")
    return f"{before}{begin}\n\n{part}\n\n{end}{after}"


def write(file: Path, all_measured: Sequence[Measured], run: Circumstances) -> None:
    file.write_text(between_markers(file.read_text(), markdown(all_measured, run)))


def as_json(all_measured: Sequence[Measured], run: Circumstances) -> dict[str, Any]:
    """All figures of all rounds."""
    families = {
        measured.family.name: {
            "about": measured.family.about,
            "commands": measured.commands,
            "trouble": measured.trouble,
            "values": [
                {**_described(row.value), run.names[0]: row.ours, run.names[1]: row.theirs}
                for row in measured.rows.values()
            ],
        }
        for measured in all_measured
    }
    return {**asdict(run), "families": families}


def _described(value: Value) -> dict[str, Any]:
    return {"what": value.what, "unit": value.unit, "more_is_better": value.more_is_better, "scale": value.scale}
