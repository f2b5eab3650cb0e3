"""What a node makes up: ids and names, from one source of random bytes, so that a test can say what comes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from barnabas.protocol.schema import Uuid

__all__ = ["RandomBytes", "draw", "random_uuid", "session_ids", "topic_ids", "unique_names"]

RandomBytes = Callable[[int], bytes]
"""So many, as os.urandom."""


def draw(random_bytes: RandomBytes, length: int) -> Iterator[bytes]:
    while True:
        yield random_bytes(length)


def random_uuid(random_bytes: RandomBytes) -> Uuid:
    return Uuid(random_bytes(16))


def topic_ids(random_bytes: RandomBytes) -> Iterator[Uuid]:
    """Never one of those that have a meaning, nor one that looks like an option on a command line."""
    for drawn in draw(random_bytes, 16):
        topic_id = Uuid(drawn)
        if not str(topic_id).startswith("-") and any(drawn[:15]):
            yield topic_id


def session_ids(random_bytes: RandomBytes) -> Iterator[int]:
    """Of fetch sessions: 31 bits, since Kafka's are positive."""
    return (int.from_bytes(drawn) >> 1 for drawn in draw(random_bytes, 4))


def unique_names(random_bytes: RandomBytes) -> Iterator[str]:
    """For directories that get out of the way."""
    return (drawn.hex() for drawn in draw(random_bytes, 16))
