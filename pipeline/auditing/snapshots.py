"""The lake as it was at one moment, while another job goes on landing into it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import TypeVar

from pyspark.errors import PySparkException

from barnabas.pipeline.failures import PipelineFailed
from barnabas.pipeline.lake import Entry, Lake

__all__ = ["with_listing"]

Listed = TypeVar("Listed")
Answer = TypeVar("Answer")
_PATIENCE_S = 60.0
_LOOK_S = 0.2
_GONE = re.compile(r"FileNotFoundException|FILE_NOT_EXIST|PATH_NOT_FOUND|does not exist")


def with_listing(
    lake: Lake, list_files: Callable[[], Listed], read: Callable[[Entry | None, Listed], Answer]
) -> Answer:
    """Lists the lake's files and reads them. A merge takes files away that were listed: then both are done anew."""
    give_up = time.monotonic() + _PATIENCE_S
    while True:
        entry, listed = _listing(lake, list_files, give_up)
        try:
            return read(entry, listed)
        except Exception as error:
            # Py4J's, and Spark's own; what became of a job is in its text.
            if not _GONE.search(str(error)) or time.monotonic() > give_up:
                raise


def _listing(lake: Lake, list_files: Callable[[], Listed], give_up: float) -> tuple[Entry | None, Listed]:
    """All files of one entry of the journal, and none of a later one."""
    while time.monotonic() < give_up:
        entry = lake.newest()
        if lake.is_settled():
            try:
                listed = list_files()
            except PySparkException as error:
                if not _GONE.search(str(error)):
                    raise
            else:
                if lake.is_settled() and lake.newest() == entry:
                    return entry, listed
        time.sleep(_LOOK_S)
    raise PipelineFailed(
        f"{lake.files.root} was never at rest for {_PATIENCE_S:g} s: audit it when less is landed; if land was killed, "
        "start it again, so that it finishes what it began."
    )
