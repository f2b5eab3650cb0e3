"""The text that Prometheus reads: format 0.0.4, as every version of it understands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

__all__ = ["COUNTER", "GAUGE", "Metric", "exposed", "one"]

COUNTER, GAUGE = "counter", "gauge"


class Metric(NamedTuple):
    name: str
    kind: str
    help: str
    values: Sequence[tuple[Mapping[str, str], float]]
    """With their labels, of which there may only be as many as there are nodes."""


def one(name: str, kind: str, help_text: str, value: float) -> Metric:
    """Without labels."""
    return Metric(name, kind, help_text, [({}, value)])


def exposed(metrics: Iterable[Metric]) -> bytes:
    lines = []
    for metric in metrics:
        lines.append(f"# HELP {metric.name} {metric.help}\n# TYPE {metric.name} {metric.kind}\n")
        lines += [f"{metric.name}{_labels(labels)} {_number(value)}\n" for labels, value in metric.values]
    return "".join(lines).encode()


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
