"""DeleteTopics: by name, from version 6 on by id as well."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from compat.twin.scenario import scenario
from compat.twin.scenarios.create_topics import AMPLE_MS, see, wish
from compat.twin.twins import Twins

IDS_FROM = 6
NOBODYS_ID = UUID("77777777-7777-7777-7777-777777777777")


def delete(twins: Twins, *names: str, time_ms: int = AMPLE_MS) -> None:
    twins.ask("DeleteTopics", TopicNames=names, Topics=[{"Name": name} for name in names], TimeoutMs=time_ms)


def by_id(twins: Twins, *topics: dict[str, Any], time_ms: int = AMPLE_MS) -> None:
    twins.ask("DeleteTopics", Topics=[{"Name": None, **each} for each in topics], TimeoutMs=time_ms)


@scenario("DeleteTopics")
def deletes_topics(twins: Twins) -> None:
    one, other, kept = twins.create("one"), twins.create("other", partitions=3), twins.create("kept")
    delete(twins, one, other)
    see(twins, one, other, kept)
    delete(twins, one)


@scenario("DeleteTopics")
def deletes_what_there_is(twins: Twins) -> None:
    there = twins.create("there")
    delete(twins, twins.name("nowhere"), there, "no good name!", "", "x" * 250)
    see(twins, there)


@scenario("DeleteTopics")
def deletes_none_that_stands_twice(twins: Twins) -> None:
    twice, once, nowhere = twins.create("twice"), twins.create("once"), twins.name("nowhere")
    delete(twins, twice, once, twice, nowhere, nowhere)
    see(twins, twice, once)


@scenario("DeleteTopics")
def deletes_what_comes_again(twins: Twins) -> None:
    name = twins.create("again", retention_ms="1000")
    delete(twins, name)
    twins.ask("CreateTopics", Topics=[wish(name, 2)], TimeoutMs=AMPLE_MS)
    see(twins, name)


@scenario("DeleteTopics")
def needs_time(twins: Twins) -> None:
    name = twins.create("time")
    for time_ms in (0, -1):
        delete(twins, name, twins.name("nowhere"), time_ms=time_ms)
        delete(twins, name, name, time_ms=time_ms)
        delete(twins, time_ms=time_ms)
    see(twins, name)


@scenario("DeleteTopics")
def deletes_nothing(twins: Twins) -> None:
    delete(twins)


@scenario("DeleteTopics", first=IDS_FROM)
def deletes_by_id(twins: Twins) -> None:
    one, other = twins.create("one"), twins.create("other")
    by_id(twins, {"TopicId": twins.topic_id(one)}, {"TopicId": NOBODYS_ID}, {"Name": other})
    see(twins, one, other)


@scenario("DeleteTopics", first=IDS_FROM)
def refuses_both_name_and_id_and_neither(twins: Twins) -> None:
    name = twins.create("both")
    topic_id = twins.topic_id(name)
    by_id(twins, {"Name": name, "TopicId": topic_id}, {"Name": name})
    by_id(twins, {"Name": name, "TopicId": NOBODYS_ID})
    by_id(twins, {})
    by_id(twins, {}, {"Name": ""})
    see(twins, name)


@scenario("DeleteTopics", first=IDS_FROM)
def refuses_what_is_named_twice_in_two_ways(twins: Twins) -> None:
    name, other = twins.create("twice"), twins.create("other")
    topic_id = twins.topic_id(name)
    by_id(twins, {"TopicId": topic_id}, {"Name": name}, {"TopicId": twins.topic_id(other)})
    by_id(twins, {"TopicId": topic_id}, {"TopicId": topic_id}, {"TopicId": NOBODYS_ID}, {"TopicId": NOBODYS_ID})
    by_id(twins, {"Name": name, "TopicId": topic_id}, time_ms=0)
    see(twins, name, other)


@scenario("DeleteTopics")
def a_topic_that_comes_again_has_another_id(twins: Twins) -> None:
    name = twins.create("id")
    twins.ask("Metadata", Topics=[{"Name": name}], AllowAutoTopicCreation=False)
    delete(twins, name)
    twins.ask("CreateTopics", Topics=[wish(name)], TimeoutMs=AMPLE_MS)
    see(twins, name)
