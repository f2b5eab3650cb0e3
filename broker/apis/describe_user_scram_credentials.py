"""DescribeUserScramCredentials, version 0: who has a password, by which mechanism, hashed how often. Of all users
unless some are named.

The metadata may have credentials that Kafka took; Barnabas takes none yet. Kafka's ConfigCommand asks this of users
whose quotas it describes.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from barnabas.broker.call import Call
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)

if TYPE_CHECKING:
    from barnabas.broker.node import Node


def handle(
    node: Node, _call: Call, request: DescribeUserScramCredentialsRequest
) -> DescribeUserScramCredentialsResponse:
    known: dict[str, list[CredentialInfo]] = {}
    for (name, mechanism), credential in sorted(node.image.security.scram.items()):
        info = CredentialInfo(mechanism=mechanism, iterations=credential.iterations)
        known.setdefault(name, []).append(info)
    asked = Counter(user.name for user in request.users or ()) or Counter(known.keys())
    return DescribeUserScramCredentialsResponse(
        results=[_described(name, times, known.get(name)) for name, times in asked.items()]
    )


def _described(name: str, times: int, infos: list[CredentialInfo] | None) -> DescribeUserScramCredentialsResult:
    if times > 1:
        return DescribeUserScramCredentialsResult(
            user=name,
            error_code=ErrorCode.DUPLICATE_RESOURCE,
            error_message=f"The request names user {name} {times} times: name each user once.",
        )
    if infos is None:
        return DescribeUserScramCredentialsResult(
            user=name,
            error_code=ErrorCode.RESOURCE_NOT_FOUND,
            error_message=f"There are no credentials of a user {name}.",
        )
    return DescribeUserScramCredentialsResult(user=name, credential_infos=infos)
