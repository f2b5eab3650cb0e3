"""What is known of a topic while its broker is killed again and again: what was acknowledged, received and committed.

A broker that comes back has to agree with all of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from barnabas.protocol.batches import iterate_batches
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from barnabas.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from barnabas.protocol.record import read_records
from compat.rounds.members import Member
from tests.clients.broker_process import BrokerProcess
from tests.clients.senders import Sender
from tests.clients.waiting import wait_until
from tests.kafka.client import RawClient

__all__ = ["GroupLedger", "TopicLedger"]

Written = tuple[str, int]
"""A sender's name and its number."""

LOADING = (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR)


class TopicLedger:
    """The records of all partitions, as a consumer without a group reads them."""

    def __init__(self, topic: str, partitions: int, senders: Sequence[Sender]) -> None:
        self.topic = topic
        self.records: list[list[Written]] = [[] for _ in range(partitions)]
        self._senders = senders
        self._checked: Counter[str] = Counter()

    def read(self, broker: BrokerProcess) -> None:
        """What is new."""
        with broker.client() as client:
            for partition, known in enumerate(self.records):
                known.extend(self._after(client, partition, len(known)))

    def _after(self, client: RawClient, partition: int, offset: int) -> Iterator[Written]:
        while True:
            wanted = FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=1 << 24)
            topics = [FetchTopic(topic=self.topic, partitions=[wanted])]
            request = FetchRequest(max_wait_ms=0, min_bytes=1, topics=topics, session_epoch=-1)
            (data,) = client.ask(request, 12, FetchResponse).responses[0].partitions
            assert data.error_code == 0
            if not data.records:
                return
            for batch in iterate_batches(data.records):  # type: ignore[arg-type] # it came over a socket
                for record in read_records(batch):
                    if record.offset >= offset:
                        assert record.offset == offset, f"{self.topic}-{partition} has nothing at {offset}"
                        name, number, _ = (record.value or b"").decode().split(" ")
                        yield name, int(number)
                        offset += 1

    def ends(self, counts: Sequence[int]) -> dict[int, int]:
        """Of each partition, behind the last of so many records of each sender that were acknowledged."""
        ends: dict[int, int] = {}
        for sender, count in zip(self._senders, counts, strict=True):
            for partition, offset, _ in sender.acknowledged[self._checked[sender.name] : count]:
                ends[partition] = max(ends.get(partition, 0), offset + 1)
        return ends

    def check_acknowledged(self, counts: Sequence[int]) -> None:
        """So many records of each sender had been acknowledged before the records were read: they are at their
        places."""
        for sender, count in zip(self._senders, counts, strict=True):
            for partition, offset, number in sender.acknowledged[self._checked[sender.name] : count]:
                here = self.records[partition]
                assert offset < len(here), f"{sender.name}'s {number} at {partition}:{offset} is lost"
                assert here[offset] == (sender.name, number)
            self._checked[sender.name] = count

    def check_whole(self) -> None:
        """Everything was acknowledged: it is there once, in the order of sending, and nothing else is."""
        self.check_acknowledged([len(sender.acknowledged) for sender in self._senders])
        for sender in self._senders:
            assert [number for _, _, number in sender.acknowledged] == list(range(sender.sent))
        for partition, records in enumerate(self.records):
            for sender in self._senders:
                wanted = [number for at, _, number in sender.acknowledged if at == partition]
                assert [number for name, number in records if name == sender.name] == wanted
            assert {name for name, _ in records} == {sender.name for sender in self._senders}


class GroupLedger:
    """Whatever its members say, those included that are dead."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.members: list[Member] = []

    def committed(self) -> dict[int, int]:
        """The offsets whose commits have been acknowledged to members."""
        floor: dict[int, int] = {}
        for member in self.members:
            received: dict[int, int] = {}
            for said in list(member.said):
                received.update({partition: offset + 1 for partition, offset, _ in said.get("received", ())})
                if said.get("committed"):
                    for partition, offset in received.items():
                        floor[partition] = max(floor.get(partition, 0), offset)
                if "committed" in said or "not committed" in said:
                    received = {}
        return floor

    def check_commits(self, broker: BrokerProcess, topic: str, floor: dict[int, int]) -> None:
        """A broker that has come back knows them."""
        wanted = OffsetFetchRequestTopics(name=topic, partition_indexes=sorted(floor))
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=self.name, topics=[wanted])])
        with broker.client() as client:

            def is_loaded() -> bool:
                (self._answer,) = client.ask(request, 8, OffsetFetchResponse).groups
                return self._answer.error_code not in LOADING

            wait_until(is_loaded, f"the group {self.name} to be loaded")
        assert self._answer.error_code == 0
        if floor:
            found = {one.partition_index: one.committed_offset for one in self._answer.topics[0].partitions}
            lost = {number: (found[number], offset) for number, offset in floor.items() if found[number] < offset}
            assert not lost, f"{self.name} had committed more than the broker knows: {lost}"

    def wait_for_all(self, records: Sequence[Sequence[Written]]) -> None:
        """Nobody sends any more: until everything has reached somebody."""
        ends = {partition: len(here) for partition, here in enumerate(records)}
        wait_until(lambda: self._received() == ends, lambda: f"{ends} to reach {self.name}: {self._received()}")

    def _received(self) -> dict[int, int]:
        """Up to where each partition has reached somebody."""
        ends: dict[int, int] = {}
        for member in self.members:
            for partition, offset, _ in list(member.received):
                ends[partition] = max(ends.get(partition, 0), offset + 1)
        return ends

    def check_story(self, records: Sequence[Sequence[Written]]) -> None:
        """From the first line to the last: nobody goes back before a commit, nobody leaves out a record, and each is
        what the log says."""
        committed: Counter[int] = Counter()
        reached: Counter[int] = Counter()
        uncommitted: dict[int, dict[int, int]] = {}
        lines = [(said["at"], number, said) for number, one in enumerate(self.members) for said in one.said]
        for _, number, said in sorted(lines, key=lambda line: line[0]):
            mine = uncommitted.setdefault(number, {})
            for partition, offset, value in said.get("received", ()):
                what = f"{self.name}, member {number}: {partition}:{offset}"
                assert offset >= committed[partition], f"{what} comes again, and {committed[partition]} was committed"
                assert offset <= reached[partition], f"{what} comes after {reached[partition]}"
                reached[partition] = max(reached[partition], offset + 1)
                mine[partition] = offset + 1
                name, written, _ = value.split(" ")
                assert records[partition][offset] == (name, int(written))
            if said.get("committed"):
                for partition, offset in mine.items():
                    committed[partition] = max(committed[partition], offset)
            if "committed" in said or "not committed" in said:
                mine.clear()
        assert dict(reached) == {number: len(here) for number, here in enumerate(records)}
