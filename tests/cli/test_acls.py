"""`barnabas acls`: on an Apache Kafka that keeps ACLs, beside Kafka's own tool; and which ACLs the options mean."""

from __future__ import annotations

import argparse
import re

import pytest

from barnabas.cli.acls.command import add_arguments
from barnabas.cli.acls.names import Operation
from barnabas.cli.acls.wanted import check_combination, wanted_of
from barnabas.cli.failures import WrongUsage
from tests.cli.beside import Side, run
from tests.cli.kafkas_tool import Kafkas
from tests.kafka.broker import KafkaBroker
from tests.kafka.tool_runner import ToolRunner

TOOL = "AclCommand"


def test_ours_keeps_none_and_says_so(ours: Side) -> None:
    for flags in (["--list"], ["--add", "--allow-principal", "User:a", "--topic", "t"], ["--remove", "--topic", "t"]):
        refused = ours.attempt("acls", *flags)
        assert refused.code == 1
        assert "The broker has no authorizer, so that it keeps no ACLs" in refused.err
        assert refused.err.endswith("[SECURITY_DISABLED].\n")


def lines(text: str) -> list[str]:
    """Sets of Java's have no order; the operations of one ACL stand on lines of their own."""
    return sorted(line.strip() for line in text.splitlines() if line.strip())


ADDED = [
    ["--topic", "TOPIC", "--allow-principal", "User:alice", "--operation", "Read", "--operation", "describe-configs"],
    ["--topic", "TOPIC", "--group", "TOPIC", "--deny-principal", "User:bob", "--deny-host", "10.0.0.1"],
    [
        "--topic",
        "TOPIC",
        "--resource-pattern-type",
        "prefixed",
        "--allow-principal",
        "User:*",
        "--allow-host",
        "1.2.3.4",
    ],
    [
        "--producer",
        "--topic",
        "TOPIC",
        "--transactional-id",
        "TOPIC",
        "--allow-principal",
        "User:TOPIC",
        "--idempotent",
    ],
    ["--consumer", "--topic", "TOPIC", "--group", "TOPIC", "--allow-principal", "User:c"],
    ["--producer", "--consumer", "--topic", "TOPIC", "--group", "TOPIC", "--allow-principal", "User:d"],
    ["--cluster", "--allow-principal", "User:TOPIC", "--operation", "ClusterAction"],
    ["--delegation-token", "TOPIC", "--allow-principal", "User:e", "--operation", "Describe"],
    ["--user-principal", "User:TOPIC", "--allow-principal", "User:e", "--operation", "CreateTokens"],
]


@pytest.mark.java
@pytest.mark.slow
@pytest.mark.parametrize("flags", ADDED)
def test_acls_are_added_listed_and_removed_as_by_kafkas_tool(
    strict_kafka: KafkaBroker, kafka_tools: ToolRunner, name: str, flags: list[str]
) -> None:
    side, kafkas = Side("Kafka", strict_kafka, lambda: kafka_tools), Kafkas(kafka_tools)
    ours, theirs = ([flag.replace("TOPIC", f"{name}-{who}") for flag in flags] for who in ("ours", "theirs"))
    theirs_as_kafka_has_it = [flag.replace("describe-configs", "DescribeConfigs") for flag in theirs]

    def same(action: str, *more: str) -> str:
        """What was said, in which our names are theirs."""
        kafka = kafkas(side, TOOL, "--bootstrap-server", "BROKER", action, *more, *theirs_as_kafka_has_it)
        own = side.attempt("kafka-acls.sh", action, *more, *ours)
        assert (own.code, kafka.code) == (0, 0), (own, kafka)
        assert lines(own.out.replace(f"{name}-ours", f"{name}-theirs")) == lines(kafka.out)
        return own.out

    assert "Adding ACLs for resource `ResourcePattern(" in same("--add")
    again = same("--add")
    assert "already exists." in again
    assert "Adding" not in again
    resources = [flag for flag in ours if flag not in ("--producer", "--consumer", "--idempotent")]
    for at in range(len(resources) - 1, -1, -1):
        if re.match("--(allow|deny|operation)", resources[at]):
            del resources[at : at + 2]
    told = side.run("acls", "--list", *resources)
    wanted = kafkas(side, TOOL, "--bootstrap-server", "BROKER", "--list", *resources).out
    assert lines(told) == lines(wanted)
    listed = side.json("acls", *resources)
    assert listed
    assert {"resource_type", "resource_name", "pattern_type", "principal", "host", "operation", "permission"} == set(
        listed[0]
    )
    removed = side.attempt("acls", "--remove", "--force", *ours)
    assert removed.code == 0
    assert re.fullmatch(r"Removed [1-9]\d* ACLs?\.\n", removed.err)
    assert not [each for each in side.json("acls", *resources) if f"{name}-ours" in str(each)]


