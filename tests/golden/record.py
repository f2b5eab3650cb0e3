"""Records golden frames: what real clients and a real Apache Kafka say to each other.

    python tests/golden/record.py        (needs `make kafka`, confluent-kafka and kafka-python; about a minute)

Kafka's advertised listeners point at proxies in this process (proxy.py), so every frame passes through them: of the
clients (JavaClient.java, python_clients.py) and of the broker that talks to its own controller.

It writes `frames/CLIENT.jsonl`. The first line says who spoke:

    {"client": "java", "client_version": "4.3.1", "broker": "Apache Kafka 4.3.1"}

Each further line is one frame:

    {"direction": "request", "api_key": 18, "api": "ApiVersions", "version": 4, "header_version": 2,
     "correlation_id": 0, "client_id": "golden-admin", "canonical": true, "frame": "0012..."}

`frame` is hexadecimal and holds header and body, without the four bytes of size in front. `header_version` is that of
the request header or the response header. A response stands behind its request and has its correlation id.
`canonical` is true when Kafka, having read the frame, writes the very same bytes again. Where it is false, `leftover`
tells how many bytes Kafka left unread behind the body: librdkafka 2.16 sends such frames, and Kafka does not mind.

Of each (client, API, version) two exchanges are kept, the first and the biggest of the others (of Produce, two for
each codec; of brokers, two for each client id), and none with a frame over 4 KB unless there is no other.
`broker.jsonl` is what brokers say to their controller and to each other.

`frames/edge_cases.jsonl` holds frames that no good client sends (edge_cases.py) and what Kafka did. Here `sent` and
`received` include the size, since the size is sometimes the point:

    {"name": "size -1", "listener": "broker", "sent": "ffffffff", "outcome": "closed", "received": "",
     "afterwards": "closed"}

`outcome` is "answered", "closed", "reset" or "silent" (nothing within two seconds); `afterwards` says whether the same
connection still answered an ApiVersions request then: "open", "closed" or "silent".
"""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from tests.golden import python_clients  # noqa: E402
from tests.golden.edge_cases import edge_cases, play  # noqa: E402
from tests.golden.proxy import Exchange, Proxy, Recording  # noqa: E402
from tests.kafka.broker import KafkaBroker, free_ports  # noqa: E402
from tests.kafka.classpath import find_classpath, java_command, kafka_version  # noqa: E402
from tests.kafka.java_oracle import JavaOracle, MessageOracle, OracleError  # noqa: E402

FRAMES = HERE / "frames"
BIG_BYTES = 4096
PRODUCE = 0


def main() -> None:
    classpath = find_classpath()
    recording = Recording()
    proxies = [Proxy(recording) for _ in range(4)]
    try:
        with JavaOracle(MessageOracle.SOURCE, classpath) as java:
            edges = record(classpath, recording, proxies)
            write_frames(recording.exchanges, MessageOracle(java))
    finally:
        for proxy in proxies:
            proxy.close()
    write_lines(FRAMES / "edge_cases.jsonl", {"broker": f"Apache Kafka {kafka_version()}"}, edges)


def record(classpath: str, recording: Recording, proxies: list[Proxy]) -> list[dict[str, Any]]:
    """Runs every client once, then the edge cases."""
    plain, controller, sasl, second = proxies
    sasl_port, *_ = free_ports(1)
    broker = KafkaBroker(classpath, advertised_port=plain.port)
    addresses = {"PLAINTEXT": plain.port, "CONTROLLER": controller.port, "SASL": sasl.port}
    ports = {"PLAINTEXT": broker.port, "CONTROLLER": broker.controller_port, "SASL": sasl_port}
    broker.configure(listener_settings(addresses, ports), ["--add-scram", SCRAM])
    for proxy, name in zip((plain, controller, sasl), ports, strict=True):
        proxy.start(ports[name])
    with broker:
        bootstrap, sasl_bootstrap = f"127.0.0.1:{plain.port}", f"127.0.0.1:{sasl.port}"
        controllers = f"127.0.0.1:{controller.port}"
        recording.client = "java"
        run_java(classpath, [bootstrap, controllers, sasl_bootstrap, str(broker.data_directory)])
        recording.client = "librdkafka"
        python_clients.librdkafka(bootstrap, sasl_bootstrap)
        recording.client = "kafka-python"
        python_clients.kafka_python(bootstrap, sasl_bootstrap)
        with KafkaBroker(
            classpath,
            node_id=2,
            controllers=controllers,
            cluster_id=broker.cluster_id,
            advertised_port=second.port,
            config={"authorizer.class.name": AUTHORIZER, "super.users": "User:ANONYMOUS"},
        ) as other:
            second.start(other.port)
            python_clients.replicate(bootstrap, other)
        return list(play_edges({"broker": broker.port, "controller": broker.controller_port, "sasl": sasl_port}))


AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
SCRAM = "SCRAM-SHA-256=[name=barnabas,password=messenger]"


def listener_settings(advertised: dict[str, int], bound: dict[str, int]) -> dict[str, str]:
    """A listener with SASL besides the usual two, and an authorizer that lets everybody in, so that ACLs work."""
    plain = "org.apache.kafka.common.security.plain.PlainLoginModule"
    return {
        "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in bound.items()),
        "advertised.listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in advertised.items()),
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
        "listener.name.sasl.plain.sasl.jaas.config": f'{plain} required user_barnabas="messenger";',
        "listener.name.sasl.scram-sha-256.sasl.jaas.config": (
            "org.apache.kafka.common.security.scram.ScramLoginModule required;"
        ),
        "authorizer.class.name": AUTHORIZER,
        "super.users": "User:ANONYMOUS;User:barnabas",
    }


def run_java(classpath: str, arguments: list[str]) -> None:
    command = [*java_command(classpath, heap_mib=512), str(HERE / "JavaClient.java"), *arguments]
    subprocess.run(command, check=True, timeout=300)


def play_edges(ports: dict[str, int]) -> Iterable[dict[str, Any]]:
    for case in edge_cases():
        outcome = play(case, ports[case.listener])
        yield {
            "name": case.name,
            "listener": case.listener,
            "sent": case.sent.hex(),
            "outcome": outcome.outcome,
            "received": outcome.received.hex(),
            "afterwards": outcome.afterwards,
        }


def write_frames(exchanges: list[Exchange], oracle: MessageOracle) -> None:
    versions = {
        "broker": kafka_version(),
        "java": kafka_version(),
        "librdkafka": f"{librdkafka_version()}, confluent-kafka {importlib.metadata.version('confluent-kafka')}",
        "kafka-python": importlib.metadata.version("kafka-python"),
    }
    apis = {api["id"]: api for api in oracle.apis()}
    for client, version in versions.items():
        lines = []
        for exchange in chosen([each for each in exchanges if each.client == client]):
            lines += [
                described(exchange, direction, frame, apis[exchange.api_key], oracle)
                for direction, frame in exchange.frames()
            ]
        first = {"client": client, "client_version": version, "broker": f"Apache Kafka {kafka_version()}"}
        write_lines(FRAMES / f"{client}.jsonl", first, lines)


def librdkafka_version() -> str:
    import confluent_kafka

    return str(confluent_kafka.libversion()[0])


def chosen(exchanges: list[Exchange]) -> Iterable[Exchange]:
    """The first exchange of each kind and the biggest of the others, by API and version."""
    kinds: dict[tuple[int, int, str], list[Exchange]] = defaultdict(list)
    for exchange in exchanges:
        # The producer's client id names its codec, a broker's its errand: follower, Raft, share state.
        by_client_id = exchange.api_key == PRODUCE or exchange.client == "broker"
        variant = exchange.client_id if by_client_id else ""
        kinds[exchange.api_key, exchange.version, variant].append(exchange)
    for kind in sorted(kinds):
        of_kind = kinds[kind]
        small = [each for each in of_kind if max(len(frame) for _, frame in each.frames()) <= BIG_BYTES]
        first, *others = small or of_kind[:1]
        yield first
        if others:
            yield max(others, key=lambda each: sum(len(frame) for _, frame in each.frames()))


def described(
    exchange: Exchange, direction: str, frame: bytes, api: dict[str, Any], oracle: MessageOracle
) -> dict[str, Any]:
    header_version = api[f"{direction}Header"][str(exchange.version)]
    again, leftover = written_again(exchange, direction, frame, api["name"], header_version, oracle)
    line = {
        "direction": direction,
        "api_key": exchange.api_key,
        "api": api["name"],
        "version": exchange.version,
        "header_version": header_version,
        "correlation_id": exchange.correlation_id,
        "client_id": exchange.client_id,
        "canonical": again == frame,
        "frame": frame.hex(),
    }
    return line if again == frame else {**line, "leftover": leftover}


def written_again(
    exchange: Exchange, direction: str, frame: bytes, api: str, header_version: int, oracle: MessageOracle
) -> tuple[bytes, int]:
    """The frame as Kafka writes it after it has read it, and how many bytes it left unread at the end."""
    suffix = direction.capitalize()
    try:
        header = oracle.parse(f"{suffix}Header", header_version, frame)
        body = frame[len(frame) - header.leftover :]
        message = oracle.parse(f"{api}{suffix}", exchange.version, body)
    except OracleError as refused:
        sys.exit(f"golden: Kafka cannot read its own {api} {direction} v{exchange.version}: {refused}")
    return header.encoded + message.encoded, message.leftover


def write_lines(path: Path, first: dict[str, Any], lines: list[dict[str, Any]]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in [first, *lines]))


if __name__ == "__main__":
    main()
