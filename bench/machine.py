"""Where it was measured, and with which versions: figures mean nothing without."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import confluent_kafka

from tests.kafka.classpath import kafka_version

__all__ = ["load_average", "machine", "versions"]

GIB = 1 << 30


def machine() -> str:
    memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / GIB
    return f"{_processor()}, {os.cpu_count()} cores, {memory_gib:.0f} GiB, Linux {platform.release()}"


def _processor() -> str:
    found = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return found[1] if found else platform.machine()


def versions() -> str:
    return ", ".join(
        [
            f"Barnabas {_barnabas()}, CPython {platform.python_version()}",
            f"Apache Kafka {kafka_version()} with its own script's options, Java {_java()}",
            f"librdkafka {confluent_kafka.libversion()[0]}",
        ]
    )


def load_average() -> float:
    return os.getloadavg()[0]


def _barnabas() -> str:
    try:
        number = version("barnabas")
    except PackageNotFoundError:
        return "not installed"
    commit = _said(["git", "rev-parse", "--short", "HEAD"])
    log = find_spec("barnabas.storage.log")
    kind = "compiled" if log is not None and (log.origin or "").endswith(".so") else "not compiled"
    return f"{number} ({commit}, {kind})"


def _java() -> str:
    found = re.search(r'version "(.+?)"', _said(["java", "-version"]))
    return found[1] if found else "unknown"


def _said(command: Sequence[str]) -> str:
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=Path(__file__).parent)
    return (done.stdout or done.stderr).strip()
