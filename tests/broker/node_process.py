"""A node in a process of its own, to be killed: `python -m tests.broker.node_process KEY=VALUE...` prints its port."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

import trio

from barnabas.broker.configuration.node_config import NodeConfig
from barnabas.broker.node import Node

REPOSITORY = Path(__file__).parents[2]
LONGEST_S = 60


class NodeProcess:
    def __init__(self, directory: Path, **settings: str) -> None:
        """Settings are Kafka's keys, with underscores for dots."""
        given = {"log_dirs": str(directory), "listeners": "PLAINTEXT://127.0.0.1:0", **settings}
        command = [sys.executable, "-m", "tests.broker.node_process"]
        command += [f"{name.replace('_', '.')}={value}" for name, value in given.items()]
        self.process = subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("port "):
                self.port = int(line.split()[1])
                return
        raise AssertionError(f"the node ended with {self.process.wait()}")

    def kill(self) -> None:
        self.process.kill()
        self.wait()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.wait()

    def wait(self) -> int:
        assert self.process.stdout is not None
        self.process.stdout.read()
        self.process.stdout.close()
        return self.process.wait(LONGEST_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.kill()


async def main(settings: dict[str, str]) -> None:
    node = Node(NodeConfig.load({}, settings))
    async with trio.open_nursery() as nursery:
        with trio.open_signal_receiver(signal.SIGTERM) as signals:
            await nursery.start(node.run)
            print("port", node.addresses[0][1], flush=True)
            async for _ in signals:
                node.stop()
                break


if __name__ == "__main__":
    trio.run(main, dict(argument.split("=", 1) for argument in sys.argv[1:]))
