"""`barnabas groups` lists and describes on a broker of ours and on Apache Kafka, beside Kafka's own tools on both."""

from __future__ import annotations

import json
from contextlib import ExitStack

import pytest

from tests.cli.beside import Both, Side, run
from tests.cli.group_members import classic_member, commit, consumer_member, share_member, streams_member
from tests.clients.waiting import wait_until

TOOL = "ConsumerGroupCommand"
VIEWS: tuple[list[str], ...] = (
    [],
    ["--verbose"],
    ["--members"],
    ["--members", "--verbose"],
    ["--state"],
    ["--state", "--verbose"],
)


def words(text: str) -> list[str]:
    """The lines of a table, whatever the width of its columns."""
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def committed(side: Side, group: str, topic: str, offset: int = 1) -> None:
    """As a consumer would that came and went, but without a protocol."""
    side.run("groups reset-offsets", group, "--topic", topic, "--to-offset", str(offset), "--execute")


def filled(side: Side, topic: str) -> None:
    side.create(topic, 3)
    for partition in range(3):
        side.produce(topic, b"a", b"b", b"c", b"d", b"e", partition=partition)


def test_what_a_group_has_read_and_has_not(side: Side, name: str) -> None:
    filled(side, name)
    committed(side, name, f"{name}:0,1", 2)
    with classic_member(side, name, {name: [1, 2]}) as member_id:
        (told,) = side.json("groups describe", name)
        assert (told["group"], told["type"], told["state"], told["protocol"]) == (name, "Classic", "Stable", "consumer")
        assert told["lag"] == 6
        places = [(each["partition"], each["offset"], each["log_end_offset"], each["lag"]) for each in told["offsets"]]
        assert places == [(1, 2, 5, 3), (2, None, 5, None), (0, 2, 5, 3)]
        assert [each["consumer_id"] for each in told["offsets"]] == [member_id, member_id, None]
        (member,) = told["members"]
        assert member["assignment"] == [{"topic": name, "partition": 1}, {"topic": name, "partition": 2}]
        assert "lag" not in side.json("groups", "--describe", "--group", name, "--state")[0]
    ran = side.attempt("groups", "--describe", "--group", name)
    assert ran.code == 0
    assert ran.err == f"Consumer group '{name}' has no active members.\n"
    assert words(ran.out)[1:] == [f"{name} {name} {partition} 2 5 3 - - -" for partition in (0, 1)]


@pytest.mark.java
@pytest.mark.slow
@pytest.mark.parametrize("instance_id", [None, "i-1"])
def test_what_kafka_s_tool_describes_is_described(side: Side, name: str, instance_id: str | None) -> None:
    filled(side, name)
    committed(side, name, f"{name}:0,1", 2)
    more = (["--offsets"], ["--offsets", "--verbose"], ["--timeout", "20000"])
    views = [["--describe", "--group", name, *view] for view in (*VIEWS, *more)]

    def same() -> None:
        for view in views:
            theirs = side.tool(TOOL, *view)
            ours = side.attempt("groups", *view)
            assert words(ours.out) == words(theirs.out), view
            assert words(ours.err) == words(theirs.err), view
            assert (ours.code, theirs.code) == (0, 0)

    with classic_member(side, name, {name: [1, 2]}, instance_id=instance_id):
        same()
    same()


@pytest.mark.java
@pytest.mark.slow
def test_groups_of_the_consumer_protocol(kafka: Side, name: str) -> None:
    filled(kafka, name)
    with consumer_member(kafka, name, name) as member_id:
        (told,) = kafka.json("groups describe", name)
        assert (told["type"], told["epoch"]) == ("Consumer", told["target_epoch"])
        (member,) = told["members"]
        assert (member["consumer_id"], member["epoch"], member["upgraded"]) == (member_id, told["epoch"], True)
        assert member["assignment"] == member["target_assignment"]
        assert len(told["offsets"]) == 3
        for view in (
            [],
            ["--verbose"],
            ["--members"],
            ["--members", "--verbose"],
            ["--state"],
            ["--state", "--verbose"],
        ):
            arguments = ["--describe", "--group", name, *view]
            assert words(kafka.run("groups", *arguments)) == words(kafka.tool(TOOL, *arguments).out), view
        assert "There is no" in kafka.attempt("groups describe", f"{name}-that-is-not").err
    committed(kafka, name, name)
    assert kafka.json("groups describe", name)[0]["lag"] == 12


