"""AlterPartition: what the leaders of a node propose. One request follows the other, with all that came up meanwhile.

A proposal waits for the controller for as long as it takes. What the metadata says in the meantime comes first: the
partition then does not look at the answer any more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping

import trio

from barnabas.coordination.replication.in_sync import InSyncChange
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    ResponsePartitionData,
    TopicData,
)
from barnabas.protocol.schema import Uuid
from barnabas.replication.partition import Partition

__all__ = ["InSyncChanges", "put_out_who_lags"]

RETRY_MS = 50
"""As Kafka."""

Key = tuple[Uuid, int]
Proposal = tuple[Partition, InSyncChange]
Ask = Callable[[AlterPartitionRequest, type[AlterPartitionResponse]], Awaitable[AlterPartitionResponse]]


class InSyncChanges:
    def __init__(
        self, node_id: int, *, broker_epoch: Callable[[], int], ask: Ask, report: Callable[[str], None]
    ) -> None:
        """`ask` asks the active controller, and raises KafkaError where it cannot."""
        self._node_id = node_id
        self._broker_epoch = broker_epoch
        self._ask = ask
        self._report = report
        self.expansions = 0
        self.shrinkages = 0
        self.failures = 0
        """Since the node started: how often the controller has let somebody in, put somebody out, or refused to."""
        self._unanswered: dict[Key, Proposal] = {}
        self._has_news = trio.Event()
        self._complaint = ""
        """What was reported last: it is asked again and again while a controller is away."""

    def propose(self, partition: Partition, change: InSyncChange) -> None:
        """One at a time of a partition: where the metadata has overtaken one that is not answered yet, the next is
        taken back at once, and proposed again with the next Fetch or look."""
        key = partition.topic_id, partition.name.partition
        if key in self._unanswered:
            self._refuse(partition, change, ErrorCode.OPERATION_NOT_ATTEMPTED)
            return
        self._unanswered[key] = partition, change
        self._has_news.set()

    async def run(self) -> None:
        while True:
            await self._has_news.wait()
            self._has_news = trio.Event()
            if not await self._ask_once():
                await trio.sleep(RETRY_MS / 1000)
            if self._unanswered:
                self._has_news.set()

    async def _ask_once(self) -> bool:
        """Whether everything was answered for good."""
        asked = dict(self._unanswered)
        try:
            answer = await self._ask(self._request(asked), AlterPartitionResponse)
        except KafkaError as error:
            self._complain(f"the controller cannot be asked for changes of who is in sync: {error}")
            return False
        if answer.error_code:
            code = ErrorCode(answer.error_code).name
            self._complain(f"the controller refuses changes of who is in sync, and is asked again: {code}")
            return False
        self._complaint = ""
        return self._take(asked, answer)

    def _complain(self, why: str) -> None:
        if why != self._complaint:
            self._report(why)
            self._complaint = why

    def _request(self, asked: Mapping[Key, Proposal]) -> AlterPartitionRequest:
        topics = defaultdict(list)
        for (topic_id, number), (_, change) in asked.items():
            topics[topic_id].append(change.to_message(number))
        return AlterPartitionRequest(
            broker_id=self._node_id,
            broker_epoch=self._broker_epoch(),
            topics=[TopicData(topic_id=topic_id, partitions=partitions) for topic_id, partitions in topics.items()],
        )

    def _take(self, asked: Mapping[Key, Proposal], answer: AlterPartitionResponse) -> bool:
        answers = {(topic.topic_id, one.partition_index): one for topic in answer.topics for one in topic.partitions}
        for key, (partition, change) in asked.items():
            if key in answers:
                # First, so that the answer may bring about the next proposal.
                del self._unanswered[key]
                self._tell(partition, change, answers[key])
        # What is left was passed over, or refused in a way that may pass.
        return not asked.keys() & self._unanswered.keys()

    def _tell(self, partition: Partition, change: InSyncChange, answer: ResponsePartitionData) -> None:
        if partition.leading is None:
            return
        if answer.error_code:
            self._refuse(partition, change, answer.error_code)
            return
        # The metadata may have told the partition already.
        partition.leading.accepted(change, answer)
        if change.joins is None:
            self.shrinkages += 1
        else:
            self.expansions += 1
        self._report(f"{partition.name}: in sync are now {', '.join(map(str, answer.isr))}")

    def _refuse(self, partition: Partition, change: InSyncChange, code: int) -> None:
        self.failures += 1
        if partition.leading is not None and partition.leading.refused(change, code):
            self.propose(partition, change)


async def put_out_who_lags(
    partitions: Iterable[Partition], every_ms: int, sleep: Callable[[int], Awaitable[None]]
) -> None:
    while True:
        await sleep(max(every_ms, 1))
        for partition in partitions:
            if partition.leading is not None:
                partition.leading.shrink_in_sync()
