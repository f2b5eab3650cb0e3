"""A cluster whose brokers answer what a test says, without a socket."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from barnabas.client.cluster import Cluster
from barnabas.client.connection import Answer
from barnabas.client.properties import ClientProperties
from barnabas.protocol.apis import APIS, Api
from barnabas.protocol.messages.find_coordinator import Coordinator, FindCoordinatorResponse
from barnabas.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from barnabas.protocol.schema import Message

__all__ = ["ScriptedCluster"]

Answers = Callable[[int, Any], Message]
"""What a broker says to a request."""


class ScriptedCluster(Cluster):
    def __init__(
        self,
        answer: Answers,
        *,
        leaders: Mapping[str, list[int]] | None = None,
        coordinators: Callable[[str], int] = lambda _: 1,
        newest: Mapping[int, int] | None = None,
        without: tuple[int, ...] = (),
        timeout_s: float = 20.0,
    ) -> None:
        """Brokers 1 and 2. `leaders`: of the partitions of each topic, -1 for none. `newest`: versions by API key."""
        super().__init__([], ClientProperties({}), timeout_s)
        self.asked: list[tuple[int, str]] = []
        self.requests: list[Any] = []
        self._answer = answer
        self._led = leaders or {}
        self._coordinates = coordinators
        self._newest = newest or {}
        self._without = without

    @property
    def offered(self) -> Mapping[int, tuple[int, int]]:
        return {key: (0, self.version_of(api)) for key, api in APIS.items() if key not in self._without}

    def version_of(self, api: Api) -> int:
        return self._newest.get(api.key, api.last_stable)

    def ask(self, request: Message, answer: type[Answer], *, at_most: int | None = None) -> Answer:
        return self.ask_node(0, request, answer, at_most=at_most)

    def ask_node(self, node_id: int, request: Any, answer: type[Answer], *, at_most: int | None = None) -> Answer:
        name = type(request).__name__.removesuffix("Request")
        self.asked.append((node_id, name))
        self.requests.append(request)
        if name == "Metadata":
            found: Message = self._metadata(request)
        elif name == "FindCoordinator":
            found = self._found(request)
        else:
            found = self._answer(node_id, request)
        assert isinstance(found, answer)
        return found

    def _metadata(self, request: Any) -> MetadataResponse:
        names = [topic.name for topic in request.topics or []]
        topics = [
            MetadataResponseTopic(
                name=name,
                error_code=0 if name in self._led else 3,
                partitions=[
                    MetadataResponsePartition(partition_index=number, leader_id=leader)
                    for number, leader in enumerate(self._led.get(name, []))
                ],
            )
            for name in names
        ]
        brokers = [MetadataResponseBroker(node_id=number, host="here", port=number) for number in (1, 2)]
        return MetadataResponse(brokers=brokers, controller_id=1, topics=topics)

    def _found(self, request: Any) -> FindCoordinatorResponse:
        if request.coordinator_keys:
            return FindCoordinatorResponse(
                coordinators=[
                    Coordinator(key=key, node_id=self._coordinates(key), host="here", port=1)
                    for key in request.coordinator_keys
                ]
            )
        return FindCoordinatorResponse(node_id=self._coordinates(request.key), host="here", port=1)
