"""Changes of who is in sync with a leader: what is proposed to the controller, and what its refusals mean."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from barnabas.coordination.cluster.partition import LeaderRecoveryState
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.alter_partition import BrokerState, PartitionData

__all__ = ["InSyncChange", "Refusal", "meaning_of"]


@dataclass(frozen=True, slots=True, eq=False)
class InSyncChange:
    """What a leader wants to have committed."""

    in_sync: tuple[int, ...]
    broker_epochs: tuple[int, ...]
    """Of each of them, in the same order."""
    leader_epoch: int
    partition_epoch: int
    recovery: LeaderRecoveryState
    joins: int | None = None
    """The replica that comes in; None if some go."""

    def to_message(self, number: int) -> PartitionData:
        return PartitionData(
            partition_index=number,
            leader_epoch=self.leader_epoch,
            new_isr_with_epochs=[
                BrokerState(broker_id=broker_id, broker_epoch=epoch)
                for broker_id, epoch in zip(self.in_sync, self.broker_epochs, strict=True)
            ],
            leader_recovery_state=self.recovery,
            partition_epoch=self.partition_epoch,
        )


class Refusal(Enum):
    NOT_DONE = 1
    """And it will not be: what was committed before still holds."""
    OUT_OF_DATE = 2
    """The controller knows more than this leader, whom the metadata will tell."""
    TRY_AGAIN = 3


_MEANINGS = {
    ErrorCode.OPERATION_NOT_ATTEMPTED: Refusal.NOT_DONE,
    ErrorCode.INELIGIBLE_REPLICA: Refusal.NOT_DONE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: Refusal.OUT_OF_DATE,
    ErrorCode.UNKNOWN_TOPIC_ID: Refusal.OUT_OF_DATE,
    ErrorCode.FENCED_LEADER_EPOCH: Refusal.OUT_OF_DATE,
    ErrorCode.INVALID_UPDATE_VERSION: Refusal.OUT_OF_DATE,
    ErrorCode.INVALID_REQUEST: Refusal.OUT_OF_DATE,
    ErrorCode.NEW_LEADER_ELECTED: Refusal.OUT_OF_DATE,
}


def meaning_of(code: int) -> Refusal:
    """Of the error that the controller gave for a partition."""
    return _MEANINGS.get(code, Refusal.TRY_AGAIN)  # type: ignore[call-overload, no-any-return] # codes are their numbers
