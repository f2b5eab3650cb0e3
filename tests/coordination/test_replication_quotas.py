"""The rates at which replicas that are moved may be copied, and which replicas count."""

from __future__ import annotations

import pytest

from barnabas.coordination.quotas.rate import SimpleRate
from barnabas.coordination.quotas.replication import ReplicationQuota, is_named


def test_what_comes_at_once_counts_at_once_and_over_a_window_at_least() -> None:
    rate = SimpleRate(11, 1_000)
    rate.record(5_000, 100)
    assert rate.measure(100) == 5_000
    assert rate.measure(1_100) == 5_000
    assert rate.measure(2_100) == 2_500


def test_only_what_is_throttled_is_ever_above_the_rate() -> None:
    quota = ReplicationQuota(1_000, 11, 1_000)
    quota.throttle("orders", 3, True)
    assert quota.is_throttled("orders", 3)
    assert not quota.is_throttled("orders", 4)
    quota.record(1_000, 0)
    assert not quota.is_exceeded(0)
    quota.record(1, 0)
    assert quota.is_exceeded(0)
    assert not quota.is_exceeded(1_100)
    quota.record(5_000, 1_100)
    assert quota.is_exceeded(1_100)
    quota.throttle("orders", 3, False)
    assert not quota.is_throttled("orders", 3)
    assert not quota.is_exceeded(1_100)


def test_the_rate_may_change_meanwhile() -> None:
    quota = ReplicationQuota(2**63 - 1, 11, 1_000)
    quota.throttle("orders", 0, True)
    quota.record(10**9, 0)
    assert not quota.is_exceeded(0)
    quota.bytes_per_second = 0
    assert quota.is_exceeded(0)


@pytest.mark.parametrize(
    ("replicas", "named"),
    [((), False), (("*",), True), (("0:1", "1:2"), True), (("0:2", "2:1"), False), (("1:12", "11:2"), False)],
)
def test_who_is_named(replicas: tuple[str, ...], named: bool) -> None:
    assert is_named(replicas, 1, 2) is named
