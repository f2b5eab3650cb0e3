"""The frame of compat/: what a client's program says becomes cells of the card, and a list of what has to pass."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from compat.advertised import told_apart
from compat.card import cell, markdown, problems, totals
from compat.client import TOO_MUCH, Client, ClientRun, clients
from compat.tap import Check, Result, checks_in


def made(directory: Path, *lines: str, allowed: str = "", seconds: int = 20) -> Client:
    """A client whose program is these lines of a shell."""
    run = directory / "run"
    run.write_text("\n".join(["#!/usr/bin/env bash", *lines, ""]))
    run.chmod(0o755)
    (directory / "tests.allow").write_text(allowed)
    return Client(directory, "Client", "Shell", "1", True, seconds)


def run_of(client: Client, *, quick: bool = False) -> ClientRun:
    return client.run("127.0.0.1:9", client.directory / "log", quick=quick)


@pytest.mark.parametrize(
    ("line", "check"),
    [
        ("ok - codecs: zstd", Check("codecs", "zstd", Result.PASSED)),
        ("ok 3 - codecs: zstd", Check("codecs", "zstd", Result.PASSED)),
        ("ok 3 codecs: zstd", Check("codecs", "zstd", Result.PASSED)),
        ("not ok - groups: one dies # waited: 20 s", Check("groups", "one dies", Result.FAILED, "waited: 20 s")),
        ("not ok 12 - next groups: one", Check("next groups", "one", Result.FAILED)),
        ("ok - topics: added # SKIP it has no call", Check("topics", "added", Result.SKIPPED, "it has no call")),
        ("ok - offsets: by hand: with metadata", Check("offsets", "by hand: with metadata", Result.PASSED)),
    ],
)
def test_a_line_of_tap(line: str, check: Check) -> None:
    assert list(checks_in([line])) == [check]


@pytest.mark.parametrize("line", ["1..4", "okay: no", "it is ok - codecs: zstd", "", "# ok - codecs: zstd", "ok"])
def test_a_clients_own_talk_is_no_check(line: str) -> None:
    assert list(checks_in([line])) == []


def test_a_feature_that_the_card_has_not_is_trouble_and_named(tmp_path: Path) -> None:
    run = run_of(made(tmp_path, "echo ok - codecs: zstd", "echo ok - cookery: soup"))
    assert set(run.checks) == {"codecs: zstd"}
    assert "'cookery' is no feature of the card" in run.trouble


def run_with(**results: Result) -> ClientRun:
    checks = (Check("codecs", name, result, "why") for name, result in results.items())
    return ClientRun({check.name: check for check in checks})


PASSED, FAILED, SKIPPED, ABSENT = Result.PASSED, Result.FAILED, Result.SKIPPED, Result.UNADVERTISED


@pytest.mark.parametrize(
    ("ours", "kafkas", "shown"),
    [
        ({"a": PASSED, "b": PASSED}, {"a": PASSED, "b": PASSED}, "2"),
        ({"a": PASSED, "b": FAILED}, {"a": PASSED, "b": PASSED}, "1 of 2 (Kafka: 2)"),
        ({"a": PASSED, "b": FAILED}, {"a": FAILED, "b": PASSED}, "1 of 2"),
        ({"a": FAILED}, {}, "0 of 1 (Kafka: ·)"),
        ({"a": SKIPPED}, {"a": SKIPPED}, "·"),
        ({"a": ABSENT}, {"a": PASSED}, "not advertised (Kafka: 1)"),
        ({"a": PASSED, "b": ABSENT}, {"a": PASSED, "b": PASSED}, "1, 1 not advertised (Kafka: 2)"),
        ({"a": PASSED, "b": ABSENT, "c": FAILED}, {"b": PASSED}, "1 of 2, 1 not advertised (Kafka: 1)"),
        ({}, {}, "·"),
    ],
)
def test_cells(ours: dict[str, Result], kafkas: dict[str, Result], shown: str) -> None:
    assert cell("codecs", run_with(**ours), run_with(**kafkas)) == shown
    assert cell("groups", run_with(**ours), run_with(**kafkas)) == "·"


def test_the_card_has_a_row_for_each_client(tmp_path: Path) -> None:
    client = made(tmp_path)
    *_, row = markdown({client: (run_with(a=PASSED), run_with(a=PASSED))}).splitlines()
    assert f"compat/clients/{client.name}/FINDINGS.md), Shell |" in row
    assert row.count("| 1 ") == 1


@pytest.mark.parametrize(
    ("allowed", "results", "quick", "found"),
    [
        ("codecs: a\n", {"a": PASSED}, False, []),
        ("codecs: a\n", {"a": FAILED}, False, ["failed: codecs: a: why"]),
        ("", {"a": FAILED}, False, []),
        ("codecs: a\n", {"a": SKIPPED}, True, []),
        ("codecs: a\n", {"a": SKIPPED}, False, ["has to pass and was not tried: codecs: a"]),
        ("codecs: a\ncodecs: b\n", {"a": PASSED}, False, ["has to pass and was not tried: codecs: b"]),
        ("", {"a": PASSED}, True, ["passes, and is not in tests.allow (--grow writes it there): codecs: a"]),
        ("codecs: a\n", {"a": ABSENT}, False, ["failed: codecs: a: why"]),
        ("", {"a": ABSENT}, False, []),
    ],
)
def test_what_has_to_pass(
    tmp_path: Path, allowed: str, results: dict[str, Result], quick: bool, found: list[str]
) -> None:
    client, reference = made(tmp_path, allowed=allowed), run_with(a=FAILED, b=FAILED)
    assert problems(client, run_with(**results), reference, quick=quick) == [f"{client.name}: {each}" for each in found]


def test_what_fails_and_passes_on_the_reference_is_a_problem_whatever_was_allowed(tmp_path: Path) -> None:
    client = made(tmp_path)
    found = problems(client, run_with(a=FAILED, b=FAILED, c=ABSENT), run_with(a=PASSED, c=PASSED), quick=True)
    assert found == [f"{client.name}: fails, and passes on the reference: codecs: a: why"]


NEXT, GUESS = "next groups: one", "connect: the version is guessed from what is there"


@pytest.mark.parametrize(
    ("name", "ours", "kafkas", "lacking", "result"),
    [
        (NEXT, FAILED, PASSED, {"ConsumerGroupHeartbeat"}, ABSENT),
        (NEXT, SKIPPED, PASSED, {"ConsumerGroupHeartbeat"}, ABSENT),
        (NEXT, FAILED, PASSED, {"EndTxn"}, FAILED),
        (NEXT, FAILED, PASSED, set(), FAILED),
        (NEXT, FAILED, FAILED, {"ConsumerGroupHeartbeat"}, FAILED),
        (NEXT, SKIPPED, SKIPPED, {"ConsumerGroupHeartbeat"}, SKIPPED),
        (NEXT, PASSED, PASSED, {"ConsumerGroupHeartbeat"}, PASSED),
        ("codecs: zstd", FAILED, PASSED, {"ConsumerGroupHeartbeat", "EndTxn"}, FAILED),
        ("own suite: TestGroupSimple/848", SKIPPED, PASSED, {"ConsumerGroupHeartbeat"}, ABSENT),
        (GUESS, FAILED, PASSED, {"SaslHandshake"}, ABSENT),
        (GUESS, FAILED, PASSED, set(), FAILED),
    ],
)
def test_only_what_wants_an_api_that_is_lacking_is_not_advertised(
    name: str, ours: Result, kafkas: Result, lacking: set[str], result: Result
) -> None:
    def run(found: Result, apis: set[str]) -> ClientRun:
        feature, _, what = name.partition(": ")
        return ClientRun({name: Check(feature, what, found, "why")}, apis=frozenset(apis))

    both = {"Produce", "Fetch"}
    assert told_apart(run(ours, both), run(kafkas, both | lacking)).result(name) is result


def test_the_sum_is_of_what_passes_on_kafka(tmp_path: Path) -> None:
    ours = run_with(a=PASSED, b=ABSENT, c=FAILED, d=PASSED, e=SKIPPED)
    said = totals({made(tmp_path): (ours, run_with(a=PASSED, b=PASSED, c=PASSED, d=FAILED, e=PASSED))})
    assert said.startswith("Of 4 checks that pass on Apache Kafka 1 pass on Barnabas, 1 are about")
    assert said.endswith("and 2 fail.")


def test_the_list_only_grows(tmp_path: Path) -> None:
    client = made(tmp_path, allowed="codecs: b\n")
    client.allow(["codecs: a"])
    client.allow([])
    assert client.allowed == ["codecs: a", "codecs: b"]


def test_a_program_is_given_the_broker_and_what_it_needs(tmp_path: Path) -> None:
    client = made(tmp_path, 'echo "$@" $COMPAT_CACHE', '[ -x "$COMPAT_PYTHON" ] && echo ok - connect: it', "exit 1")
    run = run_of(client, quick=True)
    assert run == ClientRun({"connect: it": Check("connect", "it", PASSED)})
    log = (tmp_path / "log").read_text()
    assert log.startswith("127.0.0.1:9 --quick ")
    assert log.splitlines()[0].endswith(f"/compat/{tmp_path.name}")


def test_a_client_that_dies_is_trouble_and_what_it_said_counts(tmp_path: Path) -> None:
    client = made(tmp_path, "echo ok - codecs: zstd", "kill -SEGV $$", allowed="codecs: zstd\n")
    run = run_of(client)
    assert (list(run.checks), run.trouble) == (["codecs: zstd"], "it ended with -11")
    assert problems(client, run, run, quick=False) == [f"{client.name}: it ended with -11"]


def test_a_client_that_is_too_much_to_fetch_says_so_and_one_that_cannot_be_had_is_an_error(tmp_path: Path) -> None:
    assert made(tmp_path, "exit 0").install()
    assert not made(tmp_path, f"exit {TOO_MUCH}").install()
    with pytest.raises(RuntimeError, match="`run --install` ended with 9"):
        made(tmp_path, "exit 9").install()


def test_a_client_that_checks_nothing_is_trouble(tmp_path: Path) -> None:
    assert run_of(made(tmp_path, "echo hello")).trouble == "it checked nothing"
    assert run_of(made(tmp_path, "exit 3")).trouble == "it ended with 3"


@pytest.mark.slow
def test_a_client_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    fifo = tmp_path / "held"
    os.mkfifo(fifo)
    client = made(tmp_path, "echo ok - codecs: zstd", f"sleep 600 3> {fifo} &", "wait", seconds=1)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        run = run_of(client)
        assert (list(run.checks), run.trouble) == (["codecs: zstd"], "it was not done after 1 s")
        os.set_blocking(reader, True)
        assert os.read(reader, 1) == b"", "the end of it comes when nobody has it open any more"
    finally:
        os.close(reader)


def test_each_client_has_all_that_the_card_tells() -> None:
    found = list(clients())
    assert len(found) >= 9
    for client in found:
        assert os.access(client.directory / "run", os.X_OK), client.name
        assert (client.directory / "FINDINGS.md").read_text().startswith("# "), client.name
        assert client.allowed == sorted(set(client.allowed)), client.name
        if client.name != "spark":  # for which half a gigabyte has to be there
            assert client.allowed, client.name
        assert list(checks_in(f"ok - {name}" for name in client.allowed)), client.name
