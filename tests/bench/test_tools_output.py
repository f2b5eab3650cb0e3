"""What Kafka's tools print, as they printed it (4.3.1), and what is read off it."""

from __future__ import annotations

import pytest

from bench.kafkas_tools import read_consumed, read_end_to_end, read_produced

PRODUCED = """\
Warmup first 100000 records. Steady state results will print after the complete test summary.
17033 records sent, 3299.7 records/sec (0.31 MB/sec), 1416.0 ms avg latency, 2659.0 ms max latency.
In steady state.
300000 records sent, 24501.796798 records/sec (2.34 MB/sec), 3384.60 ms avg latency, 4826.00 ms max latency, \
3372 ms 50th, 4654 ms 95th, 4786 ms 99th, 4825 ms 99.9th.
200000 steady state records sent, 29744.199881 records/sec (2.84 MB/sec), 3358.17 ms avg latency, \
4217.00 ms max latency, 3310 ms 50th, 3978 ms 95th, 4054 ms 99th, 4203 ms 99.9th.
"""
CONSUMED = """\
start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, \
fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec
2026-11-19 02:46:22:626, 2026-11-19 02:46:28:769, 28.6102, 4.6574, 300000, 48836.0736, 3896, 2247, 12.7326, 133511.3485
"""
END_TO_END = """\
0	523.339279
Avg latency: 8.4708 ms
Percentiles: 50th = 3, 99th = 117, 99.9th = 523
"""


def test_rate_after_the_warm_up_is_that_of_the_steady_state() -> None:
    assert read_produced(PRODUCED, 200_000) == 29744.199881


def test_rate_without_a_warm_up_is_that_of_all() -> None:
    assert read_produced(PRODUCED, 300_000) == 24501.796798


def test_a_line_on_the_way_is_no_rate() -> None:
    with pytest.raises(ValueError, match="gave no rate of 17 records"):
        read_produced(PRODUCED, 17)


def test_consumed_counts_without_the_wait_for_partitions() -> None:
    assert read_consumed(CONSUMED, 300_000) == 133511.3485


@pytest.mark.parametrize(("text", "records"), [(CONSUMED, 300_001), ("", 1), ("WARNING: nothing came\n", 1)])
def test_a_consumer_that_did_not_read_all_has_no_rate(text: str, records: int) -> None:
    with pytest.raises(ValueError, match=f"has not read {records} records"):
        read_consumed(text, records)


def test_end_to_end_is_the_average() -> None:
    assert read_end_to_end(END_TO_END) == 8.4708


def test_end_to_end_without_an_average() -> None:
    with pytest.raises(ValueError, match="gave no average"):
        read_end_to_end("Percentiles: 50th = 3\n")
