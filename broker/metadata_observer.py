"""Following the controllers: this node fetches the metadata log from their leader, as an observer of the quorum, and
applies what is committed to its image.

A node that is too far behind is given a snapshot first; one that has what the leader has not gives that up. Neither is
ever seen by clients: they see what is committed, and of that no leader takes anything back.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import trio

from barnabas.broker.configuration.describe import topic_config
from barnabas.broker.metadata_log import METADATA_TOPIC_ID
from barnabas.broker.metadata_replica import MetadataReplica
from barnabas.broker.quorum_leader import QuorumLeader
from barnabas.broker.snapshot_fetching import fetch_snapshot
from barnabas.client.address import Address
from barnabas.client.channel import Channel, Unreachable
from barnabas.coordination.cluster.delta import ImageDelta
from barnabas.coordination.cluster.image import ClusterImage
from barnabas.coordination.cluster.snapshot_file import SnapshotId
from barnabas.protocol.errors import ErrorCode, KafkaError, MalformedFrame
from barnabas.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
    ReplicaState,
)
from barnabas.replication.watermark import Watermark
from barnabas.storage.checkpoints import MalformedFile
from barnabas.storage.log_directory import METADATA_TOPIC

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["MetadataObserver"]

MAX_WAIT_MS = 500
LONGEST_PAUSE_MS = 1_000
"""Between two attempts to find somebody who leads."""


class MetadataObserver:
    def __init__(
        self,
        node: Node,
        replica: MetadataReplica,
        leader: QuorumLeader,
        *,
        on_change: Callable[[ImageDelta], None],
        after_commit: Callable[[], None],
    ) -> None:
        self._node = node
        self._replica = replica
        self._leader = leader
        self._image: ClusterImage = node.image
        self._on_change = on_change
        self._after_commit = after_commit
        self._channel: Channel | None = None
        self._asked: Address
        self.high_watermark = Watermark(-1)
        """Of the leader, where this node may not be yet; -1: no leader has told it."""
        self.applied = Watermark(node.image.next_offset)

    async def caught_up(self) -> None:
        """With all that was committed when a leader was first heard of."""
        await self.high_watermark.reaches(0)
        await self.applied.reaches(self.high_watermark.offset)

    async def run(self) -> None:
        node = self._node
        shortest_pause_ms = pause_ms = node.config.controller_quorum_retry_backoff_ms
        told = None
        try:
            while True:
                why = await self._fetch()
                if why is None:
                    if told is not None:
                        node.report(f"node {self._leader.id} leads the controllers, and is followed")
                    pause_ms, told = shortest_pause_ms, None
                    continue
                if why != told and pause_ms > shortest_pause_ms:
                    # What one attempt meets is often over with the next.
                    node.report(f"no leading controller is found: {why}")
                    told = why
                self._leader.lost(self._asked)
                await trio.sleep(pause_ms / 1000)
                pause_ms = min(2 * pause_ms, LONGEST_PAUSE_MS)
        finally:
            if self._channel is not None:
                with trio.CancelScope(shield=True):
                    await self._channel.aclose()

    async def _fetch(self) -> str | None:
        """Once. None: it went well; else why the next one has to be sent elsewhere, or later."""
        try:
            channel = await self._open()
            answer = await channel.ask(self._request(), FetchResponse, timeout_ms=self._timeout_ms)
            return await self._take(channel, answer)
        except Unreachable as error:
            return str(error)
        except MalformedFrame as error:
            return f"{self._asked} sent what cannot be read: {error}"
        except OSError as error:
            # Nobody relies on what this node has of the log: it comes again when there is room on the disk.
            self._node.disk_failures.metadata_failed(error, False)
            return f"{self._replica.directory} cannot be written to: {error.strerror or error}"
        except (KafkaError, MalformedFile) as error:
            self._node.fail(f"{self._replica.directory} cannot be read any more: {error}")
            return str(error)

    @property
    def _timeout_ms(self) -> int:
        return self._node.config.controller_quorum_request_timeout_ms

    async def _open(self) -> Channel:
        """To the leader, or to any controller, which knows who that is."""
        wanted = self._leader.address or self._leader.next_candidate()
        if self._channel is None or self._asked != wanted:
            if self._channel is not None:
                await self._channel.aclose()
            self._asked = wanted
            self._channel = self._node.network.channel(
                f"the controller at {wanted}", wanted.host, wanted.port, client_id=f"raft-client-{self._node.node_id}"
            )
        return self._channel

    def _request(self) -> FetchRequest:
        replica, node = self._replica, self._node
        partition = FetchPartition(
            partition=0,
            current_leader_epoch=self._leader.epoch,
            fetch_offset=replica.end_offset,
            last_fetched_epoch=replica.last_epoch,
            log_start_offset=-1,
            partition_max_bytes=0,
            replica_directory_id=node.directory_id,
            high_watermark=min(self.high_watermark.offset, replica.end_offset),
        )
        topic = FetchTopic(topic=METADATA_TOPIC, topic_id=METADATA_TOPIC_ID, partitions=[partition])
        return FetchRequest(
            cluster_id=node.cluster_id,
            replica_state=ReplicaState(replica_id=node.node_id, replica_epoch=-1),
            max_wait_ms=MAX_WAIT_MS,
            max_bytes=node.config.controller_quorum_fetch_max_bytes,
            topics=[topic],
        )

    # Answers

    async def _take(self, channel: Channel, answer: FetchResponse) -> str | None:
        if answer.error_code == ErrorCode.INCONSISTENT_CLUSTER_ID:
            self._node.fail(
                f"The controllers at {self._asked} belong to another cluster than {self._node.cluster_id}, which the "
                "log directories of this node name: correct controller.quorum.bootstrap.servers, or give the node "
                "empty directories."
            )
        if answer.error_code:
            return f"{self._asked} answers {ErrorCode(answer.error_code).name}"
        if len(answer.responses) != 1 or len(answer.responses[0].partitions) != 1:
            return f"{self._asked} answers with other partitions than that of the metadata"
        data = answer.responses[0].partitions[0]
        self._learn(answer, data)
        if data.error_code:
            return self._refused(data)
        if data.diverging_epoch is not None and data.diverging_epoch.epoch >= 0:
            return self._give_up(data.diverging_epoch.epoch, data.diverging_epoch.end_offset)
        if data.snapshot_id is not None and data.snapshot_id.end_offset >= 0:
            await self._begin_anew(channel, SnapshotId(data.snapshot_id.end_offset, data.snapshot_id.epoch))
            return None
        return await self._receive(data)

    def _learn(self, answer: FetchResponse, data: PartitionData) -> None:
        told = data.current_leader
        if told is None or told.leader_epoch < 0:
            return
        addresses = {each.node_id: Address(each.host, each.port) for each in answer.node_endpoints}
        address = addresses.get(told.leader_id) or self._known_address(told.leader_id)
        if address is None and told.leader_id >= 0 and not data.error_code:
            # Who answers leads.
            address = self._asked
        if self._leader.learn(told.leader_id, told.leader_epoch, address):
            self._replica.begin_epoch(told.leader_id, told.leader_epoch)

    def _known_address(self, voter_id: int) -> Address | None:
        """Of a controller, as the log or the configuration says."""
        voters = self._replica.quorum.voters
        listener = self._node.config.values["controller.listener.names"][0]
        for voter in () if voters is None else voters.voters:
            for endpoint in voter.endpoints:
                if voter.voter_id == voter_id and endpoint.name == listener:
                    return Address(endpoint.host, endpoint.port)
        static = self._node.config.controller_quorum_voters.get(voter_id)
        return None if static is None else Address(static.host, static.port)

    def _refused(self, data: PartitionData) -> str | None:
        code = ErrorCode(data.error_code)
        knows_better = code in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)
        if knows_better and self._leader.address not in (None, self._asked):
            return None  # at once, to whom it has named
        return f"{self._asked} answers {code.name}"

    def _give_up(self, epoch: int, end_offset: int) -> str | None:
        if end_offset < self.applied.offset:
            self._node.fail(
                f"{self._replica.directory}: the controllers have lost metadata that was committed: they end epoch "
                f"{epoch} at offset {end_offset}, and this node has applied {self.applied.offset}. See which of them "
                "has been emptied, before anything else is lost."
            )
            return "the controllers have lost what was committed"
        end = self._replica.truncate(epoch, end_offset, self._node.clock.now_ms())
        self._node.report(f"{self._replica.directory} is cut back to offset {end}, where the controllers have another")
        return None

    async def _begin_anew(self, channel: Channel, snapshot_id: SnapshotId) -> None:
        node, replica = self._node, self._replica
        node.report(f"{replica.directory} begins anew with the controllers' {snapshot_id.file_name}")
        data = await fetch_snapshot(node, channel, snapshot_id, self._leader.epoch, self._timeout_ms)
        delta = await replica.take_snapshot(snapshot_id, data, self._image)
        try:
            replica.begin_at(snapshot_id, node.clock.now_ms())
        finally:
            # Whatever the disk says to that: no log that begins behind the image could be applied to it.
            self._committed(delta)

    async def _receive(self, data: PartitionData) -> str | None:
        node, replica = self._node, self._replica
        if data.records:
            try:
                replica.receive(data.records, node.clock.now_ms())  # type: ignore[arg-type] # it has just been read
            except KafkaError as error:
                if isinstance(error.__cause__, OSError):
                    raise error.__cause__ from None
                return f"{self._asked} sent what cannot be appended: {error}"
        self.high_watermark.advance(data.high_watermark)
        committed = min(self.high_watermark.offset, replica.end_offset)
        if committed > self._image.next_offset:
            await self._apply(committed)
        return None

    async def _apply(self, committed: int) -> None:
        """The files of a thousand new partitions take seconds, in which this node has to say that it is alive."""
        node, image = self._node, self._image
        read = list(self._replica.read_log(image.next_offset, committed))
        records = [record for one in read for record in one.records]
        prepare = node.partitions.preparation(records, image, partial(topic_config, node.config))
        if prepare is not None:
            await trio.to_thread.run_sync(prepare)
        self._committed(self._replica.apply(image, read))

    def _committed(self, delta: ImageDelta) -> None:
        if delta:
            self._on_change(delta)
        self.applied.advance(self._image.next_offset)
        self._after_commit()
