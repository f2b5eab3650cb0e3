"""What a job asks of the cluster that it writes to, makes and changes there, but for the records."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from typing import Any

import confluent_kafka.admin
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException, TopicPartition

from barnabas.pipeline.failures import PipelineFailed
from barnabas.pipeline.writing import QUIET

__all__ = ["TargetCluster"]

rd_admin: Any = confluent_kafka.admin
"""Its annotations and it do not agree on what is exported."""
_PATIENCE_S = 30.0
_LOOK_S = 0.05
_AT_REST_S = 2.0
_AS_MANY_REPLICAS_AS_USUAL = -1


class TargetCluster:
    def __init__(self, properties: Mapping[str, str]) -> None:
        try:
            self._admin: Any = rd_admin.AdminClient({**properties, **QUIET})
        except KafkaException as error:
            raise PipelineFailed(f"The target's properties are wrong: {error.args[0].str()}.") from None
        self._checked: set[str] = set()

    def id(self) -> str:
        return str(_result(self._admin.describe_cluster()).cluster_id)

    def partitions(self) -> dict[str, int]:
        """Of all topics: to ask for one that is not there would have it made."""
        try:
            topics = self._admin.list_topics(timeout=_PATIENCE_S).topics
        except KafkaException as error:
            raise _failed(error.args[0]) from None
        return {name: len(topic.partitions) for name, topic in topics.items()}

    def ensure(self, name: str, partitions: int, found: int, config: Callable[[], Mapping[str, str]]) -> str | None:
        """What had to be done to a topic that has so many partitions, if anything."""
        done = None
        if not found:
            new = rd_admin.NewTopic(
                name,
                partitions,
                _AS_MANY_REPLICAS_AS_USUAL,
                config={**config(), "message.timestamp.type": "CreateTime"},
            )
            _result(self._admin.create_topics([new])[name], name)
            done = "created"
        elif found < partitions:
            _result(self._admin.create_partitions([rd_admin.NewPartitions(name, partitions)])[name], name)
            done = f"grown from {found} partitions"
        elif name not in self._checked:
            self.check_keeps_timestamps(name)
        self._checked.add(name)
        if done:
            deadline = time.monotonic() + _PATIENCE_S
            while self.partitions().get(name, 0) < partitions:
                if time.monotonic() > deadline:
                    raise PipelineFailed(f"{name} was {done} at the target, and is not there: look at its brokers.")
                time.sleep(_LOOK_S)
        return done

    def config(self, name: str) -> dict[str, str]:
        resource = rd_admin.ConfigResource(rd_admin.ResourceType.TOPIC, name)
        found = _result(self._admin.describe_configs([resource])[resource], name)
        return {key: entry.value for key, entry in found.items()}

    def check_keeps_timestamps(self, name: str) -> None:
        if self.config(name)["message.timestamp.type"] != "CreateTime":
            raise PipelineFailed(
                f"{name} gives its records timestamps of its own: set its message.timestamp.type to CreateTime."
            )

    def ends(self, partitions: Iterable[tuple[str, int]]) -> dict[tuple[str, int], int]:
        asked = {TopicPartition(topic, number): rd_admin.OffsetSpec.latest() for topic, number in partitions}
        if not asked:
            return {}
        found = self._admin.list_offsets(asked, request_timeout=_PATIENCE_S)
        return {(place.topic, place.partition): int(_result(future).offset) for place, future in found.items()}

    def ends_at_rest(self, partitions: Iterable[tuple[str, int]]) -> dict[tuple[str, int], int]:
        """When nothing has come for a while: a driver that is killed is outlived by its tasks."""
        places = list(partitions)
        ends, since = self.ends(places), time.monotonic()
        while time.monotonic() - since < _AT_REST_S:
            time.sleep(_LOOK_S)
            now = self.ends(places)
            if now != ends:
                ends, since = now, time.monotonic()
        return ends

    def committed(self, group: str) -> dict[tuple[str, int], int]:
        future = self._admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])[group]
        found = _result(future).topic_partitions
        return {(place.topic, place.partition): place.offset for place in found if place.offset >= 0}

    def commit(self, group: str, offsets: Mapping[tuple[str, int], int]) -> None:
        places = [TopicPartition(topic, number, offset) for (topic, number), offset in offsets.items()]
        asked = [ConsumerGroupTopicPartitions(group, places)]
        done = _result(self._admin.alter_consumer_group_offsets(asked)[group])
        for place in done.topic_partitions:
            if place.error is not None:
                raise _failed(place.error)


def _result(future: Future[Any], topic: str = "") -> Any:
    try:
        return future.result(_PATIENCE_S)
    except TimeoutError:
        raise PipelineFailed("The target's cluster does not answer: start its brokers.") from None
    except KafkaException as error:
        raise _failed(error.args[0], topic) from None


def _failed(error: KafkaError, topic: str = "") -> PipelineFailed:
    if error.code() in (KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT, KafkaError._TIMED_OUT):
        return PipelineFailed("The target's cluster does not answer: start its brokers, or mend bootstrap.servers.")
    of = f" of {topic}" if topic else ""
    return PipelineFailed(f"The target's cluster says{of}: {error.str().removesuffix('.')}.")
