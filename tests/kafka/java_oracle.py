"""A Java program that answers one line for each line it is asked."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.kafka.classpath import HERE, java_command
from tests.readable import readable

ANSWER_DEADLINE_S = 120.0
READ_BYTES = 1 << 20


class OracleError(Exception):
    """The oracle died, was silent, or refused."""


class JavaOracle:
    """One JVM on a single-file Java program; lines go in through stdin and come back through stdout."""

    def __init__(self, source_file: Path, classpath: str, *, heap_mib: int = 512) -> None:
        self._source_file = source_file
        self._unread = b""
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 (closed in close)
        self._process = subprocess.Popen(
            [*java_command(classpath, heap_mib=heap_mib), str(source_file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            bufsize=0,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def ask(self, line: str) -> str:
        """Sends one line, answers the next line of the program, without its newline."""
        assert "\n" not in line
        assert self._process.stdin is not None
        unsent = memoryview(line.encode() + b"\n")
        try:
            while unsent:
                unsent = unsent[self._process.stdin.write(unsent) :]
        except BrokenPipeError:
            raise self._error("ended") from None
        return self._read_line(time.monotonic() + ANSWER_DEADLINE_S)

    def close(self) -> None:
        """Closes its stdin, which ends it; kills it when that does not."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._stderr.close()

    def _read_line(self, deadline: float) -> str:
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        pieces = []
        piece = self._unread
        while (end := piece.find(b"\n")) < 0:
            pieces.append(piece)
            if not readable(descriptor, within_s=deadline - time.monotonic()):
                raise self._error(f"was silent for {ANSWER_DEADLINE_S:.0f} s")
            piece = os.read(descriptor, READ_BYTES)
            if not piece:
                raise self._error("ended")
        self._unread = piece[end + 1 :]
        return b"".join([*pieces, piece[:end]]).decode()

    def _error(self, what: str) -> OracleError:
        self._stderr.seek(0)
        said = self._stderr.read().decode(errors="replace")
        return OracleError(f"{self._source_file.name} {what}; its stderr:\n{said[-4000:]}")


@dataclass(frozen=True, slots=True)
class Parsed:
    """What Kafka made of the bytes of one message."""

    encoded: bytes
    """The same object, written again by Kafka at the same version."""
    leftover: int
    """How many bytes Kafka did not read."""
    json: Any
    """Kafka's own JSON of it; None where Kafka has no converter for this message."""


class MessageOracle:
    """Kafka's generated message classes, through MessageOracle.java. Refusals of Kafka are OracleErrors."""

    SOURCE = HERE / "MessageOracle.java"

    def __init__(self, java: JavaOracle) -> None:
        self._java = java

    def parse(self, name: str, version: int, data: bytes) -> Parsed:
        """Reads data as this message (`FetchRequest`, `OffsetCommitValue`, ...) and writes it again."""
        encoded, leftover, as_json = self._ask(f"{name} {version} {data.hex() or '-'}").split(" ", 2)
        return Parsed(bytes.fromhex(encoded.removeprefix("-")), int(leftover), json.loads(as_json))

    def default(self, name: str, version: int) -> bytes:
        """A message with every field at its default, as Kafka writes it."""
        return bytes.fromhex(self._ask(f"DEFAULT {name} {version}").removeprefix("-"))

    def schemas(self) -> list[dict[str, Any]]:
        """Every generated message: name, class, lowest and highest version."""
        return self._list("SCHEMAS")

    def errors(self) -> list[dict[str, Any]]:
        """Every error: code, name, retriable, exception, message."""
        return self._list("ERRORS")

    def apis(self) -> list[dict[str, Any]]:
        """Every API key: id, name, versions, header versions for each version, listeners, clusterAction."""
        return self._list("APIS")

    def _list(self, command: str) -> list[dict[str, Any]]:
        answer = json.loads(self._ask(command))
        assert isinstance(answer, list)
        return answer

    def _ask(self, line: str) -> str:
        word, _, rest = self._java.ask(line).partition(" ")
        if word != "OK":
            raise OracleError(f"{line[:100]}: {rest}")
        return rest
