"""Brokers that come and go: described, elected, moved, compared, mirrored and forgotten, beside Kafka's own tools."""

from __future__ import annotations

import json
import signal
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from barnabas.protocol.batches import CRC_AT, Batch, iterate_batches
from tests.cli.beside import run
from tests.cli.kafkas_tool import Kafkas
from tests.cli.mirrors import Between, Ends, MirrorProcess
from tests.cli.three import Three, produce
from tests.clients.broker_process import BrokerProcess
from tests.clients.waiting import PATIENCE_S, wait_until
from tests.kafka.classpath import java_command
from tests.kafka.tool_runner import ToolRunner

pytestmark = [pytest.mark.java, pytest.mark.slow]

REPORTS = ("under-replicated", "unavailable", "under-min-isr", "at-min-isr")
SOON_S = 5
LARGE = b"x" * 500_000


@pytest.fixture
def kafkas(kafka_tools: ToolRunner) -> Kafkas:
    return Kafkas(kafka_tools)


def told_alike(three: Three, kafkas: Kafkas) -> None:
    """What kafka-topics.sh says of all topics, it says of each report too, and so do we."""
    for report in ([], *([f"--{name}-partitions"] for name in REPORTS)):
        flags = ["--describe", *report]
        said: list[list[str]] = [[], []]

        def alike(flags: list[str] = flags, said: list[list[str]] = said) -> bool:
            # Each may ask another broker, and one may not have heard yet of what has just happened.
            theirs = kafkas(three.side, "TopicCommand", "--bootstrap-server", "BROKER", *flags)
            ours = three.side.attempt("topics", *flags, "--plain")
            # The topics come in no order from Kafka's, and with one that none names.
            said[:] = sorted(ours.out.splitlines()), sorted(filter(None, theirs.out.splitlines()))
            return said[0] == said[1]

        wait_until(alike, lambda report=report, said=said: f"{report} to be the same: {said}", SOON_S)  # type: ignore[misc]


def reported(three: Three, name: str, topic: str) -> list[str]:
    told = three.side.json("topics", "describe", f"{topic}.*", f"--{name}-partitions")
    return [f"{found['topic']}-{each['partition']}" for found in told for each in found["partitions"]]


def test_topics_are_described_while_brokers_are_away(three: Three, kafkas: Kafkas, name: str) -> None:
    pair = f"{name}-pair"
    three.create(name, "1:2:3,3:1:2", min_insync_replicas="2")
    three.create(pair, "2:3", min_insync_replicas="2")
    all_three = [f"{name}-0", f"{name}-1", f"{pair}-0"]
    told_alike(three, kafkas)
    assert [reported(three, report, name) for report in REPORTS] == [[], [], [], [f"{pair}-0"]]
    three.kill(3)
    wait_until(lambda: three.in_sync(name) == {1, 2} and three.in_sync(pair) == {2}, "3 to be out of sync")
    told_alike(three, kafkas)
    assert [reported(three, report, name) for report in REPORTS] == [all_three, [], [f"{pair}-0"], all_three[:2]]
    three.kill(2)
    wait_until(lambda: three.in_sync(name) == {1} and not three.in_sync(pair), "2 to be out of sync")
    told_alike(three, kafkas)
    assert [reported(three, report, name) for report in REPORTS] == [all_three, [f"{pair}-0"], all_three, []]
    one, other = three.side.json("topics", "describe", f"{name}.*")
    assert [each["leader"] for each in one["partitions"]] == [1, 1]
    assert one["partitions"][0]["elr"] == [2]
    assert other["partitions"] == [
        {
            "partition": 0,
            "leader": None,
            "replicas": [2, 3],
            "isr": [],
            "offline_replicas": [2, 3],
            "elr": [2, 3],
            "last_known_elr": [2],
            "adding_replicas": [],
            "removing_replicas": [],
            "size_bytes": None,
        }
    ]
    for report in ([], ["--under-min-isr-partitions"]):
        text = three.side.run("topics", "describe", name, *report)
        assert "ELR" in text
        assert "LAST KNOWN ELR" in text


