"""What a start may meet that is nobody's mistake in this program, each in one sentence with the next step: for the
command line, and for tests that have a broker in their process."""

from __future__ import annotations

import errno
from collections.abc import Iterator

from barnabas.broker.configuration.values import ConfigurationError
from barnabas.broker.listener import CannotListen
from barnabas.broker.node import NodeFailed
from barnabas.broker.startable import CannotStart
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.storage.checkpoints import MalformedFile
from barnabas.storage.directory_errors import UnknownDirectory, UnusableDirectories
from barnabas.storage.disk import DiskLocked

__all__ = ["sentences"]

_OF_THE_MACHINE = (errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EMFILE)
"""Errors that are no mistake of this program's."""


def sentences(error: BaseException) -> Iterator[str]:
    """Nothing for what is our mistake."""
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from sentences(each)
    elif isinstance(error, DiskLocked):
        holder = error.holder or "another program, perhaps Apache Kafka"
        yield f"{error.path.parent} is in use by {holder}: stop it first, or choose another directory with --data."
    elif isinstance(error, UnusableDirectories | CannotStart | ConfigurationError):
        yield from error.problems
    elif isinstance(error, CannotListen | NodeFailed | MalformedFile | UnknownDirectory):
        yield str(error)
    elif isinstance(error, KafkaError) and error.code == ErrorCode.KAFKA_STORAGE_ERROR:
        yield f"The metadata cannot be written any more: {error}; make room on that disk, or replace it."
    elif isinstance(error, OSError) and error.errno in _OF_THE_MACHINE:
        where = error.filename or "The disk of the metadata"
        yield f"{where}: {error.strerror}: see to that disk, and to who may write to it."
