"""InitProducerId: a number for an idempotent producer. Each is another one."""

from __future__ import annotations

from compat.twin.scenario import scenario
from compat.twin.twins import Twins


@scenario("InitProducerId")
def anew(twins: Twins) -> None:
    for timeout in (0, -1, 60_000, 2**31 - 1):
        twins.ask("InitProducerId", TransactionalId=None, TransactionTimeoutMs=timeout)


@scenario("InitProducerId", first=3)
def of_who_has_one(twins: Twins) -> None:
    """Without a transactional id it is no matter which."""
    had = twins.ask("InitProducerId", TransactionalId=None)["ProducerId"]
    for epoch in (0, 7, 32_767, -2):
        twins.ask("InitProducerId", TransactionalId=None, ProducerId=had, ProducerEpoch=epoch)


@scenario("InitProducerId", first=3)
def of_half_a_producer(twins: Twins) -> None:
    for producer, epoch in ((-1, 0), (5, -1), (-1, -2), (-2, -1), (-2, -2), (0, 0)):
        twins.ask("InitProducerId", TransactionalId=None, ProducerId=producer, ProducerEpoch=epoch)


@scenario("InitProducerId")
def of_an_empty_transactional_id(twins: Twins) -> None:
    twins.ask("InitProducerId", TransactionalId="", TransactionTimeoutMs=60_000)
    twins.ask("InitProducerId", TransactionalId="", TransactionTimeoutMs=-1)
    if twins.version >= 3:
        twins.ask("InitProducerId", TransactionalId="", ProducerId=5, ProducerEpoch=-1)
