"""Which ACLs the options mean: for which resources, whom, and what."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from barnabas.cli.acls.names import (
    CLUSTER_NAME,
    SUPPORTED,
    Entry,
    Operation,
    Pattern,
    PatternType,
    Permission,
    ResourceType,
)
from barnabas.cli.failures import WrongUsage

__all__ = ["Wanted", "check_combination", "patterns_of", "wanted_of"]

Wanted = dict[Pattern, set[Entry]]
_ANY_HOST = "*"
_CLUSTER = Pattern(ResourceType.CLUSTER, CLUSTER_NAME, PatternType.LITERAL)
_PRODUCER = {
    ResourceType.TOPIC: {Operation.WRITE, Operation.DESCRIBE, Operation.CREATE},
    ResourceType.TRANSACTIONAL_ID: {Operation.WRITE, Operation.DESCRIBE},
}
_CONSUMER = {
    ResourceType.TOPIC: {Operation.READ, Operation.DESCRIBE},
    ResourceType.GROUP: {Operation.READ},
}
_LIST_EXCLUDES = ("producer", "consumer", "allow_host", "allow_principal", "deny_host", "deny_principal")
_ROLE_EXCLUDES = ("operation", "deny_principal", "deny_host")


def check_combination(action: str, arguments: argparse.Namespace) -> None:
    """What Kafka's tool refuses to take together."""
    if action == "list":
        _exclude(arguments, "list", _LIST_EXCLUDES)
    for role in ("producer", "consumer"):
        if getattr(arguments, role):
            _exclude(arguments, role, _ROLE_EXCLUDES)
    if arguments.principal and action != "list":
        raise WrongUsage("--principal goes with --list only: --allow-principal says who may")
    if arguments.producer and not arguments.topic:
        raise WrongUsage("with --producer name a --topic")
    if arguments.idempotent and not arguments.producer:
        raise WrongUsage("--idempotent goes with --producer only")
    others = not arguments.producer and (arguments.cluster or arguments.transactional_id)
    if arguments.consumer and (not arguments.topic or not arguments.group or others):
        raise WrongUsage("with --consumer name a --topic and a --group, and no --cluster or --transactional-id")
    if action == "add" and arguments.resource_pattern_type not in (PatternType.LITERAL, PatternType.PREFIXED):
        name = arguments.resource_pattern_type.name.lower()
        raise WrongUsage(f"--resource-pattern-type {name} only finds ACLs: add with literal or prefixed")


def _exclude(arguments: argparse.Namespace, what: str, others: Iterable[str]) -> None:
    for other in others:
        if getattr(arguments, other):
            raise WrongUsage(f"--{other.replace('_', '-')} cannot be used with --{what}")


def patterns_of(arguments: argparse.Namespace) -> list[Pattern]:
    kind: PatternType = arguments.resource_pattern_type
    named = [
        (ResourceType.TOPIC, arguments.topic),
        (ResourceType.GROUP, arguments.group),
        (ResourceType.TRANSACTIONAL_ID, arguments.transactional_id),
        (ResourceType.DELEGATION_TOKEN, arguments.delegation_token),
        (ResourceType.USER, arguments.user_principal),
    ]
    found = [Pattern(resource, name.strip(), kind) for resource, names in named for name in names or ()]
    if kind == PatternType.LITERAL and (arguments.cluster or arguments.idempotent):
        found.append(_CLUSTER)
    return sorted(set(found))


def wanted_of(arguments: argparse.Namespace) -> Wanted:
    patterns = patterns_of(arguments)
    if not patterns:
        raise WrongUsage(
            "name at least one resource: --topic, --group, --cluster, --transactional-id, --delegation-token "
            "or --user-principal"
        )
    wanted: Wanted = {}
    if not arguments.producer and not arguments.consumer:
        operations = {Operation.parse(each) for each in arguments.operation or ("All",)}
        wanted = {pattern: _entries(arguments, operations) for pattern in patterns}
    for role, allowed in (("producer", _PRODUCER), ("consumer", _CONSUMER)):
        if getattr(arguments, role):
            for pattern in patterns:
                if pattern.resource_type in allowed:
                    wanted.setdefault(pattern, set()).update(_entries(arguments, allowed[pattern.resource_type]))
    if arguments.idempotent:
        wanted[_CLUSTER] = _entries(arguments, {Operation.IDEMPOTENT_WRITE})
    _check_operations(wanted)
    return wanted


def _entries(arguments: argparse.Namespace, operations: Iterable[Operation]) -> set[Entry]:
    return {
        Entry(principal, host, operation, permission)
        for permission, principals, hosts in (
            (Permission.ALLOW, arguments.allow_principal, arguments.allow_host),
            (Permission.DENY, arguments.deny_principal, arguments.deny_host),
        )
        for principal in principals or ()
        for host in hosts or (_ANY_HOST,)
        for operation in operations
    }


def _check_operations(wanted: Wanted) -> None:
    for pattern, entries in wanted.items():
        supported = SUPPORTED[pattern.resource_type] | {Operation.ALL}
        if wrong := sorted({entry.operation for entry in entries} - supported):
            names = ", ".join(each.name for each in sorted(supported))
            raise WrongUsage(f"there is no {wrong[0].name} of a {pattern.resource_type.name}, only {names}")
