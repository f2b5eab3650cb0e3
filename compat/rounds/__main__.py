"""`python -m compat.rounds CLIENT HOST:PORT [--quick]`, where CLIENT has a file with_CLIENT.py beside this one."""

from __future__ import annotations

import logging
import sys

import compat.rounds.administration
import compat.rounds.commits
import compat.rounds.groups
import compat.rounds.next_groups
import compat.rounds.positions
import compat.rounds.records
import compat.rounds.transactions  # noqa: F401 - each registers its checks
from compat.checks import main
from compat.rounds.adapter import JAVA
from compat.rounds.round import Round

if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(name)s %(message)s", stream=sys.stderr)
    # Each member of a Java group is a JVM that starts.
    main(Round(sys.argv[1]), arguments=sys.argv[2:], at_once=2 if sys.argv[1] == JAVA else 4)
