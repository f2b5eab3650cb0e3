"""Kafka's client properties as the settings of a library: the one place where they are translated.

What neither library knows because it is about Java (serializers, interceptors) is left out in silence. What is left out
though it might matter is returned, so that the command can say so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from barnabas.cli.failures import WrongUsage
from barnabas.client.properties import ClientProperties
from barnabas.client.tls import tls_context

__all__ = ["confluent_settings", "kafka_python_settings", "merged"]

_OF_JAVA = {
    "auto.include.jmx.reporter",
    "client.dns.lookup",
    "enable.metrics.push",
    "interceptor.classes",
    "key.deserializer",
    "key.serializer",
    "metric.reporters",
    "metrics.num.samples",
    "metrics.recording.level",
    "metrics.sample.window.ms",
    "value.deserializer",
    "value.serializer",
}
_SECURITY = ("security.", "sasl.", "ssl.")
_HANDLED_BY_US = {"bootstrap.servers", "buffer.memory", "max.block.ms"}
"""Neither library has Java's bound on what waits to be sent: producing.py keeps it. Which brokers, is an argument."""

_BOOLEANS = {"true": True, "false": False}
_ASSIGNORS = {
    "RangeAssignor": "kafka.coordinator.assignors.range.RangePartitionAssignor",
    "RoundRobinAssignor": "kafka.coordinator.assignors.roundrobin.RoundRobinPartitionAssignor",
    "StickyAssignor": "kafka.coordinator.assignors.sticky.sticky_assignor.StickyPartitionAssignor",
    "CooperativeStickyAssignor": "kafka.coordinator.assignors.cooperative_sticky.CooperativeStickyAssignor",
}
_LIBRDKAFKA_NAMES = {
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "max.request.size": "message.max.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
}
_LIBRDKAFKA_ASSIGNORS = {
    "RangeAssignor": "range",
    "RoundRobinAssignor": "roundrobin",
    "CooperativeStickyAssignor": "cooperative-sticky",
}


def merged(file: Mapping[str, str], pairs: list[str]) -> dict[str, str]:
    """Of a file and of KEY=VALUE texts, which take precedence. A key alone has an empty value, as in Kafka."""
    found = dict(file)
    for pair in pairs:
        key, _, value = pair.partition("=")
        found[key] = value
    return found


def kafka_python_settings(properties: Mapping[str, str], known: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """For KafkaProducer or KafkaConsumer, whose DEFAULT_CONFIG is `known`; and the keys that it has not."""
    settings: dict[str, Any] = {}
    ignored = []
    for key, text in properties.items():
        name = key.replace(".", "_")
        if key in _OF_JAVA or key in _HANDLED_BY_US or key.startswith(_SECURITY) or text == "":
            continue
        if key == "partition.assignment.strategy":
            settings[name] = [_assignor(each.strip()) for each in text.split(",")]
        elif name in known and not callable(known[name]):
            settings[name] = _value(key, text.strip(), known[name])
        else:
            ignored.append(key)
    settings |= _kafka_python_security(ClientProperties(properties))
    return settings, ignored


def _value(key: str, text: str, default: Any) -> Any:
    if key == "compression.type":
        return None if text == "none" else text
    if key == "acks":
        return -1 if text == "all" else _number(key, text)
    if isinstance(default, bool):
        if text.lower() not in _BOOLEANS:
            raise WrongUsage(f"{key}={text} has to be true or false")
        return _BOOLEANS[text.lower()]
    if isinstance(default, int | float) or key.endswith((".bytes", ".ms")):
        return _number(key, text)
    return text


def _number(key: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise WrongUsage(f"{key}={text} has to be a number") from None


def _assignor(name: str) -> Any:
    from importlib import import_module

    path = _ASSIGNORS.get(name.rpartition(".")[2])
    if path is None:
        raise WrongUsage(f"partition.assignment.strategy has to be of {', '.join(_ASSIGNORS)}, and not {name}")
    module, _, cls = path.rpartition(".")
    return getattr(import_module(module), cls)


def _kafka_python_security(properties: ClientProperties) -> dict[str, Any]:
    found: dict[str, Any] = {"security_protocol": properties.security_protocol}
    if properties.uses_tls:
        found["ssl_context"] = tls_context(properties)
        found["ssl_check_hostname"] = found["ssl_context"].check_hostname
    if properties.uses_sasl:
        found["sasl_mechanism"] = properties.sasl_mechanism
        found["sasl_plain_username"] = properties.jaas_options.get("username")
        found["sasl_plain_password"] = properties.jaas_options.get("password")
    return found


def confluent_settings(properties: Mapping[str, str]) -> dict[str, Any]:
    """For librdkafka, which knows most of Kafka's keys by name."""
    settings: dict[str, Any] = {}
    for key, text in properties.items():
        if key in _OF_JAVA or key in _HANDLED_BY_US or key.startswith(_SECURITY) or text == "":
            continue
        if key == "partition.assignment.strategy":
            names = [each.strip().rpartition(".")[2] for each in text.split(",")]
            text = ",".join(_LIBRDKAFKA_ASSIGNORS.get(name, name) for name in names)
        settings[_LIBRDKAFKA_NAMES.get(key, key)] = text.strip()
    return settings | _librdkafka_security(ClientProperties(properties))


def _librdkafka_security(properties: ClientProperties) -> dict[str, Any]:
    found: dict[str, Any] = {"security.protocol": properties.security_protocol.lower()}
    if properties.uses_tls:
        # The same files are read by Python first, which says in a sentence what is wrong with them.
        tls_context(properties)
        for key, name in (
            ("ssl.truststore.location", "ssl.ca.location"),
            ("ssl.truststore.certificates", "ssl.ca.pem"),
            ("ssl.keystore.location", "ssl.certificate.location"),
            ("ssl.keystore.certificate.chain", "ssl.certificate.pem"),
            ("ssl.keystore.key", "ssl.key.pem"),
            ("ssl.key.password", "ssl.key.password"),
        ):
            if value := properties.get(key):
                found[name] = value
        if "ssl.certificate.location" in found:
            found["ssl.key.location"] = found["ssl.certificate.location"]
        if not properties.get("ssl.endpoint.identification.algorithm", "https"):
            found["ssl.endpoint.identification.algorithm"] = "none"
    if properties.uses_sasl:
        found["sasl.mechanism"] = properties.sasl_mechanism
        found["sasl.username"] = properties.jaas_options.get("username", "")
        found["sasl.password"] = properties.jaas_options.get("password", "")
    return found
