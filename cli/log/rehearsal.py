"""What a start would do with damaged partitions: it is done, on a disk that keeps in memory what is changed."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from pathlib import Path

from barnabas.cli.log.findings import Finding
from barnabas.cli.log.settings import Settings
from barnabas.protocol.errors import KafkaError
from barnabas.storage.checkpoints import MalformedFile
from barnabas.storage.directory_errors import UnknownDirectory
from barnabas.storage.directory_names import METADATA_TOPIC, TopicPartition
from barnabas.storage.loading import open_log
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.trial_disk import TrialDisk

__all__ = ["Rehearsal"]


class Rehearsal:
    def __init__(self, root: Path, partitions: Sequence[TopicPartition], settings: Settings) -> None:
        self._root = root
        self._lines: list[str] = []
        self._disk = TrialDisk()
        self._now_ms = time.time_ns() // 1_000_000
        self._started = False
        try:
            directory = LogDirectory(self._disk, root, holder="", report=self._lines.append)
        except (OSError, MalformedFile, UnknownDirectory):
            return  # nothing of it is started, as is said of the file that is in the way
        self._started = True
        for partition in partitions:
            try:
                self._load(directory, partition, settings)
            except (OSError, MalformedFile, KafkaError) as error:
                self._lines.append(f"{root / str(partition)}: the partition is offline: {error}")

    def _load(self, directory: LogDirectory, partition: TopicPartition, settings: Settings) -> None:
        if partition.topic == METADATA_TOPIC:
            # A controller never trusts that its log was closed.
            path = self._root / str(partition)
            open_log(
                self._disk,
                path,
                settings.of(partition.topic),
                now_ms=self._now_ms,
                clean=False,
                report=self._lines.append,
            )
        elif partition in directory.waiting:
            directory.load(partition, settings.of(partition.topic), self._now_ms)

    def lines_of(self, finding: Finding) -> list[str]:
        """What is said of the file, or of the segment that it belongs to, without the path, which is known; or what has
        become of the file."""
        file = finding.file
        segment = re.match(r"\d{20}", file.name)
        found = [said for line in self._lines if (said := _about(line, file, segment[0] if segment else ""))]
        return found or self._change_of(file)

    def _change_of(self, file: Path) -> list[str]:
        """Recovery makes indexes anew and says nothing of it."""
        if file.suffix == ".log" or not self._started or file.is_dir():
            return []
        if not self._disk.exists(file):
            return ["it is deleted"] if file.exists() else []
        if not file.exists():
            return ["it is written"]
        return ["it is written anew"] if self._disk.read_file(file) != file.read_bytes() else []


def _about(line: str, file: Path, segment: str) -> str:
    about, _, rest = line.partition(": ")
    if about == str(file) or (segment and about == str(file.with_name(f"{segment}.log"))):
        return rest
    if segment and f"/{segment}.log holds no batch" in line:
        return line.split(" holds ", 1)[1]
    behind = re.search(r"segments behind (\d{20})\.log are deleted", rest)
    if behind and segment > behind[1] and about == str(file.parent):
        return f"the segment is deleted, with all behind {behind[1]}.log"
    return ""
