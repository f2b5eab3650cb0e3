"""The card: client by feature, what passed, and what passed on Apache Kafka."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compat.client import Client, ClientRun
from compat.tap import FEATURES, Result

__all__ = ["cell", "markdown", "problems"]

NOTHING = "·"


def cell(feature: str, ours: ClientRun, reference: ClientRun) -> str:
    """`12` where all passed, `11 of 12` where not, and Kafka's own where it is another."""
    mine, kafkas = _share(feature, ours), _share(feature, reference)
    return mine if mine == kafkas else f"{mine} (Kafka: {kafkas})"


def _share(feature: str, run: ClientRun) -> str:
    passed, failed = run.count(feature, Result.PASSED), run.count(feature, Result.FAILED)
    if not passed + failed:
        return NOTHING
    return f"{passed} of {passed + failed}" if failed else str(passed)


def problems(client: Client, run: ClientRun, *, quick: bool) -> list[str]:
    """What makes a run fail: the list of what has to pass, held against what did."""
    found = [f"{client.name}: {run.trouble}"] if run.trouble else []
    for name in client.allowed:
        check = run.checks.get(name)
        if check is not None and check.result is Result.FAILED:
            found.append(f"{client.name}: failed: {name}: {check.why}")
        elif not quick and (check is None or check.result is Result.SKIPPED):
            found.append(f"{client.name}: has to pass and was not tried: {name}")
    for name, check in run.checks.items():
        if check.result is Result.PASSED and name not in client.allowed:
            found.append(f"{client.name}: passes, and is not in tests.allow (--grow writes it there): {name}")
    return found


def markdown(runs: Mapping[Client, tuple[ClientRun, ClientRun]]) -> str:
    lines = [_row(["client", *FEATURES]), _row(["---"] * (len(FEATURES) + 1))]
    for client, (ours, reference) in runs.items():
        findings = f"[{client.title} {client.version}](../compat/clients/{client.name}/FINDINGS.md), {client.language}"
        lines.append(_row([findings, *(cell(feature, ours, reference) for feature in FEATURES)]))
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
