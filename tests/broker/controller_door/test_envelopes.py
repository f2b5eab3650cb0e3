"""What brokers pass on for their clients: answered as if these had asked here, or refused as Apache Kafka refuses."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.protocol.apis import APIS
from barnabas.protocol.codec import encode
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.frames import decode_response, encode_request
from barnabas.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityData,
    EntryData,
    OpData,
)
from barnabas.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from barnabas.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from barnabas.protocol.messages.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse
from barnabas.protocol.messages.envelope import EnvelopeRequest, EnvelopeResponse
from barnabas.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from barnabas.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from barnabas.protocol.messages.metadata import MetadataRequest
from barnabas.protocol.records.principal import DefaultPrincipalData
from barnabas.protocol.schema import Message
from tests.broker.asking import BROKER
from tests.broker.controller_door.door import ControllerNode
from tests.broker.controller_door.twin_doors import Door, TwinDoors
from tests.kafka.client import RawClient

ADDRESS = bytes([10, 0, 0, 7])


def principal(name: str = "ANONYMOUS") -> bytes:
    return bytes(2) + encode(DefaultPrincipalData(type="User", name=name), 0)


def content(request: Message, version: int) -> bytes:
    chunks = encode_request(APIS[request.__definition__.key], version, 5, "a client", request)
    return b"".join(chunks)[4:]  # type: ignore[arg-type] # requests have no parts of files


def envelope(data: bytes, *, who: bytes | None = None, address: bytes = ADDRESS) -> EnvelopeRequest:
    who = principal() if who is None else who
    return EnvelopeRequest(request_data=data, request_principal=who, client_host_address=address)


def opened(answer: EnvelopeResponse, key: int, version: int) -> Any:
    assert answer.error_code == 0, ErrorCode(answer.error_code)
    correlation_id, message = decode_response(APIS[key], version, bytes(4) + (answer.response_data or b""))
    assert correlation_id == 5
    return message


def passed_on(door: RawClient, request: Message, version: int, **fields: bytes) -> Any:
    answer = door.ask(envelope(content(request, version), **fields), 0, EnvelopeResponse)
    return opened(answer, request.__definition__.key, version)


def topics(*names: str, timeout_ms: int = 5_000) -> CreateTopicsRequest:
    made = [CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in names]
    return CreateTopicsRequest(topics=made, timeout_ms=timeout_ms)


@pytest.mark.parametrize("version", range(2, 8))
def test_a_topic_is_created_for_somebody_elses_client(
    controller_node: ControllerNode, door: RawClient, version: int
) -> None:
    answer: CreateTopicsResponse = passed_on(door, topics("orders"), version)
    assert [(one.name, one.error_code) for one in answer.topics] == [("orders", 0)]
    assert controller_node.do(lambda node: "orders" in node.image.topics.by_name)


def test_quotas_are_those_of_the_client_that_asked(door: RawClient) -> None:
    """Not of the broker that passes it on, whose connection does not wait either."""
    entity = [EntityData(entity_type="user", entity_name="sancho")]
    operation = OpData(key="controller_mutation_rate", value=0.01)
    limited = AlterClientQuotasRequest(entries=[EntryData(entity=entity, ops=[operation])], validate_only=False)
    assert door.ask(limited, 1, AlterClientQuotasResponse).entries[0].error_code == 0
    assert passed_on(door, topics("first"), 7, who=principal("sancho")).topics[0].error_code == 0
    refused = passed_on(door, topics("second"), 7, who=principal("sancho"))
    assert refused.topics[0].error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert refused.throttle_time_ms > 0
    assert passed_on(door, topics("second"), 7, who=principal("quixote")).topics[0].error_code == 0


def test_only_a_broker_that_has_looked_may_cordon_a_directory(door: RawClient) -> None:
    change = AlterableConfig(name="cordoned.log.dirs", config_operation=0, value="/somewhere")
    resource = AlterConfigsResource(resource_type=BROKER, resource_name="1", configs=[change])
    request = IncrementalAlterConfigsRequest(resources=[resource])
    direct = door.ask(request, 1, IncrementalAlterConfigsResponse)
    assert direct.responses[0].error_code == ErrorCode.INVALID_CONFIG
    assert passed_on(door, request, 1).responses[0].error_code == 0


def test_what_this_node_does_not_have_is_not_passed_on(door: RawClient) -> None:
    """As if it were of a newer Kafka: the broker then looks again what there is."""
    key = 51
    assert APIS[key] is not None
    data = key.to_bytes(2, "big") + bytes(2) + bytes(4) + b"\xff\xff"
    assert door.ask(envelope(data), 0, EnvelopeResponse).error_code == ErrorCode.UNSUPPORTED_VERSION


@pytest.mark.java
@pytest.mark.slow
def test_envelopes_beside_kafka(doors: TwinDoors) -> None:
    quorum = content(DescribeQuorumRequest(), 2)
    create = content(topics("from-an-envelope"), 7)
    cases = {
        "nobody": envelope(quorum, who=b""),
        "somebody of a later version": envelope(quorum, who=b"\x00\x07" + principal()[2:]),
        "somebody who is cut off": envelope(quorum, who=principal()[:-3]),
        "from nowhere": envelope(quorum, address=b""),
        "from half a place": envelope(quorum, address=b"\x01\x02\x03"),
        "from an IPv6 address": envelope(content(ListPartitionReassignmentsRequest(), 0), address=bytes(16)),
        "nothing": envelope(b""),
        "half a header": envelope(quorum[:5]),
        "no such API": envelope((999).to_bytes(2, "big") + quorum[2:]),
        "no such version": envelope(create[:2] + (99).to_bytes(2, "big") + create[4:]),
        "another envelope": envelope(content(envelope(quorum), 0)),
        "what brokers answer themselves": envelope(content(MetadataRequest(topics=[]), 12)),
        "what nobody passes on": envelope((1).to_bytes(2, "big") + (13).to_bytes(2, "big") + quorum[4:]),
        "half a request": envelope(create[:-6]),
        "bytes too many": envelope(create + b"more"),
        "an ACL about what is not said": envelope(content(CreateAclsRequest(creations=[AclCreation()]), 3)),
    }
    for name, request in cases.items():
        kafka, ours = (door.ask(request, 0) for door in (doors.kafka, doors.ours))
        told = [None if each is None else ErrorCode(each.error_code).name for each in (kafka, ours)]  # type: ignore[attr-defined]
        assert told[0] == told[1], name


@pytest.mark.java
@pytest.mark.slow
def test_contents_beside_kafka(doors: TwinDoors) -> None:
    requests: list[tuple[Message, int]] = [
        (topics("contents", "contents", "a/b"), 7),
        (topics("late", timeout_ms=0), 7),
        (DescribeQuorumRequest(), 2),
        (ListPartitionReassignmentsRequest(), 0),
        (CreateAclsRequest(creations=[]), 3),
    ]
    for request, version in requests:
        for _ in range(2):
            told = [_opened(door, request, version) for door in (doors.kafka, doors.ours)]
            assert told[0] == told[1], request


def _opened(door: Door, request: Message, version: int) -> Any:
    answer = door.ask(envelope(content(request, version)), 0)
    assert isinstance(answer, EnvelopeResponse)
    message = opened(answer, request.__definition__.key, version)
    if isinstance(message, CreateTopicsResponse):
        return sorted((each.name, each.error_code, each.num_partitions) for each in message.topics)
    if isinstance(message, DescribeQuorumResponse):
        return [door.told(each) for each in message.topics]
    return door.told(message)
