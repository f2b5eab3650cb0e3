"""Where reading begins or ends, as the options say it: for all partitions, for each, as offsets or by time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from barnabas.client.cluster import Partition
from barnabas.client.offsets import EARLIEST, LATEST
from barnabas.pipeline.source.errors import SourceError

__all__ = ["Bound", "parse_offsets", "parse_partitions", "parse_timestamp", "parse_timestamps"]

_LARGEST = 2**63 - 1
_NAMES = {"earliest": EARLIEST, "latest": LATEST}


@dataclass(frozen=True)
class Bound:
    """`where`: offsets, or with `by_time` timestamps in milliseconds, for each partition or one for all. An offset may
    be EARLIEST or LATEST."""

    option: str
    where: int | Mapping[Partition, int]
    by_time: bool = False

    def of(self, partitions: set[Partition]) -> dict[Partition, int]:
        """SourceError unless it names exactly these, or none."""
        if isinstance(self.where, int):
            return dict.fromkeys(partitions, self.where)
        if self.where.keys() != partitions:
            raise SourceError(
                f"{self.option} has to name every partition that is read and no other (-1 is the latest offset, -2 the "
                f"earliest): it names {_listed(self.where.keys())}, and there are {_listed(partitions)}."
            )
        return dict(self.where)


def parse_offsets(option: str, text: str) -> Bound:
    """earliest, latest, or {"topic": {"partition": offset}}."""
    if text.strip().lower() in _NAMES:
        return Bound(option, _NAMES[text.strip().lower()])
    found = _by_partition(option, text, 'earliest, latest, or JSON as {"topic": {"0": 23, "1": -2}}')
    for partition, offset in found.items():
        if offset < EARLIEST:
            raise SourceError(f"{option} has offset {offset} for {partition}: there is -1, the latest, -2, or above.")
    return Bound(option, found)


def parse_timestamps(option: str, text: str) -> Bound:
    """{"topic": {"partition": milliseconds}}."""
    found = _by_partition(option, text, 'JSON with milliseconds as {"topic": {"0": 1735689600000}}')
    for partition, timestamp in found.items():
        if timestamp < 0:
            raise SourceError(f"{option} has {timestamp} for {partition}: write milliseconds since 1970.")
    return Bound(option, found, by_time=True)


def parse_timestamp(option: str, text: str) -> Bound:
    if not text.strip().isdecimal() or int(text) > _LARGEST:
        raise SourceError(f"{option}={text} is no time: write milliseconds since 1970, such as 1735689600000.")
    return Bound(option, int(text), by_time=True)


def parse_partitions(option: str, text: str) -> frozenset[Partition]:
    """{"topic": [0, 1]}."""
    wrong = SourceError(f'{option} is {text}: write JSON as {{"topic": [0, 1]}}.')
    try:
        told = json.loads(text)
        found = frozenset(Partition(topic, number) for topic, numbers in told.items() for number in numbers)
    except (ValueError, TypeError, AttributeError):
        raise wrong from None
    if not found or not all(type(number) is int and number >= 0 for _, number in found):
        raise wrong
    return found


def _by_partition(option: str, text: str, form: str) -> dict[Partition, int]:
    wrong = SourceError(f"{option} is {text}: write {form}.")
    try:
        told = json.loads(text)
        found = {Partition(topic, int(key)): value for topic, own in told.items() for key, value in own.items()}
    except (ValueError, TypeError, AttributeError):
        raise wrong from None
    if not found or not all(type(value) is int and abs(value) <= _LARGEST for value in found.values()):
        raise wrong
    return found


def _listed(partitions: Iterable[Partition]) -> str:
    return ", ".join(map(str, sorted(partitions))) or "none"
