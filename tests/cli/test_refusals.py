"""Each error that a broker can answer is a sentence, with the next step where there is one."""

from __future__ import annotations

import pytest

from barnabas.cli.refusals import sentence_of
from barnabas.protocol.errors import ErrorCode, KafkaError


@pytest.mark.parametrize("code", ErrorCode)
def test_each_error_is_a_sentence(code: ErrorCode) -> None:
    sentence = sentence_of(KafkaError(code, ""))
    assert sentence is not None
    assert sentence[0].isupper()
    assert sentence.endswith(f" [{code.name}].")


def test_what_passes_by_itself_may_be_tried_again() -> None:
    assert sentence_of(KafkaError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND, "")) == (
        "The broker answers fetch session id not found; try again in a moment [FETCH_SESSION_ID_NOT_FOUND]."
    )
    assert sentence_of(KafkaError(ErrorCode.INVALID_PARTITIONS, "3 are there")) == "3 are there [INVALID_PARTITIONS]."