@pytest.mark.java
def test_ours_and_kafka_s_groups_are_told_the_same(both: Both, name: str) -> None:
    with ExitStack() as stack:
        for side in both:
            filled(side, name)
            committed(side, name, f"{name}:0", 2)
            committed(side, f"{name}-2", name)
            stack.enter_context(classic_member(side, name, {name: [1]}))
        but = {"coordinator", "consumer_id", "client_id", "host"}
        both.same("groups describe", name, f"{name}-2", but=but)
        both.same("groups describe", name, f"{name}-2", "--members", "--verbose", but=but)
        both.same("groups describe", name, f"{name}-2", "--state", but=but)
        both.same("groups lag", name, f"{name}-2", "--verbose", but=but)
        both.same_text("groups", "--describe", "--group", f"{name}-2")
        both.same_text("groups", "--describe", "--group", f"{name}-that-is-not")


@pytest.mark.java
@pytest.mark.slow
def test_lists_are_those_of_kafka_s_tools(side: Side, name: str) -> None:
    side.create(name)
    committed(side, f"{name}-by-hand", name)
    with ExitStack() as stack:
        stack.enter_context(classic_member(side, f"{name}-classic", {name: [0]}))
        if side.title == "Kafka":
            stack.enter_context(consumer_member(side, f"{name}-consumer", name))
            stack.enter_context(share_member(side, f"{name}-share", name))
            stack.enter_context(streams_member(side, f"{name}-streams", name))
        for arguments in (
            ["--list"],
            ["--list", "--state"],
            ["--list", "--type"],
            ["--list", "--state", "--type"],
            ["--list", "--state", "stable"],
            ["--list", "--state", "Empty, stable"],
            ["--list", "--state", "Dead"],
            ["--list", "--type", "classic"],
            ["--list", "--type", "Consumer,classic", "--state", "empty"],
        ):
            theirs = side.tool(TOOL, *arguments)
            assert (theirs.code, theirs.err) == (0, "")
            assert sorted(words(side.run("groups", *arguments))) == sorted(words(theirs.out)), arguments
        for arguments in (
            ["--list"],
            ["--list", "--consumer"],
            ["--list", "--share"],
            ["--list", "--streams"],
            ["--list", "--group-type", "classic"],
            ["--list", "--group-type", "share"],
            ["--list", "--protocol", "consumer"],
            ["--list", "--group-type", "classic", "--protocol", "consumer"],
        ):
            theirs = side.tool("GroupsCommand", *arguments)
            ours = words(side.run("kafka-groups.sh", *arguments))
            # Kafka leaves an empty protocol empty.
            assert sorted(line.removesuffix(" -") for line in ours) == sorted(words(theirs.out)), arguments
        for tool, script in (
            ("consumer.group.ShareGroupCommand", "kafka-share-groups.sh"),
            ("streams.StreamsGroupCommand", "kafka-streams-groups.sh"),
        ):
            for arguments in (["--list"], ["--list", "--state"], ["--list", "--state", "stable"]):
                theirs = side.tool(tool, *arguments)
                assert sorted(words(side.run(script, *arguments))) == sorted(words(theirs.out)), (tool, arguments)
        names = [each["group"] for each in side.json("groups") if each["group"].startswith(name)]
        assert f"{name}-classic" in names
        assert f"{name}-share" not in names


def test_lists_for_programs(side: Side, name: str) -> None:
    side.create(name)
    committed(side, name, name)
    told = [each for each in side.json("groups", "list") if each["group"] == name]
    assert told == [{"group": name, "type": "Classic", "state": "Empty", "protocol": ""}]
    assert name in side.run("groups").splitlines()
    assert name not in side.run("groups", "list", "--state", "stable")


