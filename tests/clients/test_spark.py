"""PySpark's Kafka source and sink, whose broker is killed and started again: from its checkpoint, once each record."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from compat.rounds.adapter import load
from compat.spark.stream import PARTITIONS, SPARK_S, Topics, spark
from tests.clients.broker_process import BrokerProcess
from tests.clients.waiting import wait_until
from tests.spark_jars import jars_or_skip

pytestmark = pytest.mark.slow


@pytest.fixture(scope="session")
def jars() -> str:
    return jars_or_skip()


def test_a_stream(own_broker: Callable[..., BrokerProcess], jars: str, name: str, tmp_path: Path) -> None:
    broker = own_broker()
    client = load("confluent-kafka")
    admin = client.administer(broker.bootstrap)
    topics = Topics(client, broker.bootstrap, name)
    admin.create_topic(topics.source, PARTITIONS)

    with spark(
        tmp_path / "spark.log", jars, broker.bootstrap, topics.source, topics.target, str(tmp_path / "checkpoint")
    ) as ask:
        topics.produce(range(1_000))
        assert ask(take="on") == {}
        wait_until(lambda: topics.target in admin.topics(), "the sink to have its topic made", SPARK_S)
        wait_until(lambda: topics.end() >= 1_000, "the stream to begin", SPARK_S)
        broker.restart(kill=True)
        topics.produce(range(1_000, 1_600))
        wait_until(lambda: topics.end() >= 1_600, "the stream to go on", SPARK_S)
        assert ask(take="stop") == {"rows": 1_600}
        topics.check(1_600)

        topics.produce(range(1_600, 1_900))
        broker.restart()
        assert ask(take="all", fail_on_data_loss=True) == {"rows": 300}
        topics.check(1_900)
    admin.close()
