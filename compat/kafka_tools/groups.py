"""ConsumerGroupCommand, and the console consumer as a member."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from compat.checks import Stage
from compat.kafka_tools.checking import check_tools
from compat.kafka_tools.records import consume, time_after_all
from compat.kafka_tools.tools import Tools, table


@check_tools("offsets: committed, described, and put elsewhere by offset, by time and from a file")
def goes_on(tools: Tools, stage: Stage) -> None:
    """What it commits, by itself; where it is put, by offset, by time, from a file; and what is left of it."""
    tools.run("TopicCommand", "--create", "--topic", stage.name)
    tools.run("ConsoleProducer", "--topic", stage.name, stdin="a\nb\n")
    between = time_after_all()
    tools.run("ConsoleProducer", "--topic", stage.name, stdin="c\nd\ne\n")
    group = ("--group", stage.name)
    assert consume(tools, stage.name, 2, *group, "--from-beginning") == ["a", "b"]
    assert consume(tools, stage.name, 1, *group) == ["c"]

    def described() -> tuple[str, str, str]:
        (one,) = table(tools.run("ConsumerGroupCommand", "--describe", *group))
        return one["CURRENT-OFFSET"], one["LOG-END-OFFSET"], one["LAG"]

    assert described() == ("3", "5", "2")
    assert stage.name in tools.run("ConsumerGroupCommand", "--list").split()
    listed = {one["GROUP"]: one for one in table(tools.run("ConsumerGroupCommand", "--list", "--state", "--type"))}
    assert (listed[stage.name]["STATE"], listed[stage.name]["TYPE"]) == ("Empty", "Classic")
    state = tools.run("ConsumerGroupCommand", "--describe", *group, "--state")
    assert re.search(rf"^{re.escape(stage.name)} +127\.0\.0\.1:\d+ +\(1\) +- +Empty +0$", state, re.MULTILINE), state
    assert stage.name in tools.run("ConsumerGroupCommand", "--describe", "--all-groups")

    def reset(*where: str, execute: bool = True) -> str:
        how = "--execute" if execute else "--dry-run"
        (one,) = table(tools.run("ConsumerGroupCommand", "--reset-offsets", *group, "--topic", stage.name, *where, how))
        return one["NEW-OFFSET"]

    moment = datetime.fromtimestamp(between / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{between % 1000:03}Z"
    assert reset("--to-latest", execute=False) == "5"
    assert described()[0] == "3", "it was only asked"
    assert reset("--to-datetime", moment) == "2"
    assert consume(tools, stage.name, 3, *group) == ["c", "d", "e"]
    assert [reset("--shift-by", "-4"), reset("--to-earliest"), reset("--to-offset", "3")] == ["1", "0", "3"]
    assert reset("--by-duration", "PT1H") == "0"
    exported = tools.run(
        "ConsumerGroupCommand", "--reset-offsets", *group, "--topic", f"{stage.name}:0", "--to-offset", "4", "--export"
    )
    assert exported.strip() == f'"{stage.name}",0,4'
    plan = stage.directory / "plan.csv"
    plan.write_text(exported)
    tools.run("ConsumerGroupCommand", "--reset-offsets", *group, "--from-file", str(plan), "--execute")
    assert described() == ("4", "5", "1")

    forgotten = tools.run("ConsumerGroupCommand", "--delete-offsets", *group, "--topic", stage.name)
    assert "Successful" in forgotten
    assert consume(tools, stage.name, 5, *group, "--from-beginning") == ["a", "b", "c", "d", "e"]
    assert "successful" in tools.run("ConsumerGroupCommand", "--delete", *group)
    assert stage.name not in tools.run("ConsumerGroupCommand", "--list").split()
