"""What DescribeAcls, CreateAcls and DeleteAcls have in common as long as nobody is asked who may do what.

Kafka advertises them without an authorizer too, refuses them with SECURITY_DISABLED, and closes the connection of who
leaves open what an ACL is about.
"""

from __future__ import annotations

from barnabas.protocol.errors import MalformedFrame

__all__ = ["UNKNOWN", "check_known"]

UNKNOWN = 0
"""Of each kind of a thing that an ACL names by number; a number that nobody has heard of is not refused."""


def check_known(what: str, *kinds: int) -> None:
    if UNKNOWN in kinds:
        raise MalformedFrame(f"{what} leaves its resource, pattern, operation or permission unknown")
