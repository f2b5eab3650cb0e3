"""`barnabas log dump` beside kafka-dump-log.sh: the same files, the same letters."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from barnabas.cli.main import main
from barnabas.coordination.cluster.bootstrap import bootstrap_records, encode_bootstrap_checkpoint, standalone_voters
from barnabas.coordination.cluster.snapshot_file import SnapshotId, encode_snapshot
from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.batches import TimestampType
from barnabas.protocol.codec import encode
from barnabas.protocol.control import ControlRecordType, build_control_batch
from barnabas.protocol.log_records import (
    CoordinatorLog,
    encode_coordinator_key,
    encode_metadata_record,
    encode_versioned,
)
from barnabas.protocol.record import Record
from barnabas.protocol.records.classic_group import GroupMetadataKey, GroupMetadataValue, MemberMetadata
from barnabas.protocol.records.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from barnabas.protocol.records.control import LeaderChangeMessage, Voter
from barnabas.protocol.schema import Uuid
from tests.cli.log_files import NOW_MS, make_directory
from tests.kafka.tool_runner import ToolRunner
from tests.protocol.generated import every_version, full_message
from tests.protocol.test_legacy_batches import GOLDEN
from tests.protocol.test_log_records import COORDINATOR_LOGS, METADATA_RECORDS, coordinator_records, module_name

Dump = Callable[..., tuple[int, str, str]]
KINDS = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_directory(tmp_path_factory.mktemp("logs"))


@pytest.fixture(scope="module")
def partition(directory: Path) -> Path:
    return directory / "orders-0"


@pytest.fixture(scope="module")
def kafka(kafka_tools: ToolRunner) -> Dump:
    """kafka-dump-log.sh: its exit code, and what it says."""

    def dump(*arguments: str) -> tuple[int, str, str]:
        return kafka_tools.attempt("org.apache.kafka.tools.DumpLogSegments", *arguments)

    return dump


@pytest.fixture
def ours(capsys: pytest.CaptureFixture[str]) -> Dump:
    def dump(*arguments: str) -> tuple[int, str, str]:
        code = main(["kafka-dump-log.sh", *arguments])
        told = capsys.readouterr()
        return code, told.out, told.err

    return dump


@pytest.fixture
def values(ours: Dump) -> Callable[..., list[dict[str, Any]]]:
    def dump(*arguments: str) -> list[dict[str, Any]]:
        code, out, err = ours(*arguments, "--json")
        assert (code, err) == (0, "")
        return [json.loads(line) for line in out.splitlines()]

    return dump


def listed(files: Iterator[Path]) -> str:
    return ",".join(map(str, sorted(files)))


@pytest.mark.java
@pytest.mark.parametrize(
    "flags",
    [
        (),
        ("--print-data-log",),
        ("--deep-iteration",),
        ("--print-data-log", "--skip-record-metadata"),
        ("--deep-iteration", "--skip-record-metadata"),
        ("--max-bytes", "500"),
        ("--print-data-log", "--max-bytes", "70"),
        ("--verify-index-only",),
        ("--index-sanity-check",),
        ("--max-message-size", "1000000", "--verify-index-only"),
        ("--value-decoder-class", "org.apache.kafka.tools.api.StringDecoder"),
        ("--key-decoder-class",),
    ],
    ids=" ".join,
)
def test_every_flag_prints_what_kafka_prints(partition: Path, kafka: Dump, ours: Dump, flags: tuple[str, ...]) -> None:
    files = listed(path for path in partition.iterdir() if path.suffix in KINDS)
    code, out, err = kafka("--files", files, *flags)
    assert out.count("\n") > 20
    mine = ours("--files", files, *flags)
    assert mine[:2] == (code, out)
    # Of several files Kafka tells what is wrong in the order of a hash table.
    assert sorted(mine[2].splitlines()) == sorted(err.splitlines())


@pytest.mark.java
def test_numbers_by_the_decoders_that_kafka_ships(tmp_path: Path, kafka: Dump, ours: Dump) -> None:
    path = tmp_path / f"{0:020d}.log"
    path.write_bytes(build_batch([Record((7).to_bytes(4, "big"), (-3).to_bytes(8, "big", signed=True), timestamp=1)]))
    classes = ["--key-decoder-class", "org.apache.kafka.tools.api.IntegerDecoder"]
    classes += ["--value-decoder-class", "org.apache.kafka.tools.api.LongDecoder"]
    theirs = kafka("--files", str(path), *classes)
    assert "key: 7 payload: -3" in theirs[1]
    assert ours("--files", str(path), *classes) == theirs


@pytest.mark.java
@pytest.mark.parametrize("option", COORDINATOR_LOGS, ids=str)
def test_every_record_of_coordinators(tmp_path: Path, kafka: Dump, ours: Dump, option: str) -> None:
    log = COORDINATOR_LOGS[option]
    assert isinstance(log, CoordinatorLog)
    records = [
        Record(encode_coordinator_key(key), encode_versioned(value, version), timestamp=NOW_MS)
        for key, value, version in coordinator_records(log)
    ]
    records += [Record(records[0].key, None, timestamp=NOW_MS), Record(b"\x7f\x00", b"", timestamp=NOW_MS)]
    if option == "--offsets-decoder":
        records += group_of_consumers()
    path = tmp_path / f"{0:020d}.log"
    path.write_bytes(build_batch(records))
    theirs = kafka("--files", str(path), option)
    assert theirs[1].count(" key: ") == len(records)
    assert ours("--files", str(path), option) == theirs


def group_of_consumers() -> Iterator[Record]:
    """With what its members told each other, and what they did not tell."""
    subscription = encode_versioned(ConsumerProtocolSubscription(topics=["orders"]), 3)
    assignment = encode_versioned(ConsumerProtocolAssignment(), 0)
    for told in ((subscription, assignment), (b"\x00", b""), (b"\x00\x63rest", assignment)):
        member = MemberMetadata(
            member_id="m", client_id="c", client_host="/h", subscription=told[0], assignment=told[1]
        )
        value = GroupMetadataValue(
            protocol_type="consumer", generation=1, protocol="range", leader="m", members=[member]
        )
        yield Record(encode_coordinator_key(GroupMetadataKey(group="g")), encode_versioned(value, 3), timestamp=NOW_MS)


@pytest.mark.java
def test_every_record_of_the_clusters_metadata(tmp_path: Path, kafka: Dump, ours: Dump) -> None:
    values = [encode_metadata_record(full_message(cls, version), version) for cls, version in METADATA_RECORDS]
    path = tmp_path / f"{3:020d}.log"
    batches = [
        build_batch([Record(value=value, timestamp=NOW_MS) for value in values], base_offset=3, leader_epoch=4),
        *control_batches(3 + len(values)),
    ]
    path.write_bytes(b"".join(batches))
    snapshot = tmp_path / SnapshotId(9, 2).file_name
    voters = standalone_voters(1, Uuid(bytes(16)), "CONTROLLER", "localhost", 9093)
    records = bootstrap_records()
    snapshot.write_bytes(
        encode_snapshot(records, epoch=2, last_log_timestamp_ms=5, now_ms=NOW_MS, kraft_version=1, voters=voters)
    )
    bootstrap = tmp_path / "bootstrap.checkpoint"
    bootstrap.write_bytes(encode_bootstrap_checkpoint(records, now_ms=NOW_MS))
    for flags in (("--cluster-metadata-decoder",), ("--cluster-metadata-decoder", "--skip-record-metadata")):
        theirs = kafka("--files", listed(tmp_path.iterdir()), *flags)
        assert theirs[1].count("payload: {") == len(values) + 2 * len(records)
        assert ours("--files", listed(tmp_path.iterdir()), *flags) == theirs


def control_batches(offset: int) -> Iterator[bytes]:
    """Version 1, which Kafka 4.3.1 does not write yet, its tool cannot read."""
    data = encode(LeaderChangeMessage(version=0, leader_id=1, voters=[Voter(voter_id=1)]), 0)
    yield build_control_batch(ControlRecordType.LEADER_CHANGE, data, timestamp=NOW_MS, base_offset=offset)


@pytest.mark.java
def test_every_record_of_remote_storage(tmp_path: Path, kafka: Dump, ours: Dump) -> None:
    cases = [case for case in every_version() if module_name(case[0]) == "remote_log_metadata"]
    messages = [full_message(cls, version) for cls, version in cases]
    for message in messages:
        for name in ("remote_log_segment_state", "remote_partition_delete_state"):
            if hasattr(message, name):
                setattr(message, name, 1)
        if hasattr(message, "end_offset"):
            message.start_offset, message.end_offset = 1, 7  # type: ignore[attr-defined]
    path = tmp_path / f"{0:020d}.log"
    values = [encode_metadata_record(message, 0) for message in messages]
    path.write_bytes(build_batch([Record(value=value, timestamp=NOW_MS) for value in values]))
    theirs = kafka("--files", str(path), "--remote-log-metadata-decoder")
    assert theirs[1].count("payload: Remote") == len(values) == 4
    assert ours("--files", str(path), "--remote-log-metadata-decoder") == theirs


@pytest.mark.java
def test_batches_of_old_formats_and_odd_new_ones(tmp_path: Path, kafka: Dump, ours: Dump) -> None:
    old = b"".join(bytes.fromhex(data) for data in GOLDEN.values())
    odd = build_batch(
        [Record(b"k", b"v", timestamp=NOW_MS)],
        base_offset=9,
        last_offset=12,
        timestamp_type=TimestampType.LOG_APPEND_TIME,
        append_time_ms=NOW_MS + 5,
    )
    horizon = build_batch([Record(b"k", None, timestamp=NOW_MS)], base_offset=20, delete_horizon_ms=NOW_MS + 7)
    damaged = bytearray(build_batch([Record(b"k", b"v", timestamp=1)], base_offset=30))
    damaged[-2] ^= 1
    path = tmp_path / f"{0:020d}.log"
    path.write_bytes(old + odd + horizon + damaged + b"\0\0\0rest")
    for flags in ((), ("--print-data-log",), ("--max-bytes", "150")):
        theirs = kafka("--files", str(path), *flags)
        assert "isvalid: false" in theirs[1] or "--max-bytes" in flags
        assert ours("--files", str(path), *flags) == theirs


@pytest.mark.java
def test_indexes_that_lead_astray_are_told_as_kafka_tells_them(
    partition: Path, tmp_path: Path, kafka: Dump, ours: Dump
) -> None:
    copy = shutil.copytree(partition, tmp_path / "orders-0")
    base = min(copy.glob("*.index"))
    times = base.with_suffix(".timeindex")
    other = base.with_suffix(".log").read_bytes()
    rows = bytearray(base.read_bytes())
    rows[3] += 1
    base.write_bytes(rows)
    stamps = bytearray(times.read_bytes())
    stamps[7] ^= 3
    stamps[12:24] = stamps[:12]
    times.write_bytes(stamps + (2**40).to_bytes(8, "big") + b"\0\0\0\x7f")
    assert other == base.with_suffix(".log").read_bytes()
    for path in (base, times):
        theirs = kafka("--files", str(path), "--verify-index-only")
        assert theirs[2]
        assert ours("--files", str(path), "--verify-index-only") == theirs


@pytest.mark.java
def test_unknown_files_are_ignored_with_kafkas_words(tmp_path: Path, kafka: Dump, ours: Dump) -> None:
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / "notes").write_text("x")
    files = f"{tmp_path / 'notes.txt'},{tmp_path / 'notes'}"
    assert ours("--files", files) == kafka("--files", files)


def test_a_partitions_directory_is_dumped_as_a_whole(partition: Path, directory: Path, ours: Dump) -> None:
    whole = ours(str(partition))
    assert whole[1].count("Dumping ") == len(list(partition.glob("*.log")))
    assert ours("--topic", "orders", "--partition", "0", "--data", str(directory)) == whole
    assert ours(str(directory), "--topic", "orders") == whole
    every = ours(str(partition), "--all")
    assert every[1].count("Dumping ") == len(list(partition.iterdir()))
    assert "topic_id: " in every[1]


def test_offsets_bound_what_is_shown(partition: Path, values: Callable[..., list[dict[str, Any]]]) -> None:
    for first, end in ((0, 3), (3, 4), (14, 40), (20, None), (40, 41)):
        bounds = ["--from-offset", str(first), *(["--to-offset", str(end)] if end is not None else [])]
        found = values(str(partition), "--print-data-log", *bounds)
        offsets = [record["offset"] for batch in found for record in batch["records"]]
        assert offsets == list(range(first, 43 if end is None else end))


def test_json_says_everything_of_records(partition: Path, values: Callable[..., list[dict[str, Any]]]) -> None:
    batches = [value for value in values(str(partition), "--print-data-log") if value["kind"] == "batch"]
    records = {record["offset"]: record for batch in batches for record in batch["records"]}
    assert records[0] == {
        "offset": 0,
        "timestamp": NOW_MS,
        "key": "key-0",
        "value": "v" * 40,
        "headers": [],
    }
    assert (records[10]["key"], records[10]["value"]) == (None, None)
    assert records[11]["key"] == "Grüße\t☃"
    assert records[12]["key"] == {"base64": "//4="}
    assert records[12]["headers"] == [{"key": "first", "value": "1"}, {"key": "ü", "value": None}]
    assert [record["control"] for record in records.values() if "control" in record] == [
        {"type": "ABORT", "coordinatorEpoch": 3},
        {"type": "COMMIT", "coordinatorEpoch": 3},
    ]
    assert all(batch["isValid"] for batch in batches)


def test_json_of_other_files(partition: Path, values: Callable[..., list[dict[str, Any]]]) -> None:
    kinds = {value["kind"] for value in values(str(partition), "--all")}
    assert kinds == {"batch", "row", "producer", "aborted", "text", "problem"} - {"problem"}


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["{tmp}/nothing.log"], 1, ["There is no", "nothing.log"]),
        (["--files", "{tmp}/nothing.log"], 1, ["nothing.log", "no segment"]),
        (["--files", "{tmp}/00000000000000000000.log"], 1, ["00000000000000000000.log", "No such file"]),
        (["{root}", "--topic", "order"], 1, ["no topic order", "orders"]),
        (["{root}", "--topic", "orders", "--partition", "7"], 1, ["no partition 7", "0"]),
        (["--partition", "7"], 2, ["--partition", "--topic"]),
        (["{tmp}"], 1, ["holds no partition", "--data"]),
        (["{root}/orders-0", "--print-data-log", "--value-decoder-class", "my.Decoder"], 1, ["my.Decoder", "Java"]),
        (["{root}/orders-0", "--key-decoder-class", "org.apache.kafka.tools.api.LongDecoder"], 1, ["no number"]),
        (["{root}/orders-0", "--offsets-decoder", "--from-offset", "10"], 1, ["offset 10", "no key"]),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(
    directory: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: int,
    words: list[str],
) -> None:
    try:
        ended: object = main(["log", "dump", *(each.format(root=directory, tmp=tmp_path) for each in arguments)])
    except SystemExit as error:
        ended = error.code
    told = capsys.readouterr().err
    assert ended == code, told
    assert all(word in told for word in words), told
    assert told.count("\n") == 1


def test_a_torn_or_damaged_log_is_shown_as_far_as_it_goes(partition: Path, tmp_path: Path, ours: Dump) -> None:
    data = min(partition.glob("*.log")).read_bytes()
    path = tmp_path / f"{0:020d}.log"
    path.write_bytes(data[:-5])
    code, out, _ = ours(str(path))
    assert code == 0
    assert "invalid bytes at the end of 00000000000000000000.log" in out
    path.write_bytes(data + bytes(100))
    code, out, err = ours(str(path))
    assert code == 1
    assert out.count("baseOffset: ") == 9
    assert f"behind byte {len(data)}" in err
