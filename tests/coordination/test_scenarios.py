"""Every scenario, word for word."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.coordination.transcript import SCENARIOS, run

REWRITE = os.environ.get("BARNABAS_REWRITE") == "1"


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda path: path.stem)
def test_scenario(scenario: Path) -> None:
    written = scenario.read_text()
    came = run(written)
    if REWRITE:
        scenario.write_text(came)
    assert came == run(came), "a scenario runs the same every time"
    assert came.splitlines() == scenario.read_text().splitlines()
