"""A log whose file of leader epochs is looked at."""

from __future__ import annotations

from pathlib import Path

from barnabas.storage.epochs_file import LEADER_EPOCH_CHECKPOINT, EpochsFile
from barnabas.storage.log import Log

from .faulty_disk import everything, nothing
from .test_durability import boot
from .test_log import NOW, batch_of

DIRECTORY = Path("/logs/clicks-0")
PATH = DIRECTORY / LEADER_EPOCH_CHECKPOINT


def in_file(log: Log) -> list[tuple[int, ...]]:
    return [tuple(entry) for entry in EpochsFile.load(log.disk, log.directory).epochs.entries]


def known(log: Log) -> list[tuple[int, ...]]:
    return [tuple(entry) for entry in log.epochs.entries]


def after_kill(log: Log) -> Log:
    return boot(log.disk.crashed(everything))  # type: ignore[attr-defined]


def after_power_cut(log: Log) -> Log:
    return boot(log.disk.crashed(nothing))  # type: ignore[attr-defined]


def follow(log: Log, epoch: int, offset: int, values: list[bytes]) -> None:
    stamped = bytearray(batch_of(values).buffer)
    stamped[:8] = offset.to_bytes(8, "big")
    stamped[12:16] = epoch.to_bytes(4, "big")
    log.append_as_follower(stamped, NOW)
