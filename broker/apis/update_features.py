"""UpdateFeatures, versions 0 to 2: levels of features, metadata.version among them, change together or not at all.

Version 0 has `allow_downgrade` where later ones have three kinds of changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.call import Call
from barnabas.coordination.controller.update_features import SAFE_DOWNGRADE, UPGRADE, update_features
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.messages.update_features import UpdateFeaturesRequest, UpdateFeaturesResponse

if TYPE_CHECKING:
    from barnabas.broker.node import Node


async def handle(node: Node, call: Call, request: UpdateFeaturesRequest) -> UpdateFeaturesResponse:
    if call.version == 0:
        for update in request.feature_updates:
            update.upgrade_type = SAFE_DOWNGRADE if update.allow_downgrade else UPGRADE
    return await node.controller.decide(lambda controller, _now_ms: update_features(controller, request, call.version))


def refused(_call: Call, _request: UpdateFeaturesRequest, error: KafkaError) -> UpdateFeaturesResponse:
    return UpdateFeaturesResponse(error_code=error.code, error_message=error.message or None)
