"""`barnabas quotas` on a broker of ours and on Apache Kafka, and what kafka-configs.sh says of what it has done."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from barnabas.cli.units import number_text, parse_quantity, size_text
from tests.cli.beside import Both, Side, run
from tests.clients.waiting import wait_until


def quotas(side: Side, *options: str) -> list[dict[str, Any]]:
    found = side.json("quotas", "--list", *options)
    assert isinstance(found, list)
    return found


def settles(side: Side, options: tuple[str, ...], wanted: list[dict[str, Any]]) -> None:
    """Kafka's brokers hear late of what its controller has taken."""
    wait_until(lambda: quotas(side, *options) == wanted, lambda: f"{wanted}; there is {quotas(side, *options)}")


@pytest.fixture
def tidied(side: Side) -> Iterator[Side]:
    """Defaults hold for other tests too."""
    yield side
    for options in (["--user-defaults"], ["--ip-defaults"], ["--client-defaults"]):
        side.attempt("quotas remove", *options)


def test_set_list_and_remove(tidied: Side, name: str) -> None:
    side, user, of_user = tidied, ("--user", name), {"user": name}
    said = side.run("quotas set", *user, "produce=1MiB", "fetch=20MB/s", "request=50%", "partitions=2.5")
    assert said == (
        f"user {name}: producer_byte_rate=1048576, consumer_byte_rate=20000000, request_percentage=50, "
        "controller_mutation_rate=2.5\n"
    )
    values = {
        "consumer_byte_rate": 2e7,
        "controller_mutation_rate": 2.5,
        "producer_byte_rate": 1048576.0,
        "request_percentage": 50.0,
    }
    settles(side, user, [{"entity": of_user, "quotas": values}])

    side.run("quotas set", *user, "--client", "app", "producer_byte_rate=5")
    side.run("quotas", "--set", *user, "--client-defaults", "fetch=6")
    settles(
        side,
        user,
        [
            {"entity": of_user, "quotas": values},
            {"entity": of_user | {"client-id": None}, "quotas": {"consumer_byte_rate": 6.0}},
            {"entity": of_user | {"client-id": "app"}, "quotas": {"producer_byte_rate": 5.0}},
        ],
    )
    header, *rows = side.run("quotas list", *user).splitlines()
    assert " ".join(header.split()) == "USER CLIENT ID PRODUCE FETCH REQUEST TIME PARTITIONS"
    assert rows[0].split() == [name, "-", "1.0", "MiB/s", "19.1", "MiB/s", "50%", "2.5/s"]
    assert rows[1].split() == [name, "(default)", "-", "6", "B/s", "-", "-"]

    assert side.run("quotas remove", *user, "request", "partitions").endswith("no controller_mutation_rate\n")
    side.run("quotas remove", *user, "--client", "app")
    side.run("quotas remove", *user, "--client-defaults", "--yes")
    del values["request_percentage"], values["controller_mutation_rate"]
    settles(side, user, [{"entity": of_user, "quotas": values}])
    side.run("quotas remove", *user)
    settles(side, user, [])


def test_defaults_and_addresses(tidied: Side) -> None:
    tidied.run("quotas set", "--user-defaults", "produce=10k")
    tidied.run("quotas set", "--ip-defaults", "connections=20000")
    tidied.run("quotas set", "--ip", "127.8.8.8", "connection_creation_rate=30")
    settles(tidied, ("--user-defaults",), [{"entity": {"user": None}, "quotas": {"producer_byte_rate": 10000.0}}])
    settles(
        tidied, ("--ip", "127.8.8.8"), [{"entity": {"ip": "127.8.8.8"}, "quotas": {"connection_creation_rate": 30.0}}]
    )
    everything = quotas(tidied)
    assert {"entity": {"ip": None}, "quotas": {"connection_creation_rate": 20000.0}} in everything
    tidied.run("quotas remove", "--ip", "127.8.8.8", "connections")


