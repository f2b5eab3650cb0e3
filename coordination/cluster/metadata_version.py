"""The feature metadata.version: which records a cluster may write, in versions that all of it can read."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["LATEST_METADATA_VERSION", "METADATA_VERSION", "MetadataVersion", "metadata_changed"]

METADATA_VERSION = "metadata.version"
"""The feature's name."""


class MetadataVersion(IntEnum):
    """The levels of Kafka 4.3.1, with the release that each came with."""

    V3_3_IV3 = 7
    V3_4_IV0 = 8
    V3_5_IV0 = 9
    V3_5_IV1 = 10
    V3_5_IV2 = 11
    V3_6_IV0 = 12
    V3_6_IV1 = 13
    V3_6_IV2 = 14
    V3_7_IV0 = 15
    V3_7_IV1 = 16
    V3_7_IV2 = 17
    V3_7_IV3 = 18
    V3_7_IV4 = 19
    V3_8_IV0 = 20
    V3_9_IV0 = 21
    V4_0_IV0 = 22
    V4_0_IV1 = 23
    V4_0_IV2 = 24
    V4_0_IV3 = 25
    V4_1_IV0 = 26
    V4_1_IV1 = 27
    V4_2_IV0 = 28
    V4_2_IV1 = 29
    V4_3_IV0 = 30
    V4_4_IV0 = 31
    """Not stable in Kafka 4.3.1: it can be read, and is not offered."""

    @property
    def text(self) -> str:
        """As Kafka writes it: 4.3-IV0."""
        major, minor, internal = self.name[1:].split("_")
        return f"{major}.{minor}-{internal}"

    @property
    def stable(self) -> bool:
        return self <= LATEST_METADATA_VERSION

    @property
    def scram(self) -> bool:
        return self >= MetadataVersion.V3_5_IV2

    @property
    def epoch_rises_when_isr_shrinks(self) -> bool:
        """Brokers before 3.6 needed it (KAFKA-15021)."""
        return self < MetadataVersion.V3_6_IV0

    @property
    def transactions(self) -> bool:
        return self >= MetadataVersion.V3_6_IV1

    @property
    def delegation_tokens(self) -> bool:
        return self >= MetadataVersion.V3_6_IV2

    @property
    def controller_registration(self) -> bool:
        return self >= MetadataVersion.V3_7_IV0

    @property
    def directories(self) -> bool:
        """Partitions say in which log directory each replica is."""
        return self >= MetadataVersion.V3_7_IV2

    @property
    def eligible_leader_replicas(self) -> bool:
        return self >= MetadataVersion.V4_0_IV1

    @property
    def cordoned_directories(self) -> bool:
        return self >= MetadataVersion.V4_3_IV0

    @property
    def register_broker_record(self) -> int:
        if self.cordoned_directories:
            return 4
        if self.directories:
            return 3
        return 2 if self >= MetadataVersion.V3_4_IV0 else 1

    @property
    def partition_record(self) -> int:
        """The version of PartitionRecord and of PartitionChangeRecord."""
        if self.eligible_leader_replicas:
            return 2
        return 1 if self.directories else 0


LATEST_METADATA_VERSION = MetadataVersion.V4_3_IV0

_CHANGED_RECORDS = frozenset(
    {
        MetadataVersion.V3_3_IV3,
        MetadataVersion.V3_4_IV0,
        MetadataVersion.V3_5_IV2,
        MetadataVersion.V3_6_IV1,
        MetadataVersion.V3_6_IV2,
        MetadataVersion.V3_7_IV0,
        MetadataVersion.V3_7_IV2,
        MetadataVersion.V4_0_IV1,
        MetadataVersion.V4_3_IV0,
    }
)


def metadata_changed(low: MetadataVersion, high: MetadataVersion) -> bool:
    """Whether records that `high` writes may be more than `low` can read."""
    return any(low < version <= high for version in _CHANGED_RECORDS)
