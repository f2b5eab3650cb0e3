"""The ways into a real Kafka that asks who comes: by TLS, by SASL, and what is said to who comes wrongly."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.cli.main import main
from barnabas.client.address import Address
from barnabas.client.cluster import Cluster
from barnabas.client.deadline import Deadline
from barnabas.client.errors import ClientError, MisconfiguredClient, NotKafka
from barnabas.client.properties import ClientProperties, read_client_properties
from barnabas.protocol.java_properties import format_properties
from tests.cli.beside import run
from tests.kafka.broker import HOST, KafkaBroker, free_ports
from tests.kafka.tool_runner import ToolRunner

from .certificates import Certificates

pytestmark = [pytest.mark.java, pytest.mark.slow]

PLENTY_S = 30.0
SHORT_S = 5.0
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


class Secured:
    def __init__(self, broker: KafkaBroker, ports: dict[str, int], certificates: Certificates) -> None:
        self.broker = broker
        self.ports = ports
        self.certificates = certificates

    def address(self, listener: str) -> Address:
        return Address(HOST, self.ports[listener])

    def cluster_id(self, listener: str, **properties: str) -> str | None:
        """By which name the cluster answers there."""
        values = {name.replace("_", "."): value for name, value in properties.items()}
        with Cluster([self.address(listener)], ClientProperties(values), PLENTY_S) as cluster:
            return cluster.describe().cluster_id

    def refusal(self, kind: type[ClientError], listener: str, **properties: str) -> str:
        with pytest.raises(kind) as raised:
            self.cluster_id(listener, **properties)
        assert type(raised.value) is kind
        return str(raised.value)


@pytest.fixture(scope="module")
def secured(
    kafka_classpath: str, certificates: Certificates, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Secured]:
    names = ("TLS", "MUTUAL", "SASL", "BOTH")
    ports = dict(zip(names, free_ports(len(names)), strict=True))
    broker = KafkaBroker(kafka_classpath, tmp_path_factory.mktemp("secured"))
    own = f"PLAINTEXT://{HOST}:{broker.port},CONTROLLER://{HOST}:{broker.controller_port}"
    listeners = ",".join([own, *(f"{name}://{HOST}:{port}" for name, port in ports.items())])
    users = f'{PLAIN} required username="admin" password="a" user_admin="a" user_alice="wonder\\\\"land";'
    broker.configure(
        {
            "listeners": listeners,
            "advertised.listeners": listeners,
            "listener.security.protocol.map": (
                "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,TLS:SSL,MUTUAL:SSL,SASL:SASL_PLAINTEXT,BOTH:SASL_SSL"
            ),
            "delegation.token.secret.key": "a secret",
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(certificates.server),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(certificates.authority),
            "listener.name.mutual.ssl.client.auth": "required",
            **{
                f"listener.name.{name}.{mechanism}.sasl.jaas.config": text
                for name in ("sasl", "both")
                for mechanism, text in (
                    ("plain", users),
                    ("scram-sha-256", f"{SCRAM} required;"),
                    ("scram-sha-512", f"{SCRAM} required;"),
                )
            },
        },
        [
            *("--add-scram", "SCRAM-SHA-256=[name=alice,password=wonderland]"),
            *("--add-scram", "SCRAM-SHA-512=[name=alice,password=wonderland]"),
        ],
    )
    with broker:
        yield Secured(broker, ports, certificates)


def sasl(mechanism: str, password: str, protocol: str = "SASL_PLAINTEXT") -> dict[str, str]:
    module = PLAIN if mechanism == "PLAIN" else SCRAM
    return {
        "security_protocol": protocol,
        "sasl_mechanism": mechanism,
        "sasl_jaas_config": f'{module} required username="alice" password="{password}";',
    }


@pytest.mark.parametrize(
    ("mechanism", "password"),
    [("PLAIN", 'wonder\\"land'), ("SCRAM-SHA-256", "wonderland"), ("SCRAM-SHA-512", "wonderland")],
)
def test_a_user_is_let_in_by_name_and_password(secured: Secured, mechanism: str, password: str) -> None:
    assert secured.cluster_id("SASL", **sasl(mechanism, password)) == secured.broker.cluster_id
    trust = {"ssl_truststore_location": str(secured.certificates.authority), "ssl_truststore_type": "PEM"}
    both = sasl(mechanism, password, "SASL_SSL")
    assert secured.cluster_id("BOTH", **both, **trust) == secured.broker.cluster_id


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_a_wrong_password(secured: Secured, mechanism: str) -> None:
    said = secured.refusal(NotKafka, "SASL", **sasl(mechanism, "wrong"))
    assert said.startswith(f"{secured.address('SASL')} refuses this user: Authentication failed")
    assert said.endswith("Check sasl.jaas.config.")


def test_a_mechanism_that_is_not_spoken(secured: Secured) -> None:
    said = secured.refusal(MisconfiguredClient, "SASL", **{**sasl("PLAIN", "x"), "sasl_mechanism": "GSSAPI"})
    assert said == "sasl.mechanism=GSSAPI is none that the tools speak: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512."
    said = secured.refusal(MisconfiguredClient, "SASL", security_protocol="SASL_PLAINTEXT", sasl_mechanism="PLAIN")
    assert said.startswith("sasl.jaas.config names no username and password: write sasl.jaas.config=")


def test_who_comes_without_sasl_is_told_of_it(secured: Secured) -> None:
    with pytest.raises(ClientError, match="SASL"):
        secured.cluster_id("SASL")


def test_who_comes_with_sasl_where_none_is_asked_for(secured: Secured) -> None:
    values = {name.replace("_", "."): value for name, value in sasl("PLAIN", "x").items()}
    address = Address(HOST, secured.broker.port)
    with Cluster([address], ClientProperties(values), PLENTY_S) as cluster, pytest.raises(ClientError) as raised:
        cluster.describe()
    assert str(raised.value) == (
        f"{address} asks for no SASL: set security.protocol=PLAINTEXT, or name the port of another listener."
    )


def test_tls(secured: Secured) -> None:
    authority = secured.certificates.authority
    location = {"ssl_truststore_location": str(authority), "ssl_truststore_type": "PEM"}
    assert secured.cluster_id("TLS", security_protocol="SSL", **location) == secured.broker.cluster_id
    inline = {"ssl_truststore_certificates": authority.read_text(), "ssl_truststore_type": "PEM"}
    assert secured.cluster_id("TLS", security_protocol="SSL", **inline) == secured.broker.cluster_id


def test_a_certificate_of_an_unknown_authority(secured: Secured) -> None:
    said = secured.refusal(NotKafka, "TLS", security_protocol="SSL")
    assert said.startswith(f"The certificate of {secured.address('TLS')} is not trusted (unable to get")
    other = {"ssl_truststore_location": str(secured.certificates.other_authority)}
    assert "is not trusted" in secured.refusal(NotKafka, "TLS", security_protocol="SSL", **other)


def test_a_client_that_has_to_show_a_certificate(secured: Secured) -> None:
    trust = {"security_protocol": "SSL", "ssl_truststore_location": str(secured.certificates.authority)}
    own = str(secured.certificates.client)
    key, certificate = (
        (secured.certificates.client.with_name(f"client.{suffix}")).read_text() for suffix in ("key", "pem")
    )
    location = {**trust, "ssl_keystore_location": own, "ssl_keystore_type": "PEM"}
    assert secured.cluster_id("MUTUAL", **location) == secured.broker.cluster_id
    inline = {**trust, "ssl_keystore_key": key, "ssl_keystore_certificate_chain": certificate}
    assert secured.cluster_id("MUTUAL", **inline) == secured.broker.cluster_id
    said = secured.refusal(NotKafka, "MUTUAL", **trust)
    assert said == (
        f"{secured.address('MUTUAL')} wants to see a certificate of this client's, or another one: "
        "name it in ssl.keystore.location."
    )


def test_plain_text_at_a_port_of_tls(secured: Secured) -> None:
    with pytest.raises(NotKafka) as raised:
        secured.cluster_id("TLS")
    assert "security.protocol" in str(raised.value)


def test_tls_at_a_port_of_plain_text(secured: Secured) -> None:
    address = Address(HOST, secured.broker.port)
    properties = ClientProperties({"security.protocol": "SSL"})
    with Cluster([address], properties, SHORT_S) as cluster, pytest.raises(NotKafka) as raised:
        cluster.describe()
    assert str(raised.value).startswith(f"{address} speaks no TLS")


def test_a_file_of_properties(secured: Secured, tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism = SCRAM-SHA-512\n"
        f"sasl.jaas.config={SCRAM} required \\\n  username='alice' password=wonderland;\n"
    )
    with Cluster([secured.address("SASL")], ClientProperties(read_client_properties(file)), PLENTY_S) as cluster:
        assert cluster.describe().cluster_id == secured.broker.cluster_id
    with pytest.raises(MisconfiguredClient, match="none cannot be read"):
        read_client_properties(tmp_path / "none")


def test_the_doctor_goes_the_same_way(secured: Secured, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With TLS and a name, hop by hop; and with a password that is wrong."""
    file = tmp_path / "client.properties"
    password = '"wonderland"'
    text = (
        "security.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-256\n"
        f"ssl.truststore.type=PEM\nssl.truststore.location={secured.certificates.authority}\n"
        f"sasl.jaas.config={SCRAM} required username=alice password={password};\n"
    )
    file.write_text(text)
    flags = ["--bootstrap-server", str(secured.address("BOTH")), "--command-config", str(file)]
    assert main(["doctor", *flags]) == 0
    told = capsys.readouterr().out
    assert told.count("SASL_SSL with SCRAM-SHA-256") == 2
    assert "not known" not in told
    file.write_text(text.replace(password, "wrong"))
    assert main(["doctor", *flags]) == 1
    told = capsys.readouterr().out
    assert "refuses this user: Authentication failed" in told
    assert told.endswith("1 of 3 checks failed: begin with the first of them.\n")


