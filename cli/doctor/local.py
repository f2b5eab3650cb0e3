"""This machine, as a broker that starts on it finds it: Python, configuration, directories, limits, ports, clock."""

from __future__ import annotations

import os
import resource
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from barnabas.broker.configuration.listeners import Endpoint
from barnabas.broker.configuration.node_config import NodeConfig
from barnabas.broker.configuration.properties_file import parse_setting, read_properties
from barnabas.broker.configuration.values import ConfigurationError
from barnabas.cli.doctor.checks import Check, fail, good, unknown, warn
from barnabas.cli.doctor.directories import check_directory
from barnabas.cli.doctor.python import check_python
from barnabas.cli.start import settings_from
from barnabas.client.address import Address
from barnabas.client.connection import Connection
from barnabas.client.deadline import Deadline
from barnabas.client.errors import CannotReach, ClientError
from barnabas.client.properties import ClientProperties
from barnabas.storage.checkpoints import MalformedFile
from barnabas.storage.disk import SystemDisk
from barnabas.storage.meta_properties import MetaProperties, check_directories, read_meta_properties

__all__ = ["check_clock", "check_limits", "check_machine", "check_port"]

_MANY_FILES = 10_000
_FEW_MAPS = 65_530
"""Linux's default: two maps a segment are enough for thirty thousand of them."""
_MAPS = Path("/proc/sys/vm/max_map_count")
_NOT_BEFORE_S = 1_760_000_000.0
"""October 2025: no clock can be right that shows less."""
_DIAL_S = 3.0


def check_machine(listen: str | None, data: str | None, file: Path | None, settings: Sequence[str]) -> list[Check]:
    checks = list(check_python())
    try:
        config = _configured(listen, data, file, settings)
    except ConfigurationError as error:
        name = str(file) if file is not None else "options"
        checks += [fail("configuration", name, problem) for problem in error.problems]
    else:
        checks += _notices(config, file)
        directories = [Path(path) for path in dict.fromkeys((*config.log_dirs, config.metadata_log_dir))]
        for directory in directories:
            checks += check_directory(directory)
        checks += _owners(config, [directory for directory in directories if directory.is_dir()])
        for endpoint in (*config.listeners, *config.controller_listeners):
            checks += check_port(endpoint)
    checks += check_limits(resource.getrlimit(resource.RLIMIT_NOFILE))
    checks += _own_name()
    checks += check_clock(time.time(), time.tzname)
    return checks


def _configured(listen: str | None, data: str | None, file: Path | None, settings: Sequence[str]) -> NodeConfig:
    own = dict(map(parse_setting, settings))
    read = read_properties(file) if file is not None else {}
    return NodeConfig.load(read, {**settings_from(listen, data, {**read, **own}), **own})


def _notices(config: NodeConfig, file: Path | None) -> Iterator[Check]:
    name = str(file) if file is not None else "options"
    yield good("configuration", name, f"node {config.node_id}, {len(config.static)} keys given")
    for notice in config.notices:
        if notice.warning:
            yield warn("configuration", name, notice.text, "take the key away, or set what this node knows.")


def _owners(config: NodeConfig, directories: Sequence[Path]) -> Iterator[Check]:
    """All of one node, and of this one."""
    found: dict[Path, MetaProperties | None] = {}
    for directory in directories:
        try:
            found[directory] = read_meta_properties(SystemDisk(), directory)
        except (MalformedFile, OSError) as error:
            yield fail("meta.properties", str(directory), str(error))
    node_id = config.node_id if {"node.id", "broker.id"} & config.static.keys() else None
    problems = check_directories(found, node_id=node_id)
    for problem in problems:
        yield fail("meta.properties", str(directories[0]), problem)
    if not problems:
        for directory, meta in found.items():
            text = f"node {meta.node_id} of cluster {meta.cluster_id}" if meta else "none yet: a start formats it"
            yield good("meta.properties", str(directory), text)


def check_port(endpoint: Endpoint) -> Iterator[Check]:
    """Free, or who is there."""
    host = endpoint.host or ""
    where = f"{endpoint.listener} {Address(host or '*', endpoint.port)}"
    if endpoint.port == 0:
        yield good("port", where, "any that is free")
        return
    try:
        places = socket.getaddrinfo(host or None, endpoint.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        advice = "name an address of this machine in listeners, or nothing before the colon for all of them."
        yield fail("port", where, f"{host} cannot be resolved ({error.strerror})", advice)
        return
    family, _, _, _, address = places[0]
    with socket.socket(family, socket.SOCK_STREAM) as candidate:
        candidate.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            candidate.bind(address)
            candidate.listen(1)
        except PermissionError:
            advice = "take a port from 1024 on, or allow this user the lower ones."
            yield fail("port", where, "this user may not listen there", advice)
        except OSError as error:
            yield _taken(where, Address(host or "127.0.0.1", endpoint.port), error)
        else:
            yield good("port", where, "free")


def _taken(where: str, address: Address, error: OSError) -> Check:
    advice = "stop what listens there, or take another port with --listen."
    try:
        with Connection(address, ClientProperties(), Deadline(_DIAL_S)) as connection:
            found = f"a Kafka broker with {len(connection.offered)} APIs answers there already"
    except CannotReach:
        found = f"cannot be listened to ({error.strerror})"
        advice = "name an address of this machine."
    except ClientError as why:
        found = f"taken: {why}"
    return fail("port", where, found, advice)


def check_limits(files: tuple[int, int]) -> Iterator[Check]:
    """`start` takes as many files as it may have at all."""
    _, most = files
    if most != resource.RLIM_INFINITY and most < _MANY_FILES:
        advice = f"raise the hard limit (ulimit -Hn, LimitNOFILE=) to {_MANY_FILES} or more."
        yield warn("ulimit -n", "files", f"{most}: connections and segments share them", advice)
    else:
        yield good("ulimit -n", "files", "without limit" if most == resource.RLIM_INFINITY else str(most))
    try:
        maps = int(_MAPS.read_text())
    except (OSError, ValueError):
        return
    if maps < _FEW_MAPS:
        advice = f"set vm.max_map_count to {_FEW_MAPS} or more: each segment takes two."
        yield warn("maps", str(_MAPS), str(maps), advice)
    else:
        yield good("maps", str(_MAPS), str(maps))


def _own_name() -> Iterator[Check]:
    """What a broker advertises that listens everywhere and is not told a name."""
    name = socket.gethostname()
    try:
        places = sorted({str(each[4][0]) for each in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)})
    except OSError as error:
        advice = "set advertised.listeners if the broker listens on all addresses, or give this name an address."
        yield warn("own name", name, f"cannot be resolved ({error.strerror})", advice)
    else:
        yield good("own name", name, ", ".join(places))


def check_clock(now_s: float, names: tuple[str, str], environment: Mapping[str, str] = os.environ) -> Iterator[Check]:
    shown = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(now_s))
    if now_s < _NOT_BEFORE_S:
        advice = "set the clock before records are written: their times stay, and retention goes by them."
        yield fail("clock", "this machine", f"{shown} cannot be", advice)
    else:
        yield good("clock", "this machine", shown)
    zone = environment.get("TZ", "").lstrip(":")
    if "/" in zone and not Path("/usr/share/zoneinfo", zone).exists():
        found = f"TZ={zone} is none that this machine knows: local times are shown in UTC"
        yield warn("time zone", "this machine", found, "install tzdata, or correct TZ; records keep UTC anyway.")
    elif not names[0]:
        yield unknown("time zone", "this machine", "not known")
    else:
        yield good("time zone", "this machine", names[0])
