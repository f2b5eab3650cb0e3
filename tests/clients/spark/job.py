"""A PySpark job: `python job.py JARS BOOTSTRAP FROM TO CHECKPOINT`.

For each line of stdin, "true" or "false" for failOnDataLoss, it starts the stream anew from its checkpoint, lets it
take what is there now from one topic into another, and answers a line of JSON: {"rows": so many} or {"failed": "why"}.
"""

from __future__ import annotations

import json
import sys

from pyspark.sql import SparkSession


def main(jars: str, bootstrap: str, source: str, target: str, checkpoint: str) -> None:
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.jars", jars)
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "512m")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    for line in sys.stdin:
        print(json.dumps(run(spark, bootstrap, source, target, checkpoint, line.strip())), flush=True)
    spark.stop()


def run(
    spark: SparkSession, bootstrap: str, source: str, target: str, checkpoint: str, fail_on_data_loss: str
) -> dict[str, object]:
    kafka = {"kafka.bootstrap.servers": bootstrap}
    rows = (
        spark.readStream.format("kafka")
        .options(**kafka, subscribe=source, startingOffsets="earliest", includeHeaders="true")
        .option("failOnDataLoss", fail_on_data_loss)
        .load()
        .select("key", "value", "headers")
    )
    query = (
        rows.writeStream.format("kafka")
        .options(**kafka, topic=target, checkpointLocation=checkpoint, includeHeaders="true")
        .trigger(availableNow=True)
        .start()
    )
    try:
        query.awaitTermination()
    except Exception as error:  # noqa: BLE001 - told to the test
        return {"failed": str(error)}
    return {"rows": sum(progress["numInputRows"] for progress in query.recentProgress)}


if __name__ == "__main__":
    main(*sys.argv[1:])
