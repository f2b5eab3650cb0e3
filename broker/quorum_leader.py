"""Who leads the controllers, as far as a node knows that is none of them: where to ask, and whom to ask next."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import cycle
from typing import NamedTuple

import trio

from barnabas.client.address import Address

__all__ = ["QuorumLeader"]


class _Known(NamedTuple):
    id: int
    epoch: int
    address: Address | None


class QuorumLeader:
    def __init__(self, candidates: Iterable[Address]) -> None:
        """`candidates` are the controllers that the configuration names."""
        self._candidates = cycle(list(candidates))
        self._known = _Known(-1, 0, None)
        self._changed = trio.Event()

    def __repr__(self) -> str:
        return f"<QuorumLeader {self._known}>"

    @property
    def id(self) -> int:
        """-1: nobody, for all that is known."""
        return self._known.id

    @property
    def epoch(self) -> int:
        return self._known.epoch

    @property
    def address(self) -> Address | None:
        return self._known.address

    def next_candidate(self) -> Address:
        return next(self._candidates)

    def learn(self, leader_id: int, epoch: int, address: Address | None) -> bool:
        """Somebody says so. Whether that is news; what is older than what is known is none."""
        told = _Known(leader_id, epoch, address)
        known = self._known
        names_leader_of_epoch = epoch == known.epoch and leader_id >= 0 and known.address is None
        if epoch < known.epoch or (epoch == known.epoch and not names_leader_of_epoch):
            return False
        self._set(told)
        return True

    def lost(self, address: Address) -> None:
        """It does not answer there, or says that it does not lead."""
        if self._known.address == address:
            self._set(_Known(-1, self.epoch, None))

    def _set(self, known: _Known) -> None:
        self._known = known
        self._changed.set()
        self._changed = trio.Event()

    async def reachable(self) -> Address:
        """Where the leader is, as soon as that is known."""
        while (address := self.address) is None:
            await self._changed.wait()
        return address
