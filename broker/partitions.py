"""The replicas that this node has, and what the metadata makes of them.

The metadata decides; this follows: `follow` takes what a commit has changed, creates and deletes logs, and tells each
partition to lead or to follow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import trio

from barnabas.broker.arrivals import arrivals
from barnabas.coordination.cluster.configs import ALL_BROKERS, ResourceType, broker_resource
from barnabas.coordination.cluster.delta import ImageDelta
from barnabas.coordination.cluster.image import ClusterImage
from barnabas.coordination.cluster.partition import Partition as PartitionState
from barnabas.coordination.cluster.records import MetadataRecord
from barnabas.coordination.cluster.topics import Topic
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.replication.leading import Surroundings
from barnabas.replication.partition import Partition
from barnabas.storage.log_directories import LogDirectories, NewPartition
from barnabas.storage.log_directory import LogDirectory, TopicPartition
from barnabas.storage.topic_config import TopicConfig

__all__ = ["Partitions"]

TRY_AGAIN_MS = 1_000


class _Unopened(NamedTuple):
    is_new: bool
    not_before_ms: int


class Partitions:
    def __init__(
        self,
        node_id: int,
        directories: LogDirectories,
        image: ClusterImage,
        *,
        config_of: Callable[[str], TopicConfig],
        surroundings: Surroundings,
        unique_names: Iterator[str],
        now_ms: Callable[[], int],
        report: Callable[[str], None],
        needs_sync: Callable[[Partition], None] | None,
    ) -> None:
        self._node_id = node_id
        self._directories = directories
        self._image = image
        self._config_of = config_of
        self._surroundings = surroundings
        self._unique_names = unique_names
        self._now_ms = now_ms
        self._report = report
        self._needs_sync = needs_sync
        self._here: dict[tuple[str, int], Partition] = {}
        self._has_begun = False
        self._unopened: dict[tuple[str, int], _Unopened] = {}
        """They should be here, and their disk was full when they were made."""
        self._has_unopened = trio.Event()
        self._deleted_from: list[LogDirectory] = []
        """By the records that are being followed."""
        self.on_open: list[Callable[[Partition], None]] = []
        self.on_close: list[Callable[[Partition], None]] = []
        """Told of those that are not here any more: deleted, or their disk has failed."""
        self.on_configure: list[Callable[[Partition], None]] = []
        self.on_growth: Callable[[Partition], None] | None = None
        self.on_failure: Callable[[Partition, KafkaError], None] | None = None
        self.write_cut: Callable[[Partition], None] | None = None
        self.on_lead: list[Callable[[Partition], None]] = []
        """Told of every partition that this node begins to lead, or leads in a new epoch."""
        self.on_follow: list[Callable[[Partition], None]] = []
        """Told of every partition that begins to follow a leader, or has none to follow, or another epoch."""
        self.on_resign: list[Callable[[Partition], None]] = []
        """Told of those that are led no more, and of those that are not here any more."""

    def __iter__(self) -> Iterator[Partition]:
        return iter(list(self._here.values()))

    def __len__(self) -> int:
        return len(self._here)

    def find(self, topic: str, number: int) -> Partition | None:
        return self._here.get((topic, number))

    def get(self, topic: str, number: int) -> Partition:
        """KafkaError says why it cannot be used here."""
        found = self._here.get((topic, number))
        if found is not None:
            return found
        known = self._image.topics.by_name.get(topic)
        state = known.partitions.get(number) if known is not None else None
        if state is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {topic}-{number}")
        if self._node_id in state.replicas:
            self.try_again()
            found = self._here.get((topic, number))
            if found is not None:
                return found
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"the log of {topic}-{number} is offline")
        raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{topic}-{number} has no replica here")

    # Following the metadata

    def begin(self) -> None:
        """With everything that the image says: logs have been loaded."""
        self._has_begun = True
        self._delete_what_left_meanwhile()
        for topic, number, state in self._image.topics.partitions():
            self._settle(topic, number, state, is_new=False)
        self._sync_deletions()

    def _delete_what_left_meanwhile(self) -> None:
        """Logs of topics that were deleted, or whose replicas went elsewhere, while logs were loaded. Another topic may
        have such a name by now."""
        for directory in list(self._directories.online):
            for name, is_copy in directory.whatever_is_here():
                topic_id = directory.topic_ids.get(name)
                state = self._image.topics.partition(topic_id, name.partition) if topic_id is not None else None
                if topic_id is not None and (state is None or self._node_id not in state.replicas):
                    self._remove(directory, name, is_copy=is_copy)

    def end(self) -> None:
        """The metadata makes no difference here any more: logs are closed."""
        self._has_begun = False

    def preparation(
        self,
        records: Sequence[MetadataRecord],
        image: ClusterImage,
        config_with: Callable[[Mapping[str, str]], TopicConfig],
    ) -> Callable[[], None] | None:
        """For a thread, before these records come to `follow`: the directories and files of partitions that come with
        them."""
        if not self._has_begun:
            return None
        configs: dict[str, TopicConfig] = {}
        new = []
        for each in arrivals(records, image, self._node_id):
            if each.name not in self._here:
                config = configs.get(each.name.topic) or config_with(each.overrides)
                configs[each.name.topic] = config
                new.append(NewPartition(each.name, each.topic_id, config, each.directory_id))
        if not new:
            return None
        self._directories.forget_namesakes([each.partition for each in new])
        return partial(self._directories.prepare, new, self._now_ms())

    def follow(self, delta: ImageDelta) -> None:
        if not self._has_begun:
            return  # a node that registers is told what it led before: `begin` sees that, when there are logs
        for topic in delta.topics_deleted.values():
            for number in topic.partitions:
                self._delete(topic.name, number)
        for (_, number), change in delta.partitions.items():
            is_new = change.before is None or self._node_id not in change.before.replicas
            self._settle(change.topic, number, change.after, is_new=is_new)
        for resource in delta.configs:
            if resource.type == ResourceType.TOPIC:
                self._configure(resource.name)
        if delta.configs & {ALL_BROKERS, broker_resource(self._node_id)}:
            self.configure_all()
        self._sync_deletions()

    def _settle(self, topic: Topic, number: int, state: PartitionState, *, is_new: bool) -> None:
        if self._node_id not in state.replicas:
            self._delete(topic.name, number)
            return
        partition = self._here.get((topic.name, number))
        if partition is None:
            if not is_new and self._is_out_of_reach(TopicPartition(topic.name, number), state):
                return
            try:
                partition = self._open(topic, number, state, is_new=is_new)
            except KafkaError as error:
                if (topic.name, number) not in self._unopened:
                    self._report(f"{topic.name}-{number}: {error}")
                self._unopened[topic.name, number] = _Unopened(is_new, self._now_ms() + TRY_AGAIN_MS)
                self._has_unopened.set()
                return
            self._unopened.pop((topic.name, number), None)
        if state.leader == self._node_id:
            is_news = not partition.leads or partition.leader_epoch != state.leader_epoch
            partition.lead(state)
            for tell in self.on_lead if is_news else ():
                tell(partition)
        else:
            led = partition.leads
            if partition.follows and (partition.leader, partition.leader_epoch) == (state.leader, state.leader_epoch):
                return
            partition.follow(state.leader, state.leader_epoch)
            for tell in (*self.on_resign, *self.on_follow) if led else self.on_follow:
                tell(partition)

    async def try_on(self) -> None:
        """Until cancelled: nobody asks for a replica that only follows."""
        while True:
            await self._has_unopened.wait()
            await trio.sleep(TRY_AGAIN_MS / 1000)
            self.try_again()
            if not self._unopened:
                self._has_unopened = trio.Event()

    def try_again(self) -> None:
        """There may be room by now for a partition that should be here."""
        now_ms = self._now_ms()
        for (name, number), unopened in list(self._unopened.items()):
            topic = self._image.topics.by_name.get(name)
            # Also where the clock has been set back.
            is_due = not 0 < unopened.not_before_ms - now_ms <= TRY_AGAIN_MS
            if topic is not None and number in topic.partitions and is_due:
                self._settle(topic, number, topic.partitions[number], is_new=unopened.is_new)

    def _is_out_of_reach(self, name: TopicPartition, state: PartitionState) -> bool:
        """It lies, for all we know, in a directory that has failed."""
        directories = self._directories
        return directories.find(name) is None and directories.may_be_offline(state.directory(self._node_id))

    def _open(self, topic: Topic, number: int, state: PartitionState, *, is_new: bool) -> Partition:
        name = TopicPartition(topic.name, number)
        replica = self._directories.find(name)
        if replica is not None and replica.directory.topic_ids.get(name) != topic.id:
            # Of a deleted topic: there was no room for its deletion.
            self._deleted_from.append(replica.directory)
            with self._directories.watching(replica.directory):
                replica.directory.delete(name, next(self._unique_names))
            replica = None
        if replica is None:
            replica = self._directories.create(
                name,
                topic.id,
                self._config_of(topic.name),
                self._now_ms(),
                is_new=is_new,
                directory_id=state.directory(self._node_id),
            )
        partition = Partition(
            name,
            topic.id,
            replica.log,
            high_watermark=replica.directory.high_watermarks.get(name, 0),
            surroundings=self._surroundings,
            needs_sync=self._needs_sync,
            on_growth=self.on_growth,
            on_failure=self.on_failure,
            write_cut=self.write_cut,
        )
        self._here[name] = partition
        for tell in self.on_open:
            tell(partition)
        return partition

    def _delete(self, topic: str, number: int) -> None:
        name = TopicPartition(topic, number)
        self._unopened.pop(name, None)
        partition = self._here.pop(name, None)
        if partition is not None:
            partition.resign(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            for tell in self.on_resign:
                tell(partition)
        for is_copy in (False, True):
            # Of one whose disk has failed a copy may be left.
            replica = self._directories.find(name, future=is_copy)
            if replica is not None:
                self._remove(replica.directory, name, is_copy=is_copy)
        if partition is not None:
            for tell in self.on_close:
                tell(partition)

    def _remove(self, directory: LogDirectory, name: TopicPartition, *, is_copy: bool) -> None:
        self._deleted_from.append(directory)
        with self._directories.surviving(directory):
            directory.delete(name, next(self._unique_names), future=is_copy)

    def _sync_deletions(self) -> None:
        """Once for all that were deleted together: a topic of ten thousand partitions waited for ten thousand syncs."""
        touched, self._deleted_from = self._deleted_from, []
        for directory in dict.fromkeys(touched):
            with self._directories.surviving(directory):
                directory.sync_names()

    def lose(self, name: TopicPartition) -> None:
        """Its directory has failed."""
        partition = self._here.pop(name, None)
        if partition is None:
            return
        partition.resign(ErrorCode.KAFKA_STORAGE_ERROR)
        for tell in (*self.on_resign, *self.on_close):
            tell(partition)

    def _configure(self, topic: str) -> None:
        known = self._image.topics.by_name.get(topic)
        if known is None:
            return
        config = self._config_of(topic)
        for number in known.partitions:
            partition = self._here.get((topic, number))
            if partition is not None:
                partition.log.configure(config)
                for tell in self.on_configure:
                    tell(partition)

    def configure_all(self) -> None:
        for topic in self._image.topics:
            self._configure(topic.name)

    def high_watermarks(self) -> dict[TopicPartition, int]:
        return {partition.name: partition.high_watermark.offset for partition in self}
