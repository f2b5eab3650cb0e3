"""The JVM with Kafka's own client in it (JavaClient.java): one for each process that tests with it."""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import subprocess
import tempfile
import threading
from concurrent.futures import Future
from contextlib import suppress
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

from tests.clients.waiting import PATIENCE_S
from tests.kafka.classpath import CACHE, CLASS_ARCHIVE, find_classpath, java_command

__all__ = ["JavaObject"]

SOURCE = Path(__file__).with_name("JavaClient.java")
KINDS = ("producer", "consumer", "admin")
JARS = "COMPAT_JAVA_CLIENT"
"""In the environment: the directory with the jars of another version than that of the Kafka beside us."""


class JavaClientError(Exception):
    """What the Java client threw."""


def compiled(classpath: str) -> str:
    """A classpath with our classes in front. They, and what a JVM makes of all of them, outlive this session: each
    member of a group is a JVM of its own, and starts often."""
    content = hashlib.sha256(SOURCE.read_bytes() + classpath.encode()).hexdigest()
    place = CACHE / f"java-client-{content[:16]}"
    whole = os.pathsep.join([str(place / "client.jar"), classpath])
    if not place.is_dir():
        fresh = Path(tempfile.mkdtemp(dir=CACHE))
        subprocess.run(["javac", "-nowarn", "-d", fresh / "classes", "-cp", classpath, SOURCE], check=True, timeout=120)
        subprocess.run(["jar", "cf", fresh / "client.jar", "-C", fresh / "classes", "."], check=True, timeout=120)
        with suppress(OSError):  # another process was quicker
            fresh.rename(place)
        _archive(whole, place)
    return whole


def _archive(classpath: str, place: Path) -> None:
    """As tests/kafka/class_archive.py does for Kafka itself: a client of each kind is made, and asks nobody."""
    fresh = place / f"{CLASS_ARCHIVE}.{os.getpid()}"
    command = java_command(classpath, heap_mib=192, archived=False)
    nobody = {"bootstrap.servers": "127.0.0.1:9", "group.id": "nobody"}
    calls: list[dict[str, Any]] = [
        *({"call": f"new {kind}", "object": kind, "topic": "t", "settings": nobody} for kind in KINDS),
        {"call": "subscribe", "object": "consumer"},
        {"call": "poll", "object": "consumer", "timeout_ms": 200},
    ]
    with subprocess.Popen(
        [*command, f"-XX:ArchiveClassesAtExit={fresh}", "JavaClient"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as java:
        assert java.stdin is not None
        assert java.stdout is not None
        for number, call in enumerate(calls):
            java.stdin.write(json.dumps({"number": number, **call}).encode() + b"\n")
        java.stdin.flush()
        for _ in calls:
            java.stdout.readline()
        java.stdin.close()
    if fresh.is_file():
        fresh.rename(place / CLASS_ARCHIVE)


class JavaProcess:
    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [*java_command(compiled(_classpath()), heap_mib=192), "JavaClient"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._numbers = count()
        self._waiting: dict[int, Future[Any]] = {}
        self._lock = threading.Lock()
        threading.Thread(target=self._listen, name="java client", daemon=True).start()
        atexit.register(self.close)

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            said = json.loads(line)
            answer = self._waiting.pop(said["number"])
            if "error" in said:
                answer.set_exception(JavaClientError(said["error"]))
            else:
                answer.set_result(said["answer"])
        for each in list(self._waiting.values()):
            each.set_exception(JavaClientError("its JVM has ended"))

    def call(self, object_: str, name: str, /, **arguments: Any) -> Any:
        answer: Future[Any] = Future()
        assert self._process.stdin is not None
        with self._lock:
            number = next(self._numbers)
            self._waiting[number] = answer
            asked = {"number": number, "object": object_, "call": name, **arguments}
            self._process.stdin.write(json.dumps(asked).encode() + b"\n")
            self._process.stdin.flush()
        return answer.result(PATIENCE_S * 3)

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(PATIENCE_S)


def _classpath() -> str:
    directory = os.environ.get(JARS)
    return os.pathsep.join(map(str, sorted(Path(directory).glob("*.jar")))) if directory else find_classpath()


_starting = threading.Lock()


def _process() -> JavaProcess:
    with _starting:
        return _only_process()


@cache
def _only_process() -> JavaProcess:
    return JavaProcess()


_names = count()


class JavaObject:
    """A producer, a consumer or an admin client over there."""

    def __init__(self, kind: str, settings: dict[str, Any], **more: Any) -> None:
        self._name = f"{kind} {next(_names)}"
        self.call(f"new {kind}", settings=settings, **more)

    def call(self, name: str, /, **arguments: Any) -> Any:
        return _process().call(self._name, name, **arguments)
