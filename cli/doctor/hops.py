"""One address, hop by hop: its name, its sockets, what speaks there, and how long an answer takes."""

from __future__ import annotations

import ipaddress
import socket
import time
from collections.abc import Iterator
from typing import NamedTuple

from barnabas.cli.doctor.checks import Check, fail, good, warn
from barnabas.client.address import Address
from barnabas.client.connection import Connection
from barnabas.client.deadline import Deadline
from barnabas.client.dialing import resolve
from barnabas.client.errors import ClientError
from barnabas.client.properties import ClientProperties
from barnabas.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse

__all__ = ["Hop", "dial_hops", "is_local"]

_ROUND_TRIPS = 5
_SLOW_S = 0.5
_LARGEST_WAIT_S = 10.0


class Hop(NamedTuple):
    """What came of it: the checks, and the connection if there is one."""

    checks: list[Check]
    connection: Connection | None


def dial_hops(address: Address, what: str, properties: ClientProperties, timeout_s: float) -> Hop:
    deadline = Deadline(min(timeout_s, _LARGEST_WAIT_S))
    try:
        targets = resolve(address, deadline)
    except ClientError as error:
        return Hop([fail(f"{what}: name", str(address), str(error))], None)
    places = list(dict.fromkeys(str(target[0]) for _, target in targets))
    checks = [good(f"{what}: name", str(address), ", ".join(places))]
    reached, sockets = _connect_each(address, targets, what, deadline)
    checks += sockets
    if not reached:
        return Hop(checks, None)
    try:
        connection = Connection(address, properties, Deadline(min(timeout_s, _LARGEST_WAIT_S)))
    except ClientError as error:
        return Hop([*checks, fail(f"{what}: Kafka", str(address), str(error))], None)
    try:
        checks += _round_trips(connection, address, what, timeout_s, _way(properties))
    except ClientError as error:
        connection.close()
        return Hop([*checks, fail(f"{what}: Kafka", str(address), str(error))], None)
    return Hop(checks, connection)


def _way(properties: ClientProperties) -> str:
    sasl = f" with {properties.sasl_mechanism}" if properties.uses_sasl else ""
    return properties.security_protocol + sasl


def _connect_each(
    address: Address, targets: list[tuple[socket.AddressFamily, tuple[object, ...]]], what: str, deadline: Deadline
) -> tuple[bool, list[Check]]:
    """Clients take the first that answers; those before it cost them time."""
    failures, times = [], []
    for family, target in targets:
        began_s = time.monotonic()
        with socket.socket(family, socket.SOCK_STREAM) as candidate:
            candidate.settimeout(max(0.001, deadline.rest_s / max(1, len(targets))))
            try:
                candidate.connect(target)
            except TimeoutError:
                failures.append(f"{target[0]} does not answer")
            except OSError as error:
                failures.append(f"{target[0]}: {error.strerror or error}")
            else:
                times.append(time.monotonic() - began_s)
    name = f"{what}: port"
    if not times:
        advice = "start the broker, or name the port where it listens; a firewall between answers so, too."
        return False, [fail(name, str(address), "; ".join(failures), advice)]
    found = f"open, in {_ms(min(times))}"
    if failures:
        advice = f"let the broker listen there too, or use the address that answers instead of {address.host}."
        return True, [warn(name, str(address), f"{found}; but {'; '.join(failures)}", advice)]
    return True, [good(name, str(address), found)]


def _round_trips(connection: Connection, address: Address, what: str, timeout_s: float, way: str) -> Iterator[Check]:
    request = ApiVersionsRequest(client_software_name="barnabas", client_software_version="1")
    times = []
    for _ in range(_ROUND_TRIPS):
        began_s = time.monotonic()
        connection.ask(request, ApiVersionsResponse, Deadline(timeout_s))
        times.append(time.monotonic() - began_s)
    found = f"{way}, {len(connection.offered)} APIs; an answer takes {_ms(min(times))}"
    if min(times) > _SLOW_S:
        yield warn(
            f"{what}: Kafka",
            str(address),
            found,
            "see how far away the broker is, and how busy: every request waits so.",
        )
    else:
        yield good(f"{what}: Kafka", str(address), found)


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"


def is_local(address: Address) -> bool:
    """Whether only the broker's own machine gets there by that name."""
    if address.host == "localhost":
        return True
    try:
        place = ipaddress.ip_address(address.host)
    except ValueError:
        return False
    return place.is_loopback or place.is_unspecified
