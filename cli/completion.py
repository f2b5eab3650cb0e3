"""`barnabas completion bash|zsh|fish`: what a shell asks when Tab is pressed, and the answer.

The script that a shell reads is a few lines: at each Tab it asks this command again, with the line as it stands. What
can follow is read off the parsers themselves, so that nothing has to be kept beside them.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from barnabas.cli.commands import COMMANDS, KAFKA_TOOLS, Group, find

if TYPE_CHECKING:
    from barnabas.client.cluster import Cluster

__all__ = ["Candidate", "add_arguments", "candidates", "run", "split_line"]

_PATIENCE_S = 1.0
"""For a question to the cluster: who waits longer for Tab presses it again."""

_BASH = """\
# To be read by ~/.bashrc: eval "$(barnabas completion bash)"
_barnabas() {
    local reply
    reply="$("$1" completion bash --word="$2" --line="${COMP_LINE:0:COMP_POINT}" 2>/dev/null)"
    if [[ $reply == files ]]; then
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$2")
    else
        mapfile -t COMPREPLY < <(printf '%s' "$reply")
    fi
}
complete -F _barnabas barnabas
"""
_ZSH = """\
# To be read by ~/.zshrc behind compinit: eval "$(barnabas completion zsh)"
_barnabas() {
    local reply
    local -a found
    reply="$("${words[1]}" completion zsh --line="${(j: :)${(@q)words[1,CURRENT]}}" 2>/dev/null)"
    if [[ $reply == files ]]; then
        _files
    elif [[ -n $reply ]]; then
        found=("${(@f)reply}")
        _describe -V barnabas found
    fi
}
compdef _barnabas barnabas
"""
_FISH = """\
# To be read by ~/.config/fish/config.fish: barnabas completion fish | source
function __barnabas_complete
    set -l reply (barnabas completion fish --line=(commandline -cp | string collect) 2>/dev/null)
    if test "$reply" = files
        __fish_complete_path (commandline -ct)
    else
        printf '%s\\n' $reply
    end
