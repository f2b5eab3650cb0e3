"""The way to a cluster: each bootstrap address, each address that the cluster advertises, and the cluster's health."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from barnabas.cli.doctor.checks import Check, fail, good, unknown, warn
from barnabas.cli.doctor.hops import dial_hops, is_local
from barnabas.cli.doctor.needs import check_needs, kafka_python_versions
from barnabas.cli.refusals import sentence_of
from barnabas.client.address import Address
from barnabas.client.cluster import Cluster, check
from barnabas.client.connection import Connection
from barnabas.client.deadline import Deadline
from barnabas.client.errors import ClientError, name_of
from barnabas.client.properties import ClientProperties
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from barnabas.protocol.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from barnabas.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    PartitionData,
    TopicData,
)
from barnabas.protocol.messages.metadata import MetadataResponse

__all__ = ["check_cluster", "clock_check"]

_CLOCK_WARN_S, _CLOCK_FAIL_S = 1.0, 300.0
_LEAST_FREE = 0.05
_SHOWN = 5


def check_cluster(bootstrap: Sequence[Address], properties: ClientProperties, timeout_s: float) -> list[Check]:
    checks: list[Check] = []
    works: Address | None = None
    for address in bootstrap:
        hop = dial_hops(address, "bootstrap", properties, timeout_s)
        checks += hop.checks
        if hop.connection is not None:
            works = works or address
            checks += check_needs(str(address), hop.connection.offered, kafka_python_versions())
            hop.connection.close()
    if works is None:
        return checks
    with Cluster([works], properties, timeout_s) as cluster:
        for what, part in (
            ("advertised", _advertised(cluster, works)),
            ("clock", _clock(cluster, works)),
            ("partitions", _partitions(cluster)),
            ("directories", _directories(cluster)),
        ):
            try:
                checks += part
            except (ClientError, KafkaError) as error:
                checks.append(fail(what, str(works), sentence_of(error) or str(error)))
    return checks


# The second way of every client: the addresses that the first answer names


def _advertised(cluster: Cluster, bootstrap: Address) -> Iterator[Check]:
    metadata = cluster.metadata([])
    if not metadata.brokers:
        yield fail("advertised", str(bootstrap), "the cluster names no broker", "see whether its brokers have started.")
    for node in cluster.nodes:
        what = f"broker {node.node_id}"
        local = _local_name(node.address, bootstrap)
        if local is not None:
            yield local
        hop = dial_hops(node.address, what, cluster.properties, cluster.timeout_s)
        yield from _with_advice(hop.checks, node.node_id)
        if hop.connection is not None:
            with hop.connection:
                yield from _identity(hop.connection, what, node.address, metadata, cluster.timeout_s)


def _local_name(address: Address, bootstrap: Address) -> Check | None:
    if not is_local(address) or is_local(bootstrap):
        return None
    return warn(
        "advertised",
        str(address),
        f"the broker calls itself {address.host}, which is every machine's name for itself",
        f"set advertised.listeners to a name that clients reach it by, such as {bootstrap.host}.",
    )


def _with_advice(checks: Sequence[Check], node_id: int) -> Iterator[Check]:
    """The bootstrap address worked: what fails here is what the broker says of itself, or the way to it."""
    for each in checks:
        if each.state == "fail":
            advice = (
                f"clients go on to this address: make advertised.listeners of broker {node_id} one that they reach, "
                "or start that broker."
            )
            yield each._replace(advice=advice)
        else:
            yield each


def _identity(
    connection: Connection, what: str, address: Address, metadata: MetadataResponse, timeout_s: float
) -> Iterator[Check]:
    """Another broker may listen there: a forwarded port, a name that is taken twice."""
    try:
        answer = connection.ask(DescribeClusterRequest(), DescribeClusterResponse, Deadline(timeout_s))
        check(answer.error_code, answer.error_message)
    except (ClientError, KafkaError) as error:
        yield unknown(f"{what}: cluster", str(address), str(error))
        return
    if answer.cluster_id != metadata.cluster_id:
        found = f"is of cluster {answer.cluster_id}, and the bootstrap of {metadata.cluster_id}"
        yield fail(f"{what}: cluster", str(address), found, "two clusters share an address: see ports and names.")
    else:
        yield good(f"{what}: cluster", str(address), answer.cluster_id)


# The cluster itself


def _clock(cluster: Cluster, bootstrap: Address) -> Iterator[Check]:
    """The quorum's leader says of itself that it is caught up now, by its own clock: no other API tells a time."""
    topic = TopicData(topic_name="__cluster_metadata", partitions=[PartitionData(partition_index=0)])
    request = DescribeQuorumRequest(topics=[topic])
    try:
        cluster.ask(request, DescribeQuorumResponse)  # so that the next finds its connection
        before_s = time.time()
        answer = cluster.ask(request, DescribeQuorumResponse)
        after_s = time.time()
        check(answer.error_code, answer.error_message)
        (log,) = answer.topics[0].partitions
        check(log.error_code, log.error_message)
    except (ClientError, KafkaError) as error:
        yield unknown("clock", str(bootstrap), f"not known: {error}")
        return
    told = [each.last_caught_up_timestamp for each in log.current_voters if each.replica_id == log.leader_id]
    if not told or told[0] <= 0:
        yield unknown("clock", str(bootstrap), "not known: the controller does not say")
        return
    yield clock_check(f"controller {log.leader_id}", told[0] / 1000, before_s, after_s)


