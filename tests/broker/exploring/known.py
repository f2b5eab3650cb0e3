"""Where we differ on purpose, each as narrowly as it can be said, and why."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from barnabas.protocol.schema import Uuid

from .beside import BROKE, CLOSED, PENDING, Difference

__all__ = ["KNOWN", "Known", "known"]


class Known(NamedTuple):
    reason: str
    request: str
    """The name of the class."""
    place: str
    """Where in the answer, without its numbers."""
    fits: Callable[[Difference], bool]


def _unknown_isolation(difference: Difference) -> bool:
    return difference.step.request.isolation_level not in (0, 1)  # type: ignore[attr-defined]


def _nothing_named(difference: Difference) -> bool:
    return any(
        topic.name is None and topic.topic_id == Uuid.ZERO
        for topic in difference.step.request.topics or ()  # type: ignore[attr-defined]
    )


def _negative_limit(difference: Difference) -> bool:
    request = difference.step.request
    limits = [one.partition_max_bytes for topic in request.topics for one in topic.partitions]  # type: ignore[attr-defined]
    return bool(min(request.max_bytes, *limits, 0) < 0)  # type: ignore[attr-defined]


def _unknown_operation(difference: Difference) -> bool:
    resources = difference.step.request.resources  # type: ignore[attr-defined]
    return any(config.config_operation not in range(4) for each in resources for config in each.configs)


def _empty_name(difference: Difference) -> bool:
    return any(not topic.name for topic in difference.step.request.topics)  # type: ignore[attr-defined]


def _several_quotas(difference: Difference) -> bool:
    entries = difference.step.request.entries  # type: ignore[attr-defined]
    return any(len(entry.ops) > 1 for entry in entries)


_ISOLATION = "Over an unknown isolation level Kafka fails; we refuse it."
KNOWN = [
    Known(_ISOLATION, "FetchRequest", BROKE, _unknown_isolation),
    Known(_ISOLATION, "ListOffsetsRequest", BROKE, _unknown_isolation),
    Known("Over a limit below zero Kafka fails; we refuse the partition.", "FetchRequest", BROKE, _negative_limit),
    Known(
        "Over a topic without name and id Kafka fails; we refuse that topic.", "MetadataRequest", BROKE, _nothing_named
    ),
    Known(
        "Over a topic without a name Kafka fails; we refuse that topic.",
        "DescribeTopicPartitionsRequest",
        BROKE,
        _empty_name,
    ),
    Known(
        "Who joins again over another connection is answered there; Kafka leaves the first one silent for ever, and we"
        " close it.",
        "JoinGroupRequest",
        "",
        lambda difference: (difference.kafka, difference.ours) == (PENDING, CLOSED),
    ),
    Known(
        "A group that was never written Kafka lists only after something else was.",
        "ListGroupsRequest",
        ".groups",
        lambda difference: all(
            each["protocol_type"] == "" and each["group_state"] in ("", "Empty")
            for each in difference.ours
            if each not in difference.kafka
        ),
    ),
    Known(
        "Over an unknown operation Kafka's controller fails for all resources; we refuse the one.",
        "IncrementalAlterConfigsRequest",
        BROKE,
        _unknown_operation,
    ),
    Known(
        "Of several quotas that are wrong Kafka names the one that its hash table has first; we name the first.",
        "AlterClientQuotasRequest",
        ".entries[].error_message",
        _several_quotas,
    ),
]
"""What Kafka answers with an exception of its own gives nobody anything.

Not drawn at all, since Kafka never answers: a protocol that a member names twice, a resource that stands twice in
AlterConfigs, null records. Nor a partition that stands twice in Produce (Kafka appends one of them and may answer for
the other), a topic without an id in a session of Fetch, over which Kafka fails now and later, nor a partition of two
thousand million in a cursor (it counts on from it).
"""


def known(difference: Difference) -> Known | None:
    request, place, _, _ = difference.signature
    for each in KNOWN:
        if each.request == request and each.place == place and each.fits(difference):
            return each
    return None
