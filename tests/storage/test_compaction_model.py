"""Whatever is written, compacted and reopened in whatever order: of each key the last value can be read."""

from __future__ import annotations

from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from barnabas.protocol.compression import Compression
from barnabas.storage.memory_disk import MemoryDisk
from barnabas.storage.offset_map import BYTES_PER_SLOT

from .compacted import NOW, Entry, append, compact_now, left, new_log, planned, reopened

KEYS = st.sampled_from([b"a", b"b", b"c", b"d", b"e" * 100])
VALUES = st.none() | st.binary(max_size=80)


class CompactionModel(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.written: dict[int, Entry] = {}
        self.now_ms = NOW
        self.clean: int | None = None

    @initialize(segment_bytes=st.sampled_from([700, 2_000, 50_000]), retention_ms=st.sampled_from([0, 100, 10**9]))
    def begin(self, segment_bytes: int, retention_ms: int) -> None:
        self.log = new_log(
            MemoryDisk(),
            Path("/data"),
            internal_segment_bytes=str(segment_bytes),
            delete_retention_ms=str(retention_ms),
        )
        self.retention_ms = retention_ms
        self.tombstones_may_go = False

    @rule(
        entries=st.lists(st.tuples(KEYS, VALUES), min_size=1, max_size=4),
        compression=st.sampled_from([Compression.NONE, Compression.NONE, Compression.GZIP, Compression.ZSTD]),
    )
    def append(self, entries: list[Entry], compression: Compression) -> None:
        first = append(self.log, *entries, timestamp=self.now_ms, compression=compression)
        self.written.update({first + number: entry for number, entry in enumerate(entries)})

    @rule(passed_ms=st.integers(1, 200))
    def wait(self, passed_ms: int) -> None:
        self.now_ms += passed_ms

    @rule()
    def roll(self) -> None:
        if self.log.active.size:
            self.log.roll(NOW)

    @precondition(lambda self: self.dirty())
    @rule(slots=st.sampled_from([3, 5, 1_000]))
    def compact(self, slots: int) -> None:
        before = left(self.log)
        self.clean = compact_now(
            self.log, clean=self.clean, now_ms=self.now_ms, map_bytes=slots * BYTES_PER_SLOT, roll=False
        )
        after = left(self.log)
        assert after.items() <= before.items()
        assert list(after) == sorted(after)

    def dirty(self) -> bool:
        return planned(self.log, clean=self.clean, now_ms=self.now_ms).dirty_bytes > 0

    @rule(clean=st.booleans())
    def reopen(self, clean: bool) -> None:
        if clean:
            self.log.close()
        before = left(self.log)
        self.log = reopened(self.log, clean=clean)
        assert left(self.log) == before

    @invariant()
    def the_last_values_are_there(self) -> None:
        if not hasattr(self, "log"):
            return
        found = left(self.log)
        assert found.items() <= self.written.items()
        assert self.log.end_offset == len(self.written)
        last: dict[bytes | None, tuple[int, bytes | None]] = {}
        for offset, (key, value) in self.written.items():
            last[key] = (offset, value)
        read: dict[bytes | None, tuple[int, bytes | None]] = {}
        for offset, (key, value) in found.items():
            read[key] = (offset, value)
        for key, (offset, value) in last.items():
            if value is not None or key in read:
                assert read[key] == (offset, value)
        if self.retention_ms == 10**9:
            assert read == last


TestCompactionModel = CompactionModel.TestCase
TestCompactionModel.settings = settings(
    max_examples=50,
    stateful_step_count=40,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
