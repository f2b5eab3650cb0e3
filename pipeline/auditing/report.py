"""One page of HTML that shows what an audit found: no script, nothing from a network, in light and in dark."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path

from barnabas.pipeline.auditing.comparing import Minute
from barnabas.pipeline.auditing.drawing import WIDE, Line, bars, columns, grid, legend, lines, step_of
from barnabas.pipeline.auditing.results import Audit, Delays, Feed, Highlights, percent
from barnabas.pipeline.minutes import minute_shown

__all__ = ["page"]

_STYLE = Path(__file__).with_name("report.css")
_MOST_STEPS = 150
_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 360, 720, 1_440, 10_080)
_MOST_SERVICES = 6
_MOST_FINDINGS = 200
_LATENESS = ("≤ 1 s", "≤ 10 s", "≤ 1 min", "≤ 10 min", "≤ 1 h", "≤ 6 h", "≤ 1 day", "more")


def page(found: Audit, shown: Highlights) -> str:
    times = _Times([one.minute for one in found.minutes])
    parts = [_head(found), _figures(found)]
    if found.minutes:
        parts += [_volume(found, times), _states(found, times)]
    parts += [_problems(found), _topics(found)]
    if found.delays:
        parts += [_lateness(found.delays), _lag(found.delays, shown, times)]
    for feed in shown.feeds:
        parts.append(_top(feed) if feed.top else _rates(feed, times))
    parts.append(_notes(found))
    body = "\n".join(parts)
    title = "complete" if found.is_complete else "incomplete"
    style = _STYLE.read_text()
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Pipeline audit: {title}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{style}</style></head>'
        f"<body><main>\n{body}\n</main></body></html>\n"
    )


class _Times:
    """Minutes put together, so that a picture has no more steps than can be seen."""

    def __init__(self, minutes: Sequence[int]) -> None:
        first, last = min(minutes, default=0), max(minutes, default=0)
        self.step = step_of(last - first, _MOST_STEPS, _STEPS)
        self._first, self._last = first, last
        self.starts = list(range(self.of(first), self.of(last) + 1, self.step))

    def of(self, minute: int) -> int:
        return minute // self.step * self.step

    def minutes_of(self, start: int) -> int:
        """How many minutes of a step there are: of the first and the last there may be fewer."""
        return min(start + self.step - 1, self._last) - max(start, self._first) + 1

    @property
    def shown(self) -> str:
        if self.step == 1:
            return "1 minute"
        for name, minutes in (("day", 1_440), ("hour", 60)):
            if self.step % minutes == 0:
                count = self.step // minutes
                return f"1 {name}" if count == 1 else f"{count} {name}s"
        return f"{self.step} minutes"


def _head(found: Audit) -> str:
    verdict = "good" if found.is_complete else "bad"
    since = found.since if found.since is not None else min((one.minute for one in found.minutes), default=found.until)
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S")
    return (
        f'<header><h1>Pipeline audit</h1><p class="verdict {verdict}">{escape(found.sentence)}</p>'
        f'<p class="dim">Records written from {minute_shown(since)} to {minute_shown(found.until)}, UTC. '
        f"Audited {made}.</p></header>"
    )


def _figures(found: Audit) -> str:
    landed = sum(one.landed for one in found.totals)
    expected = sum(one.expected for one in found.totals)
    missing = sum(one.short + one.missing + one.undecoded for one in found.totals)
    figures = (
        (_number(landed), "records in the lake", ""),
        (percent(landed / expected if expected else 1.0), "complete", "good" if found.is_complete else "bad"),
        (_number(missing), "missing", "bad" if missing else ""),
        (
            _number(duplicates := sum(one.duplicates for one in found.totals)),
            "once too often",
            "bad" if duplicates else "",
        ),
        (_number(sum(one.quarantined for one in found.totals)), "quarantined", ""),
        (_number(sum(one.waiting for one in found.totals)), "not landed yet", ""),
    )
    tiles = "".join(
        f'<div class="tile"><b class="{style}">{value}</b><span>{name}</span></div>' for value, name, style in figures
    )
    return f'<section class="tiles">{tiles}</section>'


def _volume(found: Audit, times: _Times) -> str:
    sums: dict[str, dict[int, int]] = {tier: defaultdict(int) for tier in ("produced", "known", "landed")}
    for one in found.minutes:
        at = times.of(one.minute)
        sums["produced"][at] += one.produced or 0
        sums["known"][at] += one.known
        sums["landed"][at] += one.landed

    def line(tier: str) -> list[float | None]:
        return [sums[tier].get(at, 0) / times.minutes_of(at) for at in times.starts]

    drawn = [Line("broker", line("known"), "area s0"), Line("lake", line("landed"), "s1")]
    if any(one.produced is not None for one in found.minutes):
        drawn.append(Line("producers", line("produced"), "dashed s3"))
    keys = legend([(line.name, line.style) for line in drawn])
    about = f"In steps of {times.shown}. Where the lines are one, nothing is missing."
    picture = lines(times.starts, times.step, drawn, _short, WIDE)
    return _section("Records per minute and tier", about, keys + picture, whole=True)


def _states(found: Audit, times: _Times) -> str:
    by_topic: dict[str, dict[int, list[Minute]]] = defaultdict(lambda: defaultdict(list))
    for one in found.minutes:
        by_topic[one.topic][times.of(one.minute)].append(one)
    wrong = {(one.topic, times.of(one.minute)) for one in found.findings if one.minute is not None}
    rows = []
    for topic, cells in sorted(by_topic.items()):
        rows.append((topic, [_state(cells.get(at, []), (topic, at) in wrong) for at in times.starts]))
    keys = legend(
        [("all there, once", "good"), ("missing or twice", "bad"), ("not landed yet", "waits"), ("none", "idle")]
    )
    return _section(
        "Completeness per topic", f"In steps of {times.shown}.", keys + grid(times.starts, times.step, rows), whole=True
    )


def _state(minutes: Iterable[Minute], is_wrong: bool) -> tuple[str, str]:
    there = list(minutes)
    known, landed = sum(one.known for one in there), sum(one.landed for one in there)
    waiting = sum(one.waiting for one in there)
    counted = [one.produced for one in there if one.produced is not None]
    told = f"broker {known:,}, lake {landed:,}" + (f", waiting {waiting:,}" if waiting else "")
    if counted:
        told = f"producers {sum(counted):,}, {told}"
    if is_wrong:
        return "bad", told
    if not known and not any(counted):
        return "idle", "no records"
    return ("waits" if waiting else "good"), told


def _problems(found: Audit) -> str:
    if found.is_complete:
        return ""
    rows = [
        (one.topic, "" if one.minute is None else minute_shown(one.minute), one.tier, one.what)
        for one in found.findings
    ]
    more = f"<p>and {len(rows) - _MOST_FINDINGS:,} more</p>" if len(rows) > _MOST_FINDINGS else ""
    table = _table(("topic", "minute", "tier", "what"), rows[:_MOST_FINDINGS])
    return _section("Missing, or there twice", "", f'<div class="words">{table}{more}</div>', whole=True)


def _topics(found: Audit) -> str:
    headers = (
        "topic",
        "producers",
        "broker",
        "lake",
        "quarantined",
        "missing",
        "once too often",
        "waiting",
        "in the broker",
        "in the lake",
        "in tables",
    )
    rows = [
        (
            one.topic,
            "-" if one.produced is None else _number(one.produced),
            *map(
                _number, (one.broker, one.landed, one.quarantined, one.short + one.missing, one.duplicates, one.waiting)
            ),
            *map(percent, (one.in_broker, one.in_lake, one.in_tables)),
        )
        for one in found.totals
    ]
    about = (
        "Shares of what was acknowledged or is known otherwise; in tables: of what is in the lake, what is decoded or "
        "quarantined."
    )
    return _section("Topics", about, _table(headers, rows), whole=True)


def _lateness(delays: Sequence[Delays]) -> str:
    drawn = [
        Line(one.topic, [float(count) for count in one.lateness], f"s{number % 6}") for number, one in enumerate(delays)
    ]
    keys = legend([(line.name, line.style) for line in drawn])
    picture = columns(_LATENESS, drawn, _short)
    rows = [(one.topic, *map(duration, one.late_ms)) for one in delays]
    about = "How long after it happened an event was written."
    return _section("Lateness", about, keys + picture + _table(("topic", "half", "99 of 100", "most"), rows))


def _lag(delays: Sequence[Delays], shown: Highlights, times: _Times) -> str:
    halves: dict[int, int] = {}
    most: dict[int, int] = {}
    for minute, (half, last) in shown.lag.items():
        at = times.of(minute)
        halves[at], most[at] = max(half, halves.get(at, 0)), max(last, most.get(at, 0))
    if not halves:
        return ""
    unit, name = _unit(max(most.values()))
    drawn = [
        Line("the last record", [most[at] / unit if at in most else None for at in times.starts], "area s0"),
        Line("half of the records", [halves[at] / unit if at in halves else None for at in times.starts], "s1"),
    ]
    keys = legend([(line.name, line.style) for line in drawn])
    about = f"How long after it was written a record was in the lake; in {name}."
    picture = lines(times.starts, times.step, drawn, lambda value: f"{value:,.3g}")
    rows = [(one.topic, *map(duration, one.landing_ms)) for one in delays]
    return _section("Lag", about, keys + picture + _table(("topic", "half", "99 of 100", "most"), rows))


def _top(feed: Feed) -> str:
    named = [(value, float(count), f"{count:,}") for value, count in feed.top]
    return _section(
        f"{_title(feed.name)}", f"The most frequent values of {feed.by} in {feed.source}.", bars(named, "s0")
    )


def _rates(feed: Feed, times: _Times) -> str:
    """In longer steps than the other pictures: a share of a handful says nothing."""
    coarse = _Times(times.starts)
    coarse.step = max(3 * times.step, 5)
    coarse.starts = sorted({coarse.of(at) for at in times.starts})
    calls = {value: sum(count for count, _ in each.values()) for value, each in feed.rates.items()}
    drawn = []
    chosen = sorted(sorted(calls, key=lambda value: -calls[value])[:_MOST_SERVICES])
    for number, value in enumerate(chosen):
        sums: dict[int, list[int]] = defaultdict(lambda: [0, 0])
        for minute, (count, failed) in feed.rates[value].items():
            sums[coarse.of(minute)][0] += count
            sums[coarse.of(minute)][1] += failed
        shares = [100 * sums[at][1] / sums[at][0] if sums[at][0] else None for at in coarse.starts]
        drawn.append(Line(value, shares, f"s{number}"))
    keys = legend([(line.name, line.style) for line in drawn])
    picture = lines(coarse.starts, coarse.step, drawn, lambda value: f"{value:.3g} %")
    about = f"The share of {feed.source} that failed, by {feed.by}, in steps of {coarse.shown}."
    return _section(_title(feed.name), about, keys + picture)


def _notes(found: Audit) -> str:
    said = found.remarks
    if not said:
        return ""
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in said)
    return _section("Notes", "", f"<ul>{items}</ul>", whole=True)


def _section(title: str, about: str, content: str, *, whole: bool = False) -> str:
    dim = f'<p class="dim">{escape(about)}</p>' if about else ""
    style = ' class="whole"' if whole else ""
    return f"<section{style}><h2>{escape(title)}</h2>{dim}{content}</section>"


def _table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in headers)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def duration(ms: int) -> str:
    if ms < 0:
        return f"-{duration(-ms)}"
    if ms < 1_000:
        return f"{ms} ms"
    unit, name = _unit(ms)
    return f"{ms / unit:.3g} {name}"


def _unit(ms: float) -> tuple[int, str]:
    for unit, name in ((86_400_000, "days"), (3_600_000, "hours"), (60_000, "minutes")):
        if ms >= 2 * unit:
            return unit, name
    return 1_000, "seconds"


def _number(value: float) -> str:
    return f"{value:,.0f}"


def _short(value: float) -> str:
    for unit, name in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if value >= 10 * unit or (value >= unit and value % (unit / 10) == 0):
            return f"{value / unit:,.4g}{name}"
    return f"{value:,.4g}"


def _title(name: str) -> str:
    return name.replace("-", " ").replace("_", " ").capitalize()
