"""Where Apache Kafka's jars are, and how a JVM is started on them."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

HERE = Path(__file__).resolve().parent
CACHE = HERE.parents[1] / ".cache"
CLASS_ARCHIVE = "classes.jsa"
AS_SHIPPED = (
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
)
"""What kafka-run-class.sh gives its JVMs beside their heap: for whatever measures Kafka."""


class KafkaMissingError(Exception):
    """Java or Kafka's jars are not on this machine; the message says what to do."""


def kafka_version() -> str:
    found = re.search(r"<kafka\.version>(.+?)<", (HERE / "pom.xml").read_text())
    assert found is not None, "pom.xml names no kafka.version"
    return found[1]


def find_classpath() -> str:
    """The jars that `make kafka` put into .cache/, joined for java's -cp."""
    if shutil.which("java") is None:
        raise KafkaMissingError("no `java` on the PATH: install a JDK, 17 or newer")
    directory = CACHE / f"kafka-{kafka_version()}"
    if not (directory / "pom.sha256").is_file():
        raise KafkaMissingError(f"Apache Kafka {kafka_version()} is not in .cache/: run `make kafka`")
    return os.pathsep.join(str(jar) for jar in sorted(directory.resolve().glob("*.jar")))


def java_command(classpath: str, *, heap_mib: int, archived: bool = True, as_shipped: bool = False) -> list[str]:
    """A JVM that starts fast, stays small and leaves no files in /tmp, at the price of its speed later on; or one
    `as_shipped`. What to run follows."""
    quick = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
    return [
        "java",
        *((f"-Xms{heap_mib}m",) if as_shipped else ()),
        f"-Xmx{heap_mib}m",
        *(AS_SHIPPED if as_shipped else quick),
        "-XX:-UsePerfData",
        *(_classes_read_before(classpath) if archived and not as_shipped else ()),
        "-Djava.awt.headless=true",
        f"-Dlog4j2.configurationFile={HERE / 'log4j2.properties'}",
        "-cp",
        classpath,
    ]


def _classes_read_before(classpath: str) -> list[str]:
    """The archive that class_archive.py makes, where it has been. A JVM that it does not suit takes the jars and would
    only warn, on stdout."""
    archive = Path(classpath.partition(os.pathsep)[0]).with_name(CLASS_ARCHIVE)
    return [f"-XX:SharedArchiveFile={archive}", "-Xlog:disable", "-Xlog:all=error:stderr"] if archive.is_file() else []
