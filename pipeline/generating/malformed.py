"""Values as no program should send them, and some do."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random

from barnabas.pipeline.generating.happenings import PAGE_VIEWS, SEARCHES, SERVICE_LOGS, SIGN_INS

__all__ = ["WAYS", "spoil"]

_NUMBER = {PAGE_VIEWS: "took_ms", SEARCHES: "results", SIGN_INS: "succeeded", SERVICE_LOGS: "status"}


def _cut_off(_topic: str, value: bytes) -> bytes:
    return value[: len(value) // 2]


def _of_another_type(topic: str, value: bytes) -> bytes:
    return json.dumps({**json.loads(value), _NUMBER[topic]: "soon"}).encode()


def _without_a_field(_topic: str, value: bytes) -> bytes:
    return json.dumps({name: one for name, one in json.loads(value).items() if name != "at"}).encode()


def _no_object(_topic: str, value: bytes) -> bytes:
    return b"[%s]" % value


def _empty(_topic: str, _value: bytes) -> bytes:
    return b""


WAYS: tuple[Callable[[str, bytes], bytes], ...] = (_cut_off, _of_another_type, _without_a_field, _no_object, _empty)


def spoil(topic: str, value: bytes, random: Random) -> bytes:
    return WAYS[int(random.random() * len(WAYS))](topic, value)
