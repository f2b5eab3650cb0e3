"""What a connection meets that is no Kafka broker, or none that answers: each is one sentence with what to do."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
from pathlib import Path

import pytest

from barnabas.client.address import Address, parse_bootstrap
from barnabas.client.connection import Connection
from barnabas.client.deadline import Deadline
from barnabas.client.errors import CannotReach, ClientError, MisconfiguredClient, NoAnswer, NotKafka, NotOffered
from barnabas.client.properties import ClientProperties
from barnabas.protocol.apis import APIS
from barnabas.protocol.frames import encode_response, unsupported_api_versions
from barnabas.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from barnabas.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from barnabas.protocol.messages.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataResponse

from .certificates import Certificates
from .fake_servers import FakeBroker, FakeServer, closed_port, read_request

SHORT_S = 0.2
PLENTY_S = 20.0


def connect(address: Address, timeout_s: float = PLENTY_S, **properties: str) -> Connection:
    values = {name.replace("_", "."): value for name, value in properties.items()}
    return Connection(address, ClientProperties(values), Deadline(timeout_s))


def refusal(kind: type[ClientError], address: Address, timeout_s: float = PLENTY_S, **properties: str) -> str:
    with pytest.raises(kind) as raised:
        connect(address, timeout_s, **properties)
    said = str(raised.value)
    assert type(raised.value) is kind
    assert said.endswith((".", "?")), said
    assert "\n" not in said
    return said


def say(data: bytes) -> FakeServer:
    """To whoever has sent a request."""

    def handle(connection: socket.socket) -> None:
        connection.recv(1 << 16)
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        connection.recv(1 << 16)

    return FakeServer(handle)


def test_a_port_where_nobody_listens() -> None:
    address = closed_port()
    said = refusal(CannotReach, address)
    assert said == f"{address} cannot be reached (Connection refused): is a broker running there?"


def test_a_name_that_nobody_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    said = refusal(CannotReach, Address("kafka.example", 9092))
    assert said.startswith("The name kafka.example cannot be resolved (Name or service not known)")


def test_a_resolver_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()

    def wait(*_: object, **__: object) -> list[object]:
        over.wait(PLENTY_S)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", wait)
    said = refusal(CannotReach, Address("kafka.example", 9092), SHORT_S)
    over.set()
    assert "cannot be resolved (no answer in 0.2 s)" in said


def test_a_machine_that_does_not_answer() -> None:
    """As behind a firewall: the queue of who listens is full, so that the system answers nobody."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        address = Address(*listening.getsockname())
        waiting = [socket.socket() for _ in range(8)]
        try:
            for each in waiting:
                each.setblocking(False)
                each.connect_ex(address)
            said = refusal(CannotReach, address, SHORT_S)
        finally:
            for each in waiting:
                each.close()
    assert said.startswith(f"{address} does not answer in 0.2 s: a firewall")


def test_one_that_listens_and_never_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = Address(*listening.getsockname())
        said = refusal(NoAnswer, address, SHORT_S)
        by_tls = refusal(NoAnswer, address, SHORT_S, security_protocol="SSL")
    assert said.startswith(f"{address} does not answer ApiVersions in 0.2 s: ")
    assert by_tls == f"{address} does not answer by TLS: is security.protocol right for this port?"


def test_one_that_answers_drop_by_drop_takes_no_longer_than_the_deadline() -> None:
    over = threading.Event()

    def handle(connection: socket.socket) -> None:
        connection.sendall(struct.pack(">i", 1 << 20))
        while not over.wait(0.01):
            connection.sendall(b"\0")

    with FakeServer(handle) as server:
        said = refusal(NoAnswer, server.address, SHORT_S)
        over.set()
    assert "does not answer ApiVersions in 0.2 s" in said


