"""HOST:PORT, and lists of them, as Kafka's bootstrap.servers."""

from __future__ import annotations

from typing import NamedTuple

from barnabas.client.errors import MisconfiguredClient

__all__ = ["Address", "parse_bootstrap"]

_LARGEST_PORT = 65535


class Address(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_bootstrap(text: str) -> list[Address]:
    """`HOST:PORT,HOST:PORT`; MisconfiguredClient for anything else."""
    found = [_parse(each.strip()) for each in text.split(",") if each.strip()]
    if not found:
        raise MisconfiguredClient("No bootstrap server is named: write --bootstrap-server HOST:PORT.")
    return found


def _parse(text: str) -> Address:
    _, _, without_protocol = text.rpartition("://")
    host, colon, port = without_protocol.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or not host.strip("[]"):
        raise MisconfiguredClient(f"{text} is no address: write HOST:PORT, such as localhost:9092.")
    if not 0 < int(port) <= _LARGEST_PORT:
        raise MisconfiguredClient(f"{text} has a port above {_LARGEST_PORT} or none: write HOST:PORT.")
    return Address(host.strip("[]"), int(port))
