"""AlterPartition: one request at a time for all that came up, and again where it was not answered for good."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
import trio
import trio.testing

from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    ResponsePartitionData,
    ResponseTopicData,
)
from barnabas.protocol.schema import Uuid
from barnabas.replication.in_sync_changes import RETRY_MS, InSyncChanges, put_out_who_lags
from barnabas.replication.partition import Partition
from barnabas.storage.log_directory import TopicPartition

from .partitions_in_memory import LAG_MS, ME, Cluster, append, fetch, leadership, leading_of, new_partition

pytestmark = pytest.mark.trio

ANOTHER_TOPIC = Uuid.parse("AAAAAAAAAAAAAAAAAAAAAg")
BROKER_EPOCH = 10


def accepted(request: AlterPartitionRequest) -> AlterPartitionResponse:
    return answered(request, 0)


def answered(request: AlterPartitionRequest, code: int) -> AlterPartitionResponse:
    """The same for every partition."""
    topics = []
    for topic in request.topics:
        partitions = [
            ResponsePartitionData(
                partition_index=one.partition_index,
                error_code=code,
                leader_id=ME,
                leader_epoch=one.leader_epoch,
                isr=[broker.broker_id for broker in one.new_isr_with_epochs],
                partition_epoch=one.partition_epoch + 1,
            )
            for one in topic.partitions
        ]
        topics.append(ResponseTopicData(topic_id=topic.topic_id, partitions=partitions))
    return AlterPartitionResponse(topics=topics)


class Controller:
    """It keeps a request until it is told what to answer."""

    def __init__(self) -> None:
        self.asked: list[AlterPartitionRequest] = []
        self._answers_in, self._answers = trio.open_memory_channel[AlterPartitionResponse | KafkaError](10)
        self.lines: list[str] = []
        self.changes = InSyncChanges(ME, broker_epoch=lambda: BROKER_EPOCH, ask=self._ask, report=self.lines.append)

    async def _ask(
        self, request: AlterPartitionRequest, _answer: type[AlterPartitionResponse]
    ) -> AlterPartitionResponse:
        self.asked.append(request)
        answer = await self._answers.receive()
        if isinstance(answer, KafkaError):
            raise answer
        return answer

    async def answer(self, what: AlterPartitionResponse | KafkaError) -> None:
        """And see what that leads to."""
        self._answers_in.send_nowait(what)
        await trio.testing.wait_all_tasks_blocked()

    async def say(self, code: int) -> None:
        await self.answer(answered(self.asked[-1], code))


@asynccontextmanager
async def running() -> AsyncIterator[tuple[Controller, Callable[..., Partition]]]:
    controller = Controller()
    cluster = Cluster(2, 3)
    cluster.surroundings = cluster.surroundings._replace(propose=controller.changes.propose)

    def led(number: int, topic_id: Uuid | None = None) -> Partition:
        partition = new_partition(cluster=cluster)
        partition.name = TopicPartition("orders" if topic_id is None else "others", number)
        partition.topic_id = topic_id or partition.topic_id
        partition.lead(leadership(2, 3, in_sync=(ME,)))
        return partition

    async with trio.open_nursery() as nursery:
        nursery.start_soon(controller.changes.run)
        yield controller, led
        nursery.cancel_scope.cancel()


async def test_what_comes_up_while_one_request_is_under_way_goes_with_the_next() -> None:
    async with running() as (controller, led):
        first, second, third = led(0), led(1), led(0, ANOTHER_TOPIC)
        fetch(first, 2, 0)
        await trio.testing.wait_all_tasks_blocked()
        fetch(second, 2, 0)
        fetch(third, 3, 0)
        await trio.testing.wait_all_tasks_blocked()
        (request,) = controller.asked
        assert (request.broker_id, request.broker_epoch) == (ME, BROKER_EPOCH)
        assert [(one.topic_id, [each.partition_index for each in one.partitions]) for one in request.topics] == [
            (first.topic_id, [0])
        ]
        await controller.answer(accepted(request))
        assert leading_of(first).state.in_sync == (ME, 2)
        assert controller.lines == ["orders-0: in sync are now 1, 2"]
        request = controller.asked[1]
        assert [(one.topic_id, [each.partition_index for each in one.partitions]) for one in request.topics] == [
            (second.topic_id, [1]),
            (third.topic_id, [0]),
        ]
        await controller.answer(accepted(request))
        assert leading_of(third).state.in_sync == (ME, 3)
        assert len(controller.asked) == 2
        assert (controller.changes.expansions, controller.changes.failures) == (3, 0)


async def test_what_the_metadata_has_overtaken_keeps_the_next_from_being_asked_for_until_it_is_answered() -> None:
    async with running() as (controller, led):
        partition = led(0)
        fetch(partition, 2, 0)
        await trio.testing.wait_all_tasks_blocked()
        partition.lead(leadership(2, 3, in_sync=(ME,), partition_epoch=1))
        fetch(partition, 3, 0)
        assert leading_of(partition).state.pending is None, "taken back at once"
        await controller.answer(accepted(controller.asked[0]))
        assert leading_of(partition).state.in_sync == (ME,), "the answer is to what is not asked for any more"
        assert (controller.changes.expansions, controller.changes.failures) == (1, 1)
        fetch(partition, 3, 0)
        await trio.testing.wait_all_tasks_blocked()
        await controller.answer(accepted(controller.asked[1]))
        assert leading_of(partition).state.in_sync == (ME, 3)


async def test_a_controller_that_cannot_be_asked_is_asked_again_and_complained_of_once(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with running() as (controller, led):
        partition = led(0)
        fetch(partition, 2, 0)
        await trio.testing.wait_all_tasks_blocked()
        for number in range(3):
            await controller.answer(KafkaError(ErrorCode.REQUEST_TIMED_OUT, "nobody answers"))
            await trio.sleep(RETRY_MS / 1000)
            await trio.testing.wait_all_tasks_blocked()
            assert len(controller.asked) == number + 2
        await controller.answer(AlterPartitionResponse(error_code=ErrorCode.STALE_BROKER_EPOCH))
        await trio.sleep(RETRY_MS / 1000)
        await trio.testing.wait_all_tasks_blocked()
        assert [line.split(": ")[-1] for line in controller.lines] == ["nobody answers", "STALE_BROKER_EPOCH"]
        assert leading_of(partition).state.pending is not None
        await controller.say(0)
        assert leading_of(partition).state.in_sync == (ME, 2)


async def test_trouble_that_may_pass_is_asked_for_again_after_a_pause(autojump_clock: trio.testing.MockClock) -> None:
    async with running() as (controller, led):
        partition = led(0)
        fetch(partition, 2, 0)
        await trio.testing.wait_all_tasks_blocked()
        await controller.say(ErrorCode.UNKNOWN_SERVER_ERROR)
        assert len(controller.asked) == 1
        await trio.sleep(RETRY_MS / 1000)
        await trio.testing.wait_all_tasks_blocked()
        assert len(controller.asked) == 2
        await controller.say(0)
        assert leading_of(partition).state.in_sync == (ME, 2)


async def test_a_partition_that_the_answer_leaves_out_is_asked_for_again(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with running() as (controller, led):
        partition = led(0)
        fetch(partition, 2, 0)
        await trio.testing.wait_all_tasks_blocked()
        await controller.answer(AlterPartitionResponse())
        await trio.sleep(RETRY_MS / 1000)
        await trio.testing.wait_all_tasks_blocked()
        await controller.answer(accepted(controller.asked[1]))
        assert leading_of(partition).state.in_sync == (ME, 2)


async def test_an_answer_for_a_partition_that_is_not_led_any_more_goes_nowhere() -> None:
    async with running() as (controller, led):
        partition = led(0)
        fetch(partition, 2, 0)
        await trio.testing.wait_all_tasks_blocked()
        partition.follow(2, 1)
        await controller.say(0)
        assert (controller.lines, partition.leading) == ([], None)


async def test_who_lags_is_looked_for_every_so_often(autojump_clock: trio.testing.MockClock) -> None:
    cluster = Cluster(2)
    partition = new_partition(cluster=cluster)
    partition.lead(leadership(2))
    append(partition, b"one")
    with trio.move_on_after(LAG_MS / 1000):
        cluster.now_ms += LAG_MS + 1
        await put_out_who_lags([partition, new_partition()], LAG_MS // 2, lambda ms: trio.sleep(ms / 1000))
    assert [change.in_sync for change in cluster.proposed] == [(ME,)]
