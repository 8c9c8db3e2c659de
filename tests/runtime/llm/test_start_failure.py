"""The cause of a deployment that does not come up is found in what Ray Serve tells."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serve.llm.start_failure import MAX_CAUSE_CHARS, cause_in

TRACE = """\
The deployment failed to start 3 times in a row. This may be due to a problem with its constructor. Error:
\x1b[36mray::ServeReplica:model-main\x1b[39m (pid=1, ip=127.0.0.1)
  File "x.py", line 1, in load
ValueError: an earlier one
The above exception was the direct cause of the following exception:
  File "y.py", line 2, in start
"""


@pytest.mark.parametrize(
    ("last", "cause"),
    [
        ("TypeError: unexpected keyword 'nonsense'", "TypeError: unexpected keyword 'nonsense'"),
        ("\x1b[31mray.exceptions.RayTaskError: no\x1b[39m", "RayTaskError: no"),
        (
            "pydantic_core.ValidationError: 1 validation error for ModelConfig\n  Value error, Invalid\n",
            "ValidationError: 1 validation error for ModelConfig Value error, Invalid",
        ),
        (
            "",
            "ValueError: an earlier one The above exception was the direct cause of the following exception: "
            'File "y.py", line 2, in start',
        ),
    ],
)
def test_the_last_error_is_told_with_all_its_lines(last: str, cause: str) -> None:
    assert cause_in(["", TRACE + last]) == cause


@pytest.mark.parametrize(
    ("messages", "cause"),
    [
        ([], "nothing is told"),
        ([""], "nothing is told"),
        (["one\ntwo"], "two"),
        (["one", "KeyError: x"], "KeyError: x"),
    ],
)
def test_without_an_error_the_last_line_is_told(messages: list[str], cause: str) -> None:
    assert cause_in(messages) == cause


@given(st.lists(st.text(max_size=900), max_size=3))
def test_a_cause_is_one_short_line(messages: list[str]) -> None:
    cause = cause_in(messages)
    assert len(cause) <= MAX_CAUSE_CHARS
    assert len(cause.splitlines()) <= 1
