"""A lake to audit: topics that were counted, written and landed; and what may become of its files."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from barnabas.pipeline.counting import CountingProducer
from barnabas.pipeline.settings import Settings, read_settings

BEGIN_MS = 29_390_400 * 60_000
"""2025-11-18T00:00Z."""
PARTITIONS = 2
SETTINGS = """\
kafka = {{ "bootstrap.servers" = "{bootstrap}" }}
[land]
topics = ["{name}-orders", "{name}-visits"]
[topics.{name}-orders]
schema = "orders.ddl"
event-time = "at"
[audit]
topic = "{name}-audit"
"""


class Shop:
    """Two topics of a name, of which orders has a schema; a lake that may be copied before it is spoiled."""

    def __init__(self, bootstrap: str, name: str, directory: Path) -> None:
        self.bootstrap, self.name, self.directory = bootstrap, name, directory
        self.orders, self.visits, self.audit = f"{name}-orders", f"{name}-visits", f"{name}-audit"
        directory.mkdir()
        (directory / "orders.ddl").write_text("number BIGINT NOT NULL, at BIGINT")
        (directory / "pipeline.toml").write_text(SETTINGS.format(bootstrap=bootstrap, name=name))

    @property
    def settings(self) -> Settings:
        return read_settings(self.directory / "pipeline.toml")

    def write(self, numbers: range) -> None:
        """Ten orders and ten visits a minute; every 25th order cannot be read."""
        with CountingProducer({"bootstrap.servers": self.bootstrap}, audit_topic=self.audit, name="shop") as producer:
            for number in numbers:
                at = BEGIN_MS + number * 6_000
                order = b'{"number": %d, "at": %d}' % (number, at - 500) if number % 25 else b"{"
                for topic, value in ((self.orders, order), (self.visits, b"%d" % number)):
                    producer.produce(topic, value, partition=number % PARTITIONS, timestamp=at)

    def copy(self, directory: Path) -> Shop:
        shutil.copytree(self.directory, directory)
        other = object.__new__(Shop)
        other.__dict__.update(self.__dict__, directory=directory)
        return other

    def rewrite(self, table: str, change: Callable[[Any], Any], *, only_one: bool = True) -> None:
        """Every Parquet file of a table, or the first of which `change` makes something else."""
        import pyarrow.parquet as parquet

        for file in sorted((self.directory / "lake" / table).rglob("*.parquet")):
            before = parquet.ParquetFile(file).read()
            after = change(before)
            if after.num_rows != before.num_rows:
                parquet.write_table(after, file)
                file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
                if only_one:
                    return


def without(partition: int, offset: int, *, of: str = "") -> Callable[[Any], Any]:
    """A table without one record; `of` is the struct that says which it is."""

    def change(rows: Any) -> Any:
        where = [row[of] if of else row for row in rows.to_pylist()]
        kept = [at for at, row in enumerate(where) if (row["partition"], row["offset"]) != (partition, offset)]
        return rows.take(kept)

    return change


def twice(partition: int, offset: int) -> Callable[[Any], Any]:
    def change(rows: Any) -> Any:
        there = rows.to_pylist()
        again = [at for at, row in enumerate(there) if (row["partition"], row["offset"]) == (partition, offset)]
        return rows.take([*range(len(there)), *again])

    return change
