"""What to say of words that are in many tutorials and that no command here knows, nor Kafka any more."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from pathlib import PurePath

__all__ = ["about_tool", "about_usage"]

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


def about_usage(message: str, known: Iterable[str]) -> str:
    """What argparse complains of, in words as all others here."""
    if found := re.fullmatch(r"unrecognized arguments: (.*)", message, re.DOTALL):
        return _about_unknown(found[1], known)
    if found := re.fullmatch(r"one of the arguments (.*) is required", message):
        return f"one of {', '.join(found[1].split())} has to be given"
    if found := re.fullmatch(r"the following arguments are required: (.*)", message):
        return f"{found[1]} has to be given"
    found = re.fullmatch(r"argument ([^\s:/]+)[^\s:]*: (.*)", message, re.DOTALL)
    return message if found is None else _about_argument(found[1], found[2])


def _about_argument(name: str, complaint: str) -> str:
    if found := re.fullmatch(r"invalid (\w+) value: '(.*)'", complaint, re.DOTALL):
        return f"{name} {found[2]} is no {'whole number' if found[1] == 'int' else 'number'}"
    if found := re.fullmatch(r"invalid choice: '(.*)' \(choose from (.*)\)", complaint, re.DOTALL):
        return f"{name} {found[1]} is none of {found[2].replace(chr(39), '')}"
    if found := re.fullmatch(r"not allowed with argument ([^\s/]+).*", complaint):
        return f"{name} and {found[1]} cannot be given together"
    if re.fullmatch(r"expected (one|at least one) argument", complaint):
        return f"{name} needs a value behind it"
    return f"{name}: {complaint}"


def _about_unknown(text: str, known: Iterable[str]) -> str:
    words = text.split()
    option = next((word.partition("=")[0] for word in words if word.startswith("-")), None)
    if option is None:
        return f"nothing is known to be done with {text}"
    if option in _OPTIONS:
        return f"there is no option {option}: {_OPTIONS[option]}"
    near = difflib.get_close_matches(option, known, 1, _ALIKE)
    return f"there is no option {option}" + (f", is {near[0]} meant?" if near else "")