def clock_check(where: str, theirs_s: float, before_s: float, after_s: float) -> Check:
    """Their time was told at some moment between the two of ours."""
    if before_s - 0.001 <= theirs_s <= after_s + 0.001:
        return good("clock", where, f"as here, within {(after_s - before_s) * 1000:.1f} ms")
    apart_s = theirs_s - (before_s if theirs_s < before_s else after_s)
    found = f"{abs(apart_s):.3f} s {'behind' if apart_s < 0 else 'ahead of'} this machine's"
    advice = "let both machines ask a time server: retention, offsets by time and tokens go by the clock."
    if abs(apart_s) > _CLOCK_FAIL_S:
        return fail("clock", where, found, advice)
    return warn("clock", where, found, advice) if abs(apart_s) > _CLOCK_WARN_S else good("clock", where, found)


def _partitions(cluster: Cluster) -> Iterator[Check]:
    topics = cluster.topics().values()
    partitions = [(f"{topic.name}-{each.partition_index}", each) for topic in topics for each in topic.partitions]
    where = f"{len(partitions)} partitions"
    leaderless = sorted(name for name, each in partitions if each.leader_id < 0)
    behind = sorted(name for name, each in partitions if len(each.isr_nodes) < len(each.replica_nodes))
    if leaderless:
        advice = "start the brokers that have them; barnabas cluster elect unclean gives up their newest records."
        yield fail("leaders", where, f"{_some(leaderless)} have none", advice)
    else:
        yield good("leaders", where, "each has one")
    if behind:
        advice = "see whether a broker is down, or cannot keep up: barnabas cluster, and its log."
        yield warn("replicas", where, f"{_some(behind)} are under-replicated", advice)
    else:
        yield good("replicas", where, "all in sync")


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _directories(cluster: Cluster) -> Iterator[Check]:
    for node in cluster.nodes:
        what = f"broker {node.node_id}"
        try:
            answer = cluster.ask_node(node.node_id, DescribeLogDirsRequest(topics=[]), DescribeLogDirsResponse)
            check(answer.error_code)
        except (ClientError, KafkaError) as error:
            yield unknown("directories", what, f"not known: {error}")
            continue
        for each in answer.results:
            yield _directory(what, each.log_dir, each.error_code, each.total_bytes, each.usable_bytes)


def _directory(what: str, path: str, code: int, total: int, usable: int) -> Check:
    if code:
        advice = "see to the disk, then restart the broker: its partitions there are offline."
        return fail("directory", what, f"{path}: {name_of(code)}", advice)
    if total <= 0:
        return good("directory", what, path)
    found = f"{path}: {usable / 2**30:,.1f} of {total / 2**30:,.1f} GiB free"
    if usable < total * _LEAST_FREE:
        advice = "make room: shorten retention.ms of large topics, or take a larger disk."
        return warn("directory", what, found, advice)
    return good("directory", what, found)
