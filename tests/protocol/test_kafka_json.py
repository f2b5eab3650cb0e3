"""JSON as Java prints it; that the values are Kafka's, test_messages_against_kafka.py asks Kafka."""

from __future__ import annotations

import pytest

from barnabas.protocol.kafka_json import compact, java_double


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1024.0, "1024.0"),
        (0.001, "0.001"),
        (9999999.5, "9999999.5"),
        (1e7, "1.0E7"),
        (12345678.9, "1.23456789E7"),
        (-1e10, "-1.0E10"),
        (1.5e-5, "1.5E-5"),
        (0.000123, "1.23E-4"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (float("nan"), '"NaN"'),
        (float("-inf"), '"-Infinity"'),
    ],
)
def test_numbers_are_those_of_java(value: float, text: str) -> None:
    assert java_double(value) == text


def test_values_stand_close_together() -> None:
    said = {"a": [1, True, None, 1e7], "ü": {"line": 'x\n"\x1f'}}
    assert compact(said) == '{"a":[1,true,null,1.0E7],"ü":{"line":"x\\n\\"\\u001F"}}'
