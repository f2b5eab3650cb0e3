"""The group protocol of KIP-848, in which the broker assigns."""

from __future__ import annotations

from compat.checks import Cannot, Stage, check, equal
from compat.rounds.adapter import Committed, take
from compat.rounds.groups import PARTITIONS, Group
from compat.rounds.members import check_once, wait_for_assignment
from compat.rounds.round import Round

JOINED_S = 12.0


def need(round_: Round) -> None:
    if not round_.client.HAS_NEXT_PROTOCOL:
        raise Cannot("this client has it not yet")


@check("next groups: a member reads, commits and is followed by another")
def one(round_: Round, stage: Stage) -> None:
    need(round_)
    admin = round_.created(stage)
    round_.send(stage, 10)
    first = round_.client.consume(round_.settings(stage, group=stage.name, next_protocol=True))
    first.subscribe()
    take(first, 10, JOINED_S)
    first.commit()
    equal(admin.group_state(stage.name), ("stable", 1))
    first.close()
    equal(admin.group_offsets(stage.name), {0: Committed(10)})
    round_.send(stage, 5)
    second = round_.consumer(stage, group=stage.name, next_protocol=True)
    second.subscribe()
    equal([each.offset for each in take(second, 5, JOINED_S)], list(range(10, 15)))


@check("next groups: members join and leave", quick=False)
def several(round_: Round, stage: Stage) -> None:
    need(round_)
    group = Group(round_, stage)
    first, second = members = [group.join(next_protocol=True) for _ in range(2)]
    wait_for_assignment(members, PARTITIONS)
    check_once(members, group.send(100))
    second.leave()
    wait_for_assignment([first], PARTITIONS)
    check_once([first], group.send(100))
    third = group.join(next_protocol=True)
    wait_for_assignment([first, third], PARTITIONS)
    check_once([first, third], group.send(100))
