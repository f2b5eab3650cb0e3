"""Rows as they were given, in their order, each once; or a sentence."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.pipeline.failures import PipelineFailed
from barnabas.testing import Broker
from tests.clients.broker_process import BrokerProcess

pytest.importorskip("confluent_kafka")

from barnabas.pipeline.writing import Place, Row, Writer
from tests.pipeline.kafka import Cluster

pytestmark = pytest.mark.slow

T = 1_700_000_000_000


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path_factory.mktemp("writing"), {"auto.create.topics.enable": "false"}) as running:
        yield running


@pytest.fixture
def cluster(process: BrokerProcess) -> Cluster:
    return Cluster(process.bootstrap)


def writer(cluster: Cluster, **properties: str) -> Writer:
    return Writer({"bootstrap.servers": cluster.bootstrap, **properties})


def test_every_kind_of_record(cluster: Cluster) -> None:
    cluster.create("kinds", 2)
    rows = [
        Row("kinds", None, None, (), T, 1),
        Row("kinds", b"", b"", (("", b""),), T + 5, 1),
        Row(
            "kinds", b"\x00\xff", bytes(range(256)), (("twice", b"\x00"), ("twice", b"\xff"), ("null", None)), T - 9, 0
        ),
        Row("kinds", b"k", b"before 1970", (("ä", b"1"),), -86_400_000, 1),
        Row("kinds", b"k", b"no timestamp", (), -1, 1),
        Row("kinds", b"k", b"1970", (), 0, 1),
    ]
    with writer(cluster) as to:
        places = to.send(rows)
    assert places == [Place(1, 0), Place(1, 1), Place(0, 0), Place(1, 2), Place(1, 3), Place(1, 4)]
    found = cluster.read("kinds", 2)
    for row, place in zip(rows, places, strict=True):
        seen = found[place.partition][place.offset]
        assert seen.content == (row.key, row.value, tuple(row.headers), row.timestamp_ms or 1)


def test_partitions_by_key_are_those_of_javas_clients(cluster: Cluster) -> None:
    cluster.create("keyed", 7)
    with writer(cluster) as to:
        places = to.send(Row("keyed", key, b"") for key in (b"", b"21", b"foobar", b"a-little-bit-long-string"))
    # From Kafka's own tests of its murmur2: the hash of each, without its sign, modulo 7.
    hashes = (275646681, -973932308, -790332482, -985981536)
    assert [place.partition for place in places] == [(number & 0x7FFFFFFF) % 7 for number in hashes]


def test_several_times_in_order_while_the_broker_is_killed(process: BrokerProcess, cluster: Cluster) -> None:
    cluster.create("killed", 2)
    sent = 0
    places: list[Place] = []
    restarting = threading.Thread(target=process.restart, kwargs={"kill": True})

    def some(count: int) -> Iterator[Row]:
        nonlocal sent
        for number in range(sent, sent + count):
            if number == 25_000:
                restarting.start()
            yield Row("killed", None, b"%d" % number, (), T + number, number % 2)
        sent += count

    with writer(cluster, **{"queue.buffering.max.messages": "1000"}) as to:
        while sent < 50_000 or restarting.is_alive():
            places += to.send(some(10_000))
    restarting.join()
    assert places == [Place(number % 2, number // 2) for number in range(sent)]
    found = cluster.read("killed", 2)
    for partition in (0, 1):
        assert [seen.value for seen in found[partition]] == [b"%d" % number for number in range(partition, sent, 2)]


def test_what_is_refused_leaves_only_a_beginning(cluster: Cluster) -> None:
    cluster.create("small", 1, {"max.message.bytes": "2000"})
    rows = [Row("small", None, b"%d" % number * (5_000 if number == 500 else 1), (), T, 0) for number in range(3_000)]
    with (
        pytest.raises(PipelineFailed, match=r"^small takes no record of such a size: raise its max\.message\.bytes\.$"),
        writer(cluster, **{"batch.num.messages": "10", "linger.ms": "0"}) as to,
    ):
        to.send(rows)
    found = [seen.value for seen in cluster.read("small", 1)[0]]
    assert found == [row.value for row in rows[: len(found)]]
    assert len(found) <= 500


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        (Row("unknown", None, b""), "There is no topic unknown to write to: create it."),
        (Row("one", None, b"", partition=3), "one has fewer partitions than are written to: add some."),
        (Row("one", None, b"", timestamp_ms=T), "one takes no record of such an age"),
    ],
)
def test_what_cannot_be_written(cluster: Cluster, row: Row, sentence: str) -> None:
    if "one" not in cluster.admin.list_topics(timeout=10).topics:
        cluster.create("one", 1, {"message.timestamp.before.max.ms": "60000"})
    with (
        pytest.raises(PipelineFailed, match=f"^{sentence}"),
        writer(cluster, **{"topic.metadata.propagation.max.ms": "100"}) as to,
    ):
        to.send([row])


def test_a_cluster_that_is_not_there(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path) as running:
        gone = Cluster(running.bootstrap)
        gone.create("orders", 1)
    with (
        pytest.raises(
            PipelineFailed, match=r"^The cluster has taken no record for 1 s: .*refused.*\. Start its brokers"
        ),
        writer(gone, **{"message.timeout.ms": "1000"}) as to,
    ):
        to.send([Row("orders", None, b"", partition=0)])


def test_a_cluster_without_transactions() -> None:
    with Broker() as broker:
        properties = {"bootstrap.servers": broker.bootstrap_servers, "message.timeout.ms": "1000"}
        with pytest.raises(PipelineFailed, match=r"begins no transaction: .* Set transactional = false"):
            Writer(properties, transactional_id="feed")


def test_properties_that_nobody_knows() -> None:
    with pytest.raises(
        PipelineFailed, match=r'^The writer\'s properties are wrong: No such configuration property: "no'
    ):
        Writer({"bootstrap.servers": "127.0.0.1:9", "no.such": "1"})
