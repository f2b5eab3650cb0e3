"""A log directory: there, usable, free, large enough, and on something that keeps it."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from barnabas.cli.doctor.checks import Check, fail, good, unknown, warn

__all__ = ["Mount", "check_directory", "check_mount", "check_space", "mount_of", "read_mounts"]

_MOUNTS = Path("/proc/self/mounts")
_FORGETFUL = {"tmpfs", "ramfs", "overlay", "aufs"}
"""What they hold is gone with the machine, or with the container."""
_REMOTE = {"nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "glusterfs", "ceph", "vboxsf", "virtiofs"}
_ESCAPES = {"\\040": " ", "\\011": "\t", "\\012": "\n", "\\134": "\\"}
_LEAST_BYTES, _LEAST_PART = 1 << 30, 0.05
_CLOCK_SLACK_S = 60.0
_LOCK = ".lock"
_MOST_FILES = 2_000
"""Looked at for their times: enough to see a clock that was set back."""


class Mount(NamedTuple):
    place: Path
    kind: str


def check_directory(directory: Path) -> Iterator[Check]:
    path = directory.absolute()
    where = str(path)
    there = path
    while not there.exists():
        there = there.parent
    try:
        if not there.is_dir():
            yield fail("directory", where, f"{there} is no directory", "name another directory with --data.")
            return
        allowed = os.access(there, os.R_OK | os.W_OK | os.X_OK)
    except OSError as error:
        yield fail("directory", where, error.strerror or str(error), "name another directory with --data.")
        return
    owner = _owner(there)
    if not allowed:
        me = _user(os.geteuid())
        advice = f"let {me} read and write there (chown, chmod), or name another directory with --data."
        yield fail("directory", where, f"{there} is {owner}'s, and {me} may not use it", advice)
        return
    if there != path:
        yield good("directory", where, f"not there yet: a start makes it in {there}")
    else:
        yield good("directory", where, f"there, {owner}'s, readable and writable")
        yield from _lock(path)
        yield from _times(path)
    yield check_mount(where, mount_of(there, read_mounts()))
    usage = shutil.disk_usage(there)
    yield check_space(where, usage.free, usage.total)


def _owner(path: Path) -> str:
    return _user(path.stat().st_uid)


def _user(number: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"


def _lock(directory: Path) -> Iterator[Check]:
    """As a broker takes it, Kafka's or ours; given back at once. What is not there is not made."""
    path = directory / _LOCK
    if not path.exists():
        yield good("lock", str(directory), "nobody's")
        return
    try:
        with path.open("r+b") as file:
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno not in (errno.EACCES, errno.EAGAIN):
                    raise
                holder = file.read(200).decode(errors="replace").strip() or "another program, perhaps Apache Kafka"
                advice = "stop it before another is started here, or name another directory with --data."
                yield fail("lock", str(directory), f"held by {holder}", advice)
            else:
                yield good("lock", str(directory), "nobody's")
    except OSError as error:
        advice = "let this user write that file: a broker has to."
        yield fail("lock", str(directory), f"{path} cannot be used ({error.strerror})", advice)


def _times(directory: Path) -> Iterator[Check]:
    """A file from the future: the clock was right then, or is now."""
    newest_s, newest = 0.0, directory
    for count, path in enumerate(directory.glob("*/*")):
        if count >= _MOST_FILES:
            break
        try:
            changed_s = path.stat().st_mtime
        except OSError:
            continue
        if changed_s > newest_s:
            newest_s, newest = changed_s, path
    ahead_s = newest_s - time.time()
    if ahead_s > _CLOCK_SLACK_S:
        advice = "see which clock is right before a broker starts: retention goes by it."
        yield warn("times", str(directory), f"{newest} was changed {ahead_s:.0f} s from now", advice)


def read_mounts() -> list[Mount]:
    """None where there is no such file."""
    try:
        lines = _MOUNTS.read_text().splitlines()
    except OSError:
        return []
    return [Mount(Path(_unescaped(place)), kind) for _, place, kind, *_ in map(str.split, lines)]


def _unescaped(text: str) -> str:
    for written, meant in _ESCAPES.items():
        text = text.replace(written, meant)
    return text


def mount_of(path: Path, mounts: Sequence[Mount]) -> Mount | None:
    """The innermost that holds it; of several at one place the last, which lies over the others."""
    real = path.resolve()
    holding = [mount for mount in mounts if real.is_relative_to(mount.place)]
    return max(enumerate(holding), key=lambda each: (len(each[1].place.parts), each[0]))[1] if holding else None


def check_mount(where: str, mount: Mount | None) -> Check:
    if mount is None:
        return unknown("file system", where, "not known")
    found = f"{mount.kind} at {mount.place}"
    if mount.kind in _FORGETFUL:
        advice = "use a directory of a disk, or a volume of the container's, unless the data may be lost with it."
        return warn("file system", where, f"{found}: gone with the machine or the container", advice)
    if mount.kind in _REMOTE:
        advice = "use a local disk: locks and mapped files are not dependable over a network."
        return warn("file system", where, f"{found}: another machine's", advice)
    return good("file system", where, found)


def check_space(where: str, free: int, total: int) -> Check:
    found = f"{free / 2**30:,.1f} of {total / 2**30:,.1f} GiB free"
    if free < min(_LEAST_BYTES, total * _LEAST_PART):
        return warn("space", where, found, "make room: a broker whose disk is full takes no more records.")
    return good("space", where, found)
