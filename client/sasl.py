"""Who we are, said to a broker that asks by SASL. The mechanisms are kafka-python's; what is sent is ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from barnabas.client.errors import MisconfiguredClient
from barnabas.client.properties import ClientProperties

__all__ = ["MECHANISMS", "authenticate", "check_credentials"]

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
"""Those that need a name and a password, and nothing else of this machine."""

_MOST_STEPS = 5


def authenticate(properties: ClientProperties, host: str, exchange: Callable[[bytes], bytes]) -> bool:
    """`exchange` sends what a mechanism says and returns what the broker answers. False: the broker proved nothing."""
    mechanism = _mechanism(properties, host)
    for _ in range(_MOST_STEPS):
        mechanism.receive(exchange(mechanism.auth_bytes()))
        if mechanism.is_done():
            return bool(mechanism.is_authenticated())
    return False


def check_credentials(properties: ClientProperties) -> None:
    """MisconfiguredClient for what can be told before the broker is asked."""
    name = properties.sasl_mechanism
    if name not in MECHANISMS:
        raise MisconfiguredClient(f"sasl.mechanism={name} is none that the tools speak: {', '.join(MECHANISMS)}.")
    options = properties.jaas_options
    if "username" not in options or "password" not in options:
        raise MisconfiguredClient(
            "sasl.jaas.config names no username and password: write "
            'sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="..." '
            'password="...";'
        )


def _mechanism(properties: ClientProperties, host: str) -> Any:
    name, options = properties.sasl_mechanism, properties.jaas_options
    from kafka.net.sasl import get_sasl_mechanism

    # Without security_protocol: kafka-python would warn of plain text, which whoever set the property knows.
    return get_sasl_mechanism(name)(
        host=host,
        sasl_mechanism=name,
        sasl_plain_username=options["username"],
        sasl_plain_password=options["password"],
    )
