"""What goes wrong on the way to a cluster: each says in its one sentence what to do next."""

from __future__ import annotations

from barnabas.protocol.errors import ErrorCode

__all__ = [
    "CannotReach",
    "ClientError",
    "MisconfiguredClient",
    "NoAnswer",
    "NotKafka",
    "NotOffered",
    "NotSendable",
    "code_of",
    "name_of",
]


class ClientError(Exception):
    """The message is a whole sentence for the person who asked."""


class MisconfiguredClient(ClientError):  # noqa: N818 - named for what was met
    """A bootstrap address or a property that cannot be right."""


class CannotReach(ClientError):  # noqa: N818 - named for what was met
    """Nobody listens there, or no way leads there."""


class NoAnswer(ClientError):  # noqa: N818 - named for what was met
    """Connected, but nothing came back in time, or the connection ended instead."""


class NotKafka(ClientError):  # noqa: N818 - named for what was met
    """What answers there is something else, or Kafka behind TLS or SASL that was not asked for."""


class NotOffered(ClientError):  # noqa: N818 - named for what was met
    """The broker does not offer that API, or no version of it that we speak."""


class NotSendable(ClientError):  # noqa: N818 - named for what was met
    """Kafka's protocol has no room for what was asked: a number too large, a text too long or of no letters."""


def code_of(code: int) -> ErrorCode:
    """A newer broker may have errors that we have never heard of."""
    try:
        return ErrorCode(code)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR


def name_of(code: int) -> str:
    return ErrorCode(code).name if code in ErrorCode.__members__.values() else f"error {code}"
