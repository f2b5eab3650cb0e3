"""`barnabas cluster features`: what kafka-features.sh does, with its lines."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping

from barnabas.cli.actions import Actions
from barnabas.cli.cluster.feature_levels import dependencies_of, levels_of, metadata_version, text_of_level
from barnabas.cli.connecting import add_connection_arguments, connect
from barnabas.cli.failures import CommandFailed, WrongUsage
from barnabas.cli.output import Output, add_output_arguments, confirm
from barnabas.cli.refusals import words_for
from barnabas.client.cluster import Cluster, check
from barnabas.client.errors import code_of
from barnabas.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.protocol.messages.update_features import (
    FeatureUpdateKey,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

__all__ = ["add_arguments", "run"]

_ACTIONS = Actions(
    {
        "describe": "the levels that are in force, and those that the nodes know",
        "upgrade": "raise levels",
        "downgrade": "lower levels",
        "disable": "lower levels to 0",
        "version-mapping": "the levels that belong to a release; asks no cluster",
        "feature-dependencies": "what a level needs; asks no cluster",
    },
    operand="FEATURE=LEVEL",
    default="describe",
)
_UPGRADE, _SAFE_DOWNGRADE, _UNSAFE_DOWNGRADE = 1, 2, 3
_METADATA = "metadata.version"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    _ACTIONS.add_to(parser)
    parser.add_argument("--feature", metavar="FEATURE=LEVEL", action="append", help="any number; to disable: FEATURE")
    parser.add_argument("--release-version", metavar="VERSION", help="the levels of that release of Kafka, such as 4.2")
    parser.add_argument("--metadata", metavar="VERSION", help="metadata.version as a release (deprecated)")
    parser.add_argument("--node-id", metavar="ID", type=int, help="describe: which node is asked")
    parser.add_argument("--unsafe", action="store_true", help="lower it even if metadata may be lost")
    parser.add_argument("--dry-run", action="store_true", help="say only whether it can be done")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    add_connection_arguments(parser, controllers=["--bootstrap-controller"])
    add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    action, words = _ACTIONS.chosen(arguments)
    output = Output(as_json=arguments.json)
    named = [*(arguments.feature or ()), *words]
    if action == "version-mapping":
        _map_version(arguments.release_version, output)
    elif action == "feature-dependencies":
        _tell_dependencies(named, output)
    elif action == "describe":
        if arguments.node_id is not None and arguments.node_id < 0:
            raise WrongUsage(f"--node-id {arguments.node_id} is negative")
        with connect(arguments) as cluster:
            _describe(cluster, arguments.node_id, output)
    else:
        _update(action, _wanted(action, arguments, named), arguments, output)


# What there is


def _describe(cluster: Cluster, node_id: int | None, output: Output) -> None:
    request = ApiVersionsRequest(client_software_name="barnabas", client_software_version="1")
    if node_id is None:
        found = cluster.ask(request, ApiVersionsResponse)
    else:
        found = cluster.ask_node(node_id, request, ApiVersionsResponse)
    check(found.error_code)
    finalized = {each.name: each.max_version_level for each in found.finalized_features}
    epoch = found.finalized_features_epoch if found.finalized_features_epoch >= 0 else None
    told = []
    for each in sorted(found.supported_features, key=lambda feature: feature.name):
        level = finalized.get(each.name, 0)
        low, high, now = (text_of_level(each.name, one) for one in (each.min_version, each.max_version, level))
        output.line(
            f"Feature: {each.name:<40}  SupportedMinVersion: {low:<15}  SupportedMaxVersion: {high:<15}  "
            f"FinalizedVersionLevel: {now:<15}  Epoch: {'-' if epoch is None else epoch}"
        )
        told.append(
            {
                "feature": each.name,
                "supported_min": each.min_version,
                "supported_max": each.max_version,
                "finalized": level,
                "epoch": epoch,
                **({"finalized_release": now} if each.name == _METADATA else {}),
            }
        )
    if output.as_json:
        output.json(told)


def _map_version(release: str | None, output: Output) -> None:
    version = metadata_version(release)
    levels = levels_of(version)
    output.line(f"{_METADATA}={int(version)} ({release or version.text})")
    for name, level in levels.items():
        output.line(f"{name}={level}")
    if output.as_json:
        output.json({_METADATA: int(version), **levels})


def _tell_dependencies(named: Iterable[str], output: Output) -> None:
    wanted = [_name_and_level(text) for text in named]
    if not wanted:
        raise WrongUsage("name what it is about: --feature FEATURE=LEVEL")
    told = []
    for name, level in wanted:
        needed = dependencies_of(name, level)
        release = f" ({text_of_level(name, level)})" if name == _METADATA else ""
        told.append({"feature": name, "level": level, "requires": dict(needed)})
        if not needed:
            output.line(f"{name}={level}{release} has no dependencies.")
            continue
        output.line(f"{name}={level} requires:")
        for other, least in needed.items():
            output.line(f"    {other}={least}" + (f" ({text_of_level(other, least)})" if other == _METADATA else ""))
    if output.as_json:
        output.json(told)


# What shall be


def _wanted(action: str, arguments: argparse.Namespace, named: list[str]) -> dict[str, int]:
    if action == "disable":
        return _once((text, 0) for text in named)
    if arguments.release_version is not None:
        if named or arguments.metadata is not None:
            raise WrongUsage("--release-version names all levels: no other feature can be named with it")
        version = metadata_version(arguments.release_version)
        # To raise a level to 0 would be none.
        levels = {name: level for name, level in levels_of(version).items() if level > 0 or action == "downgrade"}
        return {_METADATA: int(version), **levels}
    metadata = [(_METADATA, int(metadata_version(arguments.metadata)))] if arguments.metadata is not None else []
    return _once([*metadata, *map(_name_and_level, named)])


def _once(pairs: Iterable[tuple[str, int]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, level in pairs:
        if name in found:
            raise WrongUsage(f"feature {name} is named more than once")
        found[name] = level
    return found


def _name_and_level(text: str) -> tuple[str, int]:
    name, equals, level = text.partition("=")
    try:
        number = int(level)
    except ValueError:
        number = -1
    if not equals or not 0 <= number < 1 << 15:
        raise WrongUsage(f"{text} is no feature with a level: write FEATURE=LEVEL, such as metadata.version=30")
    return name.strip(), number


def _update(action: str, levels: Mapping[str, int], arguments: argparse.Namespace, output: Output) -> None:
    if not levels:
        raise WrongUsage(f"name at least one feature to {action}: --feature FEATURE=LEVEL")
    kind = _UPGRADE if action == "upgrade" else _UNSAFE_DOWNGRADE if arguments.unsafe else _SAFE_DOWNGRADE
    if not arguments.dry_run and kind == _UNSAFE_DOWNGRADE:
        confirm(f"{action} {', '.join(levels)} even if metadata is lost?".capitalize(), yes=arguments.yes)
    with connect(arguments) as cluster:
        errors = _ask(cluster, levels, kind, dry_run=arguments.dry_run)
    for name in sorted(levels):
        output.line(_line(action, name, levels[name], errors.get(name), dry_run=arguments.dry_run))
    if output.as_json:
        output.json(
            [{"feature": name, "level": levels[name], "error": errors.get(name)} for name in sorted(levels)],
        )
    if errors:
        raise CommandFailed(f"{len(errors)} out of {len(levels)} operation(s) failed.")


def _ask(cluster: Cluster, levels: Mapping[str, int], kind: int, *, dry_run: bool) -> dict[str, str]:
    """What went wrong, by feature; newer brokers do all of it or nothing, and say one error."""
    updates = [
        FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=kind) for name, level in levels.items()
    ]
    request = UpdateFeaturesRequest(
        timeout_ms=int(cluster.timeout_s * 1000), feature_updates=updates, validate_only=dry_run
    )
    answer = cluster.ask_controller(request, UpdateFeaturesResponse)
    if answer.error_code:
        why = words_for(code_of(answer.error_code), answer.error_message)
        return dict.fromkeys(levels, why)
    return {
        each.feature: words_for(code_of(each.error_code), each.error_message)
        for each in answer.results
        if each.error_code
    }


def _line(action: str, name: str, level: int, error: str | None, *, dry_run: bool) -> str:
    what = f"disable {name}" if action == "disable" else f"{action} {name} to {level}"
    if error is not None:
        return f"{'Can' if dry_run else 'Could'} not {what}. {error.rstrip('.')}."
    done = "disabled." if action == "disable" else f"{action}d to {level}."
    return f"{name} {'can be' if dry_run else 'was'} {done}"
