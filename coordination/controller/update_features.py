"""UpdateFeatures (0-2): levels of features change all together or not at all.

Every node has to be able to work with a new level. metadata.version goes down only where no record has changed since.
kraft.version is kept by the quorum in control records, and the quorum alone can raise it; here it can stay as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from barnabas.coordination.cluster.configs import ALL_BROKERS, ResourceType
from barnabas.coordination.cluster.features import ELIGIBLE_LEADER_REPLICAS, FEATURES, KRAFT_VERSION, VersionRange
from barnabas.coordination.cluster.metadata_version import METADATA_VERSION, MetadataVersion, metadata_changed
from barnabas.coordination.cluster.records import MetadataRecord
from barnabas.coordination.controller.config_change import MIN_INSYNC_REPLICAS
from barnabas.coordination.controller.state import Controller
from barnabas.coordination.outcome import Outcome
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from barnabas.protocol.records.cluster_metadata import ConfigRecord, FeatureLevelRecord, NoOpRecord

__all__ = ["update_features"]

UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3
_LAST_WITH_RESULTS = 1
_NOT_SUPPORTED = VersionRange(0, 0)


def update_features(
    controller: Controller, request: UpdateFeaturesRequest, version: int
) -> Outcome[MetadataRecord, UpdateFeaturesResponse]:
    updates = {update.feature: update for update in request.feature_updates}
    try:
        records = [record for update in updates.values() for record in _update(controller, update, updates)]
    except KafkaError as error:
        return Outcome(reply=UpdateFeaturesResponse(error_code=error.code, error_message=error.message))
    reply = UpdateFeaturesResponse(error_message=None)
    if version <= _LAST_WITH_RESULTS:
        reply.results = [
            UpdatableFeatureResult(feature=update.feature, error_message=ErrorCode.NONE.name)
            for update in request.feature_updates
        ]
    if request.validate_only:
        return Outcome(reply=reply)
    elr = updates.get(ELIGIBLE_LEADER_REPLICAS)
    if elr is not None and elr.max_version_level > 0:
        records = [*_same_min_insync_replicas(controller), *records]
    return Outcome(records, reply)


def _update(
    controller: Controller, update: FeatureUpdateKey, updates: Mapping[str, FeatureUpdateKey]
) -> list[MetadataRecord]:
    name, level = update.feature, update.max_version_level
    if update.upgrade_type not in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
        raise _refusal(update, f"there is no upgrade of type {update.upgrade_type}")
    if level < 0:
        raise _refusal(update, "no level is below 0")
    for who, supported in _supported_by(controller, name):
        if level not in supported:
            raise _refusal(update, f"{who} works with levels {supported.low} to {supported.high}")
    present = _present_level(controller, name)
    if level < present and update.upgrade_type == UPGRADE:
        raise _refusal(update, f"it is at {present}: say that a downgrade is wanted")
    if level > present and update.upgrade_type != UPGRADE:
        raise _refusal(update, f"it is at {present}, and that is no downgrade")
    if name == METADATA_VERSION:
        _check_metadata_version(update, MetadataVersion(level), controller.image.required_metadata_version)
    elif name == KRAFT_VERSION:
        return _keep_kraft_version(update, present)
    else:
        _check_dependencies(controller, update, updates)
    return [MetadataRecord(FeatureLevelRecord(name=name, feature_level=level))]


def _present_level(controller: Controller, name: str) -> int:
    if name == KRAFT_VERSION:
        return controller.settings.kraft_version
    return controller.image.finalized_features().get(name, 0)


def _supported_by(controller: Controller, name: str) -> Iterator[tuple[str, VersionRange]]:
    """Every node that has a say, with what it can do; a controller of the quorum that has not said can do nothing."""
    settings, image = controller.settings, controller.image
    yield "this controller", settings.supported_features.get(name, _NOT_SUPPORTED)
    for broker_id, broker in sorted(image.brokers.items()):
        yield f"broker {broker_id}", broker.features.get(name, _NOT_SUPPORTED)
    if not image.required_metadata_version.controller_registration:
        return
    for controller_id in sorted({*settings.voter_ids, *image.controllers} - {settings.node_id}):
        registration = image.controllers.get(controller_id)
        supported = {} if registration is None else registration.features
        yield (
            f"controller {controller_id}",
            supported.get(name, VersionRange(0, -1) if registration is None else _NOT_SUPPORTED),
        )


def _check_metadata_version(update: FeatureUpdateKey, wanted: MetadataVersion, present: MetadataVersion) -> None:
    if wanted < present and metadata_changed(wanted, present):
        raise _refusal(update, f"between it and {int(present)} records have changed, which would be lost")


def _keep_kraft_version(update: FeatureUpdateKey, present: int) -> list[MetadataRecord]:
    if update.max_version_level != present:
        raise _refusal(update, f"it is at {present}, and only the quorum can change it")
    # An upgrade is answered when a record of it is committed, and so there has to be one.
    return [MetadataRecord(NoOpRecord())] if update.upgrade_type == UPGRADE else []


def _check_dependencies(
    controller: Controller, update: FeatureUpdateKey, updates: Mapping[str, FeatureUpdateKey]
) -> None:
    proposed = {**controller.image.finalized_features(), **{each: updates[each].max_version_level for each in updates}}
    level = update.max_version_level
    if update.feature not in FEATURES:
        raise _refusal(update, "there is no such feature")
    needed = dict(FEATURES[update.feature].dependencies.get(level, {}))
    if level >= 1:
        needed.setdefault(METADATA_VERSION, min(MetadataVersion))
    for name, lowest in needed.items():
        if proposed.get(name, -1) < lowest:
            raise _refusal(update, f"it needs {name} {lowest}")


def _same_min_insync_replicas(controller: Controller) -> list[MetadataRecord]:
    """Eligible leaders depend on min.insync.replicas, which from now on all brokers share."""
    configs = controller.image.configs.by_resource
    records = []
    if MIN_INSYNC_REPLICAS not in configs.get(ALL_BROKERS, {}):
        value = str(controller.settings.min_insync_replicas)
        records.append(
            ConfigRecord(resource_type=ALL_BROKERS.type, resource_name="", name=MIN_INSYNC_REPLICAS, value=value)
        )
    for resource, values in configs.items():
        if resource.type == ResourceType.BROKER and resource.name and MIN_INSYNC_REPLICAS in values:
            records.append(
                ConfigRecord(
                    resource_type=resource.type, resource_name=resource.name, name=MIN_INSYNC_REPLICAS, value=None
                )
            )
    return [MetadataRecord(record) for record in records]


def _refusal(update: FeatureUpdateKey, why: str) -> KafkaError:
    return KafkaError(
        ErrorCode.INVALID_UPDATE_VERSION,
        f"Nothing was updated: {update.feature} cannot go to {update.max_version_level}, since {why}.",
    )
