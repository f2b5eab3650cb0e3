"""Where the jars of Spark's Kafka source come from: named, from a directory, kept from the first start, or fetched."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from barnabas.pipeline import sessions
from barnabas.pipeline.failures import PipelineFailed


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.delenv(sessions.JARS, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


class Session:
    """What _keep_jars asks of Spark: where it has put what it fetched."""

    def __init__(self, jars: list[Path]) -> None:
        self.conf = {"spark.jars": ",".join(f"file:{jar}" for jar in jars)}


def test_they_are_fetched_at_first_and_kept(nowhere: Path) -> None:
    wanted = sessions._where_jars_are({})
    assert "spark-sql-kafka-0-10_2.13:4.0.0" in wanted["spark.jars.packages"]
    fetched = [nowhere / name for name in ("kafka.jar", "avro.jar")]
    for jar in fetched:
        jar.write_text(jar.name)
    sessions._keep_jars(Session(fetched), wanted)
    kept = sessions._where_jars_are({})
    assert kept.keys() == {"spark.jars"}
    assert [Path(jar).read_text() for jar in kept["spark.jars"].split(",")] == ["avro.jar", "kafka.jar"]


def test_half_of_them_are_not_taken_for_all(nowhere: Path) -> None:
    sessions._cache().mkdir(parents=True)
    (sessions._cache() / "kafka.jar").touch()
    assert "spark.jars.packages" in sessions._where_jars_are({})
    sessions._keep_jars(Session([nowhere / "missing.jar"]), {"spark.jars.packages": "a:b:c"})
    assert "spark.jars.packages" in sessions._where_jars_are({})


def test_a_directory_of_them_may_be_named(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(sessions.JARS, str(nowhere))
    with pytest.raises(PipelineFailed, match="where there are no jars"):
        sessions._where_jars_are({})
    (nowhere / "kafka.jar").touch()
    assert sessions._where_jars_are({}) == {"spark.jars": str(nowhere / "kafka.jar")}


@pytest.mark.parametrize("key", ["spark.jars", "spark.jars.packages"])
def test_the_settings_may_name_them(key: str) -> None:
    assert sessions._where_jars_are({key: "own"}) == {}
