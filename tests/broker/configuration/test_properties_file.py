"""server.properties as a file, and what is said where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.broker.configuration.properties_file import parse_setting, read_properties
from barnabas.broker.configuration.values import ConfigurationError


def test_a_file_is_read_as_java_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_bytes(
        b"# comment\nnode.id = 1\nlisteners=PLAINTEXT://:1,\\\n   SSL://:2\nbroker.rack:a\\u0062\n\nnode.id=2\n"
    )
    assert read_properties(path) == {"node.id": "2", "listeners": "PLAINTEXT://:1,SSL://:2", "broker.rack": "ab"}


def problem_of(path: Path) -> str:
    with pytest.raises(ConfigurationError) as caught:
        read_properties(path)
    (problem,) = caught.value.problems
    return problem


def test_what_cannot_be_read_is_said_with_the_next_step(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    assert problem_of(path) == f"There is no file {path}: check the path after --config, or leave it out."
    assert problem_of(tmp_path) == f"{tmp_path} is a directory: name the server.properties in it."
    path.write_bytes(b"node.id=1\0")
    assert problem_of(path) == f"{path} is not text: name a server.properties, lines of KEY=VALUE."
    path.write_bytes(b"log.dir=C:\\users\\u12")
    assert problem_of(path).startswith(f"{path} is no file of properties (")


def test_a_file_that_may_not_be_read_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(_path: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert problem_of(tmp_path / "x") == f"{tmp_path / 'x'} may not be read by this user: change its permissions."


def test_a_setting_has_a_name_and_a_value() -> None:
    assert parse_setting("num.partitions=4") == ("num.partitions", "4")
    assert parse_setting(" sasl.jaas.config =a=b ") == ("sasl.jaas.config", "a=b ")
    assert parse_setting("x=") == ("x", "")
    for text in ("num.partitions", "=4", " =4"):
        with pytest.raises(ConfigurationError, match="write --set KEY=VALUE"):
            parse_setting(text)
