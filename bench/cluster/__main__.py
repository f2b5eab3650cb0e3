"""The same work on three Barnabas nodes and on three Apache Kafka nodes, in turns: `make bench-cluster`."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

from bench.cluster.family import IMPATIENT, THREE_NODES, started
from bench.command import Suite, main

ROOT = Path(__file__).resolve().parents[2]
SUITE = Suite(
    program="bench.cluster",
    about=__doc__,
    families=THREE_NODES,
    start=partial(started, config=IMPATIENT),
    durability="page cache on both, three replicas, acks=all, min.insync.replicas=2",
    document=ROOT / "docs" / "PERFORMANCE-CLUSTER.md",
    keeps=True,
)

if __name__ == "__main__":
    sys.exit(main(SUITE))
