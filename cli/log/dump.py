"""`barnabas log dump`: what kafka-dump-log.sh prints, of files, of a partition's directory, or of a whole topic."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from barnabas.cli.failures import CommandFailed, WrongUsage
from barnabas.cli.log.decoders import OF_TOPICS, Decoder, metadata_decoder, of_classes, remote_decoder
from barnabas.cli.log.dumping import Dumping
from barnabas.cli.log.files import partition_files
from barnabas.cli.log.places import add_place_arguments, partition_directories, places_of
from barnabas.cli.log.sink import Sink
from barnabas.protocol.errors import MalformedFrame
from barnabas.storage.directory_errors import UnknownDirectory
from barnabas.storage.directory_names import parse_directory

__all__ = ["add_arguments", "run"]

_NO_LIMIT = 2**31 - 1
_STRING = "org.apache.kafka.tools.api.StringDecoder"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_place_arguments(parser, "what to dump: files of a log, or a partition's directory")
    parser.add_argument("--files", metavar="FILE,...", help="the same, with commas between, as Kafka's tool has it")
    parser.add_argument("--from-offset", metavar="OFFSET", type=int, help="begin with this record")
    parser.add_argument("--to-offset", metavar="OFFSET", type=int, help="end before this record")
    parser.add_argument("--all", action="store_true", help="of a partition also indexes, snapshots and epochs")
    parser.add_argument("--json", action="store_true", help="a JSON value a line: a batch with its records, or a row")
    group = parser.add_argument_group("Kafka's own")
    group.add_argument("--print-data-log", action="store_true", help="the records' keys and values too")
    group.add_argument("--deep-iteration", action="store_true", help="a line for each record, and not only each batch")
    group.add_argument("--skip-record-metadata", action="store_true", help="keys and values alone")
    group.add_argument("--max-bytes", metavar="BYTES", type=int, default=_NO_LIMIT, help="of each log, and no more")
    group.add_argument("--max-message-size", metavar="BYTES", type=int, default=5 << 20, help="of a batch (5242880)")
    group.add_argument("--verify-index-only", action="store_true", help="only hold indexes against their logs")
    group.add_argument("--index-sanity-check", action="store_true", help="only ask what a start of Kafka asks of them")
    for name, what in (
        ("offsets", "__consumer_offsets"),
        ("transaction-log", "__transaction_state"),
        ("cluster-metadata", "__cluster_metadata"),
        ("share-group-state", "__share_group_state"),
        ("remote-log-metadata", "__remote_log_metadata"),
    ):
        group.add_argument(f"--{name}-decoder", action="store_true", help=f"records as those of {what}")
    for name in ("key", "value"):
        group.add_argument(
            f"--{name}-decoder-class",
            metavar="CLASS",
            nargs="?",
            const=_STRING,
            help=f"how a {name} is read: Kafka's own StringDecoder, IntegerDecoder or LongDecoder",
        )


def run(arguments: argparse.Namespace) -> None:
    sink = Sink(as_json=arguments.json)
    chosen = _decoder(arguments)
    dumping = Dumping(
        sink,
        chosen or (of_classes(None, None) if arguments.print_data_log else None),
        deep=arguments.deep_iteration or arguments.print_data_log or chosen is not None,
        skip_metadata=arguments.skip_record_metadata,
        max_bytes=None if arguments.max_bytes == _NO_LIMIT else arguments.max_bytes,
        max_message_bytes=arguments.max_message_size,
        verify_only=arguments.verify_index_only,
        sanity_only=arguments.index_sanity_check,
        first_offset=arguments.from_offset,
        end_offset=arguments.to_offset,
    )
    try:
        for path, is_named in _files(arguments):
            if not is_named and arguments.print_data_log and chosen is None:
                dumping.decoder = _decoder_of(path.parent)
            _dump(dumping, path, is_named=is_named)
    except BrokenPipeError:
        raise
    except BaseException:
        sink.flush()
        raise
    dumping.tell_notes()
    sink.flush()


def _dump(dumping: Dumping, path: Path, *, is_named: bool) -> None:
    try:
        dumping.dump(path)
    except (FileNotFoundError, CommandFailed):
        segment = path.with_suffix(".log") if path.suffix in (".index", ".timeindex") else path
        if is_named or (path.exists() and segment.exists()):
            raise
        # A broker at work deletes segments.
        dumping.sink.problem(f"{path} is gone by now", {"file": str(path), "kind": "gone"})
    except MalformedFrame as error:
        raise CommandFailed(
            f"{path} has a batch whose records cannot be read ({error}): barnabas log verify says what a start would do"
            " about it; without --print-data-log and --deep-iteration the batches alone are shown."
        ) from None


def _decoder(arguments: argparse.Namespace) -> Decoder | None:
    """That of the first option that was given; of classes last, as in Kafka's tool."""
    if arguments.offsets_decoder:
        return OF_TOPICS["__consumer_offsets"]
    if arguments.transaction_log_decoder:
        return OF_TOPICS["__transaction_state"]
    if arguments.cluster_metadata_decoder:
        return metadata_decoder
    if arguments.remote_log_metadata_decoder:
        return remote_decoder
    if arguments.share_group_state_decoder:
        return OF_TOPICS["__share_group_state"]
    if arguments.key_decoder_class or arguments.value_decoder_class:
        return of_classes(arguments.key_decoder_class, arguments.value_decoder_class)
    return None


def _decoder_of(directory: Path) -> Decoder:
    """Of a directory that was named as a whole, its topic tells what is in it."""
    try:
        topic = parse_directory(directory)[0].topic
    except UnknownDirectory:
        return of_classes(None, None)
    return OF_TOPICS.get(topic) or of_classes(None, None)


def _files(arguments: argparse.Namespace) -> Iterator[tuple[Path, bool]]:
    """What to dump, and whether it was named itself."""
    for name in (arguments.files or "").split(","):
        if name:
            yield Path(name), True
    directories = []
    for place in places_of(arguments, required=not arguments.files):
        if place.is_dir():
            directories += partition_directories(place, arguments)
        elif place.exists():
            yield place, True
        else:
            raise CommandFailed(f"There is no {place}: name a file of a log, or a partition's directory.")
    if not directories and arguments.all:
        raise WrongUsage("--all is for a partition's directory")
    for directory in directories:
        yield from ((path, False) for path in _of_partition(directory, arguments))


def _of_partition(directory: Path, arguments: argparse.Namespace) -> list[Path]:
    logs = partition_files(directory, first=arguments.from_offset, end=arguments.to_offset)
    others = sorted(path for path in directory.iterdir() if path.suffix == ".checkpoint")
    if arguments.all:
        return sorted({*(path for path in directory.iterdir() if path.is_file()), *logs})
    return others + logs
