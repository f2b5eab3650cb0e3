"""Rows, tables and the document, from values that need no broker."""

from __future__ import annotations

import pytest

from bench.document import BEGIN, END, Circumstances, between_markers, markdown, summary
from bench.family import Family, Value, started
from bench.report import Measured, growth_table, mean_of, named_below, row_text, table

NAMES = ("Barnabas", "Apache Kafka")
RUN = Circumstances("python -m bench", "a machine", "versions", (0.5, 1.5), 2, NAMES, "page cache")


def measured(*values: tuple[Value, list[float], list[float]], name: str = "a.family") -> Measured:
    result = Measured(Family(name, "What it measures.", lambda side, plan: iter(()), started, None))
    for value, ours, theirs in values:
        for numbers, is_ours in ((ours, True), (theirs, False)):
            for number in numbers:
                result.note(Value(value.what, number, value.unit, value.more_is_better, value.scale), is_ours=is_ours)
    return result


def more(what: str) -> Value:
    return Value(what, 1, "records/s")


def less(what: str, scale: int | None = None) -> Value:
    return Value(what, 1, "ms", more_is_better=False, scale=scale)


def test_better_is_above_one_whichever_direction_it_is() -> None:
    cells = measured((more("rate"), [300, 100], [100, 100]), (less("time"), [50, 50], [100, 200])).cells
    assert [row.ratio for row in cells] == [2.0, 3.0]


def test_a_row_has_medians_and_half_their_spread() -> None:
    (row,) = measured((more("rate"), [1000, 3000], [500, 500])).cells
    assert row_text(row) == "| rate | 2,000 ±50% | 500 ±0% | records/s | 4.00 |"


def test_one_round_has_no_spread_and_small_figures_keep_their_digits() -> None:
    (row,) = measured((less("time"), [0.1234], [12.345])).cells
    assert row_text(row) == "| time | 0.123 | 12.3 | ms | 100.04 |"


def test_what_only_one_side_has_is_no_cell() -> None:
    assert measured((more("rate"), [1], [])).cells == []


def test_points_of_a_curve_are_no_cells_and_have_an_exponent() -> None:
    points = [(less("start", scale), [float(scale)], [7.0]) for scale in (10, 100, 1000)]
    family = measured(*points)
    assert family.cells == []
    line = growth_table([family], NAMES).splitlines()[-1]
    assert line == "| start | 10, 100, 1,000 | 10.0, 100, 1,000 | 7.00, 7.00, 7.00 | ms | 1.00 | 0.00 |"


def test_curves_whose_points_come_in_turns_are_told_apart() -> None:
    both = [[(less(what, scale), [1.0], [2.0]) for what in ("made", "idle")] for scale in (10, 100)]
    assert [(what, len(rows)) for what, rows in measured(*both[0], *both[1]).curves] == [("made", 2), ("idle", 2)]


def test_the_mean_is_geometric_and_the_worst_is_named_first() -> None:
    both = [measured((more("a"), [4], [1])), measured((more("b"), [1], [4]), (less("c"), [2], [1]), name="other")]
    assert mean_of(both) == pytest.approx((4 * 0.25 * 0.5) ** (1 / 3))
    assert named_below(both) == ["other, b: 0.25", "other, c: 0.50"]
    assert "Below 1 are 2:\n\n- other, b: 0.25\n- other, c: 0.50" in summary(both)
    assert summary([measured((more("a"), [4], [1]))]) == "Geometric mean over 1 cells: **4.00**. No cell is below 1."


def test_the_document_says_where_and_how() -> None:
    family = measured((more("rate"), [2, 2], [1, 1]))
    family.commands.append("kafka-producer-perf-test.sh --topic t")
    text = markdown([family], RUN)
    for said in ("`python -m bench`", "a machine", "versions", "2 rounds", "load 0.5", "Durability: page cache"):
        assert said in text
    assert "### a.family\n\nWhat it measures." in text
    assert table(family, NAMES) in text
    assert "kafka-producer-perf-test.sh --topic t" in text
    assert "How cost grows" not in text


def test_only_what_is_between_the_markers_is_written_anew() -> None:
    text = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    once = between_markers(text, "new")
    assert once == f"before\n{BEGIN}\n\nnew\n\n{END}\nafter\n"
    assert between_markers(once, "new") == once


@pytest.mark.parametrize("text", ["", BEGIN, END, f"{END} {BEGIN}"])
def test_a_document_without_both_markers_is_left_alone(text: str) -> None:
    with pytest.raises(ValueError, match="markers"):
        between_markers(text, "new")


@pytest.mark.parametrize("number", [0.0, -1.0, float("nan"), float("inf")])
def test_a_value_that_is_none_is_an_error_of_the_benchmark(number: float) -> None:
    with pytest.raises(ValueError, match="is no figure"):
        Value("rate", number, "records/s")