def test_one_that_closes_at_once() -> None:
    with FakeServer(lambda connection: None) as server:
        # Whether the end or its reset comes first is the system's choice.
        said = refusal(NotKafka, server.address)
        by_tls = refusal(NotKafka, server.address, security_protocol="SSL")
    assert "closed the connection without an answer: check the port, and security.protocol" in said
    assert "speaks no TLS" in by_tls


def test_a_web_server() -> None:
    with say(b"HTTP/1.1 400 Bad Request\r\n\r\n") as server:
        said = refusal(NotKafka, server.address)
    assert said == f"{server.address} is a web server and no Kafka broker: check the port."


@pytest.mark.parametrize(
    "garbage",
    [
        b"\xff\xff\xff\xff",
        b"220 mail.example ESMTP\r\n",
        struct.pack(">ii", 4, 1),
        struct.pack(">iih", 6, 1, 0),
        struct.pack(">iihi", 10, 1, 0, 1 << 30),
    ],
)
def test_garbage(garbage: bytes) -> None:
    with say(garbage) as server:
        said = refusal(NotKafka, server.address)
    assert said.startswith(f"{server.address} does not speak Kafka's protocol (")
    assert said.endswith("check the port.")


def test_an_answer_to_another_question() -> None:
    with FakeBroker(lambda request: None, correlation_offset=7) as server:
        said = refusal(NotKafka, server.address)
    assert said == f"{server.address} answers something else than what was asked (ApiVersions): check the port."


def test_tls_where_plain_text_is_spoken(certificates: Certificates) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.server)

    def handle(connection: socket.socket) -> None:
        with pytest.raises(ssl.SSLError):
            context.wrap_socket(connection, server_side=True)

    # What Java's TLS says to such a client, as Kafka does; Python's only closes.
    with say(b"\x15\x03\x03\x00\x02\x02\x50") as server:
        said = refusal(NotKafka, server.address)
    assert said == f"{server.address} speaks TLS: set security.protocol=SSL in --command-config."
    with FakeServer(handle) as server, pytest.raises(ClientError) as raised:
        connect(server.address)
    assert "security.protocol" in str(raised.value)


def test_plain_text_where_tls_is_spoken() -> None:
    with FakeBroker(lambda request: None) as server:
        said = refusal(NotKafka, server.address, security_protocol="SSL")
    assert "speaks no TLS" in said
    assert "security.protocol" in said


def test_a_broker_that_knows_only_an_older_api_versions_is_asked_again() -> None:
    api = APIS[18]

    def handle(connection: socket.socket) -> None:
        first = read_request(connection)
        assert first is not None
        assert first.header.request_api_version == api.last_stable
        connection.sendall(b"".join(unsupported_api_versions(first.header.correlation_id)))  # type: ignore[arg-type]
        again = read_request(connection)
        assert again is not None
        offered = ApiVersionsResponse(api_keys=[ApiVersion(api_key=3, min_version=0, max_version=5)])
        version = again.header.request_api_version
        connection.sendall(b"".join(encode_response(api, version, again.header.correlation_id, offered)))  # type: ignore[arg-type]

    with FakeServer(handle) as server, connect(server.address) as connection:
        assert connection.offered == {3: (0, 5)}
        assert connection.version_of(APIS[3]) == 5


def test_a_broker_that_refuses_to_be_asked() -> None:
    class Refusing(FakeBroker):
        def _versions(self) -> ApiVersionsResponse:
            return ApiVersionsResponse(error_code=31)

    with Refusing(lambda request: None) as server:
        said = refusal(NotKafka, server.address)
    assert said == f"{server.address} answers ApiVersions with CLUSTER_AUTHORIZATION_FAILED."


def test_a_broker_of_a_newer_kafka_may_answer_with_an_error_that_we_do_not_know() -> None:
    class Newer(FakeBroker):
        def _versions(self) -> ApiVersionsResponse:
            return ApiVersionsResponse(error_code=999)

    with Newer(lambda request: None) as server:
        assert refusal(NotKafka, server.address) == f"{server.address} answers ApiVersions with error 999."


