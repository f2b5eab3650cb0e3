"""What the broker tells the controller all the time: that it lives, how far it has read the metadata, which of its
directories have failed, and which shall get nothing more; and at the end, that it wants to stop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["Heartbeats"]

_WHO_IS_STALE = (
    ": another one has come with its node.id, or it was unregistered; see that it is the only one, and start it again"
)


class Heartbeats:
    def __init__(self, node: Node) -> None:
        self._node = node
        self._wake = trio.Event()
        self._is_ready = False
        self._leaves = False
        """It has said so, and says nothing else any more: who is heard of after he was let go is let in again."""
        self._refusal = ErrorCode.NONE
        """What the last one was answered with."""

    def ready(self) -> None:
        """It may be let in: until then it only says that it is there."""
        self._is_ready = True

    def soon(self) -> None:
        """There is something that the controller should not hear of only at the next interval."""
        self._wake.set()

    async def run(self) -> None:
        while True:
            with trio.move_on_after(self._node.config.broker_heartbeat_interval_ms / 1000):
                await self._wake.wait()
            self._wake = trio.Event()
            if self._leaves:
                return
            try:
                await self.beat()
            except KafkaError as error:
                # A full disk, or nobody there: the next one may get through.
                self._node.warn(f"the controller could not take note of what this broker told it: {error}")

    async def beat(self, *, want_shut_down: bool = False) -> bool:
        """Whether the controller lets us stop."""
        node = self._node
        self._leaves = self._leaves or want_shut_down
        request = BrokerHeartbeatRequest(
            broker_id=node.node_id,
            broker_epoch=node.broker_epoch,
            current_metadata_offset=node.image.next_offset - 1,
            want_fence=not self._is_ready,
            want_shut_down=want_shut_down,
            offline_log_dirs=node.directories.offline_ids,
            cordoned_log_dirs=node.directories.cordoned_ids,
        )
        answer = await node.controller_link.ask(request, BrokerHeartbeatResponse)
        self._note_refusal(ErrorCode(answer.error_code))
        # A broker that was unregistered is asked for no more.
        return answer.should_shut_down or answer.error_code == ErrorCode.STALE_BROKER_EPOCH

    def _note_refusal(self, code: ErrorCode) -> None:
        """It is asked again all the time, and said once."""
        if code not in (ErrorCode.NONE, self._refusal):
            why = _WHO_IS_STALE if code == ErrorCode.STALE_BROKER_EPOCH else ""
            self._node.warn(f"the controller refuses the heartbeats of this broker with {code.name}{why}")
        self._refusal = code
