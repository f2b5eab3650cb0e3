"""Frames recorded from life: real clients and a real Apache Kafka 4.3.1, decoded here and written again."""

from __future__ import annotations

from struct import pack
from typing import Any

import pytest

from barnabas.protocol.apis import API_VERSIONS, APIS
from barnabas.protocol.errors import MalformedFrame
from barnabas.protocol.frames import (
    FrameReader,
    UnsupportedRequest,
    decode_request,
    decode_response,
    encode_request,
    encode_response,
    unsupported_api_versions,
)
from barnabas.protocol.messages.api_versions import ApiVersionsResponse

from .recorded import CLIENTS, recorded

SOCKET_REQUEST_MAX_BYTES = 104_857_600

# Where Kafka's outcome is not the protocol's doing: the bytes are a request, and what it asks for is refused (or, in
# one case, makes Kafka stumble). Here the protocol alone is asked, and this is what it makes of them.
DECIDED_BY_THE_BROKER = {
    "Produce v3, no topics, acks 0": "answered",
    "Produce v3, null records, acks 1": "answered",  # Kafka loses this connection to a NullPointerException
    "Produce v3, empty records, acks 0": "answered",
    "Produce v3, wrong CRC, acks 0": "answered",
    "Produce v3, no such topic, acks 0": "answered",
    "BrokerHeartbeat v0 on the broker's listener": "answered",
    "Vote v0 on the broker's listener": "answered",
    "Metadata v4 on the controller's listener": "answered",
    "Produce v3 on the controller's listener": "answered",
    "Metadata v4 before authentication": "answered",
    "SaslAuthenticate v0 before SaslHandshake": "answered",
    "size 524289 before authentication": "silent",
}


def with_size(body: bytes) -> bytes:
    return pack(">i", len(body)) + body


@pytest.mark.parametrize("client", CLIENTS)
def test_every_frame_is_read_and_written_again(client: str) -> None:
    lines = recorded(client)
    assert len(lines) > 80
    for each in lines:
        frame = with_size(bytes.fromhex(each["frame"]))
        api, version, correlation_id = APIS[each["api_key"]], each["version"], each["correlation_id"]
        if each["direction"] == "request":
            request = decode_request(frame)
            header = request.header
            assert (request.api.name, header.correlation_id, header.client_id) == (
                each["api"],
                correlation_id,
                each["client_id"],
            )
            again = encode_request(api, version, correlation_id, header.client_id, request.message)
        else:
            read_id, message = decode_response(api, version, frame)
            assert read_id == correlation_id
            again = encode_response(api, version, correlation_id, message)
        if each["canonical"]:
            assert b"".join(again) == frame  # type: ignore[arg-type]
        else:
            left = each["leftover"]
            assert b"".join(again)[4:] == frame[4:-left]  # type: ignore[arg-type]


def test_the_recording_covers_the_apis_that_clients_use() -> None:
    """What is missing takes several voters, a truncated metadata log, or a plugin, to be seen in life."""
    seen = {each["api_key"] for client in CLIENTS for each in recorded(client)}
    missing = {APIS[key].name for key in APIS.keys() - seen}
    assert missing == {
        "Vote",
        "BeginQuorumEpoch",
        "EndQuorumEpoch",
        "UpdateRaftVoter",
        "FetchSnapshot",
        "AssignReplicasToDirs",
        "GetTelemetrySubscriptions",
        "PushTelemetry",
    }


def outcome(sent: bytes) -> str:
    """What a connection does with these bytes as far as the protocol decides it."""
    reader = FrameReader(SOCKET_REQUEST_MAX_BYTES)
    reader.receive(sent)
    result = "silent"
    try:
        while (frame := reader.next_frame()) is not None:
            try:
                decode_request(frame)
            except UnsupportedRequest as refused:
                if refused.api_key != API_VERSIONS:
                    raise
            result = "answered"
    except (MalformedFrame, UnsupportedRequest):
        return "closed" if result == "silent" else result
    return result


@pytest.mark.parametrize("case", recorded("edge_cases"), ids=lambda case: case["name"])
def test_edge_cases_end_as_in_kafka(case: dict[str, Any]) -> None:
    ours = outcome(bytes.fromhex(case["sent"]))
    assert ours == DECIDED_BY_THE_BROKER.get(case["name"], case["outcome"])
    assert case["outcome"] != DECIDED_BY_THE_BROKER.get(case["name"]), "no longer a difference"


def test_an_unsupported_api_versions_gets_kafkas_very_bytes() -> None:
    cases = [case for case in recorded("edge_cases") if case["name"].startswith("ApiVersions v99")]
    assert cases
    for case in cases:
        with pytest.raises(UnsupportedRequest) as refused:
            decode_request(bytes.fromhex(case["sent"]))
        answer = unsupported_api_versions(refused.value.correlation_id)
        assert b"".join(answer) == bytes.fromhex(case["received"])  # type: ignore[arg-type]


@pytest.mark.parametrize("listener", ["broker", "controller"])
def test_kafka_advertises_our_table(listener: str) -> None:
    """All but client telemetry, which Kafka advertises with a plugin that takes it."""
    case = next(
        case
        for case in recorded("edge_cases")
        if case["listener"] == listener and case["name"].startswith("ApiVersions v4") and len(case["received"]) > 200
    )
    _, message = decode_response(APIS[API_VERSIONS], 4, bytes.fromhex(case["received"]))
    assert isinstance(message, ApiVersionsResponse)
    theirs = {each.api_key: (each.min_version, each.max_version) for each in message.api_keys}
    ours = {key: (api.first_advertised, api.last_stable) for key, api in APIS.items() if listener in api.listeners}
    telemetry = {APIS[71].key, APIS[72].key}
    assert theirs == {key: versions for key, versions in ours.items() if key not in telemetry}
