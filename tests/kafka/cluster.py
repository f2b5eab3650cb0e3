"""Apache Kafka as several nodes of one cluster: the first is the controller too, the others are brokers alone."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Self

from tests.kafka.broker import KafkaBroker

__all__ = ["IMPATIENT", "KafkaCluster"]

# A broker that is gone is missed within seconds.
IMPATIENT: Mapping[str, str] = {
    "broker.session.timeout.ms": "6000",
    "broker.heartbeat.interval.ms": "500",
    "replica.lag.time.max.ms": "6000",
}


class KafkaCluster:
    """Nodes by their ids, from 1 on; each in a rack of its own, with one replica of internal topics on all of them."""

    def __init__(
        self, classpath: str, directory: Path, *, nodes: int = 3, config: Mapping[str, str] | None = None
    ) -> None:
        common = {**IMPATIENT, **(config or {})}
        first = KafkaBroker(classpath, directory / "1", config={**common, "broker.rack": "rack-1"})
        self.nodes = {1: first}
        for number in range(2, nodes + 1):
            self.nodes[number] = KafkaBroker(
                classpath,
                directory / str(number),
                config={**common, "broker.rack": f"rack-{number}"},
                node_id=number,
                controllers=f"{first.host}:{first.controller_port}",
                cluster_id=first.cluster_id,
            )

    def __enter__(self) -> Self:
        try:
            self.nodes[1].start()
            rest = [node for number, node in self.nodes.items() if number > 1]
            with ThreadPoolExecutor(len(rest)) as starting:
                for started in [starting.submit(node.start) for node in rest]:
                    started.result()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for number in sorted(self.nodes, reverse=True):
            self.nodes[number].close()

    @property
    def bootstrap(self) -> str:
        """All of them: any may be away."""
        return ",".join(node.bootstrap for node in self.nodes.values())