def test_what_a_broker_does_not_offer_is_not_asked() -> None:
    answers = {3: MetadataResponse(cluster_id="c")}
    with (
        FakeBroker(lambda request: answers[request.api.key], {3: (0, 4), 55: (7, 9)}) as server,
        connect(server.address) as connection,
    ):
        with pytest.raises(NotOffered, match=r"offers DescribeQuorum only in versions 7 to 9: it is another kind"):
            connection.ask(DescribeQuorumRequest(), DescribeQuorumResponse, Deadline(PLENTY_S))
        with pytest.raises(NotOffered, match="does not offer DescribeCluster: it is another kind"):
            connection.version_of(APIS[60])
        assert connection.ask(MetadataRequest(), MetadataResponse, Deadline(PLENTY_S)).cluster_id == "c"
        assert server.asked == ["ApiVersions", "Metadata"]


def test_what_the_version_of_a_broker_cannot_say_is_not_asked() -> None:
    with FakeBroker(lambda request: None, {60: (0, 1)}) as server, connect(server.address) as connection:
        with pytest.raises(NotOffered, match="is too old for that: its newest DescribeCluster is of version 1"):
            connection.ask(
                DescribeClusterRequest(include_fenced_brokers=True), DescribeClusterResponse, Deadline(PLENTY_S)
            )
        assert server.asked == ["ApiVersions"]


def test_one_that_ends_the_connection_later_may_want_sasl() -> None:
    with (
        FakeBroker(lambda request: None) as server,
        connect(server.address) as connection,
        pytest.raises(NoAnswer, match="closed the connection when it was asked Metadata: it may want SASL"),
    ):
        connection.ask(MetadataRequest(), MetadataResponse, Deadline(PLENTY_S))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "No bootstrap server is named"),
        (" , ", "No bootstrap server is named"),
        ("localhost", "localhost is no address"),
        (":9092", ":9092 is no address"),
        ("a:b", "a:b is no address"),
        ("a:0", "a:0 has a port above 65535 or none"),
        ("a:70000", "a:70000 has a port above 65535"),
        ("a:1,b", "b is no address"),
    ],
)
def test_addresses_that_cannot_be_right(text: str, words: str) -> None:
    with pytest.raises(MisconfiguredClient) as raised:
        parse_bootstrap(text)
    assert words in str(raised.value)


def test_addresses() -> None:
    parsed = parse_bootstrap("a:1, [::1]:2,PLAINTEXT://b:3,")
    assert parsed == [("a", 1), ("::1", 2), ("b", 3)]
    assert [str(each) for each in parsed] == ["a:1", "[::1]:2", "b:3"]


def test_properties_that_cannot_be_right(tmp_path: Path) -> None:
    with pytest.raises(MisconfiguredClient, match="TLS is none of PLAINTEXT, SSL"):
        ClientProperties({"security.protocol": "TLS"})
    address = Address("127.0.0.1", 1)
    with FakeBroker(lambda request: None) as server:
        address = server.address
        java = tmp_path / "trust.jks"
        java.write_bytes(b"\xfe\xed\xfe\xed")
        said = refusal(MisconfiguredClient, address, security_protocol="SSL", ssl_truststore_location=str(java))
        assert said == (
            f"ssl.truststore.location={java} is a keystore of Java's: export it as PEM and set ssl.truststore.type=PEM."
        )
        nowhere = str(tmp_path / "none.pem")
        said = refusal(MisconfiguredClient, address, security_protocol="SSL", ssl_truststore_location=nowhere)
        assert nowhere in said
        java.write_text("-----BEGIN CERTIFICATE-----\nnone\n-----END CERTIFICATE-----\n")
        said = refusal(MisconfiguredClient, address, security_protocol="SSL", ssl_truststore_location=str(java))
        assert "cannot be used" in said
