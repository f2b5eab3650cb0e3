"""What the target is asked to take, and what it says it has: by the sequence numbers of our producer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import NamedTuple

from barnabas.cli.failures import CommandFailed
from barnabas.cli.mirror.lane import Lane
from barnabas.cli.mirror.leaders import Leaders
from barnabas.cli.mirror.patience import Patience
from barnabas.cli.refusals import words_for
from barnabas.cli.side_by_side import SideBySide
from barnabas.client.cluster import Cluster, Partition, check
from barnabas.client.errors import ClientError, code_of
from barnabas.client.fetching import FetchFrom, batches_of, fetch
from barnabas.client.offsets import EARLIEST, LATEST, by_topic, list_offsets
from barnabas.protocol.batches import MAX_SEQUENCE, set_producer
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    TopicRequest,
)
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from barnabas.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)

__all__ = ["Target", "produce"]

_ALL_IN_SYNC = -1
_LAST_VERSION_WITH_NAMES = 12
_READ_BYTES = 1 << 20
_MAX_WAIT_MS = 100
_OUT_OF_SEQUENCE = (
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    ErrorCode.DUPLICATE_SEQUENCE_NUMBER,
)


def produce(
    cluster: Cluster, batches: Mapping[Partition, bytes | bytearray], timeout_ms: int, node_id: int | None = None
) -> dict[Partition, PartitionProduceResponse]:
    """One batch for each partition, on all replicas in sync; to that broker, or to any if the cluster is one broker."""
    topics = [
        TopicProduceData(
            name=topic,
            partition_data=[PartitionProduceData(index=each.number, records=batches[each]) for each in own],
        )
        for topic, own in by_topic(batches).items()
    ]
    request = ProduceRequest(acks=_ALL_IN_SYNC, timeout_ms=timeout_ms, topic_data=topics)
    if node_id is None:
        answer = cluster.ask(request, ProduceResponse, at_most=_LAST_VERSION_WITH_NAMES)
    else:
        answer = cluster.ask_node(node_id, request, ProduceResponse, at_most=_LAST_VERSION_WITH_NAMES)
    return {Partition(topic.name, each.index): each for topic in answer.responses for each in topic.partition_responses}


class _Arrived(NamedTuple):
    """A batch of ours that is in the target's log."""

    sequence: int
    records: int
    base_offset: int


