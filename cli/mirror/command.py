"""`barnabas mirror`: topics of one cluster in another, kept so; docs/MIRROR.md says what it promises."""

from __future__ import annotations

import argparse
from pathlib import Path

from barnabas.cli.clients.interruption import Interruption
from barnabas.cli.connecting import add_connection_arguments, connect, seconds
from barnabas.cli.failures import WrongUsage
from barnabas.cli.mirror.map_topic import read_map
from barnabas.cli.mirror.running import Mirroring
from barnabas.cli.mirror.settings import Settings, pattern_of
from barnabas.cli.mirror.telling import Teller, show_status
from barnabas.cli.output import Output, add_output_arguments
from barnabas.client.address import parse_bootstrap
from barnabas.client.cluster import Cluster
from barnabas.client.errors import ClientError
from barnabas.client.properties import ClientProperties, read_client_properties
from barnabas.protocol.errors import KafkaError

__all__ = ["add_arguments", "run"]

_OFFSETS_TOPIC = "mirror.offsets"
_FETCH_BYTES, _BATCH_BYTES = 1 << 20, 1 << 19
_REFRESH_S, _GROUPS_S, _HEARTBEAT_S, _REPORT_S, _PATIENCE_S = 30.0, 10.0, 5.0, 10.0, 300.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="TOPIC", help="which topics: regular expressions for whole names")
    parser.add_argument("--topics", metavar="PATTERN", action="append", default=[], help="the same")
    parser.add_argument("--exclude", metavar="PATTERN", action="append", default=[], help="but not these")
    parser.add_argument("--to-bootstrap-server", metavar="HOST:PORT", help="the cluster that gets the copies")
    parser.add_argument("--to-command-config", metavar="FILE", type=Path, help="properties of that cluster's clients")
    parser.add_argument("--prefix", metavar="TEXT", default="", help="put before the names of topics at the target")
    parser.add_argument(
        "--start", choices=["earliest", "latest"], default="earliest", help="of topics never mirrored (earliest)"
    )
    parser.add_argument("--groups", metavar="PATTERN", action="append", default=[], help="whose offsets to copy too")
    parser.add_argument("--catch-up", action="store_true", help="end when all is there that is there now")
    parser.add_argument(
        "--configs",
        choices=["follow", "once", "none"],
        default="follow",
        help="of topics: kept as at the source, only when they are made, or left to the target (follow)",
    )
    parser.add_argument("--replication-factor", metavar="N", type=int, default=-1, help="of topics that are made")
    parser.add_argument(
        "--allow-loss", action="store_true", help="go on when the source has deleted what was to be copied"
    )
    parser.add_argument("--offsets-topic", metavar="TOPIC", default=_OFFSETS_TOPIC, help=f"the map ({_OFFSETS_TOPIC})")
    parser.add_argument("--status", action="store_true", help="how far the mirror is, by its map")
    group = parser.add_argument_group("limits")
    for flag, default, what in (
        ("refresh", _REFRESH_S, "look for new topics, partitions and configurations"),
        ("groups", _GROUPS_S, "copy the offsets of groups"),
        ("heartbeat", _HEARTBEAT_S, "leave a sign of life in the map"),
        ("report", _REPORT_S, "say how far it is"),
    ):
        group.add_argument(
            f"--{flag}-seconds", metavar="SECONDS", type=seconds, default=default, help=f"{what} ({default:g})"
        )
    group.add_argument(
        "--patience",
        metavar="SECONDS",
        type=seconds,
        default=_PATIENCE_S,
        help=f"for which a cluster may be away before the mirror ends ({_PATIENCE_S:g})",
    )
    group.add_argument(
        "--fetch-bytes", metavar="N", type=int, default=_FETCH_BYTES, help=f"of a partition at a time ({_FETCH_BYTES})"
    )
    group.add_argument(
        "--batch-bytes",
        metavar="N",
        type=int,
        default=_BATCH_BYTES,
        help=f"of small batches together ({_BATCH_BYTES})",
    )
    add_connection_arguments(parser)
    add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    output = Output(as_json=arguments.json)
    if arguments.to_bootstrap_server is None:
        raise WrongUsage("name the cluster that gets the copies: --to-bootstrap-server HOST:PORT")
    settings = None if arguments.status else _settings(arguments)
    with connect(arguments) as source, _target(arguments) as target:
        if settings is None:
            show_status(source, read_map(target, arguments.offsets_topic), output)
            return 0
        with Interruption() as interruption:
            mirroring = Mirroring(source, target, settings, Teller(output), interruption)
            try:
                mirroring.run()
            except (ClientError, KafkaError):
                # Whoever ends it does not want to know what went wrong meanwhile.
                if not interruption:
                    raise
            finally:
                mirroring.close()
            return interruption.exit_code


def _target(arguments: argparse.Namespace) -> Cluster:
    file = arguments.to_command_config
    properties = ClientProperties(read_client_properties(file, "--to-command-config") if file is not None else {})
    return Cluster(parse_bootstrap(arguments.to_bootstrap_server), properties, arguments.timeout)


def _settings(arguments: argparse.Namespace) -> Settings:
    topics = pattern_of([*arguments.words, *arguments.topics], "TOPIC")
    if topics is None:
        raise WrongUsage("name the topics to copy: regular expressions, '.*' for all")
    for name in ("fetch_bytes", "batch_bytes"):
        if getattr(arguments, name) < 1:
            raise WrongUsage(f"--{name.replace('_', '-')} {getattr(arguments, name)} has to be above 0")
    return Settings(
        topics=topics,
        exclude=pattern_of(arguments.exclude, "--exclude"),
        prefix=arguments.prefix,
        start_latest=arguments.start == "latest",
        groups=pattern_of(arguments.groups, "--groups"),
        configs=arguments.configs,
        replication_factor=arguments.replication_factor,
        allow_loss=arguments.allow_loss,
        catch_up=arguments.catch_up,
        offsets_topic=arguments.offsets_topic,
        fetch_bytes=arguments.fetch_bytes,
        batch_bytes=arguments.batch_bytes,
        refresh_s=arguments.refresh_seconds,
        groups_s=arguments.groups_seconds,
        heartbeat_s=arguments.heartbeat_seconds,
        report_s=arguments.report_seconds,
        patience_s=arguments.patience,
    )
