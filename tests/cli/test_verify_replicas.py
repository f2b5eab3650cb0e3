"""`barnabas verify-replicas`: what counts as the same, on directories that are made here and on a broker of ours."""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from barnabas.cli.replicas.comparing import Seen, compare
from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.batches import CRC_AT, LEADER_EPOCH_AT, Batch, iterate_batches
from barnabas.protocol.record import Record
from barnabas.protocol.schema import Uuid
from barnabas.storage.checkpoints import REPLICATION_OFFSET_CHECKPOINT, write_offsets
from barnabas.storage.disk import SystemDisk
from barnabas.storage.log import Log
from barnabas.storage.meta_properties import MetaProperties, write_meta_properties
from barnabas.storage.partition_metadata import write_partition_metadata
from tests.cli.beside import Side, run
from tests.cli.log_files import append, make_partition, record

T0 = 1_700_000_000_000


def batch(first: int, *values: bytes, epoch: int = 0, offsets: Sequence[int] | None = None) -> bytes:
    at = offsets or range(first, first + len(values))
    records = [Record(b"k", value, timestamp=T0 + each, offset=each) for each, value in zip(at, values, strict=True)]
    return build_batch(records, base_offset=first, leader_epoch=epoch)


A, B, C = batch(0, b"a", b"b"), batch(2, b"c", epoch=1), batch(3, b"d", b"e", b"f", epoch=1)


def with_other_value(data: bytes) -> bytes:
    """Its checksum is right again."""
    found = bytearray(data)
    found[-2] ^= 1
    struct.pack_into(">I", found, CRC_AT, Batch(found).compute_crc())
    return bytes(found)


def damaged(data: bytes) -> bytes:
    return data[:-2] + bytes([data[-2] ^ 1]) + data[-1:]


# What is compared


def test_as_far_as_all_have_something() -> None:
    whole = A + B + C
    for found, batches, following in (
        ({1: whole, 2: whole}, 3, 6),
        ({1: whole, 2: whole, 3: A + B}, 2, 3),
        ({1: whole, 2: A + B + C[:20]}, 2, 3),
        ({1: whole, 2: b""}, 0, 0),
        ({1: whole}, 3, 6),
        ({1: b"", 2: b""}, 0, 0),
    ):
        compared = compare(found, 0)
        assert (compared.batches, compared.next_offset, compared.difference) == (batches, following, None), found


def test_a_fetch_begins_with_the_batch_that_has_the_offset() -> None:
    compared = compare({1: A + B, 2: A + B + C}, 1)
    assert (compared.batches, compared.next_offset) == (2, 3)
    # One replica gives more of what is known already.
    assert compare({1: A + B, 2: B}, 2).next_offset == 3


@pytest.mark.parametrize(
    ("other", "offset", "what"),
    [
        (A + with_other_value(B), 2, "checksum"),
        (A + batch(2, b"c", epoch=2), 2, "epoch"),
        (A + batch(2, b"c", b"d", epoch=1), 2, "offsets"),
        (A + C, 2, "offsets"),
        (A + damaged(B), 2, "damaged"),
        (damaged(A) + B, 0, "damaged"),
    ],
)
def test_the_first_difference(other: bytes, offset: int, what: str) -> None:
    for found in ({1: A + B + C, 2: other}, {1: A + B, 2: A + B + C, 3: other}):
        difference = compare(found, 0).difference
        assert difference is not None
        assert (difference.offset, difference.what) == (offset, what)
        assert list(difference.seen) == list(found)
        mine = difference.seen[1]
        assert mine is not None
        assert mine.intact
        assert mine.base_offset == offset


def test_what_each_has_where_they_differ() -> None:
    difference = compare({1: B, 4: with_other_value(B)}, 2).difference
    assert difference is not None
    theirs = Batch(with_other_value(B)).crc
    assert difference.seen == {1: Seen(2, 2, 1, Batch(B).crc, True), 4: Seen(2, 2, 1, theirs, True)}


