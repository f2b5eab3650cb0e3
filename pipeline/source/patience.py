"""Questions to a cluster that may be away for a moment: a broker starts again, or a partition gets a new leader."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from barnabas.client.cluster import Cluster
from barnabas.client.deadline import Deadline
from barnabas.client.errors import CannotReach, ClientError, NoAnswer, NotKafka
from barnabas.pipeline.source.errors import SourceError
from barnabas.protocol.errors import KafkaError

__all__ = ["Patience"]

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 1.0

Result = TypeVar("Result")


class Patience:
    def __init__(self, cluster: Cluster, patience_s: float, *, is_known: bool) -> None:
        """`is_known`: somebody has reached the cluster with the same properties. What looks then like another port than
        Kafka's is a broker that starts or stops."""
        self._cluster = cluster
        self._patience_s = patience_s
        self._is_known = is_known
        self._is_over = threading.Event()

    def end(self) -> None:
        """From any thread: nobody waits for an answer any more."""
        self._is_over.set()

    def ask(self, what: str, attempt: Callable[[], Result]) -> Result:
        """Again while what hinders it may pass; SourceError with the reason when it does not, or the time is over."""
        deadline = Deadline(self._patience_s)
        pause_s = _FIRST_PAUSE_S
        while True:
            try:
                found = attempt()
                self._is_known = True
                return found
            except (ClientError, KafkaError) as error:
                if not self._may_pass(error):
                    raise SourceError(f"{what} cannot be read: {error}") from None
                if deadline.rest_s <= pause_s or self._is_over.is_set():
                    raise SourceError(
                        f"{what} could not be read for {self._patience_s:g} s (kafka.default.api.timeout.ms): {error}"
                    ) from None
            self._cluster.forget()
            self._is_over.wait(pause_s)
            pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)

    def _may_pass(self, error: ClientError | KafkaError) -> bool:
        if isinstance(error, KafkaError):
            return error.code.retriable
        return isinstance(error, CannotReach | NoAnswer) or (self._is_known and isinstance(error, NotKafka))
