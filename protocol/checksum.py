"""`crc32c`, the checksum of record batches, from the library of that name.

It is imported at first use: the library looks up its own version while it is imported, which takes longer than
importing all of this package. Use it as `checksum.crc32c(data)`; importing the name would load it at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crc32c import crc32c as crc32c


def __getattr__(name: str) -> object:
    if name != "crc32c":
        raise AttributeError(name)
    from crc32c import crc32c as function

    globals()["crc32c"] = function
    return function
