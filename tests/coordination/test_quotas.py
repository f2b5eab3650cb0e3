"""Rates and token buckets as Kafka measures them, and whose quota counts."""

from __future__ import annotations

import pytest

from barnabas.coordination.cluster.quotas import ClientQuotas, quota_entity
from barnabas.coordination.quotas.clients import QuotaUse, connection_rate, quota_of
from barnabas.coordination.quotas.rate import Rate, TokenBucket

KEY = "producer_byte_rate"


def test_what_is_missing_of_the_windows_counts_as_silence() -> None:
    rate = Rate(11, 1_000)
    rate.record(10_000, 0)
    # Ten full windows are wanted, and none has passed.
    assert rate.measure(0) == pytest.approx(1_000)
    assert rate.measure(500) == pytest.approx(10_000 / 10.5)
    rate.record(1_000, 5_000)
    assert rate.measure(5_000) == pytest.approx(1_100)


def test_what_is_too_old_does_not_count() -> None:
    rate = Rate(3, 1_000)
    rate.record(600, 0)
    assert rate.measure(2_999) == pytest.approx(600 / 2.999)
    assert rate.measure(3_000) == 0
    assert rate.is_idle(6_000)


def test_the_wait_brings_the_rate_down_to_the_limit() -> None:
    rate = Rate(11, 1_000)
    rate.record(15_000, 0)
    assert rate.throttle_ms(2_000, 0) == 0
    # 1,500 a second over ten seconds: at 1,000 it would have taken five more.
    assert rate.throttle_ms(1_000, 0) == 5_000
    assert rate.measure(5_000) == pytest.approx(1_500)


def test_what_was_taken_back_does_not_count() -> None:
    rate = Rate(11, 1_000)
    rate.record(500, 0)
    rate.record(9_000, 10)
    rate.record(-9_000, 10)
    assert rate.measure(10) == pytest.approx(500 / 10.01)


def test_no_more_windows_are_kept_than_count() -> None:
    rate = Rate(3, 100)
    for now_ms in range(0, 10_000, 10):
        rate.record(1, now_ms)
    assert rate.measure(9_990) == pytest.approx(100, rel=0.1)


def test_a_bucket_gives_all_it_has_and_more_and_then_refills() -> None:
    bucket = TokenBucket(2, 11, 1_000)
    now_ms = 1_000_000
    bucket.record(30, now_ms)
    assert bucket.tokens == 22 - 30
    assert bucket.throttle_ms(now_ms) == 4_000
    assert bucket.throttle_ms(now_ms + 3_999) > 0
    assert bucket.throttle_ms(now_ms + 4_000) == 0
    assert bucket.is_idle(now_ms + 15_000)


ALL = {
    "both": (("user", "alice"), ("client-id", "app")),
    "user, any client": (("user", "alice"), ("client-id", None)),
    "user": (("user", "alice"),),
    "any user, client": (("user", None), ("client-id", "app")),
    "any user, any client": (("user", None), ("client-id", None)),
    "any user": (("user", None),),
    "client": (("client-id", "app"),),
    "any client": (("client-id", None),),
}
SCOPES = [("alice", "app")] * 2 + [("alice", "")] + [("alice", "app")] * 2 + [("alice", "")] + [("", "app")] * 2


def quotas(*names: str) -> ClientQuotas:
    every = list(ALL)
    return ClientQuotas({quota_entity(ALL[name]): {KEY: float(every.index(name))} for name in names})


@pytest.mark.parametrize("number", range(len(ALL)))
def test_the_most_specific_counts(number: int) -> None:
    names = list(ALL)
    assert quota_of(quotas(*names[number:]), KEY, "alice", "app") == (SCOPES[number], number)
    assert quota_of(quotas(names[number]), KEY, "alice", "app") == (SCOPES[number], number)


def test_others_are_not_meant() -> None:
    assert quota_of(quotas("both", "user", "client"), KEY, "bob", "other") is None
    assert quota_of(quotas(*ALL), "consumer_byte_rate", "alice", "app") is None
    assert quota_of(quotas(*ALL), KEY, "bob", "other") == (("bob", "other"), 4)


def test_without_a_client_id_there_is_no_quota_of_clients() -> None:
    assert quota_of(quotas("any client", "any user, any client"), KEY, "alice", "") is None
    assert quota_of(quotas("any client", "any user"), KEY, "alice", "") == (("alice", ""), 5)


def test_connections_by_address() -> None:
    set_quotas = ClientQuotas(
        {(("ip", None),): {"connection_creation_rate": 5.0}, (("ip", "1.2.3.4"),): {"connection_creation_rate": 1.0}}
    )
    assert connection_rate(set_quotas, "1.2.3.4") == 1
    assert connection_rate(set_quotas, "5.6.7.8") == 5
    assert connection_rate(ClientQuotas(), "5.6.7.8") is None


def test_who_is_silent_is_forgotten() -> None:
    use = QuotaUse(2, 1_000)
    for number in range(5_000):
        use.rate(KEY, ("", str(number)), number * 100).record(1, number * 100)
    assert len(use) <= 2_000
    assert use.rate(KEY, ("", "4999"), 499_900).measure(499_900) > 0


def test_a_bucket_whose_quota_is_changed_keeps_its_debt() -> None:
    use = QuotaUse(2, 1_000)
    use.bucket("m", ("", "a"), 1, 10_000).record(12, 10_000)
    assert use.bucket("m", ("", "a"), 1, 10_000).throttle_ms(10_000) == 10_000
    assert use.bucket("m", ("", "a"), 5, 10_000).throttle_ms(10_000) == 2_000
