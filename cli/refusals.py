"""Errors of the way to a cluster, and of the cluster, as one sentence for the person who asked."""

from __future__ import annotations

import errno
import re

from barnabas.client.errors import ClientError
from barnabas.protocol.errors import ErrorCode, KafkaError

__all__ = ["sentence_of", "words_for"]

_HINTS = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "There is no such topic or partition; see barnabas topics --list",
    ErrorCode.INVALID_TOPIC_EXCEPTION: "No topic can have that name: letters, digits, dots, _ and - may be in it",
    ErrorCode.TOPIC_ALREADY_EXISTS: "A topic of that name is there already; --if-not-exists accepts that",
    ErrorCode.REQUEST_TIMED_OUT: "The broker did not finish in time; try again, or with a longer --timeout",
    ErrorCode.NOT_ENOUGH_REPLICAS: "Too few replicas are in sync; start the brokers that are missing",
    ErrorCode.GROUP_ID_NOT_FOUND: "There is no such group; see barnabas groups --list",
    ErrorCode.NON_EMPTY_GROUP: "The group has members; stop its consumers first",
    ErrorCode.SECURITY_DISABLED: "The broker has no authorizer, so that it keeps no ACLs",
    ErrorCode.COORDINATOR_NOT_AVAILABLE: "The group's coordinator is not there yet; try again in a moment",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "This user may not do that with the topic",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "This user may not do that with the group",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "This user may not do that with the cluster",
    ErrorCode.NOT_LEADER_OR_FOLLOWER: "A partition has no leader yet, or changes it; try again in a moment",
    ErrorCode.KAFKA_STORAGE_ERROR: "A disk of the broker has failed; its log says which",
    ErrorCode.LEADER_NOT_AVAILABLE: "A partition has no leader now; try again, or look at barnabas topics --describe",
}

_OF_THE_MACHINE = {
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS),
    *(errno.EACCES, errno.EPERM, errno.ENOENT, errno.EISDIR, errno.ENOTDIR),
    *(errno.ELOOP, errno.ENAMETOOLONG, errno.EMFILE, errno.ENFILE),
}
"""Of a disk that is full, a path that is wrong, and others that are no mistake of this program's."""

_NEXT_STEPS = {
    errno.EACCES: "change its permissions, or be a user who has them",
    errno.EPERM: "change its permissions, or be a user who has them",
    errno.EISDIR: "name a file",
    errno.ENOSPC: "make room on that disk",
    errno.EDQUOT: "make room, or ask for more of it",
    errno.EROFS: "name a place that can be written to",
    errno.EMFILE: "raise ulimit -n",
}


def words_for(code: ErrorCode, message: str | None = None) -> str:
    """What Kafka's error means, with the broker's own words where it gave some. Ends without a full stop."""
    hint = _HINTS.get(code)
    told = (message or "").strip().rstrip(".")
    name = code.name.lower().replace("_", " ")
    if told and hint:
        return f"{hint} ({told})"
    again = "; try again in a moment" if code.retriable else ""
    return told or hint or f"The broker answers {name}{again}"


def sentence_of(error: Exception) -> str | None:
    """None for what is nobody's but ours: that shall be seen as it is."""
    if isinstance(error, ClientError):
        return _with_stop(str(error))
    if isinstance(error, KafkaError):
        message = re.sub(rf"^{error.code.name}:? ?", "", str(error))
        return _with_stop(f"{words_for(error.code, message)} [{error.code.name}]")
    if isinstance(error, OSError) and error.errno in _OF_THE_MACHINE:
        if error.filename is None:
            return f"The output cannot be written ({error.strerror}): see to the disk, or to what it goes to."
        return f"{error.filename} cannot be used ({error.strerror}): {_NEXT_STEPS.get(error.errno, 'check the path')}."
    return None


def _with_stop(sentence: str) -> str:
    return sentence if sentence.endswith((".", "?", "!")) else sentence + "."
