"""records replay: what is copied is the same, what is left out is what was meant, and it can be gone on with."""

from __future__ import annotations

import json
from typing import Any

import pytest

from barnabas.cli.replay.ledger import Ledger
from barnabas.client.cluster import Partition
from tests.cli.beside import Both, Side, run

CLIENTS = ["kafka-python", "confluent-kafka"]
FIRST, SECOND = Partition("t", 0), Partition("t", 1)


def test_the_ledger_goes_on_at_the_first_offset_that_is_in_doubt() -> None:
    ledger = Ledger({FIRST: 10, SECOND: 0})
    assert ledger.go_on_at() == {FIRST: 10, SECOND: 0}
    for offset in (10, 12, 13):
        ledger.sent(FIRST, offset)
    ledger.ended(FIRST, 12, 5, None)
    ledger.ended(FIRST, 13, 5, None)
    assert ledger.go_on_at() == {FIRST: 10, SECOND: 0}
    ledger.ended(FIRST, 10, 5, None)
    assert ledger.go_on_at() == {FIRST: 14, SECOND: 0}
    ledger.read_up_to(FIRST, 20)
    ledger.read_up_to(SECOND, 3)
    ledger.sent(SECOND, 3)
    ledger.sent(SECOND, 4)
    ledger.ended(SECOND, 3, 5, OSError("first"))
    ledger.ended(SECOND, 4, 5, OSError("second"))
    assert ledger.go_on_at() == {FIRST: 20, SECOND: 3}
    assert (ledger.replayed, ledger.bytes, str(ledger.first_failure)) == (3, 15, "first")


def fill(side: Side, name: str, count: int = 30) -> None:
    lines = [
        {
            "key": f"k{number % 4}" if number % 5 else None,
            "value": None if number == 7 else f"v{number}",
            "partition": number % 3,
            "timestamp": 1_000_000 + number,
            "headers": [{"key": "n", "value": str(number)}, {"key": "n", "value_base64": "/w=="}],
        }
        for number in range(count)
    ]
    side.create(name, 3)
    side.run("produce", name, "--format", "json", stdin="\n".join(map(json.dumps, lines)))


def records(side: Side, topic: str) -> list[dict[str, Any]]:
    out = side.run("consume", topic, "--until-end", "--json")
    found = [json.loads(line) | {"topic": ""} for line in out.splitlines()]
    return sorted(found, key=lambda record: (record["partition"], record["offset"]))


@pytest.mark.slow
@pytest.mark.parametrize("client", CLIENTS)
def test_a_copy_is_the_same(side: Side, name: str, client: str) -> None:
    fill(side, name)
    side.create(f"{name}-copy", 3)
    told = side.json("records replay", name, f"{name}-copy", "--client", client)
    assert told | {"seconds": 0, "bytes": 0} == {
        "from": name,
        "to": f"{name}-copy",
        "client": client,
        "replayed": 30,
        "bytes": 0,
        "seconds": 0,
        "complete": True,
        "next_offsets": {"0": 10, "1": 10, "2": 10},
    }
    assert records(side, f"{name}-copy") == records(side, name)


@pytest.mark.java
@pytest.mark.slow
@pytest.mark.parametrize("client", CLIENTS)
def test_a_topic_goes_to_another_cluster(both: Both, name: str, client: str) -> None:
    for here, there in ((both.ours, both.kafka), (both.kafka, both.ours)):
        topic = f"{name}-{here.title}"
        fill(here, topic)
        there.create(topic, 3)
        here.run("records replay", topic, "--to-bootstrap-server", there.bootstrap, "--client", client)
        assert records(there, topic) == records(here, topic)