@pytest.mark.parametrize("library", ["kafka-python", "confluent-kafka"])
def test_records_take_the_same_ways_through_either_library(secured: Secured, tmp_path: Path, library: str) -> None:
    """By one file of Kafka's properties, which cli/clients/settings.py translates."""
    trust = {"ssl_truststore_location": str(secured.certificates.authority), "ssl_truststore_type": "PEM"}
    identity = {"ssl_keystore_location": str(secured.certificates.client), "ssl_keystore_type": "PEM"}
    key, separator, certificate = secured.certificates.client.read_text().partition("-----BEGIN CERTIFICATE-----")
    inline = {"ssl_keystore_key": key, "ssl_keystore_certificate_chain": separator + certificate}
    ways = [
        ("TLS", {"security_protocol": "SSL", **trust}),
        ("MUTUAL", {"security_protocol": "SSL", **trust, **identity}),
        ("MUTUAL", {"security_protocol": "SSL", **trust, **inline}),
        ("SASL", sasl("PLAIN", 'wonder\\"land')),
        ("SASL", sasl("SCRAM-SHA-256", "wonderland")),
        ("BOTH", {**sasl("SCRAM-SHA-512", "wonderland", "SASL_SSL"), **trust}),
    ]
    topic = f"secured-{library}"
    for number, (listener, properties) in enumerate(ways):
        file = tmp_path / f"{number}.properties"
        file.write_bytes(format_properties({name.replace("_", "."): value for name, value in properties.items()}))
        way = ["--bootstrap-server", str(secured.address(listener)), "--command-config", str(file)]
        sent = run("produce", topic, "--value", str(number), "--client", library, *way)
        assert sent.code == 0, sent
        read = run("perf", "consume", topic, "--num-records", str(number + 1), "--client", library, "--json", *way)
        assert json.loads(read.out)["records"] == number + 1, read
        assert run("consume", topic, "--tail", "1", *way).out == f"{number}\n"
    wrong = tmp_path / "wrong.properties"
    wrong.write_bytes(format_properties({name.replace("_", "."): value for name, value in sasl("PLAIN", "no").items()}))
    way = ["--bootstrap-server", str(secured.address("SASL")), "--command-config", str(wrong)]
    refused = run("produce", topic, "--value", "x", "--client", library, *way)
    assert (refused.code, refused.err.count("\n")) == (1, 1)
    assert "refuses this user: Authentication failed" in refused.err


