"""No client lacks a step of its round: each has a check that has to pass, a test, or a reason."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from aiokafka.admin import AIOKafkaAdminClient

from compat.client import clients
from compat.rounds import with_aiokafka
from compat.rounds.adapter import CLIENTS, JAVA, load
from tests.clients.broker_process import REPOSITORY
from tests.clients.steps import KAFKA_TOOLS, ROUNDS, STEPS, Cannot, Check

HERE = Path(__file__).parent
NAMED = [*(step for steps in ROUNDS.values() for step in steps.values()), *KAFKA_TOOLS.values()]


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
    assert {step for step in NAMED if isinstance(step, str)} <= there


def test_the_checks_that_are_named_have_to_pass() -> None:
    allowed = {client.name: set(client.allowed) for client in clients()}
    for step in NAMED:
        if isinstance(step, Check):
            assert step.name in allowed[step.client], f"{step.name} is not in compat/clients/{step.client}/tests.allow"


def test_each_tool_of_kafka_is_called_by_the_checks_or_its_test() -> None:
    checks = "".join(file.read_text() for file in (REPOSITORY / "compat" / "kafka_tools").glob("*.py"))
    for tool, test in KAFKA_TOOLS.items():
        source = checks if isinstance(test, Check) else (HERE / test.partition("::")[0]).read_text()
        assert f'"{tool}"' in source, test


def test_what_a_client_has_nothing_for() -> None:
    """When it gets it, its checks have to be run with it too."""
    assert {name for name in CLIENTS if load(name).ADMIN_CANNOT} == {"aiokafka"}
    for method in with_aiokafka.ADMIN_CANNOT.values():
        assert not hasattr(AIOKafkaAdminClient, method)
