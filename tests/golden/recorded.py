"""The recorded frames, for tests; record.py says what is in each line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FRAMES = Path(__file__).parent / "frames"
CLIENTS = ["java", "librdkafka", "kafka-python", "broker"]


def recorded(name: str) -> list[dict[str, Any]]:
    """The lines of a file but the first, which says who spoke."""
    return [json.loads(line) for line in (FRAMES / f"{name}.jsonl").read_text().splitlines()[1:]]