class Target:
    def __init__(self, cluster: Cluster, asking: SideBySide, patience: Patience) -> None:
        self.cluster = cluster
        self._leaders = Leaders(cluster)
        self._asking = asking
        self._patience = patience
        self._timeout_ms = int(cluster.timeout_s * 1000)
        self.records = 0
        """That it has taken."""
        self.size = 0

    def producer(self) -> tuple[int, int]:
        """Of nobody else, for ever."""
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=self._timeout_ms)
        answer = self.cluster.retry(lambda: _checked(self.cluster.ask(request, InitProducerIdResponse)))
        return answer.producer_id, answer.producer_epoch

    # Sending

    def send(self, lanes: Collection[Lane]) -> None:
        """What each has, in its order and one piece at a time; that of many partitions and brokers at once. What is
        not taken just now stays where it is."""
        while waiting := {lane.target: lane for lane in lanes if lane.pieces and self._patience.may_try(lane)}:
            try:
                nodes = self._leaders.by_broker(waiting)
            except ClientError as error:
                for lane in waiting.values():
                    self._patience.bear(lane, error)
                return
            for each in waiting.keys() - {each for own in nodes.values() for each in own}:
                self._patience.bear(waiting[each], KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, f"partition {each}"))
            self._send_first({node: [waiting[each] for each in own] for node, own in nodes.items()})

    def _send_first(self, nodes: Mapping[int, Sequence[Lane]]) -> None:
        asked: list[tuple[Sequence[Lane], Future[dict[Partition, PartitionProduceResponse]] | None]] = []
        for node, lanes in nodes.items():
            batches = {lane.target: _stamped(lane) for lane in lanes}
            asked.append((lanes, self._asking.ask(node, self._question(batches))))
        for lanes, answer in asked:
            try:
                if answer is None:
                    raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, "the leader is not in service")
                told = answer.result()
            except (ClientError, KafkaError) as error:
                for lane in lanes:
                    self._leaders.forget(lane.target)
                    self._patience.bear(lane, error)
                continue
            for lane in lanes:
                self._take(lane, told[lane.target])

    def _question(
        self, batches: Mapping[Partition, bytearray]
    ) -> Callable[[Cluster], dict[Partition, PartitionProduceResponse]]:
        return lambda one: produce(one, batches, self._timeout_ms)

    def _take(self, lane: Lane, told: PartitionProduceResponse) -> None:
        code = code_of(told.error_code)
        if code is ErrorCode.NONE:
            # An answer to what was there already may not know where.
            piece = lane.pieces.popleft()
            lane.arrived(piece.records, told.base_offset if told.base_offset >= 0 else None)
            self.records += piece.records
            self.size += len(piece.data)
            self._patience.well(lane)
            return
        error = KafkaError(code, told.error_message or f"partition {lane.target}")
        self._leaders.forget(lane.target)
        if code in _OUT_OF_SEQUENCE:
            self._look_again(lane, error)
        elif code.retriable:
            self._patience.bear(lane, error)
        else:
            why = words_for(code, told.error_message)
            raise CommandFailed(f"The target does not take the records of {lane.target} ({why}) [{code.name}].")

    def _look_again(self, lane: Lane, error: KafkaError) -> None:
        """Something of ours has come that was under way when we began, or before a leader changed."""
        try:
            if self.look_what_arrived(lane):
                lane.read_again()
                self._patience.well(lane)
                return
        except (ClientError, KafkaError) as trouble:
            self._patience.bear(lane, trouble)
            return
        # It may not be committed yet: then it is nowhere to be seen.
        self._patience.bear(lane, KafkaError(ErrorCode.REQUEST_TIMED_OUT, str(error)))

    # Looking

    def bounds(self, lane: Lane) -> tuple[int, int]:
        """Where the partition begins and ends, as far as it is committed."""
        found = []
        for when in (EARLIEST, LATEST):
            told = list_offsets(self.cluster, {lane.target: when})[lane.target]
            if isinstance(told, KafkaError):
                raise told
            found.append(told.offset)
        return found[0], found[1]

    def look_what_arrived(self, lane: Lane) -> bool:
        """Of what is being sent, by what the target's log says of our producer. Whether any of it has."""
        expected = lane.sequence
        start, end = self.bounds(lane)
        deleted = start > lane.target_next
        for batch in self._ours(lane, max(start, lane.target_next), end):
            ahead = (batch.sequence - lane.sequence) & MAX_SEQUENCE
            if ahead + batch.records <= lane.planned:
                if ahead:
                    # Compaction has taken what was before it.
                    lane.arrived(ahead, None)
                lane.arrived(batch.records, batch.base_offset)
        if deleted and (count := self._appended(lane)):
            lane.arrived(count, None)
        return lane.sequence != expected

    def _ours(self, lane: Lane, offset: int, end: int) -> Iterator[_Arrived]:
        while offset < end:
            (leader,) = self.cluster.by_leader([lane.target])
            told = fetch(
                self.cluster,
                [FetchFrom(lane.target, lane.target_id, offset)],
                partition_bytes=_READ_BYTES,
                answer_bytes=_READ_BYTES,
                max_wait_ms=_MAX_WAIT_MS,
                node_id=leader,
            )[lane.target]
            check(told.error_code, f"partition {lane.target}")
            batches = batches_of(told, offset)
            for batch in batches:
                if (batch.producer_id, batch.producer_epoch) == lane.producer and not batch.control:
                    yield _Arrived(batch.base_sequence, batch.last_offset_delta + 1, batch.base_offset)
            if not batches:
                return
            offset = batches[-1].next_offset

    def _appended(self, lane: Lane) -> int:
        """How many of what is being sent, where the records themselves are deleted already: as the leader remembers."""
        (leader,) = self.cluster.by_leader([lane.target])
        topic = TopicRequest(name=lane.target.topic, partition_indexes=[lane.target.number])
        answer = self.cluster.ask_node(leader, DescribeProducersRequest(topics=[topic]), DescribeProducersResponse)
        (told,) = answer.topics[0].partitions
        check(told.error_code, told.error_message)
        for each in told.active_producers:
            if (each.producer_id, each.producer_epoch) == lane.producer:
                count = (each.last_sequence + 1 - lane.sequence) & MAX_SEQUENCE
                return count if count <= lane.planned else 0
        return 0


def _stamped(lane: Lane) -> bytearray:
    """Its first piece."""
    data = lane.pieces[0].data
    set_producer(data, 0, *lane.producer, lane.sequence)
    return data


def _checked(answer: InitProducerIdResponse) -> InitProducerIdResponse:
    check(answer.error_code)
    return answer
