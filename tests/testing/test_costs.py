"""What a broker in a test costs: nothing that stays, no disk, and a moment."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from barnabas.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.testing import Broker
from tests.kafka.client import RawClient

WARM_MS = 150
COLD_TRIOS = 4
"""How many times what Python takes to start and load trio, which is about half of it: so that the machine, and who
else uses it, do not matter. Where trio takes a tenth of a second these are the 400 ms."""
BROKERS = 1_000
GROWTH_KIB = 15_000
"""Of a thousand brokers: fifty kilobytes that one leaves behind would be three times as much."""


def first_answer(broker: Broker) -> None:
    with RawClient(broker.host, broker.port) as client:
        assert client.ask(ApiVersionsRequest(), 0, ApiVersionsResponse).error_code == 0


def test_in_a_warm_python_the_first_answer_comes_in_a_moment(figure: Callable[[str], None]) -> None:
    least_ms = 1e9
    for _ in range(10):
        began_s = time.perf_counter()
        with Broker() as broker:
            first_answer(broker)
            least_ms = min(least_ms, (time.perf_counter() - began_s) * 1000)
    figure(f"from construction to the first answer, in a warm Python: {least_ms:.1f} ms at the best")
    assert least_ms < WARM_MS


FIRST_ANSWER = """
import socket
from barnabas.testing import Broker
with Broker() as broker, socket.create_connection((broker.host, broker.port)) as connection:
    connection.sendall(bytes.fromhex("0000000a0012000000000001ffff"))  # ApiVersions 0
    assert connection.recv(1000)
"""


def cpu_ms(code: str, compiled: Path) -> float:
    """Of a new Python, user and system; what it compiles is kept there, as pip keeps it beside the code."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = os.times()
    subprocess.run([sys.executable, "-X", f"pycache_prefix={compiled}", "-c", code], check=True, env=environment)
    after = os.times()
    return (after.children_user + after.children_system - before.children_user - before.children_system) * 1000


@pytest.mark.slow
def test_a_new_python_has_its_first_answer_soon(figure: Callable[[str], None], tmp_path: Path) -> None:
    turns = [(cpu_ms("import trio", tmp_path), cpu_ms(FIRST_ANSWER, tmp_path)) for _ in range(5)]
    trio_ms, all_ms = (min(times) for times in zip(*turns, strict=True))
    figure(f"python -c to the first answer: {all_ms:.0f} ms of CPU, with trio alone {trio_ms:.0f}")
    assert all_ms < COLD_TRIOS * trio_ms


def test_it_loads_nothing_that_the_first_request_does_not_need() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FIRST_ANSWER + "\nimport sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(done.stdout.split())
    needless = {"asyncio", "kafka", "pytest", "barnabas.testing.async_broker", "barnabas.coordination.groups"}
    needless |= {"barnabas.testing.refusals", "barnabas.broker.group_coordinator", "barnabas.broker.producing"}
    assert not loaded & needless


ONE_AFTER_ANOTHER = """
import gc, os, socket, threading
from barnabas.testing import Broker, Clock

def live_and_end():
    with Broker(clock=shared) as broker, socket.create_connection((broker.host, broker.port)) as connection:
        broker.produce("orders", bytes(10_000))
        connection.sendall(bytes.fromhex("0000000a0012000000000001ffff"))  # ApiVersions 0
        assert connection.recv(1000)

def left():
    gc.collect()
    with open("/proc/self/status") as status:
        resident_kib = int(status.read().partition("VmRSS:")[2].split()[0])
    # Threads that trio keeps for the next work in one are nobody's.
    threads = sum(not thread.name.startswith("Trio thread") for thread in threading.enumerate())
    return resident_kib, len(os.listdir("/proc/self/fd")), threads

shared = Clock()
for _ in range(20):
    live_and_end()
before = left()
for _ in range(BROKERS):
    live_and_end()
after = left()
assert after[1:] == before[1:], (before, after)
assert not shared._on_advance
print(after[0] - before[0])
"""


@pytest.mark.slow
def test_a_thousand_brokers_leave_nothing_behind(figure: Callable[[str], None]) -> None:
    """In a Python of their own: how the memory of one that has run tests is broken up depends on those."""
    code = ONE_AFTER_ANOTHER.replace("BROKERS", str(BROKERS))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    grown_kib = int(done.stdout)
    figure(f"{BROKERS} brokers, one after another: {grown_kib} KiB more than before")
    assert grown_kib < GROWTH_KIB


IN_MEMORY = """
import os, sys
from kafka import KafkaConsumer, KafkaProducer
from barnabas.testing import Broker  # trio asks ldconfig for a library when it is loaded

touched = []
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
OTHERS = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.truncate", "os.utime", "subprocess.Popen"}

def audit(event, arguments):
    if event == "open" and arguments[2] is not None and arguments[2] & WRITING or event in OTHERS:
        touched.append((event, arguments))

sys.addaudithook(audit)

def written():
    return int(open("/proc/self/io").read().partition("\\nwrite_bytes: ")[2].split()[0])

def live():
    with Broker(partitions=2) as broker:
        broker.create_topic("state", partitions=1, config={"cleanup.policy": "compact", "segment.ms": 3600000})
        producer = KafkaProducer(bootstrap_servers=broker.bootstrap_servers)
        for number in range(100):
            producer.send("orders", bytes(10_000))
            producer.send("state", b"value", key=b"key")
        producer.flush()
        broker.wait_for("orders", count=100)
        consumer = KafkaConsumer(
            "orders", bootstrap_servers=broker.bootstrap_servers, group_id="g", auto_offset_reset="earliest"
        )
        next(consumer)
        consumer.close()
        producer.close()
        broker.clock.advance(hours=2)
        broker.produce("state", "rolls the segment", key="other")
        broker.clock.advance(hours=2)
        assert len(broker.records("state")) < 100
        broker.restart()
        broker.delete_topic("orders")
        broker.clock.advance(hours=2)
        broker.kill()
        broker.start()
        assert "state" in broker.topics()

live()  # what Python loads meanwhile it reads, and the file system writes down when it was read
before = written()
live()
assert not touched, touched
assert written() == before, (before, written())
print("no disk")
"""


@pytest.mark.slow
def test_in_memory_no_disk_is_touched(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-B", "-c", IN_MEMORY], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert (done.stdout, done.stderr) == ("no disk\n", "")
    assert list(tmp_path.iterdir()) == []
