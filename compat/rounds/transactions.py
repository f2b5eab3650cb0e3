"""Transactions: what is committed is read, what is not is not."""

from __future__ import annotations

from compat.checks import Stage, check, equal
from compat.rounds.adapter import Committed, take
from compat.rounds.round import Round
from tests.clients.waiting import wait_until


@check("transactions: what is committed is read, what is aborted only by who reads everything")
def committed_and_aborted(round_: Round, stage: Stage) -> None:
    round_.created(stage)
    producer = round_.producer(stage, transactional=stage.name)
    for number, end in enumerate((producer.commit, producer.abort, producer.commit)):
        producer.begin()
        for each in range(3):
            producer.send(stage.name, b"%d %d" % (number, each))
        producer.flush()
        end()
    for committed_only, transactions in ((True, (0, 2)), (False, (0, 1, 2))):
        consumer = round_.consumer(stage, committed_only=committed_only)
        consumer.assign(0)
        wanted = [b"%d %d" % (number, each) for number in transactions for each in range(3)]
        equal([one.value for one in take(consumer, len(wanted))], wanted)


@check("transactions: offsets are committed with the records, or not at all")
def offsets(round_: Round, stage: Stage) -> None:
    admin = round_.created(stage)
    producer = round_.producer(stage, transactional=stage.name)
    for end, offset, known in ((producer.abort, 3, {}), (producer.commit, 5, {0: Committed(5)})):
        producer.begin()
        producer.send(stage.name, b"%d" % offset)
        producer.flush()
        producer.send_offset(stage.name, stage.name, 0, offset)
        end()
        wait_until(
            lambda: admin.group_offsets(stage.name) == known,  # noqa: B023 - it is waited for
            lambda: f"{known} to be known, not {admin.group_offsets(stage.name)}",  # noqa: B023
        )


@check("transactions: who comes with the same name fences the one before", quick=False)
def fenced(round_: Round, stage: Stage) -> None:
    round_.created(stage)
    before = round_.client.produce(stage.bootstrap, transactional=stage.name)  # which may not want to be closed
    before.begin()
    before.send(stage.name, b"before")
    before.flush()
    after = round_.producer(stage, transactional=stage.name)
    after.begin()
    after.send(stage.name, b"after")
    after.flush()
    after.commit()
    try:
        before.commit()
    except Exception as refused:  # noqa: BLE001 - each client has its own
        print(f"it was fenced: {refused!r}")
    else:
        raise AssertionError("the one before could still commit")
    consumer = round_.consumer(stage, committed_only=True)
    consumer.assign(0)
    equal([one.value for one in take(consumer, 1)], [b"after"])
