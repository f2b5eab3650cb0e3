"""A PySpark job: `python job.py JARS BOOTSTRAP FROM TO CHECKPOINT`, which takes records from one topic into another.

It is asked and answers a line of JSON each time:

    {"take": "all", "fail_on_data_loss": true}   what is there now, from the checkpoint on: {"rows": so many}
    {"take": "on"}                               what is there and what comes, until told to stop: {}
    {"take": "stop"}                             {"rows": so many}
    {"since": timestamp}                         what the source has from then on: {"values": [...]}

or, where Spark fails, {"failed": "why"}.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from pyspark.sql import SparkSession


class Job:
    def __init__(self, spark: SparkSession, bootstrap: str, source: str, target: str, checkpoint: str) -> None:
        self._spark = spark
        self._kafka = {"kafka.bootstrap.servers": bootstrap}
        self._source = source
        self._target = target
        self._checkpoint = checkpoint
        self._query: Any = None

    def answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        if "since" in asked:
            return {"values": self._since(asked["since"])}
        if asked["take"] == "stop":
            self._query.processAllAvailable()
            self._query.stop()
            return {"rows": self._rows()}
        if asked["take"] == "on":
            self._query = self._start(True, processingTime="200 milliseconds")
            return {}
        self._query = self._start(asked["fail_on_data_loss"], availableNow=True)
        self._query.awaitTermination()
        return {"rows": self._rows()}

    def _start(self, fail_on_data_loss: bool, **trigger: Any) -> Any:
        rows = (
            self._spark.readStream.format("kafka")
            .options(**self._kafka, subscribe=self._source, startingOffsets="earliest", includeHeaders="true")
            .option("failOnDataLoss", str(fail_on_data_loss).lower())
            .load()
            .select("key", "value", "headers")
        )
        sink = rows.writeStream.format("kafka").options(
            **self._kafka, topic=self._target, checkpointLocation=self._checkpoint, includeHeaders="true"
        )
        return sink.trigger(**trigger).start()

    def _rows(self) -> int:
        return sum(progress["numInputRows"] for progress in self._query.recentProgress)

    def _since(self, timestamp: int) -> list[str]:
        rows = (
            self._spark.read.format("kafka")
            .options(**self._kafka, subscribe=self._source, startingTimestamp=str(timestamp))
            .load()
        )
        return [bytes(row["value"]).decode() for row in rows.select("value").collect()]


def main(jars: str, *job: str) -> None:
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.jars", jars)
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "512m")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    asked = Job(spark, *job)
    for line in sys.stdin:
        try:
            answer = asked.answer(json.loads(line))
        except Exception as error:  # noqa: BLE001 - told to the test
            answer = {"failed": str(error)}
        print(json.dumps(answer), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
