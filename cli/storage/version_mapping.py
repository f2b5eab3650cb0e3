"""`barnabas storage version-mapping`: the features with which a cluster of a release begins."""

from __future__ import annotations

import argparse

from barnabas.cli.cluster.feature_levels import levels_of, metadata_version
from barnabas.cli.output import Output, add_output_arguments

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--release-version", "-r", metavar="VERSION", help="of Kafka, such as 4.1 (the newest)")
    add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    output = Output(as_json=arguments.json)
    version = metadata_version(arguments.release_version)
    levels = levels_of(version)
    output.line(f"metadata.version={int(version)} ({arguments.release_version or version.text})")
    for name, level in levels.items():
        output.line(f"{name}={level}")
    if output.as_json:
        output.json({"metadata.version": int(version), **levels})
