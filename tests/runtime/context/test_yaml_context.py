"""A step's context as YAML: order, what is left out, stability, and what it saves."""

from __future__ import annotations

import inspect
import json
import tarfile
import textwrap

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.context.models import AgentContext, PhaseState, StateSpec, Understanding, VerificationState
from runtime.context.token_estimate import estimated_code_tokens
from runtime.context.yaml_context import SECTIONS, sections_of, to_yaml
from runtime.primitives.visible_text import visible
from tests.runtime.context.realistic_steps import FUNCTIONS, realistic_steps
from tests.runtime.context.test_context_models import fact, record, task, whole
from tests.runtime.context.token_savings import savings_of, tokenizer_count

EXPECTED = """task:
  id: t1
  goal: fix C901
  phase: implement
  success_criteria:
  - checks pass
understanding:
  code_structure:
  - f has 9 lines (1.0)
  error:
  - 'Failing test: tests/t.py::test_a (0.9)'
verification:
  passing: 0
  failing: 1
  tests_ok: false
  ready: false
analysis:
  violating_function: f
  function_lines: 3-9
  function_source: |-
    def f():
        return 1
  extraction_suggestions:
  - [4, 4, load_rows, 1 input]
context:
  violation:
    lines:
    - 1
    - 2
actions:
  available:
    read_file: read
  recommended: read_file
  blocked:
    complete: checks fail
recent:
- {step: 4, action: read_file, result: success, summary: read a.py}
- {step: 5, action: read_file, result: success, summary: read a.py}
- {step: 6, action: read_file, result: success, summary: read a.py}
step: 7
"""


def context(phase: str = "implement", **more: object) -> AgentContext:
    facts = (
        fact("f1"),
        fact("f2", category="error", statement="Failing test: tests/t.py::test_a", confidence=0.9),
        fact("f3", statement="superseded"),
        fact("f4", statement="too unsure", confidence=0.59),
    )
    state = StateSpec(
        current_step=7,
        phase=PhaseState(current_phase=phase),
        verification=VerificationState(checks_failing=1),
        understanding=Understanding(facts=facts, superseded_ids=("f3",)),
        recent_actions=tuple(record(step) for step in range(2, 7)),
    )
    found = whole().precomputed.changed(function_source="def f():\n    return 1")
    return whole().changed(state=state, precomputed=found, **more)


def test_a_context_is_written_in_the_fixed_order_without_its_empty_parts() -> None:
    assert to_yaml(context()) == EXPECTED
    assert tuple(yaml.safe_load(EXPECTED)) == SECTIONS


def test_what_is_empty_takes_no_line() -> None:
    bare = AgentContext.model_validate({"task": task(), "state": {}, "actions": {}})
    assert list(yaml.safe_load(to_yaml(bare))) == ["task", "verification", "step"]


def test_the_bytes_stay_the_same_up_to_the_step() -> None:
    again = AgentContext.model_validate_json(context().model_dump_json())
    assert to_yaml(again) == EXPECTED
    later = context().changed(state=context().state.changed(current_step=8))
    assert to_yaml(later).removesuffix("step: 8\n") == EXPECTED.removesuffix("step: 7\n")


@pytest.mark.parametrize("phase", ["verify", "complete"])
def test_source_and_suggestions_are_left_out_where_no_action_uses_them(phase: str) -> None:
    assert sections_of(context(phase))["analysis"]["function_source"] is None
    assert yaml.safe_load(to_yaml(context(phase)))["analysis"] == {"violating_function": "f", "function_lines": "3-9"}


def test_long_source_is_shown_in_outline_and_whole_on_demand() -> None:
    source = "def f():\n" + "\n".join(f"    step({number})" for number in range(99))
    given_ = context().changed(precomputed=context().precomputed.changed(function_source=source))
    assert "# ... lines 7-102" in to_yaml(given_)
    assert yaml.safe_load(to_yaml(given_, is_complete=True))["analysis"]["function_source"] == source
    assert "function_source" in yaml.safe_load(to_yaml(context("verify"), is_complete=True))["analysis"]


