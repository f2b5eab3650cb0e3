"""`Broker`: a Kafka broker for one test, one module or one session, in a thread of its own.

    with Broker(partitions=3) as broker:
        ... any Kafka client, at broker.bootstrap_servers ...
        assert [record.json() for record in broker.wait_for("orders", count=2)] == [...]

It is the broker that `barnabas start` runs, with its data in memory unless it is given a directory. Its methods may be
called from any thread; what one asks of the broker is answered in the broker's loop, between two requests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from types import TracebackType
from typing import Self

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

__all__ = ["Broker"]

__tracebackhide__ = says_all


class Broker(Trouble):
    def __init__(
        self,
        *,
        data_dir: str | PathLike[str] | None = None,
        partitions: int = 1,
        settings: Mapping[str, object] | None = None,
        clock: Clock | None = None,
        port: int = 0,
    ) -> None:
        """`data_dir`: where the data lies, in Kafka's own files; None keeps it in memory, and touches no disk.
        `partitions`: of a topic of which nobody says how many it has, num.partitions.
        `settings`: Kafka's keys, as in server.properties. Two have another default here, so that tests are quick:
        offsets.topic.num.partitions=1, controlled.shutdown.enable=false.
        `port`: on 127.0.0.1; 0 for one that is free, and stays this broker's until it is closed."""
        self.clock = clock or Clock()
        self._embedded = Embedded(data_dir, partitions, settings or {}, self.clock, port)

    def __repr__(self) -> str:
        return f"<Broker at {self.bootstrap_servers}>" if self._embedded.is_open else "<Broker, closed>"

    # Where it is

    @property
    def bootstrap_servers(self) -> str:
        """For clients: "127.0.0.1:PORT"."""
        return f"{HOST}:{self.port}"

    @property
    def host(self) -> str:
        """127.0.0.1, where nobody else comes in."""
        return HOST

    @property
    def port(self) -> int:
        """The same from the first start to the end, over every restart."""
        return self._embedded.port

    # From start to end

    def start(self) -> Self:
        """Ready when this returns; BrokerFailed says in one sentence why it cannot. One that was killed goes on with
        its data, on its port."""
        was_open = self._embedded.is_open
        if not was_open:
            self._embedded.open()
        try:
            self._embedded.carry_out(lambda host: host.start())
        except BaseException:
            if not was_open:
                self._embedded.close()
            raise
        return self

    def close(self) -> None:
        """Nothing is left running; data in memory is gone, a directory has been closed cleanly."""
        self._embedded.stop_and_close()

    def kill(self) -> None:
        """As by kill -9: connections are cut, nothing more is written. `start` starts it again, with what it had."""
        self._embedded.carry_out(lambda host: host.kill())

    def restart(self) -> None:
        """A clean stop and a start: the same port, the same data."""
        self._embedded.carry_out(lambda host: host.restart())

    def __enter__(self) -> Self:
        return self if self._embedded.is_open else self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Topics

    def topics(self) -> dict[str, int]:
        """How many partitions each has; the broker's own are not among them."""
        return self._embedded.do(lambda host: listed(host.node))

    def create_topic(
        self, name: str, partitions: int | None = None, config: Mapping[str, object] | None = None
    ) -> None:
        """With num.partitions, unless it is said how many. `config` is the topic's, as retention.ms. KafkaError has the
        code that a client would get, as TOPIC_ALREADY_EXISTS."""
        self._embedded.carry_out(lambda host: create(host.node, name, partitions, config or {}))

    def delete_topic(self, name: str) -> None:
        """UnknownTopic if it is not there."""
        self._embedded.carry_out(lambda host: delete(host.node, name))

    # Records

    def produce(
        self,
        topic: str,
        value: object,
        *,
        key: object = None,
        headers: Headers = (),
        partition: int | None = None,
        timestamp: int | None = None,
    ) -> Record:
        """Have a record in a topic, without a client. Bytes are kept as they are, text as UTF-8, None is a tombstone,
        anything else becomes JSON. A key chooses the partition that Kafka's producers choose, no key the first one. No
        fault that is set meets it."""
        record = new_record(value, key, headers, timestamp)
        return self._embedded.carry_out(lambda host: append(host.node, topic, partition, record))

    def records(self, topic: str, partition: int | None = None, *, isolation: str = READ_COMMITTED) -> list[Record]:
        """What a consumer that begins at the start would be given, in the order of partitions and offsets; read from
        the log itself."""
        reader = Reader(topic, partition, isolation)
        return self._embedded.carry_out(lambda host: reader.read_there(host.node))

    def wait_for(
        self,
        topic: str,
        count: int = 1,
        timeout: float = PATIENCE_S,
        *,
        partition: int | None = None,
        matching: Callable[[Record], object] | None = None,
        isolation: str = READ_COMMITTED,
    ) -> list[Record]:
        """The topic's records, once it has so many (that `matching` takes). NotInTime, which is an AssertionError and a
        TimeoutError, says what there is instead."""
        reader = Reader(topic, partition, isolation)
        return self._embedded.carry_out(lambda host: wait_for_records(host, reader, count, timeout, matching))

    # Groups

    def groups(self) -> dict[str, Group]:
        """Their state, and who is in them with which partitions, by name."""
        return self._embedded.carry_out(lambda host: describe_groups(host.node))

    def group_offsets(self, group: str) -> dict[tuple[str, int], int]:
        """What the group has committed, by topic and partition; nothing of a group that is not there."""
        return self._embedded.carry_out(lambda host: fetch_group_offsets(host.node, group))

    def wait_for_group(self, group: str, members: int = 1, timeout: float = PATIENCE_S) -> Group:
        """The group, once it is stable with so many members, each of which has been given its partitions."""
        return self._embedded.carry_out(lambda host: wait_for_group(host, group, members, timeout))

    def wait_for_offset(
        self, group: str, topic: str, offset: int, *, partition: int = 0, timeout: float = PATIENCE_S
    ) -> dict[tuple[str, int], int]:
        """What the group has committed, once that is at least this for the partition."""
        return self._embedded.carry_out(lambda host: wait_for_offset(host, group, topic, partition, offset, timeout))
