"""ApiVersions, versions 0 to 4: what this broker speaks, and which software the client says it is.

A version that is not known is answered in version 0 with UNSUPPORTED_VERSION (dispatch.py), so that any client can ask
again. Before KIP-511 the request had no fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from barnabas.broker.apis import MODULES, TELEMETRY
from barnabas.broker.call import Call
from barnabas.broker.configuration.node_config import NodeConfig
from barnabas.coordination.cluster.features import KRAFT_VERSION
from barnabas.protocol.apis import APIS
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

if TYPE_CHECKING:
    from barnabas.broker.node import Node

FIRST_WITH_SOFTWARE = 3
FIRST_WITH_ZERO_LEVELS = 4
"""Before it, clients took a supported level of 0 for an error (KAFKA-17011)."""

_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def handle(node: Node, call: Call, request: ApiVersionsRequest) -> ApiVersionsResponse:
    if call.version >= FIRST_WITH_SOFTWARE:
        software = (request.client_software_name, request.client_software_version)
        if not all(map(_SOFTWARE.fullmatch, software)):
            return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
        call.connection.client = software
    finalized = dict(node.image.finalized_features()) if node.image.metadata_version is not None else {}
    if node.journal.kraft_version > 0:
        # The quorum keeps it, and not the metadata.
        finalized[KRAFT_VERSION] = node.journal.kraft_version
    return ApiVersionsResponse(
        api_keys=node.api_versions,
        supported_features=[
            SupportedFeatureKey(name=name, min_version=levels.low, max_version=levels.high)
            for name, levels in node.supported_features.items()
            if levels.low > 0 or call.version >= FIRST_WITH_ZERO_LEVELS
        ],
        finalized_features_epoch=node.image.next_offset - 1,
        finalized_features=[
            FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
            for name, level in finalized.items()
        ],
    )


def advertised(config: NodeConfig) -> Iterable[int]:
    """All that is answered, but for clients' metrics where nobody takes them: then they are not to push any."""
    return MODULES if config.barnabas_telemetry_topic else MODULES.keys() - TELEMETRY


def spoken_versions(keys: Iterable[int]) -> list[ApiVersion]:
    spoken = [APIS[key] for key in sorted(keys)]
    return [
        ApiVersion(api_key=api.key, min_version=api.first_advertised, max_version=api.last_stable) for api in spoken
    ]
