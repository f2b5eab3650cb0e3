"""`barnabas cluster reassign`: its options, and what goes with what."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from barnabas.cli.actions import Actions
from barnabas.cli.cluster.reassign.generating import generate
from barnabas.cli.cluster.reassign.moving import cancel, execute
from barnabas.cli.cluster.reassign.plan import Plan, parse_plan, parse_topics
from barnabas.cli.cluster.reassign.progress import show_progress, wait_for_all
from barnabas.cli.cluster.reassign.verifying import list_moving, verify
from barnabas.cli.connecting import add_connection_arguments, connect
from barnabas.cli.failures import WrongUsage
from barnabas.cli.json_files import read_json
from barnabas.cli.output import Output, add_output_arguments, add_watch_argument

__all__ = ["add_arguments", "run"]

_ACTIONS = Actions(
    {
        "list": "what is being moved",
        "generate": "propose where replicas could be; moves nothing",
        "execute": "move replicas as a file says",
        "verify": "what has come of it; takes throttles away when it is done",
        "progress": "how much of what is being moved is copied; with --watch, until all is",
        "cancel": "leave it, and move back",
    },
    operand="FILE or TOPIC",
    default="list",
)
_MOVE_TIMEOUT_MS = 10_000
_ALLOWED = {
    "reassignment_json_file": ("execute", "verify", "cancel"),
    "topics_to_move_json_file": ("generate",),
    "broker_list": ("generate",),
    "disable_rack_aware": ("generate",),
    "throttle": ("execute",),
    "replica_alter_log_dirs_throttle": ("execute",),
    "move_timeout_ms": ("execute", "cancel"),
    "additional": ("execute",),
    "disallow_replication_factor_change": ("execute",),
    "wait": ("execute",),
    "watch": ("progress",),
    "preserve_throttles": ("verify", "cancel"),
    "bootstrap_controller": ("list", "cancel"),
}
"""Which option goes with which action, as Kafka's tool has it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    _ACTIONS.add_to(parser)
    parser.add_argument("--reassignment-json-file", metavar="FILE", type=Path, help="which replicas where; - is stdin")
    parser.add_argument("--topics-to-move-json-file", metavar="FILE", type=Path, help="generate: of which topics")
    parser.add_argument("--broker-list", metavar="ID,ID", help="generate: to which brokers")
    parser.add_argument("--disable-rack-aware", action="store_true", help="generate: whatever racks they are in")
    parser.add_argument("--throttle", metavar="BYTES", type=int, help="execute: bytes a second between brokers")
    parser.add_argument(
        "--replica-alter-log-dirs-throttle",
        metavar="BYTES",
        type=int,
        help="execute: bytes a second to another directory",
    )
    parser.add_argument(
        "--timeout",
        dest="move_timeout_ms",
        metavar="MS",
        type=int,
        help=f"execute, cancel: for moves to other directories to begin ({_MOVE_TIMEOUT_MS})",
    )
    parser.add_argument("--additional", action="store_true", help="execute: beside what is being moved already")
    parser.add_argument("--preserve-throttles", action="store_true", help="verify, cancel: leave throttles as they are")
    parser.add_argument(
        "--disallow-replication-factor-change", action="store_true", help="execute: as many replicas as there are"
    )
    parser.add_argument(
        "--wait", action="store_true", help="execute: until all has moved, and take the throttles away then"
    )
    add_watch_argument(parser)
    add_connection_arguments(parser, controllers=["--bootstrap-controller"], timeout_flag="--request-timeout")
    add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    action, words = _ACTIONS.chosen(arguments)
    for name, allowed in _ALLOWED.items():
        if getattr(arguments, name) not in (None, False) and action not in allowed:
            flag = "timeout" if name == "move_timeout_ms" else name.replace("_", "-")
            raise WrongUsage(f"--{flag} cannot be used with --{action}: it goes with --{' and --'.join(allowed)}")
    output = Output(as_json=arguments.json)
    if action in ("list", "progress"):
        if words:
            raise WrongUsage(f"--{action} takes no {words[0]}")
        with connect(arguments) as cluster:
            if action == "list":
                list_moving(cluster, output)
            else:
                show_progress(cluster, output, arguments.watch)
    elif action == "generate":
        topics, brokers = _topics(arguments, words), _brokers(arguments)
        with connect(arguments) as cluster:
            generate(cluster, topics, brokers, output, racks=not arguments.disable_rack_aware)
    else:
        _run_with_plan(action, _plan(arguments, action, words), arguments, output)


def _run_with_plan(action: str, plan: Plan, arguments: argparse.Namespace, output: Output) -> None:
    timeout_ms = _MOVE_TIMEOUT_MS if arguments.move_timeout_ms is None else arguments.move_timeout_ms
    with connect(arguments) as cluster:
        if action == "verify":
            verify(cluster, plan, output, keep_throttles=arguments.preserve_throttles)
        elif action == "cancel":
            cancel(cluster, plan, output, keep_throttles=arguments.preserve_throttles, timeout_s=timeout_ms / 1000)
        else:
            directory_rate = arguments.replica_alter_log_dirs_throttle
            execute(
                cluster,
                plan,
                output,
                additional=arguments.additional,
                keep_factor=arguments.disallow_replication_factor_change,
                rate=-1 if arguments.throttle is None else arguments.throttle,
                directory_rate=-1 if directory_rate is None else directory_rate,
                timeout_s=timeout_ms / 1000,
            )
            if arguments.wait:
                wait_for_all(cluster, plan.replicas, output)
                verify(cluster, plan, output, keep_throttles=False)


def _plan(arguments: argparse.Namespace, action: str, words: Sequence[str]) -> Plan:
    files = [*([arguments.reassignment_json_file] if arguments.reassignment_json_file else []), *map(Path, words)]
    if len(files) != 1:
        raise WrongUsage(f"name the file that says what to {action}: --reassignment-json-file FILE")
    return parse_plan(read_json(files[0]))


def _topics(arguments: argparse.Namespace, words: Sequence[str]) -> list[str]:
    if (arguments.topics_to_move_json_file is None) == (not words):
        raise WrongUsage("name the topics to move, or a file with them: --topics-to-move-json-file FILE")
    return list(words) or parse_topics(read_json(arguments.topics_to_move_json_file))


def _brokers(arguments: argparse.Namespace) -> list[int]:
    if arguments.broker_list is None:
        raise WrongUsage("name the brokers to move to: --broker-list 1,2")
    try:
        return [int(each) for each in arguments.broker_list.split(",")]
    except ValueError:
        raise WrongUsage(f"--broker-list {arguments.broker_list} is no list of ids: write --broker-list 1,2") from None
