"""kcat, the program: what shells and runbooks call."""

from __future__ import annotations

import json
import os
import shutil
import subprocess

import pytest

from tests.clients.adapter import load
from tests.clients.broker_process import BrokerProcess

pytestmark = pytest.mark.slow

LONG_AGO = 1_700_000_000_000


@pytest.fixture
def kcat(broker: BrokerProcess) -> Kcat:
    program = shutil.which("kcat") or shutil.which("kafkacat")
    if program is None:
        if os.environ.get("BARNABAS_REQUIRE_KAFKA") == "1":
            pytest.fail("kcat is not installed")
        pytest.skip("kcat is not installed (apt-get install kcat)")
    return Kcat(program, broker.bootstrap)


class Kcat:
    def __init__(self, program: str, bootstrap: str) -> None:
        self._command = [program, "-b", bootstrap, "-m", "20"]

    def run(self, *arguments: str, stdin: str = "") -> str:
        done = subprocess.run(
            [*self._command, *arguments], check=False, input=stdin, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, f"kcat ended with {done.returncode}: {done.stderr}"
        return done.stdout


@pytest.fixture
def topic(broker: BrokerProcess, name: str) -> str:
    admin = load("confluent-kafka").administer(broker.bootstrap)
    admin.create_topic(name, 2)
    admin.close()
    return name


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_produce_and_consume(kcat: Kcat, topic: str, codec: str) -> None:
    keyed = ("-K", ":", "-H", "color=red", "-z", codec, "-X", "enable.idempotence=true")
    kcat.run("-P", "-t", topic, "-p", "1", *keyed, stdin="".join(f"k{n}:v{n}\n" for n in range(50)))
    out = kcat.run("-C", "-t", topic, "-p", "1", "-o", "beginning", "-e", "-q", "-f", "%o %k %s %h\\n")
    assert out.splitlines() == [f"{n} k{n} v{n} color=red" for n in range(50)]
    last = kcat.run("-C", "-t", topic, "-p", "1", "-o", "-3", "-e", "-q", "-f", "%o\\n")
    assert last.split() == ["47", "48", "49"]


def test_metadata_and_times(kcat: Kcat, topic: str, broker: BrokerProcess) -> None:
    described = json.loads(kcat.run("-L", "-J", "-t", topic))
    assert [each["name"] for each in described["brokers"]] == [broker.bootstrap]
    (found,) = described["topics"]
    assert [(each["partition"], each["leader"], each["isrs"]) for each in found["partitions"]] == [
        (0, 1, [{"id": 1}]),
        (1, 1, [{"id": 1}]),
    ]
    producer = load("confluent-kafka").produce(broker.bootstrap)
    for number in range(10):
        producer.send(topic, b"%d" % number, timestamp=LONG_AGO + number)
    producer.flush()
    assert kcat.run("-Q", "-t", f"{topic}:0:{LONG_AGO + 4}").split() == [topic, "[0]", "offset", "4"]
    since = kcat.run("-C", "-t", topic, "-p", "0", "-o", f"s@{LONG_AGO + 7}", "-e", "-q", "-f", "%s %T\\n")
    assert since.splitlines() == [f"{number} {LONG_AGO + number}" for number in (7, 8, 9)]


def test_a_group(kcat: Kcat, topic: str) -> None:
    """What a group has had it does not get again."""
    kcat.run("-P", "-t", topic, stdin="".join(f"{n}\n" for n in range(20)))
    balanced = ("-q", "-e", "-X", "auto.offset.reset=earliest", "-G", topic, topic)
    assert sorted(map(int, kcat.run(*balanced).split())) == list(range(20))
    kcat.run("-P", "-t", topic, stdin="more\n")
    assert kcat.run(*balanced).split() == ["more"]