def test_the_metadata_logs_of_all_nodes_tell_who_led_when(three: Three, name: str) -> None:
    three.create(name, "3:2:1,2:1:3", min_insync_replicas="2")
    three.kill(3)
    wait_until(lambda: three.in_sync(name) == {1, 2}, "3 to be out of sync")
    three.start(3)
    wait_until(lambda: three.in_sync(name) == {1, 2, 3}, "3 to be in sync")
    three.side.run("elect-leaders", "preferred", "--topic", name, "--partition", "0")
    wait_until(lambda: three.leaders(name) == [3, 2], "3 to lead again")
    directories = [str(node.data_directory) for node in three.nodes.values()]
    of_all = run("state-log", *directories, "--topic", name, "--json")
    assert of_all.code == 0, of_all.err
    told = [json.loads(line) for line in of_all.out.splitlines()]
    first = [(each["leader"], each["leader_epoch"], each["what"][0]) for each in told if each["partition"] == 0]
    assert first[0] == (3, 0, "created")
    assert first[1][1:] == (1, "elected")
    assert first[1][0] in (1, 2)
    assert first[-1] == (3, 2, "elected, preferred")
    for number, state in enumerate(three.partitions(name)):
        last = [each for each in told if each["partition"] == number][-1]
        assert (last["leader"], last["replicas"], last["isr"]) == (state.leader, list(state.replicas), list(state.isr))
        assert (last["elr"], last["last_known_elr"]) == (list(state.elr or ()), list(state.last_known_elr or ()))
    # Each node has all of it.
    for directory in directories:
        assert run("log", "state", directory, "--topic", name, "--json").out == of_all.out


def test_brokers_are_listed(three: Three, name: str) -> None:
    three.create(name, "1:2:3,2:3:1,3:1:2")

    def brokers(*ids: str) -> dict[int, dict[str, Any]]:
        return {each["id"]: each for each in three.side.json("cluster brokers", *ids)}

    # A broker makes its replicas a moment after it is told of them.
    wait_until(
        lambda: all(each["directories"][0]["replicas"] == each["replicas"] for each in brokers().values()), "all logs"
    )
    whole = brokers()
    assert list(whole) == [1, 2, 3]
    for number, each in whole.items():
        assert each["rack"] == f"rack-{number}"
        assert each["port"] == three.nodes[number].port
        assert (each["fenced"], each["error"]) == (False, None)
        assert each["replicas"] == each["in_sync"]
        (directory,) = each["directories"]
        assert directory["path"] == str(three.nodes[number].data_directory)
    assert sum(each["leads"] for each in whole.values()) == sum(each["preferred"] for each in whole.values())
    three.kill(3)
    wait_until(lambda: three.in_sync(name, 2) == {1, 2}, "3 to be out of sync")
    (gone,) = brokers("3").values()
    assert (gone["fenced"], gone["leads"], gone["in_sync"], gone["directories"]) == (True, 0, 0, None)
    assert gone["replicas"] == whole[3]["replicas"]
    lines = three.side.run("cluster brokers").splitlines()
    assert lines[0].split()[:6] == ["ID", "ADDRESS", "RACK", "STATE", "LEADS", "PREFERRED"]
    assert [line.split()[3] for line in lines[1:]] == ["in", "in", "fenced"]
    refused = three.side.attempt("cluster brokers", "9")
    assert (refused.code, refused.err) == (
        1,
        "barnabas cluster brokers: There is no broker 9: the cluster has 1, 2, 3.\n",
    )


def test_the_quorum_has_observers(three: Three, kafkas: Kafkas) -> None:
    """They come in no order."""
    told = three.side.json("cluster quorum")
    others = sorted({1, 2, 3} - {three.controller})
    assert sorted((each["id"], each["status"]) for each in told["replicas"]) == sorted(
        [(three.controller, "leader"), *((each, "observer") for each in others)]
    )
    quorum = ["MetadataQuorumCommand", "--bootstrap-server", "BROKER", "describe"]
    theirs = kafkas(three.side, *quorum, "--replication").out
    ours = three.side.run("cluster quorum", "describe", "--replication")
    still = [0, 1, 6]  # what does not move: node, directory, status
    lines = [sorted([line.split()[at] for at in still] for line in text.splitlines()) for text in (ours, theirs)]
    assert len(lines[0]) == 2 + len(others)
    assert lines[0] == lines[1]
    texts = three.side.run("cluster quorum", "describe", "--status"), kafkas(three.side, *quorum, "--status").out
    of_ours, of_theirs = (dict(line.split(":", 1) for line in text.splitlines()) for text in texts)
    assert list(of_ours) == list(of_theirs)
    assert of_ours["CurrentVoters"] == of_theirs["CurrentVoters"]
    observers = [sorted(each["id"] for each in json.loads(one["CurrentObservers"])) for one in (of_ours, of_theirs)]
    assert observers == [others, others]


