"""DescribeCluster, API 60: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int8, int16, int32, message, string, struct


@message(key=60, versions="0-2", flexible="0+")
class DescribeClusterRequest(Message):
    include_cluster_authorized_operations: bool = field()
    endpoint_type: int8 = field("1+", default=1)
    include_fenced_brokers: bool = field("2+")


@message(key=60, versions="0-2", flexible="0+")
class DescribeClusterResponse(Message):
    throttle_time_ms: int32 = field()
    error_code: int16 = field()
    error_message: string | None = field(default=None)
    endpoint_type: int8 = field("1+", default=1)
    cluster_id: string = field()
    controller_id: int32 = field(default=-1)
    brokers: list[DescribeClusterBroker] = field()
    cluster_authorized_operations: int32 = field(default=-2147483648)


@struct
class DescribeClusterBroker(Struct):
    broker_id: int32 = field()
    host: string = field()
    port: int32 = field()
    rack: string | None = field(default=None)
    is_fenced: bool = field("2+")
