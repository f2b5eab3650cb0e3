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
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

from tests.clients.waiting import PATIENCE_S
from tests.kafka.classpath import CACHE, find_classpath, java_command

__all__ = ["JavaObject"]

SOURCE = Path(__file__).with_name("JavaClient.java")


class JavaClientError(Exception):
    """What the Java client threw."""


def compiled(classpath: str) -> Path:
    """Its classes, which outlive this session: each member of a group is a JVM of its own, and starts often."""
    place = CACHE / f"java-client-{hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:16]}"
    if not place.is_dir():
        fresh = Path(tempfile.mkdtemp(dir=CACHE))
        subprocess.run(["javac", "-d", fresh, "-cp", classpath, SOURCE], check=True, timeout=120)
        try:
            fresh.rename(place)
        except OSError:  # another process was quicker
            assert place.is_dir()
    return place


class JavaProcess:
    def __init__(self) -> None:
        classpath = find_classpath()
        whole = os.pathsep.join([classpath, str(compiled(classpath))])
        self._process = subprocess.Popen(
            [*java_command(whole, heap_mib=192), "JavaClient"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
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


@cache
def _process() -> JavaProcess:
    return JavaProcess()


_names = count()


class JavaObject:
    """A producer, a consumer or an admin client over there."""

    def __init__(self, kind: str, settings: dict[str, Any], **more: Any) -> None:
        self._name = f"{kind} {next(_names)}"
        self.call(f"new {kind}", settings=settings, **more)

    def call(self, name: str, /, **arguments: Any) -> Any:
        return _process().call(self._name, name, **arguments)
