"""What to say of words that are in many tutorials and that no command here knows, nor Kafka any more."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from pathlib import PurePath

__all__ = ["about_option", "about_tool"]

_ALIKE = 0.75
_NO_ZOOKEEPER = "there is no ZooKeeper, nor is one needed"
_OF_CONNECT = "Kafka Connect's programs run as they are, and take a broker of Barnabas for their cluster"
_OF_SYSTEM_TESTS = "it belongs to Kafka's own system tests"

_TOOLS = {
    "connect-distributed": _OF_CONNECT,
    "connect-mirror-maker": _OF_CONNECT,
    "connect-plugin-path": _OF_CONNECT,
    "connect-standalone": _OF_CONNECT,
    "kafka-console-share-consumer": "no client library of Python's reads in a share group; "
    "barnabas groups --share shows such groups",
    "kafka-delegation-tokens": "a broker of Barnabas has none; Kafka's own script works for clusters that have them",
    "kafka-jmx": "JMX is Java's; barnabas perf measures from outside",
    "kafka-metadata-shell": "barnabas log dump shows the records of __cluster_metadata-0",
    "kafka-replica-verification": "Kafka has given up the consumer that it needs",
    "kafka-run-class": "there are no classes of Java's: call the tool by its name, such as kafka-topics.sh",
    "kafka-server-stop": "a broker ends with Ctrl-C, or with kill and its process id",
    "kafka-share-consumer-perf-test": "no client library of Python's reads in a share group",
    "kafka-streams-application-reset": "barnabas groups reset-offsets and barnabas topics delete are its two halves",
    "kafka-verifiable-consumer": _OF_SYSTEM_TESTS,
    "kafka-verifiable-producer": _OF_SYSTEM_TESTS,
    "kafka-verifiable-share-consumer": _OF_SYSTEM_TESTS,
    "trogdor": _OF_SYSTEM_TESTS,
    "zookeeper-server-start": f"{_NO_ZOOKEEPER}: barnabas start is all",
    "zookeeper-server-stop": _NO_ZOOKEEPER,
    "zookeeper-shell": f"{_NO_ZOOKEEPER}: barnabas cluster tells of the brokers",
}

_OPTIONS = {
    "--zookeeper": f"{_NO_ZOOKEEPER}: write --bootstrap-server HOST:PORT, with the port of a broker (9092)",
    "--new-consumer": "there is no other consumer any more: leave it out",
    "--bootstrap-servers": "write --bootstrap-server, without s",
    "-daemon": "put & behind the line, or let the system's services start it",
}


def about_tool(word: str) -> str | None:
    """Why a script of Kafka's has no counterpart, and what to do instead."""
    name = PurePath(word).name.removesuffix(".sh").removesuffix(".bat")
    why = _TOOLS.get(name)
    return f"{name} has no counterpart: {why}." if why else None


def about_option(message: str, known: Iterable[str]) -> str | None:
    """Of argparse's complaint the sentence about the first option that is none."""
    found = re.fullmatch(r"unrecognized arguments: (.*)", message, re.DOTALL)
    if found is None:
        return None
    words = found[1].split()
    option = next((word.partition("=")[0] for word in words if word.startswith("-")), None)
    if option is None:
        return f"nothing is known to be done with {found[1]}"
    if option in _OPTIONS:
        return f"there is no option {option}: {_OPTIONS[option]}"
    near = difflib.get_close_matches(option, known, 1, _ALIKE)
    return f"there is no option {option}" + (f", is {near[0]} meant?" if near else "")
