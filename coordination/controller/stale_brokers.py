"""Brokers that are not heard of any more are fenced: one at a time, so that each sees what became of the last."""

from __future__ import annotations

from barnabas.coordination.controller.leadership import broker_fenced
from barnabas.coordination.controller.state import Controller, Heard, SessionOutcome

__all__ = ["fence_stale_broker"]


def fence_stale_broker(controller: Controller, now_ms: int) -> SessionOutcome[bool]:
    """Whether it has fenced one: then there may be another; if not, none is due before `deadline_ms`."""
    timeout_ms = controller.settings.session_timeout_ms
    next_ms: int | None = None
    for broker_id, session in controller.sessions.items():
        if session.contact_ms is None:
            continue
        if session.contact_ms + timeout_ms < now_ms:
            broker = controller.image.brokers[broker_id]
            records = broker_fenced(controller, broker)
            return SessionOutcome(records, True, heard=Heard(broker_id, None), deadline_ms=now_ms)
        due_ms = session.contact_ms + timeout_ms + 1
        next_ms = due_ms if next_ms is None else min(next_ms, due_ms)
    return SessionOutcome(reply=False, deadline_ms=next_ms)
