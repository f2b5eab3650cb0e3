"""Where the jars of Spark's Kafka source are, for tests that cannot do without."""

from __future__ import annotations

import os

import pytest

from compat.spark.stream import SparkMissingError, find_jars

__all__ = ["jars_or_skip"]


def jars_or_skip() -> str:
    """For spark.jars. Without PySpark and its jars the test is skipped; it fails there if BARNABAS_REQUIRE_SPARK=1."""
    try:
        return find_jars()
    except SparkMissingError as missing:
        if os.environ.get("BARNABAS_REQUIRE_SPARK") == "1":
            pytest.fail(str(missing), pytrace=False)
        pytest.skip(str(missing))
