"""What an ACL is made of, in Kafka's words and numbers."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from barnabas.cli.failures import WrongUsage

__all__ = ["CLUSTER_NAME", "SUPPORTED", "Entry", "Operation", "Pattern", "PatternType", "Permission", "ResourceType"]

CLUSTER_NAME = "kafka-cluster"
"""The one name of the one resource of that type."""


class ResourceType(IntEnum):
    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(IntEnum):
    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class Operation(IntEnum):
    UNKNOWN = 0
    ANY = 1
    ALL = 2
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
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15

    @classmethod
    def parse(cls, text: str) -> Operation:
        """DescribeConfigs, as Kafka writes it, in any case, or describe-configs."""
        wanted = text.strip().upper().replace("-", "").replace("_", "")
        for each in cls:
            if each.name.replace("_", "") == wanted and each is not cls.UNKNOWN:
                return each
        known = ", ".join(each.name.title().replace("_", "") for each in cls if each not in (cls.UNKNOWN, cls.ANY))
        raise WrongUsage(f"--operation {text} is none: there are {known}")


class Permission(IntEnum):
    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


_R, _W, _C, _D = Operation.READ, Operation.WRITE, Operation.CREATE, Operation.DESCRIBE
_CONFIGS = (Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS)

SUPPORTED: dict[ResourceType, frozenset[Operation]] = {
    ResourceType.TOPIC: frozenset({_R, _W, _C, _D, Operation.DELETE, Operation.ALTER, *_CONFIGS}),
    ResourceType.GROUP: frozenset({_R, _D, Operation.DELETE, *_CONFIGS}),
    ResourceType.CLUSTER: frozenset(
        {_C, _D, Operation.CLUSTER_ACTION, Operation.IDEMPOTENT_WRITE, Operation.ALTER, *_CONFIGS}
    ),
    ResourceType.TRANSACTIONAL_ID: frozenset({_D, _W, Operation.TWO_PHASE_COMMIT}),
    ResourceType.DELEGATION_TOKEN: frozenset({_D}),
    ResourceType.USER: frozenset({Operation.CREATE_TOKENS, Operation.DESCRIBE_TOKENS}),
}
"""What can be done with each, beside ALL of it."""


class Pattern(NamedTuple):
    """Resources: one, those whose name begins so, or, as a filter, more."""

    resource_type: ResourceType
    name: str
    pattern_type: PatternType

    def __str__(self) -> str:
        kinds = f"resourceType={self.resource_type.name}, name={self.name}, patternType={self.pattern_type.name}"
        return f"ResourcePattern({kinds})"


class Entry(NamedTuple):
    """Who may, or may not, do what from where."""

    principal: str
    host: str
    operation: Operation
    permission: Permission

    def __str__(self) -> str:
        who = f"principal={self.principal}, host={self.host}"
        return f"({who}, operation={self.operation.name}, permissionType={self.permission.name})"
