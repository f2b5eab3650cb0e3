"""The first records that a new active controller writes."""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.coordination.cluster.configs import ALL_BROKERS
from barnabas.coordination.cluster.features import ELIGIBLE_LEADER_REPLICAS
from barnabas.coordination.cluster.metadata_version import METADATA_VERSION, MetadataVersion
from barnabas.coordination.cluster.records import MetadataRecord
from barnabas.coordination.controller.state import Controller
from barnabas.coordination.outcome import Outcome
from barnabas.protocol.records.cluster_metadata import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    ConfigRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
)

__all__ = ["activate"]

_TRANSACTION_NAME = "Bootstrap records"
_ABORT_REASON = "Controller failover"


def activate(controller: Controller, bootstrap: Sequence[MetadataRecord]) -> Outcome[MetadataRecord, None]:
    """In an empty log the bootstrap records, as one transaction where metadata.version knows them; in any other log the
    end of a transaction that the last controller left open."""
    records: list[MetadataRecord] = []
    if controller.image.transaction is not None:
        records.append(MetadataRecord(AbortTransactionRecord(reason=_ABORT_REASON)))
    if controller.image.metadata_version is None:
        records += _bootstrap(controller, bootstrap)
    return Outcome(records)


def _bootstrap(controller: Controller, bootstrap: Sequence[MetadataRecord]) -> list[MetadataRecord]:
    levels = {
        record.message.name: record.message.feature_level
        for record in bootstrap
        if isinstance(record.message, FeatureLevelRecord)
    }
    if METADATA_VERSION not in levels:
        raise ValueError(f"the bootstrap records name no {METADATA_VERSION}: format the directory again")
    records = list(bootstrap)
    if levels.get(ELIGIBLE_LEADER_REPLICAS, 0) > 0:
        # Who is an eligible leader depends on it, so it must be the same on every node.
        smallest = str(controller.settings.min_insync_replicas)
        records.append(MetadataRecord(_broker_default("min.insync.replicas", smallest)))
    if MetadataVersion(levels[METADATA_VERSION]).transactions:
        records.insert(0, MetadataRecord(BeginTransactionRecord(name=_TRANSACTION_NAME)))
        records.append(MetadataRecord(EndTransactionRecord()))
    return records


def _broker_default(name: str, value: str) -> ConfigRecord:
    return ConfigRecord(resource_type=ALL_BROKERS.type, resource_name=ALL_BROKERS.name, name=name, value=value)
