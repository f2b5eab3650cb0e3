"""TopicCommand, and AclCommand where there is no authorizer."""

from __future__ import annotations

import re

from compat.checks import Stage
from compat.kafka_tools.checking import check_tools
from compat.kafka_tools.tools import Tools


@check_tools("topics: created, listed, described by name and id, given partitions, deleted")
def topics(tools: Tools, stage: Stage) -> None:
    create = ("--create", "--topic", stage.name, "--partitions", "2", "--replication-factor", "1")
    created = tools.run("TopicCommand", *create, "--config", "retention.ms=86400000")
    assert created == f"Created topic {stage.name}.\n"
    code, out, err = tools.attempt("TopicCommand", *create)
    assert code == 1
    assert f"Topic '{stage.name}' already exists." in out + err
    assert tools.run("TopicCommand", *create, "--if-not-exists") == ""
    assert stage.name in tools.run("TopicCommand", "--list", "--exclude-internal").split()

    tools.run("TopicCommand", "--alter", "--topic", stage.name, "--partitions", "3")
    one = ("--describe", "--topic", stage.name)
    described = tools.run("TopicCommand", *one)
    assert re.search(r"PartitionCount: 3\s+ReplicationFactor: 1\s+Configs: .*retention\.ms=86400000", described)
    assert re.findall(r"Partition: (\d)\s+Leader: 1\s+Replicas: 1\s+Isr: 1\b", described) == ["0", "1", "2"]
    assert tools.run("TopicCommand", *one, "--partition-size-limit-per-response", "1") == described
    topic_id = re.findall(r"TopicId: (\S+)", described)[0]
    by_id = tools.run("TopicCommand", "--describe", "--topic-id", topic_id)
    assert by_id.replace("Elr: N/A", "Elr: ") == described  # asked by id, clients do not hear of those
    assert f"Topic: {stage.name}\t" in tools.run("TopicCommand", "--describe", "--topics-with-overrides")
    for unhealthy in ("under-replicated", "unavailable", "under-min-isr"):
        assert tools.run("TopicCommand", *one, f"--{unhealthy}-partitions") == ""

    assigned = ("--topic", f"{stage.name}-assigned", "--replica-assignment", "1,1")
    tools.run("TopicCommand", "--create", *assigned)
    assert "PartitionCount: 2" in tools.run("TopicCommand", "--describe", "--topic", f"{stage.name}-assigned")
    tools.run("TopicCommand", "--delete", "--topic", f"{stage.name}.*")
    assert not {stage.name, f"{stage.name}-assigned"} & set(tools.run("TopicCommand", "--list").split())
    assert tools.run("TopicCommand", "--delete", "--topic", stage.name, "--if-exists") == ""


@check_tools("connect: that there is no authorizer is said")
def acls(tools: Tools, stage: Stage) -> None:
    """It is said, and the tool ends: nothing hangs, and nothing is taken for done."""
    added = ("--add", "--allow-principal", "User:clara", "--operation", "Read", "--topic", stage.name)
    for arguments in (("--list",), added, ("--remove", "--force", *added[1:])):
        code, out, err = tools.attempt("AclCommand", *arguments)
        assert code == 1
        assert "SecurityDisabledException: No Authorizer is configured" in out + err
