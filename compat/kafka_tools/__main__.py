"""`python -m compat.kafka_tools HOST:PORT [--quick]`."""

from __future__ import annotations

import sys
from contextlib import ExitStack

import compat.kafka_tools.compatibility
import compat.kafka_tools.configs
import compat.kafka_tools.groups
import compat.kafka_tools.performance
import compat.kafka_tools.records
import compat.kafka_tools.topics
import compat.kafka_tools.transactions
import compat.kafka_tools.verifiable  # noqa: F401 - each registers its checks
from compat.checks import main
from compat.kafka_tools.checking import Runners

if __name__ == "__main__":
    with ExitStack() as until_the_end:
        main(Runners(until_the_end), arguments=sys.argv[1:], at_once=2)
