"""No client lacks a step of its round: each has a test, or a reason."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from aiokafka.admin import AIOKafkaAdminClient

from compat.rounds import with_aiokafka
from compat.rounds.adapter import CLIENTS, JAVA, load
from tests.clients.broker_process import REPOSITORY
from tests.clients.steps import KAFKA_TOOLS, ROUNDS, STEPS, Cannot

HERE = Path(__file__).parent


def test_each_step_of_each_client_has_its_place() -> None:
    assert set(ROUNDS) == {*CLIENTS, JAVA, "Kafka's tools", "kcat", "PySpark"}
    for client, steps in ROUNDS.items():
        assert tuple(steps) == STEPS, client
        assert all(step.why if isinstance(step, Cannot) else step for step in steps.values())


@pytest.mark.slow
def test_the_tests_that_are_named_are_there() -> None:
    collected = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", str(HERE)],
        check=True,
        capture_output=True,
        text=True,
        cwd=REPOSITORY,
    ).stdout
    there = {line.removeprefix("tests/clients/") for line in collected.splitlines() if "::" in line}
    named = {step for steps in ROUNDS.values() for step in steps.values() if isinstance(step, str)}
    assert named | set(KAFKA_TOOLS.values()) <= there


def test_each_tool_of_kafka_is_called_by_its_test() -> None:
    for tool, test in KAFKA_TOOLS.items():
        file, function = test.partition("[")[0].split("::")
        source = (HERE / file).read_text().partition(f"def {function}(")[2].partition("\ndef ")[0]
        assert f'"{tool}"' in source, test


def test_what_a_client_has_nothing_for() -> None:
    """When it gets it, its tests have to be run with it too."""
    assert {name for name in CLIENTS if load(name).ADMIN_CANNOT} == {"aiokafka"}
    for method in with_aiokafka.ADMIN_CANNOT.values():
        assert not hasattr(AIOKafkaAdminClient, method)
