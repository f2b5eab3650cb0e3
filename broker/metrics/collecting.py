"""Every metric of a node, looked up when somebody asks: nothing is counted twice, and nothing for nobody.

Names are those that the usual rules of the JMX exporter make of Kafka's, so that dashboards find them.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from barnabas.broker.metrics.exposition import COUNTER, GAUGE, Metric, one
from barnabas.coordination.cluster.partition import NO_LEADER

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["collect"]

_REPLICAS = "kafka_server_replicamanager_"
_FETCHERS = "kafka_server_replicafetchermanager_"
_CONTROLLER = "kafka_controller_kafkacontroller_"
_ELECTIONS = "kafka_controller_controllerstats_"
_METADATA = "kafka_server_broker_metadata_"


def collect(node: Node) -> Iterator[Metric]:
    yield from _replicas(node)
    yield from _fetchers(node)
    yield from _cluster(node)
    yield from _metadata(node)
    yield from _process()


def _replicas(node: Node) -> Iterator[Metric]:
    led = under_replicated = under_minimum = at_minimum = reassigning = here = 0
    smallest: dict[str, int] = {}
    for topic, _, state in node.image.topics.partitions():
        here += node.node_id in state.replicas
        if state.leader != node.node_id:
            continue
        led += 1
        under_replicated += len(state.isr) < len(state.replicas)
        reassigning += state.reassigning
        if topic.name not in smallest:
            smallest[topic.name] = node.topic_config(topic.name).min_insync_replicas
        minimum = min(smallest[topic.name], len(state.replicas))
        under_minimum += len(state.isr) < minimum
        at_minimum += len(state.isr) == minimum
    yield one(f"{_REPLICAS}partitioncount", GAUGE, "Replicas on this broker.", here)
    yield one(f"{_REPLICAS}offlinereplicacount", GAUGE, "Those that are not open.", here - len(node.partitions))
    yield one(f"{_REPLICAS}leadercount", GAUGE, "Partitions that this broker leads.", led)
    yield one(
        f"{_REPLICAS}underreplicatedpartitions", GAUGE, "Those of them with replicas out of sync.", under_replicated
    )
    yield one(
        f"{_REPLICAS}underminisrpartitioncount", GAUGE, "Those with fewer than min.insync.replicas.", under_minimum
    )
    yield one(f"{_REPLICAS}atminisrpartitioncount", GAUGE, "Those with just min.insync.replicas.", at_minimum)
    yield one(f"{_REPLICAS}reassigningpartitions", GAUGE, "Those that move to other brokers.", reassigning)
    changes = node.in_sync_changes
    yield one(f"{_REPLICAS}isrexpands_total", COUNTER, "Replicas that have come in sync.", changes.expansions)
    yield one(f"{_REPLICAS}isrshrinks_total", COUNTER, "Times that replicas have gone out of sync.", changes.shrinkages)
    yield one(f"{_REPLICAS}failedisrupdates_total", COUNTER, "Such changes that were refused.", changes.failures)


def _fetchers(node: Node) -> Iterator[Metric]:
    labels, fetchers = {"clientId": "Replica"}, node.fetchers
    yield Metric(
        f"{_FETCHERS}maxlag",
        GAUGE,
        "Records that count and the replica here lacks that lacks most.",
        [(labels, fetchers.max_lag)],
    )
    yield Metric(
        f"{_FETCHERS}failedpartitionscount",
        GAUGE,
        "Replicas here that wait for other metadata before they fetch again.",
        [(labels, len(fetchers.failed))],
    )


def _cluster(node: Node) -> Iterator[Metric]:
    image = node.image
    fenced = sum(broker.fenced for broker in image.brokers.values())
    partitions = offline = not_preferred = 0
    for _, _, state in image.topics.partitions():
        partitions += 1
        offline += state.leader == NO_LEADER
        not_preferred += state.leader != state.preferred_leader
    yield one(f"{_CONTROLLER}activecontrollercount", GAUGE, "1 on the controller.", int(node.config.is_controller))
    yield one(f"{_CONTROLLER}activebrokercount", GAUGE, "Brokers in service.", len(image.brokers) - fenced)
    yield one(f"{_CONTROLLER}fencedbrokercount", GAUGE, "Brokers that are not.", fenced)
    yield one(f"{_CONTROLLER}globaltopiccount", GAUGE, "Topics of the cluster.", len(image.topics))
    yield one(f"{_CONTROLLER}globalpartitioncount", GAUGE, "Partitions of the cluster.", partitions)
    yield one(f"{_CONTROLLER}offlinepartitionscount", GAUGE, "Partitions that nobody leads.", offline)
    yield one(
        f"{_CONTROLLER}preferredreplicaimbalancecount",
        GAUGE,
        "Partitions that another than the preferred replica leads.",
        not_preferred,
    )
    yield one(f"{_ELECTIONS}leaderelections_total", COUNTER, "Leaders elected.", node.elections.leaders)
    yield one(
        f"{_ELECTIONS}uncleanleaderelections_total", COUNTER, "Leaders that may lack records.", node.elections.unclean
    )


def _metadata(node: Node) -> Iterator[Metric]:
    image = node.image
    yield one(
        f"{_METADATA}metrics_last_applied_record_offset", GAUGE, "Of the cluster's metadata.", image.next_offset - 1
    )
    yield one(f"{_METADATA}metrics_last_applied_record_timestamp", GAUGE, "In milliseconds.", image.timestamp_ms)


def _process() -> Iterator[Metric]:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    yield one("process_cpu_seconds_total", COUNTER, "Processor time.", usage.ru_utime + usage.ru_stime)
    with open("/proc/self/statm", "rb") as file:  # noqa: PTH123 - a hundredth of Path's cost, at every scrape
        pages = int(file.read().split()[1])
    yield one("process_resident_memory_bytes", GAUGE, "Memory in use.", pages * os.sysconf("SC_PAGE_SIZE"))
    yield one("process_open_fds", GAUGE, "Open files and connections.", len(os.listdir("/proc/self/fd")))  # noqa: PTH208
    yield one("process_start_time_seconds", GAUGE, "Since 1970.", _STARTED_S)


_STARTED_S = time.time()
