"""Requests of every API and version made of anything: each is answered, or waits, in a form that its version can say,
and leaves the groups whole."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from barnabas.coordination.groups import GroupConfig, GroupRecord
from barnabas.coordination.groups.classic_group import ClassicGroup
from barnabas.protocol.apis import APIS
from barnabas.protocol.codec import decode, encode
from barnabas.protocol.log_records import CONSUMER_OFFSETS
from tests.coordination.asking import parse_request
from tests.coordination.checks import check_durable, check_group, names_of_waiting
from tests.coordination.coordinator import Coordinator

_MEMBERS = ["", "anna-1", "anna-2", "bert-1", "one-1", "one-2", "two-1", "nobody"]
_INSTANCES = ["", "one", "two", "three"]


def word(name: str, values: list[str]) -> st.SearchStrategy[str]:
    """`name=value`, or nothing."""
    return st.sampled_from([*(f'"{name}={value}"' for value in values), ""])


def request(api: int, first: int, last: int, *words: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    versions = st.integers(first, last).map(lambda version: f"{APIS[api].name}.{version}")
    return st.tuples(versions, *words).map(" ".join)


group = word("group", ["a", "a", "a", "b", "ä🂡"])
member = word("member", _MEMBERS)
instance = word("instance", _INSTANCES)
generation = word("generation", ["-1", "0", "1", "2", "3"])
offsets = word("offsets", ["orders-0:1,orders-1:-1:note:3", "nothing-0:1", "orders--1:5,payments-0:7", ""])
timeouts = word("session", ["99", "1000", "6000"]), word("rebalance", ["-1", "0", "500", "2147483647"])
protocols = word("protocols", ["range", "range,sticky", "sticky:,range:x", "", "own", "range,range"])
protocol = word("type", ["consumer", "connect", ""]), word("protocol", ["range", "sticky"])
assign = word("assign", ["anna-1:a,bert-1:b", "nobody:x", ""])

requests = st.one_of(
    request(11, 0, 4, group, member, *timeouts, protocols, word("type", ["connect", ""])),
    request(11, 5, 9, group, member, instance, *timeouts, protocols, word("topics", ["orders", "payments"])),
    request(11, 5, 9, group, instance, protocols),
    request(14, 3, 5, group, member, instance, generation, *protocol, assign),
    request(14, 3, 5, group, member, generation, assign, st.just("type=consumer protocol=range")),
    request(12, 3, 4, group, member, instance, generation),
    request(13, 0, 2, group, member),
    request(13, 3, 5, group, word("members", ["anna-1", "bert-1,anna-2/one", "/one,/two", ",", ""])),
    request(8, 2, 10, group, member, generation, offsets, word("retention", ["-1", "-5", "100"])),
    request(28, 3, 5, group, member, instance, generation, offsets),
    request(9, 2, 7, group, offsets, word("all", ["yes"])),
    request(9, 8, 10, word("group", ["a,b,nobody"]), offsets, word("all", ["yes"]), word("stable", ["yes"])),
    request(47, 0, 0, group, offsets),
    request(15, 0, 6, word("groups", ["a,b", "nobody", ""])),
    request(16, 5, 5, word("states", ["stable,EMPTY"]), word("types", ["classic", "share", "?"])),
    request(42, 0, 2, word("groups", ["a,b,a", "nobody"])),
)
steps = st.one_of(
    requests,
    requests,
    requests,
    st.sampled_from(["+1", "+500", "+1000", "+60000", "restart", "commit", "abort"]),
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.tuples(st.sampled_from(["anna", "bert"]), steps), min_size=20, max_size=60),
    st.sampled_from([0, 3000]),
    st.sampled_from([2, 1000]),
)
def test_any_request_has_an_answer(asked: list[tuple[str, str]], delay_ms: int, max_size: int) -> None:
    config = GroupConfig(
        min_session_timeout_ms=100, initial_rebalance_delay_ms=delay_ms, max_size=max_size, offsets_retention_ms=20_000
    )
    coordinator = Coordinator(config)
    for who, step in asked:
        coordinator.released.clear()
        if step.startswith("+"):
            coordinator.advance(int(step))
        elif step == "restart":
            coordinator.take_over()
        elif step in ("commit", "abort"):
            coordinator.end_transaction(1, committed=step == "commit")
        else:
            message, version = parse_request(step, coordinator.topics.id_of)
            received = decode(type(message), version, encode(message, version))
            answer, waits_as = coordinator.ask(received, version, client_id=who)
            assert (answer is None) == (waits_as is not None)
        for each in coordinator.shard.groups.values():
            assert isinstance(each, ClassicGroup)
            check_group(each, coordinator.shard)
        assert set(coordinator.waiting) == set(names_of_waiting(coordinator.shard))
    check_durable(coordinator)
    for entry, _ in coordinator.log:
        if isinstance(entry, GroupRecord):
            key = CONSUMER_OFFSETS.decode_key(entry.key_bytes())
            value = entry.value_bytes()
            assert key == entry.key
            assert value is None or CONSUMER_OFFSETS.decode_value(key, value)[1] == entry.version
