"""What is asked of the cluster beside its records. Java's client asks: it takes the properties that Spark takes."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import SparkSession

from barnabas.pipeline.failures import PipelineFailed
from barnabas.pipeline.settings import Settings
from barnabas.pipeline.troubles import in_words

__all__ = ["admin", "check_reachable", "java_list", "make_topic", "open_admin", "partitions_of", "said_in_words"]

_CONNECT_S = 5.0


def check_reachable(bootstrap: str) -> None:
    """Spark asks for minutes before it says that there is no broker."""
    tried = []
    for address in bootstrap.split(","):
        host, colon, port = address.strip().rpartition(":")
        if not colon or not port.isdigit():
            raise PipelineFailed(f"{address.strip()!r} is no HOST:PORT: mend bootstrap.servers.")
        try:
            socket.create_connection((host.strip("[]"), int(port)), _CONNECT_S).close()
            return
        except OSError as error:
            tried.append(f"{address.strip()} ({error.strerror or error})")
    raise PipelineFailed(f"No broker answers at {', '.join(tried)}: start one, or mend bootstrap.servers.")


def partitions_of(spark: SparkSession, settings: Settings, topics: Iterable[str] | None = None) -> dict[str, list[int]]:
    """Of these topics, as far as they are there; or of all."""
    with admin(spark, settings) as asked:
        there = set(asked.listTopics().names().get())
        wanted = sorted(there if topics is None else there & set(topics))
        found = asked.describeTopics(java_list(spark, wanted)).allTopicNames().get()
        return {name: sorted(each.partition() for each in found[name].partitions()) for name in wanted}


def make_topic(spark: SparkSession, settings: Settings, name: str, partitions: int, configs: Mapping[str, str]) -> None:
    """Unless it is there."""
    jvm: Any = spark.sparkContext._jvm
    with admin(spark, settings) as asked:
        if name in set(asked.listTopics().names().get()):
            return
        topic = jvm.org.apache.kafka.clients.admin.NewTopic(
            name, jvm.java.util.Optional.of(partitions), jvm.java.util.Optional.empty()
        )
        wanted = jvm.java.util.HashMap()
        for key, value in configs.items():
            wanted.put(key, value)
        asked.createTopics(java_list(spark, [topic.configs(wanted)])).all().get()


@contextmanager
def admin(spark: SparkSession, settings: Settings) -> Iterator[Any]:
    """Java's Admin; what it throws is said in words."""
    with said_in_words():
        asked = open_admin(spark, settings)
        try:
            yield asked
        finally:
            asked.close()


def open_admin(spark: SparkSession, settings: Settings) -> Any:
    """For who keeps it, and closes it."""
    jvm: Any = spark.sparkContext._jvm
    properties = jvm.java.util.Properties()
    for key, value in settings.client_properties().items():
        properties.setProperty(key, value)
    return jvm.org.apache.kafka.clients.admin.Admin.create(properties)


@contextmanager
def said_in_words() -> Iterator[None]:
    try:
        yield
    except Py4JJavaError as error:
        raise in_words(error) from error
    except Py4JError as error:
        raise PipelineFailed(
            f"Kafka's Java client is not to be had: {error}. It comes with Spark's Kafka source."
        ) from error


def java_list(spark: SparkSession, items: Iterable[Any]) -> Any:
    found = spark.sparkContext._jvm.java.util.ArrayList()
    for item in items:
        found.add(item)
    return found
