"""One member of a consumer group, as a program: `python -m compat.rounds.member CLIENT SETTINGS`, until SIGTERM.

It says a line of JSON for all that happens to it: {"assigned": [partition, ...]} whenever that has changed,
{"received": [[partition, offset, value], ...]}, then {"committed": true} or {"not committed": "why"}, and at the end
{"left": true}. Each says "at" which nanosecond of the machine's steady clock. SIGKILL ends it as a machine dies: nobody
is told.
"""

from __future__ import annotations

import json
import logging
import signal
import sys
import time
from typing import Any

from compat.rounds.adapter import ConsumerSettings, load

POLL_S = 0.5
"""Long enough to join: a poll that ends meanwhile leaves kafka-python 3.0.12 half in, beside Apache Kafka too."""


def say(**what: Any) -> None:
    print(json.dumps({**what, "at": time.monotonic_ns()}), flush=True)


def main(client: str, settings: ConsumerSettings) -> None:
    stopping = False

    def stop(*_: Any) -> None:
        nonlocal stopping
        stopping = True

    signal.signal(signal.SIGTERM, stop)
    consumer = load(client).consume(settings)
    consumer.subscribe()
    assigned: set[int] = set()
    while not stopping:
        received = consumer.poll(POLL_S)
        now = consumer.assignment()
        if now != assigned:
            assigned = now
            say(assigned=sorted(assigned))
        if received:
            say(received=[[one.partition, one.offset, (one.value or b"").decode()] for one in received])
            if settings.auto_commit_ms is None:
                commit(consumer)
    consumer.close()
    say(left=True)


def commit(consumer: Any) -> None:
    """In a rebalance it may be refused, and then somebody gets the records again."""
    try:
        consumer.commit()
    except Exception as refused:  # noqa: BLE001 - each client has its own
        say(**{"not committed": repr(refused)})
    else:
        say(committed=True)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    main(sys.argv[1], ConsumerSettings(**json.loads(sys.argv[2])))
