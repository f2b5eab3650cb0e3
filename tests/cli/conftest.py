"""The fixtures of beside.py for all tests of commands."""

from __future__ import annotations

from tests.cli.beside import both, kafka, name, our_broker, ours, side

__all__ = ["both", "kafka", "name", "our_broker", "ours", "side"]
