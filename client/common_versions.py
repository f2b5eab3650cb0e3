"""The version of an API in which two sides can talk: the newest that both know."""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.protocol.apis import Api

__all__ = ["Offered", "newest_common"]

Offered = Mapping[int, tuple[int, int]]
"""The first and the last version of each API that the other side speaks, by the API's key."""


def newest_common(api: Api, offered: Offered) -> int | None:
    first, last = offered.get(api.key, (0, -1))
    version = min(last, api.last_stable)
    return version if version >= max(first, api.first) else None
