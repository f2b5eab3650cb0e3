"""What Spark says of a failed query, in a sentence with the next step."""

from __future__ import annotations

import re

from barnabas.pipeline.failures import PipelineFailed

__all__ = ["in_words"]

_GO_ON = "Set fail-on-data-loss = false to go on with what there is."
_AGAIN = "then start the job again, which goes on where it was."
_KNOWN = (
    (
        r"Partition (\S+) offset was changed from (\d+) to (\d+)",
        "{0} ends at {2}, and has been read up to {1}: its topic was deleted and created again, or its log cut. "
        + _GO_ON,
    ),
    (
        r"Cannot fetch (?:offset|records in) \[?(\d+).*?TopicPartition: ([^)\s]+)",
        "{1} has no records from offset {0} on any more: they were deleted before they were read. " + _GO_ON,
    ),
    (
        r"Partitions Set\(([^)]+)\) have been deleted",
        "{0}: the topic was deleted, and not all of it may have been read. " + _GO_ON,
    ),
    (
        r"Some data may have been lost.*?Reason: (.+?)\.?(?: SQLSTATE|\n|$)",
        "Records are gone that were not read: {0}. " + _GO_ON,
    ),
    (
        r"ConfigException: (.+?)\.?\n",
        "A property of [kafka] in the settings is not right: {0}.",
    ),
    (
        r"UnknownTopicOrPartitionException",
        "A topic is not there (any more): create it, or take it out of the settings.",
    ),
    (
        r"TimeoutException|DisconnectException",
        "The cluster does not answer: start its brokers, or mend bootstrap.servers; " + _AGAIN,
    ),
    (
        r"CONCURRENT_STREAM_LOG_UPDATE|Multiple streaming queries are concurrently using",
        "Another job uses this checkpoint: let one of them end.",
    ),
    (
        r"Encountered error while reading file (\S+?)\. ",
        "{0} cannot be read: take it out of the lake, or put back what it was; " + _AGAIN,
    ),
    (r"No space left on device", "The disk is full: make room, " + _AGAIN),
)
"""To be seen in what Spark says, and what is said instead."""
_OF_A_TASK = re.compile(r"\bPipelineFailed: (.+?)(?:\n|$)")
"""Our own words, which Spark hands over in a traceback of Python's."""


def in_words(error: Exception) -> PipelineFailed:
    if isinstance(error, PipelineFailed):
        return error
    text = f"{error}\n{getattr(error, '_stackTrace', None) or ''}"
    if (ours := _OF_A_TASK.search(text)) is not None:
        return PipelineFailed(ours[1])
    for pattern, sentence in _KNOWN:
        if (found := re.search(pattern, text, re.DOTALL)) is not None:
            return PipelineFailed(sentence.format(*found.groups()))
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return PipelineFailed(f"Spark gave up: {' '.join(lines[:3])}")
