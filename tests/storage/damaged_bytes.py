"""What a small file may look like after an accident."""

from __future__ import annotations

from collections.abc import Iterator


def damaged(data: bytes, masks: range | tuple[int, ...] = range(1, 256)) -> Iterator[bytes]:
    """Every prefix, and every byte changed in every way (or in those of `masks`)."""
    for end in range(len(data)):
        yield data[:end]
    for at, byte in enumerate(data):
        for mask in masks:
            yield data[:at] + bytes([byte ^ mask]) + data[at + 1 :]
