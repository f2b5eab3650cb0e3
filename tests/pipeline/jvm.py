"""How the JVMs of tests are started."""

from __future__ import annotations

__all__ = ["SHORT_LIVED", "short_lived"]

SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""A JVM that has little to do is done sooner if it does not look for the best way to do it."""


def short_lived() -> str:
    """Lines for [spark] of a pipeline.toml."""
    from barnabas.pipeline.sessions import quiet_java

    return (
        f'"spark.driver.extraJavaOptions" = "{quiet_java(SHORT_LIVED)}"\n'
        f'"spark.executor.extraJavaOptions" = "{SHORT_LIVED}"'
    )
