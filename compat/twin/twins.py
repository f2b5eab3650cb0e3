"""Two brokers, and what a scenario does with them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import NAMESPACE_DNS, uuid5

from compat.twin.both import Both, of_side
from compat.twin.told import Teller, differences
from compat.wire.connection import Connection
from compat.wire.schemas import Api, api

__all__ = ["Difference", "Side", "Twins"]

T = TypeVar("T")

SETTLES_S = 10.0
AGAIN_S = 0.005
SHORT = 300
UNKNOWN_MEMBER_ID = 25
ENDED = {"": "the broker ended the connection"}


@dataclass(slots=True)
class Side:
    name: str
    host: str
    port: int
    teller: Teller = field(default_factory=Teller)

    def connect(self) -> Connection:
        return Connection(self.host, self.port, client_id="twin")


@dataclass(frozen=True, slots=True)
class Difference:
    scenario: str
    api: str
    version: int
    place: str
    reference: Any
    other: Any
    asked: Any

    @property
    def what(self) -> str:
        """The same for each version that shows it."""
        return f"{self.api} {self.place}: {_short(self.other)} instead of {_short(self.reference)}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= SHORT else f"{text[:SHORT]}..."


class Conversation:
    """One connection to each of the two."""

    def __init__(self, twins: Twins) -> None:
        self._twins = twins
        self._connections = [side.connect() for side in twins.sides]
        self._asked: list[tuple[str, dict[str, Any]]] = []

    def send(self, name: str, *, at: int | None = None, **values: Any) -> None:
        """Without waiting for answers, which `receive` compares."""
        version = self._twins.version_of(name) if at is None else at
        self._asked.append((name, values))
        for number, connection in enumerate(self._connections):
            with suppress(ConnectionError):  # which whoever receives is told, too
                connection.send(name, version, **of_side(values, number))

    def tell(self, name: str, *, at: int | None = None, **values: Any) -> None:
        """What no answer comes to."""
        version = self._twins.version_of(name) if at is None else at
        for number, connection in enumerate(self._connections):
            connection.tell(name, version, **of_side(values, number))

    def receive(self) -> Both:
        name, values = self._asked.pop(0)
        answers = [self._received(number) for number in range(2)]
        self._twins.compare(name, values, answers)
        return Both(*answers)

    def ask(self, name: str, *, at: int | None = None, **values: Any) -> Both:
        self.send(name, at=at, **values)
        return self.receive()

    def exchange(self, name: str, version: int, values: Mapping[str, Any]) -> list[Any]:
        """Both answers, without a comparison."""
        for number, connection in enumerate(self._connections):
            connection.send(name, version, **of_side(dict(values), number))
        return [self._received(number) for number in range(2)]

    def close(self) -> None:
        for connection in self._connections:
            connection.close()

    def _received(self, number: int) -> Any:
        try:
            return self._connections[number].receive()
        except ConnectionError:
            self._connections[number] = self._twins.sides[number].connect()
            return ENDED
        except TimeoutError:
            self._connections[number].close()
            self._connections[number] = self._twins.sides[number].connect()
            return {"": "the broker is silent"}


class Twins:
    """What a scenario is given, for one version of its API.

    `name` makes names that nobody else has; `ask` asks both the same and compares their answers; `see` does so until
    they are the same or long enough has passed, for what Kafka's brokers learn a moment later; `another` is a second
    connection; `once` keeps what every version may use.
    """

    def __init__(self, reference: Side, other: Side, is_known: Callable[[Difference], bool]) -> None:
        """What is known to differ is found, and nobody waits for it to go away."""
        self.sides = (reference, other)
        self._is_known = is_known
        self.differences: list[Difference] = []
        self.comparisons = 0
        self.scenario, self.version = "", 0
        self._api: Api | None = None
        self._first = Conversation(self)
        self._others: list[Conversation] = []
        self._run = 0
        self._topic_ids: dict[str, Both] = {}
        self._made: dict[Any, Any] = {}

    def begin(self, scenario: str, name: str, version: int) -> None:
        self.scenario, self.version, self._api = scenario, version, api(name)
        self._run += 1
        for side in self.sides:
            side.teller = Teller()
        for conversation in self._others:
            conversation.close()
        self._others = []

    def close(self) -> None:
        for conversation in (self._first, *self._others):
            conversation.close()

    def give_up(self, error: Exception) -> None:
        """A scenario that cannot go on has met something that its author did not expect of either."""
        what = f"could not go on: {error!r}"
        self.differences.append(Difference(self.scenario, "", self.version, "", "the scenario's end", what, {}))

    # What scenarios call

    def name(self, readable: str) -> str:
        return f"{readable}-{self._run}"

    def ask(self, name: str, *, at: int | None = None, **values: Any) -> Both:
        """At the version that is this run's if it is the scenario's API, else at the newest; `at` says another."""
        return self._first.ask(name, at=at, **values)

    def see(
        self, name: str, *, at: int | None = None, until: Callable[[Any], bool] = lambda _: True, **values: Any
    ) -> Both:
        """`until` is what else has to be true of each answer, where both may be late."""
        version = self.version_of(name) if at is None else at
        deadline = time.monotonic() + SETTLES_S
        while True:
            answers = self._first.exchange(name, version, values)
            so_far = all(map(until, answers))
            if (so_far and self._are_alike(name, answers)) or time.monotonic() > deadline:
                self.compare(name, values, answers)
                assert so_far, f"waited in vain for another answer to {name} {values} than {answers}"
                return Both(*answers)
            time.sleep(AGAIN_S)

    def another(self) -> Conversation:
        self._others.append(Conversation(self))
        return self._others[-1]

    def once(self, make: Callable[..., T], *arguments: Any, **named: Any) -> T:
        """`make(twins, ...)`, which all versions of a scenario share: for who only looks at what it made."""
        key = (self.scenario, make, arguments)
        if key not in self._made:
            self._made[key] = make(self, *arguments, **named)
        made: T = self._made[key]
        return made

    def create(self, readable: str, partitions: int = 1, **configs: str) -> str:
        """A topic on both, which both lead. Configurations are written with underscores."""
        name = self.name(readable)
        entries = [{"Name": key.replace("_", "."), "Value": value} for key, value in configs.items()]
        topic = {"Name": name, "NumPartitions": partitions, "ReplicationFactor": 1, "Configs": entries}
        made = self._first.exchange("CreateTopics", 7, {"Topics": [topic], "TimeoutMs": 10_000})
        codes = [answer["Topics"][0]["ErrorCode"] for answer in made]
        assert codes == [0, 0], f"{name} was not made: {made}"
        self._topic_ids[name] = Both(*(answer["Topics"][0]["TopicId"] for answer in made))
        self.wait_until_led(name, partitions)
        return name

    def wait_until_led(self, topic: str, partitions: int = 1) -> None:
        """Kafka answers before its broker has heard of what its controller made."""
        wanted = [{"PartitionIndex": number, "Timestamp": -2} for number in range(partitions)]
        deadline = time.monotonic() + SETTLES_S
        while True:
            values = {"ReplicaId": -1, "Topics": [{"Name": topic, "Partitions": wanted}]}
            answers = self._first.exchange("ListOffsets", 7, values)
            codes = {one["ErrorCode"] for answer in answers for one in answer["Topics"][0]["Partitions"]}
            if codes == {0}:
                return
            assert time.monotonic() < deadline, f"{topic} is not led: {codes}"
            time.sleep(AGAIN_S)

    def wake_coordinators(self) -> None:
        """Whoever asks for the first group waits until the broker has made a place for groups, and read it; and for the
        first producer's id until it has some."""
        deadline = time.monotonic() + SETTLES_S
        beat = {"GroupId": "the first", "MemberId": "nobody", "GenerationId": 1}
        while True:
            answers = self._first.exchange("FindCoordinator", 3, {"Key": "the first", "KeyType": 0})
            answers += self._first.exchange("InitProducerId", 4, {"TransactionalId": None})
            if not any(answer["ErrorCode"] for answer in answers):
                answers = self._first.exchange("Heartbeat", 4, beat)
                if all(answer["ErrorCode"] == UNKNOWN_MEMBER_ID for answer in answers):
                    return
            assert time.monotonic() < deadline, f"nobody coordinates groups: {answers}"
            time.sleep(AGAIN_S)

    def topic_id(self, topic: str) -> Both:
        """Of one that is, or was; a name that was never created has one that nobody knows."""
        if topic not in self._topic_ids:
            values = {"Topics": [{"Name": topic}], "AllowAutoTopicCreation": False}
            found = Both(*self._first.exchange("Metadata", 12, values))["Topics"][0]["TopicId"]
            self._topic_ids[topic] = found.map(lambda each: each if each.int else uuid5(NAMESPACE_DNS, topic))
        return self._topic_ids[topic]

    def delete(self, topic: str) -> None:
        self._first.exchange("DeleteTopics", 5, {"TopicNames": [topic], "TimeoutMs": 10_000})
        asked = {"Topics": [{"Name": topic}], "AllowAutoTopicCreation": False}
        deadline = time.monotonic() + SETTLES_S
        while not all(answer["Topics"][0]["ErrorCode"] for answer in self._first.exchange("Metadata", 12, asked)):
            assert time.monotonic() < deadline, f"{topic} is still there"
            time.sleep(AGAIN_S)

    def produce(self, topic: str, records: bytes, partition: int = 0) -> None:
        data = [{"Name": topic, "PartitionData": [{"Index": partition, "Records": records}]}]
        answers = self._first.exchange("Produce", 9, {"Acks": -1, "TimeoutMs": 10_000, "TopicData": data})
        codes = [answer["Responses"][0]["PartitionResponses"][0]["ErrorCode"] for answer in answers]
        assert codes == [0, 0], answers

    # What conversations call

    def version_of(self, name: str) -> int:
        assert self._api is not None
        return self.version if name == self._api.name else api(name).last

    def compare(self, name: str, asked: Mapping[str, Any], answers: list[Any]) -> None:
        reference, other = (side.teller.told(name, answer) for side, answer in zip(self.sides, answers, strict=True))
        self.comparisons += 1
        for place, theirs, ours in differences(reference, other):
            self.differences.append(Difference(self.scenario, name, self.version, place, theirs, ours, dict(asked)))

    def _are_alike(self, name: str, answers: list[Any]) -> bool:
        """By tellers of its own: what has been mentioned in an answer that is not the last counts for nothing."""
        reference, other = (Teller().told(name, answer) for answer in answers)
        return reference == other or all(
            self._is_known(Difference(self.scenario, name, self.version, place, theirs, ours, {}))
            for place, theirs, ours in differences(reference, other)
        )
