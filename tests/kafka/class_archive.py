"""Kafka's classes as a JVM holds them in memory, so that every JVM of the tests starts at half the cost.

`make kafka` makes the archive, in a JVM that starts and stops a Kafka; a second call returns at once. It is good for
this Java and these jars: the name of the Java is written beside it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.kafka.broker import KafkaBroker
from tests.kafka.classpath import CLASS_ARCHIVE, find_classpath

WRITTEN_S = 180.0
"""It writes the archive when it ends, which takes some seconds, and on a busy machine many."""


def main() -> None:
    classpath = find_classpath()
    jars = Path(classpath.partition(os.pathsep)[0]).parent
    archive = jars / CLASS_ARCHIVE
    made_with = archive.with_suffix(".made-with")
    # The paths of the jars, too: the archive knows them.
    this = f"{subprocess.run(['java', '-version'], check=True, capture_output=True, text=True).stderr}{jars}\n"
    if archive.is_file() and made_with.is_file() and made_with.read_text() == this:
        print(f"jars: {archive} is there")
        return
    fresh = jars / f"{CLASS_ARCHIVE}.{os.getpid()}"
    with KafkaBroker(classpath, java_options=[f"-XX:ArchiveClassesAtExit={fresh}"]) as broker:
        assert broker._process is not None
        broker._process.terminate()
        broker._process.wait(WRITTEN_S)
    if not fresh.is_file():
        sys.exit("jars: this Java has made no archive of Kafka's classes: it has to be 17 or newer")
    fresh.rename(archive)
    made_with.write_text(this)
    print(f"jars: Kafka's classes in {archive}")


if __name__ == "__main__":
    main()
