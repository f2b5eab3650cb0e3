"""The fixtures of beside.py for all tests of commands."""

from __future__ import annotations

from tests.cli.beside import both, kafka, name, our_broker, ours, side
from tests.cli.strict_kafka import strict_kafka
from tests.cli.three import _three, three

__all__ = ["_three", "both", "kafka", "name", "our_broker", "ours", "side", "strict_kafka", "three"]
