"""The harness itself: that Kafka and its classes answer, and that refusals are told apart from answers."""

from __future__ import annotations

import pytest

from tests.kafka.broker import KafkaBroker, answers_api_versions, free_ports
from tests.kafka.java_oracle import MessageOracle, OracleError

pytestmark = pytest.mark.java


def test_the_oracle_reads_and_writes_a_message_again(message_oracle: MessageOracle) -> None:
    parsed = message_oracle.parse("ApiVersionsRequest", 3, b"\x02a\x02b\x00")
    assert parsed.json == {"clientSoftwareName": "a", "clientSoftwareVersion": "b"}
    assert parsed.encoded == b"\x02a\x02b\x00"
    assert parsed.leftover == 0


def test_the_oracle_counts_leftover_bytes(message_oracle: MessageOracle) -> None:
    parsed = message_oracle.parse("ListGroupsRequest", 0, b"\x00\x01")
    assert (parsed.encoded, parsed.leftover) == (b"", 2)


def test_the_oracle_refuses_what_kafka_cannot_read(message_oracle: MessageOracle) -> None:
    with pytest.raises(OracleError, match="BufferUnderflow"):
        message_oracle.parse("FetchRequest", 12, b"ab")
    with pytest.raises(OracleError, match="no generated message"):
        message_oracle.parse("Castle", 0, b"")
    with pytest.raises(OracleError, match="outside of 4-"):
        message_oracle.default("FetchRequest", 3)


def test_every_default_survives_a_round_trip(message_oracle: MessageOracle) -> None:
    for schema in message_oracle.schemas():
        for version in range(schema["lowest"], schema["highest"] + 1):
            encoded = message_oracle.default(schema["name"], version)
            parsed = message_oracle.parse(schema["name"], version, encoded)
            assert (parsed.encoded, parsed.leftover) == (encoded, 0), (schema["name"], version)


def test_the_oracle_lists_errors_and_apis(message_oracle: MessageOracle) -> None:
    assert {"NONE", "NOT_LEADER_OR_FOLLOWER"} <= {error["name"] for error in message_oracle.errors()}
    api_versions = next(api for api in message_oracle.apis() if api["id"] == 18)
    assert api_versions["responseHeader"] == {str(version): 0 for version in range(5)}


@pytest.mark.slow
def test_kafka_stops_and_starts_again_on_its_files(kafka_classpath: str) -> None:
    with KafkaBroker(kafka_classpath) as broker:
        broker.stop()
        assert not answers_api_versions(broker.host, broker.port)
        assert (broker.data_directory / "meta.properties").exists()
        broker.start()
        assert answers_api_versions(broker.host, broker.port)
    assert not broker.data_directory.exists()


def test_the_session_broker_answers(kafka_broker: KafkaBroker) -> None:
    assert answers_api_versions(kafka_broker.host, kafka_broker.port)
    assert not answers_api_versions(kafka_broker.host, free_ports(1)[0])
