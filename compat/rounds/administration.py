"""Topics, their configurations, and what is told of brokers and groups."""

from __future__ import annotations

from compat.checks import Stage, check, equal
from compat.rounds.adapter import Committed, take
from compat.rounds.round import Round
from tests.clients.waiting import wait_until


@check("connect: the brokers of the cluster")
def brokers(round_: Round, stage: Stage) -> None:
    equal(round_.admin(stage).brokers(), {stage.bootstrap})


@check("topics: created, listed, described and deleted")
def topics(round_: Round, stage: Stage) -> None:
    admin = round_.admin(stage)
    assert stage.name not in admin.topics(), "it is there already"
    admin.create_topic(stage.name, 2, {"retention.ms": "86400000"})
    wait_until(lambda: stage.name in admin.topics(), "the topic to come")
    wait_until(lambda: admin.partitions(stage.name) == 2, "the partitions to be known")
    admin.delete_topic(stage.name)
    wait_until(lambda: stage.name not in admin.topics(), "the topic to go")


@check("topics: partitions are added, and take records")
def partitions_are_added(round_: Round, stage: Stage) -> None:
    admin = round_.created(stage)
    admin.add_partitions(stage.name, 3)
    wait_until(lambda: admin.partitions(stage.name) == 3, "the partitions to be known")
    producer = round_.producer(stage)
    for number in range(3):
        producer.send(stage.name, b"%d" % number, partition=number)
    equal(producer.flush(), [(0, 0), (1, 0), (2, 0)])


@check("configs: of a topic, given, described and altered")
def configs(round_: Round, stage: Stage) -> None:
    admin = round_.admin(stage)
    admin.create_topic(stage.name, 1, {"retention.ms": "86400000"})
    wait_until(lambda: stage.name in admin.topics(), "the topic to come")
    found = admin.config(stage.name)
    equal(
        (found["retention.ms"], found["cleanup.policy"], found["max.message.bytes"]),
        ("86400000", "delete", "1048588"),
    )
    admin.set_config(stage.name, "retention.ms", "3600000")
    wait_until(lambda: admin.config(stage.name)["retention.ms"] == "3600000", "the setting to be known")


@check("groups: listed and described, with a member and without")
def groups(round_: Round, stage: Stage) -> None:
    admin = round_.created(stage)
    round_.send(stage, 10)
    member = round_.client.consume(round_.settings(stage, group=stage.name))
    member.subscribe()
    take(member, 10)
    member.commit()
    assert stage.name in admin.groups(), "the group is not listed"
    equal(admin.group_state(stage.name), ("stable", 1))
    equal(admin.group_offsets(stage.name)[0], Committed(10))
    member.close()
    equal(admin.group_state(stage.name), ("empty", 0))
