"""What a decision comes to. Each stateful part of the broker takes the same four steps:

    outcome = decide(state, request, now_ms)    # pure: reads the state, changes nothing
    end     = journal.append(outcome.records)   # if it raises, there is nothing to undo
    state.apply(outcome)                        # pure: for the records, the very call that replays the log at load
    await journal.committed(end)                # the only wait; raises when leadership ends first
    return outcome.reply

Losing leadership drops the state, winning it replays the log: there is no rollback.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

import msgspec

__all__ = ["Outcome"]

Record = TypeVar("Record")
Reply = TypeVar("Reply")


class Outcome(msgspec.Struct, Generic[Record, Reply], frozen=True):
    records: Sequence[Record] = ()
    """What to append, all or nothing, before anything else is done."""
    reply: Reply | None = None
    """What to answer; None if the request has to wait until a later decision releases it."""
    release: Mapping[str, object] = msgspec.field(default_factory=dict)
    """Answers to requests that have been waiting, by the name under which they wait; who has gone is passed over."""
    deadline_ms: int | None = None
    """When to ask again with nothing but the time: never too late, perhaps too early, which costs a look."""
    changes: object = None
    """What `apply` changes in memory alone, in the same call: it is in no log, and is lost with the leadership."""
    waits_as: str | None = None
    """The name under which a request without a reply waits. It takes the place of one that waits there already."""