def tables(text: str) -> str:
    """Without what each token has of its own."""
    text = re.sub(r"\S{86}==", "HMAC", text)
    text = re.sub(r"[\w-]{22}(?= )|(?<=tokenId : )[\w-]{22}", "ID", text)
    return re.sub(r" +", " ", re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d", "DATE", text)).strip()


def test_delegation_tokens(
    secured: Secured, tmp_path: Path, capsys: pytest.CaptureFixture[str], kafka_tools: ToolRunner
) -> None:
    """`barnabas cluster tokens` beside Kafka's tool: only who has a name may have tokens."""
    file = tmp_path / "client.properties"
    file.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-256\n"
        f'sasl.jaas.config={SCRAM} required username="alice" password="wonderland";\n'
    )
    flags = ["--bootstrap-server", str(secured.address("SASL")), "--command-config", str(file)]

    def ours(*more: str) -> str:
        assert main(["kafka-delegation-tokens.sh", *flags, *more]) == 0
        return capsys.readouterr().out

    def theirs(*more: str) -> str:
        return kafka_tools.run("org.apache.kafka.tools.DelegationTokenCommand", *flags, *more)

    create = ["--create", "--max-life-time-period", "-1", "--renewer-principal", "User:bob"]
    assert tables(ours(*create)) == tables(theirs(*create))
    made = json.loads(ours(*create, "--renewer-principal", "User:carol", "--json"))
    assert made["owner"] == made["requester"] == "User:alice"
    assert made["renewers"] == ["User:bob", "User:carol"]
    deadline = Deadline(PLENTY_S)
    while made["token_id"] not in ours("--describe"):
        assert not deadline.is_over
    for more in (["--describe", "--owner-principal", "User:alice"], ["--describe", "--owner-principal", "User:nobody"]):
        told = sorted(tables(ours(*more)).splitlines())
        assert told == sorted(tables(theirs(*more)).splitlines())
    # Kafka's tool asks for the tokens of nobody then, whatever its help says.
    assert "Total number of tokens : 0" in theirs("--describe")
    hmac = ["--hmac", made["hmac"]]
    renew = ["--renew", *hmac, "--renew-time-period", "3600000"]
    assert tables(ours(*renew)) == tables(theirs(*renew))
    ended = ours("--expire", *hmac, "--expiry-time-period", "-1")
    assert ended.startswith(f"Calling expire token operation with hmac :{made['hmac']} , expiry-time-period :-1\n")
    while made["token_id"] in ours("describe"):
        assert not deadline.is_over
    assert main(["cluster", "tokens", *flags, "--renew", *hmac, "--renew-time-period", "1000"]) == 1
    assert "[DELEGATION_TOKEN_NOT_FOUND]" in capsys.readouterr().err
    assert main(["cluster", "tokens", "--bootstrap-server", secured.broker.bootstrap, *create]) == 1
    assert "[DELEGATION_TOKEN_REQUEST_NOT_ALLOWED]" in capsys.readouterr().err
