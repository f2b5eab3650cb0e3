"""DeleteTopics (1-6): by name, from version 6 on by name or id.

Whatever is named twice, in whichever way, is not deleted. Kafka shuffles its answers, so that their order does not tell
what its asker may not see; here they come in the order of what is wrong with them, which does not tell it either.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from barnabas.coordination.cluster.records import MetadataRecord
from barnabas.coordination.cluster.topics import Topic
from barnabas.coordination.controller.errors import NO_ERROR, ApiError, api_error
from barnabas.coordination.controller.permissions import anyone, free, repeated
from barnabas.coordination.controller.state import Controller
from barnabas.coordination.outcome import Outcome
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.delete_topics import DeletableTopicResult, DeleteTopicsRequest, DeleteTopicsResponse
from barnabas.protocol.records.cluster_metadata import RemoveTopicRecord
from barnabas.protocol.schema import Uuid

__all__ = ["delete_topics"]

_KNOWS_DISABLED = 3
"""From this version on clients know TOPIC_DELETION_DISABLED."""
_BY_ID = 6

_NOT_AUTHORIZED = ApiError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Not authorized to delete this topic.")


def delete_topics(
    controller: Controller,
    request: DeleteTopicsRequest,
    version: int,
    *,
    may_describe: Callable[[str], bool] = anyone,
    may_delete: Callable[[str], bool] = anyone,
    admit: Callable[[int], None] = free,
) -> Outcome[MetadataRecord, DeleteTopicsResponse]:
    """`admit` as in create_topics."""
    if not controller.settings.delete_topic_enable:
        return Outcome(reply=_all_refused(request, version))
    deletion = _Deletion(controller, may_describe, may_delete, admit)
    deletion.delete(request)
    return Outcome(deletion.records, DeleteTopicsResponse(responses=deletion.results))


def _all_refused(request: DeleteTopicsRequest, version: int) -> DeleteTopicsResponse:
    code = ErrorCode.TOPIC_DELETION_DISABLED if version >= _KNOWS_DISABLED else ErrorCode.INVALID_REQUEST
    if version < _BY_ID:
        results = [DeletableTopicResult(name=name, error_code=code) for name in request.topic_names]
    else:
        results = [
            DeletableTopicResult(name=topic.name, topic_id=topic.topic_id, error_code=code) for topic in request.topics
        ]
    return DeleteTopicsResponse(responses=results)


@dataclass(slots=True)
class _Deletion:
    controller: Controller
    may_describe: Callable[[str], bool]
    may_delete: Callable[[str], bool]
    admit: Callable[[int], None]
    records: list[MetadataRecord] = field(default_factory=list)
    results: list[DeletableTopicResult] = field(default_factory=list)

    def delete(self, request: DeleteTopicsRequest) -> None:
        names, ids = self._named(request)
        names_twice, ids_twice = repeated(names), repeated(ids)
        for name in names_twice:
            self._answer(name, Uuid.ZERO, ApiError(ErrorCode.INVALID_REQUEST, "The request names this topic twice."))
        for topic_id in ids_twice:
            self._answer(None, topic_id, ApiError(ErrorCode.INVALID_REQUEST, "The request has this id twice."))
        found = self._by_id([topic_id for topic_id in ids if topic_id not in ids_twice])
        self._add_by_name([name for name in names if name not in names_twice], found, set(ids_twice))
        for topic in found.values():
            self._delete_topic(topic)

    def _named(self, request: DeleteTopicsRequest) -> tuple[list[str], list[Uuid]]:
        """Names and ids, without those that are both or neither."""
        names, ids = list(request.topic_names), []
        for topic in request.topics:
            if topic.name is not None and topic.topic_id != Uuid.ZERO:
                both = ApiError(ErrorCode.INVALID_REQUEST, "A topic is deleted by its name or by its id, not by both.")
                self._answer(topic.name, topic.topic_id, both)
            elif topic.name is not None:
                names.append(topic.name)
            elif topic.topic_id != Uuid.ZERO:
                ids.append(topic.topic_id)
            else:
                neither = ApiError(ErrorCode.INVALID_REQUEST, "A topic to delete has neither name nor id.")
                self._answer(None, Uuid.ZERO, neither)
        return names, ids

    def _by_id(self, ids: list[Uuid]) -> dict[Uuid, Topic]:
        found = {}
        for topic_id in ids:
            topic = self.controller.image.topics.by_id.get(topic_id)
            if topic is None:
                self._answer(None, topic_id, ApiError(ErrorCode.UNKNOWN_TOPIC_ID, "No topic has this id."))
            elif self.may_delete(topic.name):
                found[topic_id] = topic
            else:
                self._answer(topic.name if self.may_describe(topic.name) else None, topic_id, _NOT_AUTHORIZED)
        return found

    def _add_by_name(self, names: list[str], found: dict[Uuid, Topic], ids_twice: set[Uuid]) -> None:
        for name in names:
            topic = self.controller.image.topics.by_name.get(name)
            if not self.may_describe(name):
                self._answer(name, Uuid.ZERO, _NOT_AUTHORIZED)
            elif topic is None:
                unknown = ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"There is no topic {name}.")
                self._answer(name, Uuid.ZERO, unknown)
            elif not self.may_delete(name):
                self._answer(name, Uuid.ZERO, _NOT_AUTHORIZED)
            elif topic.id in found or topic.id in ids_twice:
                # Told only to those who may delete it, since it says which id belongs to the name.
                found.pop(topic.id, None)
                again = ApiError(ErrorCode.INVALID_REQUEST, "The request has this topic by its id as well.")
                self._answer(name, topic.id, again)
            else:
                found[topic.id] = topic

    def _delete_topic(self, topic: Topic) -> None:
        error = NO_ERROR
        try:
            self.admit(len(topic.partitions))
            self.records.append(MetadataRecord(RemoveTopicRecord(topic_id=topic.id)))
        except KafkaError as refused:
            error = api_error(refused)
        self._answer(topic.name, topic.id, error)

    def _answer(self, name: str | None, topic_id: Uuid, error: ApiError) -> None:
        self.results.append(
            DeletableTopicResult(name=name, topic_id=topic_id, error_code=error.code, error_message=error.message)
        )
