"""`python -m compat.twin`: every scenario at every version that both brokers advertise, and what differs."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from compat.brokers import BARNABAS, KAFKA, running, small
from compat.twin.known import Known, read_known
from compat.twin.scenario import Scenario, all_scenarios
from compat.twin.twins import Difference, Side, Twins
from compat.wire.codec import MalformedAnswerError
from compat.wire.connection import advertised
from compat.wire.schemas import apis

ASKED = 900


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m compat.twin", description=__doc__)
    parser.add_argument("--broker", default=BARNABAS, help="what is tested: NAME=COMMAND or NAME=HOST:PORT")
    parser.add_argument("--reference", default=KAFKA, help="what is right")
    parser.add_argument("--only", metavar="PATTERN", default="*", help="scenarios by name, as `produce.*`")
    parser.add_argument("--json", action="store_true", help="one object with all that came out")
    options = parser.parse_args(arguments)
    # Whoever ends it wants the brokers ended, too.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    began = time.perf_counter()
    known = read_known()

    def is_known(difference: Difference) -> bool:
        return any(entry.fits(difference) for entry in known)

    results = Results()
    for settings, scenarios in by_settings(each for each in all_scenarios() if fnmatchcase(each.name, options.only)):
        with two_brokers(options.reference, options.broker, settings) as sides:
            twins = Twins(*sides, is_known)
            twins.wake_coordinators()
            results.runs += run_all(twins, scenarios)
            twins.close()
        results.differences += twins.differences
        results.comparisons += twins.comparisons
    news = [each for each in results.differences if not is_known(each)]
    gone = [] if options.only != "*" else without_use(known, results.differences)
    if options.json:
        print(json.dumps(summary(results, news, gone)))
    else:
        report(results, news, gone, time.perf_counter() - began)
    return 1 if news or gone or not results.runs else 0


@dataclass(slots=True)
class Results:
    runs: Counter[str] = field(default_factory=Counter)
    """How many versions of each scenario ran."""
    differences: list[Difference] = field(default_factory=list)
    comparisons: int = 0


def by_settings(scenarios: Iterable[Scenario]) -> list[tuple[dict[str, str], list[Scenario]]]:
    several: dict[frozenset[tuple[str, str]], list[Scenario]] = {}
    for each in scenarios:
        several.setdefault(each.settings, []).append(each)
    return [(dict(settings), those) for settings, those in several.items()]


@contextmanager
def two_brokers(reference: str, other: str, settings: dict[str, str]) -> Iterator[tuple[Side, Side]]:
    # Records of long ago stay: how soon retention comes to them is not asked here.
    config = small(log_dirs="{directory}/data,{directory}/other", group_max_size="4", log_retention_ms="-1") | settings
    with (
        tempfile.TemporaryDirectory(prefix="twin-") as root,
        running(reference, Path(root, "reference"), config) as one,
        running(other, Path(root, "other"), config) as two,
    ):
        yield Side(one.name, one.host, one.port), Side(two.name, two.host, two.port)


def run_all(twins: Twins, scenarios: Sequence[Scenario]) -> Counter[str]:
    runs: Counter[str] = Counter()
    spoken = [advertised(side.host, side.port) for side in twins.sides]
    for each in scenarios:
        key = apis()[each.api].key
        if not all(key in versions for versions in spoken):
            continue
        first = max(each.first, *(versions[key][0] for versions in spoken))
        last = min(each.last, *(versions[key][1] for versions in spoken))
        for version in range(first, last + 1):
            run(twins, each, version)
            runs[each.name] += 1
    return runs


def run(twins: Twins, scenario: Scenario, version: int) -> None:
    twins.begin(scenario.name, scenario.api, version)
    try:
        scenario.function(twins)
    except (AssertionError, LookupError, MalformedAnswerError) as error:
        twins.give_up(error)


def without_use(known: Sequence[Known], found: Sequence[Difference]) -> list[Known]:
    return [entry for entry in known if not any(entry.fits(each) for each in found)]


def told_once(found: Sequence[Difference]) -> list[str]:
    """What several versions show is one line."""
    versions: dict[tuple[str, str], list[Difference]] = {}
    for each in found:
        versions.setdefault((each.scenario, each.what), []).append(each)
    return [
        f"{scenario} v{min(each.version for each in same)}-{max(each.version for each in same)}: {what}"
        f"\n    asked {same[0].asked}"[:ASKED]
        for (scenario, what), same in versions.items()
    ]


def summary(results: Results, news: Sequence[Difference], gone: Sequence[Known]) -> dict[str, object]:
    return {
        "scenarios": len(results.runs),
        "scenario_versions": results.runs.total(),
        "answers_compared": results.comparisons,
        "known_differences": len(results.differences) - len(news),
        "new_differences": told_once(news),
        "known_and_gone": [f"{each.scenario} {each.api} {each.place}" for each in gone],
    }


def report(results: Results, news: Sequence[Difference], gone: Sequence[Known], took_s: float) -> None:
    for text in told_once(news):
        print(text)
    for entry in gone:
        print(f"known, and gone: it has to leave known.toml: {entry}")
    print(
        f"{len(results.runs)} scenarios, {results.runs.total()} with their versions, {results.comparisons} answers"
        f" compared in {took_s:.0f} s: {len(news)} differences, {len(results.differences) - len(news)} known"
    )


if __name__ == "__main__":
    sys.exit(main())
