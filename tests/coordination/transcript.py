"""Scenario files: what is asked stands behind `>`, and below it what came of it, word for word.

    config max_size=2                     settings that differ from Kafka's defaults
    config kafka                          those of the Kafka that is asked too (beside_kafka.py)
    > alice JoinGroup.5 group=g           alice asks; see asking.py for the words
    > +3000                               three seconds pass, deadline by deadline
    > restart                             another broker takes over, with nothing but the log
    > producer 7 commits                  (or aborts) a transaction ends

Answers, records and releases are written with the fields that are not at their defaults; times count from the start.
`next` is the first deadline, wherever it has changed. Run the tests with BARNABAS_REWRITE=1 to write the files anew,
and read the diff.
"""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from barnabas.coordination.groups import GroupConfig, GroupRecord
from barnabas.protocol.errors import ErrorCode, MalformedFrame
from barnabas.protocol.log_records import decode_versioned
from barnabas.protocol.records.consumer_protocol import ConsumerProtocolSubscription
from barnabas.protocol.schema import Struct, Uuid
from tests.coordination.asking import parse_request
from tests.coordination.beside_kafka import KAFKA_CONFIG
from tests.coordination.checks import check_durable
from tests.coordination.coordinator import START_MS, Coordinator

_TIMES = {"current_state_timestamp", "commit_timestamp", "expire_timestamp"}


def show(value: object, name: str = "") -> str:
    if isinstance(value, Struct):
        parts = [
            f"{each.name}={show(getattr(value, each.name), each.name)}"
            for each in value.__fields__
            if getattr(value, each.name) != ([] if each.fresh_default else each.default)
        ]
        return f"{type(value).__name__}({', '.join(parts)})"
    if isinstance(value, list):
        return "[" + ", ".join(show(each, name) for each in value) + "]"
    if name == "error_code" and isinstance(value, int):
        return ErrorCode(value).name
    if name in _TIMES and isinstance(value, int):
        return f"+{value - START_MS}"
    if isinstance(value, Uuid):
        return f"<{value.decode().rstrip('-')}>"
    if isinstance(value, bytes):
        return _show_bytes(value)
    return repr(value)


def _show_bytes(value: bytes) -> str:
    try:
        subscription, _ = decode_versioned(ConsumerProtocolSubscription, value)
    except MalformedFrame:
        return repr(value)
    return f"<subscribes to {', '.join(subscription.topics)}>"


class Transcript:
    def __init__(self, config: GroupConfig) -> None:
        self.coordinator = Coordinator(config)
        self.lines: list[str] = []
        self._who_waits: dict[str, str] = {}
        self._next = ""
        self._note_next()
        self.lines.clear()

    def run(self, line: str) -> None:
        self.lines.append(line)
        command = line.removeprefix("> ")
        self.coordinator.outcomes.clear()
        if command.startswith("+"):
            self.coordinator.advance(int(command))
        elif command == "restart":
            self.coordinator.take_over()
        elif command.startswith("producer "):
            _, producer, what = command.split()
            self.coordinator.end_transaction(int(producer), committed=what == "commits")
        else:
            self._ask(command)
        self._note_releases()
        self._note_records()
        self._note_next()

    def _ask(self, command: str) -> None:
        who, _, asked = command.partition(" ")
        request, version = parse_request(asked, self.coordinator.topics.id_of)
        answer, waits_as = self.coordinator.ask(request, version, client_id=who)
        if waits_as is None:
            self.lines.append(show(answer))
        else:
            self._who_waits[waits_as] = who
            self.lines.append(f"{who} waits")

    def _note_releases(self) -> None:
        for name, answer in sorted(self.coordinator.released.items()):
            self.lines.append(f"{self._who_waits[name]} is answered {show(answer)}")
        self.coordinator.released.clear()

    def _note_records(self) -> None:
        for outcome in self.coordinator.outcomes:
            self.lines.extend(f"writes {_show_record(record)}" for record in outcome.records)

    def _note_next(self) -> None:
        first = self.coordinator.shard.deadlines.first()
        assert first is not None
        at_ms, (kind, group_id, member_id) = first
        what = " ".join(part for part in (kind, group_id, member_id) if part)
        if (line := f"next: {what} at +{at_ms - START_MS}") != self._next:
            self._next = line
            self.lines.append(line)


def _show_record(record: GroupRecord) -> str:
    value = "nothing" if record.value is None else f"{show(record.value)} v{record.version}"
    return f"{show(record.key)} = {value}"


def read_config(text: str) -> GroupConfig:
    known = {each.name for each in fields(GroupConfig)}
    settings = {}
    for line in text.splitlines():
        if line == "config kafka":
            return KAFKA_CONFIG
        if line.startswith("config "):
            for word in line.split()[1:]:
                name, _, value = word.partition("=")
                assert name in known, name
                settings[name] = int(value)
    return GroupConfig(**settings)


def commands_and_remarks(text: str) -> list[str]:
    """The file without what came of it."""
    return [line for line in text.splitlines() if not line or line.startswith(("#", "config ", "> "))]


def run(text: str) -> str:
    """The file as it came out; after every line the log brings back what is durable."""
    transcript = Transcript(read_config(text))
    for line in commands_and_remarks(text):
        if line.startswith("> "):
            transcript.run(line)
            check_durable(transcript.coordinator)
        else:
            transcript.lines.append(line)
    return "\n".join(transcript.lines) + "\n"


SCENARIOS = sorted(Path(__file__).with_name("scenarios").glob("*.txt"))
