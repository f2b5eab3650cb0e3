"""`barnabas pipeline ...` as people call it: how it ends, what it says, signals, and under spark-submit."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from barnabas.testing import Broker
from tests.clients.waiting import wait_until
from tests.pipeline.fire import JobProcess
from tests.pipeline.jvm import short_lived

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).resolve().parents[2]
BARNABAS = [sys.executable, "-m", "barnabas.cli"]


@pytest.fixture
def directory(tmp_path: Path, pipeline_broker: Broker, spark_jars: str) -> Path:
    (tmp_path / "pipeline.toml").write_text(
        f"""
[kafka]
"bootstrap.servers" = "{pipeline_broker.bootstrap_servers}"
[spark]
"spark.master" = "local[2]"
{short_lived()}
"spark.jars" = "{spark_jars}"
[land]
topics = ["{tmp_path.name}"]
every-seconds = 0.2
"""
    )
    for number in range(20):
        pipeline_broker.produce(tmp_path.name, {"n": number})
    return tmp_path


def call(
    *words: str, cwd: Path = REPOSITORY, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*BARNABAS, *words],
        check=False,
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY / ".typecheck"), **(environment or {})},
    )


def test_land_says_what_it_has_done(directory: Path) -> None:
    done = call("pipeline", "land", "--catch-up", "--config", str(directory / "pipeline.toml"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("batch 0: 20 records in ")
    assert done.stdout.endswith("20 records have landed\n")
    again = call("pipeline", "land", "--catch-up", "--json", "--config", str(directory / "pipeline.toml"))
    assert again.returncode == 0
    assert json.loads(again.stdout) == {"event": "done", "records": 0, "batches": 0}


def test_a_signal_ends_it_cleanly(directory: Path, pipeline_broker: Broker) -> None:
    with JobProcess(directory, "land") as job:
        job.wait_for_batches(1)
        assert job.end() == 0
    for number in range(20, 30):
        pipeline_broker.produce(directory.name, {"n": number})
    with JobProcess(directory, "land") as job:
        wait_until(lambda: [fact["records"] for fact in job.facts()] == [10], "the rest", 90)
        assert job.end() == 0


def test_the_same_under_spark_submit(directory: Path, spark_jars: str) -> None:
    submit = shutil.which("spark-submit", path=str(Path(sys.executable).parent))
    assert submit is not None
    settings = directory / "pipeline.toml"
    # What spark-submit is told comes first: nobody is there.
    settings.write_text(settings.read_text().replace("local[2]", "spark://127.0.0.1:1").replace(spark_jars, "no.jar"))
    program = [submit, "--master", "local[2]", "--jars", spark_jars, str(REPOSITORY / "cli" / "__main__.py")]
    done = subprocess.run(
        [*program, "pipeline", "land", "--catch-up", "--json", "--config", str(settings)],
        check=False,
        capture_output=True,
        text=True,
        cwd=directory,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
    )
    assert done.returncode == 0, done.stderr
    facts = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert [fact["records"] for fact in facts] == [20, 20]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", 'names no cluster: give [kafka] "bootstrap.servers" = "HOST:PORT"'),
        ("[land", "is not TOML"),
        ("[lnad]\n", "contains unknown field `lnad`"),
        ('[land]\ntopcs = ["a"]\n', "land: Object contains unknown field `topcs`"),
        ("[land]\nrecords-per-batch = 0\n", "land.records-per-batch: Expected `int` >= 1"),
        ('directory = "/"\n', "there is no key directory"),
        ('[topics.a]\nformat = "xml"\nschema = "a"\n', "Invalid enum value 'xml'"),
        ("\x00", "is not TOML"),
    ],
)
def test_settings_that_are_wrong_are_said(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "pipeline.toml").write_text(text)
    done = call("pipeline", "land", "--config", str(tmp_path / "pipeline.toml"))
    assert done.returncode == 1
    assert sentence in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


def test_no_settings_are_said(tmp_path: Path) -> None:
    done = call("pipeline", "land", "--config", str(tmp_path / "none.toml"))
    assert (done.returncode, done.stdout) == (1, "")
    assert "cannot be read: No such file or directory. Name the pipeline's settings with --config FILE." in done.stderr


@pytest.mark.parametrize("version", ["", "11"])
def test_java_that_is_missing_or_old_is_said(directory: Path, version: str, tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    if version:
        (programs / "java").write_text(f"#!/bin/sh\necho 'openjdk version \"{version}.0.2\"' >&2\n")
        (programs / "java").chmod(0o755)
    done = call(
        "pipeline",
        "land",
        "--config",
        str(directory / "pipeline.toml"),
        environment={"PATH": str(programs), "JAVA_HOME": ""},
    )
    assert done.returncode == 1
    assert "Spark needs Java 17 or newer, and" in done.stderr
    assert (f"is {version}" if version else "there is none") in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_pyspark_that_is_missing_is_said(directory: Path) -> None:
    """As after `pip install barnabas` without its extra."""
    (directory / "pyspark.py").write_text("raise ModuleNotFoundError(\"No module named 'pyspark'\", name='pyspark')\n")
    done = call(
        "pipeline",
        "land",
        "--config",
        str(directory / "pipeline.toml"),
        environment={"PYTHONPATH": f"{directory}:{REPOSITORY / '.typecheck'}"},
    )
    assert done.returncode == 1
    assert done.stderr == ("barnabas pipeline land: PySpark is not installed: run pip install 'barnabas[spark]'.\n")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["derive", "--since", "1h"], "--since and --until belong to --from-lake"),
        (["derive", "--from-lake"], "--from-lake wants to know since when: --since TIME"),
        (["derive", "--from-lake", "--since", "1h", "--until", "2h"], "--since is not before --until"),
        (["derive", "--from-lake", "--since", "soon"], "--since soon is no time"),
        (["lnad"], "there is no command lnad; is land meant?"),
    ],
)
def test_wrong_usage(directory: Path, words: list[str], sentence: str) -> None:
    done = call("pipeline", *words)
    assert done.returncode == 2
    assert sentence in done.stderr
