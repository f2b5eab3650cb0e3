"""What Kafka keeps in what consumers tell each other through JoinGroup and SyncGroup."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Data, Struct, data, field, int32, string, struct


@data(versions="0-3", flexible="none")
class ConsumerProtocolAssignment(Data):
    assigned_partitions: list[TopicPartition] = field()
    user_data: bytes | None = field(default=None)


@struct
class TopicPartition(Struct):
    topic: string = field()
    partitions: list[int32] = field()


@data(versions="0-3", flexible="none")
class ConsumerProtocolSubscription(Data):
    topics: list[string] = field()
    user_data: bytes | None = field(default=None)
    owned_partitions: list[ConsumerProtocolSubscriptionTopicPartition] = field("1+", ignorable=True)
    generation_id: int32 = field("2+", default=-1, ignorable=True)
    rack_id: string | None = field("3+", default=None, ignorable=True)


@struct
class ConsumerProtocolSubscriptionTopicPartition(Struct):
    topic: string = field("1+")
    partitions: list[int32] = field("1+")
