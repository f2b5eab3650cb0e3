"""The brokers of one run of pytest (with pytest-xdist: of one worker): the session's, and those of single tests.

Only a test that asks for a fixture brings this file in (pytest_plugin.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from types import TracebackType
from typing import NamedTuple, Self

import pytest

from barnabas.client.errors import ClientError
from barnabas.protocol.errors import KafkaError
from barnabas.testing.broker import Broker
from barnabas.testing.errors import BrokerFailed, UnknownTopic
from barnabas.testing.faults import Fault
from barnabas.testing.marking import Wish, topic_name
from barnabas.testing.real_kafka import RealKafka

__all__ = ["Kafka", "KafkaOfSession", "fresh_topic"]

Kafka = Broker | RealKafka


class KafkaOfSession:
    def __init__(self, bootstrap: str, settings: Mapping[str, str]) -> None:
        self._bootstrap = bootstrap
        self._settings = settings
        self._until_the_end = ExitStack()
        self._of_all: Kafka | None = None
        self._before: _State | None = None

    @property
    def broker(self) -> Kafka:
        """Started for the first test that asks."""
        if self._of_all is None:
            kafka = _cluster(self._bootstrap) if self._bootstrap else _started(self._settings)
            self._until_the_end.callback(kafka.close)
            self._of_all = kafka
        return self._of_all

    @contextmanager
    def own_broker(self, wish: Wish) -> Iterator[Broker]:
        if self._bootstrap:
            pytest.skip(f"it wants a broker of its own, and --kafka-bootstrap names {self._bootstrap}")
        with closing(_started({**self._settings, **wish.settings})) as broker:
            yield broker

    def remember(self) -> None:
        """How the broker of all tests is now."""
        self._before = _State.of(self._of_all) if isinstance(self._of_all, Broker) else None

    def restore(self) -> None:
        """What has been done to it since: if it ran it runs, and it has no faults more."""
        before, self._before = self._before, None
        if before is not None:
            assert isinstance(self._of_all, Broker)
            before.restore(self._of_all)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._until_the_end.close()


class _State(NamedTuple):
    is_up: bool
    is_paused: bool
    is_frozen: bool
    faults: tuple[Fault, ...]

    @classmethod
    def of(cls, broker: Broker) -> _State:
        embedded = broker._embedded
        is_up = embedded.is_open and embedded.host.is_up
        return cls(is_up, embedded.interception.is_paused, broker.clock.is_frozen, tuple(embedded.faults))

    def restore(self, broker: Broker) -> None:
        now = _State.of(broker)
        for fault in now.faults:
            if fault not in self.faults:
                fault.undo()
        if self.is_up and not now.is_up:
            broker.start()
        if now.is_paused and not self.is_paused:
            broker.resume()
        if now.is_frozen and not self.is_frozen:
            broker.clock.thaw()


def _cluster(bootstrap: str) -> RealKafka:
    try:
        kafka = RealKafka(bootstrap)
        kafka.topics()
    except ClientError as error:
        problem = str(error)
    else:
        return kafka
    pytest.fail(f"--kafka-bootstrap {bootstrap}: {problem}", pytrace=False)


def _started(settings: Mapping[str, object]) -> Broker:
    others = dict(settings)
    try:
        partitions = int(str(others.pop("num.partitions", 1)))
        return Broker(partitions=partitions, settings=others).start()
    except (BrokerFailed, ValueError) as error:
        problem = str(error)
    pytest.fail(f"kafka_settings or @pytest.mark.kafka(settings=...): {problem}", pytrace=False)


@contextmanager
def fresh_topic(kafka: Kafka, test: str, wish: Wish) -> Iterator[str]:
    if not hasattr(kafka, "create_topic"):
        kind = type(kafka).__name__
        pytest.fail(
            f"kafka_topic needs Barnabas's fixture kafka, and this project has its own, a {kind}.", pytrace=False
        )
    name = topic_name(test)
    problem = ""
    try:
        kafka.create_topic(name, partitions=wish.partitions, config=wish.config)
    except (KafkaError, ClientError) as error:
        problem = str(error)
    if problem:
        pytest.fail(f"@pytest.mark.kafka(partitions=..., config=...): {problem}", pytrace=False)
    yield name
    # The test may have deleted it, or its broker.
    with suppress(UnknownTopic, KafkaError, BrokerFailed, ClientError):
        kafka.delete_topic(name)
