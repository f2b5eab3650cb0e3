"""meta.properties: what is read, what is refused, and which directories belong together."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.protocol.directory_ids import LOST, MIGRATING, UNASSIGNED, is_reserved
from barnabas.protocol.java_properties import format_properties, parse_properties
from barnabas.protocol.schema import Uuid
from barnabas.storage.checkpoints import MalformedFile
from barnabas.storage.memory_disk import MemoryDisk
from barnabas.storage.meta_properties import (
    META_PROPERTIES,
    MetaProperties,
    check_directories,
    read_meta_properties,
    write_meta_properties,
)
from tests.storage.damaged_bytes import damaged

DIRECTORY = Path("/logs")
CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"
DIRECTORY_ID = Uuid(range(200, 216))
FRESH = MetaProperties.fresh(CLUSTER, 3, DIRECTORY_ID)
CONTENT = b"""#
cluster.id=MkU3OEVBNTcwNTJENDM2Qg
directory.id=yMnKy8zNzs_Q0dLT1NXW1w
node.id=3
version=1
"""


def disk_with(content: bytes) -> MemoryDisk:
    disk = MemoryDisk()
    disk.make_directory(DIRECTORY)
    disk.replace_file(DIRECTORY / META_PROPERTIES, content)
    return disk


def read(content: bytes) -> MetaProperties | None:
    return read_meta_properties(disk_with(content), DIRECTORY)


def test_what_is_written_is_read() -> None:
    disk = MemoryDisk()
    disk.make_directory(DIRECTORY)
    assert read_meta_properties(disk, DIRECTORY) is None
    write_meta_properties(disk, DIRECTORY, FRESH)
    assert disk.read_file(DIRECTORY / META_PROPERTIES) == CONTENT
    assert read_meta_properties(disk, DIRECTORY) == FRESH
    assert disk.names(DIRECTORY) == [META_PROPERTIES]


def test_version_0_calls_the_node_a_broker_and_promises_nothing() -> None:
    assert read(b"") == MetaProperties(version=0)
    old = MetaProperties(version=0, cluster_id="c", node_id=7)
    assert read(b"version=0\nbroker.id=7\ncluster.id=c\n") == read(b"broker.id=7\ncluster.id=c\n") == old
    disk = disk_with(b"")
    write_meta_properties(disk, DIRECTORY, old)
    assert disk.read_file(DIRECTORY / META_PROPERTIES) == b"#\nbroker.id=7\ncluster.id=c\nversion=0\n"


def test_what_is_unknown_stays() -> None:
    disk = disk_with(CONTENT + b"broker.id=9\nfuture\\ key : = \\u00fc\xfc \n")
    meta = read_meta_properties(disk, DIRECTORY)
    assert meta is not None
    assert meta.others == {"broker.id": "9", "future key": "= üü "}
    write_meta_properties(disk, DIRECTORY, meta)
    assert read_meta_properties(disk, DIRECTORY) == meta


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"version=2\n", "version=2 is unknown"),
        (b"version=one\n", "version='one' is no integer"),
        (b"version=1\nnode.id=1\n", "cluster.id is missing"),
        (b"version=1\ncluster.id=c\nbroker.id=1\n", "node.id is missing"),
        (b"version=1\ncluster.id=c\nnode.id=1 \n", "node.id='1 ' is no integer"),
        (b"broker.id=\n", "broker.id='' is no integer"),
        (b"directory.id=short\n", "directory.id='short' is no Kafka uuid"),
        (b"key=\\u12\n", "four hexadecimal digits"),
    ],
)
def test_what_is_malformed_says_where_and_what_to_do(content: bytes, reason: str) -> None:
    with pytest.raises(MalformedFile) as raised:
        read(content)
    assert str(raised.value).startswith("/logs/meta.properties: ")
    assert reason in raised.value.reason
    assert "restore the file from a copy" in raised.value.remedy


def test_any_damage_is_read_or_named() -> None:
    refused = 0
    disk = disk_with(b"")
    for content in damaged(CONTENT):
        disk.replace_file(DIRECTORY / META_PROPERTIES, content)
        try:
            read_meta_properties(disk, DIRECTORY)
        except MalformedFile:
            refused += 1
    assert refused > 1000


@pytest.mark.parametrize(
    ("content", "properties"),
    [
        (b"a=b", {"a": "b"}),
        (b"a:b\na = c\n", {"a": "c"}),
        (b"  key\tvalue with blanks \n", {"key": "value with blanks "}),
        (b"a\n=b\n", {"a": "", "": "b"}),
        (b"# a=b\n ! c=d\n#continued\\\ne=f\n", {"e": "f"}),
        (b"a=b\\\n   c\\\r\n\td\n", {"a": "bcd"}),
        (b"a=b\\\\\nc=d", {"a": "b\\", "c": "d"}),
        (b"a=b\\\n\nc=d", {"a": "b", "c": "d"}),
        (b"a=b\\", {"a": "b"}),
        (b"a\\ \\=\\:b = \\t\\n\\q\\u0041", {"a =:b": "\t\nqA"}),
        (b"a == b", {"a": "= b"}),
        (b"a=\\ud83d\\ude00\xe9", {"a": "😀é"}),
        (b"\\\n#a=b\nc=d", {"c": "d"}),
    ],
)
def test_the_syntax_of_properties(content: bytes, properties: dict[str, str]) -> None:
    assert parse_properties(content) == properties


@given(st.dictionaries(st.text(), st.text()))
def test_properties_come_back(properties: dict[str, str]) -> None:
    assert parse_properties(format_properties(properties)) == properties


@pytest.mark.parametrize(
    ("directory_id", "reserved"),
    [
        (MIGRATING, True),
        (UNASSIGNED, True),
        (LOST, True),
        (Uuid((99).to_bytes(16, "big")), True),
        (Uuid((100).to_bytes(16, "big")), False),
        (Uuid(bytes(8) + b"\xff" * 8), True),
        (Uuid(b"\xff" * 16), False),
        (DIRECTORY_ID, False),
    ],
)
def test_reserved_directory_ids_are_never_given(directory_id: Uuid, reserved: bool) -> None:
    assert is_reserved(directory_id) == reserved
    if reserved:
        with pytest.raises(ValueError, match="is reserved"):
            MetaProperties.fresh(CLUSTER, 3, directory_id)
    else:
        assert MetaProperties.fresh(CLUSTER, 3, directory_id).directory_id == directory_id


A, B = Path("/a"), Path("/b")


@pytest.mark.parametrize(
    "found",
    [
        {},
        {A: None, B: None},
        {A: FRESH, B: None},
        {A: FRESH, B: MetaProperties(1, CLUSTER, 3, Uuid(range(16)))},
        {A: FRESH, B: MetaProperties(1, CLUSTER, 3)},
        {A: FRESH, B: MetaProperties(0)},
    ],
)
def test_directories_of_one_node(found: dict[Path, MetaProperties | None]) -> None:
    assert check_directories(found) == check_directories(found, CLUSTER, 3) == []


def test_another_cluster() -> None:
    other = MetaProperties(1, "other", 3)
    remedy = "take the directory out of log.dirs{}, or join the cluster that it belongs to."
    assert check_directories({B: other, A: FRESH}) == [
        f"/b/meta.properties says cluster.id=other, but /a/meta.properties says cluster.id={CLUSTER}: "
        + remedy.format(" (barnabas start --set log.dirs=/a)")
    ]
    assert check_directories({A: FRESH}, "other") == [
        f"/a/meta.properties says cluster.id={CLUSTER}, but this node is configured with cluster.id=other: "
        + remedy.format("")
    ]


def test_another_node() -> None:
    (problem,) = check_directories({A: FRESH}, None, 4)
    assert problem == (
        "/a/meta.properties says node.id=3, but this node is configured with node.id=4: if the data is this node's, "
        "set node.id=3 (barnabas start --set node.id=3), or take the directory out of log.dirs."
    )
    assert len(check_directories({A: FRESH, B: MetaProperties(0, "other", 5)}, CLUSTER, 3)) == 2


def test_a_directory_id_that_cannot_be() -> None:
    (problem,) = check_directories({A: FRESH, B: FRESH})
    assert problem == (
        f"/b/meta.properties says directory.id={DIRECTORY_ID} as /a/meta.properties does: take the one that is a copy "
        "out of log.dirs, or if it is this one, run: sed -i '/^directory.id=/d' '/b/meta.properties', and the "
        "directory is given another id at the next start."
    )
    (problem,) = check_directories({A: MetaProperties(1, CLUSTER, 3, LOST)})
    assert problem.startswith(
        "/a/meta.properties says directory.id=AAAAAAAAAAAAAAAAAAAAAg, which is reserved: run: sed"
    )
