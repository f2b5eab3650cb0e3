"""What came out, as tables: a row is a value, Barnabas's median of the rounds beside the reference's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.family import Family, Value
from bench.figures import exponent, geometric_mean, median, spread

__all__ = ["Measured", "Row", "growth_table", "mean_of", "named_below", "row_text", "table", "table_head"]


@dataclass(slots=True)
class Row:
    """A value on both sides, over the rounds."""

    value: Value
    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        """How many times better; below 1 it is worse."""
        ours, theirs = median(self.ours), median(self.theirs)
        return ours / theirs if self.value.more_is_better else theirs / ours


@dataclass(slots=True)
class Measured:
    """A family's rows in the order in which they came, and what ran for them."""

    family: Family[Any]
    rows: dict[tuple[str, int | None], Row] = field(default_factory=dict)
    commands: list[str] = field(default_factory=list)
    trouble: str = ""

    def note(self, value: Value, *, is_ours: bool) -> Row:
        row = self.rows.setdefault((value.what, value.scale), Row(value))
        (row.ours if is_ours else row.theirs).append(value.number)
        return row

    @property
    def cells(self) -> list[Row]:
        """Those that have both sides, and are no points of a curve."""
        return [row for row in self.rows.values() if row.ours and row.theirs and row.value.scale is None]

    @property
    def curves(self) -> Iterator[tuple[str, list[Row]]]:
        found: dict[str, list[Row]] = {}
        for row in self.rows.values():
            if row.ours and row.theirs and row.value.scale is not None:
                found.setdefault(row.value.what, []).append(row)
        yield from found.items()


def table_head(names: Sequence[str]) -> str:
    return f"| what | {' | '.join(names)} | unit | better by |\n|---|---|---|---|---|"


def row_text(row: Row) -> str:
    what = row.value.what if row.value.scale is None else f"{row.value.what}: {row.value.scale:,}"
    ours, theirs = (f"{figure(median(each))}{_spread(each)}" for each in (row.ours, row.theirs))
    return f"| {what} | {ours} | {theirs} | {row.value.unit} | {row.ratio:.2f} |"


def table(measured: Measured, names: Sequence[str]) -> str:
    return "\n".join([table_head(names), *(row_text(row) for row in measured.cells)])


def growth_table(all_measured: Iterable[Measured], names: Sequence[str]) -> str:
    """Of each curve its points, and the exponent of the power that fits them."""
    lines = [f"| what | at | {' | '.join(names)} | unit | {' | '.join(f'exponent, {name}' for name in names)} |"]
    lines.append("|---|---|---|---|---|---|---|")
    for measured in all_measured:
        for what, rows in measured.curves:
            scales = [row.value.scale or 0 for row in rows]
            sides = [[median(row.ours) for row in rows], [median(row.theirs) for row in rows]]
            points = [", ".join(figure(each) for each in side) for side in sides]
            fitted = [f"{exponent(dict(zip(scales, side, strict=True))):.2f}" for side in sides]
            at = ", ".join(f"{scale:,}" for scale in scales)
            lines.append(f"| {what} | {at} | {' | '.join(points)} | {rows[0].value.unit} | {' | '.join(fitted)} |")
    return "\n".join(lines)


def mean_of(all_measured: Iterable[Measured]) -> float:
    return geometric_mean([row.ratio for measured in all_measured for row in measured.cells])


def named_below(all_measured: Iterable[Measured], bound: float = 1.0) -> list[str]:
    """The cells that are worse than the reference's, worst first."""
    below = [(row.ratio, measured, row) for measured in all_measured for row in measured.cells if row.ratio < bound]
    below.sort(key=lambda each: each[0])
    return [f"{measured.family.name}, {row.value.what}: {ratio:.2f}" for ratio, measured, row in below]


def figure(number: float) -> str:
    """Three digits at least, and all of those before the point."""
    digits = 0 if number >= 100 else 1 if number >= 10 else 2 if number >= 1 else 3
    return f"{number:,.{digits}f}"


def _spread(figures: Sequence[float]) -> str:
    """Nothing where there was one round."""
    return f" ±{spread(figures) / 2:.0%}" if len(figures) > 1 else ""
