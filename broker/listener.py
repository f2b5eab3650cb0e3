"""Where clients come in: the listening sockets of a node, and the connections that they brought."""

from __future__ import annotations

import errno
import socket
from collections.abc import Sequence
from functools import partial

from barnabas.broker.configuration.listeners import Endpoint
from barnabas.broker.connection import Connection, Server
from barnabas.broker.poller import READABLE, Poller

__all__ = ["CannotListen", "Listener"]

_ACCEPTED_AT_ONCE = 64
_OUT_OF_FILES = (errno.EMFILE, errno.ENFILE)


class CannotListen(Exception):  # noqa: N818 - a state of the address
    """Somebody else has the address, or it is none of this machine's."""


class Listener:
    """One endpoint. Its port is known before anybody is let in."""

    def __init__(self, endpoint: Endpoint, poller: Poller, server: Server, *, backlog: int) -> None:
        self.endpoint = endpoint
        self._poller = poller
        self._server = server
        self._sockets = _listen(endpoint, backlog)
        self.connections: set[Connection] = set()

    @property
    def address(self) -> tuple[str, int]:
        host, port = self._sockets[0].getsockname()[:2]
        return host, port

    def open(self) -> None:
        for sock in self._sockets:
            self._poller.watch(sock.fileno(), READABLE, partial(self._accept, sock))

    def _accept(self, listening: socket.socket, _events: int) -> None:
        for _ in range(_ACCEPTED_AT_ONCE):
            try:
                sock, _address = listening.accept()
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno in _OUT_OF_FILES:
                    self._server.note_exhaustion(error)
                    return
                continue  # the client has gone already
            try:
                self.connections.add(Connection(sock, self.endpoint.listener, self._poller, self._server))
            except OSError:
                sock.close()

    def close(self) -> None:
        """Nobody comes in any more."""
        for sock in self._sockets:
            self._poller.forget(sock.fileno())
            sock.close()


def _listen(endpoint: Endpoint, backlog: int) -> Sequence[socket.socket]:
    host = endpoint.host
    try:
        if host is None and socket.has_dualstack_ipv6():
            sock = socket.create_server(
                ("", endpoint.port), family=socket.AF_INET6, backlog=backlog, dualstack_ipv6=True
            )
        else:
            family = socket.AF_INET6 if host is not None and ":" in host else socket.AF_INET
            sock = socket.create_server((host or "", endpoint.port), family=family, backlog=backlog)
    except OSError as error:
        where = f"{host or '*'}:{endpoint.port}"
        why = "another program listens there already" if error.errno == errno.EADDRINUSE else error.strerror or error
        raise CannotListen(
            f"cannot listen on {where} for listener {endpoint.listener}: {why}; choose another address with --listen."
        ) from None
    sock.setblocking(False)
    return [sock]
