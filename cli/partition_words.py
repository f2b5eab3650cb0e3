"""Which partitions are meant: `orders`, `orders:0,1`, or a pattern of names and numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from barnabas.cli.failures import CommandFailed, WrongUsage
from barnabas.client.cluster import Cluster, Partition
from barnabas.protocol.errors import ErrorCode, KafkaError

__all__ = [
    "PartitionFilter",
    "check_there",
    "partitions_named",
    "partitions_of_topics",
    "read_rules",
    "read_topic_and_numbers",
]

_RULE = re.compile(r"([^:,]*)(?::(?:([0-9]*)|(?:([0-9]*)-([0-9]*))))?")
_NO_UPPER_BOUND = 2**31 - 1


def partitions_named(cluster: Cluster, words: Sequence[str]) -> list[Partition]:
    """`orders:0,1` is these two, `orders` all there are. KafkaError for a topic that is not there."""
    given: list[Partition] = []
    for word in words:
        if ":" in word:
            given += _of_word(word)
    topics = [word for word in words if ":" not in word]
    return list(dict.fromkeys(given + partitions_of_topics(cluster, topics)))


def _of_word(word: str) -> list[Partition]:
    topic, _, numbers = word.partition(":")
    if not topic or not numbers:
        raise WrongUsage(f"{word} is no topic with partitions: write it as orders:0,1")
    try:
        return [Partition(topic, int(number)) for number in numbers.split(",")]
    except ValueError:
        raise WrongUsage(f"{word} is no topic with partitions: {numbers} are no numbers, such as 0,1") from None


def partitions_of_topics(cluster: Cluster, names: Iterable[str]) -> list[Partition]:
    wanted = list(dict.fromkeys(names))
    if not wanted:
        return []
    found = cluster.topics(wanted)
    return sorted(Partition(name, each.partition_index) for name in wanted for each in found[name].partitions)


def check_there(cluster: Cluster, partitions: Sequence[Partition]) -> None:
    """CommandFailed for those that are not there or have no leader."""
    topics = {topic.name: topic for topic in cluster.metadata(sorted({each.topic for each in partitions})).topics}
    leaders = {
        Partition(name, each.partition_index): each.leader_id
        for name, topic in topics.items()
        if name is not None
        for each in topic.partitions
    }
    for topic in topics.values():
        if topic.error_code not in (0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.LEADER_NOT_AVAILABLE):
            raise KafkaError(ErrorCode(topic.error_code), f"topic {topic.name}")
    missing = [str(each) for each in partitions if each not in leaders]
    if missing:
        raise CommandFailed(f"There is no partition {', '.join(missing)}; see barnabas topics --describe.")
    leaderless = [str(each) for each in partitions if leaders[each] < 0]
    if leaderless:
        raise CommandFailed(f"No broker leads {', '.join(leaderless)} now; see barnabas topics --describe.")


class _Rule(NamedTuple):
    topic: re.Pattern[str]
    numbers: Callable[[int], bool]


class PartitionFilter:
    """Kafka's patterns: each rule is a regular expression for topics, with numbers; one that fits is enough."""

    def __init__(self, rules: Sequence[_Rule]) -> None:
        self._rules = rules

    def takes_topic(self, topic: str) -> bool:
        return any(rule.topic.fullmatch(topic) for rule in self._rules)

    def takes(self, partition: Partition) -> bool:
        return any(rule.topic.fullmatch(partition.topic) and rule.numbers(partition.number) for rule in self._rules)


def read_rules(text: str) -> PartitionFilter:
    """`orders:0,pay.*:2-5,:7-`: numbers are one, from-to (without the latter), from- or -to."""
    rules = []
    for part in text.split(","):
        match = _RULE.fullmatch(part)
        if match is None:
            raise WrongUsage(f"{part} is no rule for partitions: write TOPIC, TOPIC:3, TOPIC:2-5, TOPIC:5- or :-3")
        topic, number, first, end = match.groups()
        if number:
            numbers = frozenset([int(number)]).__contains__
        else:
            numbers = range(int(first or 0), int(end or _NO_UPPER_BOUND)).__contains__
        rules.append(_Rule(_topic_pattern(topic or ".*"), numbers))
    return PartitionFilter(rules)


def read_topic_and_numbers(topic: str | None, numbers: str | None) -> PartitionFilter:
    """`--topic` is a regular expression, in which a comma is `|`; `--partitions` are numbers, none for all."""
    try:
        wanted = frozenset(int(number) for number in numbers.split(",")) if numbers else None
    except ValueError:
        raise WrongUsage(f"{numbers} are no partitions: write their numbers, such as 0,1,2") from None
    takes = wanted.__contains__ if wanted is not None else (lambda _: True)
    return PartitionFilter([_Rule(_topic_pattern(topic or ".*"), takes)])


def _topic_pattern(text: str) -> re.Pattern[str]:
    """As Kafka's tools read it: files of properties may bring quotes."""
    pattern = text.strip().replace(",", "|").replace(" ", "")
    pattern = re.sub("[\"']+$", "", re.sub("^[\"']+", "", pattern))
    try:
        return re.compile(pattern)
    except re.error as error:
        raise WrongUsage(f"{pattern} is no regular expression ({error})") from None
