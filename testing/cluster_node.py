"""One node of a test's cluster: a `Broker` that has an id, links to the others, and can be frozen."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, TypeVar

from barnabas.testing.broker import Broker
from barnabas.testing.clock import Clock
from barnabas.testing.errors import says_all
from barnabas.testing.host import HOST
from barnabas.testing.links import LinkedNetwork, Links

if TYPE_CHECKING:
    from barnabas.broker.node import Node
    from barnabas.broker.partitions import Partitions

__all__ = ["CONTROLLER", "ClusterNode"]

__tracebackhide__ = says_all

CONTROLLER = 1
"""The node that is the controller, too."""

T = TypeVar("T")


class ClusterNode(Broker):
    def __init__(
        self,
        node_id: int,
        links: Links,
        controller_port: Callable[[], int],
        *,
        data_dir: str | PathLike[str] | None,
        partitions: int,
        settings: Mapping[str, object],
        clock: Clock,
    ) -> None:
        super().__init__(data_dir=data_dir, partitions=partitions, settings=settings, clock=clock)
        self.id = node_id
        self._links = links
        self._controller_port = controller_port
        self._embedded.network = LinkedNetwork(node_id, links)
        self._embedded.more_settings = self._place_in_cluster
        self._is_over: threading.Event | None = None

    def __repr__(self) -> str:
        return (
            f"<node {self.id} at {self.bootstrap_servers}>" if self._embedded.is_open else f"<node {self.id}, closed>"
        )

    def _place_in_cluster(self, port: int) -> dict[str, str]:
        self._links.add_port(port, self.id)
        controller = f"{HOST}:{self._controller_port()}"
        is_controller = self.id == CONTROLLER
        listeners = f"PLAINTEXT://{HOST}:{port}"
        return {
            "node.id": str(self.id),
            "process.roles": "broker,controller" if is_controller else "broker",
            "listeners": f"{listeners},CONTROLLER://{controller}" if is_controller else listeners,
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "controller.quorum.bootstrap.servers": controller,
        }

    # Freezing

    @property
    def is_up(self) -> bool:
        return self._embedded.is_open and self._embedded.host.is_up

    @property
    def is_frozen(self) -> bool:
        return self._is_over is not None

    def freeze(self) -> None:
        """It stands still, as by SIGSTOP: connections stay, and nothing is answered, sent or noticed until `thaw`."""
        if self._is_over is None:
            begun, self._is_over = threading.Event(), threading.Event()
            over = self._is_over

            def stand_still(_host: object) -> None:
                begun.set()
                over.wait()

            self._embedded.begin_to_do(stand_still)
            begun.wait()

    def thaw(self) -> None:
        """It goes on where it stood, and finds out what time it is."""
        over, self._is_over = self._is_over, None
        if over is not None:
            over.set()

    # Asking

    def leads(self, topic: str, partition: int) -> bool:
        return self.ask(lambda node: _leads(node.partitions, topic, partition))

    def ask(self, question: Callable[[Node], T]) -> T:
        """In its loop, between two requests."""
        return self._embedded.do(lambda host: question(host.node))

    def carry_out(self, action: Callable[[Node], Awaitable[T]]) -> T:
        return self._embedded.carry_out(lambda host: action(host.node))


def _leads(partitions: Partitions, topic: str, number: int) -> bool:
    partition = partitions.find(topic, number)
    return partition is not None and partition.leads
