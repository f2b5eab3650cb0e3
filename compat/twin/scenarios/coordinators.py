"""FindCoordinator for transactions and for what share groups keep, and the topics in which their coordinators do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from compat.twin.scenario import scenario
from compat.twin.twins import Twins

GROUP, TRANSACTION, SHARE = range(3)
SEVERAL_KEYS_FROM, SHARES_FROM = 4, 6
TOPICS = ("__transaction_state", "__share_group_state")
TEXTS = ("a", "", " ", "a:b:c", "grüße 🎈", "a\x00b", "x" * 300, "x" * 32_767)
SHARES = (
    "group:AAAAAAAAAAAAAAAAAAAAdw:0",
    "grüße 🎈:AAAAAAAAAAAAAAAAAAAAdw:2147483647",
    "a:AAAAAAAAAAAAAAAAAAAAAA:-7",
    "group:AAAAAAAAAAAAAAAAAAAAdw:0::",
)
"""Group, id of a topic, partition; whether there are any is not asked. Colons at the end do no harm."""
NO_SHARES = (
    "",
    " ",
    ":",
    "::",
    "group",
    "group:AAAAAAAAAAAAAAAAAAAAdw",
    "group:AAAAAAAAAAAAAAAAAAAAdw:",
    "group:AAAAAAAAAAAAAAAAAAAAdw:x",
    "group:AAAAAAAAAAAAAAAAAAAAdw:1.5",
    "group:AAAAAAAAAAAAAAAAAAAAdw: 0",
    "group:AAAAAAAAAAAAAAAAAAAAdw:2147483648",
    "group:AAAAAAAAAAAAAAAAAAAAdw:0:0",
    ":AAAAAAAAAAAAAAAAAAAAdw:0",
    "group::0",
    "group:not an id:0",
    "group:AAAA:0",
    "group:AAAAAAAAAAAAAAAAAAAAdwAA:0",
    "group:77777777-7777-7777-7777-777777777777:0",
)


def asked(kind: int, *keys: str | None) -> dict[str, Any]:
    """The first alone in versions that have room for one."""
    return {"KeyType": kind, "Key": keys[0] if keys else "", "CoordinatorKeys": list(keys)}


def is_there(answer: Mapping[str, Any]) -> bool:
    return not any(topic["ErrorCode"] for topic in answer["Topics"])


def with_topics(twins: Twins) -> None:
    """On both, and not only on the one that has them made for whoever looks for a coordinator: all topics are listed
    elsewhere."""
    twins.see("Metadata", at=12, until=is_there, Topics=[{"Name": topic} for topic in TOPICS])


def one_by_one(twins: Twins, kind: int, keys: Iterable[str]) -> None:
    twins.once(with_topics)
    for key in keys:
        twins.ask("FindCoordinator", **asked(kind, key))


@scenario("Metadata")
def whose_topics_come_as_others(twins: Twins) -> None:
    """By being asked for, but with what a coordinator wants of them."""
    twins.once(with_topics)
    twins.ask("Metadata", Topics=[{"Name": topic} for topic in TOPICS])
    for topic in TOPICS:
        twins.ask("DescribeConfigs", Resources=[{"ResourceType": 2, "ResourceName": topic, "ConfigurationKeys": None}])


@scenario("FindCoordinator", first=1)
def of_transactions(twins: Twins) -> None:
    """Any text is an id of some."""
    one_by_one(twins, TRANSACTION, TEXTS)


@scenario("FindCoordinator", first=SEVERAL_KEYS_FROM)
def of_several_transactions(twins: Twins) -> None:
    twins.once(with_topics)
    twins.ask("FindCoordinator", **asked(TRANSACTION, "one", "other", "one", ""))
    twins.ask("FindCoordinator", **asked(TRANSACTION))


@scenario("FindCoordinator", first=1)
def of_shares(twins: Twins) -> None:
    """Versions before 6 know of none."""
    one_by_one(twins, SHARE, SHARES)


@scenario("FindCoordinator", first=1)
def of_shares_that_cannot_be(twins: Twins) -> None:
    one_by_one(twins, SHARE, NO_SHARES)


@scenario("FindCoordinator", first=SEVERAL_KEYS_FROM)
def of_several_shares(twins: Twins) -> None:
    """One that cannot be spoils no other."""
    twins.once(with_topics)
    twins.ask("FindCoordinator", **asked(SHARE, *NO_SHARES))
    twins.ask("FindCoordinator", **asked(SHARE, NO_SHARES[1], SHARES[0], NO_SHARES[2], SHARES[0]))
    twins.ask("FindCoordinator", **asked(SHARE))


@scenario("FindCoordinator", first=1)
def of_no_kind(twins: Twins) -> None:
    """It counts more than what is wrong with the keys, of which there may be none."""
    for kind in (3, 4, -1, -128, 127):
        for keys in (TEXTS, SHARES, NO_SHARES, ()):
            if twins.version >= SEVERAL_KEYS_FROM:
                twins.ask("FindCoordinator", **asked(kind, *keys))
            else:
                for key in keys:
                    twins.ask("FindCoordinator", **asked(kind, key))


@scenario("FindCoordinator")
def of_null(twins: Twins) -> None:
    """Which no version allows: the connection ends."""
    for kind in (GROUP, TRANSACTION, SHARE, 9):
        twins.another().ask("FindCoordinator", **asked(kind, None))
        if twins.version >= SEVERAL_KEYS_FROM:
            twins.another().ask("FindCoordinator", **asked(kind, "a", None))
            twins.another().ask("FindCoordinator", KeyType=kind, CoordinatorKeys=None)
