"""The same work on Barnabas and on Apache Kafka, in turns, each on a fresh directory: `make bench`."""

from __future__ import annotations

import sys
from pathlib import Path

from bench.command import Suite, main
from bench.family import ONE_NODE, started

ROOT = Path(__file__).resolve().parents[1]
SUITE = Suite(
    program="bench",
    about=__doc__,
    families=ONE_NODE,
    start=started,
    durability="page cache on both (`barnabas.durability=kafka`, the default; Kafka's default), one replica",
    document=ROOT / "docs" / "PERFORMANCE.md",
)

if __name__ == "__main__":
    sys.exit(main(SUITE))
