"""A pipeline.toml for the stream of `generate`, with the schemas of its topics: land, derive and audit run with it."""

from __future__ import annotations

from pathlib import Path

from barnabas.pipeline.failures import PipelineFailed

__all__ = ["write_starter"]

_SCHEMAS = {
    "page-views": """\
user STRING NOT NULL,
session STRING NOT NULL,
at TIMESTAMP NOT NULL,
page STRING NOT NULL,
referrer STRING,
took_ms INT
""",
    "searches": """\
user STRING NOT NULL,
session STRING NOT NULL,
at TIMESTAMP NOT NULL,
words STRING NOT NULL,
results INT NOT NULL
""",
    "sign-ins": """\
user STRING NOT NULL,
session STRING NOT NULL,
at TIMESTAMP NOT NULL,
method STRING NOT NULL,
succeeded BOOLEAN NOT NULL
""",
    "service-logs": """\
service STRING NOT NULL,
at TIMESTAMP NOT NULL,
level STRING NOT NULL,
status INT NOT NULL,
took_ms INT NOT NULL,
user STRING
""",
}

_SETTINGS = """\
# A pipeline: activity and service logs into a lake, feeds out of it, and an audit that adds up.
# Paths count from where this file lies; s3a://, hdfs:// and others are understood, too.

[kafka]  # properties of Java's clients, which Spark has
"bootstrap.servers" = "BOOTSTRAP"

[producer]  # properties of librdkafka, which writes records
"compression.type" = "lz4"

[spark]  # properties of Spark; without a master it runs in one process, on all cores
# "spark.master" = "spark://HOST:7077"
# "spark.driver.memory" = "2g"

[lake]
path = "lake"

[land]
topics = ["page-views", "searches", "sign-ins", "service-logs"]
checkpoint = "checkpoints/land"
every-seconds = 10
records-per-batch = 500_000
late-hours = 168  # an event that is older than its record by more is quarantined

[topics.page-views]
schema = "schemas/page-views.ddl"
event-time = "at"

[topics.searches]
schema = "schemas/searches.ddl"
event-time = "at"

[topics.sign-ins]
schema = "schemas/sign-ins.ddl"
event-time = "at"

[topics.service-logs]
schema = "schemas/service-logs.ddl"
event-time = "at"

[derive.top-pages]  # how often each page was seen, of every minute the ten that were most
source = "page-views"
topic = "top-pages"
kind = "count"
by = "page"
window = "1 minute"
top = 10

[derive.user-sessions]  # what one user did without a break of ten minutes
source = "page-views"
topic = "user-sessions"
kind = "sessions"
by = "user"
window = "10 minutes"

[derive.service-errors]  # how many of a service's calls failed
source = "service-logs"
topic = "service-errors"
kind = "errors"
by = "service"
failed = "status >= 500"
window = "5 minutes"

[audit]
topic = "audit"  # where producers say how much they have sent

[generate]  # the stream that is made up
partitions = 4
users = 20_000
pages = 500
late = 0.01  # so many records tell of what happened earlier
malformed = 0.002
"""


def write_starter(directory: Path, bootstrap: str) -> Path:
    """The settings' file; one that is there is not touched."""
    files = {"pipeline.toml": _SETTINGS.replace("BOOTSTRAP", bootstrap)}
    files |= {f"schemas/{topic}.ddl": text for topic, text in _SCHEMAS.items()}
    for name in files:
        if (directory / name).exists():
            raise PipelineFailed(f"{directory / name} is there already: name another directory.")
    try:
        (directory / "schemas").mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (directory / name).write_text(text)
    except OSError as error:
        raise PipelineFailed(f"{directory} cannot be written to: {error.strerror}. Name another directory.") from None
    return directory / "pipeline.toml"
