"""kcat, the program: what shells and runbooks call."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from itertools import count
from pathlib import Path

import pytest

from compat.rounds.adapter import load
from tests.clients.broker_process import BrokerProcess
from tests.clients.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.slow

LONG_AGO = 1_700_000_000_000


@pytest.fixture
def program() -> str:
    found = shutil.which("kcat") or shutil.which("kafkacat")
    if found is None:
        if os.environ.get("BARNABAS_REQUIRE_KAFKA") == "1":
            pytest.fail("kcat is not installed")
        pytest.skip("kcat is not installed (apt-get install kcat)")
    return found


@pytest.fixture
def kcat(program: str, broker: BrokerProcess) -> Kcat:
    return Kcat(program, broker)


class Kcat:
    def __init__(self, program: str, broker: BrokerProcess) -> None:
        self.command = [program, "-b", broker.bootstrap, "-m", "20"]

    def run(self, *arguments: str, stdin: str = "") -> str:
        done = subprocess.run(
            [*self.command, *arguments], check=False, input=stdin, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, f"kcat ended with {done.returncode}: {done.stderr}"
        return done.stdout


class RunningKcat:
    """One that goes on until it is told to stop."""

    def __init__(self, kcat: Kcat, log: Path, *arguments: str) -> None:
        self._out, self._errors = log, log.with_suffix(".errors")
        with self._out.open("wb") as out, self._errors.open("wb") as errors:
            self.process = subprocess.Popen(
                [*kcat.command, *arguments], stdin=subprocess.PIPE, stdout=out, stderr=errors, text=True
            )

    def send(self, numbers: range) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("".join(f"{number}\n" for number in numbers))
        self.process.stdin.flush()

    def lines(self) -> list[str]:
        return [line.rstrip("\n") for line in self._out.read_text().splitlines(keepends=True) if line.endswith("\n")]

    def assigned(self) -> set[int]:
        """What it says last that it has been given."""
        told = re.findall(r"rebalanced \(memberid \S+\): (assigned|revoked): (.*)", self._errors.read_text())
        if not told or told[-1][0] == "revoked":
            return set()
        return {int(partition) for partition in re.findall(r"\[(\d+)\]", told[-1][1])}

    def end(self, how: signal.Signals | None = None) -> int:
        """Its exit code; without a signal its stdin ends."""
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        if how is not None:
            self.process.send_signal(how)
        return self.process.wait(PATIENCE_S)


Starter = Callable[..., RunningKcat]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Starter]:
    with ExitStack() as stack:
        numbers = count()

        def started(kcat: Kcat, *arguments: str) -> RunningKcat:
            running = RunningKcat(kcat, tmp_path / f"kcat-{next(numbers)}.out", *arguments)
            stack.callback(running.end, signal.SIGKILL)
            return running

        yield started


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


def test_a_topic_comes_with_its_first_record(kcat: Kcat, name: str) -> None:
    """kcat has no command that creates one."""
    kcat.run("-P", "-t", name, stdin="first\n")
    (found,) = json.loads(kcat.run("-L", "-J", "-t", name))["topics"]
    assert [each["partition"] for each in found["partitions"]] == [0]
    assert kcat.run("-C", "-t", name, "-e", "-q", "-f", "%p %o %s\\n") == "0 0 first\n"


def wait_for_assignment(members: list[RunningKcat], partitions: set[int]) -> None:
    def settled() -> bool:
        shares = [member.assigned() for member in members]
        return all(shares) and sorted(part for share in shares for part in share) == sorted(partitions)

    wait_until(settled, lambda: f"the partitions to be assigned: {[member.assigned() for member in members]}")


def test_members_come_and_go(kcat: Kcat, topic: str, start: Starter) -> None:
    """One joins, one dies without a word, one leaves; each record reaches somebody, and what is new only one."""
    partitions = {0, 1}
    sent: list[str] = []

    def send() -> list[str]:
        values = [str(number) for number in range(len(sent), len(sent) + 40)]
        for partition in partitions:
            lines = "".join(f"{value}\n" for value in values if int(value) % 2 == partition)
            kcat.run("-P", "-t", topic, "-p", str(partition), stdin=lines)
        sent.extend(values)
        return values

    def join(session_ms: int) -> RunningKcat:
        times = ("-X", f"session.timeout.ms={session_ms}", "-X", "heartbeat.interval.ms=200")
        return start(kcat, *times, "-X", "auto.offset.reset=earliest", "-u", "-f", "%s\\n", "-G", topic, topic)

    def check(values: list[str], *members: RunningKcat) -> None:
        wait_until(lambda: set(values) <= {line for each in members for line in each.lines()}, "the records")
        found = [line for each in members for line in each.lines() if line in set(values)]
        assert sorted(found) == sorted(values)

    stays = join(1_500)
    wait_for_assignment([stays], partitions)
    check(send(), stays)
    dies = join(1_500)
    wait_for_assignment([stays, dies], partitions)
    check(send(), stays, dies)
    dies.end(signal.SIGKILL)
    wait_for_assignment([stays], partitions)
    check(send(), stays)
    leaves = join(60_000)  # nobody waits for its session to end
    wait_for_assignment([stays, leaves], partitions)
    check(send(), stays, leaves)
    assert leaves.end(signal.SIGTERM) == 0
    wait_for_assignment([stays], partitions)
    check(send(), stays)
    assert set(sent) <= {line for each in (stays, dies, leaves) for line in each.lines()}


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_a_restart_in_the_middle(
    program: str, own_broker: Callable[..., BrokerProcess], name: str, start: Starter, how: str
) -> None:
    """Of the broker, while one kcat produces and another consumes: each record comes once, in order."""
    broker = own_broker()
    kcat = Kcat(program, broker)
    quick = ("-X", "reconnect.backoff.ms=20", "-X", "reconnect.backoff.max.ms=200", "-E", "-t", name, "-p", "0")
    kcat.run("-P", "-t", name, "-p", "0", stdin="0\n")
    reader = start(kcat, "-C", *quick, "-o", "beginning", "-u", "-q", "-f", "%o %s\\n")
    writer = start(kcat, "-P", *quick, "-X", "enable.idempotence=true", "-X", "linger.ms=1")
    writer.send(range(1, 300))
    wait_until(lambda: len(reader.lines()) > 100, "the first records")
    broker.restart(kill=how == "kill")
    writer.send(range(300, 600))
    assert writer.end() == 0
    wait_until(lambda: len(reader.lines()) >= 600, lambda: f"600 records, not {len(reader.lines())}")
    assert reader.lines() == [f"{number} {number}" for number in range(600)]
