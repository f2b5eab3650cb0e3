"""docs/COMPATIBILITY.md, written by `make compat`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from compat.card import NOTHING, markdown, totals
from compat.client import Client, ClientRun
from compat.tap import FEATURES, Result
from compat.twin.known import Known, read_known
from tests.kafka.classpath import kafka_version

__all__ = ["write_document"]

FILE = Path(__file__).resolve().parents[1] / "docs" / "COMPATIBILITY.md"


def write_document(runs: Mapping[Client, tuple[ClientRun, ClientRun]]) -> None:
    FILE.write_text(_text(runs))


def _text(runs: Mapping[Client, tuple[ClientRun, ClientRun]]) -> str:
    features = "\n".join(f"| {name} | {about} |" for name, about in FEATURES.items())
    known = "\n".join(f"| {each.api} | {each.why} |" for each in _once())
    absent = Result.UNADVERTISED.value
    return f"""# Compatibility

Written by `make compat`: programs in each client's own language, on Barnabas and on Apache Kafka {kafka_version()} in
turns, each on a fresh broker. A number is how many checks passed; `11 of 12` that one did not; Kafka's own count stands
beside it where it is another; {NOTHING} that the client has nothing for it. What is `{absent}` passes on
Kafka and wants an API that Barnabas has not yet, as every client can see by ApiVersions. Each client links to what was
found with it.

{markdown(runs)}

{totals(runs)}

| feature | what its checks are about |
|---|---|
{features}

## The same requests

`make twin` asks both brokers the same at every version of every API that both advertise, and compares each field of
their answers. Where they differ on purpose ([known.toml](../compat/twin/known.toml) has the places):

| API | what differs, and why |
|---|---|
{known}
"""


def _once() -> list[Known]:
    seen: dict[tuple[str, str], Known] = {}
    for each in read_known():
        seen.setdefault((each.api, each.why), each)
    return list(seen.values())
