"""What a client may do. Until there is an authorizer, everybody may do everything.

Clients that ask for it are told as one number, with a bit for each operation that the kind of resource has.
"""

from __future__ import annotations

from enum import IntEnum

__all__ = ["CLUSTER_OPERATIONS", "GROUP_OPERATIONS", "NOT_ASKED", "TOPIC_OPERATIONS", "Operation"]

NOT_ASKED = -(2**31)


class Operation(IntEnum):
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12


def _bits(*operations: Operation) -> int:
    return sum(1 << operation for operation in operations)


_CONFIGS = (Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS)
TOPIC_OPERATIONS = _bits(
    Operation.READ,
    Operation.WRITE,
    Operation.CREATE,
    Operation.DELETE,
    Operation.ALTER,
    Operation.DESCRIBE,
    *_CONFIGS,
)
GROUP_OPERATIONS = _bits(Operation.READ, Operation.DELETE, Operation.DESCRIBE, *_CONFIGS)
CLUSTER_OPERATIONS = _bits(
    Operation.CREATE,
    Operation.ALTER,
    Operation.DESCRIBE,
    Operation.CLUSTER_ACTION,
    Operation.IDEMPOTENT_WRITE,
    *_CONFIGS,
)