def test_leaders_are_elected(three: Three, kafkas: Kafkas, name: str, tmp_path: Path) -> None:
    three.create(name, "2:1,3:2")
    # 2 misses a record of the second partition, whose other replica then is gone too.
    three.kill(2)
    wait_until(lambda: three.in_sync(name, 1) == {3}, "2 to be out of sync")
    produce(three.side.bootstrap, name, b"only on 3", partition=1)
    three.kill(3)
    three.start(2)
    wait_until(lambda: three.leaders(name) == [1, None], "the second partition to be without a leader")
    file = tmp_path / "partitions.json"
    file.write_text(json.dumps({"partitions": [{"topic": name, "partition": number} for number in (0, 1)]}))
    flags = ["--election-type", "unclean", "--path-to-json-file", str(file)]
    told = three.side.run("cluster elect", *flags)
    assert told == (
        f"Successfully completed leader election (UNCLEAN) for partitions {name}-1\n"
        f"Valid replica already elected for partitions {name}-0\n"
    )
    assert three.leaders(name) == [1, 2]
    theirs = kafkas(three.side, "LeaderElectionCommand", "--bootstrap-server", "BROKER", *flags).out
    start, _, names = theirs.strip().rpartition(" partitions ")
    assert (start, sorted(names.split(", "))) == (
        "Valid replica already elected for",
        [f"{name}-0", f"{name}-1"],
    )
    # Those of other tests' topics, too.
    three.revive()
    done = three.side.json("cluster elect", "preferred", "--all-topic-partitions")
    assert {f"{name}-0", f"{name}-1"} <= set(done["elected"])
    wait_until(lambda: three.leaders(name) == [2, 3], "the preferred replicas to lead")


def written(path: Path, topic: str, *replicas: list[int]) -> str:
    rows = [{"topic": topic, "partition": number, "replicas": each} for number, each in enumerate(replicas)]
    path.write_text(json.dumps({"version": 1, "partitions": rows}))
    return str(path)


def test_replicas_move_slowly_and_then_fast(three: Three, name: str, tmp_path: Path) -> None:
    three.create(name, "1:2,2:1")
    for _ in range(4):
        for number in (0, 1):
            produce(three.side.bootstrap, name, LARGE, partition=number)
    assert three.side.run("cluster reassign", "progress") == "Nothing is being moved.\n"
    file = written(tmp_path / "plan.json", name, [1, 3], [3, 1])
    three.side.run("cluster reassign", "execute", file, "--throttle", "1000")

    def under_way() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = three.side.json("cluster reassign", "progress")
        return found if len(found) == 2 and all(each["directory"] for each in found) else []

    wait_until(under_way, "3 to have begun")
    for each in under_way():
        assert (each["topic"], each["broker"], each["within_broker"]) == (name, 3, False)
        assert each["directory"] == str(three.nodes[3].data_directory)
        assert 0 <= each["copied_bytes"] < each["total_bytes"]
        assert each["total_bytes"] > 4 * len(LARGE)
    table = three.side.run("cluster reassign", "progress").splitlines()
    assert table[0].split()[:3] == ["PARTITION", "TO", "BROKER"]
    assert [line.split()[:2] for line in table[1:]] == [[f"{name}-0", "3"], [f"{name}-1", "3"]]
    # Faster, until all is there; the throttles are gone then.
    told = three.side.run("cluster reassign", "execute", file, "--additional", "--throttle", "50000000", "--wait")
    assert f"Reassignment of partition {name}-0 is completed.\n" in told
    assert f"Reassignment of partition {name}-1 is completed.\n" in told
    assert "Clearing broker-level throttles on brokers 1,2,3\n" in told
    assert [list(each.replicas) for each in three.partitions(name)] == [[1, 3], [3, 1]]
    assert three.side.run("cluster reassign", "progress", "--watch", "0.1") == "Nothing is being moved.\n"
    configs = three.side.json("configs", "describe", "topic", name)
    assert not [each for each in configs[0]["configs"] if "throttled" in each["name"]]


