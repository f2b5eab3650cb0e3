"""Streaming queries, from their start until they end or are told to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from barnabas.pipeline.ending import told_to_end
from barnabas.pipeline.failures import PipelineFailed
from barnabas.pipeline.troubles import in_words

__all__ = ["Work", "run", "trigger"]

_LOOK_S = 0.5
"""How long a signal may have to wait: Python sees it between two calls of Spark."""


class Work(NamedTuple):
    writer: Any
    """A DataStreamWriter with all but its foreachBatch."""
    take: Callable[[DataFrame, int], None]
    progress: Callable[[dict[str, Any]], None] = lambda _progress: None
    """Called with what Spark says of each batch when it is over."""


def trigger(seconds: float, *, catch_up: bool) -> dict[str, Any]:
    return {"availableNow": True} if catch_up else {"processingTime": f"{round(seconds * 1000)} milliseconds"}


def run(works: Sequence[Work]) -> None:
    """Until all have done all, one fails, or SIGINT or SIGTERM come: the batch in hand comes again next time."""
    failures: list[Exception] = []
    queries: list[_Query] = []
    try:
        with told_to_end() as told:
            queries.extend(_Query(work, failures) for work in works)
            going = queries
            while going and not told:
                going = [query for query in going if not query.is_over(_LOOK_S / len(going))]
    except PySparkException as error:
        why = failures[0] if failures else error
        if isinstance(why, PySparkException | Py4JError | PipelineFailed | OSError):
            raise in_words(why) from error
        raise why from error  # ours to mend
    finally:
        for query in queries:
            query.stop()


class _Query:
    def __init__(self, work: Work, failures: list[Exception]) -> None:
        self._work = work
        self._told = -1
        """Up to which batch its progress has been handed on."""

        def take(rows: DataFrame, batch: int) -> None:
            # Spark would tell it as a text, with our traceback in it.
            try:
                work.take(rows, batch)
            except Exception as error:
                failures.append(error)
                raise

        self._query = work.writer.foreachBatch(take).start()

    def is_over(self, seconds: float) -> bool:
        """Raises what it has failed with."""
        is_over: bool = self._query.awaitTermination(seconds)
        for progress in self._query.recentProgress:
            if progress["batchId"] > self._told:
                self._told = progress["batchId"]
                self._work.progress(progress)
        return is_over

    def stop(self) -> None:
        self._query.stop()
