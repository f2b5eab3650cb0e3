"""Offsets that are committed, and who goes on from them."""

from __future__ import annotations

from compat.checks import Cannot, Stage, check, equal
from compat.rounds.adapter import Committed, take
from compat.rounds.round import Round
from tests.clients.waiting import wait_until


@check("offsets: committed by hand, with metadata and without")
def by_hand(round_: Round, stage: Stage) -> None:
    admin = round_.created(stage, partitions=2)
    for partition in range(2):
        round_.send(stage, 10, partition)
    member = round_.consumer(stage, group=stage.name)
    member.subscribe()
    equal(len(take(member, 20)), 20)
    equal(member.committed(0), None)
    third = Committed(3, "the third, or so")
    member.commit({0: third})
    equal((member.committed(0), member.committed(1)), (third, None))
    equal(admin.group_offsets(stage.name), {0: third})
    member.commit()
    equal([member.committed(each) for each in (0, 1)], [Committed(10), Committed(10)])


@check("offsets: who comes later goes on from them, and commits by itself")
def by_itself(round_: Round, stage: Stage) -> None:
    admin = round_.created(stage)
    round_.send(stage, 10)
    first = round_.client.consume(round_.settings(stage, group=stage.name))
    first.subscribe()
    take(first, 10)
    first.commit()
    first.close()
    round_.send(stage, 6)
    later = round_.consumer(stage, group=stage.name, auto_commit_ms=100)
    later.subscribe()
    equal([one.offset for one in take(later, 6)], list(range(10, 16)))

    def is_committed() -> bool:
        later.poll(0.05)
        return admin.group_offsets(stage.name) == {0: Committed(16)}

    wait_until(is_committed, "the consumer to commit by itself")
    equal(later.bounds(0)[1], 16)


@check("offsets: a group is reset and deleted")
def reset(round_: Round, stage: Stage) -> None:
    if round_.client.ADMIN_CANNOT:
        raise Cannot("this client has no call for it")
    admin = round_.created(stage)
    round_.send(stage, 10)
    member = round_.client.consume(round_.settings(stage, group=stage.name))
    member.subscribe()
    take(member, 10)
    member.commit()
    member.close()
    admin.set_group_offset(stage.name, stage.name, 0, 7)
    equal(admin.group_offsets(stage.name), {0: Committed(7)})
    assert stage.name in admin.groups(), "the group is not listed"
    admin.delete_group(stage.name)
    assert stage.name not in admin.groups(), "the group is still listed"
    equal(admin.group_offsets(stage.name), {})
