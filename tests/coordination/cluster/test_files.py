"""Snapshots, bootstrap.checkpoint and quorum-state: written, read, and refused where they are damaged."""

from __future__ import annotations

from itertools import pairwise

import pytest

from barnabas.coordination.cluster.bootstrap import (
    bootstrap_records,
    decode_bootstrap_checkpoint,
    encode_bootstrap_checkpoint,
    encode_first_snapshot,
    standalone_voters,
)
from barnabas.coordination.cluster.features import FEATURES, default_features
from barnabas.coordination.cluster.image import ClusterImage
from barnabas.coordination.cluster.log_batch import build_metadata_batch, read_metadata_batch
from barnabas.coordination.cluster.metadata_version import MetadataVersion
from barnabas.coordination.cluster.quorum_state import decode_quorum_state, encode_quorum_state
from barnabas.coordination.cluster.records import MetadataRecord
from barnabas.coordination.cluster.snapshot_file import BOOTSTRAP_SNAPSHOT, SnapshotId, decode_snapshot, encode_snapshot
from barnabas.coordination.cluster.snapshot_records import snapshot_records
from barnabas.protocol.batches import Batch, iterate_batches
from barnabas.protocol.errors import MalformedFrame
from barnabas.protocol.records.quorum_state import QuorumStateData, Voter
from barnabas.protocol.schema import Uuid
from tests.coordination.cluster import samples

VOTERS = standalone_voters(1, Uuid(range(16)), "CONTROLLER", "localhost", 9093)


def snapshot(records: list[MetadataRecord]) -> bytes:
    return encode_snapshot(records, epoch=7, last_log_timestamp_ms=99, now_ms=1234, kraft_version=1, voters=VOTERS)


def everything() -> list[MetadataRecord]:
    image = ClusterImage()
    image.apply_batch(samples.everything(), 0)
    return list(snapshot_records(image))


def test_a_snapshot_holds_what_was_written() -> None:
    read = decode_snapshot(snapshot(everything()))
    assert list(read.records) == everything()
    assert (read.last_log_timestamp_ms, read.kraft_version, read.voters) == (99, 1, VOTERS)


def test_a_snapshot_without_voters() -> None:
    read = decode_snapshot(encode_snapshot([], epoch=0, last_log_timestamp_ms=0, now_ms=0))
    assert (read.kraft_version, read.voters, read.records) == (0, None, ())
    with pytest.raises(ValueError, match="from kraft"):
        encode_snapshot([], epoch=0, last_log_timestamp_ms=0, now_ms=0, voters=VOTERS)


@pytest.mark.parametrize(("length", "data_batches"), [(5_000, 4), (2_000, 1), (1_000, 1), (20_000, 10)])
def test_batches_of_a_snapshot_follow_each_other_and_stay_below_their_limit(length: int, data_batches: int) -> None:
    records = [MetadataRecord(samples.config(2, "t", f"name{number}", "v" * length)) for number in range(4000)]
    data = snapshot(records)
    batches = list(iterate_batches(data))
    assert [batch.control for batch in batches] == [True, *[False] * data_batches, True]
    assert all(batch.size <= 8 << 20 for batch in batches)
    assert all(one.next_offset == other.base_offset for one, other in pairwise(batches))
    assert {batch.partition_leader_epoch for batch in batches} == {7}
    assert list(decode_snapshot(data).records) == records


def test_every_cut_and_every_flipped_byte_is_noticed() -> None:
    data = snapshot(everything())
    for length in range(0, len(data), 7):
        with pytest.raises(MalformedFrame):
            decode_snapshot(data[:length])
    checked = 0
    for position in range(0, len(data), 5):
        damaged = bytearray(data)
        damaged[position] ^= 0x10
        batches_intact = _only_stamps_differ(data, position)
        if batches_intact:
            continue
        checked += 1
        with pytest.raises(MalformedFrame):
            decode_snapshot(bytes(damaged))
    assert checked > 100


def _only_stamps_differ(data: bytes, position: int) -> bool:
    """Base offsets and epochs lie before what the checksum covers, and nobody reads those of a snapshot."""
    return any(
        0 <= position - batch.position < 8 or 12 <= position - batch.position < 16 for batch in iterate_batches(data)
    )


