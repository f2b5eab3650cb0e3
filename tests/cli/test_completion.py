"""`barnabas completion`: what can follow a line, and Tab in real shells where they are installed."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.cli.commands import COMMANDS, KAFKA_TOOLS, Command, Group
from barnabas.cli.completion import candidates, split_line
from barnabas.cli.main import parser_of
from tests.cli.beside import Side, run
from tests.cli.terminals import PATIENCE_S, read_until, typed_into
from tests.client.fake_servers import closed_port


def after(line: str) -> list[str] | None:
    words, current = split_line(line)
    found = candidates(words[1:], current)
    return None if found is None else [each.word for each in found if each.word.startswith(current)]


@pytest.mark.parametrize(
    ("line", "words", "current"),
    [
        ("barnabas ", ["barnabas"], ""),
        ("barnabas top", ["barnabas"], "top"),
        ("barnabas 'a b", ["barnabas"], "a b"),
        ('barnabas "a b', ["barnabas"], "a b"),
        ("barnabas a\\ b", ["barnabas"], "a b"),
        ("barnabas --topic=x ", ["barnabas", "--topic=x"], ""),
        ("", [], ""),
    ],
)
def test_a_line_is_taken_apart(line: str, words: list[str], current: str) -> None:
    assert split_line(line) == (words, current)


def test_commands() -> None:
    assert after("barnabas ") == list(COMMANDS)
    assert after("barnabas clu") == ["cluster"]
    assert after("barnabas --") == ["--help", "--version"]
    assert after("barnabas kafka-acl") == ["kafka-acls.sh"]
    assert after("barnabas nonsense ") == []
    group = COMMANDS["cluster"]
    assert isinstance(group, Group)
    assert after("barnabas cluster ") == list(group.commands)
    assert after("barnabas cluster quo") == ["quorum"]
    assert after("barnabas cluster quorum --bootstrap-controller ") == []


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("barnabas cluster quorum ", ["describe", "add-controller", "remove-controller"]),
        ("barnabas cluster quorum describe --rep", ["--replication"]),
        ("barnabas kafka-metadata-quorum.sh desc", ["describe"]),
        ("barnabas cluster quorum --describe --stat", ["--status"]),
        ("barnabas cluster elect --election-type ", ["preferred", "unclean"]),
        ("barnabas cluster elect --election-type=u", ["--election-type=unclean"]),
        ("barnabas cluster elect ", ["preferred", "unclean"]),
        ("barnabas completion f", ["fish"]),
        ("barnabas acls --command-config ", None),
        ("barnabas acls --command-config=", None),
        ("barnabas start --config ", None),
        ("barnabas start --data ", None),
        ("barnabas cluster reassign execute ", None),
        ("barnabas start --set ", []),
    ],
)
def test_what_can_follow(line: str, found: list[str] | None) -> None:
    assert after(line) == found


def _commands() -> Iterator[tuple[str, Command]]:
    for name, command in COMMANDS.items():
        if isinstance(command, Group):
            yield from ((f"{name} {inner}", each) for inner, each in command.commands.items())
        else:
            yield name, command


@pytest.mark.parametrize(
    ("name", "command"), list(_commands()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_each_flag_of_each_command_is_found(name: str, command: Command) -> None:
    shown = [action for action in parser_of(name, command)._actions if action.help != argparse.SUPPRESS]
    found = after(f"barnabas {name} --")
    assert found is not None
    assert set(found) == {flag for action in shown for flag in action.option_strings if flag.startswith("--")}


def test_kafkas_names_lead_to_commands() -> None:
    for name in KAFKA_TOOLS:
        # The first word of the script that starts Kafka is a file.
        expected = None if name == "kafka-server-start" else ["--help"]
        assert after(f"barnabas {name}.sh --hel") == expected, name


def test_names_come_from_the_cluster(side: Side, name: str) -> None:
    side.create(name)
    for line in (
        f"barnabas topics --bootstrap-server {side.bootstrap} describe {name[:10]}",
        f"barnabas topics --bootstrap-server={side.bootstrap} --describe --topic {name[:10]}",
        f"barnabas transactions --bootstrap-server {side.bootstrap} find-hanging --topic {name[:10]}",
    ):
        found = after(line)
        assert found is not None
        assert name in found
    assert after(f"barnabas topics --bootstrap-server {closed_port()} describe ") == []
    assert after("barnabas topics --bootstrap-server nonsense describe ") == []


def test_scripts() -> None:
    for shell in ("bash", "zsh", "fish"):
        ran = run("completion", shell)
        assert ran.code == 0
        assert f"barnabas completion {shell}" in ran.out
    assert run("completion", "tcsh").code == 2


def test_shells_are_answered_in_their_own_way() -> None:
    assert run("completion", "bash", "--line", "barnabas clu", "--word", "clu").out == "cluster\n"
    assert run("completion", "zsh", "--line", "barnabas clu").out.startswith("cluster:look at the cluster")
    assert run("completion", "fish", "--line", "barnabas clu").out.startswith("cluster\tlook at the cluster")
    assert run("completion", "bash", "--line", "barnabas start --config ").out == "files\n"
    # Bash's own word begins behind the sign.
    flag = "barnabas cluster elect --election-type=u"
    assert run("completion", "bash", "--line", flag, "--word", "u").out == "unclean\n"


@pytest.mark.slow
def test_tab_in_a_real_bash(tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    (tmp_path / "plan-of-ours.json").write_text("{}")
    environment = {"PATH": path, "TERM": "dumb", "PS1": "READY>", "HOME": str(tmp_path)}
    with typed_into("bash", "--norc", "--noprofile", "-i", environment=environment) as (terminal, _):
        read_until(terminal, "READY>")
        os.write(terminal, f'cd {tmp_path}; eval "$(barnabas completion bash)"; echo "let us" begin\n'.encode())
        read_until(terminal, "let us begin")
        os.write(terminal, b"barnabas cluster quo\t")
        assert "quorum" in read_until(terminal, "quorum ")
        os.write(terminal, b"--stat\t")
        read_until(terminal, "--status ")
        os.write(terminal, b"\x15barnabas cluster elect --election-type=unc\t")
        read_until(terminal, "--election-type=unclean")
        os.write(terminal, b"\x15barnabas cluster reassign verify plan-\t")
        read_until(terminal, "plan-of-ours.json")
        os.write(terminal, b"\x15exit\n")


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_script_is_read_by_other_shells(shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} on the PATH")
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    ask = {
        "zsh": 'autoload -Uz compinit; compinit -u; eval "$(barnabas completion zsh)"; echo $_comps[barnabas]',
        "fish": "barnabas completion fish | source; complete -C 'barnabas clu'",
    }[shell]
    done = subprocess.run(
        [shell, "-c", ask],
        check=True,
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
        timeout=PATIENCE_S,
    )
    assert {"zsh": "_barnabas", "fish": "cluster"}[shell] in done.stdout
