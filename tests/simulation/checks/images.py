"""An image of the cluster as text, in one order, so that those of two nodes can be compared."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import unified_diff

from barnabas.coordination.cluster.image import ClusterImage
from barnabas.coordination.cluster.records import decode_record, encode_record
from barnabas.coordination.cluster.snapshot_records import snapshot_records

__all__ = ["image_text", "unlike"]


def image_text(image: ClusterImage) -> str:
    return "\n".join(sorted(_lines(image)))


def _lines(image: ClusterImage) -> Iterator[str]:
    for record in snapshot_records(image):
        # Decoded again, since what a node has made and what it has read are spelt in two ways.
        yield str(decode_record(encode_record(record)).message)


def unlike(one: str, other: str) -> str:
    return "\n".join(unified_diff(one.split("\n"), other.split("\n"), lineterm="", n=0))
