"""The card: client by feature, what passed, and what passed on Apache Kafka."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from compat.client import Client, ClientRun
from compat.tap import FEATURES, Result

__all__ = ["cell", "markdown", "problems", "totals"]

NOTHING = "·"


def cell(feature: str, ours: ClientRun, reference: ClientRun) -> str:
    """`12` where all passed, `11 of 12` where not, and Kafka's own where it is another. What the broker does not
    advertise is counted beside that."""
    mine, kafkas = _share(feature, ours), _share(feature, reference)
    return mine if mine == kafkas else f"{mine} (Kafka: {kafkas})"


def _share(feature: str, run: ClientRun) -> str:
    passed, failed = run.count(feature, Result.PASSED), run.count(feature, Result.FAILED)
    absent = run.count(feature, Result.UNADVERTISED)
    if not passed + failed:
        return Result.UNADVERTISED.value if absent else NOTHING
    share = f"{passed} of {passed + failed}" if failed else str(passed)
    return f"{share}, {absent} {Result.UNADVERTISED.value}" if absent else share


def totals(runs: Mapping[Client, tuple[ClientRun, ClientRun]]) -> str:
    """Of what passes on Kafka: how much does on the other, and why the rest does not."""
    here = Counter(
        ours.result(name)
        for ours, reference in runs.values()
        for name, check in reference.checks.items()
        if check.result is Result.PASSED
    )
    passed, absent = here[Result.PASSED], here[Result.UNADVERTISED]
    return (
        f"Of {here.total()} checks that pass on Apache Kafka {passed} pass on Barnabas, {absent} are about what it does"
        f" not advertise, and {here.total() - passed - absent} fail."
    )


def problems(client: Client, run: ClientRun, reference: ClientRun, *, quick: bool) -> list[str]:
    """What makes a run fail: the list of what has to pass, and what the reference can, held against what did pass."""
    found = [f"{client.name}: {run.trouble}"] if run.trouble else []
    for name in client.allowed:
        check = run.checks.get(name)
        if check is not None and check.result in (Result.FAILED, Result.UNADVERTISED):
            found.append(f"{client.name}: failed: {name}: {check.why}")
        elif not quick and (check is None or check.result is Result.SKIPPED):
            found.append(f"{client.name}: has to pass and was not tried: {name}")
    for name, check in run.checks.items():
        if name in client.allowed:
            continue
        if check.result is Result.FAILED and reference.result(name) is Result.PASSED:
            found.append(f"{client.name}: fails, and passes on the reference: {name}: {check.why}")
        if check.result is Result.PASSED:
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
