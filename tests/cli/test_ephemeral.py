"""`barnabas start --ephemeral`: what the test suites of other languages start, ask and leave behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from compat.rounds.adapter import JAVA, ConsumerSettings, load, take
from tests.cli.starting import READY_S, StartedBroker

pytestmark = pytest.mark.slow

KAFKAS_FILE = """
process.roles=broker,controller
node.id=7
controller.quorum.bootstrap.servers=localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
log.dirs=/nowhere/kraft-combined-logs
num.partitions=3
"""


def told_by(file: Path) -> Mapping[str, Any]:
    told: Mapping[str, Any] = json.loads(file.read_text())
    return told


@pytest.fixture
def ready_file(tmp_path: Path) -> Path:
    return tmp_path / "ready.json"


@pytest.fixture
def broker(tmp_path: Path, ready_file: Path) -> Iterator[StartedBroker]:
    arguments = ("--ephemeral", "--ready-file", str(ready_file))
    with StartedBroker(tmp_path / "here", *arguments, listen=None) as started:
        yield started.wait_ready()


def test_kcat_finds_it_by_its_ready_file(broker: StartedBroker, ready_file: Path) -> None:
    kcat = shutil.which("kcat") or shutil.which("kafkacat")
    if kcat is None:
        if os.environ.get("BARNABAS_REQUIRE_KAFKA") == "1":
            pytest.fail("kcat is not installed")
        pytest.skip("kcat is not installed (apt-get install kcat)")
    ready = told_by(ready_file)
    assert ready == {name: broker.banner[name] for name in ("bootstrap_servers", "pid", "cluster_id")}
    assert ready["pid"] == broker.process.pid
    asked = [kcat, "-b", ready["bootstrap_servers"], "-t", "orders", "-m", "20"]
    subprocess.run([*asked, "-P", "-K", ":"], input="a:1\nb:2\n", text=True, check=True, timeout=60)
    done = subprocess.run([*asked, "-C", "-e", "-q", "-K", ":"], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "a:1\nb:2\n"
    broker.signal()
    assert (broker.wait(), broker.errors) == (0, "")
    assert not ready_file.exists()
    assert list(broker.directory.iterdir()) == []


@pytest.mark.java
def test_the_java_client_uses_it(kafka_classpath: str, broker: StartedBroker, ready_file: Path) -> None:
    java, bootstrap = load(JAVA), told_by(ready_file)["bootstrap_servers"]
    admin, producer = java.administer(bootstrap), java.produce(bootstrap)
    consumer = java.consume(ConsumerSettings(bootstrap, "orders", group="billing"))
    try:
        admin.create_topic("orders", 2)
        for number in range(10):
            producer.send("orders", b"%d" % number)
        producer.flush()
        consumer.subscribe()
        assert sorted(int(each.value or b"") for each in take(consumer, 10)) == list(range(10))
    finally:
        for each in (admin, producer, consumer):
            each.close()


PARENT = """
import subprocess, sys, threading
command = [sys.executable, "-m", "barnabas.cli", "start", "--ephemeral", "--json"]
thread = threading.Thread(target=subprocess.Popen, args=(command,))
thread.start()
thread.join()
sys.stdin.read()
"""


def test_it_ends_with_the_process_that_started_it_and_not_with_the_thread(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", PARENT], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as parent:
        watchdog = threading.Timer(READY_S, parent.kill)
        watchdog.start()
        assert parent.stdout is not None
        ready = next(line for line in map(json.loads, parent.stdout) if line.get("event") == "ready")
        # The thread that started it is long gone.
        assert b"localhost" not in subprocess.check_output(
            [sys.executable, "-m", "barnabas.cli.health", ready["bootstrap_servers"]]
        )
        parent.send_signal(signal.SIGKILL)
        # The broker holds the other end of this pipe: it is over when the broker is.
        told = [json.loads(line)["message"] for line in parent.stdout]
        watchdog.cancel()
    assert told == [
        f"process {parent.pid}, which started this broker, has ended: the broker stops",
        "the broker has stopped",
    ]


def test_data_that_has_to_be_on_a_disk_is_in_a_directory_that_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    durable = ("--ephemeral", "--set", "barnabas.durability=fsync")
    with StartedBroker(tmp_path / "here", *durable, listen=None) as broker:
        (directory,) = map(Path, broker.wait_ready().banner["directories"])
        assert directory.parent == tmp_path
        assert (directory / "meta.properties").exists()
        assert broker.banner["durability"] == "fsync"
        broker.signal()
        assert (broker.wait(), broker.errors) == (0, "")
    assert not directory.exists()
    assert list((tmp_path / "here").iterdir()) == []


def test_a_file_of_somebodys_broker_tells_how_it_is_and_not_where(tmp_path: Path) -> None:
    """Two at once: neither has that broker's ports, nor its data."""
    file = tmp_path / "server.properties"
    file.write_text(KAFKAS_FILE)
    arguments = ("--ephemeral", "--config", str(file))
    with (
        StartedBroker(tmp_path / "one", *arguments, listen=None) as one,
        StartedBroker(tmp_path / "other", *arguments, listen=None) as other,
    ):
        ports = set()
        for broker in (one, other):
            assert broker.wait_ready().banner["node_id"] == 7
            assert broker.banner["durability"] == "memory"
            with broker.client() as client:
                assert client is not None
            ports.add(broker.banner["bootstrap_servers"])
        assert len(ports) == 2
        assert not any(port.endswith((":9092", ":9093")) for port in ports)
