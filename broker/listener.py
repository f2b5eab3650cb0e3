"""Where clients come in: the listening sockets of a node, and the connections that they brought."""

from __future__ import annotations

import errno
import os
import resource
import socket
import time
from collections.abc import Sequence
from functools import partial
from typing import Protocol

from barnabas.broker.configuration.listeners import Endpoint
from barnabas.broker.configuration.node_config import NodeConfig
from barnabas.broker.connection import Connection, Server, address_of
from barnabas.broker.connection_limits import ConnectionLimits
from barnabas.broker.poller import READABLE, Poller

__all__ = ["CannotListen", "Door", "Listener"]

_ACCEPTED_AT_ONCE = 64
_OUT_OF_FILES = (errno.EMFILE, errno.ENFILE)
_LOOK_AGAIN_MS = 100
_TELL_AGAIN_S = 60.0
_FEWEST_KEPT, _MOST_KEPT = 16, 256
"""Files that connections leave to logs, or an eighth of all: a partition that cannot open its next segment would be
worse off than a client that waits."""


class Door(Server, Protocol):
    """What a listener asks for."""

    connection_limits: ConnectionLimits


class CannotListen(Exception):  # noqa: N818 - a state of the address
    """Somebody else has the address, or it is none of this machine's."""


class Listener:
    """One endpoint. Its port is known before anybody is let in."""

    def __init__(self, endpoint: Endpoint, poller: Poller, server: Door, config: NodeConfig) -> None:
        self.endpoint = endpoint
        self._poller = poller
        self._server = server
        self._sockets = self._listen(config.socket_listen_backlog_size)
        # The connections that come in by it inherit them.
        buffers = (
            (socket.SO_RCVBUF, config.socket_receive_buffer_bytes),
            (socket.SO_SNDBUF, config.socket_send_buffer_bytes),
        )
        for sock in self._sockets:
            for option, size in buffers:
                if size > 0:
                    sock.setsockopt(socket.SOL_SOCKET, option, size)
        self.connections: set[Connection] = set()
        self._is_open = False
        self._is_full = False
        self._told_s = -_TELL_AGAIN_S
        """When it was said last that there are no more files."""

    @property
    def address(self) -> tuple[str, int]:
        host, port = self._sockets[0].getsockname()[:2]
        return host, port

    def open(self) -> None:
        self._is_open = True
        self._attend()

    def _attend(self) -> None:
        for sock in self._sockets:
            self._poller.watch(sock.fileno(), READABLE, partial(self._accept, sock))

    def _rest(self) -> None:
        """Clients wait in the system's queue."""
        for sock in self._sockets:
            self._poller.forget(sock.fileno())

    def _accept(self, listening: socket.socket, _events: int) -> None:
        limits, name = self._server.connection_limits, self.endpoint.listener
        for _ in range(_ACCEPTED_AT_ONCE):
            if not limits.has_room(name):
                self._is_full = True
                self._rest()
                return
            try:
                self._check_files_left(listening)
                sock, _address = listening.accept()
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno in _OUT_OF_FILES:
                    self._wait_for_files(error)
                    return
                continue  # the client has gone already
            delay_ms = limits.delay_ms(name)
            if delay_ms:
                self._rest()
                self._server.later(delay_ms, partial(self._go_on, sock))
                return
            self._admit(sock)

    def _wait_for_files(self, error: OSError) -> None:
        """They come back when connections go."""
        self._rest()
        self._server.later(_LOOK_AGAIN_MS, self._look_again)
        now_s = time.monotonic()
        if now_s - self._told_s >= _TELL_AGAIN_S:
            self._told_s = now_s
            self._server.note_exhaustion(error)

    def _look_again(self) -> None:
        if self._is_open:
            self._attend()

    def _go_on(self, sock: socket.socket) -> None:
        """With the one that came too early, and those behind it."""
        if self._is_open:
            self._admit(sock)
            self._attend()
        else:
            sock.close()

    def _admit(self, sock: socket.socket) -> None:
        limits = self._server.connection_limits
        try:
            address = address_of(sock.getpeername())
            delay_ms = limits.quota_delay_ms(address)
            if delay_ms:
                self._server.later(delay_ms, sock.close)
                return
            if limits.has_too_many(address):
                sock.close()
                return
            connection = Connection(sock, self.endpoint.listener, self._poller, self._server)
        except OSError:
            sock.close()
            return
        self.connections.add(connection)
        limits.entered(connection)

    def left(self, connection: Connection) -> None:
        """A connection is closed: there may be room for another."""
        if connection in self.connections:
            self.connections.discard(connection)
            self._server.connection_limits.left(connection)
        if self._is_full and self._is_open and self._server.connection_limits.has_room(self.endpoint.listener):
            self._is_full = False
            self._attend()

    def let_go(self) -> None:
        """Of the sockets, in a process that was forked: the poller is its parent's, and goes on with them there."""
        for sock in (*self._sockets, *(connection.socket for connection in self.connections)):
            sock.close()

    def close(self) -> None:
        """Nobody comes in any more."""
        self._is_open = False
        for sock in self._sockets:
            self._poller.forget(sock.fileno())
            sock.close()

    # What the system has to be asked for

    def _check_files_left(self, some: socket.socket) -> None:
        """OSError if the next file of this process were one of those that logs may need; `some` is any that is open."""
        allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        if allowed != resource.RLIM_INFINITY:
            # The system gives the lowest number that is free.
            next_one = os.dup(some.fileno())
            os.close(next_one)
            if next_one >= allowed - max(_FEWEST_KEPT, min(_MOST_KEPT, allowed // 8)):
                raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    def _listen(self, backlog: int) -> Sequence[socket.socket]:
        endpoint = self.endpoint
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
            is_taken = error.errno == errno.EADDRINUSE
            why = "another program listens there already" if is_taken else error.strerror or error
            raise CannotListen(
                f"cannot listen on {where} for listener {endpoint.listener}: {why}; choose another address with "
                "--listen."
            ) from None
        sock.setblocking(False)
        return [sock]
