"""ConfigCommand."""

from __future__ import annotations

import re
from functools import partial

from compat.checks import Stage
from compat.kafka_tools.checking import check_tools
from compat.kafka_tools.tools import Tools
from tests.clients.waiting import wait_until

ENTITIES = {
    "topic": ("retention.ms=3600000,cleanup.policy=[compact,delete]", "cleanup.policy=compact,delete "),
    "broker": ("max.connections=99999", "max.connections=99999 "),
    "broker-defaults": ("max.connection.creation.rate=9999", "max.connection.creation.rate=9999 "),
    "group": ("consumer.session.timeout.ms=50000", "consumer.session.timeout.ms=50000 "),
    "client-metrics": ("interval.ms=1000,match=[client_id=nobody]", "match=client_id=nobody "),
    "client": ("producer_byte_rate=1048576", "producer_byte_rate=1048576.0"),
    "user": ("request_percentage=900", "request_percentage=900.0"),
    "ip": ("connection_creation_rate=4000", "connection_creation_rate=4000.0"),
}
NAMES = {"broker": "1", "ip": "192.0.2.7"}


def set_and_gone(tools: Tools, stage: Stage, *, kind: str) -> None:
    """Set, shown, set from a file, and gone again."""
    setting, shown = ENTITIES[kind]
    if kind == "topic":
        tools.run("TopicCommand", "--create", "--topic", stage.name)
    entity = (f"--{kind}",) if kind.endswith("defaults") else (f"--{kind}", NAMES.get(kind, stage.name))
    assert "Completed updating" in tools.run("ConfigCommand", "--alter", *entity, "--add-config", setting)

    def described() -> str:
        return tools.run("ConfigCommand", "--describe", *entity)

    # A change is shown a moment after it is made.
    wait_until(lambda: shown in described(), lambda: f"{shown!r} in {described()!r}", 10)
    keys = re.findall(r"[a-z_.]+(?==)", re.sub(r"\[.*?\]", "", setting))
    for key in keys:
        tools.run("ConfigCommand", "--alter", *entity, "--delete-config", key)
    wait_until(lambda: not any(f"{key}=" in described() for key in keys), lambda: f"no {keys} in {described()!r}", 10)

    file = stage.directory / "more.properties"
    file.write_text("".join(f"{each}\n" for each in re.findall(r"[a-z_.]+=(?!\[)[^,]+", setting.split(",match")[0])))
    tools.run("ConfigCommand", "--alter", *entity, "--add-config-file", str(file))
    first = file.read_text().splitlines()[0]
    wait_until(lambda: first in described(), lambda: f"{first!r} in {described()!r}", 10)
    for line in file.read_text().splitlines():
        tools.run("ConfigCommand", "--alter", *entity, "--delete-config", line.partition("=")[0])


for each in ENTITIES:
    check_tools(f"configs: of {each}, set, shown, from a file, and gone", quick=each == "topic")(
        partial(set_and_gone, kind=each)
    )


@check_tools("configs: with their defaults, and of a user together with a client")
def all_configs(tools: Tools, stage: Stage) -> None:
    """With what they would be otherwise, and of a user together with a client."""
    tools.run("TopicCommand", "--create", "--topic", stage.name)
    topic = tools.run("ConfigCommand", "--describe", "--entity-type", "topics", "--entity-name", stage.name, "--all")
    assert "max.message.bytes=1048588 " in topic
    broker = tools.run("ConfigCommand", "--describe", "--entity-type", "brokers", "--entity-name", "1", "--all")
    assert "group.initial.rebalance.delay.ms=0 " in broker
    both = (
        "--entity-type",
        "users",
        "--entity-name",
        stage.name,
        "--entity-type",
        "clients",
        "--entity-name",
        stage.name,
    )
    tools.run("ConfigCommand", "--alter", *both, "--add-config", "consumer_byte_rate=2048")
    quota = tools.run("ConfigCommand", "--describe", *both)
    assert (
        quota
        == f"Quota configs for user-principal '{stage.name}', client-id '{stage.name}' are consumer_byte_rate=2048.0\n"
    )
    tools.run("ConfigCommand", "--alter", *both, "--delete-config", "consumer_byte_rate")
