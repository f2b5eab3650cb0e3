"""The raw client's reading of answers, and what processes use."""

from __future__ import annotations

import os
import time

from bench.load import answers_in, errors_in
from bench.processes import anonymous_mib, cpu_s, family


def test_answers_are_counted_however_they_are_cut() -> None:
    first, second = b"\0\0\0\2ab", b"\0\0\0\3cde"
    whole = first + second
    assert answers_in(whole) == (2, b"cde", b"")
    for cut in range(len(first)):
        assert answers_in(whole[:cut]) == (0, b"", whole[:cut])
    for cut in range(len(first), len(whole)):
        assert answers_in(whole[:cut]) == (1, b"ab", whole[len(first) : cut])


def test_errors_are_found_however_deep() -> None:
    answer = {"Responses": [{"Parts": [{"ErrorCode": 0}, {"ErrorCode": 3}]}, {"ErrorCode": 6}], "ErrorCode": 0}
    assert errors_in(answer) == [3, 6]
    assert errors_in({"ErrorCode": 0, "Names": ["ErrorCode"], "Data": b"x", "None": None}) == []


def test_processor_time_goes_on_with_work() -> None:
    before = cpu_s(os.getpid())
    until = time.process_time() + 0.02
    while time.process_time() < until:
        pass
    assert 0.015 < cpu_s(os.getpid()) - before < 5


def test_this_process_is_of_its_own_family_and_has_memory() -> None:
    assert family(os.getpid())[0] == os.getpid()
    assert anonymous_mib(os.getpid()) > 1
