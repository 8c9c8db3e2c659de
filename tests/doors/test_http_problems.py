"""Which HTTP status an error of ours becomes."""

from __future__ import annotations

import json

import pytest

from runtime.errors import (
    ClusterError,
    InterruptError,
    JeevesError,
    QuestionError,
    RateLimitedError,
    RunStateError,
    UnknownNameError,
)
from serve.http.documents.problems import problem_of


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (RateLimitedError("too often", user_id="u", retry_after_s=7), 429),
        (UnknownNameError("no such pipeline", name="p", known=[]), 404),
        (InterruptError("answered already"), 409),
        (RunStateError("over"), 409),
        (QuestionError("empty"), 422),
        (ClusterError("gone"), 503),
    ],
)
def test_the_callers_faults_are_four_hundreds_and_ours_are_five_hundreds(error: JeevesError, status: int) -> None:
    answer = problem_of(error)
    assert answer.status_code == status
    assert json.loads(bytes(answer.body))["code"] == error.code


def test_who_asks_too_often_is_told_when_to_come_back() -> None:
    answer = problem_of(RateLimitedError("too often", user_id="u", retry_after_s=7))
    assert answer.headers["Retry-After"] == "7"
