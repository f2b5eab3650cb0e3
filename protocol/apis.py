"""Every API of Kafka 4.3.1: its key, its versions, and the way to its message classes.

The table itself is messages/__init__.py. Nothing here imports a message before somebody asks for it: a broker
serves its first request sooner, and a client that never creates a topic never loads CreateTopics.
"""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from typing import NamedTuple

from barnabas.protocol.messages import APIS as TABLE
from barnabas.protocol.schema import Message

__all__ = ["APIS", "API_VERSIONS", "Api"]

API_VERSIONS = 18
PRODUCE = 0


class _Row(NamedTuple):
    key: int
    name: str
    module: str
    first: int
    last_stable: int
    last: int
    first_flexible: int
    listeners: tuple[str, ...]


class Api(_Row):  # a subclass, because a NamedTuple itself cannot cache properties
    """One row of the table. Messages exist up to `last`; Kafka speaks, and advertises, up to `last_stable`."""

    @property
    def first_advertised(self) -> int:
        """Kafka speaks Produce from version 3 and says 0, because librdkafka before 2.x takes a broker without
        Produce 0 for one that cannot decompress, and silently stops compressing."""
        return 0 if self.key == PRODUCE else self.first

    def supports(self, version: int) -> bool:
        return self.first <= version <= self.last_stable

    def request_header_version(self, version: int) -> int:
        return 2 if version >= self.first_flexible else 1

    def response_header_version(self, version: int) -> int:
        """ApiVersions answers with the oldest header always: the asker does not know yet what we speak."""
        return 1 if version >= self.first_flexible and self.key != API_VERSIONS else 0

    @cached_property
    def request(self) -> type[Message]:
        return self._class("Request")

    @cached_property
    def response(self) -> type[Message]:
        return self._class("Response")

    def _class(self, kind: str) -> type[Message]:
        module = import_module(f"barnabas.protocol.messages.{self.module}")
        found: type[Message] = getattr(module, self.name + kind)
        return found


APIS = {row[0]: Api(*row) for row in TABLE}
