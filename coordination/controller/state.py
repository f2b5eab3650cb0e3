"""The controller: the image that the log tells, and what no log tells, when each broker was last heard of.

    outcome = create_topics(controller, request, ...)
    journal.append(outcome.records)
    controller.apply(outcome, base_offset)

A controller that is elected anew begins with the image at the end of the log and with nobody heard of yet.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field
from typing import Any, TypeVar

from barnabas.coordination.cluster.broker import BrokerRegistration
from barnabas.coordination.cluster.configs import ALL_BROKERS, broker_resource, topic_resource
from barnabas.coordination.cluster.delta import ImageDelta
from barnabas.coordination.cluster.image import ClusterImage
from barnabas.coordination.cluster.records import MetadataRecord
from barnabas.coordination.controller.config_rules import ConfigLayers, ConfigRules
from barnabas.coordination.controller.placed import PlacedPartitions
from barnabas.coordination.controller.settings import ControllerSettings
from barnabas.coordination.outcome import Outcome
from barnabas.protocol.errors import ErrorCode, KafkaError

__all__ = ["NEVER", "BrokerSession", "Controller", "Heard", "SessionOutcome"]

NEVER = -1

Reply = TypeVar("Reply")


@dataclass(slots=True)
class BrokerSession:
    """What a broker's heartbeats told, in this run of it."""

    epoch: int
    registration_offset: int
    """Where its registration stands: the same run may register again, and begins anew to be heard."""
    contact_ms: int | None = None
    metadata_offset: int = -1
    """How far it has read the metadata."""
    controlled_shutdown_offset: int = NEVER
    """Once all others have read so far, none of them looks to it any more, and it may go."""

    @property
    def shutting_down(self) -> bool:
        return self.controlled_shutdown_offset != NEVER


@dataclass(frozen=True, slots=True)
class Heard:
    """A change to a session. No contact: the session has ended."""

    broker_id: int
    contact_ms: int | None
    metadata_offset: int | None = None
    in_controlled_shutdown: bool = False


class SessionOutcome(Outcome[MetadataRecord, Reply], frozen=True):
    """An outcome that also changes what the log does not hold."""

    heard: Heard | None = None


@dataclass(slots=True)
class Controller:
    settings: ControllerSettings
    rules: ConfigRules
    image: ClusterImage = field(default_factory=ClusterImage)
    """Of the whole log, what is not committed yet included."""
    sessions: dict[int, BrokerSession] = field(default_factory=dict)
    placed: PlacedPartitions = field(init=False)
    """The image's partitions by their brokers."""

    def __post_init__(self) -> None:
        self.placed = PlacedPartitions.of(self.image)

    def activate(self, now_ms: int, *, gone: Container[int] = ()) -> None:
        """This node has become the active controller: whoever is unfenced has a session's time to be heard of, but for
        those that are known to be `gone`, such as the last run of a broker that shares this process."""
        self.sessions = {
            broker.id: BrokerSession(
                broker.epoch,
                self.image.registration_offsets[broker.id],
                None if broker.fenced or broker.id in gone else now_ms,
            )
            for broker in self.image.brokers.values()
        }

    def excuse(self, duration_ms: int) -> None:
        """For so long this controller has heard nobody, whoever spoke."""
        for session in self.sessions.values():
            if session.contact_ms is not None:
                session.contact_ms += duration_ms

    def apply(
        self, outcome: Outcome[MetadataRecord, Any], base_offset: int, *, epoch: int = 0, timestamp_ms: int = 0
    ) -> ImageDelta:
        """`base_offset` is where the records stand in the log, or would, if there are any."""
        delta = ImageDelta()
        if outcome.records:
            self.image.apply_batch(outcome.records, base_offset, epoch=epoch, timestamp_ms=timestamp_ms, delta=delta)
            self.placed.follow(delta)
        for broker_id in delta.brokers:
            self._follow_registration(broker_id)
        if isinstance(outcome, SessionOutcome) and outcome.heard is not None:
            self._hear(outcome.heard, base_offset + len(outcome.records) - 1)
        return delta

    def note_contact(self, outcome: Outcome[MetadataRecord, Any]) -> None:
        """All that counts of an outcome whose records could not be written down: who spoke is alive, whatever the disk
        says. Kafka notes that before it decides anything."""
        if isinstance(outcome, SessionOutcome) and outcome.heard is not None and outcome.heard.contact_ms is not None:
            self.sessions[outcome.heard.broker_id].contact_ms = outcome.heard.contact_ms

    def _follow_registration(self, broker_id: int) -> None:
        broker = self.image.brokers.get(broker_id)
        session = self.sessions.get(broker_id)
        if broker is None:
            self.sessions.pop(broker_id, None)
            return
        offset = self.image.registration_offsets[broker_id]
        if session is None or session.registration_offset != offset:
            same_run = session is not None and session.epoch == broker.epoch
            self.sessions[broker_id] = BrokerSession(
                broker.epoch, offset, session.contact_ms if session and same_run else None
            )
        elif broker.fenced:
            session.controlled_shutdown_offset = NEVER

    def _hear(self, heard: Heard, last_offset: int) -> None:
        session = self.sessions[heard.broker_id]
        session.contact_ms = heard.contact_ms
        if heard.metadata_offset is not None:
            session.metadata_offset = heard.metadata_offset
        if heard.in_controlled_shutdown and not session.shutting_down:
            session.controlled_shutdown_offset = last_offset

    # What decisions ask of it

    def is_active(self, broker_id: int) -> bool:
        broker = self.image.brokers.get(broker_id)
        return broker is not None and broker.active

    def has_session(self, broker: BrokerRegistration, now_ms: int) -> bool:
        session = self.sessions.get(broker.id)
        if session is None or session.epoch != broker.epoch or session.contact_ms is None:
            return False
        return session.contact_ms + self.settings.session_timeout_ms >= now_ms

    def registered_broker(self, broker_id: int, epoch: int) -> BrokerRegistration:
        """The broker that a request claims to come from."""
        broker = self.image.brokers.get(broker_id)
        if broker is None:
            raise KafkaError(ErrorCode.STALE_BROKER_EPOCH, f"broker {broker_id} is not registered")
        if broker.epoch != epoch:
            raise KafkaError(ErrorCode.STALE_BROKER_EPOCH, f"broker {broker_id} has epoch {broker.epoch}, not {epoch}")
        return broker

    def topic_config(self, name: str, topic: str) -> str:
        return self.rules.topic_value(name, self.layers(self.image.configs.of(topic_resource(topic))))

    def layers(self, topic_configs: Any) -> ConfigLayers:
        configs = self.image.configs
        node = configs.of(broker_resource(self.settings.node_id))
        return ConfigLayers(topic_configs, node, configs.of(ALL_BROKERS))

    def unclean_election_enabled(self, topic: str) -> bool:
        return self.topic_config("unclean.leader.election.enable", topic).lower() == "true"

    def effective_min_insync_replicas(self, topic: str) -> int:
        """No more than the topic has replicas."""
        configured = int(self.topic_config("min.insync.replicas", topic))
        return min(configured, len(self.image.topics.by_name[topic].partitions[0].replicas))