def test_what_is_no_snapshot() -> None:
    data = snapshot(everything())
    first, second, last = iterate_batches(data)
    with pytest.raises(MalformedFrame, match="begin with its header"):
        decode_snapshot(data[second.position :])
    with pytest.raises(MalformedFrame, match="ends before its footer"):
        decode_snapshot(data[: last.position])
    with pytest.raises(MalformedFrame, match="follow the footer"):
        decode_snapshot(data + data[first.position : first.end])
    with pytest.raises(MalformedFrame, match="ends before its footer"):
        decode_snapshot(b"")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("00000000000000000027-0000000001.checkpoint", SnapshotId(27, 1)),
        ("00000000000000000000-0000000000.checkpoint", BOOTSTRAP_SNAPSHOT),
        ("00000000000000000027-0000000001.checkpoint.deleted", None),
        ("00000000000000000027-0000000001-123.checkpoint.part", None),
        ("00000000000000000027.log", None),
        ("quorum-state", None),
    ],
)
def test_names_of_snapshots(name: str, expected: SnapshotId | None) -> None:
    assert SnapshotId.parse(name) == expected
    if expected is not None:
        assert expected.file_name == name


def test_the_first_records_of_a_cluster() -> None:
    def levels(*arguments: object) -> dict[str, int]:
        records = bootstrap_records(*arguments)  # type: ignore[arg-type]
        return {record.message.name: record.message.feature_level for record in records}  # type: ignore[union-attr]

    assert list(levels()) == [
        "metadata.version",
        "eligible.leader.replicas.version",
        "group.version",
        "share.version",
        "streams.version",
        "transaction.version",
    ]
    assert levels(MetadataVersion.V3_9_IV0) == {"metadata.version": 21}
    assert levels(MetadataVersion.V4_0_IV3) == {"metadata.version": 25, "group.version": 1, "transaction.version": 2}
    assert levels(MetadataVersion.V4_3_IV0, {"group.version": 0, "kraft.version": 1})["metadata.version"] == 30
    assert "group.version" not in levels(MetadataVersion.V4_3_IV0, {"group.version": 0})
    assert default_features() == {name: feature.latest for name, feature in FEATURES.items() if name != "kraft.version"}


def test_a_bootstrap_checkpoint() -> None:
    records = bootstrap_records()
    assert list(decode_bootstrap_checkpoint(encode_bootstrap_checkpoint(records, now_ms=5))) == records
    with pytest.raises(MalformedFrame, match="format the directory again"):
        decode_bootstrap_checkpoint(encode_bootstrap_checkpoint(records[1:], now_ms=5))


def test_the_first_snapshot_says_who_votes() -> None:
    read = decode_snapshot(encode_first_snapshot(VOTERS, now_ms=17))
    assert (read.last_log_timestamp_ms, read.kraft_version, read.voters, read.records) == (17, 1, VOTERS, ())


def test_batches_of_the_log() -> None:
    records = samples.everything()
    batch = Batch(build_metadata_batch(records, base_offset=40, leader_epoch=3, now_ms=77))
    assert list(read_metadata_batch(batch)) == records
    assert (batch.base_offset, batch.partition_leader_epoch, batch.max_timestamp) == (40, 3, 77)
    control = next(iterate_batches(snapshot([])))
    assert list(read_metadata_batch(control)) == []


@pytest.mark.parametrize(
    ("state", "version", "text"),
    [
        (
            QuorumStateData(leader_id=1, leader_epoch=7, voted_id=2, voted_directory_id=Uuid(range(16))),
            1,
            '{"leaderId":1,"leaderEpoch":7,"votedId":2,"votedDirectoryId":"AAECAwQFBgcICQoLDA0ODw","data_version":1}',
        ),
        (
            QuorumStateData(
                cluster_id="", leader_id=-1, leader_epoch=0, voted_id=-1, applied_offset=0, current_voters=[Voter(3)]
            ),
            0,
            (
                '{"clusterId":"","leaderId":-1,"leaderEpoch":0,"votedId":-1,"appliedOffset":0,'
                '"currentVoters":[{"voterId":3}],"data_version":0}'
            ),
        ),
        (
            QuorumStateData(cluster_id="c", leader_id=4, leader_epoch=1, current_voters=None),
            0,
            (
                '{"clusterId":"c","leaderId":4,"leaderEpoch":1,"votedId":-1,"appliedOffset":0,"currentVoters":null,'
                '"data_version":0}'
            ),
        ),
    ],
)
def test_quorum_state(state: QuorumStateData, version: int, text: str) -> None:
    assert encode_quorum_state(state, version).decode() == text
    assert decode_quorum_state(text.encode()) == (state, version)
    assert decode_quorum_state(text.encode() + b"\nmore") == (state, version)


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "7", '{"data_version":2}', '{"data_version":1,"leaderId":1}', '{"data']
)
def test_a_quorum_state_that_cannot_be_read(text: str) -> None:
    with pytest.raises(ValueError, match="the file quorum-state cannot be read"):
        decode_quorum_state(text.encode())


def test_quorum_state_has_two_versions() -> None:
    with pytest.raises(ValueError, match="0 and 1, not 2"):
        encode_quorum_state(QuorumStateData(), 2)
