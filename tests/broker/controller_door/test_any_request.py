"""Whatever comes to the controller's door: it is answered or the connection ends, nothing fails within, and what was
written down can be read again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.controller_apis import MODULES
from barnabas.broker.metadata_log import METADATA_TOPIC_ID
from barnabas.protocol.apis import APIS
from barnabas.protocol.schema import Field, Message, Struct, Uuid
from tests.broker.asking import create
from tests.broker.controller_door.broker_requests import FakeBroker, directory_of
from tests.broker.controller_door.door import METADATA, ControllerNode
from tests.kafka.broker import HOST
from tests.kafka.client import RawClient
from tests.protocol.generated import examples, messages

VERSIONS = [(key, version) for key in sorted(MODULES) for version in range(APIS[key].first, APIS[key].last_stable + 1)]
KNOWN_TOPIC = Uuid([77] * 16)


class Target:
    def __init__(self, node: ControllerNode) -> None:
        self.node = node
        self.client = node.controller()
        cluster_id = node.do(lambda running: running.cluster_id)
        create(self.client, "orders", 3)
        self.topic_id = node.do(lambda running: running.image.topics.by_name["orders"].id)
        self.brokers = [FakeBroker(self.client, cluster_id, number).in_service() for number in (2, 3)]
        few = st.integers(-1, 3)
        epochs = st.sampled_from([-1, 0, 1, *(broker.epoch for broker in self.brokers)])
        names = st.sampled_from(["orders", "others", "", METADATA])
        directories = st.sampled_from([directory_of(2), directory_of(9), Uuid.ZERO])
        self._wishes: dict[str, st.SearchStrategy[Any]] = {
            "allow_replication_factor_change": st.booleans(),
            "broker_epoch": epochs,
            "broker_id": few,
            "cordoned_log_dirs": directories,
            "cluster_id": st.sampled_from([cluster_id, "another"]),
            "current_leader_epoch": few,
            "fetch_offset": st.integers(-1, 60),
            "last_fetched_epoch": few,
            "leader_epoch": few,
            "log_dirs": directories,
            "max_wait_ms": st.integers(-1, 1),
            "name": names,
            "offline_log_dirs": directories,
            "partition": few,
            "partition_epoch": few,
            "partition_index": few,
            "replica_id": few,
            "request_data": st.binary(max_size=40),
            "resource_name": names,
            "resource_type": st.sampled_from([0, 2, 4, 8, 16, 32]),
            "timeout_ms": st.integers(-1, 1_000),
            "topic_id": st.sampled_from([self.topic_id, METADATA_TOPIC_ID, KNOWN_TOPIC]),
            "topic_name": names,
            "voter_id": few,
        }

    def wish(self, _kind: type[Struct], field: Field) -> st.SearchStrategy[Any] | None:
        return self._wishes.get(field.name)

    def send(self, request: Message, version: int) -> None:
        api = APIS[request.__definition__.key]
        try:
            self.client.ask(request, version, api.response)
        except ConnectionError:
            self.client.__exit__(None, None, None)
            self.client = RawClient(HOST, self.node.controller_port)


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    node = ControllerNode(tmp_path_factory.mktemp("any") / "data")
    with node:
        made = Target(node)
        yield made
        made.client.__exit__(None, None, None)
        image = node.do(lambda running: running.image)
        node.stop()
        with node.start():
            again = node.do(lambda running: running.image)
            assert again.topics == image.topics
            assert again.configs == image.configs


@pytest.mark.slow
@pytest.mark.parametrize(("key", "version"), VERSIONS)
def test_nothing_fails_within(target: Target, key: int, version: int) -> None:
    @examples(few=40, many=2_000)
    @given(messages(APIS[key].request, version, target.wish))
    def ask(request: Message) -> None:
        before = len(target.node.lines)
        target.send(request, version)
        failures = [line for line in target.node.lines[before:] if "Traceback" in line]
        assert not failures, failures[0]

    ask()
