"""Fetch: how long its answer waits, and what ends that."""

from __future__ import annotations

from typing import Any

from compat.twin.batches import batch
from compat.twin.records import fetch, fetching, part
from compat.twin.scenario import scenario
from compat.twin.scenarios.fetch import LONG_AGO, LONG_MS, written
from compat.twin.twins import Twins


@scenario("Fetch")
def what_is_told_at_once(twins: Twins) -> None:
    topic, nowhere = twins.once(written, "once", 2), twins.name("nowhere")
    silent = twins.once(Twins.create, "silent")
    patient: dict[str, Any] = {"MaxWaitMs": LONG_MS, "MinBytes": 1 << 20}
    fetch(twins, part(topic, offset=99), **patient)
    fetch(twins, part(silent), part(topic, offset=-7), **patient)
    fetch(twins, part(nowhere), **patient)
    fetch(twins, part(silent, 77), **patient)
    fetch(twins, **patient)
    fetch(twins, part(silent), MaxWaitMs=LONG_MS, MinBytes=0)
    fetch(twins, part(silent), MaxWaitMs=LONG_MS, MinBytes=-1)
    fetch(twins, part(silent), MaxWaitMs=-1, MinBytes=1)
    fetch(twins, part(topic), MaxWaitMs=LONG_MS, MinBytes=700, MaxBytes=600)
    fetch(twins, part(topic), MaxWaitMs=LONG_MS, MinBytes=172)


@scenario("Fetch")
def what_is_waited_for(twins: Twins) -> None:
    """Also beside a partition that is not there."""
    topic, nowhere = twins.once(written, "waited", 2), twins.name("nowhere")
    fetch(twins, part(topic, offset=6), MaxWaitMs=30)
    fetch(twins, part(topic), MaxWaitMs=30, MinBytes=1 << 20)
    fetch(twins, part(topic, offset=6), part(nowhere), part(topic, 9), MaxWaitMs=30)


@scenario("Fetch")
def records_that_come_meanwhile(twins: Twins) -> None:
    topic = twins.create("meanwhile", partitions=2)
    waiting = twins.another()
    waiting.send("Fetch", **fetching(twins, part(topic), part(topic, 1), MaxWaitMs=LONG_MS, MinBytes=100))
    twins.produce(topic, batch(b"few", timestamp=LONG_AGO), partition=1)
    twins.produce(topic, batch(b"enough", timestamp=LONG_AGO))
    waiting.receive()
