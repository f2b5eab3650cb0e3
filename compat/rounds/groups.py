"""Groups of several members, each a program: who joins, who leaves, who dies without a word, and who comes back."""

from __future__ import annotations

import sys
from functools import partial
from itertools import count
from typing import Any

from compat.checks import Cannot, Stage, check, equal
from compat.rounds.adapter import ConsumerSettings
from compat.rounds.members import Member, Sender, check_once, wait_for_assignment, wait_for_values
from compat.rounds.round import Round
from tests.clients.waiting import wait_until

__all__ = ["PARTITIONS", "Group"]

PARTITIONS = 4


class Group:
    """And the topic that it reads, both called as the stage is."""

    def __init__(self, round_: Round, stage: Stage) -> None:
        self._round, self._stage = round_, stage
        self._numbers = count()
        round_.created(stage, PARTITIONS)
        self._sender = Sender(round_.producer(stage), stage.name, PARTITIONS)

    @property
    def sent(self) -> list[str]:
        return self._sender.sent

    def send(self, how_many: int) -> list[str]:
        return self._sender.send(how_many)

    def join(self, **settings: Any) -> Member:
        """It dies at the end of the check."""
        number = next(self._numbers)
        name = self._stage.name
        whole = {"group": name, "client_id": f"member-{number}", "session_timeout_ms": 1_500, **settings}
        consumer = ConsumerSettings(self._stage.bootstrap, name, **whole)
        member = Member(self._round.name, consumer, self._stage.directory / f"member-{number}.log")
        return self._stage.until_the_end.enter_context(member)


def come_and_go(round_: Round, stage: Stage, *, strategy: str) -> None:
    if strategy not in round_.client.ASSIGNORS:
        raise Cannot("this client has no such assignor")
    group = Group(round_, stage)
    first, second, third = members = [group.join(strategy=strategy) for _ in range(3)]
    wait_for_assignment(members, PARTITIONS)
    check_once(members, group.send(100))

    second.die()  # after its session's timeout the others have everything
    wait_for_assignment([first, third], PARTITIONS)
    check_once([first, third], group.send(100))

    third.leave()
    wait_for_assignment([first], PARTITIONS)
    check_once([first], group.send(100))

    fourth = group.join(strategy=strategy)
    wait_for_assignment([first, fourth], PARTITIONS)
    check_once([first, fourth], group.send(100))
    wait_for_values([*members, fourth], group.sent)


for each in ("range", "roundrobin", "sticky", "cooperative-sticky"):
    # aiokafka has no cooperative one.
    quick = each == ("roundrobin" if "aiokafka" in sys.argv else "cooperative-sticky")
    check(f"groups: members join, leave and die, assigned by {each}", quick=quick)(partial(come_and_go, strategy=each))


@check("groups: a static member comes back to what it had")
def static(round_: Round, stage: Stage) -> None:
    """Within its session, and without a rebalance: the other member is never told anything."""
    group = Group(round_, stage)
    settings = {"session_timeout_ms": 30_000}
    stays = group.join(instance="stays", **settings)
    goes = group.join(instance="goes", **settings)
    wait_for_assignment([stays, goes], PARTITIONS)
    check_once([stays, goes], group.send(40))
    had, told = set(goes.assigned), stays.assignments

    goes.die()
    back = group.join(instance="goes", **settings)
    wait_until(lambda: back.assigned == had, "the member to come back")
    check_once([stays, back], group.send(40))
    equal(stays.assignments, told)
