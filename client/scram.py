"""The passwords of users, as Kafka keeps them for SCRAM: salted and hashed here, so that no broker sees them."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from barnabas.client.cluster import Cluster, check
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from barnabas.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    UserName,
)

__all__ = [
    "FEWEST_ITERATIONS",
    "MOST_ITERATIONS",
    "SCRAM_MECHANISMS",
    "Password",
    "alter_scram",
    "describe_scram",
    "salted",
]

SCRAM_MECHANISMS: Mapping[str, int] = {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}
"""With the number that each has on the wire."""

FEWEST_ITERATIONS, MOST_ITERATIONS = 4096, 16_384
"""As Kafka's controllers check them; beyond, a client would only be kept busy."""

_SALT_BYTES = 32


class Password(NamedTuple):
    text: str
    iterations: int


def salted(mechanism: str, password: Password, salt: bytes) -> bytes:
    """RFC 5802's Hi(), which is PBKDF2."""
    digest = mechanism.removeprefix("SCRAM-").replace("-", "").lower()
    return hashlib.pbkdf2_hmac(digest, password.text.encode(), salt, password.iterations)


def alter_scram(cluster: Cluster, user: str, set_to: Mapping[str, Password], removed: Iterable[str]) -> None:
    """By mechanism."""
    upsertions = []
    for mechanism, password in set_to.items():
        salt = secrets.token_bytes(_SALT_BYTES)
        upsertions.append(
            ScramCredentialUpsertion(
                name=user,
                mechanism=SCRAM_MECHANISMS[mechanism],
                iterations=password.iterations,
                salt=salt,
                salted_password=salted(mechanism, password, salt),
            )
        )
    deletions = [ScramCredentialDeletion(name=user, mechanism=SCRAM_MECHANISMS[each]) for each in removed]
    request = AlterUserScramCredentialsRequest(deletions=deletions, upsertions=upsertions)
    for result in cluster.ask_controller(request, AlterUserScramCredentialsResponse).results:
        check(result.error_code, result.error_message)


def describe_scram(cluster: Cluster, users: Iterable[str] = ()) -> dict[str, dict[str, int]]:
    """The iterations by mechanism, of these users or of all that have any. Passwords are told to nobody."""
    names = {int(number): mechanism for mechanism, number in SCRAM_MECHANISMS.items()}
    request = DescribeUserScramCredentialsRequest(users=[UserName(name=user) for user in users] or None)
    answer = cluster.ask(request, DescribeUserScramCredentialsResponse)
    check(answer.error_code, answer.error_message)
    found = {}
    for result in sorted(answer.results, key=lambda result: result.user):
        if result.error_code != ErrorCode.RESOURCE_NOT_FOUND:
            check(result.error_code, result.error_message)
            found[result.user] = {names.get(each.mechanism, "?"): each.iterations for each in result.credential_infos}
    return found
