"""The answer of a run: which output it is, and what is made of keys that are not as they should be."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.agents.answer import Answer, answer_in
from runtime.primitives.ids import RunId
from runtime.run.envelope import Envelope, Request
from runtime.testing import scripted_runner
from serve.answer_document import Ask, document_of, exit_status

PIPELINE = "name: p\ncapability: scripted\nagents:\n  - {name: a, stage_order: 1, default_next: b}\n"
PIPELINE += "  - {name: b, stage_order: 2, default_next: end}\n"
ASK = Ask("?", "/repo", "p")


def test_the_output_integration_goes_before_later_ones() -> None:
    assert answer_in({"integration": {"final_response": "a"}, "z": {"final_response": "b"}}).final_response == "a"


def test_without_it_the_last_output_with_an_answer_is_taken() -> None:
    outputs: dict[str, dict[str, Any]] = {"a": {"final_response": "a"}, "b": {"final_response": "b"}, "c": {"x": 1}}
    assert answer_in(outputs).final_response == "b"


def test_a_run_that_is_not_completed_shows_no_draft() -> None:
    assert answer_in({"draft": {"final_response": "secret"}}, is_completed=False) == Answer()
    assert answer_in({"integration": {"final_response": "a"}}, is_completed=False).final_response == "a"


def test_without_any_there_is_no_answer() -> None:
    assert answer_in({"a": {"x": 1}}) == Answer()


@pytest.mark.parametrize(
    ("detail", "told"),
    [(None, "user_cancelled."), ("", "user_cancelled."), ("never mind", "user_cancelled (never mind).")],
)
def test_a_run_that_ended_without_an_answer_says_why_if_somebody_said_it(detail: str | None, told: str) -> None:
    envelope = Envelope(
        run_id=RunId("r-1"),
        request=Request("p", "?"),
        lifecycle="terminated",
        terminal_reason="user_cancelled",
        terminal_detail=detail,
    )
    assert document_of(ASK, envelope, "rules")["answer"] == f"The run ended without an answer: {told}"


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("citations", "a.py", r"Expected `array \| null`, got `str` - at `$.citations`"),
        ("citations", [1], "Expected `object`"),
        ("findings", [{"citations": "a.py"}], "Expected `array`"),
        ("findings", [{"citations": [1]}], "Expected `object`"),
        ("final_response", ["a"], "Expected `str`"),
        ("partial", "yes", "Expected `bool`"),
    ],
)
def test_an_answer_of_another_form_is_told_with_its_key(key: str, value: Any, told: str) -> None:
    answer = answer_in({"a": {"final_response": "a", key: value}})
    assert answer.final_response.startswith("The answer of the pipeline cannot be read: ")
    assert told.replace("\\", "") in answer.final_response
    assert answer.partial


json_like = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats() | st.text(max_size=3) | st.binary(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)
keys = st.sampled_from([field.name for field in msgspec.structs.fields(Answer)] + ["rules_took_over", "repository"])


@given(st.dictionaries(st.sampled_from(["integration", "perception", "a"]), st.dictionaries(keys, json_like)))
def test_whatever_a_package_returns_there_is_a_document_that_can_be_printed(outputs: dict[str, Any]) -> None:
    envelope = Envelope(run_id=RunId("r-1"), request=Request("p", "?"), outputs=outputs)
    document = document_of(ASK, envelope, "llm")
    json.dumps(document)
    exit_status(document)


@pytest.mark.parametrize(
    ("output", "status"),
    [
        ({"final_response": "42"}, 0),
        ({"final_response": "nothing", "citations": []}, 3),
        ({"final_response": "nothing", "citations": [], "commits": [{"sha": "c"}]}, 0),
        ({"answer": 42}, 3),
    ],
)
async def test_an_answer_without_the_key_citations_is_no_answer_that_found_nothing(
    output: dict[str, Any], status: int
) -> None:
    envelope = await scripted_runner(PIPELINE, {"a": [{"x": 1}], "b": [output]}).run()
    assert exit_status(document_of(ASK, envelope, "rules")) == status
