"""A Spark session with Spark's own Kafka source in it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from barnabas.pipeline.failures import PipelineFailed

try:
    import pyspark
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession
except ModuleNotFoundError as missing:
    raise PipelineFailed("PySpark is not installed: run pip install 'barnabas[spark]'.") from missing

__all__ = ["JARS", "check_java", "open_session", "quiet_java"]

JARS = "BARNABAS_SPARK_JARS"
"""A directory with the jars of Spark's Kafka source: then none is asked for elsewhere."""
_JAVA = 17
_PACKAGES = ("spark-sql-kafka-0-10_2.13", "spark-avro_2.13")


def quiet_java(more: str = "") -> str:
    """Options of a JVM that says nothing."""
    return f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties')} {more}".strip()


_QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.extraJavaOptions": quiet_java(),
}
_HERE = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "4",
}
"""For a driver whose executors are on this machine."""
_ALWAYS = {
    # A lake's directories are named by UTC, wherever its reader is.
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
}


def open_session(name: str, properties: dict[str, str]) -> SparkSession:
    """The session of this process: `spark-submit`'s, or one of its own."""
    check_java()
    builder = SparkSession.builder.appName(f"barnabas {name}")
    # spark-submit sets that port. What it was told comes before the settings.
    given = _submitted(properties) if "PYSPARK_GATEWAY_PORT" in os.environ else _own(properties)
    given.update(_ALWAYS)
    for key, value in given.items():
        builder = builder.config(key, value)
    try:
        session = builder.getOrCreate()
    except (PySparkException, OSError, RuntimeError) as error:
        raise PipelineFailed(f"Spark did not start: {error}. What it printed above says why.") from error
    session.sparkContext.setLogLevel("OFF")  # what fails is told in our words
    _keep_jars(session, given)
    return session


def _own(properties: dict[str, str]) -> dict[str, str]:
    master = properties.get("spark.master", "local[*]")
    here = {}
    if master.startswith("local"):
        here = _HERE
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # which has what this process has
    return {"spark.master": master, **_QUIET, **here, **_where_jars_are(properties), **properties}


def _submitted(properties: dict[str, str]) -> dict[str, str]:
    SparkContext._ensure_initialized()
    told = SparkConf()
    return {key: value for key, value in properties.items() if not told.contains(key)}


def check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if java is None or not Path(java).is_file():
        raise PipelineFailed(f"Spark needs Java {_JAVA} or newer, and there is none: install a JRE, or set JAVA_HOME.")
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr  # noqa: S603
    found = re.search(r'version "(\d+)', said)
    if found is None or int(found[1]) < _JAVA:
        version = found[1] if found else "an unknown version"
        raise PipelineFailed(
            f"Spark needs Java {_JAVA} or newer, and {java} is {version}: set JAVA_HOME to a newer one."
        )


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base, "barnabas", f"spark-{pyspark.__version__}")


def _where_jars_are(properties: dict[str, str]) -> dict[str, str]:
    """Jars that are here, or else what Spark shall fetch once."""
    if "spark.jars" in properties or "spark.jars.packages" in properties:
        return {}
    if JARS in os.environ:
        directory = Path(os.environ[JARS])
        jars = sorted(directory.glob("*.jar"))
        if not jars:
            raise PipelineFailed(f"{JARS} is {directory}, where there are no jars: let it name Spark's Kafka source.")
        return {"spark.jars": ",".join(map(str, jars))}
    if (_cache() / "complete").is_file():
        return {"spark.jars": ",".join(map(str, sorted(_cache().glob("*.jar"))))}
    version = pyspark.__version__
    print("Fetching the jars of Spark's Kafka source; later starts have them.", file=sys.stderr)  # noqa: T201
    return {"spark.jars.packages": ",".join(f"org.apache.spark:{name}:{version}" for name in _PACKAGES)}


def _keep_jars(session: SparkSession, given: dict[str, str]) -> None:
    """What Spark has fetched, for starts without a network. The file `complete` is written last."""
    if "spark.jars.packages" not in given or (_cache() / "complete").exists():
        return
    jars = [uri.removeprefix("file:") for uri in session.conf.get("spark.jars", "").split(",")]
    if not jars or not all(Path(jar).is_file() for jar in jars):
        return
    _cache().mkdir(parents=True, exist_ok=True)
    for jar in jars:
        shutil.copy(jar, _cache())
    (_cache() / "complete").touch()
