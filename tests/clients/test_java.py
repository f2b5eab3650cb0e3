"""The round with Kafka's own Java client."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.clients.broker_process import BrokerProcess
from tests.kafka.classpath import java_command

SOURCE = Path(__file__).with_name("JavaRound.java")
STEPS = ["create", "produce", "consume", "positions", "large", "group", "administration"]


@pytest.mark.slow
@pytest.mark.java
def test_the_java_client(broker: BrokerProcess, name: str, kafka_classpath: str) -> None:
    command = [*java_command(kafka_classpath, heap_mib=256), str(SOURCE), broker.bootstrap, name]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines() == [f"ok {step}" for step in STEPS], done.stderr[-3000:]
