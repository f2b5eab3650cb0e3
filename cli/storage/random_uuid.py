"""`barnabas storage random-uuid`: a name for a new cluster, as kafka-storage.sh random-uuid draws it."""

from __future__ import annotations

import argparse

from barnabas.cli.output import Output, add_output_arguments
from barnabas.cli.storage.formatting import random_ids
from barnabas.storage.meta_properties import draw_cluster_id

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    output = Output(as_json=arguments.json)
    drawn = draw_cluster_id(random_ids())
    output.line(drawn)
    if output.as_json:
        output.json(drawn)
