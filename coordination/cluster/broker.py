"""Nodes as they registered themselves: brokers, and controllers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from barnabas.coordination.cluster.directories import is_online, java_order
from barnabas.coordination.cluster.features import VersionRange
from barnabas.coordination.cluster.metadata_version import MetadataVersion
from barnabas.coordination.cluster.records import MetadataRecord, UnreplayableRecord
from barnabas.protocol.directory_ids import MIGRATING, UNASSIGNED
from barnabas.protocol.records.cluster_metadata import (
    BrokerEndpoint,
    BrokerFeature,
    BrokerRegistrationChangeRecord,
    ControllerEndpoint,
    ControllerFeature,
    RegisterBrokerRecord,
    RegisterControllerRecord,
)
from barnabas.protocol.schema import Uuid

__all__ = ["FENCE", "UNFENCE", "BrokerRegistration", "ControllerRegistration", "Endpoint"]

UNFENCE, NO_CHANGE, FENCE = -1, 0, 1
"""What a BrokerRegistrationChangeRecord says of fencing; the other direction of shutting down there is not."""


class Endpoint(NamedTuple):
    name: str
    host: str
    port: int
    security_protocol: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRegistration:
    id: int
    epoch: int
    """Where the records stand that registered this run of the broker: the offset of the first of them."""
    incarnation_id: Uuid
    """Of one run of the process."""
    endpoints: tuple[Endpoint, ...]
    features: Mapping[str, VersionRange]
    rack: str | None = None
    fenced: bool = True
    in_controlled_shutdown: bool = False
    migrating_from_zookeeper: bool = False
    directories: tuple[Uuid, ...] = ()
    """Of the log directories that work, sorted as Kafka sorts them."""
    cordoned_directories: tuple[Uuid, ...] | None = None
    """Those that shall get no more partitions; None until the broker has told."""

    @classmethod
    def from_record(cls, record: RegisterBrokerRecord) -> BrokerRegistration:
        return cls(
            id=record.broker_id,
            epoch=record.broker_epoch,
            incarnation_id=record.incarnation_id,
            endpoints=_endpoints(record.end_points),
            features=_features(record.features),
            rack=record.rack,
            fenced=record.fenced,
            in_controlled_shutdown=record.in_controlled_shutdown,
            migrating_from_zookeeper=record.is_migrating_zk_broker,
            directories=tuple(sorted(record.log_dirs, key=java_order)),
            cordoned_directories=None if record.cordoned_log_dirs is None else tuple(record.cordoned_log_dirs),
        )

    def changed_by(self, record: BrokerRegistrationChangeRecord) -> BrokerRegistration:
        if record.fenced not in (UNFENCE, NO_CHANGE, FENCE) or record.in_controlled_shutdown not in (NO_CHANGE, 1):
            raise UnreplayableRecord(f"broker {self.id} is changed in an unknown way: {record}")
        changed = self
        if record.fenced != NO_CHANGE:
            changed = replace(changed, fenced=record.fenced == FENCE)
        if record.in_controlled_shutdown != NO_CHANGE:
            changed = replace(changed, in_controlled_shutdown=True)
        if record.log_dirs:
            changed = replace(changed, directories=tuple(sorted(record.log_dirs, key=java_order)))
        if record.cordoned_log_dirs is not None:
            changed = replace(changed, cordoned_directories=tuple(record.cordoned_log_dirs))
        return changed

    def to_record(self, version: MetadataVersion) -> MetadataRecord:
        record_version = version.register_broker_record
        record = RegisterBrokerRecord(
            broker_id=self.id,
            is_migrating_zk_broker=self.migrating_from_zookeeper and record_version >= 2,
            incarnation_id=self.incarnation_id,
            broker_epoch=self.epoch,
            end_points=[BrokerEndpoint(*endpoint) for endpoint in self.endpoints],
            features=[BrokerFeature(name, *levels) for name, levels in self.features.items()],
            rack=self.rack,
            fenced=self.fenced,
            in_controlled_shutdown=self.in_controlled_shutdown,
        )
        if version.directories:
            record.log_dirs = list(self.directories)
        if version.cordoned_directories and self.cordoned_directories is not None:
            record.cordoned_log_dirs = list(self.cordoned_directories)
        return MetadataRecord(record, record_version)

    @property
    def active(self) -> bool:
        """It may lead."""
        return not self.fenced and not self.in_controlled_shutdown

    @property
    def has_uncordoned_directory(self) -> bool:
        if not self.directories or self.cordoned_directories is None:
            return True
        return not set(self.directories) <= set(self.cordoned_directories)

    @property
    def default_directory(self) -> Uuid:
        """What stands in a new replica's record: the only directory, or that the broker shall choose."""
        if not self.directories:
            return MIGRATING
        return self.directories[0] if len(self.directories) == 1 else UNASSIGNED

    def is_online(self, directory: Uuid) -> bool:
        return is_online(directory, self.directories)


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerRegistration:
    id: int
    incarnation_id: Uuid
    zookeeper_migration_ready: bool
    endpoints: tuple[Endpoint, ...]
    features: Mapping[str, VersionRange]

    @classmethod
    def from_record(cls, record: RegisterControllerRecord) -> ControllerRegistration:
        return cls(
            id=record.controller_id,
            incarnation_id=record.incarnation_id,
            zookeeper_migration_ready=record.zk_migration_ready,
            endpoints=_endpoints(record.end_points),
            features=_features(record.features),
        )

    def to_record(self) -> MetadataRecord:
        return MetadataRecord(
            RegisterControllerRecord(
                controller_id=self.id,
                incarnation_id=self.incarnation_id,
                zk_migration_ready=self.zookeeper_migration_ready,
                end_points=[ControllerEndpoint(*endpoint) for endpoint in self.endpoints],
                features=[ControllerFeature(name, *levels) for name, levels in self.features.items()],
            )
        )


def _endpoints(endpoints: list[BrokerEndpoint] | list[ControllerEndpoint]) -> tuple[Endpoint, ...]:
    by_name = {each.name: Endpoint(each.name, each.host, each.port, each.security_protocol) for each in endpoints}
    return tuple(by_name.values())


def _features(features: list[BrokerFeature] | list[ControllerFeature]) -> dict[str, VersionRange]:
    return {each.name: VersionRange(each.min_supported_version, each.max_supported_version) for each in features}
