"""Snapshots of the metadata, taken when they are due, and what is older than the newest deleted when it is not wanted
any more. All that touches a disk happens in a thread, on a copy of the image that nobody changes."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import trio

from barnabas.broker.clock import Clock
from barnabas.broker.configuration.node_config import NodeConfig
from barnabas.broker.event_log import Event, Level, Report
from barnabas.broker.metadata_log import MetadataLog
from barnabas.coordination.cluster.image import ClusterImage
from barnabas.coordination.cluster.image_copy import copy_of
from barnabas.storage.disk import Disk
from barnabas.storage.segment import Segment

__all__ = ["SETTLED_S", "MetadataUpkeep"]

LOOK_INTERVAL_S = 60
"""As often as Kafka looks for what is to be deleted."""

SETTLED_S = 5
"""So long after a start nobody waits for it any more."""


class MetadataUpkeep:
    def __init__(
        self, disk: Disk, journal: MetadataLog, image: ClusterImage, config: NodeConfig, clock: Clock, report: Report
    ) -> None:
        """`image` is the committed one, the broker's."""
        self._disk = disk
        self._journal = journal
        self._image = image
        self._config = config
        self._clock = clock
        self._report = report
        self._wake = trio.Event()
        self._one_at_a_time = trio.Lock()

    @property
    def snapshot_due(self) -> bool:
        config = self._config
        # Half a transaction is none.
        return self._image.transaction is None and self._journal.snapshot_due(
            self._clock.now_ms(),
            config.metadata_log_max_record_bytes_between_snapshots,
            config.metadata_log_max_snapshot_interval_ms,
        )

    def after_commit(self) -> None:
        if self.snapshot_due:
            self._wake.set()

    async def run(self) -> None:
        """Until cancelled. What fails is tried again; the log has everything."""
        with trio.move_on_after(SETTLED_S):
            await self._wake.wait()
        # As at a stop: a node that is killed again and again would read more at each start.
        await self.finish()
        while True:
            with trio.move_on_after(LOOK_INTERVAL_S):
                await self._wake.wait()
            self._wake = trio.Event()
            try:
                if self.snapshot_due:
                    await self.take_snapshot()
                await self.clean()
            except OSError as error:
                self._report(Event(f"{self._journal.directory}: no snapshot was taken: {error.strerror}", Level.ERROR))
                # And not with each commit: it is work, and takes the room that it has not.
                await trio.sleep(LOOK_INTERVAL_S)

    async def finish(self) -> None:
        """So that the next start takes no longer for all the starts that were before."""
        if self._image.transaction is None and self._journal.worth_a_snapshot:
            try:
                await self.take_snapshot()
            except OSError as error:
                self._report(
                    Event(f"{self._journal.directory}: no snapshot was taken: {error.strerror}", Level.WARNING)
                )

    async def take_snapshot(self) -> None:
        async with self._one_at_a_time:
            snapshot_id, work = self._journal.encode_snapshot(copy_of(self._image), self._clock.now_ms())
            if snapshot_id in self._journal.snapshots.ids:
                return
            await trio.to_thread.run_sync(work)
            self._journal.snapshot_written(snapshot_id, self._clock.now_ms())
        self._report(f"{snapshot_id.file_name} holds the metadata up to offset {snapshot_id.end_offset}")

    async def clean(self) -> None:
        config = self._config
        segments, files = self._journal.clean(
            self._clock.now_ms(), config.metadata_max_retention_bytes, config.metadata_max_retention_ms
        )
        if segments or files:
            await trio.to_thread.run_sync(_remove, self._disk, segments, files)


def _remove(disk: Disk, segments: list[Segment], files: list[Path]) -> None:
    with suppress(FileNotFoundError):
        for segment in segments:
            segment.remove()
    for path in files:
        disk.remove(path)
