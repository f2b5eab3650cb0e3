"""Spark's checkpoint of a job, and whether the lake that it is used with is its own."""

from __future__ import annotations

import uuid

from pyspark.sql import SparkSession

from barnabas.pipeline.failures import PipelineFailed
from barnabas.pipeline.files import Files
from barnabas.pipeline.lake import Lake

__all__ = ["Checkpoint"]

_NAME = "barnabas-name"


class Checkpoint:
    def __init__(self, spark: SparkSession, place: str) -> None:
        self.files = Files(spark, place)
        self.place = self.files.root
        if not self.files.exists(_NAME):
            self.files.create(_NAME, uuid.uuid4().hex)
        self.name = self.files.read(_NAME).strip()

    @property
    def is_new(self) -> bool:
        """Whether it has not even begun a batch."""
        return not self.files.names("offsets")

    def check_belongs_to(self, lake: Lake) -> None:
        if not self.files.names("commits") or (lake.last is not None and lake.last.checkpoint == self.name):
            return
        if lake.last is None:
            raise PipelineFailed(
                f"The checkpoint {self.place} has landed batches, but {lake.files.root} has none: name the lake that "
                "they are in, or delete the checkpoint to land anew."
            )
        raise PipelineFailed(
            f"The lake {lake.files.root} was last landed with another checkpoint than {self.place}: name that one, or "
            "a new one, which goes on where the lake ends."
        )
