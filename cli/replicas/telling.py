"""How a comparison of replicas ended: a table or the differences alone, and a sentence about all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from barnabas.cli.output import Output
from barnabas.cli.replicas.checked import Checked, difference_sentence
from barnabas.cli.units import counted, size_text

__all__ = ["NOT_WHOLE", "tell"]

NOT_WHOLE = 1
"""The exit code when replicas differ, or not all could be compared."""
_MOST_NAMED = 5


def tell(checked: Sequence[Checked], who: str, seconds: float, output: Output, *, verbose: bool) -> int:
    different = [each for each in checked if each.difference is not None]
    unfinished = [each for each in checked if each.difference is None and not each.is_whole]
    if output.as_json:
        output.json(_json(checked, different, unfinished))
        return NOT_WHOLE if different or unfinished else 0
    if verbose:
        output.table(
            ("partition", "replicas", "from", "to", "batches", "size", "result"), [_row(one) for one in checked]
        )
    for each in different:
        assert each.difference is not None
        output.line(output.bad(difference_sentence(each.partition, each.difference, who) + "."))
    for line in _obstacles(unfinished, who):
        output.line(output.warn(line))
    for each in checked:
        if each.tails and each.difference is None:
            tails = ", ".join(f"{who} {replica} has {count} more" for replica, count in sorted(each.tails.items()))
            output.line(f"{each.partition} is compared up to offset {each.next_offset}; {tails}, not replicated yet.")
    output.line(_summary(checked, different, unfinished, seconds))
    return NOT_WHOLE if different or unfinished else 0


def _row(checked: Checked) -> list[object]:
    result = "equal" if checked.is_whole else "differs" if checked.difference is not None else "not compared"
    if checked.thinned:
        result += f", {checked.thinned} compacted away on some"
    ids = ",".join(map(str, checked.replicas))
    return [
        str(checked.partition),
        ids,
        checked.first_offset,
        checked.next_offset,
        checked.batches,
        size_text(checked.size),
        result,
    ]


def _obstacles(unfinished: Sequence[Checked], who: str) -> list[str]:
    """One broker that is away is one sentence, of however many partitions."""
    found: dict[str, list[str]] = {}
    for each in unfinished:
        for replica, why in sorted((each.absent | each.waits).items()):
            found.setdefault(f"{who} {replica}: {why.rstrip('.')}", []).append(str(each.partition))
        if not each.absent and not each.waits:
            behind = sorted(replica for replica, end in each.high_watermarks.items() if end <= each.next_offset)
            what = f"{who} {', '.join(map(str, behind))}: nothing to be seen from offset {each.next_offset} on"
            found.setdefault(f"{what}, where {each.end_offset} is the end", []).append(str(each.partition))
    return [f"Not compared as a whole: {_some(names)} ({why})." for why, names in found.items()]


def _some(names: Sequence[str]) -> str:
    more = f", and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"{', '.join(names[:_MOST_NAMED])}{more}"


def _summary(
    checked: Sequence[Checked], different: Sequence[Checked], unfinished: Sequence[Checked], seconds: float
) -> str:
    equal = [each for each in checked if each.is_whole]
    replicas = sum(len(each.replicas) for each in equal)
    size = sum(each.size for each in checked)
    rate = size_text(size / seconds) if seconds > 0 else "-"
    parts = [f"{counted(len(equal), 'partition')} with {counted(replicas, 'replica')} equal"]
    parts += [f"{len(different)} different"] if different else []
    parts += [f"{len(unfinished)} not compared as a whole"] if unfinished else []
    worst = max(checked, key=lambda each: each.lag)
    lag = f"the largest lag is {worst.lag} ({worst.partition})" if worst.lag else "nothing lags"
    offsets = sum(each.next_offset - each.first_offset for each in checked)
    return (
        f"{', '.join(parts)}; {offsets:,} offsets in {sum(each.batches for each in checked):,} batches, "
        f"{size_text(size)} ({rate} a second); {lag}."
    )


def _json(checked: Sequence[Checked], different: Sequence[Checked], unfinished: Sequence[Checked]) -> dict[str, Any]:
    worst = max(checked, key=lambda each: each.lag)
    return {
        "equal": len(checked) - len(different) - len(unfinished),
        "different": len(different),
        "not_compared": len(unfinished),
        "max_lag": {"topic": worst.partition.topic, "partition": worst.partition.number, "lag": worst.lag},
        "partitions": [each.as_json() for each in checked],
    }
