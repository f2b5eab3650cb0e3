"""Which topics are meant: --topic is a regular expression, or several with commas, as kafka-topics.sh takes it."""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Collection, Iterable

from barnabas.cli.failures import CommandFailed, WrongUsage
from barnabas.cli.output import Output
from barnabas.client.cluster import Cluster
from barnabas.client.topics import INTERNAL_TOPICS

__all__ = ["list_topics", "matching", "selected_topics"]


def list_topics(cluster: Cluster, arguments: argparse.Namespace, output: Output) -> None:
    names = matching(cluster.topics(), arguments.topics, internal=not arguments.exclude_internal)
    if output.as_json:
        output.json(names)
    for name in names:
        output.line(name)


def selected_topics(cluster: Cluster, arguments: argparse.Namespace) -> list[str]:
    """Those that are meant; unless --if-exists says otherwise, each word must mean at least one."""
    there = cluster.topics()
    internal = not arguments.exclude_internal
    if not arguments.if_exists:
        for pattern in arguments.topics:
            if pattern and not matching(there, [pattern], internal=internal):
                raise CommandFailed(_missing(pattern, there))
    return matching(there, arguments.topics, internal=internal)


def matching(names: Iterable[str], patterns: Collection[str], *, internal: bool = True) -> list[str]:
    """In order; all if there are no patterns."""
    found = sorted(name for name in names if internal or name not in INTERNAL_TOPICS)
    if not patterns:
        return found
    expressions = [_expression(pattern) for pattern in patterns]
    return [name for name in found if any(expression.fullmatch(name) for expression in expressions)]


def _expression(pattern: str) -> re.Pattern[str]:
    """Commas divide, blanks mean nothing, and quotes may come from a file of properties."""
    plain = pattern.strip().replace(",", "|").replace(" ", "").strip("\"'")
    try:
        return re.compile(plain)
    except re.error as error:
        raise WrongUsage(f"--topic {pattern} is no regular expression ({error}).") from None


def _missing(pattern: str, there: Iterable[str]) -> str:
    near = difflib.get_close_matches(pattern, there, 1)
    hint = f"is {near[0]} meant?" if near else "see barnabas topics --list."
    return f"There is no topic {pattern}: {hint}"
