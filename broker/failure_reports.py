"""What a node says when something went wrong: a warning for what others did, a traceback for what is our fault."""

from __future__ import annotations

import traceback

from barnabas.broker.call import Call
from barnabas.broker.event_log import Event, Level, Report
from barnabas.protocol.errors import ErrorCode, KafkaError

__all__ = ["FailureReports"]


class FailureReports:
    """One half of what everybody who has the node may call; what is no failure goes to `report` itself."""

    def __init__(self, report: Report) -> None:
        self.report = report

    def warn(self, text: str) -> None:
        self.report(Event(text, Level.WARNING))

    def note_refusal(self, call: Call, topic: str | None, number: int, error: KafkaError) -> None:
        """One partition of a request was refused, for a reason that is the client's or the disk's."""
        if error.code == ErrorCode.KAFKA_STORAGE_ERROR:
            self.warn(f"{call.api.name} of {topic}-{number}: {error}")

    def report_failure(self, call: Call, error: BaseException) -> None:
        self.report_exception(f"{call.api.name} v{call.version} of client {call.client_id} failed", error)

    def report_exception(self, what: str, error: BaseException) -> None:
        """We are broken: say where."""
        trace = "".join(traceback.format_exception(error))
        self.report(Event(f"{what}:\n{trace}", Level.ERROR))
