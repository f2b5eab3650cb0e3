"""Where a node listens, what it tells others of that, and which protocol each listener speaks.

Names of listeners are compared in capitals; those of controllers are taken as they are written, as Kafka does.
"""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from barnabas.broker.configuration.addresses import LARGEST_PORT, Voter
from barnabas.protocol.java_text import BLANK, parse_integer, trim

__all__ = [
    "ANYWHERE",
    "Endpoint",
    "SecurityProtocol",
    "advertised_controllers",
    "parse_listeners",
    "parse_map",
    "parse_protocol",
    "protocols_by_listener",
]

ANYWHERE = "0.0.0.0"  # noqa: S104 (nothing is bound here)

_LISTENER = re.compile(r"(.*)://\[?([0-9a-zA-Z\-%._:]*)]?:(-?[0-9]+)")
_COMMA = re.compile(f"{BLANK}*,{BLANK}*")


class SecurityProtocol(StrEnum):
    PLAINTEXT = "PLAINTEXT"
    SSL = "SSL"
    SASL_PLAINTEXT = "SASL_PLAINTEXT"
    SASL_SSL = "SASL_SSL"

    @property
    def uses_sasl(self) -> bool:
        return self in (SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL)


class Endpoint(NamedTuple):
    """`host` is None where the node listens on every address."""

    listener: str
    protocol: SecurityProtocol
    host: str | None
    port: int

    @property
    def config_prefix(self) -> str:
        return f"listener.name.{self.listener.lower()}."


def parse_map(text: str) -> dict[str, str]:
    """KEY:VALUE with commas between; the last colon counts. ValueError for what has none."""
    found = {}
    parts = _COMMA.split(text) if text else []
    while parts and not parts[-1]:
        parts.pop()
    for part in parts:
        name, colon, value = part.rpartition(":")
        if not colon:
            raise ValueError(f"{part[:100]!r} is not NAME:VALUE")
        found[trim(name)] = trim(value)
    return found


def parse_protocol(text: str) -> SecurityProtocol:
    try:
        return SecurityProtocol(text.upper())
    except ValueError:
        raise ValueError(f"{text[:100]!r} is none of {', '.join(SecurityProtocol)}") from None


def protocols_by_listener(
    text: str, given: bool, listeners: Iterable[str], controller_names: Iterable[str]
) -> dict[str, SecurityProtocol]:
    """The protocol of each listener's name. Where nobody gave the map, the names of controllers are added as PLAINTEXT,
    unless a listener has the name of a protocol that is safer."""
    protocols: dict[str, SecurityProtocol] = {}
    for name, protocol in parse_map(text).items():
        normal = _normalised(name)
        if normal in protocols:
            raise ValueError(f"the listener {normal} is there twice")
        protocols[normal] = parse_protocol(protocol)
    if given:
        return protocols
    names = {*controller_names, *(_name_before_colon(one) for one in listeners)}
    if names & {protocol.value for protocol in SecurityProtocol if protocol is not SecurityProtocol.PLAINTEXT}:
        return protocols
    added = dict.fromkeys(set(controller_names) - {"PLAINTEXT"}, SecurityProtocol.PLAINTEXT)
    return protocols | added


def parse_listeners(
    texts: Sequence[str], protocols: Mapping[str, SecurityProtocol], *, distinct_ports: bool = True
) -> tuple[Endpoint, ...]:
    """ValueError for what is no NAME://HOST:PORT, has no protocol, or is there twice."""
    endpoints = tuple(_parse_listener(text, protocols) for text in texts)
    names = Counter(one.listener for one in endpoints)
    for name, count in names.items():
        if count > 1:
            raise ValueError(f"the listener {name} is there twice, and each must have another name")
    if distinct_ports:
        _check_ports(endpoints)
    return endpoints


def advertised_controllers(
    names: Sequence[str],
    advertised: Sequence[Endpoint],
    listeners: Sequence[Endpoint],
    voters: Mapping[int, Voter],
    node_id: int,
) -> tuple[Endpoint, ...]:
    """What others are told of the controller's listeners. The first one that is bound to every address has the address
    under which this node is among the voters, if it is; then all of them must have one that can be reached."""
    found = []
    for at, name in enumerate(names):
        told = [one for one in advertised if one.listener == name.upper()]
        bound = [one for one in listeners if one.listener == name.upper()]
        if told:
            found.append(told[0])
        elif bound:
            everywhere = bound[0].host in (None, ANYWHERE)
            voter = voters.get(node_id)
            if at == 0 and everywhere:
                _check_reachable(voters.values())
            if at == 0 and everywhere and voter is not None:
                found.append(bound[0]._replace(host=voter.host, port=voter.port))
            else:
                found.append(bound[0]._replace(host=None if everywhere else bound[0].host))
    return tuple(found)


def _check_reachable(voters: Iterable[Voter]) -> None:
    for voter in voters:
        if voter.host == ANYWHERE:
            raise ValueError(f"the voter {voter.node_id} has the address {ANYWHERE}, which nobody can reach")


def _normalised(name: str) -> str:
    if not trim(name):
        raise ValueError("a listener has no name")
    return name.upper()


def _name_before_colon(text: str) -> str:
    name, colon, _ = text.partition(":")
    if not colon:
        raise ValueError(f"{text[:100]!r} is not NAME://HOST:PORT")
    return name.upper()


def _parse_listener(text: str, protocols: Mapping[str, SecurityProtocol]) -> Endpoint:
    found = _LISTENER.fullmatch(text)
    if found is None:
        raise ValueError(f"{text[:100]!r} is not NAME://HOST:PORT")
    name = _normalised(found[1])
    port = parse_integer(found[3], 32)
    if not 0 <= port <= LARGEST_PORT:
        raise ValueError(f"{text[:100]!r} has a port that there is not, from 0 to {LARGEST_PORT}")
    if name not in protocols:
        raise ValueError(f"the listener {name} has no protocol: add {name}:PLAINTEXT to listener.security.protocol.map")
    return Endpoint(name, protocols[name], found[2] or None, port)


def _check_ports(endpoints: Sequence[Endpoint]) -> None:
    """Two listeners may share a port where one is on IPv4 and the other on IPv6; port 0 is any that is free."""
    for port in {one.port for one in endpoints if one.port}:
        hosts = [one.host for one in endpoints if one.port == port]
        versions = [_ip_version(host) for host in hosts]
        if len(hosts) > 1 and sorted(versions) != [4, 6]:
            raise ValueError(
                f"port {port} has several listeners: give each its own, or one an IPv4 and one an IPv6 address"
            )


def _ip_version(host: str | None) -> int:
    try:
        return ipaddress.ip_address(host or "").version
    except ValueError:
        return 0
