"""`barnabas log explain`: for each segment why it is kept and until when; what holds up a partition's readers, and its
compaction. Of a directory alone, with or without a broker on it."""

from __future__ import annotations

import argparse
import time
from contextlib import suppress
from pathlib import Path

from barnabas.cli.failures import CommandFailed
from barnabas.cli.log.explaining import Explained, explain_partition
from barnabas.cli.log.open_files import allow_all_files
from barnabas.cli.log.places import add_place_arguments, partition_directories, places_of
from barnabas.cli.log.settings import Settings, add_config_argument, directories_of, properties_of
from barnabas.cli.moments import show_duration, show_moment
from barnabas.cli.output import Output, add_output_arguments
from barnabas.cli.units import counted, size_text
from barnabas.protocol.errors import KafkaError
from barnabas.storage.checkpoints import MalformedFile
from barnabas.storage.directory_errors import UnknownDirectory
from barnabas.storage.directory_names import METADATA_TOPIC
from barnabas.storage.retention import Verdict
from barnabas.storage.topic_config import TopicConfig

__all__ = ["add_arguments", "run"]

_PATIENCE_S = 10.0
"""With a log that somebody else changes while it is read."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_place_arguments(parser, "what to explain: a partition's directory, or a log directory")
    add_config_argument(parser)
    add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    output = Output(as_json=arguments.json)
    allow_all_files()
    properties = properties_of(arguments)
    places = places_of(arguments, required=not properties) or directories_of(properties)
    settings = Settings(properties, places)
    now_ms = time.time_ns() // 1_000_000
    told = []
    failed = 0
    for number, directory in enumerate(_partitions(places, arguments)):
        if number:
            output.line()
        try:
            found = _explain(directory, settings, now_ms)
        except (OSError, MalformedFile, KafkaError, UnknownDirectory) as error:
            failed += 1
            output.note(f"{directory} cannot be explained: {error}; barnabas log verify tells more.")
            continue
        told.append(found.as_json())
        _show(found, settings, now_ms, output)
    if output.as_json:
        output.json(told)
    return 1 if failed else 0


def _partitions(places: list[Path], arguments: argparse.Namespace) -> list[Path]:
    """The metadata's own log is kept by its snapshots, and not by retention."""
    found = [each for place in places for each in partition_directories(place, arguments)]
    kept = [each for each in found if not each.resolve().name.startswith(f"{METADATA_TOPIC}-")]
    if not kept:
        raise CommandFailed("There is no partition but the metadata's log, which is kept by its snapshots.")
    return kept


def _explain(directory: Path, settings: Settings, now_ms: int) -> Explained:
    """Segments may go away, and others begin, between one look and the next: while they do, it is looked again."""
    give_up_s = time.monotonic() + _PATIENCE_S
    before = None
    while True:
        try:
            return explain_partition(directory, settings, now_ms)
        except (FileNotFoundError, KafkaError):
            files = _sizes(directory)
            if files == before or time.monotonic() > give_up_s:
                raise
            before = files


def _sizes(directory: Path) -> dict[str, int]:
    sizes = {}
    for each in directory.iterdir():
        with suppress(FileNotFoundError):
            sizes[each.name] = each.stat().st_size
    return sizes


def _show(found: Explained, settings: Settings, now_ms: int, output: Output) -> None:
    log, config = found.log, found.config
    output.line(
        f"{found.partition}: offsets {log.start_offset} to {log.end_offset}, {size_text(log.size)} in "
        f"{counted(len(log.segments), 'segment')}, {found.directory}"
    )
    policy = ",".join(config.cleanup_policy) or "none"
    source = "" if settings.image is not None else " (no metadata log here: defaults)"
    output.line(f"  cleanup.policy={policy}; {_kept(config)}{source}")
    rows = [_row(verdict, now_ms, output) for verdict in found.verdicts]
    for line in _table(rows):
        output.line(f"  {line}")
    _show_stable(found, now_ms, output)
    if found.compaction is not None:
        why = found.compaction.explain.partition(": ")[2]
        output.line(f"  compaction is {why}")
    for remark in found.remarks:
        output.line(f"  {output.warn('a start would mend it:')} {remark}")


def _kept(config: TopicConfig) -> str:
    kept = "of each key the last record is kept" if config.compact else "records are kept"
    if not config.delete:
        return f"{kept} forever"
    retention = "forever" if config.retention_ms < 0 else show_duration(config.retention_ms)
    size = "of any size" if config.retention_bytes < 0 else f"up to {size_text(config.retention_bytes)}"
    return f"{kept} {retention}, {size}"


def _table(rows: list[tuple[object, ...]]) -> list[str]:
    from barnabas.cli.output import table_lines

    return table_lines(("segment", "size", "latest record", "kept until", "why"), rows)


def _row(verdict: Verdict, now_ms: int, output: Output) -> tuple[object, ...]:
    latest = verdict.segment.latest[0]
    if verdict.due:
        until = output.warn("now due")
    elif verdict.due_ms is None:
        until = "-"
    elif verdict.due_ms <= now_ms:
        until = "later"
    else:
        until = f"{show_moment(verdict.due_ms)} (in {show_duration(verdict.due_ms - now_ms)})"
    return (
        verdict.segment.base_offset,
        size_text(verdict.segment.size),
        None if latest < 0 else show_moment(latest),
        until,
        verdict.reason,
    )


def _show_stable(found: Explained, now_ms: int, output: Output) -> None:
    if found.high_watermark < found.log.end_offset:
        output.line(f"  high watermark {found.high_watermark}, as it was last checkpointed")
    if not found.pins:
        output.line(f"  last stable offset {found.last_stable_offset}: no transaction is open")
        return
    output.line(f"  last stable offset {found.last_stable_offset}: readers of committed records wait there")
    for pin in found.pins:
        since = ""
        if pin.since_ms is not None:
            since = f" since {show_moment(pin.since_ms)} ({show_duration(now_ms - pin.since_ms)})"
        output.line(
            f"    producer {pin.producer.producer_id} (epoch {pin.producer.epoch}) has a transaction open from offset "
            f"{pin.first_offset} on{since}"
        )
