"""The files of a lake, on whatever Hadoop has a file system for: file:, hdfs:, s3a:, abfs:."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import SparkSession

__all__ = ["Files"]


class Files:
    """Paths are strings below `root`, with slashes."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        jvm: Any = spark.sparkContext._jvm
        self._path = jvm.org.apache.hadoop.fs.Path
        self._bytes = jvm.java.lang.String
        top = self._path(root)
        # One of our own: what is set here is not set for Spark's checkpoints.
        self._system = jvm.org.apache.hadoop.fs.FileSystem.newInstance(
            top.toUri(), spark.sparkContext._jsc.hadoopConfiguration()
        )
        # A process that is killed leaves a small file without its checksum file, or with another's.
        self._system.setWriteChecksum(False)
        self._system.setVerifyChecksum(False)
        self.root = str(self._system.makeQualified(top).toString())

    def uri(self, path: str) -> str:
        return f"{self.root}/{path}"

    def _at(self, path: str) -> Any:
        return self._path(self.uri(path))

    def exists(self, path: str) -> bool:
        return bool(self._system.exists(self._at(path)))

    def names(self, path: str) -> list[str]:
        """What lies in a directory; nothing where there is none."""
        if not self.exists(path):
            return []
        return sorted(str(status.getPath().getName()) for status in self._system.listStatus(self._at(path)))

    def walk(self, path: str) -> Iterator[tuple[str, int]]:
        """All files below a directory, and their bytes."""
        if not self.exists(path):
            return
        # Not Hadoop's own listFiles: on a local disk it starts a program for each file, to ask whose it is.
        for status in self._system.listStatus(self._at(path)):
            inner = f"{path}/{status.getPath().getName()}"
            if status.isDirectory():
                yield from self.walk(inner)
            else:
                yield inner, int(status.getLen())

    def read(self, path: str) -> str:
        stream = self._system.open(self._at(path))
        try:
            return bytes(stream.readAllBytes()).decode()
        finally:
            stream.close()

    def create(self, path: str, text: str) -> bool:
        """Whether it could be: an existing file is not touched."""
        if self.exists(path):
            return False
        stream = self._system.create(self._at(path), False)
        try:
            stream.write(bytearray(text.encode()))
        finally:
            stream.close()
        return True

    def move(self, source: str, target: str) -> None:
        """A file to its place; where there is no such file any more it has been moved before."""
        if not self.exists(source):
            return
        to = self._at(target)
        self._system.mkdirs(to.getParent())
        if not self._system.rename(self._at(source), to):
            raise OSError(f"{self.uri(source)} could not be moved to {self.uri(target)}")

    def delete(self, path: str) -> None:
        """A file, or a directory with all that is in it."""
        self._system.delete(self._at(path), True)