def test_replicas_move_off_a_broker_that_is_gone(three: Three, kafkas: Kafkas, name: str, tmp_path: Path) -> None:
    three.create(name, "3:1,1:3")
    produce(three.side.bootstrap, name, b"a record")
    three.kill(3)
    topics = tmp_path / "topics.json"
    topics.write_text(json.dumps({"topics": [{"topic": name}]}))
    told = three.side.json("cluster reassign", "generate", name, "--broker-list", "1,2")
    assert [each["log_dirs"][0] for each in told["current"]["partitions"]] == [
        "any",
        str(three.nodes[1].data_directory),
    ]
    flags = ["--generate", "--topics-to-move-json-file", str(topics), "--broker-list", "1,2"]
    theirs = kafkas(three.side, "reassign.ReassignPartitionsCommand", "--bootstrap-server", "BROKER", *flags).out
    assert json.loads(theirs.splitlines()[1]) == told["current"]
    file = written(tmp_path / "plan.json", name, [2, 1], [1, 2])
    assert "is completed" in three.side.run("cluster reassign", "execute", file, "--wait")
    assert [list(each.replicas) for each in three.partitions(name)] == [[2, 1], [1, 2]]
    assert all(set(each.isr) == {1, 2} for each in three.partitions(name))


def change(log: Path, number: int, at: int) -> int:
    """One byte of one batch, whose checksum is right again; its offset."""
    data = bytearray(log.read_bytes())
    batch = list(iterate_batches(data))[number]
    data[batch.position + at] ^= 1
    struct.pack_into(">I", data, batch.position + CRC_AT, Batch(data, batch.position).compute_crc())
    log.write_bytes(data)
    return batch.base_offset


