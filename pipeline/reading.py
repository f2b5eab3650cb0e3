"""Records of the cluster, through Spark's own Kafka source."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession

from barnabas.pipeline.cluster import partitions_of
from barnabas.pipeline.failures import PipelineFailed
from barnabas.pipeline.lake import Ends
from barnabas.pipeline.settings import Settings

__all__ = ["is_wanted", "kafka_options", "starting_offsets", "stream", "wanted_topics"]

_EARLIEST = -2
_WAIT_MS = "20"
"""Spark reads what is there already, and then asks for the ends: behind a fetch, which would wait half a second."""


def kafka_options(settings: Settings) -> dict[str, str]:
    properties = {"fetch.max.wait.ms": _WAIT_MS, **settings.client_properties()}
    return {f"kafka.{key}": value for key, value in properties.items()}


def wanted_topics(topics: Sequence[str], pattern: str, where: str) -> dict[str, str]:
    if bool(topics) == bool(pattern):
        raise PipelineFailed(f"{where}: say which topics, by either topics = [...] or pattern = '...'.")
    return {"subscribe": ",".join(topics)} if topics else {"subscribePattern": pattern}


def stream(spark: SparkSession, settings: Settings, options: Mapping[str, str]) -> DataFrame:
    return spark.readStream.format("kafka").options(**kafka_options(settings), **options, includeHeaders="true").load()


def starting_offsets(spark: SparkSession, settings: Settings, which: Mapping[str, str], ends: Ends) -> str:
    """As Spark wants them: every partition of every topic; those of which the lake has nothing from their first on."""
    start: dict[str, dict[str, int]] = {}
    for topic, partitions in partitions_of(spark, settings).items():
        if is_wanted(topic, which):
            known = ends.get(topic, {})
            start[topic] = {str(number): known.get(str(number), _EARLIEST) for number in partitions}
    return json.dumps(start)


def is_wanted(topic: str, which: Mapping[str, str]) -> bool:
    if "subscribe" in which:
        return topic in which["subscribe"].split(",")
    return re.fullmatch(which["subscribePattern"], topic) is not None
