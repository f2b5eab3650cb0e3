"""`barnabas start`: a node, from what the command line says to a clean stop.

Without anything it is one node that is all: data in ./barnabas-data, clients at 127.0.0.1:9092.
"""

from __future__ import annotations

import argparse
import gc
import os
import re
import resource
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import trio

from barnabas.broker.configuration.node_config import NodeConfig
from barnabas.broker.configuration.properties_file import parse_setting, read_properties
from barnabas.broker.configuration.values import ConfigurationError
from barnabas.broker.event_log import Event, EventLog, Level
from barnabas.broker.node import Node
from barnabas.broker.start_problems import sentences
from barnabas.cli.banner import banner, what_clients_need
from barnabas.cli.ephemeral import (
    ANY_PORT,
    DIRECTORY_KEYS,
    ID_KEYS,
    PLACES,
    ephemeral_settings,
    without_places,
)
from barnabas.cli.failures import FAILED, WRONG_USAGE
from barnabas.cli.main import no_garbage_collection
from barnabas.cli.ready_file import CannotWrite, ReadyFile
from barnabas.cli.told_to_stop import Words, heed_signals, stop_with
from barnabas.cli.version import VERSION

__all__ = ["add_arguments", "allow_all_files", "run", "settings_from"]

_WORDS = Words("this broker", "the broker stops")
_ADDRESS = re.compile(r"(?:[^:/\s,]*|\[[0-9a-fA-F:.]+\]):\d{1,5}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--listen", metavar="HOST:PORT", help="where clients connect (127.0.0.1:9092); without HOST everywhere"
    )
    parser.add_argument("--data", metavar="DIR", help="where the partitions lie, log.dirs (./barnabas-data)")
    parser.add_argument("--config", metavar="FILE", type=Path, help="Kafka's server.properties")
    parser.add_argument(
        "--set",
        "--override",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="a key of Kafka's, over the file; any number",
    )
    parser.add_argument(
        "--nodes",
        metavar="N",
        type=int,
        help="a cluster on this machine: N brokers in N processes, for tests of failover",
    )
    parser.add_argument(
        "--ephemeral",
        action="store_true",
        help="for tests: in memory, on a free port of 127.0.0.1; it ends with the process that started it",
    )
    parser.add_argument(
        "--ready-file",
        metavar="FILE",
        type=Path,
        help="written once the broker is ready, as JSON with bootstrap_servers, pid and cluster_id; removed at its end",
    )
    # For whoever starts nodes and must not leave them behind: the broker stops when that process is its parent no more.
    parser.add_argument("--ends-with", metavar="PID", type=int, help=argparse.SUPPRESS)
    parser.add_argument(
        "--json", action="store_true", help="the log, and what is said when it is ready, as lines of JSON"
    )


def allow_all_files() -> None:
    """As many connections and segments as this user may have at all: the usual limit of 1,024 is for programs that use
    select(), which this one does not."""
    allowed, possible = resource.getrlimit(resource.RLIMIT_NOFILE)
    if allowed != possible:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (possible, possible))


def run(arguments: argparse.Namespace) -> int:
    parent = os.getppid()
    if arguments.listen is not None and not _ADDRESS.fullmatch(arguments.listen):
        return _fail([f"--listen {arguments.listen} is no address: write --listen HOST:PORT."], WRONG_USAGE)
    try:
        settings = dict(map(parse_setting, arguments.set))
    except ConfigurationError as error:
        return _fail(error.problems, WRONG_USAGE)
    if arguments.ephemeral and (arguments.data is not None or settings.keys() & DIRECTORY_KEYS):
        return _fail(["--ephemeral keeps no data: leave away the directory, or --ephemeral."], WRONG_USAGE)
    if arguments.nodes is not None:
        return _run_nodes(arguments, settings, parent)
    with ExitStack() as until_the_end:
        try:
            ready_file = until_the_end.enter_context(ReadyFile(arguments.ready_file)) if arguments.ready_file else None
            config = until_the_end.enter_context(_configured(arguments, settings))
        except (CannotWrite, ConfigurationError) as error:
            return _fail(error.problems if isinstance(error, ConfigurationError) else [str(error)])
        log = EventLog(sys.stdout, as_json=config.barnabas_logging_format == "json")
        for notice in config.notices:
            log(Event(notice.text, Level.WARNING if notice.warning else Level.INFO))
        allow_all_files()
        try:
            trio.run(_serve, config, log, ready_file, parent if arguments.ephemeral else arguments.ends_with)
        except BaseException as error:
            problems = list(sentences(error))
            if not problems:
                raise
            return _fail(problems)
        finally:
            _let_go_of_output()
    return 0