def test_a_replica_that_differs_is_found(three: Three, kafka_classpath: str, name: str, tmp_path: Path) -> None:
    three.create(name, "1:2:3,2:3:1,3:1:2")
    for number in range(3):
        for _ in range(5):
            produce(three.side.bootstrap, name, *[b"value %d" % each for each in range(20)], partition=number)
    wait_until(lambda: three.side.attempt("verify-replicas", name).code == 0, "all to have all")
    told = three.side.json("verify-replicas", name)
    assert (told["equal"], told["max_lag"]["lag"]) == (3, 0)
    assert [sorted(each["replicas"]) for each in told["partitions"]] == [[1, 2, 3]] * 3
    assert [(each["next_offset"], each["batches"]) for each in told["partitions"]] == [(100, 5)] * 3

    three.stop(3)
    directory = three.nodes[3].data_directory
    offset = change(directory / f"{name}-1/00000000000000000000.log", 2, 100)
    away = three.side.attempt("verify-replicas", name)
    assert away.code == 1
    assert f"Not compared as a whole: {name}-0, {name}-1, {name}-2 (broker 3: it is not in service)." in away.out
    on_disks = [f"--data={node.data_directory}" for node in three.nodes.values()]
    three.start(3)
    wait_until(lambda: three.in_sync(name, 1) == {1, 2, 3}, "3 to be in sync")
    found = three.side.attempt("verify-replicas", name, "--json")
    told = json.loads(found.out)
    assert (found.code, told["equal"], told["different"]) == (1, 2, 1)
    difference = told["partitions"][1]["difference"]
    assert (difference["offset"], difference["what"]) == (offset, "checksum") == (40, "checksum")
    checksums = {replica: seen["crc"] for replica, seen in difference["seen"].items()}
    assert checksums["1"] == checksums["2"] != checksums["3"]
    # The same on disks, and by Kafka's tool, which does not end.
    of_disks = json.loads(run("verify-replicas", *on_disks, name, "--json").out)
    assert of_disks["partitions"][1]["difference"] == difference
    theirs = tmp_path / "kafkas"
    command = [*java_command(kafka_classpath, heap_mib=128), "org.apache.kafka.tools.ReplicaVerificationTool"]
    flags = ["--topics-include", name, "--time", "-2", "--report-interval-ms", "200"]
    with theirs.open("wb") as out:
        tool = subprocess.Popen(
            [*command, "--broker-list", three.side.bootstrap, *flags], stdout=out, stderr=subprocess.STDOUT
        )
    try:
        wait_until(lambda: "has unmatched checksum" in theirs.read_text(), lambda: theirs.read_text())
    finally:
        tool.kill()
        tool.wait()
    line = next(each for each in theirs.read_text().splitlines() if "has unmatched checksum" in each)
    assert f"partition {name}-1 has unmatched checksum at offset 59; " in line  # the last of the batch
    assert str(checksums["1"]) in line
    assert str(checksums["3"]) in line
    ours = [sys.executable, "-m", "barnabas.cli", "kafka-replica-verification.sh"]
    with subprocess.Popen(
        [*ours, "--broker-list", three.side.bootstrap, *flags], stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        lines = [running.stdout.readline() for _ in range(3)]
        running.send_signal(signal.SIGINT)
        assert running.wait(PATIENCE_S) == 1
    assert lines[0].endswith(": verification process is started\n")
    assert f"{name}-1 differs at offset 40: the checksums differ. " in lines[1]
    assert f": max lag is 60 for partition {name}-1 at offset 40 among 3 partitions\n" in lines[2]


def test_a_mirror_sees_what_an_unclean_election_has_lost(three: Three, our_broker: BrokerProcess, name: str) -> None:
    """Though the source's log is longer by then than what was copied."""
    between = Between(Ends(_Bootstrap(three.side.bootstrap)), Ends(our_broker))
    flags = [name, "--offsets-topic", f"mirror.offsets-{name}"]
    three.create(name, "3:2")
    produce(three.side.bootstrap, name, b"on both")
    three.kill(2)
    wait_until(lambda: three.in_sync(name) == {3}, "2 to be out of sync")
    produce(three.side.bootstrap, name, b"only on 3", b"this too")
    between.catch_up(*flags)
    assert [record.value for record in between.target.records(name)] == [b"on both", b"only on 3", b"this too"]
    three.kill(3)
    three.start(2)
    wait_until(lambda: three.leaders(name) == [None], "the partition to be without a leader")
    three.side.run("cluster elect", "unclean", "--topic", name, "--partition", "0")
    produce(three.side.bootstrap, name, *[b"after that"] * 5)
    refused = between.attempt("--catch-up", *flags)
    assert refused.code == 1
    assert (
        f"{name}-0 at the source has lost records that were copied: its log took another way at offset 1, "
        "and 3 was reached. Delete the topic at the target to have it copied anew.\n"
    ) in refused.err
    our_side = Ends(our_broker)
    our_side.run("topics", "delete", name, "--yes")
    between.catch_up(*flags)
    assert between.same(name) == 6


def test_a_mirror_goes_on_while_leaders_change(
    three: Three, our_broker: BrokerProcess, name: str, tmp_path: Path
) -> None:
    """Into three brokers, and out of them again: each is killed once, and all records are there once."""
    there, back = (
        Between(Ends(our_broker), Ends(_Bootstrap(three.side.bootstrap))),
        Between(Ends(_Bootstrap(three.side.bootstrap)), Ends(our_broker)),
    )
    there.source.create(name, 3)
    three.create(name, "1:2:3,2:3:1,3:1:2", min_insync_replicas="2")
    flags = ["--refresh-seconds", "1", "--heartbeat-seconds", "1", "--batch-bytes", "1"]
    with (
        MirrorProcess(there, tmp_path / "there", name, *flags, "--offsets-topic", f"mirror.offsets-{name}") as first,
        MirrorProcess(
            back, tmp_path / "back", name, *flags, "--prefix", "b.", "--offsets-topic", f"mirror.offsets-b-{name}"
        ) as second,
    ):
        there.source.values(name, b"first")
        wait_until(lambda: there.source.end(f"b.{name}") == 1, lambda: f"both to begin: {first.said()}{second.said()}")
        for number in range(90):
            there.source.values(name, b"%d" % number, partition=number % 3)
            if number in (30, 60):
                three.kill(3 if number == 30 else 2)
                three.start(3 if number == 30 else 2)
        wait_until(
            lambda: sum(there.source.end(f"b.{name}", each) for each in range(3)) == 91,
            lambda: f"all: {first.said()}{second.said()}",
            60,
        )
        assert (first.end(), second.end()) == (143, 143)
    assert there.same(name, range(3)) == 91
    assert back.same(name, range(3), prefix="b.") == 91


class _Bootstrap:
    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap


def test_a_broker_is_forgotten_and_comes_again(three: Three, kafkas: Kafkas) -> None:
    three.stop(3)
    assert three.side.run("cluster unregister", "3") == "Broker 3 is no longer registered.\n"
    flags = ["--include-fenced-brokers"]
    theirs = kafkas(three.side, "ClusterTool", "list-endpoints", "-b", "BROKER", *flags).out
    assert three.side.run("cluster endpoints", *flags) == theirs
    assert [each["id"] for each in three.side.json("cluster brokers")] == [1, 2]
    again = three.side.attempt("cluster unregister", "3")
    assert again.code == 1
    assert "3" in again.err
