"""That a command really runs on both, is compared, and is seen to fail."""

from __future__ import annotations

import pytest

from tests.cli.beside import Both, Side, run


def test_a_command_runs_on_each(side: Side, name: str) -> None:
    side.create(name, 2)
    assert name in side.json("topics", "--list")
    assert name in side.run("topics list").splitlines()
    assert side.produce(name, b"a", b"b", partition=1) == 0
    assert side.attempt("topics", "--lits").code == 2


@pytest.mark.java
@pytest.mark.slow
def test_kafkas_tool_sees_the_same_cluster(both: Both, name: str) -> None:
    both.ours.create(name)
    assert name in both.ours.tool("TopicCommand", "--list").out.splitlines()
    assert name not in both.kafka.tool("TopicCommand", "--list").out.splitlines()
    with pytest.raises(AssertionError):
        both.same("topics", "--list")
    both.kafka.create(name)
    code, out, _ = both.kafka.tool("TopicCommand", "--describe", "--topic", "no-such-topic")
    assert code == 1
    assert "no-such-topic" in out


def test_what_a_command_says_is_caught() -> None:
    ran = run("topics", "--bootstrap-server", "nowhere")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("barnabas topics: nowhere is no address")
