"""Which small files become one: enough of them, and none more often than the logarithm of their number."""

from __future__ import annotations

import math

import pytest

pytest.importorskip("pyspark")

from barnabas.pipeline.merging import choose


@pytest.mark.parametrize(
    ("sizes", "chosen"),
    [
        ([], []),
        ([1, 1, 1], []),
        ([1, 1, 1, 1], [1, 1, 1, 1]),
        ([3, 1, 2, 2], [1, 2, 2, 3]),
        ([4, 1, 1, 1, 1], [1, 1, 1, 1, 4]),  # one that is no larger than the others together goes with them
        ([5, 1, 1, 1, 1], [1, 1, 1, 1]),
        ([9, 1, 1, 1], []),
        ([100, 100, 100, 100, 100], []),  # large enough as they are
        ([99, 99, 99, 99], [99, 99, 99, 99]),
    ],
)
def test_choose(sizes: list[int], chosen: list[int]) -> None:
    files = [(f"{number}", size) for number, size in enumerate(sizes)]
    found = choose(files, least=4, file_bytes=100)
    assert [sizes[int(path)] for path in found] == chosen


@pytest.mark.parametrize("batches", [10, 100, 1000, 5000])
def test_a_record_is_rewritten_seldom_and_files_stay_few(batches: int) -> None:
    files: dict[str, int] = {}
    written = 0
    for number in range(batches):
        files[f"batch {number}"] = 1
        chosen = choose(files.items(), least=16, file_bytes=1 << 40)
        if chosen:
            size = sum(files.pop(path) for path in chosen)
            files[f"merged {number}"] = size
            written += size
    assert sum(files.values()) == batches
    assert written <= batches * math.log2(batches)
    assert len(files) <= 16 + math.log2(batches)
