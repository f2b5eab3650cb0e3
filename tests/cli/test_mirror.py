"""`barnabas mirror` between two brokers of ours: what is copied, and kept in step."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

import pytest

from barnabas.client.cluster import Partition
from barnabas.protocol.compression import Compression
from barnabas.protocol.record import Record
from tests.cli.beside import Side, run
from tests.cli.group_members import classic_member
from tests.cli.mirrors import Between, copied, ends_of, now_ms
from tests.clients.broker_process import BrokerProcess

FAST = ("--refresh-seconds", "0.2", "--groups-seconds", "0.2", "--heartbeat-seconds", "0.2", "--report-seconds", "0.2")


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[BrokerProcess, BrokerProcess]]:
    with (
        BrokerProcess(tmp_path_factory.mktemp("source")) as source,
        BrokerProcess(tmp_path_factory.mktemp("target")) as target,
    ):
        yield source, target
        assert source.new_failures() + target.new_failures() == ""


@pytest.fixture
def between(brokers: tuple[BrokerProcess, BrokerProcess]) -> Between:
    return ends_of(*brokers)


@pytest.fixture
def own(name: str) -> tuple[str, ...]:
    """A map of its own for each test."""
    return ("--offsets-topic", f"mirror.offsets-{name}", *FAST)


def some_records(seed: int, count: int) -> list[Record]:
    draw = random.Random(seed)
    return [
        Record(
            draw.choice([None, b"", draw.randbytes(draw.randrange(20))]),
            draw.choice([None, b"", draw.randbytes(draw.randrange(3000))]),
            draw.choice([(), (("h", b"1"), ("h", None)), (("ü", b""),)]),
            now_ms() - draw.randrange(100_000),
        )
        for _ in range(count)
    ]


def test_records_are_the_same(between: Between, name: str, own: tuple[str, ...]) -> None:
    between.source.create(name, 3)
    for number, compression in enumerate([*Compression, *Compression]):
        for part in range(3):
            records = some_records(number * 3 + part, 1 + number * 8)
            between.source.produce(name, *records, partition=part, compression=compression)
    ran = between.catch_up(name, *own)
    assert ran.err == f"{name} is made at the target, with 3 partitions.\n"
    total = between.same(name, range(3))
    assert total == 3 * sum(1 + number * 8 for number in range(10))
    assert ran.out.splitlines()[-1].startswith(f"{total:,} records, ")
    # Nothing is copied twice, and what is new is.
    assert between.catch_up(name, *own).out.startswith("0 records, ")
    between.source.values(name, b"new", partition=1)
    assert between.catch_up(name, *own).out.startswith("1 records, ")
    assert between.same(name, range(3)) == total + 1


def test_many_small_batches_are_few(between: Between, name: str, own: tuple[str, ...]) -> None:
    between.source.create(name)
    for number in range(200):
        between.source.values(name, b"%d" % number)
    between.catch_up(name, *own)
    assert between.same(name) == 200
    directory = between.target.broker.data_directory  # type: ignore[attr-defined]
    dumped = run("log", "dump", str(directory / f"{name}-0"), "--json").out.splitlines()
    assert len([line for line in dumped if json.loads(line)["kind"] == "batch"]) == 1


def test_topics_are_kept_in_step(between: Between, name: str, own: tuple[str, ...]) -> None:
    one, other = f"{name}.one", f"{name}.other"
    between.source.create(one, 2, retention_ms="-1", message_timestamp_before_max_ms="99999999999")
    pattern = [f"{name}\\..*", "--exclude", ".*secret", *own]
    between.catch_up(*pattern)

    def of_target(topic: str) -> tuple[int, dict[str, str]]:
        told = json.loads(between.target.run("topics", "describe", topic, "--json"))[0]
        # What holds for all topics of a cluster is not the topic's own.
        return told["partition_count"], {k: v for k, v in told["configs"].items() if k != "min.insync.replicas"}

    assert of_target(one) == (2, {"retention.ms": "-1"})
    between.source.run("topics", "alter", one, "--partitions", "4")
    between.source.run("configs", "alter", "topic", one, "--add-config", "segment.bytes=2000000")
    between.source.run("configs", "alter", "topic", one, "--delete-config", "retention.ms")
    between.source.create(other)
    between.source.create(f"{name}.secret")
    between.source.values(one, b"in a new partition", partition=3)
    ran = between.catch_up(*pattern)
    assert of_target(one) == (4, {"segment.bytes": "2000000"})
    assert of_target(other) == (1, {})
    assert f"{one} has 4 partitions at the target now." in ran.err
    assert f"{one} is set as at the source: segment.bytes=2000000, no retention.ms." in ran.err
    assert between.same(one, range(4)) == 1
    assert f"{name}.secret" not in between.target.run("topics", "list")
    # What is said to be left alone is.
    between.source.run("configs", "alter", "topic", one, "--add-config", "retention.ms=123456")
    between.catch_up(*pattern, "--configs", "once")
    assert of_target(one) == (4, {"segment.bytes": "2000000"})
    between.source.create(f"{name}.third", retention_ms="-1")
    between.catch_up(*pattern, "--configs", "none")
    assert of_target(f"{name}.third") == (1, {})


def test_others_may_write_there_too(between: Between, name: str, own: tuple[str, ...]) -> None:
    between.source.create(name)
    between.source.values(name, b"1", b"2")
    between.catch_up(name, *own)
    between.target.values(name, b"another's")
    between.source.values(name, b"3")
    between.catch_up(name, *own)
    between.target.values(name, b"another's")
    between.source.values(name, b"4", b"5")
    between.catch_up(name, *own)
    values = [record.value for record in between.target.records(name)]
    assert values == [b"1", b"2", b"another's", b"3", b"another's", b"4", b"5"]
    (told,) = between.status(*own)["partitions"]
    assert (told["next"], told["target"], told["runs"], told["lag"]) == (5, 7, 3, 0)


def test_groups_go_on_at_the_record_that_they_would_have_read(
    between: Between, name: str, own: tuple[str, ...]
) -> None:
    at = Partition(name, 0)
    between.source.create(name)
    flags = [name, "--groups", f"{name}-group.*", *own]
    for part in range(4):
        between.source.values(name, *[b"%d" % (10 * part + each) for each in range(10)])
        between.catch_up(*flags)
        between.target.values(name, b"another's", b"another's")
    here = between.source.records(name)
    groups = {f"{name}-group-{offset}": offset for offset in (0, 1, 9, 10, 11, 25, 39, 40)}
    for group, offset in groups.items():
        between.source.commit(group, {at: offset})
    between.source.commit(f"{name}-nobody-asked", {at: 5})
    ran = between.catch_up(*flags)
    assert f"groups moved: {', '.join(sorted(groups))}" in ran.out
    there = {record.offset: record for record in between.target.records(name)}
    for group, offset in groups.items():
        reached = between.target.committed(group)[at]
        if offset < len(here):
            assert copied(there[reached]) == copied(here[offset]), group
        else:
            assert all(record.value == b"another's" for place, record in there.items() if place >= reached)
    assert between.target.committed(f"{name}-nobody-asked") == {}


def test_a_group_is_only_moved_forward(between: Between, name: str, own: tuple[str, ...]) -> None:
    at = Partition(name, 0)
    between.source.create(name)
    between.source.values(name, *[b"x"] * 10)
    flags = [name, "--groups", name, *own]
    between.source.commit(name, {at: 5})
    between.catch_up(*flags)
    assert between.target.committed(name) == {at: 5}
    between.target.commit(name, {at: 7})
    between.source.commit(name, {at: 6})
    assert "groups moved" not in between.catch_up(*flags).out
    assert between.target.committed(name) == {at: 7}
    between.source.commit(name, {at: 9})
    between.catch_up(*flags)
    assert between.target.committed(name) == {at: 9}


def test_a_group_with_members_at_the_target_is_left_to_them(between: Between, name: str, own: tuple[str, ...]) -> None:
    at = Partition(name, 0)
    between.source.create(name)
    between.source.values(name, *[b"x"] * 10)
    between.catch_up(name, *own)
    between.source.commit(name, {at: 5})
    side = Side("target", between.target.broker, lambda: pytest.fail("no tools"))  # type: ignore[arg-type]
    with classic_member(side, name, {name: [0]}):
        ran = between.catch_up(name, "--groups", name, *own)
        assert f"The group {name} has members at the target: its offsets are left to them." in ran.err
        assert between.target.committed(name) == {}
    between.catch_up(name, "--groups", name, *own)
    assert between.target.committed(name) == {at: 5}


def test_what_the_source_has_deleted_is_lost_and_told(between: Between, name: str, own: tuple[str, ...]) -> None:
    between.source.create(name)
    between.source.values(name, b"0", b"1")
    between.catch_up(name, *own)
    between.source.values(name, b"2", b"3", b"4")
    between.source.run("records", "delete", name, "--partition", "0", "--before-offset", "4", "--yes")
    refused = between.attempt(name, "--catch-up", *own)
    assert refused.code == 1
    assert (
        f"{name}-0 at the source begins at offset 4, and 2 was to be copied next: 2 offsets are lost. "
        "--allow-loss goes on behind them.\n"
    ) in refused.err
    ran = between.catch_up(name, "--allow-loss", *own)
    assert "2 offsets are lost." in ran.err
    assert [record.value for record in between.target.records(name)] == [b"0", b"1", b"4"]
    between.source.values(name, b"5", b"6")
    between.source.run("records", "delete", name, "--partition", "0", "--before-offset", "7", "--yes")
    between.catch_up(name, "--allow-loss", *own)
    assert between.status(*own)["partitions"][0]["next"] == 7
    # A topic of which it has seen nothing yet may begin anywhere.
    later = f"{name}-later"
    between.source.create(later)
    between.source.values(later, b"0", b"1")
    between.source.run("records", "delete", later, "--partition", "0", "--before-offset", "1", "--yes")
    between.catch_up(later, *own)
    assert [record.value for record in between.target.records(later)] == [b"1"]


def pretend(between: Between, map_topic: str, **changed: int) -> None:
    """The map says something else of the only partition."""
    last = [
        record
        for record in between.target.records(map_topic)
        if record.key is not None and json.loads(record.key)["kind"] == "position"
    ][-1]
    position = json.loads(last.value or b"") | changed
    between.target.produce(map_topic, Record(last.key, json.dumps(position).encode(), timestamp=now_ms()))


def test_what_the_source_has_lost_is_told(between: Between, name: str, own: tuple[str, ...]) -> None:
    """As after an unclean election: here the map pretends that more was copied."""
    between.source.create(name)
    between.source.values(name, b"0", b"1", b"2")
    between.catch_up(name, *own)
    pretend(between, own[1], next=9, end=9)
    refused = between.attempt(name, "--catch-up", *own)
    assert refused.code == 1
    assert (
        f"{name}-0 at the source has lost records that were copied: its log took another way at offset 3, "
        "and 9 was reached. Delete the topic at the target to have it copied anew.\n"
    ) in refused.err
    pretend(between, own[1], next=9, end=9, epoch=-1)
    refused = between.attempt(name, "--catch-up", *own)
    assert refused.code == 1
    assert f"{name}-0 at the source ends at offset 3, and up to 9 was copied: it has lost records." in refused.err


def test_what_the_target_has_lost_is_told(between: Between, name: str, own: tuple[str, ...]) -> None:
    between.source.create(name)
    between.source.values(name, b"0", b"1", b"2")
    between.catch_up(name, *own)
    pretend(between, own[1], target=9)
    refused = between.attempt(name, "--catch-up", *own)
    assert refused.code == 1
    assert f"{name}-0 at the target ends at offset 3, and up to 9 was copied: it has lost records." in refused.err


def test_a_topic_that_is_made_anew_is_another(between: Between, name: str, own: tuple[str, ...]) -> None:
    between.source.create(name)
    between.source.values(name, b"0", b"1", b"2")
    between.catch_up(name, *own)
    between.source.run("topics", "delete", name, "--yes")
    between.source.create(name)
    between.source.values(name, b"3")
    ran = between.catch_up(name, *own)
    assert f"{name} was made anew since it was copied, at the source or at the target: all of it is copied." in ran.err
    assert [record.value for record in between.target.records(name)] == [b"0", b"1", b"2", b"3"]
    between.target.run("topics", "delete", name, "--yes")
    between.catch_up(name, *own)
    assert between.same(name) == 1
    # One that is gone at the source stays at the target.
    between.source.run("topics", "delete", name, "--yes")
    refused = between.attempt(name, "--catch-up", *own)
    assert (refused.code, refused.err) == (
        1,
        "barnabas mirror: No topic of the source is meant: see barnabas topics --list.\n",
    )
    assert len(between.target.records(name)) == 1


def test_from_the_end_only_where_nothing_was_copied(between: Between, name: str, own: tuple[str, ...]) -> None:
    between.source.create(name)
    between.source.values(name, b"before")
    flags = [f"{name}.*", "--start", "latest", *own]
    between.catch_up(*flags)
    between.source.values(name, b"0")
    between.source.create(f"{name}-later")
    between.source.values(f"{name}-later", b"from its beginning")
    between.catch_up(*flags)
    assert [record.value for record in between.target.records(name)] == [b"0"]
    assert [record.value for record in between.target.records(f"{name}-later")] == [b"from its beginning"]


def test_a_prefix_and_both_ways(between: Between, name: str) -> None:
    back = Between(between.target, between.source)
    between.source.create(name)
    between.source.values(name, b"0", b"1")
    there = ["--offsets-topic", f"mirror.offsets-{name}", "--prefix", "there.", *FAST]
    between.catch_up(name, *there)
    assert between.same(name, prefix="there.") == 2
    # What has come from there does not go back.
    ran = back.attempt(f".*{name}", "--catch-up", "--offsets-topic", f"mirror.offsets-{name}", *FAST)
    assert ran.code == 1
    assert "No topic of the source is meant" in ran.err
    refused = between.attempt(name, "--catch-up", "--offsets-topic", f"mirror.offsets-{name}")
    assert refused.code == 1
    assert "with the prefix 'there.': name another one with --offsets-topic." in refused.err


def test_within_one_cluster(between: Between, name: str, own: tuple[str, ...]) -> None:
    within = Between(between.source, between.source)
    between.source.create(name)
    between.source.values(name, b"0", b"1")
    refused = within.attempt(name, "--catch-up", *own)
    assert refused.code == 1
    assert "Source and target are the same cluster: give the copies a --prefix." in refused.err
    for _ in range(2):
        within.catch_up(f".*{name}", "--prefix", "again.", *own)
        assert within.same(name, prefix="again.") == 2
    assert f"again.again.{name}" not in between.source.run("topics", "list")


def test_times_would_be_lost(between: Between, name: str, own: tuple[str, ...]) -> None:
    between.source.create(name)
    between.target.create(name, message_timestamp_type="LogAppendTime")
    refused = between.attempt(name, "--catch-up", *own)
    assert refused.code == 1
    assert f"{name} at the target stamps records itself, so that their times would be lost" in refused.err


def test_a_record_that_is_not_taken_ends_it(between: Between, name: str, own: tuple[str, ...]) -> None:
    between.source.create(name)
    between.target.create(name, max_message_bytes="1000")
    between.source.values(name, b"x" * 2000)
    refused = between.attempt(name, "--catch-up", "--configs", "none", *own)
    assert refused.code == 1
    assert f"The target does not take the records of {name}-0 (" in refused.err
    assert "[MESSAGE_TOO_LARGE]" in refused.err


def test_how_far_it_is(between: Between, name: str, own: tuple[str, ...]) -> None:
    between.source.create(name, 2)
    between.source.values(name, b"0", b"1")
    between.catch_up(name, *own)
    between.source.values(name, b"2")
    told = between.status(*own)
    assert [(each["partition"], each["next"], each["end"], each["lag"]) for each in told["partitions"]] == [
        (0, 2, 3, 1),
        (1, 0, 0, 0),
    ]
    assert told["heartbeat"]["partitions"] == 2
    assert told["heartbeat"]["lag"] == 0
    assert 0 <= told["heartbeat"]["ago_ms"] < 60_000
    text = between.attempt("--status", *own).out.splitlines()
    assert text[0] == f"Mirror of the cluster {told['source']}"
    assert text[1].endswith("its lag was 0 then")
    assert text[3].split() == [name, "0", "2", "2", "1", "3", "1"]
    # The map is at the target: it can be looked at when the source is gone.
    ran = run("mirror", "--status", "--json", "--to-bootstrap-server", between.target.bootstrap, *own)
    assert [each["lag"] for each in json.loads(ran.out)["partitions"]] == [None, None]
    report = json.loads(between.catch_up(name, "--json", *own).out.splitlines()[-1])
    assert (report["records"], report["lag"]) == (1, 0)
    assert [each["next"] for each in report["partitions"]] == [3, 0]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([], 2, "name the cluster that gets the copies: --to-bootstrap-server HOST:PORT"),
        (["orders", "--to-bootstrap-server", "x"], 1, "x is no address"),
        (["--to-bootstrap-server", "x:1"], 2, "name the topics to copy"),
        (["(", "--to-bootstrap-server", "x:1"], 2, "TOPIC ( is no regular expression"),
        (["a", "--groups", "(", "--to-bootstrap-server", "x:1"], 2, "--groups ( is no regular expression"),
        (["a", "--fetch-bytes", "0", "--to-bootstrap-server", "x:1"], 2, "--fetch-bytes 0 has to be above 0"),
        (["a", "--bootstrap-server", "127.0.0.1:1", "--to-bootstrap-server", "127.0.0.1:1"], 1, "cannot be reached"),
    ],
)
def test_what_cannot_be_meant(arguments: list[str], code: int, words: str) -> None:
    refused = run("mirror", *arguments)
    assert refused.code == code
    assert words in refused.err


def test_another_topic_is_no_map(between: Between, name: str) -> None:
    between.target.create(name)
    between.target.values(name, b"something else")
    refused = between.attempt("x", "--catch-up", "--offsets-topic", name)
    assert refused.code == 1
    assert f"{name} is no map of a mirror (the record at offset 0 is none of a mirror's map)" in refused.err
