"""An answer without what two brokers may differ in: what each gives out at random, or takes from its clock and machine.

Random values are not dropped but renamed, in the order in which a broker mentions them: two brokers that give the first
topic some id, and later speak of that id again, have to do so in the same places.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any
from uuid import UUID

from compat.twin.batches import batches_in

__all__ = ["Teller", "differences"]

OWN_CONFIGS = {
    # Where the two live, and what Kafka has to be given to start at all.
    "advertised.listeners",
    "broker.id",
    "broker.session.timeout.ms",
    "controller.listener.names",
    "controller.quorum.bootstrap.servers",
    "controller.quorum.voters",
    "inter.broker.listener.name",
    "listener.security.protocol.map",
    "listeners",
    "log.dir",
    "log.dirs",
    "node.id",
    "process.roles",
}

NOW = "now"
BEGINNING_MS = time.time_ns() // 1_000_000 - 600_000
"""A time that is later was set by a broker's clock."""

NOBODYS = UUID(int=0)
IS_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

WORDS = {"ErrorMessage", "BatchIndexErrorMessage", "Documentation"}
"""Words for people: whether there are any is compared, and not which, except in"""
TO_THE_WORD = {"CreateAcls", "DeleteAcls", "DescribeAcls"}
RANDOM_TEXT = {"MemberId", "Members", "Leader"}
"""What is random in them is renamed."""
RANDOM_NUMBERS = {"ProducerId": 0, "SessionId": 1}
"""The first that means anything."""
OF_THE_MACHINE = {
    "BrokerEpoch",
    "ClientHost",
    "ClusterId",
    "FinalizedFeaturesEpoch",  # how many records its metadata has
    "Host",
    "LastCaughtUpTimestamp",
    "LastFetchTimestamp",
    "Port",
    "ReplicaDirectoryId",
    "SubscriptionId",
    "ThrottleTimeMs",
    "TotalBytes",
    "UsableBytes",
}
OF_THE_METADATA = {"HighWatermark", "LogEndOffset"}
"""In how many records the two have said the same."""
TIMES = {
    "ExpiryTimestampMs",
    "IssueTimestampMs",
    "LastTimestamp",
    "LogAppendTimeMs",
    "MaxTimestampMs",
    "Timestamp",
    "TransactionStartTimeMs",
}
ORDERED = {"Fetch"}
"""Its answers follow the order of their requests. In others it is often that of a hash table: nobody may trust it."""


class Teller:
    """Of one side: it remembers what has been mentioned."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, Any], str] = {}

    def told(self, api: str, answer: Mapping[str, Any]) -> dict[str, Any]:
        return {name: self._value(api, name, value) for name, value in answer.items()}

    def _value(self, api: str, name: str, value: Any) -> Any:
        if isinstance(value, Mapping):
            if api == "DescribeConfigs" and value.get("Name") in OWN_CONFIGS:
                return {"Name": value["Name"]}
            return self.told(api, value)
        if isinstance(value, list):
            if api == "DescribeConfigs":
                value = [each for each in value if not _is_only_ours(each)]
            if api not in ORDERED and value and isinstance(value[0], Mapping):
                # What has no name yet counts nothing here: names are given in the order that comes of this.
                glance = _Glance(self)
                value = sorted(value, key=lambda each: repr(glance.told(api, each)))
            return [self._value(api, name, each) for each in value]
        if value is None:
            return None
        if name in WORDS and api not in TO_THE_WORD:
            return "words" if value else value
        if name in OF_THE_MACHINE or (api == "DescribeQuorum" and name in OF_THE_METADATA):
            return "of the machine"
        if name == "LogDir":
            return PurePath(value).name
        if name in TIMES:
            return NOW if value > BEGINNING_MS else value
        if name == "Records":
            return [self.told(api, each) for each in batches_in(value)]
        if isinstance(value, UUID):
            return "none" if value == NOBODYS else self._renamed("id", value)
        if name in RANDOM_TEXT and isinstance(value, str):
            return IS_UUID.sub(lambda found: self._renamed("id", found[0]), value)
        if name in RANDOM_NUMBERS and value >= RANDOM_NUMBERS[name]:
            return self._renamed(name, value)
        return value

    def _renamed(self, kind: str, value: Any) -> str:
        return self._names.setdefault((kind, value), f"<{kind} {sum(one == kind for one, _ in self._names)}>")


def _is_only_ours(value: Any) -> bool:
    """A configuration that Kafka has not."""
    return isinstance(value, Mapping) and str(value.get("Name", "")).startswith("barnabas.")


class _Glance(Teller):
    """Gives no names."""

    def __init__(self, teller: Teller) -> None:
        self._names = teller._names

    def _renamed(self, kind: str, value: Any) -> str:
        return self._names.get((kind, value), f"<{kind}>")


def differences(reference: Any, other: Any, place: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Place, what the reference says, what the other says. Places name fields and not numbers: `Topics[].ErrorCode`."""
    if isinstance(reference, dict) and isinstance(other, dict) and reference.keys() == other.keys():
        for name in reference:
            yield from differences(reference[name], other[name], f"{place}.{name}" if place else name)
    elif isinstance(reference, list) and isinstance(other, list) and len(reference) == len(other):
        for theirs, own in zip(reference, other, strict=True):
            yield from differences(theirs, own, f"{place}[]")
    elif isinstance(reference, list) and isinstance(other, list):
        yield (
            place,
            [each for each in reference if each not in other],
            [each for each in other if each not in reference],
        )
    elif reference != other:
        yield place, reference, other
