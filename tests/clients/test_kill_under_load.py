"""kill -9 of a broker, fifty times, under three kinds of idempotent producers and two consumer groups: what was
acknowledged is there once and in its order, and the groups go on from their commits.

The moments of killing are drawn: BARNABAS_SEED=N draws the same ones again.
"""

from __future__ import annotations

import os
import random
import secrets
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from compat.rounds.adapter import load
from tests.clients.broker_process import BrokerProcess
from tests.clients.crowd import Crowd
from tests.clients.ledgers import TopicLedger
from tests.clients.waiting import wait_until

KILLS = 50
PARTITIONS = 3
A_MEMBER_DIES = 8
"""Every so many kills, together with the broker: somebody has to take over what it had committed."""
MOST_ROUNDS = 8
"""Of some dozens of records, before the next kill."""

BUSY = {
    "log_flush_offset_checkpoint_interval_ms": "20",
    "replica_high_watermark_checkpoint_interval_ms": "20",
    "offsets_topic_segment_bytes": str(1 << 20),
}
"""So that kills meet duties at work."""


@pytest.mark.slow
def test_fifty_kills(
    own_broker: Callable[..., BrokerProcess],
    name: str,
    tmp_path: Path,
    figure: Callable[[str], None],
) -> None:
    seed = int(os.environ.get("BARNABAS_SEED") or secrets.randbelow(1 << 32))
    figure(f"BARNABAS_SEED={seed}")
    chance = random.Random(seed)
    began = time.monotonic()
    broker = own_broker(**BUSY)
    admin = load("confluent-kafka").administer(broker.bootstrap)
    admin.create_topic(name, PARTITIONS, {"segment.bytes": str(1 << 20), "retention.ms": "-1"})
    admin.close()
    with ExitStack() as stack:
        crowd = Crowd(broker.bootstrap, name, PARTITIONS, tmp_path, stack)
        ledger = TopicLedger(name, PARTITIONS, crowd.senders)
        wait_until(lambda: all(sender.rounds for sender in crowd.senders), "all to produce")
        wait_until(lambda: all(group.committed() for group in crowd.groups.values()), "all to consume")
        for number in range(KILLS):
            crowd.wait_for(chance.choice(crowd.senders), chance.randint(0, MOST_ROUNDS))
            acknowledged = [len(sender.acknowledged) for sender in crowd.senders]
            floors = {group.name: group.committed() for group in crowd.groups.values()}
            broker.kill()
            widowed = chance.choice(list(crowd.groups)) if number % A_MEMBER_DIES == A_MEMBER_DIES - 1 else None
            if widowed is not None:
                crowd.lose_member(widowed)
            broker.start()
            ledger.read(broker)
            ledger.check_acknowledged(acknowledged)
            for group in crowd.groups.values():
                group.check_commits(broker, name, floors[group.name])
            if widowed is not None:
                crowd.replace_member(widowed)
        sent = crowd.ends_well(ledger, lambda: ledger.read(broker))
    figure(f"{KILLS} kills in {time.monotonic() - began:.0f} s; records, each there once and in order: {sent}")
    assert min(sender.rounds for sender in crowd.senders) > KILLS / 2
