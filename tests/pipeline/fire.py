"""Jobs that are killed: a job in a process of its own, its JVM and executors, and who is to be killed next."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from confluent_kafka import Message

from barnabas.pipeline.counting import CountingProducer
from tests.clients.broker_process import REPOSITORY, BrokerProcess
from tests.clients.waiting import wait_until
from tests.pipeline.jvm import short_lived

__all__ = ["EXECUTORS", "LOCAL", "JobProcess", "Writing", "kafka_and_spark", "kill_by_turns"]

LOCAL = "local[2]"
EXECUTORS = "local-cluster[2,1,600]"
"""Executors in processes of their own."""
THOROUGH = os.environ.get("BARNABAS_THOROUGH") == "1"


def kafka_and_spark(directory: Path, bootstrap: str, master: str, jars: str) -> str:
    """The parts of a pipeline.toml that are the same for every job."""
    return f"""
[kafka]
"bootstrap.servers" = "{bootstrap}"
[spark]
"spark.master" = "{master}"
{short_lived()}
"spark.jars" = "{jars}"
"spark.sql.shuffle.partitions" = 2
"spark.executor.memory" = "600m"
"spark.local.dir" = "{directory}/spark"
"""


class Writing:
    """Records of growing numbers, until told to end: `acknowledged` is what the broker has taken, by place."""

    def __init__(self, bootstrap: str, topic: str, value_of: Callable[[int], bytes], partitions: int) -> None:
        self._topic = topic
        self._value_of = value_of
        self._partitions = partitions
        self.acknowledged: dict[tuple[int, int], bytes] = {}
        self._ends = threading.Event()
        # Idempotent: what it sends again after a kill does not come twice.
        self._producer = CountingProducer(
            {"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 5, "log_level": 0}
        )
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._thread.join()

    def _run(self) -> None:
        number = 0
        while not self._ends.is_set():
            for _ in range(20):
                value, partition = self._value_of(number), number % self._partitions
                self._producer.produce(self._topic, value, partition=partition, on_delivery=self._delivered)
                number += 1
            self._producer.poll(0)
            self._ends.wait(0.05)
        assert self._producer.flush(60) == 0

    def _delivered(self, error: Any, message: Message) -> None:
        assert error is None, error
        partition, offset, value = message.partition(), message.offset(), message.value()
        assert partition is not None
        assert offset is not None
        assert value is not None
        self.acknowledged[partition, offset] = value


class JobProcess:
    """`barnabas pipeline NAME ...`, what it says, and the processes that it has started."""

    def __init__(self, directory: Path, *words: str, environment: Mapping[str, str] | None = None) -> None:
        self._log_file = directory / "job.log"
        self._log = self._log_file.open("ab")
        self.said = directory / "job.out"
        self._start = self.said.stat().st_size if self.said.exists() else 0
        command = [sys.executable, "-m", "barnabas.cli", "pipeline", *words, "--json"]
        command += ["--config", str(directory / "pipeline.toml")]
        with self.said.open("ab") as out:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=self._log,
                cwd=REPOSITORY,
                env={**os.environ, **(environment or {})},
                start_new_session=True,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._log.close()

    def facts(self) -> list[dict[str, object]]:
        """The whole lines of JSON that this process has said while it worked."""
        lines = self.said.read_bytes()[self._start :].splitlines(keepends=True)
        whole = [json.loads(line) for line in lines if line.endswith(b"\n") and line.startswith(b"{")]
        return [fact for fact in whole if fact["event"] != "done"]

    def complaint(self) -> str:
        return self._log_file.read_text()[-2000:]

    def is_over(self) -> bool:
        return self.process.poll() is not None

    def wait_for_batches(self, count: int, patience_s: float = 120) -> None:
        """Until so many are done, or the job is over."""
        wait_until(lambda: self.is_over() or len(self.facts()) >= count, f"{count} batches", patience_s)

    def wait(self, patience_s: float = 120) -> int:
        return self.process.wait(patience_s)

    def children(self, what: str) -> list[int]:
        """Of this process and theirs, those whose command line has that in it."""
        found, family = [], {self.process.pid}
        stats = {int(each.name): each for each in Path("/proc").iterdir() if each.name.isdigit()}
        for pid in sorted(stats):
            try:
                parent = int((stats[pid] / "stat").read_text().rpartition(")")[2].split()[1])
                command = (stats[pid] / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except (OSError, ValueError):
                continue
            if parent in family:
                family.add(pid)
                if what in command:
                    found.append(pid)
        return found

    def kill(self, what: str = "") -> bool:
        """kill -9: the job with all that it has started, or those of them whose command line has that in it."""
        if what:
            pids = self.children(what)
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
            return bool(pids)
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return False
        self.process.wait()
        return True

    def kill_driver(self) -> None:
        """The Python process; its JVM, which finds out by itself, may not be in the next one's way."""
        java = self.children("java")
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()
        wait_until(lambda: not any(map(_runs, java)), "its JVM to end")

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.wait()


def kill_by_turns(directory: Path, name: str, broker: BrokerProcess, victims: Sequence[str]) -> str:
    """The job is started, and one after the other is killed in the middle of what it does; what was done, in words."""
    seed = int(os.environ.get("BARNABAS_SEED", "7"))
    drawn = random.Random(seed)
    kills, starts, job = len(victims) * (4 if THOROUGH else 1), 0, None
    for number in range(kills):
        if job is None or job.is_over():
            job, starts = JobProcess(directory, name), starts + 1
        job.wait_for_batches(len(job.facts()) + drawn.randint(1, 3))
        # Into the next batch: it takes longer than this, which is no waiting for something to happen.
        threading.Event().wait(drawn.random() * 0.6)
        assert not job.is_over(), job.complaint()
        match victims[number % len(victims)]:
            case "broker":
                broker.restart(kill=True)
            case "driver":
                job.kill_driver()
            case "executor":
                assert job.kill("CoarseGrainedExecutorBackend")
            case "jvm":
                assert job.kill("java")
                assert job.wait() == 1
    assert job is not None
    job.kill()
    return f"{kills} kills, {starts} starts, seed {seed}"


def _runs(pid: int) -> bool:
    """What has ended and nobody has asked for has no command line any more."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes() != b""
    except OSError:
        return False