@pytest.mark.java
@pytest.mark.slow
def test_share_groups(kafka: Side, name: str, ours: Side) -> None:
    tool = "consumer.group.ShareGroupCommand"
    filled(kafka, name)
    with share_member(kafka, name, name) as member_id:
        (told,) = kafka.json("groups", "--share", "describe", name)
        assert (told["type"], told["state"], told["members"][0]["consumer_id"]) == ("Share", "Stable", member_id)
        for view in ([], ["--offsets", "--verbose"], ["--members"], ["--members", "--verbose"], ["--state"]):
            arguments = ["--describe", "--group", name, *view]
            theirs = kafka.tool(tool, *arguments)
            said = kafka.attempt("kafka-share-groups.sh", *arguments)
            assert sorted(words(said.out + said.err)) == sorted(words(theirs.out + theirs.err)), view
        refused = kafka.attempt("groups", "--share", "--delete", "--group", name)
        assert refused.code == 1
        assert "has members" in refused.err
        assert "add --share" in kafka.attempt("groups describe", name).err
    reset = ["--reset-offsets", "--group", name, "--topic", name, "--to-earliest"]
    said_words = words(kafka.run("kafka-share-groups.sh", *reset, "--execute"))
    assert [line.split()[:4] for line in said_words[1:]] == [[name, name, str(each), "0"] for each in range(3)]
    views = [
        ["--describe", "--group", name, *view] for view in ([], ["--verbose"], ["--members"], ["--state", "--verbose"])
    ]
    for arguments in views:
        theirs = kafka.tool(tool, *arguments)
        said = kafka.attempt("kafka-share-groups.sh", *arguments)
        assert sorted(words(said.out + said.err)) == sorted(words(theirs.out + theirs.err)), arguments
    theirs = kafka.tool(tool, *reset, "--dry-run")
    planned = words(kafka.run("kafka-share-groups.sh", *reset, "--dry-run"))
    assert sorted(line.split()[:4] for line in planned) == sorted(line.split() for line in words(theirs.out))
    gone = kafka.run("kafka-share-groups.sh", "--delete-offsets", "--group", name, "--topic", name)
    assert words(gone) == ["TOPIC STATUS", f"{name} Successful"]
    kafka.run("groups", "--share", "delete", name)
    assert kafka.attempt("groups", "--share", "describe", name).code == 1
    ran = ours.attempt("groups", "--share", "describe", name)
    assert (ran.code, ran.err) == (1, "barnabas groups: These brokers have no share groups.\n")


@pytest.mark.java
@pytest.mark.slow
def test_groups_of_streams(kafka: Side, name: str, ours: Side) -> None:
    tool = "streams.StreamsGroupCommand"
    filled(kafka, name)
    with streams_member(kafka, name, name) as member_id:
        (told,) = kafka.json("groups", "--streams", "describe", name)
        assert [member["member_id"] for member in told["members"]] == [member_id]
        for view in (
            [],
            ["--verbose"],
            ["--members"],
            ["--members", "--verbose"],
            ["--state"],
            ["--state", "--verbose"],
        ):
            arguments = ["--describe", "--group", name, *view]
            theirs = kafka.tool(tool, *arguments)
            said = kafka.run("kafka-streams-groups.sh", *arguments)
            assert sorted(words(said)) == sorted(words(theirs.out)), view
    ran = ours.attempt("groups", "--streams", "describe", name)
    assert (ran.code, ran.err.count("\n")) == (1, 1)


