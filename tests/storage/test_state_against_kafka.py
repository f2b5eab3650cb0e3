"""Apache Kafka reads the small files that we write and we read its own; what one refuses, the other does too."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from barnabas.protocol.directory_ids import LOST
from barnabas.protocol.java_properties import format_properties, parse_properties
from barnabas.protocol.schema import Uuid
from barnabas.storage.checkpoints import (
    CLEAN_SHUTDOWN,
    MalformedFile,
    read_clean_shutdown,
    read_offsets,
    write_clean_shutdown,
    write_offsets,
)
from barnabas.storage.epochs_file import LEADER_EPOCH_CHECKPOINT, EpochsFile
from barnabas.storage.leader_epochs import LeaderEpochs
from barnabas.storage.memory_disk import MemoryDisk
from barnabas.storage.meta_properties import (
    META_PROPERTIES,
    MetaProperties,
    check_directories,
    read_meta_properties,
    write_meta_properties,
)
from barnabas.storage.partition_metadata import (
    PARTITION_METADATA,
    read_partition_metadata,
    write_partition_metadata,
)
from tests.kafka.java_oracle import JavaOracle
from tests.storage.damaged_bytes import damaged
from tests.storage.state_oracle import SOURCE, StateOracle, as_hex, as_pairs, as_values

pytestmark = [pytest.mark.java, pytest.mark.slow]

DIRECTORY = Path("/logs")
# Besides flipped bits: letters of the same kind, and what turns one into a blank, a digit or an end of line.
MASKS = (1, 2, 4, 8, 16, 32, 64, 128, 0x3A, 0x10 ^ 0x2B, 0x53, 0x7F)
CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"
DIRECTORY_ID = Uuid(range(200, 216))


@pytest.fixture(scope="module")
def kafka(java_oracle: Callable[[Path], JavaOracle]) -> StateOracle:
    return StateOracle(java_oracle(SOURCE))


def disk_with(name: str, content: bytes) -> MemoryDisk:
    disk = MemoryDisk()
    disk.make_directory(DIRECTORY)
    disk.replace_file(DIRECTORY / name, content)
    return disk


def our_offsets(content: bytes) -> str | None:
    try:
        offsets = read_offsets(disk_with("offsets", content), DIRECTORY / "offsets")
    except MalformedFile:
        return None
    return " ".join(sorted(f"{as_hex(topic)}:{partition}:{offset}" for (topic, partition), offset in offsets.items()))


def our_epochs(content: bytes) -> str | None:
    try:
        epochs = EpochsFile.load(disk_with(LEADER_EPOCH_CHECKPOINT, content), DIRECTORY).epochs
    except MalformedFile:
        return None
    return " ".join(f"{epoch}:{offset}" for epoch, offset in epochs.entries)


def our_topic_id(content: bytes) -> str | None:
    try:
        return str(read_partition_metadata(disk_with(PARTITION_METADATA, content), DIRECTORY))
    except MalformedFile:
        return None


def our_meta(content: bytes) -> str | None:
    try:
        meta = read_meta_properties(disk_with(META_PROPERTIES, content), DIRECTORY)
    except MalformedFile:
        return None
    assert meta is not None
    return described(meta)


def described(meta: MetaProperties) -> str:
    cluster = None if meta.cluster_id is None else as_hex(meta.cluster_id)
    return " ".join(
        "null" if one is None else str(one) for one in (meta.version, cluster, meta.node_id, meta.directory_id)
    )


def our_broker_epoch(content: bytes) -> str | None:
    marker = read_clean_shutdown(disk_with(CLEAN_SHUTDOWN, content), DIRECTORY)
    assert marker is not None
    return "null" if marker.broker_epoch is None else str(marker.broker_epoch)


def our_properties(content: bytes) -> str | None:
    try:
        properties = parse_properties(content)
    except ValueError:
        return None
    return as_pairs(properties) if properties else ""


OFFSETS = b"0\n3\na.b_c-d 0 0\nclicks 9 9223372036854775807\nclicks 10 7\n"
META = format_properties(
    {"version": "1", "cluster.id": CLUSTER, "node.id": "3", "directory.id": str(DIRECTORY_ID), "broker.id": "x"}
)


@pytest.mark.parametrize(
    ("command", "ours", "contents"),
    [
        ("OFFSETS", our_offsets, [OFFSETS, b"0\r\n+2\r\nt\t0 \x0b 5 \t\r\nt 0 -6", b"0\n1\n 3 4\n", b"0\n-0\n"]),
        ("EPOCHS", our_epochs, [b"0\n2\n2 10\n14 250\n", b"0\n4\n1 0\n5 10\n3 10\n2 44\n", b"0\n1\n0 -5"]),
        (
            "METADATA",
            our_topic_id,
            [b"version: 0\ntopic_id: yMnKy8zNzs_Q0dLT1NXW1w", b"v:  9\r:: AAAAAAAAAAAAAAAAAAAAAQ==\n"],
        ),
        ("META", our_meta, [META, b"# old\nversion = 0\nbroker.id : 12\ncluster.id=c\\u0041\n", b"", b"version= 1 \n"]),
        (
            "CLEAN",
            our_broker_epoch,
            [b'{"version":0,"brokerEpoch":142}', b' {"brokerEpoch":1e3,"more":[{}]} and', b"null"],
        ),
    ],
)
def test_every_damaged_file_is_read_or_refused_alike(
    kafka: StateOracle, command: str, ours: Callable[[bytes], str | None], contents: list[bytes]
) -> None:
    for whole in contents:
        for content in (whole, *damaged(whole, MASKS)):
            assert ours(content) == kafka.said(command, as_hex(content)), content


def test_random_properties_are_read_alike(kafka: StateOracle) -> None:
    chance = random.Random(1)
    pieces = ["a", "key", "=", ":", " ", "\t", "\f", "\\", "\\", "\n", "\r", "#", "!", "\\u0041", "\\u", "\xe9", "\x0b"]
    for _ in range(3000):
        content = "".join(chance.choices(pieces, k=chance.randint(0, 12))).encode("latin-1")
        assert our_properties(content) == kafka.said("PROPERTIES", as_hex(content)), content


def test_random_properties_of_ours_are_read_by_kafka(kafka: StateOracle) -> None:
    chance = random.Random(2)
    for _ in range(300):
        letters = [chr(chance.choice([*range(128), 0xE9, 0x2028, 0x1F600])) for _ in range(20)]
        properties = {"".join(letters[: chance.randint(0, 9)]): "".join(letters[9:]), "b": " ".join(letters)}
        assert as_values(kafka.ask("PROPERTIES", as_hex(format_properties(properties)))) == properties


def test_offsets_of_each_are_read_by_the_other(kafka: StateOracle) -> None:
    offsets = {(f"topic-{number % 7}", number): number * 10**15 for number in range(50)}
    disk = disk_with("offsets", b"")
    write_offsets(disk, DIRECTORY / "offsets", offsets)
    said = kafka.ask("OFFSETS", as_hex(disk.read_file(DIRECTORY / "offsets")))
    assert said == our_offsets(disk.read_file(DIRECTORY / "offsets"))
    theirs = kafka.written("WRITE_OFFSETS", *said.split(" "))
    assert read_offsets(disk_with("offsets", theirs), DIRECTORY / "offsets") == offsets
    assert sorted(theirs.splitlines()) == sorted(disk.read_file(DIRECTORY / "offsets").splitlines())


def test_what_else_we_write_is_what_kafka_writes(kafka: StateOracle) -> None:
    disk = disk_with(PARTITION_METADATA, b"")
    write_partition_metadata(disk, DIRECTORY, DIRECTORY_ID)
    assert disk.read_file(DIRECTORY / PARTITION_METADATA) == kafka.written("WRITE_METADATA", DIRECTORY_ID)
    for epoch in (-1, 0, 2**63 - 1):
        write_clean_shutdown(disk, DIRECTORY, epoch)
        assert disk.read_file(DIRECTORY / CLEAN_SHUTDOWN) == kafka.written("WRITE_CLEAN", epoch)


@pytest.mark.parametrize(
    "meta",
    [
        MetaProperties.fresh(CLUSTER, 0, DIRECTORY_ID),
        MetaProperties(1, "a b=#!:\\c", 2**31 - 1),
        MetaProperties(0),
        MetaProperties(0, CLUSTER, 7, LOST),
    ],
)
def test_meta_properties_of_each_are_read_by_the_other(kafka: StateOracle, meta: MetaProperties) -> None:
    disk = disk_with(META_PROPERTIES, b"")
    write_meta_properties(disk, DIRECTORY, meta)
    ours = disk.read_file(DIRECTORY / META_PROPERTIES)
    assert kafka.ask("META", as_hex(ours)) == described(meta)
    theirs = kafka.written("WRITE_META", *described(meta).split(" "))
    assert our_meta(theirs) == described(meta)
    without_comments = [line for line in theirs.splitlines() if not line.startswith(b"#")]
    assert sorted(without_comments) == ours.splitlines()[1:]


def test_log_directories_are_one_nodes_where_kafka_says_so(kafka: StateOracle) -> None:
    one = [
        None,
        MetaProperties.fresh(CLUSTER, 3, DIRECTORY_ID),
        MetaProperties(1, CLUSTER, 3, Uuid(range(16))),
        MetaProperties(1, CLUSTER, 4),
        MetaProperties(1, "other", 3),
        MetaProperties(1, CLUSTER, 3, LOST),
        MetaProperties(1, CLUSTER, 3, Uuid(bytes(8) + b"\xff" * 8)),
        MetaProperties(0, None, 3),
        MetaProperties(0, "other"),
    ]
    accepted = 0
    for cluster_id, node_id in [(None, None), (CLUSTER, 3), ("other", None), (None, 4)]:
        for first in one:
            for second in one:
                files = ["null" if meta is None else as_hex(written(meta)) for meta in (first, second)]
                expected = [as_hex(cluster_id) if cluster_id else "null", "null" if node_id is None else node_id]
                fine = kafka.said("ENSEMBLE", *expected, *files) is not None
                problems = check_directories({Path("/a"): first, Path("/b"): second}, cluster_id, node_id)
                assert fine == (not problems), (first, second, problems)
                accepted += fine
    assert 50 < accepted < 4 * len(one) ** 2 - 50


def written(meta: MetaProperties) -> bytes:
    disk = disk_with(META_PROPERTIES, b"")
    write_meta_properties(disk, DIRECTORY, meta)
    return disk.read_file(DIRECTORY / META_PROPERTIES)


@pytest.mark.parametrize("seed", range(40))
def test_leader_epochs_are_driven_alike(kafka: StateOracle, seed: int) -> None:
    chance = random.Random(seed)
    highest = 15
    disk = disk_with(LEADER_EPOCH_CHECKPOINT, b"")
    file = EpochsFile.load(disk, DIRECTORY)
    epochs = file.epochs
    operations, states = [], []
    for _ in range(60):
        before = epochs.entries
        kind = chance.choice("aaaaaeesssc" if chance.random() < 0.3 else "aaaaaes")
        offset = chance.randint(0, highest)
        if kind == "a":
            epoch = chance.randint(0, highest)
            operations.append(f"a{epoch}:{offset}")
            epochs.assign(epoch, offset)
        elif kind == "c":
            operations.append("c")
            epochs.clear()
        else:
            offset -= chance.randint(0, 1)
            operations.append(f"{kind}{offset}")
            (epochs.truncate_from_end if kind == "e" else epochs.truncate_from_start)(offset)
        if epochs.entries != before:
            file.save()
        states.append(state_of(epochs, highest, disk))
    theirs = kafka.ask("DRIVE", highest, *operations)
    # Kafka writes when it clears what was empty already; a file without entries is as good as an empty one.
    assert theirs.replace(";300a300a", ";-").split(" ") == [state.replace(";300a300a", ";-") for state in states]


def state_of(epochs: LeaderEpochs, highest: int, disk: MemoryDisk) -> str:
    parts = [",".join(f"{epoch}:{offset}" for epoch, offset in epochs.entries)]
    for number in range(-2, highest + 1):
        found, end = epochs.end_offset_for(number, 1_000_000)
        previous, following = epochs.previous(number), epochs.next(number)
        covering = epochs.epoch_for_offset(number)
        neighbours = [previous.epoch if previous else -1, following.epoch if following else -1]
        parts.append(f"{found}:{end},{neighbours[0]},{neighbours[1]},{-1 if covering is None else covering}")
    return ";".join([*parts, as_hex(disk.read_file(DIRECTORY / LEADER_EPOCH_CHECKPOINT))])
