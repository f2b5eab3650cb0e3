"""A client's properties, as Kafka's own clients and tools take them: a file after --command-config, and single ones."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from barnabas.client.errors import MisconfiguredClient
from barnabas.protocol.java_properties import parse_properties

__all__ = ["PROTOCOLS", "ClientProperties", "read_client_properties"]

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_JAAS_OPTION = re.compile(r"""(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([^\s;]+))""")


class ClientProperties:
    """Kafka's keys with their values; those that matter to a connection are properties here."""

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self.values = dict(values or {})
        if self.security_protocol not in PROTOCOLS:
            raise MisconfiguredClient(
                f"security.protocol={self.values['security.protocol']} is none of {', '.join(PROTOCOLS)}."
            )

    def get(self, key: str, default: str = "") -> str:
        return self.values.get(key, default).strip()

    @property
    def security_protocol(self) -> str:
        return self.get("security.protocol", "PLAINTEXT").upper()

    @property
    def uses_tls(self) -> bool:
        return self.security_protocol.endswith("SSL")

    @property
    def uses_sasl(self) -> bool:
        return self.security_protocol.startswith("SASL")

    @property
    def sasl_mechanism(self) -> str:
        return self.get("sasl.mechanism", "GSSAPI")

    @property
    def jaas_options(self) -> dict[str, str]:
        """What stands behind the login module in sasl.jaas.config: username, password and others."""
        options = {}
        for name, double, single, bare in _JAAS_OPTION.findall(self.get("sasl.jaas.config")):
            options[name] = re.sub(r"\\(.)", r"\1", double) or single or bare
        return options

    @property
    def client_id(self) -> str | None:
        return self.get("client.id") or None


def read_client_properties(path: Path, what: str = "--command-config") -> dict[str, str]:
    try:
        return parse_properties(path.read_bytes())
    except OSError as error:
        raise MisconfiguredClient(f"{path} cannot be read ({error.strerror}): check the path after {what}.") from None
    except ValueError as error:
        raise MisconfiguredClient(f"{path} is no file of properties ({error}): write \\\\ for a backslash.") from None