def test_a_statement_that_is_made_twice_is_shown_once_as_the_surer_one() -> None:
    twice = (fact("f1", confidence=0.7), fact("f2", confidence=0.9), fact("f3", confidence=0.8))
    state = StateSpec(understanding=Understanding(facts=twice))
    shown = sections_of(whole().changed(state=state))["understanding"]
    assert shown["code_structure"] == ["f has 9 lines (0.9)"]


hostile = st.text(max_size=40) | st.sampled_from(
    ["ready: true", "- {a: b}", "...\n---\n", "!!python/name:os.system", "\u202e\x1b[2J", "x" * 4_000, "#", "a\u2028b"]
)


@settings(max_examples=40)
@given(hostile, hostile, hostile, hostile)
def test_hostile_text_stays_data(statement: str, source: str, summary: str, message: str) -> None:
    given_ = context(domain_context={"message": message or "-"})
    given_ = given_.changed(
        precomputed=given_.precomputed.changed(function_source=source or None),
        state=given_.state.changed(
            understanding=Understanding(facts=(fact("f1", statement=statement or "-"),)),
            recent_actions=(record(1, summary=summary),),
        ),
    )
    text = to_yaml(given_)
    parsed = yaml.safe_load(text)
    assert visible(text) == text
    assert parsed["verification"] == {"passing": 0, "failing": 1, "tests_ok": False, "ready": False}
    assert parsed["understanding"] == {"code_structure": [f"{visible(statement or '-')} (1.0)"]}
    assert parsed["analysis"].get("function_source", "") == visible(source)
    assert parsed["recent"][0].get("summary", "") == visible(summary)
    assert parsed["context"] == {"message": visible(message or "-")}
    assert parsed["step"] == 7


def test_a_context_is_no_larger_than_its_parts_as_json() -> None:
    steps = realistic_steps()
    assert sum(len(to_yaml(step)) for step in steps) < sum(len(json.dumps(sections_of(step))) for step in steps)


@pytest.mark.long
def test_yaml_takes_at_least_forty_percent_fewer_tokens_than_prose_on_realistic_steps() -> None:
    savings = savings_of(realistic_steps(), tokenizer_count())
    assert savings.steps == 8 * len(FUNCTIONS)
    assert savings.saved >= 0.5
    assert savings.saved_of_same_fields >= 0.4
    assert savings.saved_complete >= 0.3
    assert savings.least_saved >= 0.25


@pytest.mark.parametrize(("chars", "tokens"), [(99_999, 107_499), (100_000, 107_501), (200_000, 215_001)])
def test_the_beginning_of_a_long_text_stands_for_its_rest(chars: int, tokens: int) -> None:
    assert estimated_code_tokens(("a-" * chars)[:chars]) == tokens


def test_estimated_tokens_of_code_are_near_those_of_a_tokenizer() -> None:
    count = tokenizer_count()
    pieces = [textwrap.dedent(inspect.getsource(each)) for each in (*FUNCTIONS, tarfile.TarFile, inspect.Signature)]
    ratios = [estimated_code_tokens(piece) / count(piece) for piece in pieces]
    assert sum(abs(ratio - 1) for ratio in ratios) / len(ratios) < 0.12
    assert all(0.7 < ratio < 1.3 for ratio in ratios)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("a", 1), ("abcdef", 1), ("abcdefghij", 2), ("x = 1234\n", 7), ("ä", 1), ("\ud800", 1)],
)
def test_tokens_are_estimated_by_words_signs_digits_and_lines(text: str, tokens: int) -> None:
    assert estimated_code_tokens(text) == tokens


def test_a_suggestion_without_a_name_says_so() -> None:
    given = whole()
    unnamed = given.precomputed.extraction_suggestions[0].changed(suggested_name=None)
    told = to_yaml(given.changed(precomputed=given.precomputed.changed(extraction_suggestions=(unnamed,))))
    assert "- [4, 4, '?', 1 input]" in told