def test_a_dry_run_changes_nothing(side: Side, name: str) -> None:
    said = side.run("quotas set", "--user", name, "produce=5", "--dry-run")
    assert said == f"Would be allowed: user {name}: producer_byte_rate=5\n"
    assert side.json("quotas set", "--user", name, "produce=5", "--dry-run")["done"] is False
    assert quotas(side, "--user", name) == []
    ran = side.attempt("quotas set", "--user", name, "produce=0", "--dry-run")
    assert (ran.code, ran.out) == (1, "")
    assert "producer_byte_rate" in ran.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["set", "produce=1"], ["--user"]),
        (["set", "--user", "u"], ["KEY=VALUE"]),
        (["set", "--user", "u", "produce"], ["produce", "KEY=VALUE"]),
        (["set", "--user", "u", "produce=much"], ["much"]),
        (["set", "--user", "u", "prodce=1"], ["prodce", "produce, fetch"]),
        (["set", "--user", "u", "connections=1"], ["connections"]),
        (["set", "--ip", "127.0.0.1", "produce=1"], ["produce", "there is connections"]),
        (["set", "--ip", "127.0.0.1", "--user", "u", "connections=1"], ["by itself"]),
        (["set", "--user", "u", "--user-defaults", "produce=1"], ["--user-defaults"]),
        (["list", "produce"], ["produce"]),
        (["list", "--dry-run"], ["--dry-run"]),
        (["remove"], ["--user"]),
        (["remove", "--user", "u", "retention"], ["retention"]),
    ],
)
def test_what_makes_no_sense_is_refused_before_a_broker_is_asked(arguments: list[str], words: list[str]) -> None:
    ran = run("quotas", "--bootstrap-server", "127.0.0.1:1", *arguments)
    assert (ran.code, ran.out) == (2, ""), ran
    assert all(word in ran.err for word in words), ran.err
    assert ran.err.count("\n") == 1


def test_what_is_not_there_cannot_be_removed(side: Side, name: str) -> None:
    ran = side.attempt("quotas remove", "--client", name)
    assert (ran.code, ran.err) == (1, f"barnabas quotas: client {name} has no quotas: see barnabas quotas --list.\n")
    ran = side.attempt("quotas remove", "--client", name, "fetch")
    assert (ran.code, "no quota consumer_byte_rate" in ran.err) == (1, True)
    assert side.attempt("quotas list", "--client", name) == (0, "", "There are no quotas of that name.\n")


@pytest.mark.java
@pytest.mark.slow
def test_kafka_s_tool_tells_the_same(both: Both, name: str) -> None:
    for side in both:
        side.run("quotas set", "--user", name, "--client", "app", "produce=12MB", "request=7.5")
        asked = ("--describe", "--user", name, "--client", "app")
        wait_until(lambda: quotas(side, "--user", name), "the quota to be known")  # noqa: B023 - it ends in the round
        theirs = side.tool("ConfigCommand", *asked).out
        assert theirs.startswith(f"Quota configs for user-principal '{name}', client-id 'app' are ")
        assert sorted(theirs.split(" are ")[1].strip().split(", ")) == [
            "producer_byte_rate=1.2E7",
            "request_percentage=7.5",
        ]
    both.same("quotas list", "--user", name)


def test_quantities_and_sizes() -> None:
    quantities = {
        "5": 5,
        "1.5k": 1500,
        "10MB": 10**7,
        "10MiB": 10 * 2**20,
        "2 GiB/s": 2 * 2**30,
        "3m": 3 * 10**6,
        "1e3": 1000,
        "7B": 7,
    }
    assert {text: parse_quantity(text) for text in quantities} == quantities
    for wrong in ("", "MB", "-1", "1 X", "1,5", "nan"):
        with pytest.raises(ValueError, match="is no quantity"):
            parse_quantity(wrong)
    sizes = {0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 10**7: "9.5 MiB", 2**70: "1048576.0 PiB"}
    assert {size: size_text(size) for size in sizes} == sizes
    assert [number_text(value) for value in (2e7, 2.5, 0.1)] == ["20000000", "2.5", "0.1"]
