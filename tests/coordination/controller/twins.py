"""Our controller beside Kafka's: both begin with the same log, are asked the same, and have to answer the same.

What each draws at random or takes from the clock is translated: topic ids by the topics' names, broker epochs by what
each of them gave out. Of the words of an error only is compared whether there are any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, TypeVar

from barnabas.coordination.cluster.image import ClusterImage
from barnabas.coordination.cluster.log_batch import read_metadata_batch
from barnabas.coordination.controller.alter_configs import alter_configs
from barnabas.coordination.controller.alter_partition import alter_partition
from barnabas.coordination.controller.client_quotas import alter_client_quotas
from barnabas.coordination.controller.create_partitions import create_partitions
from barnabas.coordination.controller.create_topics import create_topics
from barnabas.coordination.controller.delete_topics import delete_topics
from barnabas.coordination.controller.describe_client_quotas import describe_client_quotas
from barnabas.coordination.controller.describe_cluster import describe_cluster
from barnabas.coordination.controller.elect_leaders import elect_leaders
from barnabas.coordination.controller.heartbeat import heartbeat
from barnabas.coordination.controller.incremental_alter_configs import incremental_alter_configs
from barnabas.coordination.controller.producer_ids import allocate_producer_ids
from barnabas.coordination.controller.reassignments import alter_partition_reassignments, list_partition_reassignments
from barnabas.coordination.controller.registration import register_broker
from barnabas.coordination.controller.replica_directories import assign_replicas_to_directories
from barnabas.coordination.controller.settings import ControllerSettings
from barnabas.coordination.controller.state import Controller
from barnabas.coordination.controller.unregister_broker import unregister_broker
from barnabas.coordination.controller.update_features import update_features
from barnabas.coordination.outcome import Outcome
from barnabas.protocol.apis import APIS
from barnabas.protocol.batches import iterate_batches
from barnabas.protocol.codec import decode, encode
from barnabas.protocol.messages.broker_heartbeat import BrokerHeartbeatResponse
from barnabas.protocol.messages.create_topics import CreateTopicsResponse
from barnabas.protocol.schema import Message, Struct, Uuid
from tests.coordination.controller.config_rules import TestRules
from tests.kafka.broker import KafkaBroker
from tests.kafka.client import RawClient

NOW_MS = 1_000_000

M = TypeVar("M", bound=Message)

ON_THE_CONTROLLER = {
    "BrokerRegistration",
    "BrokerHeartbeat",
    "AllocateProducerIds",
    "AlterPartition",
    "AssignReplicasToDirs",
}


READS_A_COPY = {"DescribeClientQuotas", "DescribeCluster"}


class Twins:
    def __init__(self, kafka: KafkaBroker) -> None:
        self.kafka = kafka
        self._broker = RawClient(kafka.host, kafka.port)
        self._controller = RawClient(kafka.host, kafka.controller_port)
        settings = ControllerSettings(cluster_id=kafka.cluster_id, node_id=kafka.node_id, voter_ids=(kafka.node_id,))
        self.ours = Controller(settings, TestRules(), self.kafka_image())
        self.ours.activate(NOW_MS)
        self.ids = fresh_ids()
        self.kafka_ids: dict[bytes, bytes] = {}
        """Kafka's topic id for each of ours."""
        self.kafka_epochs: dict[int, int] = {}
        self.comparisons = 0

    def close(self) -> None:
        self._broker.__exit__(None, None, None)
        self._controller.__exit__(None, None, None)

    def kafka_image(self) -> ClusterImage:
        """What Kafka's own log says now."""
        image = ClusterImage()
        log = self.kafka.data_directory / "__cluster_metadata-0" / "00000000000000000000.log"
        for batch in iterate_batches(log.read_bytes()):
            image.apply_batch(read_metadata_batch(batch), batch.base_offset)
            image.next_offset = batch.next_offset
        return image

    def same(self, request: Message, version: int, *, for_kafka: Message | None = None) -> Any:
        """Ask both, compare, and give our answer."""
        asked = self._for_kafka(request) if for_kafka is None else for_kafka
        api = APIS[request.__definition__.key]
        client = self._controller if api.name in ON_THE_CONTROLLER else self._broker
        theirs = client.ask(asked, version, api.response)
        if isinstance(theirs, BrokerHeartbeatResponse):
            # How far Kafka's own broker has read decides whether another may stop, and only Kafka knows it.
            self.ours.sessions[self.kafka.node_id].metadata_offset = 1 << 60 if theirs.should_shut_down else -1
        ours = self.decide(decode(type(request), version, encode(request, version)), version)
        ours_on_the_wire = decode(api.response, version, encode(ours, version))
        if api.name in READS_A_COPY:
            # A broker learns a little later what its controller wrote.
            for _ in range(1000):
                if normal(ours_on_the_wire) == normal(theirs):
                    break
                theirs = client.ask(asked, version, api.response)
        self._learn(ours, theirs)
        assert normal(ours_on_the_wire) == normal(theirs), f"{request} v{version}:\nours  {ours}\nKafka {theirs}"
        self.comparisons += 1
        return ours

    def same_state(self) -> None:
        assert comparable(self.ours.image) == comparable(self.kafka_image())

    def decide(self, request: Message, version: int) -> Any:
        decided = self._decisions()[type(request).__name__](request, version)
        if not isinstance(decided, Outcome):
            return decided
        self.ours.apply(decided, self.ours.image.next_offset)
        return decided.reply

    def _decisions(self) -> dict[str, Callable[[Any, int], Any]]:
        ours, image = self.ours, self.ours.image
        return {
            "CreateTopicsRequest": lambda r, _: create_topics(ours, r, topic_ids=self.ids, seed=1),
            "DeleteTopicsRequest": lambda r, v: delete_topics(ours, r, v),
            "CreatePartitionsRequest": lambda r, _: create_partitions(ours, r, seed=1),
            "AlterConfigsRequest": lambda r, _: alter_configs(ours, r),
            "IncrementalAlterConfigsRequest": lambda r, _: incremental_alter_configs(ours, r),
            "ElectLeadersRequest": lambda r, v: elect_leaders(ours, r, v),
            "AlterPartitionReassignmentsRequest": lambda r, _: alter_partition_reassignments(ours, r),
            "ListPartitionReassignmentsRequest": lambda r, _: list_partition_reassignments(ours, r),
            "AlterClientQuotasRequest": lambda r, _: alter_client_quotas(ours, r),
            "DescribeClientQuotasRequest": lambda r, _: describe_client_quotas(image, r),
            "UpdateFeaturesRequest": lambda r, v: update_features(ours, r, v),
            "AllocateProducerIdsRequest": lambda r, _: allocate_producer_ids(ours, r),
            "UnregisterBrokerRequest": lambda r, _: unregister_broker(ours, r),
            "BrokerRegistrationRequest": lambda r, v: register_broker(
                ours, r, v, next_offset=image.next_offset, now_ms=NOW_MS
            ),
            "BrokerHeartbeatRequest": lambda r, _: heartbeat(ours, r, now_ms=NOW_MS),
            "AlterPartitionRequest": lambda r, v: alter_partition(ours, r, v),
            "AssignReplicasToDirsRequest": lambda r, _: assign_replicas_to_directories(ours, r),
            "DescribeClusterRequest": lambda r, v: describe_cluster(
                image,
                r,
                v,
                cluster_id=ours.settings.cluster_id,
                controller_id=ours.settings.node_id,
                listener="PLAINTEXT",
            ),
        }

    def _learn(self, ours: Any, theirs: Any) -> None:
        if isinstance(ours, CreateTopicsResponse):
            theirs_by_name = {topic.name: topic for topic in theirs.topics}
            for topic in ours.topics:
                if topic.error_code == 0 and topic.name in theirs_by_name:
                    self.kafka_ids[topic.topic_id] = theirs_by_name[topic.name].topic_id

    def learn_epochs(self) -> None:
        self.kafka_epochs = {
            self.ours.image.brokers[broker.id].epoch: broker.epoch for broker in self.kafka_image().brokers.values()
        }
        self.kafka_ids |= {
            topic.id: self.kafka_image().topics.by_name[name].id
            for name, topic in self.ours.image.topics.by_name.items()
        }

    def _for_kafka(self, request: Message) -> Message:
        message: Message = translated(request, self.kafka_ids, self.kafka_epochs)
        return message


