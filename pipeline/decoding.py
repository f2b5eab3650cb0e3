"""From a record's value to an event: its fields, when it happened, or why it cannot be read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import LongType, StructType, TimestampType

from barnabas.pipeline.failures import PipelineFailed
from barnabas.pipeline.settings import Settings, TopicFormat

__all__ = ["Decoder", "decoders"]

_CORRUPT = "_corrupt"
_TAKEN = ("kafka", "date", "hour")
"""What the columns and directories of a decoded table are called already."""


@dataclass(frozen=True)
class Decoder:
    topic: str
    wanted: TopicFormat
    fields: StructType
    text: str
    """The schema as its file has it."""

    def event(self, value: Column) -> Column:
        """A struct of all fields, null where the value cannot be read at all."""
        if self.wanted.format == "avro":
            from pyspark.sql.avro.functions import from_avro

            return from_avro(value, self.text, {"mode": "PERMISSIVE"})
        options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}
        ddl = StructType([*_all_may_be_missing(self.fields), *StructType().add(_CORRUPT, "string")])
        return f.from_json(value.cast("string"), ddl, options)

    def reason(self, value: Column, event: Column) -> Column:
        """Why it is no event of this schema; null for one that is."""
        why = f.when(value.isNull(), "the record has no value")
        if self.wanted.format == "avro":
            return why.when(self._is_no_avro(value, event), "the value is not Avro of this schema")
        text = value.cast("string")
        is_object = f.ltrim(text).startswith("{")
        # Nearly all are right: only the others are looked at again and again, to say what is wrong with them.
        missing = [event[field.name].isNull() for field in self.fields if not field.nullable]
        why = why.when(is_object & event[_CORRUPT].isNull() & ~reduce(or_, missing, f.lit(False)), None)
        why = why.when(f.get_json_object(text, "$").isNull(), "the value is not JSON")
        why = why.when(~is_object, "the value is not an object")
        for field in self.fields:
            there = f.get_json_object(text, f"$['{field.name}']").isNotNull()
            expected = field.dataType.simpleString()
            why = why.when(event[field.name].isNull() & there, f"the field {field.name} is not of type {expected}")
            if not field.nullable:
                why = why.when(event[field.name].isNull(), f"the field {field.name} is missing")
        return why.when(event[_CORRUPT].isNotNull(), "the value does not fit the schema")

    def _is_no_avro(self, value: Column, event: Column) -> Column:
        """Spark gives a struct of nulls for what it cannot read."""
        for field in self.fields:
            if not field.nullable:
                return event[field.name].isNull()
        # All may be null. If they are, each has taken a byte.
        all_null = reduce(and_, [event[field.name].isNull() for field in self.fields])
        return all_null & (f.length(value) != len(self.fields))

    def happened(self, event: Column) -> Column:
        """When, as the event says; null where it does not."""
        if not self.wanted.event_time:
            return f.lit(None).cast("timestamp")
        field = event[self.wanted.event_time]
        kind = self.fields[self.wanted.event_time].dataType
        return f.timestamp_millis(field) if isinstance(kind, LongType) else field


def decoders(spark: SparkSession, settings: Settings) -> dict[str, Decoder]:
    return {topic: _decoder(spark, settings, topic, wanted) for topic, wanted in settings.topics.items()}


def _decoder(spark: SparkSession, settings: Settings, topic: str, wanted: TopicFormat) -> Decoder:
    file = Path(settings.place(wanted.schema))
    try:
        text = file.read_text()
    except OSError as error:
        raise PipelineFailed(
            f"topics.{topic}.schema: {file} cannot be read: {error.strerror}. Name a file with the topic's schema."
        ) from None
    fields = _avro_fields(spark, file, text) if wanted.format == "avro" else _ddl_fields(file, text)
    for name in _TAKEN:
        if name in fields.names:
            raise PipelineFailed(f"{file}: a field cannot be called {name}, as a column of the lake is; rename it.")
    if wanted.event_time:
        _check_event_time(topic, wanted.event_time, fields)
    return Decoder(topic, wanted, fields, text)


def _ddl_fields(file: Path, text: str) -> StructType:
    try:
        fields = StructType.fromDDL(" ".join(text.split()))
    except PySparkException as error:
        first = str(error).strip().splitlines()[0]
        raise PipelineFailed(f'{file} is no schema, such as "user STRING NOT NULL, at TIMESTAMP": {first}') from None
    if not len(fields):
        raise PipelineFailed(f"{file} names no field.")
    return fields


def _avro_fields(spark: SparkSession, file: Path, text: str) -> StructType:
    jvm: Any = spark.sparkContext._jvm
    try:
        parsed = json.loads(text)
    except json.JSONDecodeError as error:
        raise PipelineFailed(f"{file} is no Avro schema: it is not JSON: {error}.") from None
    if not isinstance(parsed, Mapping) or parsed.get("type") != "record" or not parsed.get("fields"):
        raise PipelineFailed(f'{file} is no Avro schema of events: it should be a "record" with "fields".')
    try:
        converted = jvm.org.apache.spark.sql.avro.SchemaConverters.toSqlType(
            getattr(jvm, "org.apache.avro.Schema$Parser")().parse(text)
        )
    except Exception as error:  # noqa: BLE001 - py4j's, of whatever Avro's parser throws
        java = getattr(error, "java_exception", None)
        why = str(java.getMessage()) if java is not None else str(error)
        raise PipelineFailed(f"{file} is no Avro schema that Spark can read: {why}.") from None
    return StructType.fromJson(json.loads(converted.dataType().json()))


def _check_event_time(topic: str, name: str, fields: StructType) -> None:
    if name not in fields.names:
        known = ", ".join(fields.names)
        raise PipelineFailed(f"topics.{topic}.event-time: there is no field {name}; the schema has {known}.")
    kind = fields[name].dataType
    if not isinstance(kind, TimestampType | LongType):
        raise PipelineFailed(
            f"topics.{topic}.event-time: {name} is {kind.simpleString()}; it should be TIMESTAMP, or BIGINT for "
            "milliseconds since 1970."
        )


def _all_may_be_missing(fields: StructType) -> list[Any]:
    """What is missing is said by us: Spark's reader gives the whole value up."""
    return [type(field)(field.name, field.dataType, True) for field in fields]
