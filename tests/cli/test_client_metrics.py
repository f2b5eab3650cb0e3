"""`barnabas client-metrics` on a broker of ours and on Apache Kafka, beside kafka-client-metrics.sh on both."""

from __future__ import annotations

import re
from itertools import product

import pytest

from tests.cli.beside import Both, Side, run
from tests.clients.waiting import wait_until


def names(side: Side) -> list[str]:
    return side.run("client-metrics", "--list").splitlines()


def test_a_subscription_s_life(side: Side, name: str) -> None:
    alter = ("--alter", "--name", name)
    given = ("--interval", "5000", "--metrics", "a.b,c", "--match", "client_id=app.*,client_source_port=99")
    said = side.run("client-metrics", *alter, *given)
    assert said == f"Altered client metrics config for {name}.\n"
    wait_until(lambda: name in names(side), "the subscription to be there")
    assert side.json("client-metrics describe", name) == [
        {
            "name": name,
            "configs": {"interval.ms": "5000", "match": "client_id=app.*,client_source_port=99", "metrics": "a.b,c"},
        }
    ]
    assert f"{name}  a.b,c    5000 ms  client_id=app.*" in side.run("client-metrics describe")

    side.run("client-metrics", *alter, "--interval", "", "--match", "")

    def told() -> dict[str, str]:
        ((found),) = side.json("client-metrics", "--describe", "--name", name)
        return {key: value for key, value in found["configs"].items() if value}

    wait_until(lambda: told()["interval.ms"] == "300000", "Kafka's interval")
    assert told() == {"interval.ms": "300000", "metrics": "a.b,c"}
    assert side.run("client-metrics delete", name) == f"Deleted client metrics config for {name}.\n"
    wait_until(lambda: name not in names(side), "the subscription to be gone")
    assert side.attempt("client-metrics describe", name).code == 1


def test_a_name_is_made_up(side: Side) -> None:
    said = side.run("client-metrics", "--alter", "--generate-name", "--metrics", "*")
    found = re.fullmatch(r"Altered client metrics config for (\S{22})\.\n", said)
    assert found is not None, said
    wait_until(lambda: found[1] in names(side), "the subscription to be there")
    assert side.json("client-metrics", "--delete", "--name", found[1]) == {"name": found[1], "deleted": True}


REFUSED = [
    ["--alter", "--list"],
    ["--alter"],
    ["--alter", "--name", "a", "--generate-name"],
    ["--alter", "--name", "a", "--interval", "soon"],
    ["--delete"],
    ["--delete", "--name", "a", "--interval", "1"],
    ["--describe", "--metrics", "a"],
    ["--describe", "--generate-name"],
    ["--list", "--name", "a"],
    ["--list", "--match", "client_id=a"],
    ["--castle"],
]


def test_what_makes_no_sense_is_refused_before_a_broker_is_asked() -> None:
    ours = [["--list", "--plain"], ["--describe", "--plain", "--json"], ["describe", "a", "b"], []]
    for arguments in [*REFUSED, *ours]:
        ran = run("client-metrics", "--bootstrap-server", "127.0.0.1:1", *arguments)
        assert (ran.code, ran.out) == (2, ""), (arguments, ran)
        assert ran.err.count("\n") == 1


def test_what_a_broker_refuses_is_said_in_its_words(side: Side) -> None:
    for given, word in (
        (("--interval", "1"), "interval.ms"),
        (("--match", "colour=red"), "colour"),
        (("--match", "client_id=("), "client_id"),
    ):
        ran = side.attempt("client-metrics", "--alter", "--name", "refused", *given)
        assert (ran.code, ran.out) == (1, ""), ran
        assert word in ran.err
        assert ran.err.count("\n") == 1


@pytest.mark.java
@pytest.mark.slow
def test_kafka_s_tool_does_and_prints_the_same(both: Both, name: str) -> None:
    changes = (
        ("--alter", "--name", "NAME", "--interval", "6000", "--metrics", "x.y", "--match", "client_id=a,client_id=b"),
        ("--alter", "--name", "NAME", "--metrics", ""),
        ("--alter", "--name", "NAME", "--metrics", "*"),
    )
    said = set()
    for side, tool in product(both, ("ours", "kafkas")):
        own = f"{name}-{tool}"
        for change in changes:
            arguments = [own if each == "NAME" else each for each in change]
            ran = (
                side.tool("ClientMetricsCommand", *arguments)
                if tool == "kafkas"
                else side.attempt("client-metrics", *arguments)
            )
            assert ran.code == 0, ran
            said.add(ran.out.replace(own, "NAME"))
        wait_until(lambda: "metrics=*" in side.run("client-metrics", "--describe", "--plain"), "the change")  # noqa: B023
    for side in both:
        for asked in (("--list",), ("--describe",), ("--describe", "--name", f"{name}-ours")):
            theirs = side.tool("ClientMetricsCommand", *asked).out
            plain = [] if asked == ("--list",) else ["--plain"]
            mine = side.run("client-metrics", *asked, *plain)
            assert sorted(mine.splitlines()) == sorted(theirs.splitlines())
            said.add(theirs.replace(name, "NAME") if "--name" in asked else "")
    for side, tool in product(both, ("ours", "kafkas")):
        ran = side.tool("ClientMetricsCommand", "--delete", "--name", f"{name}-ours")
        said.add(ran.out.replace(f"{name}-ours", "NAME"))
        said.add(side.run("client-metrics", "--delete", "--name", f"{name}-{tool}").replace(f"{name}-{tool}", "NAME"))
    assert len(said - {""}) == 3, said


@pytest.mark.java
@pytest.mark.slow
def test_what_kafka_s_tool_refuses_is_refused(ours: Side) -> None:
    for arguments in REFUSED:
        assert ours.tool("ClientMetricsCommand", *arguments).code == 1, arguments
