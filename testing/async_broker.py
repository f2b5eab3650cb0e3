"""`AsyncBroker`: the same for tests that run in a loop of trio or asyncio, whichever it finds.

    async with AsyncBroker() as broker:
        await producer.send("orders", ...)
        records = await broker.wait_for("orders", count=1)

The broker has its own thread and loop all the same: a test that computes does not keep it from answering. What only
sets something (faults, the clock) is an ordinary method, as in `Broker`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from barnabas.testing.awaiting import awaited
from barnabas.testing.broker import Broker
from barnabas.testing.clock import Clock
from barnabas.testing.embedded import Embedded
from barnabas.testing.errors import says_all
from barnabas.testing.groups import Group, describe_groups, fetch_group_offsets
from barnabas.testing.host import HOST
from barnabas.testing.reading import READ_COMMITTED, Reader
from barnabas.testing.record import Record
from barnabas.testing.topics import Headers, append, create, delete, listed, new_record
from barnabas.testing.trouble import Trouble
from barnabas.testing.waiting import PATIENCE_S, wait_for_group, wait_for_offset, wait_for_records

if TYPE_CHECKING:
    from barnabas.testing.host import Host

__all__ = ["AsyncBroker"]

__tracebackhide__ = says_all

T = TypeVar("T")


class AsyncBroker(Trouble):
    """`Broker`, with methods to be awaited."""

    def __init__(
        self,
        *,
        data_dir: str | PathLike[str] | None = None,
        partitions: int = 1,
        settings: Mapping[str, object] | None = None,
        clock: Clock | None = None,
        port: int = 0,
    ) -> None:
        self.clock = clock or Clock()
        self._embedded = Embedded(data_dir, partitions, settings or {}, self.clock, port)

    def __repr__(self) -> str:
        return f"<AsyncBroker at {self.bootstrap_servers}>" if self._embedded.is_open else "<AsyncBroker, closed>"

    @property
    def bootstrap_servers(self) -> str:
        return f"{HOST}:{self.port}"

    @property
    def host(self) -> str:
        return HOST

    @property
    def port(self) -> int:
        return self._embedded.port

    async def _carry_out(self, action: Callable[[Host], Awaitable[T]]) -> T:
        promise = self._embedded.begin(action)
        return await awaited(promise, lambda: self._embedded.give_up(promise))

    # From start to end

    async def start(self) -> Self:
        was_open = self._embedded.is_open
        if not was_open:
            self._embedded.open()
        try:
            await self._carry_out(lambda host: host.start())
        except BaseException:
            if not was_open:
                self._embedded.close()
            raise
        return self

    async def close(self) -> None:
        """Also where the test is cancelled; it takes milliseconds, and is not interrupted."""
        self._embedded.stop_and_close()

    async def kill(self) -> None:
        await self._carry_out(lambda host: host.kill())

    async def restart(self) -> None:
        await self._carry_out(lambda host: host.restart())

    async def __aenter__(self) -> Self:
        return self if self._embedded.is_open else await self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # Topics

    async def topics(self) -> dict[str, int]:
        async def look(host: Host) -> dict[str, int]:
            return listed(host.node)

        return await self._carry_out(look)

    async def create_topic(
        self, name: str, partitions: int | None = None, config: Mapping[str, object] | None = None
    ) -> None:
        await self._carry_out(lambda host: create(host.node, name, partitions, config or {}))

    async def delete_topic(self, name: str) -> None:
        await self._carry_out(lambda host: delete(host.node, name))

    # Records

    async def produce(
        self,
        topic: str,
        value: object,
        *,
        key: object = None,
        headers: Headers = (),
        partition: int | None = None,
        timestamp: int | None = None,
    ) -> Record:
        record = new_record(value, key, headers, timestamp)
        return await self._carry_out(lambda host: append(host.node, topic, partition, record))

    async def records(
        self, topic: str, partition: int | None = None, *, isolation: str = READ_COMMITTED
    ) -> list[Record]:
        reader = Reader(topic, partition, isolation)
        return await self._carry_out(lambda host: reader.read_there(host.node))

    async def wait_for(
        self,
        topic: str,
        count: int = 1,
        timeout: float = PATIENCE_S,
        *,
        partition: int | None = None,
        matching: Callable[[Record], object] | None = None,
        isolation: str = READ_COMMITTED,
    ) -> list[Record]:
        reader = Reader(topic, partition, isolation)
        return await self._carry_out(lambda host: wait_for_records(host, reader, count, timeout, matching))

    # Groups

    async def groups(self) -> dict[str, Group]:
        return await self._carry_out(lambda host: describe_groups(host.node))

    async def group_offsets(self, group: str) -> dict[tuple[str, int], int]:
        return await self._carry_out(lambda host: fetch_group_offsets(host.node, group))

    async def wait_for_group(self, group: str, members: int = 1, timeout: float = PATIENCE_S) -> Group:
        return await self._carry_out(lambda host: wait_for_group(host, group, members, timeout))

    async def wait_for_offset(
        self, group: str, topic: str, offset: int, *, partition: int = 0, timeout: float = PATIENCE_S
    ) -> dict[tuple[str, int], int]:
        return await self._carry_out(lambda host: wait_for_offset(host, group, topic, partition, offset, timeout))


for _name, _method in vars(Broker).items():
    if not _name.startswith("_") and (_own := vars(AsyncBroker)[_name]).__doc__ is None:
        _own.__doc__ = _method.__doc__
