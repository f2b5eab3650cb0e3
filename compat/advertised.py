"""What fails because a broker does not have it, and says so: no client can be told more than by ApiVersions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatchcase

from compat.client import ClientRun
from compat.tap import Check, Result
from compat.wire.connection import advertised
from compat.wire.schemas import apis

__all__ = ["advertised_apis", "told_apart"]

NEEDS: Mapping[str, str] = {
    "next groups: *": "ConsumerGroupHeartbeat",
    "own suite: *848*": "ConsumerGroupHeartbeat",
    "share groups: *": "ShareFetch",
    "transactions: *": "EndTxn",
    "own suite: *test_transactional_*": "EndTxn",
    "connect: users of SCRAM are there once they are put in": "AlterUserScramCredentials",
    # A client guesses by all that there is.
    "connect: the version is guessed from what is there": "*",
}
"""Checks, and the API without which none of them can pass. Patterns are those of a shell."""


def advertised_apis(host: str, port: int) -> frozenset[str]:
    """Their names."""
    keys = advertised(host, port)
    return frozenset(name for name, each in apis().items() if each.key in keys)


def told_apart(ours: ClientRun, reference: ClientRun) -> ClientRun:
    """What passed on the reference, and needs what only that advertises, has not failed with us: it is not there."""
    lacking = reference.apis - ours.apis

    def is_not_there(check: Check) -> bool:
        needed = [api for pattern, api in NEEDS.items() if fnmatchcase(check.name, pattern)]
        return any(fnmatchcase(api, pattern) for api in lacking for pattern in needed)

    def told(check: Check) -> Check:
        fails_only_here = check.result is not Result.PASSED and reference.result(check.name) is Result.PASSED
        return replace(check, result=Result.UNADVERTISED) if fails_only_here and is_not_there(check) else check

    return replace(ours, checks={name: told(check) for name, check in ours.checks.items()})
