"""DescribeQuorum, UpdateFeatures, UnregisterBroker and DescribeUserScramCredentials: what is the cluster's own."""

from __future__ import annotations

from typing import Any

from compat.twin.scenario import scenario
from compat.twin.scenarios.create_topics import AMPLE_MS
from compat.twin.twins import Twins

METADATA = "__cluster_metadata"
UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3


def quorum(twins: Twins, *logs: tuple[str, list[int]]) -> None:
    topics = [
        {"TopicName": name, "Partitions": [{"PartitionIndex": number} for number in numbers]} for name, numbers in logs
    ]
    twins.ask("DescribeQuorum", Topics=topics)


def update(twins: Twins, *features: dict[str, Any], **fields: Any) -> None:
    for only in (True, False):
        asked = {"FeatureUpdates": features, "ValidateOnly": only, "TimeoutMs": AMPLE_MS, **fields}
        twins.ask("UpdateFeatures", **asked)


def feature(name: str, level: int, **fields: Any) -> dict[str, Any]:
    return {"Feature": name, "MaxVersionLevel": level, **fields}


@scenario("DescribeQuorum")
def tells_who_votes(twins: Twins) -> None:
    quorum(twins, (METADATA, [0]))


@scenario("DescribeQuorum")
def tells_of_no_other_log(twins: Twins) -> None:
    topic = twins.create("quorum")
    quorum(twins)
    quorum(twins, (METADATA, []))
    quorum(twins, (METADATA, [0, 1]))
    quorum(twins, (METADATA, [1]))
    quorum(twins, (METADATA, [0, 0]))
    quorum(twins, (topic, [0]))
    quorum(twins, (topic, [0]), (METADATA, [0]))
    quorum(twins, ("", [0]))


@scenario("UpdateFeatures")
def leaves_features_as_they_are(twins: Twins) -> None:
    for name, level in (("group.version", 1), ("transaction.version", 2)):
        update(twins, feature(name, level))
    update(twins)


@scenario("UpdateFeatures")
def refuses_levels(twins: Twins) -> None:
    for name, level in (
        ("metadata.version", 7),
        ("metadata.version", 99),
        ("metadata.version", 0),
        ("kraft.version", 1),
        ("metadata.version", -1),
        ("kraft.version", 99),
        ("group.version", 99),
        ("nonsense", 1),
        ("nonsense", 0),
        ("", 1),
    ):
        update(twins, feature(name, level))
    for name, level in (("metadata.version", 1), ("metadata.version", 99), ("nonsense", 0), ("group.version", 99)):
        update(twins, feature(name, level, AllowDowngrade=True))


@scenario("UpdateFeatures", first=1)
def refuses_kinds_of_updates(twins: Twins) -> None:
    for kind, level in ((SAFE_DOWNGRADE, 5), (UNSAFE_DOWNGRADE, 5), (UPGRADE, 0), (0, 1), (9, 1), (-1, 1)):
        twins.ask(
            "UpdateFeatures",
            FeatureUpdates=[feature("share.version", level, UpgradeType=kind)],
            ValidateOnly=True,
            TimeoutMs=AMPLE_MS,
        )


@scenario("UpdateFeatures")
def refuses_all_for_one(twins: Twins) -> None:
    update(twins, feature("group.version", 1), feature("nonsense", 1))
    update(twins, feature("group.version", 1), feature("group.version", 1))
    update(twins, feature("nonsense", 1), feature("more nonsense", 1))


@scenario("UnregisterBroker")
def unregisters_nobody_who_is_not_there(twins: Twins) -> None:
    for broker in (99, -1, 2**31 - 1):
        twins.ask("UnregisterBroker", BrokerId=broker)


@scenario("DescribeUserScramCredentials")
def tells_of_users_without_credentials(twins: Twins) -> None:
    for users in (None, [], ["nobody"], ["nobody", "nobody"], ["", "nobody"]):
        twins.ask("DescribeUserScramCredentials", Users=None if users is None else [{"Name": each} for each in users])
