"""Questions to several brokers at once: each in a thread, and over a connection of its own."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Self, TypeVar

from barnabas.client.cluster import Cluster

__all__ = ["SideBySide"]

_MOST_AT_ONCE = 64

Result = TypeVar("Result")


class SideBySide:
    """Of one broker only one thing may be asked at a time."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._sources: dict[int, Cluster] = {}
        self._last: dict[int, Future[Any]] = {}
        self._threads = ThreadPoolExecutor(_MOST_AT_ONCE, thread_name_prefix="broker")

    def close(self) -> None:
        """A broker that has yet to answer is left to its thread."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for broker, source in self._sources.items():
            last = self._last.get(broker)
            if last is None:
                source.close()
            else:
                last.add_done_callback(_closer(source))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, broker: int, question: Callable[[Cluster], Result]) -> Future[Result] | None:
        """None: the cluster has no such broker in service."""
        source = self._source(broker)
        if source is None:
            return None
        answer = self._threads.submit(question, source)
        self._last[broker] = answer
        return answer

    def _source(self, broker: int) -> Cluster | None:
        """A cluster of which nobody else is known: so it asks this broker, whatever it is asked."""
        node = next((each for each in self._cluster.nodes if each.node_id == broker), None)
        if node is None:
            return None
        known = self._sources.get(broker)
        if known is None or known.bootstrap != [node.address]:
            if known is not None:
                known.close()
            self._sources[broker] = Cluster([node.address], self._cluster.properties, self._cluster.timeout_s)
        return self._sources[broker]


def _closer(source: Cluster) -> Callable[[Future[Any]], None]:
    return lambda _: source.close()
