"""Groups of protocols that this coordinator does not speak: consumer, share and streams groups met in the log.

Their records are replayed for no more than this: that the group exists, of which type, and who is in it. Nothing
of theirs is written or tombstoned, so that the Kafka that wrote them finds them as they were.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from barnabas.protocol.records.consumer_group import ConsumerGroupMemberMetadataKey, ConsumerGroupMetadataKey
from barnabas.protocol.records.share_group import ShareGroupMemberMetadataKey, ShareGroupMetadataKey
from barnabas.protocol.records.streams_group import StreamsGroupMemberMetadataKey, StreamsGroupMetadataKey
from barnabas.protocol.schema import Data

__all__ = ["GroupType", "OtherGroup"]


class GroupType(Enum):
    """As ListGroups names them."""

    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"
    STREAMS = "streams"


_TYPES: dict[type[Data], GroupType] = {
    ConsumerGroupMetadataKey: GroupType.CONSUMER,
    ConsumerGroupMemberMetadataKey: GroupType.CONSUMER,
    ShareGroupMetadataKey: GroupType.SHARE,
    ShareGroupMemberMetadataKey: GroupType.SHARE,
    StreamsGroupMetadataKey: GroupType.STREAMS,
    StreamsGroupMemberMetadataKey: GroupType.STREAMS,
}
_GROUP_KEYS = (ConsumerGroupMetadataKey, ShareGroupMetadataKey, StreamsGroupMetadataKey)
_MEMBER_KEYS = (ConsumerGroupMemberMetadataKey, ShareGroupMemberMetadataKey, StreamsGroupMemberMetadataKey)


@dataclass(slots=True)
class OtherGroup:
    group_id: str
    type: GroupType
    member_ids: set[str] = field(default_factory=set)

    @property
    def state(self) -> str:
        """As ListGroups says it. Whether a group with members rebalances cannot be told from what is kept here."""
        return "Stable" if self.member_ids else "Empty"

    @staticmethod
    def type_of(key: Data) -> GroupType | None:
        """The type of the group that a record of this key tells of; None for the records that are passed over."""
        return _TYPES.get(type(key))

    def replay(self, key: Data, value: Data | None) -> bool:
        """Takes note of a record; False where it says that the group is gone."""
        if isinstance(key, _GROUP_KEYS):
            return value is not None
        assert isinstance(key, _MEMBER_KEYS)
        if value is None:
            self.member_ids.discard(key.member_id)
        else:
            self.member_ids.add(key.member_id)
        return True
