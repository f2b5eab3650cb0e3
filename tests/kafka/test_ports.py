"""Ports that are given to brokers, of which several runs of tests, compat and bench may want some at the same time."""

from __future__ import annotations

import random
import subprocess
import sys

import pytest

from tests.kafka.broker import free_ports

TAKES_ONE = "from tests.kafka.broker import free_ports; print(*free_ports(1), flush=True); input()"


def test_nobody_is_given_what_another_process_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also while nothing listens there: its broker may be about to start again."""
    command = [sys.executable, "-c", TAKES_ONE]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        theirs, (ours,) = int(other.stdout.readline()), free_ports(1)
        drawn = iter([theirs, ours, theirs])
        monkeypatch.setattr(random, "randrange", lambda *_: next(drawn))
        assert free_ports(1) == [ours]
        other.communicate("\n")
    assert free_ports(1) == [theirs]
