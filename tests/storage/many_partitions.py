"""A node that waits to be killed: `python -m tests.storage.many_partitions DIRECTORY`.

It writes many partitions to two directories and says `written`; a third of the logs then ends with a torn batch.
"""

from __future__ import annotations

import sys
from pathlib import Path

from barnabas.storage.disk import SystemDisk
from barnabas.storage.log_directory import TopicPartition
from barnabas.storage.topic_config import TopicConfig

from .test_log import NOW
from .test_log_against_kafka import fill
from .test_log_directories import TOPIC_ID
from .test_opening import opened

PARTITIONS = [TopicPartition("t", number) for number in range(18)]
SMALL = TopicConfig.load({"internal.segment.bytes": "20000", "index.interval.bytes": "500"})


def main(root: Path) -> None:
    directories = opened(SystemDisk(), root / "a", root / "b")
    logs = [directories.create(each, TOPIC_ID, SMALL, NOW, is_new=True).log for each in PARTITIONS]
    for part in range(3):
        for number, log in enumerate(logs):
            for each in range(number % 4 + 1):
                fill(log, first=part * 20_000 + each * 1_000)
        if part == 0:
            for log in logs[::2]:
                work = log.unsynced()
                work.sync()
                log.synced(work)
            directories.write_checkpoints({})
    for log in logs[::3]:
        log.active.file.write(log.active.size, [b"torn" * 9])
    print("written", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
