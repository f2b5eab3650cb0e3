"""The clients for which one test is run after the other."""

from __future__ import annotations

import pytest

from compat.rounds.adapter import CLIENTS, JAVA

__all__ = ["EACH_CLIENT", "client_parameters"]


def client_parameters(*names: str) -> list[object]:
    """The Java one needs a JDK and Kafka's jars."""
    return [pytest.param(name, marks=pytest.mark.java) if name == JAVA else name for name in names]


EACH_CLIENT = client_parameters(*CLIENTS, JAVA)
