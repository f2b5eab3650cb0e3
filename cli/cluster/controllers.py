"""What a controller is that shall vote: read from its own configuration file and from its metadata directory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from barnabas.cli.failures import CommandFailed
from barnabas.client.address import Address
from barnabas.client.properties import read_client_properties
from barnabas.protocol.java_properties import parse_properties
from barnabas.protocol.messages.add_raft_voter import AddRaftVoterRequest, Listener
from barnabas.protocol.schema import Uuid

__all__ = ["added_controller"]

_IS_IT_ONE = "is that the configuration file of a controller?"


def added_controller(file: Path) -> tuple[AddRaftVoterRequest, str]:
    """What is asked, and how it is said."""
    properties = read_client_properties(file)
    node_id = _node_id(properties)
    directory_id = _directory_id(_metadata_directory(properties))
    endpoints = _endpoints(properties)
    request = AddRaftVoterRequest(
        cluster_id=None, voter_id=node_id, voter_directory_id=directory_id, listeners=endpoints
    )
    where = ", ".join(f"{each.name}://{Address(each.host, each.port)}" for each in endpoints)
    return request, f"controller {node_id} with directory id {directory_id} and endpoints: {where}"


def _node_id(properties: Mapping[str, str]) -> int:
    text = properties.get("node.id", "").strip()
    if not text.isdigit():
        raise CommandFailed(f"node.id is {text or 'missing'}: {_IS_IT_ONE}")
    if "controller" not in properties.get("process.roles", ""):
        raise CommandFailed(f"process.roles names no controller: {_IS_IT_ONE}")
    return int(text)


def _metadata_directory(properties: Mapping[str, str]) -> Path:
    text = properties.get("metadata.log.dir") or properties.get("log.dirs") or properties.get("log.dir")
    if not text:
        raise CommandFailed(f"Neither metadata.log.dir nor log.dirs is set: {_IS_IT_ONE}")
    return Path(text.strip().split(",")[0].strip())


def _directory_id(directory: Path) -> Uuid:
    try:
        found = parse_properties((directory / "meta.properties").read_bytes())
    except OSError as error:
        raise CommandFailed(
            f"{error.filename} cannot be read ({error.strerror}): format the controller's directory first, "
            "and run this on the machine that has it."
        ) from None
    if "directory.id" not in found:
        raise CommandFailed(f"{directory}/meta.properties has no directory.id: format the directory anew.")
    return Uuid.parse(found["directory.id"])


def _endpoints(properties: Mapping[str, str]) -> list[Listener]:
    listeners: dict[str, tuple[str, int]] = {}
    for key in ("listeners", "advertised.listeners"):
        for each in properties.get(key, "").split(","):
            name, separator, address = each.strip().partition("://")
            host, _, port = address.rpartition(":")
            if separator and port.isdigit():
                listeners[name.upper()] = (host.strip("[]") or "localhost", int(port))
    names = properties.get("controller.listener.names", "")
    if not names.strip():
        raise CommandFailed(f"controller.listener.names is not set: {_IS_IT_ONE}")
    found = []
    for name in (each.strip().upper() for each in names.split(",")):
        if name not in listeners:
            raise CommandFailed(f"listeners has no {name}, which controller.listener.names names: {_IS_IT_ONE}")
        host, port_number = listeners[name]
        found.append(Listener(name=name, host=host, port=port_number))
    return found