@pytest.mark.slow
def test_a_part_a_rate_and_going_on(ours: Side, name: str) -> None:
    fill(ours, name)
    for suffix in ("part", "rest", "spread"):
        ours.create(f"{name}-{suffix}", 1 if suffix == "spread" else 3)

    def values(topic: str) -> list[str]:
        return sorted(str(record["value"]) for record in records(ours, topic))

    nowhere = ours.attempt("records replay", name, f"{name}-nowhere", "--dry-run")
    assert (nowhere.code, nowhere.out) == (1, "")
    assert nowhere.err.endswith(f"barnabas topics create {name}-nowhere --partitions 3 makes it.\n")
    assert f"{name}-nowhere" not in ours.run("topics list").splitlines()
    plan = ours.json("records replay", name, f"{name}-part", "--since", "1000010", "--until", "1000016", "--dry-run")
    assert [row["offsets"] for row in plan["partitions"]] == [2, 2, 2]
    assert records(ours, f"{name}-part") == []
    part = ["--since", "1000010", "--until", "1000016", "--where", "text != 'v12'", "--header", "n=14"]
    ours.run("records replay", name, f"{name}-part", *part)
    assert values(f"{name}-part") == ["v14"]
    told = ours.json("records replay", name, f"{name}-rest", "--max-messages", "13", "--rate", "100")
    assert (told["replayed"], told["complete"]) == (13, False)
    assert 0.1 <= told["seconds"] < 5
    text = ",".join(f"{partition}:{offset}" for partition, offset in told["next_offsets"].items())
    out = ours.run("records replay", name, f"{name}-rest", "--from-offsets", text)
    assert out.splitlines()[1:] == [f"{name}:0:10", f"{name}:1:10", f"{name}:2:10"]
    assert out.startswith(f"17 records of {name} are in {name}-rest, in ")
    assert values(f"{name}-rest") == values(name)
    ours.run(
        *("records replay", name, f"{name}-spread", "--repartition", "--new-timestamps"),
        *("--partition", "1", "--offset", "2", "--to-offset", "5"),
    )
    assert values(f"{name}-spread") == ["None", "v10", "v13"]
    assert all(record["timestamp"] > 10**12 for record in records(ours, f"{name}-spread"))
    ours.run("records replay", name, name, "--partition", "0", "--max-messages", "1")
    assert len(records(ours, name)) == 31


@pytest.mark.slow
@pytest.mark.parametrize("client", CLIENTS)
def test_what_the_target_refuses_is_told_and_where_to_go_on(ours: Side, name: str, client: str) -> None:
    fill(ours, name)
    ours.create(f"{name}-compact", 3, cleanup_policy="compact")
    ran = ours.attempt("records replay", name, f"{name}-compact", "--partition", "1", "--client", client, "--json")
    assert ran.code == 1
    told = json.loads(ran.out)
    # The first without a key is of number 10, the fourth of the partition.
    assert (told["complete"], told["next_offsets"]["1"] <= 3) == (False, True)
    assert ran.err.splitlines()[-1].startswith("barnabas records replay: A record was not taken: ")
    assert "[INVALID_RECORD]" in ran.err
    ours.create(f"{name}-one")
    ran = ours.attempt("records replay", name, f"{name}-one")
    assert (ran.code, ran.err) == (
        1,
        (
            f"barnabas records replay: {name}-one has no partition 1: give it more (barnabas topics --alter "
            "--partitions), or spread the records anew with --repartition.\n"
        ),
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("a", "name two topics: records replay FROM TO"),
        ("a b c", "name two topics"),
        ("a b --rate 0", "--rate has to be above 0"),
        ("a b --where import", "is no condition"),
    ],
)
def test_wrong_usage(arguments: str, words: str) -> None:
    ran = run("records", "replay", *arguments.split(), "--bootstrap-server", "127.0.0.1:1")
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err


def test_wrong_ranges_and_clusters(ours: Side, name: str) -> None:
    ours.create(name)
    for arguments, words in (
        ("--from-offsets x", "--from-offsets x is not PARTITION:OFFSET"),
        ("--from-offsets 0:1 --since 1h", "--from-offsets names the partitions"),
        ("--offset 3", "are for one partition"),
        ("--partition 0 --offset x", "--offset x is no number"),
        ("--partition 7", f"{name} has no partition 7: they are 0 to 0"),
        ("--since soon", "--since soon is no time"),
        ("--to-bootstrap-server 127.0.0.1:1", "127.0.0.1:1 cannot be reached (Connection refused)"),
    ):
        ran = ours.attempt("records replay", name, f"{name}-copy", *arguments.split())
        assert ran.code in (1, 2)
        assert words in ran.err
    ran = ours.attempt("records replay", f"{name}-none", name)
    assert f"There is no topic {name}-none: is {name} meant?" in ran.err
