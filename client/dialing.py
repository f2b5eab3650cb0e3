"""A connected socket, with TLS where it is asked for, before a deadline; what hinders it is said in a sentence."""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING

from barnabas.client.address import Address
from barnabas.client.deadline import Deadline
from barnabas.client.errors import CannotReach
from barnabas.client.properties import ClientProperties

if TYPE_CHECKING:
    import ssl

__all__ = ["dial", "resolve"]

_AT_LEAST_S = 0.001
"""A timeout of nothing would mean to a socket that it does not wait at all."""


def resolve(address: Address, deadline: Deadline) -> list[tuple[socket.AddressFamily, tuple[object, ...]]]:
    """The addresses of a name. In a thread that may be left behind: nothing else ends the system's resolver."""
    found: list[tuple[socket.AddressFamily, tuple[object, ...]]] = []
    failure: list[str] = []
    # A name in ASCII is given as it is: for any other Python reads tables of Unicode, an eighth of a command's time.
    name = address.host.encode() if address.host.isascii() else address.host

    def look_up() -> None:
        try:
            answers = socket.getaddrinfo(name, address.port, type=socket.SOCK_STREAM)
            found.extend((answer[0], answer[4]) for answer in answers)
        except OSError as error:
            failure.append(error.strerror or str(error))
        except UnicodeError:
            failure.append("no name of a host is spelt so")

    thread = threading.Thread(target=look_up, name=f"resolving {address.host}", daemon=True)
    thread.start()
    thread.join(deadline.rest_s)
    if failure or not found:
        why = failure[0] if failure else f"no answer in {deadline.timeout_s:.3g} s"
        raise CannotReach(f"The name {address.host} cannot be resolved ({why}): check its spelling, or use an address.")
    return found


def dial(address: Address, properties: ClientProperties, deadline: Deadline) -> socket.socket:
    plain = _connect(address, deadline)
    try:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return _wrap(plain, address, properties, deadline) if properties.uses_tls else plain
    except BaseException:
        plain.close()
        raise


def _connect(address: Address, deadline: Deadline) -> socket.socket:
    why = ""
    for family, target in resolve(address, deadline):
        candidate = socket.socket(family, socket.SOCK_STREAM)
        try:
            candidate.settimeout(max(deadline.rest_s, _AT_LEAST_S))
            candidate.connect(target)
        except TimeoutError:
            why = f"does not answer in {deadline.timeout_s:.3g} s: a firewall may be between, or no such machine."
        except OSError as error:
            why = f"cannot be reached ({error.strerror or error}): is a broker running there?"
        else:
            return candidate
        candidate.close()
    raise CannotReach(f"{address} {why}")


def _wrap(plain: socket.socket, address: Address, properties: ClientProperties, deadline: Deadline) -> ssl.SSLSocket:
    # Here, for most commands speak no TLS, and its import is a tenth of their time.
    from barnabas.client.tls import handshake

    plain.settimeout(max(deadline.rest_s, _AT_LEAST_S))
    return handshake(plain, address, properties)