@pytest.mark.java
@pytest.mark.slow
def test_acls_are_found_by_pattern_and_principal(strict_kafka: KafkaBroker, kafka_tools: ToolRunner, name: str) -> None:
    side, kafkas = Side("Kafka", strict_kafka, lambda: kafka_tools), Kafkas(kafka_tools)
    for principal, kind, topic in (
        ("User:x", "literal", name),
        ("User:y", "prefixed", name[:5]),
        ("User:x", "literal", "*"),
    ):
        flags = ["--allow-principal", principal, "--resource-pattern-type", kind, "--topic", topic]
        side.run("acls", "add", *flags)
    for flags in (
        ["--topic", name],
        ["--topic", name, "--resource-pattern-type", "match"],
        ["--topic", name[:5], "--resource-pattern-type", "any"],
        ["--topic", name[:5], "--resource-pattern-type", "prefixed"],
        ["--principal", "User:x"],
        ["--principal", "User:x", "--principal", "User:y", "--topic", name],
    ):
        theirs = kafkas(side, TOOL, "--bootstrap-server", "BROKER", "--list", *flags).out
        assert lines(side.run("acls", "list", *flags)) == lines(theirs), flags
    controller = ["--bootstrap-controller", f"127.0.0.1:{strict_kafka.controller_port}"]
    theirs = kafkas(side, TOOL, *controller, "--list").out
    assert lines(run("acls", *controller).out) == lines(theirs)
    assert run("acls", *controller, "--add", "--cluster", "--allow-principal", "User:z").code == 0
    assert run("acls", *controller, "--remove", "--cluster", "--force").code == 0
    gone = side.json("acls", "remove", "--topic", name, "--resource-pattern-type", "match", "--yes")
    assert {(each["principal"], each["resource_name"]) for each in gone} == {
        ("User:x", name),
        ("User:y", name[:5]),
        ("User:x", "*"),
    }


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--add"], "name at least one resource"),
        (["--add", "--topic", "t"], "--allow-principal or --deny-principal"),
        (["--add", "--list"], "cannot be given together"),
        (["--add", "--topic", "t", "--allow-principal", "alice"], "alice is no principal: write User:alice"),
        (["--add", "--topic", "t", "--allow-principal", "User:a", "--operation", "Fly"], "--operation Fly is none"),
        (["--add", "--topic", "t", "--allow-principal", "User:a", "--operation", "ClusterAction"], "of a TOPIC, only"),
        (["--add", "--topic", "t", "--resource-pattern-type", "match"], "only finds ACLs"),
        (["--add", "--topic", "t", "--resource-pattern-type", "odd"], "odd is none of any, match, literal, prefixed"),
        (["--list", "--allow-principal", "User:a"], "--allow-principal cannot be used with --list"),
        (["--list", "--producer"], "--producer cannot be used with --list"),
        (["--remove", "--principal", "User:a", "--topic", "t"], "--principal goes with --list only"),
        (["--add", "--producer", "--allow-principal", "User:a"], "with --producer name a --topic"),
        (["--add", "--producer", "--topic", "t", "--operation", "Read"], "--operation cannot be used with --producer"),
        (["--add", "--consumer", "--topic", "t", "--deny-host", "h"], "--deny-host cannot be used with --consumer"),
        (["--add", "--consumer", "--topic", "t"], "with --consumer name a --topic and a --group"),
        (["--add", "--consumer", "--topic", "t", "--group", "g", "--cluster"], "and no --cluster"),
        (["--add", "--idempotent", "--topic", "t"], "--idempotent goes with --producer only"),
        (["list", "orders"], "orders is not understood"),
    ],
)
def test_what_cannot_be_meant(arguments: list[str], words: str) -> None:
    refused = run("acls", *arguments)
    assert refused.code == 2
    assert words in refused.err


def test_what_options_mean() -> None:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    parsed = parser.parse_args(
        [
            *("--add", "--topic", "a", "--topic", " b ", "--operation", "read", "--operation", "Write"),
            *("--allow-principal", "User:x", "--allow-host", "h", "--deny-principal", "User:y:z"),
        ]
    )
    check_combination("add", parsed)
    wanted = wanted_of(parsed)
    assert sorted(pattern.name for pattern in wanted) == ["a", "b"]
    entries = {
        (entry.principal, entry.host, entry.operation.name, entry.permission.name)
        for found in wanted.values()
        for entry in found
    }
    assert entries == {
        (*who, operation, kind)
        for who, kind in ((("User:x", "h"), "ALLOW"), (("User:y:z", "*"), "DENY"))
        for operation in ("READ", "WRITE")
    }


def test_operations_in_any_spelling() -> None:
    for text in ("DescribeConfigs", "describe-configs", "DESCRIBE_CONFIGS", " describeconfigs "):
        assert Operation.parse(text) is Operation.DESCRIBE_CONFIGS
    with pytest.raises(WrongUsage, match="there are All, Read, Write"):
        Operation.parse("unknown")