def _run_nodes(arguments: argparse.Namespace, settings: Mapping[str, str], parent: int) -> int:
    from barnabas.cli.nodes.start import run_nodes

    if taken := settings.keys() & (PLACES | ID_KEYS):
        return _fail([f"--nodes gives every node its own {', '.join(sorted(taken))}: leave that away."], WRONG_USAGE)
    try:
        file = read_properties(arguments.config) if arguments.config is not None else {}
    except ConfigurationError as error:
        return _fail(error.problems)
    return run_nodes(arguments, file, settings, parent if arguments.ephemeral else None)


@contextmanager
def _configured(arguments: argparse.Namespace, settings: Mapping[str, str]) -> Iterator[NodeConfig]:
    """ConfigurationError with all that is wrong."""
    file = read_properties(arguments.config) if arguments.config is not None else {}
    if not arguments.ephemeral:
        given = {**file, **settings}
        yield NodeConfig.load(
            file, {**settings_from(arguments.listen, arguments.data, given, arguments.json), **settings}
        )
        return
    file = without_places(file)
    given = {**file, **settings}
    with ephemeral_settings(given) as places:
        options = settings_from(arguments.listen or ANY_PORT, None, given, arguments.json)
        yield NodeConfig.load(file, {**options, **places, **settings})


def settings_from(
    listen: str | None, data: str | None, given: Mapping[str, str], as_json: bool = False
) -> dict[str, str]:
    """What these options mean, over what else is given."""
    settings = {"barnabas.logging.format": "json"} if as_json else {}
    if data is not None:
        settings["log.dirs"] = data
    if listen is not None:
        settings["listeners"] = ",".join(_listeners(listen, given))
    return settings


def _listeners(address: str, given: Mapping[str, str]) -> Iterator[str]:
    """The listener of clients moves there; those of the controller, if a file has them, stay where they are."""
    controllers = {name.strip().upper() for name in given.get("controller.listener.names", "").split(",")}
    listeners = [each.strip() for each in given.get("listeners", "").split(",") if each.strip()]
    own = [each for each in listeners if each.partition(":")[0].upper() not in controllers]
    name = own[0].partition(":")[0] if len(own) == 1 else "PLAINTEXT"
    yield f"{name}://{address}"
    yield from (each for each in listeners if each not in own)


async def _serve(config: NodeConfig, log: EventLog, ready_file: ReadyFile | None, parent: int | None) -> None:
    node = Node(config, report=log)
    async with trio.open_nursery() as nursery:
        # Before the start: who is stopped while it starts, stops.
        await nursery.start(heed_signals, node, _WORDS, log, os._exit)
        if parent is not None:
            nursery.start_soon(stop_with, parent, node, _WORDS, log)
        async with trio.open_nursery() as running:
            with no_garbage_collection():
                await running.start(node.run)
                gc.freeze()
            if not node.is_stopping:
                if ready_file is not None:
                    ready_file.write(what_clients_need(node))
                log(banner(node, VERSION, as_json=config.barnabas_logging_format == "json"))
        log("the broker has stopped")
        nursery.cancel_scope.cancel()


def _let_go_of_output() -> None:
    """Python fails at its end if nobody reads what is left in there; the broker had stopped well."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _fail(problems: Sequence[str], code: int = FAILED) -> int:
    for problem in problems:
        print(f"barnabas: {problem}", file=sys.stderr)  # noqa: T201 - what a command is for
    return code
