"""What a start does not wait for: whatever serves somebody who is not there yet is loaded when he comes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_PROGRAM = """
import sys
import trio
import barnabas.cli.start
from barnabas.broker.configuration.node_config import NodeConfig
from barnabas.broker.node import Node

async def main():
    config = NodeConfig.load({}, {"log.dirs": sys.argv[1], "listeners": "PLAINTEXT://127.0.0.1:0"})
    async with trio.open_nursery() as nursery:
        node = await nursery.start(Node(config, report=lambda event: None).run)
        print(*(name for name in sys.modules if name.startswith("barnabas.")))
        node.stop()

trio.run(main)
"""


def test_a_start_loads_nothing_for_groups_and_no_api_but_the_first(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _PROGRAM, str(tmp_path / "data")]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert "barnabas.broker.node" in loaded
    apis = {name for name in loaded if name.startswith("barnabas.broker.apis.")}
    assert apis == {"barnabas.broker.apis.api_versions"}
    assert not [name for name in loaded if name.startswith("barnabas.coordination.groups")]
    assert not [name for name in loaded if "group" in name and name.startswith("barnabas.protocol.")]
