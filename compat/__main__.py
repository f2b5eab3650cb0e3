"""`python -m compat`: other people's clients on a broker under test and on Apache Kafka, and a card of what passed."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from compat.advertised import advertised_apis, told_apart
from compat.brokers import BARNABAS, KAFKA, running, small
from compat.card import markdown, problems
from compat.client import Client, ClientRun, clients
from compat.document import write_document
from compat.tap import Result

# Members that die are noticed within a second.
CONFIG = small(group_min_session_timeout_ms="500")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m compat", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the quick part of those clients that have one, as in CI")
    parser.add_argument("--client", action="append", help="only this one; may be given several times")
    parser.add_argument("--broker", default=BARNABAS, help="what is tested: NAME=COMMAND or NAME=HOST:PORT")
    parser.add_argument("--reference", default=KAFKA, help="what it is held against")
    parser.add_argument("--grow", action="store_true", help="add what passes to the lists of what has to pass")
    parser.add_argument("--write", action="store_true", help="write docs/COMPATIBILITY.md; it takes all clients, whole")
    options = parser.parse_args(arguments)
    # Whoever ends it wants the brokers ended, too.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    chosen = [each for each in clients() if _is_chosen(each, options)]
    if not chosen:
        parser.error(f"there is no such client; there are {', '.join(each.name for each in clients())}")
    if options.write and (options.quick or options.client):
        parser.error("--write wants all clients and all that they do: leave out --quick and --client")
    # All of them before any runs: what is missing is known at once.
    missing = [each for each in chosen if not each.install()]
    if missing and options.write:
        parser.error(f"--write wants all clients, and there is no {', '.join(each.name for each in missing)}")
    runs: dict[Client, tuple[ClientRun, ClientRun]] = {}
    for client in (each for each in chosen if each not in missing):
        ours, reference = (_run(client, broker, quick=options.quick) for broker in (options.broker, options.reference))
        runs[client] = told_apart(ours, reference), reference
        if options.grow:
            client.allow([name for name, check in ours.checks.items() if check.result is Result.PASSED])
    print(f"\n{markdown(runs)}\n")
    found = [each for client, both in runs.items() for each in problems(client, *both, quick=options.quick)]
    print(*found, sep="\n")
    if options.write:
        write_document(runs)
    passed = sum(each.result is Result.PASSED for ours, _ in runs.values() for each in ours.checks.values())
    print(f"compat: {passed} passed, {len(found)} failed")
    return 1 if found else 0


def _is_chosen(client: Client, options: argparse.Namespace) -> bool:
    if options.client:
        return client.name in options.client
    return client.quick or not options.quick


def _run(client: Client, broker: str, *, quick: bool) -> ClientRun:
    """On a fresh broker of its own."""
    log = _logs() / f"{client.name}-{broker.partition('=')[0].replace(' ', '-').lower()}.log"
    config = {**CONFIG, **client.config}
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="compat-") as root, running(broker, Path(root), config) as started:
        apis = advertised_apis(started.host, started.port)
        run = replace(client.run(started.bootstrap, log, quick=quick), apis=apis)
        said = "" if started.log is None else started.log.read_text(errors="replace")
        if "Traceback (most recent call last)" in said and not run.trouble:
            log.with_suffix(".broker").write_text(said)
            run = replace(run, trouble=f"the broker has failed, whatever the client made of it: {log.stem}.broker")
    results = [each.result for each in run.checks.values()]
    counts = ", ".join(f"{results.count(each)} {each.value}" for each in Result if each in results)
    print(f"{client.title} on {started.name}: {counts}, {time.perf_counter() - began:.0f} s {run.trouble}", flush=True)
    return run


def _logs() -> Path:
    directory = Path(__file__).resolve().parents[1] / ".cache" / "compat" / "logs"
    directory.mkdir(parents=True, exist_ok=True)
    return directory


if __name__ == "__main__":
    sys.exit(main())