end
complete -c barnabas -f -a '(__barnabas_complete)'
"""
_SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}
_BREAKS = ":="
"""Where bash cuts a word in two, though we do not."""


class Candidate(NamedTuple):
    word: str
    help: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "shell",
        metavar="SHELL",
        choices=list(_SCRIPTS),
        help='bash or zsh: put eval "$(barnabas completion bash)" into ~/.bashrc or ~/.zshrc; '
        "fish: put barnabas completion fish | source into ~/.config/fish/config.fish",
    )
    parser.add_argument("--line", help=argparse.SUPPRESS)
    parser.add_argument("--word", default="", help=argparse.SUPPRESS)


def run(arguments: argparse.Namespace) -> None:
    if arguments.line is None:
        sys.stdout.write(_SCRIPTS[arguments.shell])
        return
    words, current = split_line(arguments.line)
    for line in _answer(arguments.shell, words[1:], current, arguments.word):
        print(line)  # noqa: T201 - read by the shell


def _answer(shell: str, words: Sequence[str], current: str, part: str) -> Iterator[str]:
    found = candidates(words, current)
    if found is None:
        yield "files"
        return
    # Bash replaces only what is behind the last of its breaks.
    cut = len(current) - len(part) if shell == "bash" and any(each in current for each in _BREAKS) else 0
    for word, text in found:
        if not word.startswith(current):
            continue
        if shell == "bash":
            yield shlex.quote(word[cut:])
        elif shell == "zsh":
            yield word.replace(":", "\\:") + (f":{text}" if text else "")
        else:
            yield word + (f"\t{text}" if text else "")


def split_line(line: str) -> tuple[list[str], str]:
    """The whole words, and the one that is being typed; a quote may still be open."""
    for closing in ("", "'", '"', "\\"):
        try:
            words = shlex.split(line + closing)
        except ValueError:
            continue
        if not closing and (not line or line[-1].isspace()):
            return words, ""
        return words[:-1], words[-1] if words else ""
    return [], ""


def candidates(words: Sequence[str], current: str) -> list[Candidate] | None:
    """What can stand behind these words; None: a file."""
    if not words:
        tools = [Candidate(f"{name}.sh", f"barnabas {' '.join(ours)}") for name, ours in KAFKA_TOOLS.items()]
        options = [Candidate("--help"), Candidate("--version")]
        own = [Candidate(name, command.help) for name, command in COMMANDS.items()]
        return options if current.startswith("-") else [*own, *(tools if current.startswith("kafka") else [])]
    name, command, rest = find(words)
    if command is None:
        return []
    if isinstance(command, Group):
        inner = [Candidate(each, one.help) for each, one in command.commands.items()]
        return [] if rest else [Candidate("--help")] if current.startswith("-") else inner
    from barnabas.cli.main import parser_of

    found = _Parsed(parser_of(name, command), rest, words).candidates(current)
    if not rest and isinstance(group := COMMANDS.get(name.split()[0]), Group) and len(words) == 1:
        # The group alone means one of its commands, and may be the beginning of another.
        found = [*(Candidate(each, inner.help) for each, inner in group.commands.items()), *(found or [])]
    return found


class _Parsed:
    """Words of a command, as far as they have been typed."""

    def __init__(self, parser: argparse.ArgumentParser, rest: Sequence[str], words: Sequence[str]) -> None:
        self._actions = [action for action in parser._actions if action.help != argparse.SUPPRESS]
        self._flags = {flag: action for action in parser._actions for flag in action.option_strings}
        self._words = list(words)
        self.positionals: list[str] = []
        self.given: set[str] = set()
        self.values: dict[str, str] = {}
        self.open: argparse.Action | None = None
        """The option whose value comes next."""
        for word in rest:
            self._take(word)

    def _take(self, word: str) -> None:
        if self.open is not None:
            self.values[self.open.dest] = word
            self.open = None
            return
        flag, equals, value = word.partition("=")
        action = self._flags.get(flag) if word.startswith("-") else None
        if action is None:
            if not word.startswith("-"):
                self.positionals.append(word)
            return
        self.given.add(flag)
        if equals:
            self.values[action.dest] = value
        elif action.nargs not in (0, "?", "*"):
            self.open = action

    def candidates(self, current: str) -> list[Candidate] | None:
        if self.open is not None:
            return self._values(self.open)
        if current.startswith("-"):
            flag, equals, _ = current.partition("=")
            if not equals:
                return [
                    Candidate(each, action.help or "")
                    for action in self._actions
                    for each in action.option_strings
                    if each.startswith("--") or current == "-"
                ]
            action = self._flags.get(flag)
            found = self._values(action) if action is not None else []
            return found and [Candidate(f"{flag}={each.word}", each.help) for each in found]
        return self._operands()

    def _operands(self) -> list[Candidate] | None:
        """Words: first an action, where the command has some, then what it is for."""
        positionals = [action for action in self._actions if not action.option_strings]
        if not positionals:
            return []
        actions = [action for action in self._actions if action.dest == "action" and action.const]
        if actions and not self.positionals and not any(self._flags[flag] in actions for flag in self.given):
            return [Candidate(str(action.const), action.help or "") for action in actions]
        at = min(len(self.positionals), len(positionals) - 1)
        return self._values(positionals[at])

    def _values(self, action: argparse.Action) -> list[Candidate] | None:
        if action.choices is not None:
            return [Candidate(str(each)) for each in action.choices]
        means = f"{action.dest} {action.metavar or ''}".upper()
        if action.type is Path or "FILE" in means or "DIR" in means.split():
            return None
        kinds = {"TOPIC", "GROUP"} & set(means.replace("-", " ").replace(":", " ").replace("[", " ").split())
        if "|" in means and action.metavar is not None and not isinstance(action.metavar, tuple):
            return [Candidate(each) for each in action.metavar.split("|")]
        return self._names(kinds.pop()) if len(kinds) == 1 else []

    def _names(self, kind: str) -> list[Candidate]:
        """Of the cluster that the line names, or of the usual one. It may not be there: then none."""
        from barnabas.cli.connecting import bootstrap_of
        from barnabas.client.address import parse_bootstrap
        from barnabas.client.cluster import Cluster
        from barnabas.client.errors import ClientError
        from barnabas.client.properties import ClientProperties, read_client_properties
        from barnabas.protocol.errors import KafkaError

        where = argparse.Namespace(bootstrap_server=self.values.get("bootstrap_server"))
        file = self.values.get("command_config")
        try:
            properties = ClientProperties(read_client_properties(Path(file)) if file else {})
            with Cluster(parse_bootstrap(bootstrap_of(where)), properties, _PATIENCE_S) as cluster:
                return [Candidate(each) for each in sorted(_names_of(cluster, kind))]
        except (ClientError, KafkaError):
            return []


def _names_of(cluster: Cluster, kind: str) -> list[str]:
    from barnabas.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse

    if kind == "TOPIC":
        return [name for name, topic in cluster.topics().items() if not topic.is_internal]
    answers = [cluster.ask_node(node.node_id, ListGroupsRequest(), ListGroupsResponse) for node in cluster.nodes]
    return [group.group_id for answer in answers for group in answer.groups]
