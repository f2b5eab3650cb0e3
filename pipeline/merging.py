"""Many small files of one hour become one: a batch leaves a few in every hour that it has events of."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

from pyspark.sql import SparkSession

from barnabas.pipeline import settings
from barnabas.pipeline.lake import Entry, Lake

__all__ = ["choose", "directories_of", "merge"]

Sized = tuple[str, int]


def choose(files: Iterable[Sized], least: int, file_bytes: int) -> list[str]:
    """Which of a directory's files to merge; none where it does not pay.

    From the smallest on, and of the larger ones only those that are no larger than all before them together: so a
    record is rewritten as often as the logarithm of how many batches its hour has, and not with every merge.
    """
    chosen: list[str] = []
    total = 0
    for path, size in sorted(files, key=lambda file: file[1]):
        if size >= file_bytes or (len(chosen) >= least - 1 and size > total):
            break
        chosen.append(path)
        total += size
    return chosen if len(chosen) >= least else []


def merge(spark: SparkSession, lake: Lake, directories: Iterable[str], wanted: settings.Lake) -> int:
    """How many files went into others."""
    merged = 0
    for directory in sorted(directories):
        files = [file for file in lake.files.walk(directory) if file[0].endswith(".parquet")]
        chosen = choose(files, wanted.merge_after, wanted.file_bytes)
        if chosen:
            _merge(spark, lake, directory, chosen)
            merged += len(chosen)
    return merged


def _merge(spark: SparkSession, lake: Lake, directory: str, chosen: list[str]) -> None:
    last = lake.last
    assert last is not None, "files come with an entry"
    place = lake.stage("merge")
    rows = spark.read.parquet(*map(lake.files.uri, chosen)).coalesce(1)
    where = ("kafka.partition", "kafka.offset") if "kafka" in rows.columns else ("partition", "offset")
    rows.sortWithinPartitions(*where).write.parquet(lake.files.uri(f"{place}/{directory}"))
    number = lake.next_number
    lake.commit(
        Entry(
            number=number,
            kind="merge",
            checkpoint=last.checkpoint,
            batch=last.batch,
            ends=last.ends,
            moves=lake.staged(place, f"merged-{number:08}"),
            removes=chosen,
        )
    )


def directories_of(moves: Iterable[tuple[str, str]]) -> set[str]:
    return {str(PurePosixPath(target).parent) for _, target in moves}
