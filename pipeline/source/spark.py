"""The classes that Spark asks: each hands on to a function that knows nothing of Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition

from barnabas.pipeline.source.errors import SourceError
from barnabas.pipeline.source.options import SourceOptions, parse_options, wants_headers
from barnabas.pipeline.source.planning import StreamPlanner, plan_batch
from barnabas.pipeline.source.position import Position
from barnabas.pipeline.source.ranges import OffsetRange

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["BarnabasSource"]

_SCHEMA = (
    "struct<key:binary,value:binary,topic:string,partition:int,offset:bigint,timestamp:timestamp,timestampType:int>"
)
_WITH_HEADERS = _SCHEMA.removesuffix(">") + ",headers:array<struct<key:string,value:binary>>>"


class BarnabasSource(DataSource):  # type: ignore[misc]
    @classmethod
    def name(cls) -> str:
        return "barnabas"

    def schema(self) -> str:
        return _WITH_HEADERS if wants_headers(self.options) else _SCHEMA

    def reader(self, schema: Any) -> DataSourceReader:
        self._check(schema)
        return _BatchReader(parse_options(self.options, streaming=False))

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        self._check(schema)
        return _StreamReader(parse_options(self.options, streaming=True))

    def _check(self, schema: Any) -> None:
        if schema.simpleString() != self.schema():
            raise SourceError(
                "This source has a schema of its own: leave out .schema(), and select what you want of it."
            )


class _Range(InputPartition):  # type: ignore[misc]
    def __init__(self, wanted: OffsetRange) -> None:
        super().__init__(wanted)


class _BatchReader(DataSourceReader):  # type: ignore[misc]
    def __init__(self, options: SourceOptions) -> None:
        self._options = options

    def partitions(self) -> Sequence[InputPartition]:
        return [_Range(each) for each in plan_batch(self._options)]

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """None: there was nothing to be planned."""
        return _read(self._options, partition)


class _StreamReader(DataSourceStreamReader):  # type: ignore[misc]
    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._made: StreamPlanner | None = None

    @property
    def _planner(self) -> StreamPlanner:
        """Made where it is needed: those who read get a copy of this object."""
        if self._made is None:
            self._made = StreamPlanner(self._options)
        return self._made

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        return self._planner.initial().to_json()

    def latestOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        return self._planner.latest().to_json()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        return [_Range(each) for each in self._planner.ranges(Position.from_json(start), Position.from_json(end))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _read(self._options, partition)

    def stop(self) -> None:
        if self._made is not None:
            self._made.close()


def _read(options: SourceOptions, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
    # Not before a task runs: planning needs no numpy.
    from barnabas.pipeline.source.reading import read_range

    return iter(()) if partition is None else read_range(options, partition.value)
