"""One range of offsets as Arrow record batches. It needs no Spark: `for batch in read_range(options, each)`."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa

from barnabas.client.deadline import Deadline
from barnabas.client.visible import visible
from barnabas.pipeline.source.decoding import decode
from barnabas.pipeline.source.errors import SourceError, report_loss
from barnabas.pipeline.source.fetching import Bounds, Fetched, Fetcher, Gone
from barnabas.pipeline.source.options import SourceOptions
from barnabas.pipeline.source.ranges import OffsetRange
from barnabas.protocol.errors import MalformedFrame

__all__ = ["read_range"]


def read_range(options: SourceOptions, wanted: OffsetRange) -> Iterator[pa.RecordBatch]:
    """What is held at a time is a few fetches' size, however long the range. While one fetch is decoded, the next is
    under way."""
    fetcher = Fetcher(options, wanted.partition, wanted.topic_id)
    ahead = ThreadPoolExecutor(1)
    try:
        position = wanted.start
        patience = Deadline(options.patience_s)
        coming = ahead.submit(fetcher.fetch, position)
        while position < wanted.end:
            came = coming.result()
            behind = _behind(came, position, wanted, patience, options)
            if behind < wanted.end:
                coming = ahead.submit(fetcher.fetch, behind)
            if isinstance(came, Fetched) and came.batches:
                yield from _decoded(came, position, wanted, options)
            if behind > position:
                patience = Deadline(options.patience_s)
            position = behind
    finally:
        fetcher.stop()
        ahead.shutdown()
        fetcher.close()


def _behind(
    came: Fetched | Bounds | Gone, position: int, wanted: OffsetRange, patience: Deadline, options: SourceOptions
) -> int:
    """Where to read on; what is passed over thereby has been reported."""

    def lost(what: str) -> None:
        report_loss(f"{what} of {wanted.partition}.", fail=options.fail_on_data_loss)

    expected = f"Offset {position} was expected (of {wanted.start} to {wanted.end})"
    match came:
        case Gone(is_another=is_another):
            lost(f"{expected}, and the topic has been deleted{' and created again' if is_another else ''}: the rest")
            return wanted.end
        case Bounds(first, end) if position < first:
            lost(f"{expected}, and {first} found as the first")
            return min(first, wanted.end)
        case Bounds(first, end) if position > end:
            lost(f"{expected}, and {end} found as the end")
            return wanted.end
        case Bounds():  # it has come meanwhile, or a new leader has it
            if patience.is_over:
                raise SourceError(f"{expected}, and its broker says that it has it and has not: see its log.")
            return position
    if came.next_offset > position:
        return came.next_offset
    if patience.is_over:
        lost(f"{expected} for {patience.timeout_s:g} s, and {came.readable_end} found as the end")
        return wanted.end
    return position


def _decoded(came: Fetched, position: int, wanted: OffsetRange, options: SourceOptions) -> Iterator[pa.RecordBatch]:
    shown = visible(came.batches, came.aborted)
    try:
        yield from decode(
            (each for each in shown if each.base_offset < wanted.end),
            wanted.partition.topic,
            wanted.partition.number,
            position,
            wanted.end,
            headers=options.include_headers,
        )
    except MalformedFrame as error:
        raise SourceError(
            f"The records of {wanted.partition} from offset {position} on cannot be read ({error}): begin behind them, "
            "by startingOffsets."
        ) from None
