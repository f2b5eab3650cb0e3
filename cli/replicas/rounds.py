"""Round after round: each broker is asked for its replicas from the same offsets on, and what comes is compared."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from barnabas.cli.replicas.brokers import Brokers
from barnabas.cli.replicas.checked import Checked
from barnabas.client.cluster import Partition
from barnabas.client.deadline import Deadline
from barnabas.client.offsets import EARLIEST
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.fetch import PartitionData

__all__ = ["Rounds"]

PATIENCE_S = 5.0
"""With replicas that do not come any further: those in sync are behind by less."""
_PAUSE_S = 0.05


class Rounds:
    def __init__(self, brokers: Brokers, checked: Iterable[Checked], *, wait_for_all: bool) -> None:
        """`wait_for_all`: a broker that cannot be asked may come again; otherwise its replicas are left out."""
        self._brokers = brokers
        self._queue = deque(checked)
        self._wait_for_all = wait_for_all

    def replace(self, checked: Iterable[Checked]) -> None:
        self._queue = deque(checked)

    @property
    def open(self) -> list[Checked]:
        return [each for each in self._queue if not each.is_done]

    def to_the_end(self, advance: Callable[[int], None]) -> None:
        """Until all is compared, or nothing more comes. `advance` is told how many offsets more are the same."""
        deadline = Deadline(PATIENCE_S)
        while self.open and not deadline.is_over:
            moved = self.go_on()
            if moved:
                deadline = Deadline(PATIENCE_S)
                advance(moved)
            else:
                deadline.sleep(_PAUSE_S)

    def go_on(self) -> int:
        """One round. The next one begins with another partition: an answer may be full before it comes to the last."""
        now = self.open
        wanted: dict[int, dict[Partition, int]] = {}
        for each in now:
            for replica in each.replicas:
                wanted.setdefault(replica, {})[each.partition] = each.next_offset
        found = self._brokers.fetch(wanted)
        moved = 0
        for each in now:
            before = each.next_offset
            self._compare(each, {replica: found[each.partition, replica] for replica in each.replicas})
            moved += each.next_offset - before
        self._queue.rotate(-1)
        return moved

    def _compare(self, checked: Checked, told: dict[int, PartitionData | str]) -> None:
        data = {}
        checked.waits = {}
        for replica, answer in told.items():
            if answer == ErrorCode.OFFSET_OUT_OF_RANGE.name:
                # Retention has come here.
                self._begin_later(checked)
                return
            if isinstance(answer, str):
                if self._wait_for_all or _may_pass(answer):
                    checked.waits[replica] = answer
                else:
                    checked.replicas.remove(replica)
                    checked.absent[replica] = answer
            else:
                checked.high_watermarks[replica] = answer.high_watermark
                data[replica] = _bytes_of(answer)
        if data and not checked.waits:
            checked.compare(data)

    def _begin_later(self, checked: Checked) -> None:
        starts = self._brokers.starts({replica: [checked.partition] for replica in checked.replicas}, EARLIEST)
        later = max((start for start in starts.values() if isinstance(start, int)), default=0)
        checked.next_offset = max(checked.next_offset, later)


def _may_pass(name: str) -> bool:
    code = ErrorCode.__members__.get(name)
    return code is not None and code.retriable


def _bytes_of(data: PartitionData) -> bytes:
    records = data.records or b""
    assert isinstance(records, bytes | bytearray | memoryview), "what came is in memory"
    return bytes(records)
