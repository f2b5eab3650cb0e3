"""One task that fetches from one broker, for all the partitions that it is given: a connection, and a fetch session.

A turn is a Fetch of everything that is ready, and what the answer says of each partition. One that is in trouble rests
for replica.fetch.backoff.ms, and keeps nobody waiting; nor does one that joins or leaves meanwhile: an answer counts
where the partition still follows whom it followed when it was asked for.

Where records have to be safe (durability=fsync), the next Fetch waits for the disk: to ask for more is to say that one
has what came before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

import trio

from barnabas.client.channel import Unreachable
from barnabas.client.errors import name_of
from barnabas.coordination.fetching.following_session import Key
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.fetch import FetchRequest, FetchResponse, PartitionData, ReplicaState
from barnabas.replication.followed_partitions import FollowedPartitions
from barnabas.replication.following import Cut, Following
from barnabas.replication.leader_offsets import EARLIEST, LATEST, ask_offsets
from barnabas.replication.neighbours import Neighbours

__all__ = ["Fetcher"]

FIRST_BY_ID = 13
FIRST_WITH_EPOCH_OF_BROKER = 15
PARTITIONS_AT_ONCE = 100
"""Of one answer, before others of the node get their turn: a millisecond or two."""
_SESSION_ERRORS = (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, ErrorCode.INVALID_FETCH_SESSION_EPOCH)


class Fetcher:
    def __init__(
        self, source: int, number: int, around: Neighbours, failed: set[Key], on_end: Callable[[Fetcher], None]
    ) -> None:
        """`failed` gets the partitions that are not fetched until the metadata says something else of them. `on_end` is
        told when none is left: then it does nothing more."""
        self.source = source
        self.number = number
        self._failed = failed
        self._around = around
        self._settings = settings = around.settings
        self._on_end = on_end
        self._channel = around.channel(source, number)
        self.partitions = FollowedPartitions(
            partition_max_bytes=settings.partition_max_bytes, backoff_s=settings.backoff_ms / 1000
        )
        self._version: int | None = None
        """Of Fetch, as the source speaks it; None until it has been asked."""
        self._news = trio.Event()
        self._asking = trio.CancelScope()
        self._is_out_of_reach = False

    def __repr__(self) -> str:
        return f"<Fetcher {self.number} from broker {self.source}, {len(self.partitions)} partitions>"

    def follow(self, following: Following) -> None:
        self._failed.discard(following.key)
        self.partitions.follow(following)
        self._news.set()

    def leave(self, key: Key) -> None:
        self._failed.discard(key)
        self.partitions.leave(key)
        self._news.set()
        if not len(self.partitions):
            # A leader that hangs may never answer, and whoever comes next shall not wait for that.
            self._asking.cancel()

    # The task

    async def run(self) -> None:
        try:
            while len(self.partitions):
                try:
                    await self._turn()
                except Unreachable as error:
                    if not self._is_out_of_reach:
                        self._around.warn(f"replicas of broker {self.source} cannot be fetched now: {error}")
                    self._is_out_of_reach = True
                    await self._begin_anew()
                except Exception as error:  # noqa: BLE001 - the others of the node go on
                    self._around.report_exception(f"{self!r} failed, and begins anew", error)
                    await self._channel.aclose()
                    await self._begin_anew()
        finally:
            self._on_end(self)
            with trio.CancelScope(shield=True):
                await self._channel.aclose()

    async def _begin_anew(self) -> None:
        self._version = None
        self.partitions.begin_anew()
        await trio.sleep(self._settings.backoff_ms / 1000)

    async def _turn(self) -> None:
        partitions, timeout_ms = self.partitions, self._settings.timeout_ms
        partitions.wake_rested(trio.current_time())
        await self._cut()
        await self._until_safe()
        partitions.throttle(self._around.quota, self._around.steady_ms())
        if not partitions.session.has_something_to_say:
            await self._wait()
            return
        if self._version is None:
            self._version = await self._agree_on_version()
        with trio.CancelScope() as self._asking:
            answer = await self._channel.ask(self._request(self._version), FetchResponse, timeout_ms=timeout_ms)
        if self._asking.cancelled_caught:
            partitions.begin_anew()
            return
        if partitions.session.accepts(answer):
            if self._is_out_of_reach:
                self._is_out_of_reach = False
                self._around.report(f"replicas of broker {self.source} are fetched again")
            await self._take(answer)
        elif answer.error_code not in _SESSION_ERRORS:
            what = name_of(answer.error_code) if answer.error_code else "other partitions than it was asked for"
            raise Unreachable(f"broker {self.source} answers with {what}")

    async def _until_safe(self) -> None:
        for following in self.partitions.take_unsafe():
            with suppress(KafkaError):
                await following.until_safe()
            if self.partitions.has(following):
                self.partitions.want(following)

    async def _wait(self) -> None:
        """For a partition that comes, or has rested, or may be fetched again."""
        with trio.move_on_at(self.partitions.next_s(trio.current_time())):
            await self._news.wait()
        self._news = trio.Event()

    async def _agree_on_version(self) -> int:
        version = await self._channel.version_of(FetchRequest, timeout_ms=self._settings.timeout_ms)
        if version < FIRST_BY_ID:
            raise Unreachable(f"broker {self.source} is too old: it does not know topics by their ids")
        return version

    def _request(self, version: int) -> FetchRequest:
        settings, node_id = self._settings, self._around.node_id
        request = FetchRequest(
            max_wait_ms=settings.max_wait_ms, min_bytes=settings.min_bytes, max_bytes=settings.max_bytes
        )
        if version < FIRST_WITH_EPOCH_OF_BROKER:
            request.replica_id = node_id
        else:
            request.replica_state = ReplicaState(replica_id=node_id, replica_epoch=self._around.broker_epoch())
        self.partitions.ask(request)
        return request

    # Answers

    async def _take(self, answer: FetchResponse) -> None:
        lost: list[Following] = []
        now_ms = self._around.now_ms()
        left = PARTITIONS_AT_ONCE
        for topic in answer.responses:
            for data in topic.partitions:
                left -= 1
                if not left:
                    await trio.lowlevel.checkpoint()
                    left = PARTITIONS_AT_ONCE
                following = self.partitions.asked_for((topic.topic_id, data.partition_index))
                if following is None:
                    continue
                if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
                    lost.append(following)
                elif data.error_code:
                    self._refused(following, data.error_code)
                else:
                    self._take_one(following, data, now_ms)
        if lost:
            await self._find_again(lost)

    def _take_one(self, following: Following, data: PartitionData, now_ms: int) -> None:
        name, quota = following.partition.name, self._around.quota
        try:
            if data.diverging_epoch is not None and data.diverging_epoch.epoch >= 0:
                self.partitions.cut_later(following, following.cut_for(data.diverging_epoch))
                return
            size = following.take(data, now_ms)
        except KafkaError as error:
            self._could_not_take(following, error)
            return
        except Exception as error:  # noqa: BLE001 - the other partitions go on
            self._around.report_exception(f"{name} is not fetched any more", error)
            self._fail(following)
            return
        following.trouble = 0
        if size and quota.is_throttled(*name):
            quota.record(size, self._around.steady_ms())
        if self.partitions.has(following):
            self.partitions.want(following)

    def _could_not_take(self, following: Following, error: KafkaError) -> None:
        """A torn answer, or a disk that is full, may be another matter next time; one that has failed has been seen to.
        What else there is does not fit, and never will."""
        partition = following.partition
        may_pass = error.code in (ErrorCode.CORRUPT_MESSAGE, ErrorCode.KAFKA_STORAGE_ERROR)
        following.trouble += 1
        if following.trouble == 1 or not may_pass:
            end = partition.log.end_offset
            self._around.warn(f"{partition.name} does not get on from offset {end}, as a follower: {error}")
        if not may_pass:
            self._fail(following)
        elif self.partitions.has(following):
            self._rest(following)

    def _refused(self, following: Following, code: int) -> None:
        """By the leader, mostly because one of the two knows something of the metadata that the other does not know
        yet. That passes, and is told if it comes again."""
        if code == ErrorCode.FENCED_LEADER_EPOCH:
            self._fail(following)
            return
        following.trouble += 1
        if following.trouble == 2:
            self._around.warn(
                f"{following.partition.name} cannot be fetched from broker {self.source}: {name_of(code)}"
            )
        self._rest(following)

    def _rest(self, following: Following, cut: Cut | None = None) -> None:
        self.partitions.rest(following, trio.current_time(), cut or following.first_cut)

    def _fail(self, following: Following) -> None:
        if self.partitions.has(following):
            self.partitions.leave(following.key)
            self._failed.add(following.key)

    # Logs that are not the leader's

    async def _cut(self) -> None:
        cuts = self.partitions.take_cuts()
        if not cuts:
            return
        try:
            async with self._around.cutting([following.partition for following in cuts]):
                for following, cut in cuts.items():
                    if self.partitions.has(following):
                        self._cut_one(following, cut)
                        await trio.lowlevel.checkpoint()  # it has waited for the disk
        except KafkaError as error:
            # They are cut, and nothing may be appended before that is safe.
            self._around.warn(f"{len(cuts)} partitions are not fetched now: {error}")
            for following in cuts:
                if self.partitions.has(following):
                    self._rest(following, Cut(following.partition.log.end_offset, is_made=True))

    def _cut_one(self, following: Following, cut: Cut) -> None:
        partition = following.partition
        before, high_watermark = following.position(0), partition.high_watermark.offset
        try:
            following.cut(cut, self._around.now_ms())
        except KafkaError as error:
            self._around.warn(str(error))
            if error.code != ErrorCode.KAFKA_STORAGE_ERROR:
                self._fail(following)  # what is damaged stays so
            elif self.partitions.has(following):
                self._rest(following)
            return
        what = f"{partition.name} is cut from offset {before.fetch_offset} to {cut.offset}, for broker {self.source}"
        if cut.anew:
            self._around.warn(f"{partition.name} begins anew at offset {cut.offset}, where broker {self.source} begins")
        elif cut.offset < high_watermark:
            self._around.warn(f"{what} has other records: its high watermark was {high_watermark}")
        elif cut.offset < before.fetch_offset:
            self._around.report(f"{what} has other records")
        if following.position(0) == before and not following.is_fresh and not cut.is_made:
            self._rest(following)  # it would be told the same again
        else:
            self.partitions.want(following)

    async def _find_again(self, lost: Sequence[Following]) -> None:
        """What they ask for the leader has no more, or not yet: this broker was away for too long, or the leader was
        elected without having everything."""
        partitions = self.partitions
        # Another may have come in the place of one, which the session goes on to fetch.
        lost = [each for each in lost if partitions.has(each)]
        if not lost:
            return
        for following in lost:
            partitions.session.leave(following.key)
        ends = await self._offsets(lost, LATEST)
        behind = [each for each in lost if each in ends and ends[each] >= each.partition.log.end_offset]
        starts = await self._offsets(behind, EARLIEST) if behind else {}
        for following in lost:
            if not partitions.has(following) or partitions.is_resting(following):
                continue
            here = following.partition.log.end_offset
            if following in ends and ends[following] < here:
                partitions.cut_later(following, Cut(ends[following]))
            elif following in starts and starts[following] > here:
                partitions.cut_later(following, Cut(starts[following], anew=True))
            else:
                self._rest(following)

    async def _offsets(self, followings: Iterable[Following], timestamp: int) -> dict[Following, int]:
        """Of those whose leader can say."""
        node_id, timeout_ms = self._around.node_id, self._settings.timeout_ms
        answers = await ask_offsets(self._channel, followings, timestamp, node_id=node_id, timeout_ms=timeout_ms)
        found: dict[Following, int] = {}
        for following, answer in answers.items():
            if not self.partitions.has(following):
                continue
            if answer.error_code:
                self._refused(following, answer.error_code)
            else:
                found[following] = answer.offset
        return found
