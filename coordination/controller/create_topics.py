"""CreateTopics (2-7).

Each topic succeeds or fails for itself; those that succeed are written in one batch. A request that only validates gets
the same answer, random ids included, and writes nothing. The answer tells every configuration of a topic that was
created to those who may see it. Names that the request has twice are refused, both of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from barnabas.coordination.cluster.configs import topic_resource
from barnabas.coordination.cluster.partition import Partition
from barnabas.coordination.cluster.records import MetadataRecord
from barnabas.coordination.controller.assignment import MAX_RECORDS, assigned_partition, placed_partitions
from barnabas.coordination.controller.config_change import SET, ConfigOperation, alter_resource, clear_elr_records
from barnabas.coordination.controller.errors import ApiError, api_error
from barnabas.coordination.controller.permissions import anyone, free, repeated
from barnabas.coordination.controller.state import Controller
from barnabas.coordination.controller.topic_names import CLUSTER_METADATA_TOPIC, why_invalid
from barnabas.coordination.outcome import Outcome
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from barnabas.protocol.records.cluster_metadata import TopicRecord
from barnabas.protocol.schema import Uuid

__all__ = ["create_topics"]

DEFAULT = -1


def create_topics(
    controller: Controller,
    request: CreateTopicsRequest,
    *,
    topic_ids: Iterator[Uuid],
    seed: int,
    may_create: Callable[[str], bool] = anyone,
    may_describe_configs: Callable[[str], bool] = anyone,
    admit: Callable[[int], None] = free,
) -> Outcome[MetadataRecord, CreateTopicsResponse]:
    """`topic_ids` are random ones. `admit` is asked for every topic with its number of partitions, and raises
    KafkaError if the client has created too much of late."""
    names = [topic.name for topic in request.topics]
    twice = repeated(names)
    once = [name for name in names if name not in twice]
    allowed = {name for name in once if name != CLUSTER_METADATA_TOPIC and may_create(name)}
    creation = _Creation(controller, topic_ids, seed, may_describe_configs, admit)
    try:
        results = creation.create([topic for topic in request.topics if topic.name in allowed])
    except KafkaError as error:
        refused = api_error(error)
        return Outcome(reply=CreateTopicsResponse(topics=[_refused(topic.name, refused) for topic in request.topics]))
    results += [
        _refused(name, ApiError(ErrorCode.INVALID_REQUEST, "The request names this topic twice.")) for name in twice
    ]
    results += [_refused(name, _why_not_allowed(name)) for name in once if name not in allowed]
    return Outcome([] if request.validate_only else creation.records, CreateTopicsResponse(topics=results))


def _why_not_allowed(name: str) -> ApiError:
    if name == CLUSTER_METADATA_TOPIC:
        return ApiError(ErrorCode.INVALID_REQUEST, f"{name} is the cluster's own: choose another name.")
    return ApiError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Not authorized to create this topic.")


def _refused(name: str, error: ApiError) -> CreatableTopicResult:
    return CreatableTopicResult(name=name, error_code=error.code, error_message=error.message)


@dataclass(slots=True)
class _Creation:
    controller: Controller
    topic_ids: Iterator[Uuid]
    seed: int
    may_describe_configs: Callable[[str], bool]
    admit: Callable[[int], None]
    records: list[MetadataRecord] = field(default_factory=list)

    def create(self, topics: list[CreatableTopic]) -> list[CreatableTopicResult]:
        self._check_total(topics)
        results = []
        for topic in topics:
            try:
                results.append(self._create_topic(topic))
            except KafkaError as error:
                results.append(_refused(topic.name, api_error(error)))
        if len(self.records) > MAX_RECORDS:
            raise _too_large()
        return results

    def _check_total(self, topics: list[CreatableTopic]) -> None:
        total = 0
        for topic in topics:
            if topic.assignments:
                total += len(topic.assignments)
            elif topic.num_partitions == DEFAULT:
                total += self.controller.settings.default_partitions
            else:
                total += max(topic.num_partitions, 0)
        if total > MAX_RECORDS:
            raise _too_large()

    def _create_topic(self, topic: CreatableTopic) -> CreatableTopicResult:
        self._check_name(topic.name)
        config_records = self._config_records(topic)
        partitions = self._assigned(topic) if topic.assignments else self._placed(topic)
        self.admit(len(partitions))
        topic_id = next(self.topic_ids)
        self.records.append(MetadataRecord(TopicRecord(name=topic.name, topic_id=topic_id)))
        self.records += config_records
        image = self.controller.image
        for number, partition in sorted(partitions.items()):
            self.records.append(
                partition.to_record(
                    topic_id,
                    number,
                    image.required_metadata_version,
                    eligible_leader_replicas=image.eligible_leader_replicas_enabled,
                )
            )
        return self._created(topic, topic_id, partitions)

    def _check_name(self, name: str) -> None:
        topics = self.controller.image.topics
        if name in topics.by_name:
            raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        collision = topics.collision(name)
        if collision is not None:
            raise KafkaError(
                ErrorCode.INVALID_TOPIC_EXCEPTION,
                f"Topics {name} and {collision} would be one in metrics, where '.' and '_' are the same.",
            )
        invalid = why_invalid(name)
        if invalid is not None:
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, invalid)

    def _config_records(self, topic: CreatableTopic) -> list[MetadataRecord]:
        nulls = [config.name for config in topic.configs if config.value is None]
        if nulls:
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"These configurations have no value: {','.join(nulls)}.")
        if not topic.configs:
            return []
        operations = {config.name: ConfigOperation(SET, config.value) for config in topic.configs}
        records = alter_resource(self.controller, topic_resource(topic.name), operations, is_new=True)
        return records + clear_elr_records(self.controller, records)

    def _assigned(self, topic: CreatableTopic) -> Mapping[int, Partition]:
        if topic.replication_factor != DEFAULT or topic.num_partitions != DEFAULT:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                "Where partitions are assigned by hand, their number and the replication factor must be -1.",
            )
        partitions: dict[int, Partition] = {}
        replication_factor = None
        for assignment in topic.assignments:
            number = assignment.partition_index
            if number in partitions:
                raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"Partition {number} is assigned twice.")
            partitions[number] = assigned_partition(self.controller, assignment.broker_ids, number, replication_factor)
            replication_factor = len(assignment.broker_ids)
        if set(partitions) != set(range(len(partitions))):
            raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "Partitions are numbered from 0 without gaps.")
        return partitions

    def _placed(self, topic: CreatableTopic) -> Mapping[int, Partition]:
        settings = self.controller.settings
        count, replication_factor = topic.num_partitions, topic.replication_factor
        if replication_factor < DEFAULT or replication_factor == 0:
            raise KafkaError(
                ErrorCode.INVALID_REPLICATION_FACTOR, "The replication factor is 1 or more, or -1 for the default."
            )
        if count < DEFAULT or count == 0:
            raise KafkaError(ErrorCode.INVALID_PARTITIONS, "A topic has 1 partition or more, or -1 for the default.")
        count = settings.default_partitions if count == DEFAULT else count
        if replication_factor == DEFAULT:
            replication_factor = settings.default_replication_factor
        try:
            placed = placed_partitions(self.controller, count, replication_factor, self._next_seed())
        except KafkaError as error:
            raise KafkaError(
                error.code, f"A partition cannot have {replication_factor} replicas: {error.message}."
            ) from None
        return dict(enumerate(placed))

    def _next_seed(self) -> int:
        self.seed += 1
        return self.seed - 1

    def _created(
        self, topic: CreatableTopic, topic_id: Uuid, partitions: Mapping[int, Partition]
    ) -> CreatableTopicResult:
        result = CreatableTopicResult(name=topic.name, topic_id=topic_id, error_message=None)
        if not self.may_describe_configs(topic.name):
            result.topic_config_error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            return result
        configs = {config.name: config.value for config in topic.configs}
        result.configs = list(self.controller.rules.describe_topic(self.controller.layers(configs)))
        result.num_partitions = len(partitions)
        result.replication_factor = len(partitions[0].replicas)
        return result


def _too_large() -> KafkaError:
    """Each topic is a record beside those of its partitions."""
    words = f"One request creates fewer than {MAX_RECORDS} partitions: use several."
    return KafkaError(ErrorCode.POLICY_VIOLATION, words)
