"""The file that says a broker is ready: whole or not there, and nobody else's."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from barnabas.cli.ready_file import CannotWrite, ReadyFile

FACTS = {"bootstrap_servers": "127.0.0.1:1", "pid": 2, "cluster_id": "c"}


def test_it_is_there_from_the_moment_it_is_written_until_the_end(tmp_path: Path) -> None:
    path = tmp_path / "ready"
    with ReadyFile(path) as ready:
        assert list(tmp_path.iterdir()) == []
        ready.write(FACTS)
        assert list(tmp_path.iterdir()) == [path]
        assert json.loads(path.read_text()) == FACTS
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_broker_has_left_is_gone_before_the_next_starts(tmp_path: Path) -> None:
    path = tmp_path / "ready"
    path.write_text("of a broker that was killed")
    with ReadyFile(path):
        assert not path.exists()


def test_another_brokers_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "ready"
    with ReadyFile(path) as first:
        first.write(FACTS)
        with ReadyFile(path) as second:
            second.write({**FACTS, "pid": 3})
            first.__exit__(None, None, None)
            assert json.loads(path.read_text())["pid"] == 3
    assert not path.exists()


def test_who_removed_it_need_not_put_it_back(tmp_path: Path) -> None:
    path = tmp_path / "ready"
    with ReadyFile(path) as ready:
        ready.write(FACTS)
        path.unlink()
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_file_is_left_alone(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(CannotWrite, match=rf"--ready-file {path} is no file: .*\.$"):
            ReadyFile(path)
        assert path.exists()