def fresh_ids() -> Iterator[Uuid]:
    return (Uuid(number.to_bytes(16, "big")) for number in count(1 << 100))


def translated(value: Any, ids: dict[bytes, bytes], epochs: dict[int, int]) -> Any:
    if isinstance(value, Struct):
        made = type(value)()
        for field in value.__fields__:
            part = getattr(value, field.name)
            if field.name == "broker_epoch":
                part = epochs.get(part, part)
            setattr(made, field.name, translated(part, ids, epochs))
        return made
    if isinstance(value, list):
        return [translated(part, ids, epochs) for part in value]
    return ids.get(value, value) if isinstance(value, Uuid) else value


def normal(value: Any) -> Any:
    """Without what differs from run to run; results, whose order nobody promises, are sorted."""
    if isinstance(value, Struct):
        fields = {field.name: normal(getattr(value, field.name)) for field in value.__fields__}
        fields.pop("throttle_time_ms", None)  # ours decides no quotas, and Kafka's may be used up
        if fields.get("error_message"):
            fields["error_message"] = "words"
        for name in ("topic_id", "broker_epoch"):
            if name in fields:
                fields[name] = "given" if fields[name] not in (Uuid.ZERO, -1) else "none"
        return {"": type(value).__name__, **fields}
    if isinstance(value, list):
        parts = [normal(part) for part in value]
        return sorted(parts, key=repr) if parts and isinstance(parts[0], dict) else parts
    return value


def comparable(image: ClusterImage) -> dict[str, Any]:
    """An image with topics by their names, and without the epochs that depend on offsets."""
    return {
        "features": image.finalized_features(),
        "brokers": {
            broker.id: (
                broker.endpoints,
                dict(broker.features),
                broker.fenced,
                broker.in_controlled_shutdown,
                broker.directories,
                broker.cordoned_directories,
                broker.rack,
            )
            for broker in image.brokers.values()
        },
        "topics": {topic.name: dict(sorted(topic.partitions.items())) for topic in image.topics},
        "configs": image.configs.by_resource,
        "quotas": image.quotas.by_entity,
        "producer ids": image.next_producer_id,
    }
