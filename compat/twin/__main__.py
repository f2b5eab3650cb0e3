"""`python -m compat.twin`: every scenario at every version that both brokers advertise, and what differs."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from compat.brokers import BARNABAS, KAFKA, running, small
from compat.twin.known import Known, read_known
from compat.twin.scenario import Scenario, all_scenarios
from compat.twin.twins import Difference, Side, Twins
from compat.wire.codec import MalformedAnswerError
from compat.wire.connection import Connection
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

    with tempfile.TemporaryDirectory(prefix="twin-") as root:
        # Records of long ago stay: how soon retention comes to them is not asked here.
        config = small(log_dirs="{directory}/data,{directory}/other", group_max_size="4", log_retention_ms="-1")
        with (
            running(options.reference, Path(root, "reference"), config) as reference,
            running(options.broker, Path(root, "other"), config) as other,
        ):
            one, two = (Side(each.name, each.host, each.port) for each in (reference, other))
            twins = Twins(one, two, is_known)
            twins.wake_coordinators()
            runs = run_all(twins, [each for each in all_scenarios() if fnmatchcase(each.name, options.only)])
            twins.close()
    news = [each for each in twins.differences if not is_known(each)]
    gone = [] if options.only != "*" else without_use(known, twins.differences)
    if options.json:
        print(json.dumps(summary(runs, twins, news, gone)))
    else:
        report(runs, twins, news, gone, time.perf_counter() - began)
    return 1 if news or gone or not runs else 0


def run_all(twins: Twins, scenarios: Sequence[Scenario]) -> Counter[str]:
    """How many versions of each scenario ran."""
    runs: Counter[str] = Counter()
    spoken = [advertised(side) for side in twins.sides]
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


def advertised(side: Side) -> dict[int, tuple[int, int]]:
    with Connection(side.host, side.port) as connection:
        answer = connection.ask("ApiVersions", 3, ClientSoftwareName="twin", ClientSoftwareVersion="1")
    return {each["ApiKey"]: (each["MinVersion"], each["MaxVersion"]) for each in answer["ApiKeys"]}


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


def summary(runs: Counter[str], twins: Twins, news: Sequence[Difference], gone: Sequence[Known]) -> dict[str, object]:
    return {
        "scenarios": len(runs),
        "scenario_versions": sum(runs.values()),
        "answers_compared": twins.comparisons,
        "known_differences": len(twins.differences) - len(news),
        "new_differences": told_once(news),
        "known_and_gone": [f"{each.scenario} {each.api} {each.place}" for each in gone],
    }


def report(runs: Counter[str], twins: Twins, news: Sequence[Difference], gone: Sequence[Known], took_s: float) -> None:
    for text in told_once(news):
        print(text)
    for entry in gone:
        print(f"known, and gone: it has to leave known.toml: {entry}")
    print(
        f"{len(runs)} scenarios, {sum(runs.values())} with their versions, {twins.comparisons} answers compared in"
        f" {took_s:.0f} s: {len(news)} differences, {len(twins.differences) - len(news)} known"
    )


if __name__ == "__main__":
    sys.exit(main())
