"""`python -m barnabas.cli.health HOST:PORT`: whether a broker serves there; what a container's health check runs.

It asks what every client asks first, ApiVersions and Metadata, and wants the broker to name itself. Exit code 0 or 1.
"""

from __future__ import annotations

import argparse
import socket
import sys
from collections.abc import Sequence
from typing import TypeVar

from barnabas.protocol.apis import APIS
from barnabas.protocol.errors import MalformedFrame
from barnabas.protocol.frames import FrameReader, decode_response, encode_request
from barnabas.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataResponse
from barnabas.protocol.schema import Message

__all__ = ["check", "main"]

_API_VERSIONS, _METADATA = 18, 3
_LARGEST_ANSWER_BYTES = 64 << 20
_READ_BYTES = 1 << 16

Answer = TypeVar("Answer", bound=Message)


class Unhealthy(Exception):  # noqa: N818 - a state of the broker
    """The message says what is missing."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m barnabas.cli.health", description="Whether a broker serves there.")
    parser.add_argument("address", metavar="HOST:PORT", help="127.0.0.1:9092", nargs="?", default="127.0.0.1:9092")
    parser.add_argument("--timeout", metavar="SECONDS", type=float, default=5.0)
    given = parser.parse_args(arguments)
    host, colon, port = given.address.rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65535:
        parser.error(f"{given.address} is no HOST:PORT")
    try:
        brokers = check(host.strip("[]") or "127.0.0.1", int(port), given.timeout)
    except OSError as error:
        why = f"{error.strerror or error}; start a broker there, or name another address"
    except (Unhealthy, MalformedFrame) as error:
        why = str(error)
    else:
        print(f"{given.address} serves a cluster of {brokers}")  # noqa: T201 - what a command is for
        return 0
    print(f"{given.address} does not serve: {why}.", file=sys.stderr)  # noqa: T201
    return 1


def check(host: str, port: int, timeout_s: float) -> int:
    """How many brokers the cluster has; Unhealthy, MalformedFrame or OSError if this one does not serve."""
    with socket.create_connection((host, port), timeout=timeout_s) as connection:
        versions = _ask(connection, _API_VERSIONS, 0, ApiVersionsRequest(), ApiVersionsResponse)
        offered = {one.api_key: one for one in versions.api_keys}
        if versions.error_code or _METADATA not in offered:
            raise Unhealthy(f"it answers ApiVersions with error {versions.error_code} and offers no Metadata")
        version = min(offered[_METADATA].max_version, APIS[_METADATA].last_stable)
        metadata = _ask(connection, _METADATA, version, MetadataRequest(topics=[]), MetadataResponse)
        if not metadata.brokers:
            raise Unhealthy("it knows of no broker, not even of itself")
        return len(metadata.brokers)


def _ask(connection: socket.socket, key: int, version: int, request: Message, answer: type[Answer]) -> Answer:
    api = APIS[key]
    connection.sendall(b"".join(encode_request(api, version, key, "barnabas-health", request)))  # type: ignore[arg-type]
    reader = FrameReader(_LARGEST_ANSWER_BYTES)
    while (frame := reader.next_frame()) is None:
        data = connection.recv(_READ_BYTES)
        if not data:
            raise Unhealthy(f"it closed the connection instead of answering {api.name}")
        reader.receive(data)
    correlation_id, message = decode_response(api, version, frame)
    if correlation_id != key or not isinstance(message, answer):
        raise Unhealthy(f"it answers something else than {api.name}")
    return message


if __name__ == "__main__":
    raise SystemExit(main())
