"""What a test is told when something cannot be: each says all there is to say in its message.

Of these pytest shows the line of the test, and none of ours: modules through which a test asks have
`__tracebackhide__ = says_all`, and what happened in the broker's loop is not told.
"""

from __future__ import annotations

from typing import Protocol

from barnabas.protocol.errors import ErrorCode, KafkaError

__all__ = ["SAYS_ALL", "BrokerFailed", "ErrorCode", "KafkaError", "NotInTime", "UnknownTopic", "says_all"]


class BrokerFailed(Exception):  # noqa: N818 - a state of the broker
    """It could not start, could not go on, or is not there to be asked; one sentence says why."""


class NotInTime(AssertionError, TimeoutError):  # noqa: N818 - like BrokerFailed
    """What was waited for has not come."""


class UnknownTopic(LookupError):  # noqa: N818 - a state of the topic
    """There is no topic of that name, or it has no such partition."""


SAYS_ALL = (BrokerFailed, KafkaError, NotInTime, UnknownTopic)


class Caught(Protocol):
    """pytest's ExceptionInfo."""

    @property
    def value(self) -> BaseException: ...


def says_all(caught: Caught) -> bool:
    return isinstance(caught.value, SAYS_ALL)
