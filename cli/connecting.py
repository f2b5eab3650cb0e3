"""The options with which every command finds its cluster, and the connection to it."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from barnabas.cli.failures import WrongUsage
from barnabas.client.address import parse_bootstrap
from barnabas.client.cluster import Cluster
from barnabas.client.properties import ClientProperties, read_client_properties

__all__ = [
    "DEFAULT_BOOTSTRAP",
    "add_connection_arguments",
    "bootstrap_of",
    "connect",
    "properties_of",
    "seconds",
    "seconds_or_kafkas_ms",
]

DEFAULT_BOOTSTRAP = "localhost:9092"
BOOTSTRAP_VARIABLE = "BARNABAS_BOOTSTRAP_SERVER"
_DEFAULT_TIMEOUT_S = 30.0
_LONGEST_TIMEOUT_S = 7 * 24 * 3600.0


def seconds(text: str) -> float:
    """A positive number of seconds, for argparse."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= _LONGEST_TIMEOUT_S:
        raise argparse.ArgumentTypeError(f"{text} is no number of seconds above 0 and up to {_LONGEST_TIMEOUT_S:.0f}")
    return value


def seconds_or_kafkas_ms(text: str) -> float:
    """For a tool of Kafka whose --timeout is in milliseconds. Nobody waits for a second's thousandth part, nor for
    sixteen minutes: from 1000 on these are milliseconds."""
    if text.isdecimal() and int(text) >= 1000:
        return seconds(str(int(text) / 1000))
    return seconds(text)


def add_connection_arguments(
    parser: argparse.ArgumentParser,
    *old_names: str,
    controllers: Sequence[str] = (),
    old_files: Sequence[str] = (),
    timeout_flag: str = "--timeout",
    timeout_type: Callable[[str], float] = seconds,
) -> None:
    """`old_names`: other flags of the Kafka tool for the same, such as --broker-list. `controllers`: the flags with
    which it takes the addresses of KRaft controllers instead. `old_files`: other flags for --command-config.
    `timeout_flag`: where its own --timeout means something else."""
    group = parser.add_argument_group("connection")
    group.add_argument(
        "--bootstrap-server",
        *old_names,
        dest="bootstrap_server",
        metavar="HOST:PORT",
        help=f"one or more brokers of the cluster ({DEFAULT_BOOTSTRAP}, or ${BOOTSTRAP_VARIABLE})",
    )
    if controllers:
        group.add_argument(
            *controllers,
            dest="bootstrap_controller",
            metavar="HOST:PORT",
            help="one or more KRaft controllers, instead of brokers",
        )
    group.add_argument(
        "--command-config",
        *old_files,
        dest="command_config",
        metavar="FILE",
        type=Path,
        help="properties of Kafka's clients: security.protocol and others",
    )
    group.add_argument(
        timeout_flag,
        dest="timeout",
        metavar="SECONDS",
        type=timeout_type,
        default=_DEFAULT_TIMEOUT_S,
        help=f"for each question to the cluster ({_DEFAULT_TIMEOUT_S:g})",
    )


def bootstrap_of(arguments: argparse.Namespace) -> str:
    return arguments.bootstrap_server or os.environ.get(BOOTSTRAP_VARIABLE) or DEFAULT_BOOTSTRAP


def properties_of(arguments: argparse.Namespace) -> ClientProperties:
    file = arguments.command_config
    return ClientProperties(read_client_properties(file) if file is not None else {})


def connect(arguments: argparse.Namespace) -> Cluster:
    """Nothing is sent before the first question. To be closed: `with connect(arguments) as cluster`."""
    controllers: str | None = getattr(arguments, "bootstrap_controller", None)
    if controllers is not None:
        if arguments.bootstrap_server is not None:
            raise WrongUsage("--bootstrap-server and --bootstrap-controller exclude each other: name one of them")
        where = parse_bootstrap(controllers)
        return Cluster(where, properties_of(arguments), arguments.timeout, of_controllers=True)
    return Cluster(parse_bootstrap(bootstrap_of(arguments)), properties_of(arguments), arguments.timeout)
