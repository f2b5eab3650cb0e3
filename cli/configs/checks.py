"""Which options of `barnabas configs` go together: as kafka-configs.sh has it."""

from __future__ import annotations

import argparse
import socket

from barnabas.cli.configs.entities import KINDS, Entities
from barnabas.cli.failures import WrongUsage

__all__ = ["check_combinations"]

_WITH_DEFAULTS = frozenset({"users", "clients", "brokers", "ips"})


def check_combinations(action: str, arguments: argparse.Namespace, entities: Entities) -> None:
    _check_kinds(entities)
    _check_names(entities)
    changes = [name for name in ("add_config", "add_config_file", "delete_config") if getattr(arguments, name)]
    if action == "describe":
        if changes:
            raise WrongUsage(f"--{changes[0].replace('_', '-')} goes with --alter, not with --describe.")
        _check_description(entities)
        if arguments.json and arguments.plain:
            raise WrongUsage("--json and --plain are two ways to write the same: choose one.")
    else:
        for name in ("all", "plain"):
            if getattr(arguments, name):
                raise WrongUsage(f"--{name} goes with --describe, not with --alter.")
        _check_alteration(entities, changes)


def _check_kinds(entities: Entities) -> None:
    kinds = entities.kinds
    for kind in kinds:
        if kind not in KINDS:
            raise WrongUsage(f"{kind} cannot be configured: there are {', '.join(KINDS)}.")
    if len(set(kinds)) < len(kinds):
        raise WrongUsage(f"{', '.join(kinds)}: one entity can be configured at a time.")
    if not kinds:
        raise WrongUsage("say what is configured: --topic NAME, --broker ID, --user NAME, or --entity-type TYPE.")
    if len(kinds) > 1 and set(kinds) != {"users", "clients"}:
        raise WrongUsage(f"{', '.join(kinds)}: only users and clients can be named together.")


def _check_names(entities: Entities) -> None:
    for name in filter(None, entities.names):
        if entities.kind in ("brokers", "broker-loggers"):
            try:
                int(name)
            except ValueError:
                raise WrongUsage(f"{name} is no number of a broker.") from None
        elif entities.kind == "ips":
            try:
                socket.getaddrinfo(name, None)
            except OSError:
                raise WrongUsage(f"{name} is no address, and no host that can be resolved.") from None


def _check_description(entities: Entities) -> None:
    if entities.has_default and entities.kind not in _WITH_DEFAULTS:
        raise WrongUsage(f"There is no default for {entities.kind}: name one, or leave the name out for all.")
    if entities.kind == "broker-loggers" and not entities.has_name:
        raise WrongUsage("broker-loggers need the number of a broker: --broker-logger ID.")
    quotas = entities.kind in ("users", "clients", "ips")
    if len(entities.names) > len(entities.kinds) or (entities.names and not quotas and len(entities.names) > 1):
        raise WrongUsage("More names are given than types.")


def _check_alteration(entities: Entities, changes: list[str]) -> None:
    if not (entities.has_name or (entities.has_default and entities.kind in _WITH_DEFAULTS)):
        instead = f" or --{entities.kind.removesuffix('s')}-defaults" if entities.kind in _WITH_DEFAULTS else ""
        raise WrongUsage(f"--alter of {entities.kind} needs a name{instead}.")
    if len(entities.names) != len(entities.kinds):
        raise WrongUsage("--alter needs one name for each type.")
    if "add_config" in changes and "add_config_file" in changes:
        raise WrongUsage("--add-config and --add-config-file are two ways to say the same: choose one.")
    if not changes:
        raise WrongUsage("--alter needs --add-config, --add-config-file or --delete-config.")
