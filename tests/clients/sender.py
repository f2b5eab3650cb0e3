"""An idempotent producer, as a program: `python -m tests.clients.sender CLIENT BOOTSTRAP TOPIC PARTITIONS`, until its
stdin ends.

It sends numbered records to all partitions in turn, some dozens at once and so in several batches, and says a line of
JSON for each that is acknowledged: {"acknowledged": [[partition, offset, number], ...]}; at the end, when all are,
{"sent": how many}. JavaSender.java is the same for the Java client.
"""

from __future__ import annotations

import json
import sys
import threading

from compat.rounds.adapter import load

AT_ONCE = 40
PADDING = 500
PAUSE_S = 0.03
"""As real programs have them, so that brokers are killed under load and disks do not fill."""


def main(client: str, bootstrap: str, topic: str, partitions: int) -> None:
    stopping = threading.Event()

    def wait_for_the_end() -> None:
        sys.stdin.read()
        stopping.set()

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    producer = load(client).produce(bootstrap, idempotent=True)
    sent = 0
    while not stopping.wait(PAUSE_S):
        numbers = range(sent, sent + AT_ONCE)
        for number in numbers:
            value = f"{client} {number} ".encode() + b"x" * PADDING
            producer.send(topic, value, partition=number % partitions)
        sent += AT_ONCE
        places = producer.flush()
        acknowledged = [(*place, number) for place, number in zip(places, numbers, strict=True)]
        print(json.dumps({"acknowledged": acknowledged}), flush=True)
    producer.close()
    print(json.dumps({"sent": sent}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
