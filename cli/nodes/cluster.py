"""All nodes of a cluster on one machine: started, looked after, and stopped in the order in which that hurts nobody."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence

import trio

from barnabas.broker.event_log import Event, Level, Report
from barnabas.cli.nodes.child import Child
from barnabas.cli.nodes.plan import PlannedNode

__all__ = ["NodeCluster"]


class NodeCluster:
    def __init__(self, planned: Sequence[PlannedNode], report: Report) -> None:
        self._report = report
        self.children = [Child(node, report) for node in planned]
        self._stopping = trio.Event()
        self.is_ready = trio.Event()
        """Also when it has come to its end before."""
        self.failure: str | None = None

    @property
    def is_stopping(self) -> bool:
        return self._stopping.is_set()

    async def run(self) -> None:
        """Until it is stopped, or no node is left."""
        async with trio.open_nursery() as nursery:
            controller, *others = self.children
            if await self._begin(nursery, [controller]) and await self._begin(nursery, others):
                self.is_ready.set()
                nursery.start_soon(self._stop_with_the_last)
                await self._stopping.wait()
            self._stopping.set()
            self.is_ready.set()
            # The controller last, which the others want to tell that they go.
            for some in (others, [controller]):
                for child in some:
                    child.stop()
                for child in some:
                    if child.is_running:
                        await child.has_ended.wait()
            nursery.cancel_scope.cancel()

    async def _begin(self, nursery: trio.Nursery, children: Sequence[Child]) -> bool:
        """Whether all of them are ready."""
        for child in children:
            nursery.start_soon(self._look_after, child)
        for child in children:
            await child.has_begun.wait()
            if not child.ready and not self.is_stopping:
                self.failure = f"{child.name} did not start: it {child.end}, and has said why."
            if not child.ready or self.is_stopping:
                return False
        return True

    async def _look_after(self, child: Child) -> None:
        await child.run()
        if child.ready and not self.is_stopping:
            again = f"barnabas start --config {child.planned.file}"
            self._report(
                Event(f"{child.name} {child.end}; the others go on. To start it again: {again}", Level.WARNING)
            )

    async def _stop_with_the_last(self) -> None:
        for child in self.children:
            await child.has_ended.wait()
        if not self.is_stopping:
            self._report("no node is left")
            self.stop()

    def stop(self) -> None:
        self._stopping.set()
        for child in self.children:
            if not child.ready:
                child.stop()

    def end_at_once(self, code: int) -> None:
        for child in self.children:
            child.signal(signal.SIGKILL)
        os._exit(code)
