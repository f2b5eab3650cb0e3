"""`--ephemeral`: a broker for the tests of whoever starts it: a port of its own, nothing on the disk, and there for no
longer than the process that started it.

Who started it may be killed, and then stops nothing; so the broker looks after its parent. That is no signal that the
system sends when the parent dies (PR_SET_PDEATHSIG): it is sent when the thread that started the broker ends, and test
runners start processes from threads that come and go.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import trio

__all__ = ["ANY_PORT", "DIRECTORY_KEYS", "ID_KEYS", "PLACES", "ephemeral_settings", "parent_gone", "without_places"]

ANY_PORT = "127.0.0.1:0"
_LOOK_AGAIN_S = 0.25
_MEMORY = "memory"
_IN_MEMORY = "/in-memory"
"""No such directory is looked for: it is a name in a disk that is none."""

DIRECTORY_KEYS = frozenset({"log.dir", "log.dirs", "metadata.log.dir"})
ID_KEYS = frozenset({"node.id", "broker.id"})
PLACES = DIRECTORY_KEYS | {
    "advertised.listeners",
    "controller.listener.names",
    "controller.quorum.bootstrap.servers",
    "controller.quorum.voters",
    "early.start.listeners",
    "inter.broker.listener.name",
    "listener.security.protocol.map",
    "listeners",
    "process.roles",
    "security.inter.broker.protocol",
}
"""Keys of a file that say where its own broker is, with whom, and where it keeps its data: this one has one listener of
its own, knows nobody, and touches no such data."""


def without_places(file: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in file.items() if key not in PLACES}


@contextmanager
def ephemeral_settings(given: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """What is said of the data's place, over what else is given; the directory, if there is one, goes in the end."""
    if given.get("barnabas.durability", _MEMORY) == _MEMORY:
        yield {"barnabas.durability": _MEMORY, "log.dirs": _IN_MEMORY}
        return
    with tempfile.TemporaryDirectory(prefix="barnabas-", ignore_cleanup_errors=True) as directory:
        yield {"log.dirs": directory}


async def parent_gone(parent: int) -> None:
    """Returns when that process, which was the parent at the start, is not the parent any more."""
    while os.getppid() == parent:
        await trio.sleep(_LOOK_AGAIN_S)