def test_all_may_be_damaged_alike() -> None:
    difference = compare({1: A + damaged(B), 2: A + damaged(B)}, 0).difference
    assert difference is not None
    assert (difference.offset, difference.what) == (2, "damaged")
    assert all(seen is not None and not seen.intact for seen in difference.seen.values())


def test_what_is_no_batch_is_told_when_it_comes_first() -> None:
    nonsense = b"\xff" * 100
    assert compare({1: A + B, 2: A + nonsense}, 0).next_offset == 2
    for found in ({1: B, 2: nonsense}, {1: nonsense, 2: nonsense}):
        difference = compare(found, 2).difference
        assert difference is not None
        assert difference.what == "unreadable"


def test_compacted_logs_have_the_same_of_what_both_still_have() -> None:
    whole = [batch(0, b"a", b"b", b"c"), batch(3, b"d", b"e"), batch(5, b"f")]
    thinned = [batch(0, b"b", b"c", offsets=[1, 2]), batch(5, b"f")]
    found = {1: b"".join(whole), 2: b"".join(thinned)}
    assert compare(found, 0).difference is not None
    compared = compare(found, 0, compacted=True)
    # 0, 3 and 4 are gone from one.
    assert (compared.difference, compared.next_offset, compared.thinned) == (None, 6, 3)
    # As far as all go: the second may have more in the next round.
    assert compare({1: found[1], 2: thinned[0]}, 0, compacted=True).next_offset == 3
    assert compare({1: found[1], 2: b""}, 0, compacted=True).next_offset == 0
    other = {1: found[1], 2: b"".join([batch(0, b"b", b"x", offsets=[1, 2]), thinned[1]])}
    difference = compare(other, 0, compacted=True).difference
    assert difference is not None
    assert (difference.offset, difference.what) == (2, "record")
    broken = compare({1: found[1], 2: damaged(thinned[0])}, 0, compacted=True).difference
    assert broken is not None
    assert broken.what == "damaged"


# Directories


