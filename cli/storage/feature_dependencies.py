"""`barnabas storage feature-dependencies`: what levels of features need of others."""

from __future__ import annotations

import argparse

from barnabas.cli.cluster.feature_levels import dependencies_of, text_of_level
from barnabas.cli.output import Output, add_output_arguments
from barnabas.cli.storage.features import parse_feature
from barnabas.coordination.cluster.metadata_version import METADATA_VERSION

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--feature", "-f", metavar="NAME=LEVEL", action="append", required=True, help="any number of them"
    )
    add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    output = Output(as_json=arguments.json)
    told = {}
    for name, level in map(parse_feature, arguments.feature):
        needs = told[f"{name}={level}"] = dict(dependencies_of(name, level))
        text = f"{name}={_shown(name, level)}"
        output.line(f"{text} requires:" if needs else f"{text} has no dependencies.")
        for other, least in needs.items():
            output.line(f"    {other}={_shown(other, least)}")
    if output.as_json:
        output.json(told)


def _shown(name: str, level: int) -> str:
    return f"{level} ({text_of_level(name, level)})" if name == METADATA_VERSION else str(level)
