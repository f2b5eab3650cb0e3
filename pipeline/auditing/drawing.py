"""Pictures as SVG, for a page of HTML: lines over time, bars, columns, and a grid of states. No library, no script.

Colours are classes (s0 to s5, good, bad, idle), which the page's style sheet knows, in light and in dark. What is under
the pointer says its figures by itself, as SVG's <title> does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from barnabas.pipeline.minutes import minute_shown

__all__ = ["WIDE", "Line", "bars", "columns", "grid", "legend", "lines", "step_of", "ticks"]

WIDE, NARROW = 1_100, 540
"""In pixels, where the page is as wide as it gets: so that text has the same size in all pictures."""
_HEIGHT = 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 14, 12, 30
_DOWN = _HEIGHT - _TOP - _BOTTOM
_APART = 64
"""So far from each other are times on an axis, at least."""
_HOUR, _DAY = 60, 1_440
_STEPS = (1, 2, 5, 10, 15, 30, _HOUR, 2 * _HOUR, 3 * _HOUR, 6 * _HOUR, 12 * _HOUR, _DAY, 2 * _DAY, 7 * _DAY, 28 * _DAY)
Show = Callable[[float], str]


@dataclass(frozen=True)
class Line:
    name: str
    values: Sequence[float | None]
    """None where there is nothing to show."""
    style: str
    """A class: s0 to s5, and perhaps area or dashed."""


def ticks(most: float, wanted: int = 4) -> list[float]:
    """Round numbers from nothing to at least `most`."""
    if most < 1e-9:  # so little is nothing
        return [0.0, 1.0]
    power = 10.0 ** math.floor(math.log10(most / wanted))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power * wanted >= most)
    return [step * number for number in range(math.ceil(most / step - 1e-9) + 1)]


def step_of(length: int, most: int, steps: Sequence[int]) -> int:
    """The shortest of these with which there are no more than so many; or many times the longest."""
    longest = steps[-1]
    return next((each for each in steps if length <= each * most), -(-length // (most * longest)) * longest)


def lines(minutes: Sequence[int], step: int, drawn: Sequence[Line], show: Show, width: int = NARROW) -> str:
    """`minutes` are where each value begins, `step` how long each is."""
    levels = ticks(max((value for line in drawn for value in line.values if value is not None), default=0))
    begin, end = minutes[0], minutes[-1] + step

    def x(minute: float) -> float:
        return _LEFT + (width - _LEFT - _RIGHT) * (minute - begin) / (end - begin)

    def y(value: float) -> float:
        return _TOP + _DOWN * (1 - value / levels[-1])

    parts = [_levels(levels, y, show, width), _times(begin, end, x, _TOP + _DOWN, width // _APART)]
    for line in drawn:
        points = [
            (x(at + step / 2), y(value)) for at, value in zip(minutes, line.values, strict=True) if value is not None
        ]
        parts.append(_drawn(line.style, points))
    for place, at in enumerate(minutes):
        told = [f"{line.name}: {show(value)}" for line in drawn if (value := line.values[place]) is not None]
        title = "\n".join([minute_shown(at), *told])
        parts.append(_rect("probe", x(at), _TOP, x(at + step) - x(at), _DOWN, title))
    return _svg(width, _HEIGHT, parts)


def _drawn(style: str, points: Sequence[tuple[float, float]]) -> str:
    if not points:
        return ""
    if len(points) == 1:
        return f'<circle class="dot {style}" cx="{points[0][0]:.1f}" cy="{points[0][1]:.1f}" r="3"/>'
    path = " ".join(f"{across:.1f},{down:.1f}" for across, down in points)
    line = f'<polyline class="line {style.replace("area", "")}" points="{path}"/>'
    if "area" not in style:
        return line
    bottom = _TOP + _DOWN
    around = f"{points[0][0]:.1f},{bottom} {path} {points[-1][0]:.1f},{bottom}"
    return f'<polygon class="{style}" points="{around}"/>{line}'


def _levels(levels: Sequence[float], y: Callable[[float], float], show: Show, width: int) -> str:
    parts = []
    for level in levels:
        at = y(level)
        parts.append(f'<line class="rule" x1="{_LEFT}" x2="{width - _RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>')
        parts.append(_text("tick end", _LEFT - 8, at + 4, show(level)))
    return "".join(parts)


def _times(begin: int, end: int, x: Callable[[float], float], bottom: float, most: int) -> str:
    """Times of the day, and the date where a day begins."""
    step = step_of(end - begin, most, _STEPS)
    parts = []
    first = -(-begin // step) * step
    for minute in range(first, end + 1, step):
        shown = minute_shown(minute)
        text = shown[5:10] if step >= _DAY or minute % _DAY == 0 else shown[-5:]
        parts.append(f'<line class="mark" x1="{x(minute):.1f}" x2="{x(minute):.1f}" y1="{bottom}" y2="{bottom + 4}"/>')
        parts.append(_text("tick middle", x(minute), bottom + 18, text))
    return "".join(parts)


def grid(minutes: Sequence[int], step: int, rows: Sequence[tuple[str, Sequence[tuple[str, str]]]]) -> str:
    """Of each row a name, and for each minute a class and what is said of it."""
    height = 20
    left = _LEFT + 76
    begin, end = minutes[0], minutes[-1] + step

    def x(minute: float) -> float:
        return left + (WIDE - left - _RIGHT) * (minute - begin) / (end - begin)

    parts = []
    for number, (name, cells) in enumerate(rows):
        top = number * (height + 6)
        parts.append(_text("name end", left - 10, top + 14, _shortened(name), name))
        for at, (style, told) in zip(minutes, cells, strict=True):
            width = max(0.6, x(at + step) - x(at) - 0.6)
            parts.append(_rect(f"cell {style}", x(at), top, width, height, f"{name}, {minute_shown(at)}\n{told}"))
    bottom = len(rows) * (height + 6)
    parts.append(_times(begin, end, x, bottom, WIDE // _APART))
    return _svg(WIDE, bottom + 24, parts)


def bars(named: Sequence[tuple[str, float, str]], style: str, most: float | None = None) -> str:
    """Of each a name, how long it is, and what is written behind it."""
    height, left, right = 24, 200, 64
    longest = most or max((value for _, value, _ in named), default=1) or 1
    parts = []
    for number, (name, value, told) in enumerate(named):
        top = number * height
        width = max(1.5, (NARROW - left - right) * value / longest)
        parts.append(_text("name end", left - 10, top + 16, _shortened(name, 30), name))
        parts.append(_rect(f"bar {style}", left, top + 4, width, height - 8, f"{name}: {told}"))
        parts.append(_text("tick", left + width + 8, top + 16, told))
    return _svg(NARROW, max(1, len(named)) * height, parts)


def columns(names: Sequence[str], drawn: Sequence[Line], show: Show) -> str:
    """Groups of columns beside each other, on a scale of powers of ten: one in a million can be seen."""
    most = max((value or 0 for line in drawn for value in line.values), default=0)
    powers = max(1, math.ceil(math.log10(max(most, 1) + 1e-9)))
    group = (NARROW - _LEFT - _RIGHT) / len(names)
    width = group * 0.78 / max(1, len(drawn))

    def y(value: float) -> float:
        height = 0.0 if value <= 0 else (math.log10(value) + 0.35) / (powers + 0.35)
        return _TOP + _DOWN * (1 - height)

    parts = [_levels([10.0**power for power in range(powers + 1)], y, show, NARROW)]
    bottom = _TOP + _DOWN
    parts.append(f'<line class="rule" x1="{_LEFT}" x2="{NARROW - _RIGHT}" y1="{bottom}" y2="{bottom}"/>')
    for place, name in enumerate(names):
        left = _LEFT + group * place
        parts.append(_text("tick middle", left + group / 2, bottom + 18, name))
        for number, line in enumerate(drawn):
            value = line.values[place] or 0
            if value:
                at, title = left + group * 0.11 + width * number, f"{line.name}, {name}: {show(value)}"
                parts.append(_rect(f"bar {line.style}", at, y(value), width - 1, bottom - y(value), title))
    return _svg(NARROW, _HEIGHT, parts)


def legend(named: Sequence[tuple[str, str]]) -> str:
    """Names and their classes."""
    items = "".join(f'<span class="key"><i class="{style}"></i>{escape(name)}</span>' for name, style in named)
    return f'<p class="legend">{items}</p>'


def _rect(style: str, left: float, top: float, width: float, height: float, title: str) -> str:
    place = f'x="{left:.2f}" y="{top:.2f}" width="{max(0.5, width):.2f}" height="{height:.2f}"'
    return f'<rect class="{style}" {place}><title>{escape(title)}</title></rect>'


def _text(style: str, x: float, y: float, text: str, title: str = "") -> str:
    told = f"<title>{escape(title)}</title>" if title else ""
    return f'<text class="{style}" x="{x:.1f}" y="{y:.1f}">{escape(text)}{told}</text>'


def _shortened(name: str, most: int = 16) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def _svg(width: int, height: float, parts: Sequence[str]) -> str:
    return f'<svg viewBox="0 0 {width} {height:g}" role="img">{"".join(parts)}</svg>'
