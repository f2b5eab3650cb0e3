"""The generated files are what generate.py makes of Kafka's jars, and its rules hold on small schemas."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from barnabas.protocol import generate
from barnabas.protocol.schema import Versions

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.java
@pytest.mark.slow
def test_the_committed_files_are_those_of_kafkas_schemas(kafka_classpath: str, tmp_path: Path) -> None:
    jars = Path(kafka_classpath.split(os.pathsep)[0]).parent
    generate.generate(jars, tmp_path)
    ruff = [sys.executable, "-m", "ruff"]
    config = ["--config", str(ROOT / "pyproject.toml")]
    subprocess.run([*ruff, "check", "--quiet", "--select", "I", "--fix", *config, str(tmp_path)], check=True)
    subprocess.run([*ruff, "format", "--quiet", *config, str(tmp_path)], check=True)
    for directory in ("messages", "records"):
        made = {path.name: path.read_text() for path in (tmp_path / directory).glob("*.py")}
        committed = {path.name: path.read_text() for path in (ROOT / "protocol" / directory).glob("*.py")}
        committed = {name: text for name, text in committed.items() if text}
        assert made == committed


def test_jars_without_schemas_are_refused_with_the_next_step(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="make kafka"):
        generate.generate(tmp_path, tmp_path)


def source_of(fields: list[dict[str, object]], **more: object) -> str:
    json = {"validVersions": "1-3", "flexibleVersions": "2+", "fields": fields, **more}
    schema = generate.Schema("CastleRequest", "request", 7, Versions(1, 3), json)
    source = generate.Module("Castle.", [schema]).source("4.3.1")
    return source[source.index("@message") :]


def test_versions_are_cut_to_those_that_are_spoken() -> None:
    source = source_of(
        [
            {"name": "GoneLongAgo", "type": "int32", "versions": "0"},
            {"name": "AlwaysThere", "type": "int32", "versions": "0+"},
            {"name": "SinceTwo", "type": "int32", "versions": "2+", "ignorable": True, "default": "-1"},
            {"name": "UntilTwo", "type": "int32", "versions": "0-2", "ignorable": False},
        ]
    )
    assert source == (
        '@message(key=7, versions="1-3", flexible="2+")\n'
        "class CastleRequest(Message):\n"
        "    always_there: int32 = field()\n"
        '    since_two: int32 = field("2+", default=-1, ignorable=True)\n'
        '    until_two: int32 = field("1-2")\n'
    )


def test_null_is_told_from_no_default() -> None:
    source = source_of(
        [
            {"name": "A", "type": "string", "versions": "1+", "nullableVersions": "1+", "default": "null"},
            {"name": "B", "type": "string", "versions": "1+", "nullableVersions": "2+"},
            {"name": "C", "type": "[]int32", "versions": "1+", "nullableVersions": "1+", "default": None},
            {"name": "D", "type": "records", "versions": "1+", "nullableVersions": "1+"},
        ]
    )
    assert source.splitlines()[2:] == [
        "    a: string | None = field(default=None)",
        '    b: string | None = field(nullable="2+")',
        "    c: list[int32] | None = field()",
        "    d: record_bytes | None = field()",
    ]


def test_structs_of_one_file_that_share_only_a_name_are_told_apart() -> None:
    def schema(kind: str, inner: str) -> generate.Schema:
        fields = [
            {
                "name": "Inner",
                "type": "[]Inner",
                "versions": "1+",
                "fields": [{"name": inner, "type": "int8", "versions": "1+"}],
            }
        ]
        json = {"validVersions": "1", "flexibleVersions": "none", "fields": fields}
        return generate.Schema(f"Castle{kind.title()}", kind, 7, Versions(1, 1), json)

    different = generate.Module("", [schema("request", "A"), schema("response", "B")]).source("4.3.1")
    assert "class Inner(Struct):\n    a: int8" in different
    assert "class ResponseInner(Struct):\n    b: int8" in different
    same = generate.Module("", [schema("request", "A"), schema("response", "A")]).source("4.3.1")
    assert same.count("class Inner(Struct)") == 1
    assert "ResponseInner" not in same


@pytest.mark.parametrize(
    ("kafkas", "ours"),
    [
        ("TopicId", "topic_id"),
        ("ZkMigrationReady", "zk_migration_ready"),
        ("KRaftVersion", "kraft_version"),
        ("ISRNodes", "isr_nodes"),
    ],
)
def test_names(kafkas: str, ours: str) -> None:
    assert generate.snake_case(kafkas) == ours
