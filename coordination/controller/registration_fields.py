"""What brokers and controllers both say when they register, where they listen and what they can, as records keep it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

__all__ = ["SECURITY_PROTOCOLS", "recorded_endpoints", "recorded_features"]

SECURITY_PROTOCOLS = {0: "PLAINTEXT", 1: "SSL", 2: "SASL_PLAINTEXT", 3: "SASL_SSL"}

Recorded = TypeVar("Recorded")


class Listener(Protocol):
    name: str
    host: str
    port: int
    security_protocol: int


class Feature(Protocol):
    name: str
    min_supported_version: int
    max_supported_version: int


def recorded_endpoints(make: Callable[..., Recorded], listeners: Iterable[Listener]) -> list[Recorded]:
    """`make` is the class of the record's endpoints."""
    return [
        make(
            name=listener.name,
            host=listener.host,
            port=listener.port,
            security_protocol=listener.security_protocol,
        )
        for listener in listeners
    ]


def recorded_features(make: Callable[..., Recorded], features: Iterable[Feature]) -> list[Recorded]:
    """`make` is the class of the record's features."""
    return [
        make(
            name=feature.name,
            min_supported_version=feature.min_supported_version,
            max_supported_version=feature.max_supported_version,
        )
        for feature in features
    ]
