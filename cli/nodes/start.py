"""`barnabas start --nodes N`, from what the command line says to a clean stop of all nodes."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import trio

from barnabas.broker.event_log import Event, EventLog, Level
from barnabas.cli.ephemeral import ID_KEYS, without_places
from barnabas.cli.failures import FAILED, WRONG_USAGE
from barnabas.cli.nodes.cluster import NodeCluster
from barnabas.cli.nodes.plan import CannotPlan, PlannedNode, plan, write_properties
from barnabas.cli.ready_file import CannotWrite, ReadyFile
from barnabas.cli.told_to_stop import Words, heed_signals, stop_with
from barnabas.cli.version import VERSION

__all__ = ["run_nodes"]

DEFAULT_DATA = "./barnabas-data"
DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 9092
_WORDS = Words("these nodes", "the nodes stop, the controller last")

_FOR_TESTS = {"group.initial.rebalance.delay.ms": "0"}
"""As for a node alone: Kafka waits three seconds for the members of a large deployment."""


def run_nodes(
    arguments: argparse.Namespace, file: Mapping[str, str], settings: Mapping[str, str], parent: int | None
) -> int:
    log = EventLog(sys.stdout, as_json=arguments.json)
    given = {**_FOR_TESTS, **without_places(file), **settings}
    for name in ID_KEYS:
        given.pop(name, None)
    try:
        with _data(arguments) as data, ReadyFile(arguments.ready_file or data / "ready.json") as ready_file:
            if arguments.ephemeral:
                given.setdefault("barnabas.durability", "memory")
            host, port = _place(arguments)
            planned = plan(arguments.nodes, host, port, data)
            for node in planned:
                write_properties(node, given)
            return trio.run(_serve, planned, log, arguments.json, ready_file, parent)
    except CannotPlan as error:
        return _fail(str(error), WRONG_USAGE)
    except CannotWrite as error:
        return _fail(str(error))
    except OSError as error:
        return _fail(f"{error.filename or 'A file'} cannot be written: {error.strerror}.")


@contextmanager
def _data(arguments: argparse.Namespace) -> Iterator[Path]:
    if arguments.ephemeral:
        with tempfile.TemporaryDirectory(prefix="barnabas-", ignore_cleanup_errors=True) as directory:
            yield Path(directory)
        return
    data = Path(arguments.data or DEFAULT_DATA)
    data.mkdir(parents=True, exist_ok=True)
    yield data


def _place(arguments: argparse.Namespace) -> tuple[str, int]:
    if arguments.listen is None:
        return DEFAULT_HOST, 0 if arguments.ephemeral else DEFAULT_PORT
    host, _, port = arguments.listen.rpartition(":")
    if not host.strip("[]"):
        raise CannotPlan(
            f"--listen {arguments.listen} names no host: nodes have to find each other, write --listen HOST:PORT."
        )
    return host.strip("[]"), int(port)


async def _serve(
    planned: list[PlannedNode], log: EventLog, as_json: bool, ready_file: ReadyFile, parent: int | None
) -> int:
    cluster = NodeCluster(planned, log)
    async with trio.open_nursery() as nursery:
        await nursery.start(heed_signals, cluster, _WORDS, log, cluster.end_at_once)
        if parent is not None:
            nursery.start_soon(stop_with, parent, cluster, _WORDS, log)
        nursery.start_soon(_tell_when_ready, cluster, log, as_json, ready_file)
        await cluster.run()
        log("all nodes have stopped")
        nursery.cancel_scope.cancel()
    return _fail(cluster.failure) if cluster.failure is not None else 0


async def _tell_when_ready(cluster: NodeCluster, log: EventLog, as_json: bool, ready_file: ReadyFile) -> None:
    await cluster.is_ready.wait()
    if cluster.is_stopping:
        return
    facts = _facts(cluster)
    ready_file.write(facts)
    log(_banner(cluster, facts, as_json=as_json))


def _facts(cluster: NodeCluster) -> dict[str, object]:
    children = cluster.children
    return {
        "bootstrap_servers": ",".join(child.planned.address for child in children),
        "cluster_id": children[0].ready["cluster_id"],
        "nodes": [
            {"node_id": child.planned.id, "address": child.planned.address, "pid": child.pid} for child in children
        ],
    }


def _banner(cluster: NodeCluster, facts: Mapping[str, object], *, as_json: bool) -> str:
    text = f"Barnabas {VERSION} is ready with {len(cluster.children)} nodes"
    if as_json:
        return Event(text, Level.INFO, event="ready", version=VERSION, **facts)
    controller = cluster.children[0].planned
    rows = [
        ("bootstrap", facts["bootstrap_servers"]),
        ("cluster", f"{facts['cluster_id']}, its controller at localhost:{controller.controller_port}"),
        ("data", f"{controller.directory.parent}, durability {cluster.children[0].ready['durability']}"),
        *(
            (f"node {child.planned.id}", f"{child.planned.address}, process {child.pid}, {child.planned.file.name}")
            for child in cluster.children
        ),
    ]
    return text + "\n" + "\n".join(f"{name:<12}{value}" for name, value in rows)


def _fail(problem: str, code: int = FAILED) -> int:
    print(f"barnabas: {problem}", file=sys.stderr)  # noqa: T201 - what a command is for
    return code
