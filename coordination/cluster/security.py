"""What the metadata keeps for those who decide who may do what: it is kept here as it came."""

from __future__ import annotations

from dataclasses import dataclass, field

from barnabas.coordination.cluster.records import UnreplayableRecord
from barnabas.protocol.records.cluster_metadata import (
    AccessControlEntryRecord,
    DelegationTokenRecord,
    UserScramCredentialRecord,
)
from barnabas.protocol.schema import Uuid

__all__ = ["ScramKey", "Security"]

ScramKey = tuple[str, int]
"""A user's name and the number of a mechanism."""


@dataclass(slots=True)
class Security:
    acls: dict[Uuid, AccessControlEntryRecord] = field(default_factory=dict)
    scram: dict[ScramKey, UserScramCredentialRecord] = field(default_factory=dict)
    tokens: dict[str, DelegationTokenRecord] = field(default_factory=dict)

    def remove_acl(self, acl_id: Uuid) -> None:
        if self.acls.pop(acl_id, None) is None:
            raise UnreplayableRecord(f"there is no ACL with id {acl_id}")
