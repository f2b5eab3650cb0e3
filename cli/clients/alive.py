"""Whether the cluster is still there while nothing arrives: the libraries try again for ever and say nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from barnabas.cli.failures import CommandFailed
from barnabas.client.cluster import Cluster
from barnabas.client.errors import ClientError
from barnabas.protocol.errors import ErrorCode, KafkaError

__all__ = ["Vigil"]

_EVERY_S = 5.0
_WHEN_IN_DOUBT_S = 0.5
_ONE_QUESTION_S = 5.0


class Vigil:
    """`idle` is called when nothing came, `busy` when something did."""

    def __init__(self, cluster: Cluster, topics: Sequence[str], patience_s: float, note: Callable[[str], None]) -> None:
        """`topics` have to be there, if any are named."""
        cluster.timeout_s = min(cluster.timeout_s, _ONE_QUESTION_S)
        self._cluster = cluster
        self._topics = topics
        self.patience_s = patience_s
        self._note = note
        self._next_s = time.monotonic() + _EVERY_S
        self._lost_s: float | None = None

    def busy(self) -> None:
        self._next_s = time.monotonic() + _EVERY_S
        self._lost_s = None

    def idle(self) -> None:
        """Asks now and then; CommandFailed when a topic is gone, ClientError when the cluster was so for too long."""
        if time.monotonic() < self._next_s:
            return
        try:
            self._cluster.topics(self._topics)
        except ClientError as error:
            self._cluster_is_lost(error)
        except KafkaError as error:
            self._next_s = time.monotonic() + _EVERY_S
            if error.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise CommandFailed(f"The topic {' '.join(self._topics)} has been deleted meanwhile.") from None
        else:
            if self._lost_s is not None:
                self._note("The cluster is back.")
            self.busy()

    def _cluster_is_lost(self, error: ClientError) -> None:
        now_s = time.monotonic()
        if self._lost_s is None:
            self._lost_s = now_s
            self._note(f"{error} Trying again for {self.patience_s:g} s.")
        elif now_s - self._lost_s > self.patience_s:
            raise error
        self._next_s = now_s + _WHEN_IN_DOUBT_S
