"""Two thousand clients, a thousand topics and everybody who behaves badly, at once: the others notice nothing."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pytest

from barnabas.cli.start import allow_all_files
from barnabas.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from tests.cli.starting import StartedBroker
from tests.clients.waiting import wait_until
from tests.kafka.client import RawClient

from .asking import create as create_one
from .asking import produce
from .attackers import (
    Attacker,
    Bombers,
    ByteByByte,
    Comers,
    Deaf,
    LongPolls,
    Mute,
    Pipeliner,
    SlowSenders,
    Talkers,
)
from .healthy_clients import PAIRS
from .test_large_batches import bomb

REPOSITORY = Path(__file__).parents[2]
MEBIBYTE = 1 << 20
TOPICS = 1_000
CLIENTS = 2_000
MUTE = 1_000
MEMORY = 32 * MEBIBYTE
"""The broker's bounds, one for requests and one for answers."""
PHASE_S = 5
TURNS = 15
"""Of each kind at least: more than there are kinds of nonsense."""


@dataclass(frozen=True, slots=True)
class Use:
    """What the broker's process uses, in KiB, files and threads."""

    resident: int
    anonymous: int
    files: int
    threads: int

    @classmethod
    def of(cls, pid: int) -> Self:
        process = Path(f"/proc/{pid}")
        sizes = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
        resident, anonymous = (int(sizes[name].split()[0]) for name in ("VmRSS", "RssAnon"))
        return cls(resident, anonymous, len(os.listdir(process / "fd")), int(sizes["Threads"]))  # noqa: PTH208

    def __str__(self) -> str:
        return (
            f"{self.resident / 1024:5.0f} MiB resident, {self.anonymous / 1024:5.0f} anonymous, "
            f"{self.files:5d} files, {self.threads:2d} threads"
        )


class Healthy:
    """The clients of healthy_clients.py."""

    def __init__(self, address: tuple[str, int]) -> None:
        command = [sys.executable, "-m", "tests.broker.healthy_clients", address[0], str(address[1])]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=REPOSITORY, text=True
        )

    def measure(self, seconds: float) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{seconds}\n")
        self._process.stdin.flush()
        told: dict[str, Any] = json.loads(self._process.stdout.readline())
        return told

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()


@contextmanager
def highest(pid: int) -> Iterator[list[Use]]:
    """The most of everything that was seen meanwhile."""
    seen: list[Use] = [Use.of(pid)]
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(0.05):
            now, most = Use.of(pid), seen[0]
            seen[0] = Use(
                max(now.resident, most.resident),
                max(now.anonymous, most.anonymous),
                max(now.files, most.files),
                max(now.threads, most.threads),
            )

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield seen
    finally:
        ended.set()
        looking.join()


def create(client: RawClient, names: list[str]) -> None:
    topics = [CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in names]
    answer = client.ask(CreateTopicsRequest(topics=topics, timeout_ms=60_000), 7, CreateTopicsResponse)
    assert {one.error_code for one in answer.topics} == {0}


def crowd(address: tuple[str, int], topics: list[str], seed: int) -> list[Attacker]:
    return [
        LongPolls(address, CLIENTS, topics),
        Mute(address, MUTE),
        SlowSenders(address, 50),
        ByteByByte(address, "large"),
        Deaf(address, 50, "large"),
        Pipeliner(address, 100_000),
        Comers(address, 20),
        Talkers(address, seed),
        Bombers(address, "compacted", bomb(1_000_000)),
    ]


@pytest.mark.slow
def test_the_others_notice_nothing(tmp_path: Path, figure: Callable[[str], None]) -> None:
    allow_all_files()
    seed = int(os.environ.get("BARNABAS_SEED") or secrets.randbelow(1 << 32))
    figure(f"BARNABAS_SEED={seed}")
    topics = [f"topic-{number}" for number in range(TOPICS)]
    settings = [f"barnabas.memory.{kind}.max.bytes={MEMORY}" for kind in ("requests", "responses")]
    options = [option for setting in settings for option in ("--set", setting)]
    with StartedBroker(tmp_path, *options).wait_ready() as broker, ExitStack() as stack:
        pid = broker.process.pid
        with broker.client() as client:
            for first in range(0, TOPICS, 100):
                create(client, topics[first : first + 100])
            create(client, ["large", *(f"healthy-{number}" for number in range(PAIRS))])
            create_one(client, "compacted", cleanup_policy="compact")
            for _ in range(60):
                produce(client, "large", os.urandom(900_000))
        healthy = stack.enter_context(Healthy(broker.address))
        healthy.measure(1)
        use_before, before = Use.of(pid), healthy.measure(PHASE_S)
        with highest(pid) as most, ExitStack() as attackers:
            there = [attackers.enter_context(each) for each in crowd(broker.address, topics, seed)]
            meanwhile = healthy.measure(PHASE_S)
            assert [each.failure for each in there] == [None] * len(there)
            wait_until(lambda: min(each.turns for each in there) >= TURNS, "everybody to have been at it")
            turns = {type(each).__name__: each.turns for each in there}
        wait_until(lambda: Use.of(pid).files <= use_before.files, "all connections of the crowd to end")
        after, use_after = healthy.measure(PHASE_S), Use.of(pid)
        for name, use, told in (
            ("before", use_before, before),
            ("with", most[0], meanwhile),
            ("after", use_after, after),
        ):
            figure(f"{name:6} {use}; healthy: {told}")
        figure(f"turns of the crowd: {turns}")
        broker.signal()
        assert (broker.wait(), broker.errors) == (0, "")
    for told in (before, meanwhile, after):
        assert told["errors"] == []
        assert told["fewest"] > 0
    # Its own bounds, and what a connection and a thread cost; not what the crowd would have taken.
    bound_kib = (2 * MEMORY + (CLIENTS + MUTE) * 8192) // 1024 + 32 * 1024
    assert most[0].anonymous - use_before.anonymous < bound_kib
    assert most[0].files > CLIENTS + MUTE
    assert most[0].threads <= use_before.threads + 10
    assert [line for line in broker.lines if line["level"] == "error"] == []
    assert "Traceback" not in json.dumps(broker.lines)
