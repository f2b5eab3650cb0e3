"""A log of a thousand segments has a thousand files: as many may be open as this user may have at all."""

from __future__ import annotations

import resource
from contextlib import suppress

__all__ = ["allow_all_files"]


def allow_all_files() -> None:
    allowed, possible = resource.getrlimit(resource.RLIMIT_NOFILE)
    if allowed != possible:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (possible, possible))
