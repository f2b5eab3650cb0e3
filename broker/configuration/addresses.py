"""Hosts and ports as Kafka reads them, of other nodes: HOST:PORT, and NODE_ID@HOST:PORT for a voter."""

from __future__ import annotations

import re
from typing import NamedTuple

from barnabas.protocol.java_text import parse_integer

__all__ = ["Address", "Voter", "is_host", "parse_bootstrap_server", "parse_voter"]

_HOST_AND_PORT = re.compile(r"(?:[0-9a-zA-Z\-%._]*://)?\[?([0-9a-zA-Z\-%._:]*)]?:([0-9]+)")
_HOST = re.compile(r"[0-9a-zA-Z\-%._:]*")
LARGEST_PORT = 65535


class Address(NamedTuple):
    host: str
    port: int


class Voter(NamedTuple):
    node_id: int
    host: str
    port: int


def is_host(text: str) -> bool:
    return _HOST.fullmatch(text) is not None


def parse_bootstrap_server(text: str) -> Address:
    found = _HOST_AND_PORT.fullmatch(text)
    if found is None:
        raise ValueError(f"{text[:100]!r} is not HOST:PORT")
    port = parse_integer(found[2], 32)
    if not 0 <= port <= LARGEST_PORT:
        raise ValueError(f"there is no port {port}")
    return Address(found[1], port)


def parse_voter(text: str) -> Voter:
    # As Java's split, which drops what is empty at the end: 1@host:1@@ has two parts.
    parts = text.rstrip("@").split("@")
    if len(parts) != 2:
        raise ValueError(f"{text[:100]!r} is not NODE_ID@HOST:PORT")
    return Voter(parse_integer(parts[0], 32), *parse_bootstrap_server(parts[1]))
