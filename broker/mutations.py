"""Requests to the controller: what every one of them has to be asked before it is decided.

Topics and partitions that a client creates and deletes may be counted (controller_mutation_rate). `admission` is where
the quota comes in: what it returns is asked for every topic, with the number of its partitions, and raises
THROTTLING_QUOTA_EXCEEDED. Before the versions that know that code Kafka only slows the client down.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from barnabas.broker.call import Call
from barnabas.coordination.controller.permissions import free
from barnabas.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["admission", "check_patience"]


def admission(node: Node, call: Call, *, first_that_refuses: int) -> Callable[[int], None]:
    """`first_that_refuses` is the API's first version with THROTTLING_QUOTA_EXCEEDED."""
    if node.throttles is None:
        return free
    return node.throttles.admit_mutations(call, refuses=call.version >= first_that_refuses) or free


def check_patience(timeout_ms: int) -> None:
    """A controller does not begin what its client has already given up."""
    if timeout_ms <= 0:
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT)
