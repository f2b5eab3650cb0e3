"""What is said of a log directory that cannot be used, and which errors of a disk are its end."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from pathlib import Path

__all__ = ["UnknownDirectory", "UnusableDirectories", "explain", "is_failure"]


class UnknownDirectory(Exception):  # noqa: N818 - a state of the directory
    """Something lies in a log directory that Kafka would not have put there."""


class UnusableDirectories(Exception):  # noqa: N818 - a state of the directories
    """The node cannot start on its log directories: one sentence for each reason, with what to do."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = list(problems)


_REASONS = {
    errno.EACCES: "this process has no permission to read and write it: give it to the user that runs the node",
    errno.EPERM: "this process has no permission to read and write it: give it to the user that runs the node",
    errno.EROFS: "its file system can only be read: mount it for writing",
    errno.EEXIST: "it is a file and no directory: move the file away, or name another directory in log.dirs",
    errno.ENOTDIR: "a part of the path is a file and no directory: name another directory in log.dirs",
    errno.EIO: "its disk fails (input/output error): replace the disk, and the data comes back from other replicas",
    errno.EMFILE: "this process may open no more files: raise the limit of open files (ulimit -n)",
    errno.ENOSPC: "its disk is full: make room, or lower the retention of its topics",
    errno.EDQUOT: "the quota of its user is used up: raise it, or lower the retention of its topics",
}

_NO_FAILURES = (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM)
"""What is full, or used up by this process and others: it may be there again in a moment."""


def explain(directory: Path, error: OSError) -> str:
    """One sentence."""
    reason = _REASONS.get(error.errno or 0)
    where = f" ({error.filename})" if error.filename and Path(error.filename) != directory else ""
    return f"{directory} cannot be used{where}: {reason or error.strerror or error}."


def is_failure(error: OSError) -> bool:
    """Whether a directory that was in use cannot be any more. A full disk can: it is read, and what is deleted makes
    room (docs/decisions/0005-several-log-directories.md). So it is where files or memory are what is short."""
    return error.errno not in _NO_FAILURES
