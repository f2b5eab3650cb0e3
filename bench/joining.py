"""A group that many members join at once, on the protocol itself: as soon as one is answered, it says what comes next.

Of the classic protocol. A rebalance ends when all members that are known have joined: those whose generation has not
all of them join again.
"""

from __future__ import annotations

import selectors
import time
from collections.abc import Sequence
from typing import Any

from compat.wire.connection import Connection

__all__ = ["join_together"]

JOIN, SYNC = ("JoinGroup", 7), ("SyncGroup", 5)
MEMBER_ID_REQUIRED, REBALANCE_IN_PROGRESS = 79, 27
SESSION_MS = 60_000
PATIENCE_S = 60.0


def join_together(connections: Sequence[Connection], group: str) -> float:
    """Seconds until each of them is a member of one generation, and has its assignment."""
    members = [_Member(connection, group, len(connections)) for connection in connections]
    began = time.perf_counter()
    with selectors.DefaultSelector() as selector:
        for member in members:
            selector.register(member.connection, selectors.EVENT_READ, member)
            member.join()
        while not all(member.is_settled for member in members):
            ready = selector.select(PATIENCE_S)
            if not ready:
                raise TimeoutError(f"{group} is not complete, and nobody was answered for {PATIENCE_S:.0f} s")
            for key, _ in ready:
                key.data.go_on()
    return time.perf_counter() - began


class _Member:
    def __init__(self, connection: Connection, group: str, all_of_them: int) -> None:
        self.connection = connection
        self.is_settled = False
        self._group, self._all_of_them = group, all_of_them
        self._id = ""
        self._joins = True

    def join(self) -> None:
        self._joins = True
        self.connection.send(
            *JOIN,
            GroupId=self._group,
            MemberId=self._id,
            SessionTimeoutMs=SESSION_MS,
            RebalanceTimeoutMs=SESSION_MS,
            ProtocolType="consumer",
            Protocols=[{"Name": "range", "Metadata": b"bench"}],
        )

    def go_on(self) -> None:
        answer = self.connection.receive()
        code = answer["ErrorCode"]
        if code == (MEMBER_ID_REQUIRED if self._joins else REBALANCE_IN_PROGRESS):
            self._id = answer.get("MemberId", self._id)
            self.join()
        elif code:
            raise RuntimeError(
                f"{self._group}: the broker refused {'JoinGroup' if self._joins else 'SyncGroup'}: {code}"
            )
        elif not self._joins:
            self.is_settled = True
        elif answer["Leader"] == self._id and len(answer["Members"]) < self._all_of_them:
            self.join()
        else:
            self._sync(answer)

    def _sync(self, answer: dict[str, Any]) -> None:
        self._joins = False
        assignments = [{"MemberId": each["MemberId"], "Assignment": b"bench"} for each in answer["Members"]]
        self.connection.send(
            *SYNC,
            GroupId=self._group,
            GenerationId=answer["GenerationId"],
            MemberId=self._id,
            ProtocolType="consumer",
            ProtocolName="range",
            Assignments=assignments,
        )