@pytest.mark.java
@pytest.mark.slow
def test_groups_of_streams_begin_anew(kafka: Side, name: str) -> None:
    tool, script = "streams.StreamsGroupCommand", "kafka-streams-groups.sh"
    filled(kafka, name)
    changelog = f"{name}-store-changelog"
    reset = ["--reset-offsets", "--group", name, "--input-topic"]
    with streams_member(kafka, name, name):
        ran = kafka.attempt(script, "--delete", "--group", name)
        assert (ran.code, ran.out) == (1, "")
        ran = kafka.attempt(script, *reset, name, "--to-latest", "--dry-run")
        assert ran.code == 1
        assert "has members" in ran.err
    kafka.wait_until_led(changelog, 3)
    # The application has committed nothing, so that for the tools the topic is none of its inputs.
    refused = kafka.attempt(script, *reset, name, "--to-earliest", "--execute")
    assert (refused.code, refused.out) == (1, "")
    assert f"{name} is no input of {name}" in refused.err
    with kafka.client() as client:
        commit(client, name, name, 3)
    for scenario in (["--to-latest"], ["--to-offset", "2"], ["--shift-by", "-1"], ["--to-current"]):
        for scope in (["--input-topic", name], ["--all-input-topics"]):
            arguments = ["--reset-offsets", "--group", name, *scope, *scenario, "--dry-run"]
            theirs = words(kafka.tool(tool, *arguments).out)
            planned = words(kafka.run(script, *arguments))
            assert sorted(line.split()[:4] for line in planned) == sorted(line.split() for line in theirs), arguments
    kafka.run(script, *reset, f"{name}:0", "--to-latest", "--execute", "--delete-all-internal-topics")
    wait_until(lambda: changelog not in kafka.json("topics"), "the changelog to be gone")
    gone = kafka.run(script, "--delete-offsets", "--group", name, "--all-input-topics")
    assert words(gone) == [
        f"Request succeeded for deleting offsets from group {name}.",
        "TOPIC PARTITION STATUS",
        *(f"{name} {number} Successful" for number in range(3)),
    ]
    said = kafka.run(script, "--delete", "--group", name)
    assert said == f"Deletion of requested streams groups ('{name}') was successful.\n"
    ran = kafka.attempt(script, "--delete", "--group", name)
    assert ran.err == f"barnabas groups: There is no streams group {name}; see barnabas groups --list --streams.\n"


def test_one_group_that_is_not_there_does_not_hide_the_others(side: Side, name: str) -> None:
    side.create(name)
    committed(side, name, name)
    ran = side.attempt("groups describe", name, f"{name}-that-is-not", "--json")
    assert ran.code == 1
    assert [each["group"] for each in json.loads(ran.out)] == [name]
    assert ran.err == f"barnabas groups: There is no group {name}-that-is-not: is {name} meant?\n"


def test_a_topic_that_is_gone_does_not_hide_the_others(side: Side, name: str) -> None:
    for topic in (name, f"{name}-gone"):
        side.create(topic)
        committed(side, name, topic, 0)
    with classic_member(side, name, {f"{name}-gone": [0]}):
        side.run("topics delete", f"{name}-gone")
        (told,) = side.json("groups describe", name)
        by_topic = {each["topic"]: each for each in told["offsets"]}
        assert by_topic[name]["lag"] == 0
        assert by_topic[f"{name}-gone"]["log_end_offset"] is None


