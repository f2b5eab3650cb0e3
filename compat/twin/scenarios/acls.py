"""DescribeAcls, CreateAcls and DeleteAcls, where there is no authorizer: refused to the word, as tools print it; and
who leaves a kind open is shown out."""

from __future__ import annotations

from typing import Any

from compat.twin.scenario import scenario
from compat.twin.twins import Twins

TOPIC, ANY, ALLOW, READ, PREFIXED = 2, 1, 3, 3, 4
UNHEARD_OF = 99
UNKNOWN = 0

KINDS = ("ResourceTypeFilter", "PatternTypeFilter", "Operation", "PermissionType")
EVERYTHING = dict.fromkeys(KINDS, ANY)
CREATION: dict[str, Any] = {
    "ResourceType": TOPIC,
    "ResourceName": "orders",
    "ResourcePatternType": PREFIXED,
    "Principal": "User:clara",
    "Host": "*",
    "Operation": READ,
    "PermissionType": ALLOW,
}
FILTER: dict[str, Any] = {**EVERYTHING, "ResourceTypeFilter": TOPIC, "Operation": READ, "PermissionType": ALLOW}


@scenario("DescribeAcls")
def are_described(twins: Twins) -> None:
    twins.ask("DescribeAcls", **EVERYTHING)
    twins.ask("DescribeAcls", **EVERYTHING, ResourceNameFilter="orders", PrincipalFilter="", HostFilter="*")
    twins.ask("DescribeAcls", **{**EVERYTHING, "Operation": UNHEARD_OF, "ResourceTypeFilter": -1})


@scenario("CreateAcls")
def are_created(twins: Twins) -> None:
    twins.ask("CreateAcls", Creations=[])
    twins.ask("CreateAcls", Creations=[CREATION, CREATION, {**CREATION, "ResourceName": ""}])
    twins.ask("CreateAcls", Creations=[{**CREATION, "PermissionType": UNHEARD_OF}])


@scenario("DeleteAcls")
def are_deleted(twins: Twins) -> None:
    twins.ask("DeleteAcls", Filters=[])
    twins.ask("DeleteAcls", Filters=[FILTER, {**FILTER, "ResourceNameFilter": "orders"}])
    twins.ask("DeleteAcls", Filters=[{**FILTER, "PatternTypeFilter": UNHEARD_OF}])


@scenario("DescribeAcls")
def are_not_described_by_a_kind_left_open(twins: Twins) -> None:
    for kind in KINDS:
        twins.ask("DescribeAcls", **{**EVERYTHING, kind: UNKNOWN})


@scenario("CreateAcls")
def are_not_created_of_a_kind_left_open(twins: Twins) -> None:
    for kind in ("ResourceType", "ResourcePatternType", "Operation", "PermissionType"):
        twins.ask("CreateAcls", Creations=[CREATION, {**CREATION, kind: UNKNOWN}])


@scenario("DeleteAcls")
def are_not_deleted_by_a_kind_left_open(twins: Twins) -> None:
    for kind in KINDS:
        twins.ask("DeleteAcls", Filters=[FILTER, {**FILTER, kind: UNKNOWN}])
