"""Jobs and results are the same at the other end of a pipe, however it cuts them into pieces."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from barnabas.protocol.errors import MalformedFrame
from barnabas.storage.compaction_filter import LastRecord
from barnabas.storage.compaction_job import CleanedSegment, CompactionJob, SourceSegment
from barnabas.storage.compaction_messages import (
    MAX_MESSAGE_BYTES,
    Cancel,
    Cancelled,
    Cleaned,
    Continue,
    Done,
    Failed,
    Failure,
    Message,
    MessageReader,
    Progress,
    Rate,
    Ready,
    Start,
    encode_message,
)

JOB = CompactionJob(
    directory=Path(os.fsdecode(b"/data/\xff\xe9 \n/orders-0")),
    sources=(SourceSegment(0, 1_000), SourceSegment(2**62, 2_000)),
    following=(2**62 + 5, 2**63 - 1),
    first_dirty_offset=100,
    end_offset=2**62 + 5,
    now_ms=1_700_000_000_000,
    delete_retention_ms=2**63 - 1,
    segment_bytes=1 << 30,
    segment_index_bytes=10 << 20,
    index_interval_bytes=4096,
    last_records={7: LastRecord(-1, 3), 2**63 - 1: LastRecord(2**63 - 1, 0)},
    map_bytes=128 << 20,
    map_load_factor=0.9,
    cuts=2,
)
MESSAGES: list[Message] = [
    Start(JOB, None),
    Start(JOB, 1.5e6),
    Rate(None),
    Rate(0.1),
    Continue(),
    Cancel(),
    Ready(),
    Progress(2**60),
    Cleaned(CleanedSegment(0, 17, JOB.sources, 101, True, 3)),
    Done(5),
    *[Failed(kind, 'say "why", Ἀθηνᾶ\n') for kind in Failure],
    Cancelled(),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_each_is_what_it_was(message: Message) -> None:
    (found,) = MessageReader().feed(encode_message(message))
    assert found == message
    assert type(found) is type(message)
    if isinstance(found, Start):
        assert isinstance(found.job.sources[0], SourceSegment)
        assert found.job.path(0, ".log") == JOB.path(0, ".log")
    if isinstance(found, Cleaned):
        assert isinstance(found.segment.sources[0], SourceSegment)


def test_pieces_of_any_size() -> None:
    data = b"".join(map(encode_message, MESSAGES))
    for size in (1, 3, 7, 100, len(data)):
        reader = MessageReader()
        found = [message for at in range(0, len(data), size) for message in reader.feed(data[at : at + size])]
        assert found == MESSAGES


@pytest.mark.parametrize(
    "data",
    [
        (MAX_MESSAGE_BYTES + 1).to_bytes(4, "big"),
        *[
            len(text).to_bytes(4, "big") + text
            for text in (
                b"{",
                b"5",
                b"[]",
                b'["Nobody"]',
                b'["Done"]',
                b'["Start",{},null]',
                b'["Failed","x","y"]',
                b"\xff",
            )
        ],
    ],
)
def test_what_is_no_message_is_refused(data: bytes) -> None:
    with pytest.raises(MalformedFrame):
        MessageReader().feed(data)


def test_what_a_job_will_read() -> None:
    assert JOB.bytes_to_read == 6_000