def test_all_groups(side: Side, name: str) -> None:
    side.create(name)
    for group in (f"{name}-1", f"{name}-2"):
        committed(side, group, name)
    told = {each["group"] for each in side.json("groups", "--describe", "--all-groups", "--state")}
    assert {f"{name}-1", f"{name}-2"} <= told


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--describe"], "--all-groups"),
        (["describe", "g", "--all-groups"], "not both"),
        (["describe", "g", "--members", "--offsets"], "--members, --offsets"),
        (["--describe", "--group", "g", "--state", "stable"], "without a value"),
        (["describe", "g", "--topic", "t"], "--topic goes with"),
        (["list", "g"], "describe g"),
        (["--list", "--group", "g"], "takes no GROUP"),
        (["list", "--members"], "--members goes with describe"),
        (["list", "--state", "nonsense"], "nonsense"),
        (["list", "--type", "share"], "share"),
        (["--list", "--describe", "--group", "g"], "cannot be given together"),
        (["describe", "g", "--type"], "--type goes with list"),
        (["delete", "g", "--topic", "t"], "--topic goes with"),
        (["delete"], "takes a GROUP"),
        (["delete-offsets", "g"], "--topic"),
        (["delete-offsets", "g", "h", "--topic", "t"], "one GROUP"),
        (["delete", "g", "--dry-run"], "--dry-run goes with reset-offsets"),
        (["reset-offsets", "g", "--topic", "t"], "one of"),
        (["reset-offsets", "g", "--to-earliest"], "--all-topics"),
        (["reset-offsets", "g", "--topic", "t", "--to-earliest", "--to-latest"], "--to-earliest, --to-latest"),
        (["reset-offsets", "g", "--topic", "t", "--to-earliest", "--dry-run", "--execute"], "not both"),
        (["reset-offsets", "--topic", "t", "--to-earliest"], "takes a GROUP"),
        (["reset-offsets", "g", "--topic", "t", "--to-offset", "x"], "x"),
        (["reset-offsets", "g", "--topic", "t", "--to-datetime", "x"], "x"),
        (["reset-offsets", "g", "--topic", "t", "--by-duration", "x"], "x"),
        (["reset-offsets", "g", "--share", "--topic", "t", "--to-current"], "share group"),
        (["lag", "--share"], "share"),
        (["delete", "g", "--delete-all-internal-topics"], "--streams"),
        (["delete", "g", "--streams", "--delete-internal-topic", "t"], "--delete-internal-topic goes with"),
        (["delete-offsets", "g", "--all-topics"], "takes --topic"),
        (
            ["reset-offsets", "g", "--streams", "--topic", "t", "--to-latest", "--delete-all-internal-topics"],
            "with --execute",
        ),
        (["descrbe", "g"], "is describe meant"),
        (["--timeout", "0"], "0"),
        (["--all-types", "--share", "--protocol", "x"], "--protocol"),
    ],
)
def test_what_makes_no_sense(ours: Side, arguments: list[str], word: str) -> None:
    ran = ours.attempt("groups", *arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1), ran
    assert word in ran.err


@pytest.mark.java
@pytest.mark.slow
def test_what_kafka_s_tool_refuses_is_refused(kafka: Side) -> None:
    """But for options that it does not look at: to be asked for a dry run of --delete, it deletes."""
    for arguments in (
        ["--describe"],
        ["--describe", "--group", "g", "--all-groups"],
        ["--describe", "--group", "g", "--members", "--offsets"],
        ["--describe", "--group", "g", "--state", "stable"],
        ["--describe", "--group", "g", "--topic", "t"],
        ["--list", "--group", "g"],
        ["--list", "--members"],
        ["--list", "--state", "nonsense"],
        ["--list", "--type", "share"],
        ["--delete", "--group", "g", "--topic", "t"],
        ["--delete"],
        ["--delete-offsets", "--group", "g"],
        ["--reset-offsets", "--group", "g", "--to-earliest"],
        ["--reset-offsets", "--group", "g", "--topic", "t", "--to-earliest", "--to-latest"],
        ["--reset-offsets", "--group", "g", "--topic", "t", "--to-earliest", "--dry-run", "--execute"],
        ["--reset-offsets", "--topic", "t", "--to-earliest"],
        ["--list", "--describe", "--group", "g"],
        ["--group", "g"],
    ):
        assert kafka.tool(TOOL, *arguments).code == 1, arguments
        if arguments != ["--group", "g"]:
            assert kafka.attempt("groups", *arguments).code == 2, arguments


def test_nobody_there_and_somebody_else() -> None:
    for action in (["list"], ["describe", "g"], ["lag"], ["delete", "g"], ["delete-offsets", "g", "--topic", "t"]):
        ran = run("groups", *action, "--bootstrap-server", "127.0.0.1:1", "--timeout", "1500")
        assert (ran.code, ran.out, ran.err.count("\n")) == (1, "", 1), ran