def make_nodes(root: Path, *, count: int = 3) -> list[Path]:
    """Of nodes 1, 2 and so on: each with its replica of orders-0, of several segments, and of payments-0."""
    first = root / "node-1"
    logs = [make_partition(first), make_partition(first, "payments-0")]
    for number in range(60):
        append(logs[0], record(number), record(number + 1), epoch=number // 20)
    append(logs[1], record(1))
    places = [first]
    for log in logs:
        log.close()
    for number in range(2, count + 1):
        places.append(root / f"node-{number}")
        shutil.copytree(first, places[-1])
    for number, place in enumerate(places, 1):
        own = MetaProperties.fresh("KclusterOfFilesOnly000", number, Uuid(bytes([number] * 16)))
        write_meta_properties(SystemDisk(), place, own)
    return places


def verify(places: Sequence[Path], *arguments: str) -> tuple[int, dict[str, Any]]:
    ran = run("verify-replicas", *(f"--data={place}" for place in places), *arguments, "--json")
    assert ran.err == "", ran
    return ran.code, json.loads(ran.out)


def change(place: Path, offset: int, how: Any) -> None:
    """The batch of orders-0 with that offset."""
    for path in sorted((place / "orders-0").glob("*.log")):
        data = bytearray(path.read_bytes())
        for each in iterate_batches(data):
            if each.base_offset <= offset <= each.last_offset:
                changed = how(bytes(data[each.position : each.end]))
                path.write_bytes(data[: each.position] + changed + data[each.end :])
                return
    raise AssertionError(f"there is no offset {offset}")


def test_directories_that_are_the_same(tmp_path: Path) -> None:
    places = make_nodes(tmp_path)
    assert len(list((places[0] / "orders-0").glob("*.log"))) > 3
    code, told = verify(places)
    assert code == 0
    orders, payments = told["partitions"]
    assert (orders["topic"], orders["replicas"], orders["first_offset"], orders["next_offset"]) == (
        *("orders", [1, 2, 3]),
        *(0, 120),
    )
    assert (orders["batches"], orders["equal"], payments["next_offset"]) == (60, True, 1)
    text = run("verify-replicas", *(f"--data={place}" for place in places), "--verbose").out.splitlines()
    assert text[0].split() == ["PARTITION", "REPLICAS", "FROM", "TO", "BATCHES", "SIZE", "RESULT"]
    assert text[1].split()[:4] == ["orders-0", "1,2,3", "0", "120"]
    assert text[-1].startswith("2 partitions with 6 replicas equal; 121 offsets in 61 batches, ")
    assert verify(places, "payments")[1]["partitions"] == [payments]
    assert verify(places, "--topics-include", "pay.*")[1]["partitions"] == [payments]


@pytest.mark.parametrize(
    ("how", "what"),
    [
        (with_other_value, "checksum"),
        (damaged, "damaged"),
        (lambda data: data[:LEADER_EPOCH_AT] + b"\0\0\0\x09" + data[LEADER_EPOCH_AT + 4 :], "epoch"),
        (lambda data: b"", "offsets"),
        (lambda data: b"\xff" * len(data), "unreadable"),
        (lambda data: b"\x01" * len(data), "unreadable"),
    ],
)
def test_one_that_differs_is_told(tmp_path: Path, how: Any, what: str) -> None:
    places = make_nodes(tmp_path)
    change(places[1], 61, how)
    code, told = verify(places)
    orders, payments = told["partitions"]
    assert (code, told["different"], payments["equal"]) == (1, 1, True)
    assert orders["difference"]["what"] == what
    assert orders["difference"]["offset"] == orders["next_offset"] == 60
    assert orders["difference"]["seen"]["1"]["base_offset"] == 60
    ran = run("verify-replicas", *(f"--data={place}" for place in places))
    assert ran.code == 1
    assert ran.out.startswith("orders-0 differs at offset 60: ")
    if what == "checksum":
        assert "Nodes 1 and 3 have offsets 60 to 61 of epoch 1 with checksum " in ran.out


def test_logs_that_begin_and_end_elsewhere(tmp_path: Path) -> None:
    """Retention has been at one, and at another a kill before the last records came."""
    places = make_nodes(tmp_path)
    first, *_ = sorted((places[1] / "orders-0").glob("*.log"))
    first.unlink()
    *_, last = sorted((places[2] / "orders-0").glob("*.log"))
    last.write_bytes(last.read_bytes()[:-7])
    code, told = verify(places)
    orders = told["partitions"][0]
    begin = int(min((places[1] / "orders-0").glob("*.log")).stem)
    assert begin > 0
    assert (code, orders["first_offset"], orders["next_offset"], orders["equal"]) == (0, begin, 118, True)
    assert orders["tails"] == {"1": 2, "2": 2}
    ran = run("verify-replicas", *(f"--data={place}" for place in places))
    assert "orders-0 is compared up to offset 118; node 1 has 2 more, node 2 has 2 more, not replicated yet." in ran.out


def test_a_log_that_has_lost_what_its_node_knew_to_be_committed(tmp_path: Path) -> None:
    places = make_nodes(tmp_path)
    *_, last = sorted((places[2] / "orders-0").glob("*.log"))
    last.write_bytes(last.read_bytes()[:-7])
    write_offsets(SystemDisk(), places[2] / REPLICATION_OFFSET_CHECKPOINT, {("orders", 0): 120})
    code, told = verify(places)
    assert (code, told["not_compared"]) == (1, 1)
    assert told["partitions"][0]["absent"] == {"3": "its log ends at 118, and up to 120 it knew to be committed"}


def test_space_that_is_allocated_and_not_used_is_no_log(tmp_path: Path) -> None:
    places = make_nodes(tmp_path)
    *_, last = sorted((places[2] / "orders-0").glob("*.log"))
    last.write_bytes(last.read_bytes() + bytes(5000))
    code, told = verify(places)
    assert (code, told["equal"]) == (0, 2)


def test_a_topic_that_was_made_anew_is_another(tmp_path: Path) -> None:
    places = make_nodes(tmp_path)
    write_partition_metadata(SystemDisk(), places[2] / "orders-0", Uuid(b"x" * 16))
    code, told = verify(places)
    orders = told["partitions"][0]
    assert (code, orders["replicas"], list(orders["absent"]), told["not_compared"]) == (1, [1, 2], ["3"], 1)
    assert "is of another topic of that name" in orders["absent"]["3"]
    ran = run("verify-replicas", *(f"--data={place}" for place in places))
    assert ran.out.startswith("Not compared as a whole: orders-0 (node 3: it is of another topic of that name")


def test_a_node_may_have_several_directories(tmp_path: Path) -> None:
    places = make_nodes(tmp_path, count=2)
    more = tmp_path / "more"
    shutil.copytree(places[1], more)
    shutil.rmtree(places[1] / "orders-0")
    shutil.rmtree(more / "payments-0")
    (more / "orders-7.1234-delete").mkdir()
    code, told = verify([*places, more])
    assert (code, [each["replicas"] for each in told["partitions"]]) == (0, [[1, 2], [1, 2]])


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--data", "nowhere"], 1, "There is no directory nowhere: name the log directories"),
        (["--data", "."], 1, "meta.properties does not say of which node it is"),
        (["--data", "node-1"], 1, "These are directories of one node"),
        (["--data", "node-1", "--data", "node-2", "clicks"], 1, "These directories hold no partition that is meant"),
        (["--data", "node-1", "--continuous"], 2, "--continuous goes with a cluster, not with --data"),
        (["--data", "node-1", "--time", "-1"], 2, "--time goes with a cluster"),
        (["orders", "--topics-include", "orders"], 2, "as words or with --topics-include, not both"),
        (["--report-interval-ms", "5"], 2, "--report-interval-ms goes with --continuous"),
        (["--fetch-size", "0"], 2, "--fetch-size 0 has to be above 0"),
        (["--time", "soon"], 2, "--time soon is no time"),
        (["orders:x"], 2, "orders:x is no rule for partitions"),
    ],
)
def test_what_cannot_be_meant(
    arguments: list[str], code: int, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_nodes(tmp_path, count=2)
    monkeypatch.chdir(tmp_path)
    refused = run("verify-replicas", *arguments)
    assert refused.code == code
    assert words in refused.err


# A cluster, of one: that it is asked for, and whether its records are whole


def test_a_cluster_of_one(side: Side, name: str) -> None:
    side.create(name, 2)
    for _ in range(3):
        side.produce(name, b"a", b"b", partition=1)
    told = side.json("verify-replicas", name)
    assert [(each["replicas"], each["next_offset"], each["equal"]) for each in told["partitions"]] == [
        ([1], 0, True),
        ([1], 6, True),
    ]
    told = side.json("verify-replicas", f"{name}:1", "--fetch-size", "1")
    assert [(each["partition"], each["next_offset"], each["batches"]) for each in told["partitions"]] == [(1, 6, 3)]
    nothing = side.json("verify-replicas", f"{name}:1", "--time", "-1")["partitions"]
    assert [(each["first_offset"], each["next_offset"]) for each in nothing] == [(6, 6)]
    assert side.run("verify-replicas", name).startswith("2 partitions with 2 replicas equal; 6 offsets in 3 batches, ")
    refused = side.attempt("verify-replicas", "no-such-topic")
    assert refused.code == 1
    assert "No topic is meant by that" in refused.err
    refused = side.attempt("verify-replicas", f"{name}:7")
    assert refused.code == 1
    assert "No partition is meant by that" in refused.err


def test_a_log_for_tests_is_a_log(tmp_path: Path) -> None:
    """What is compared here is what a node would have written."""
    log: Log = make_partition(tmp_path)
    append(log, record(1))
    log.close()
    assert run("log", "verify", str(tmp_path / "orders-0")).code == 0
