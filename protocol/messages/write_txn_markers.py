"""WriteTxnMarkers, API 27: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int8, int16, int32, int64, message, string, struct


@message(key=27, versions="1-2", flexible="1+")
class WriteTxnMarkersRequest(Message):
    markers: list[WritableTxnMarker] = field()


@struct
class WritableTxnMarker(Struct):
    producer_id: int64 = field()
    producer_epoch: int16 = field()
    transaction_result: bool = field()
    topics: list[WritableTxnMarkerTopic] = field()
    coordinator_epoch: int32 = field()
    transaction_version: int8 = field("2+", ignorable=True)


@struct
class WritableTxnMarkerTopic(Struct):
    name: string = field()
    partition_indexes: list[int32] = field()


@message(key=27, versions="1-2", flexible="1+")
class WriteTxnMarkersResponse(Message):
    markers: list[WritableTxnMarkerResult] = field()


@struct
class WritableTxnMarkerResult(Struct):
    producer_id: int64 = field()
    topics: list[WritableTxnMarkerTopicResult] = field()


@struct
class WritableTxnMarkerTopicResult(Struct):
    name: string = field()
    partitions: list[WritableTxnMarkerPartitionResult] = field()


@struct
class WritableTxnMarkerPartitionResult(Struct):
    partition_index: int32 = field()
    error_code: int16 = field()
