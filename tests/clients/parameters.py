"""The clients for which one test is run after the other."""

from __future__ import annotations

import pytest

from compat.rounds.adapter import CLIENTS, JAVA

__all__ = ["EACH_CLIENT"]

EACH_CLIENT = [*CLIENTS, pytest.param(JAVA, marks=pytest.mark.java)]
"""The Java one needs a JDK and Kafka's jars."""
