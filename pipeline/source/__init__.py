"""`spark.read.format("barnabas")`: the topics of any Kafka cluster in Spark, without a jar.

    from barnabas.pipeline.source import BarnabasSource

    spark.dataSource.register(BarnabasSource)
    rows = spark.read.format("barnabas").options(**{"kafka.bootstrap.servers": "localhost:9092", "subscribe": "orders"})

The class is loaded when it is first asked for: what reads works without Spark too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.pipeline.source.spark import BarnabasSource as BarnabasSource

__all__ = ["BarnabasSource"]


def __getattr__(name: str) -> object:
    if name != "BarnabasSource":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from barnabas.pipeline.source.spark import BarnabasSource

    return BarnabasSource
