"""Extraction of facts: hostile output, rules of capabilities, models, and how much of it is specific."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.context.actions import ActionResult
from runtime.context.builtin_rules import RULE_SETS
from runtime.context.fact_extraction import (
    MAX_MODEL_FACTS,
    Extraction,
    coverage_of,
    extract_facts,
    is_specific,
    wants_model,
    with_suggested,
)
from runtime.context.fact_rules import (
    MAX_FACT_CHARS,
    MAX_FACTS_PER_OUTPUT,
    MAX_OUTPUT_CHARS,
    FactRule,
    RuleSet,
    ToolOutput,
    bounded,
    extended,
    stated,
)
from runtime.context.understanding import FactCategory
from runtime.errors import CapabilityError, ModelDownError
from runtime.primitives.visible_text import visible_line

SUCCESS, FAILURE = ActionResult.SUCCESS, ActionResult.FAILURE


def output(tool: str, text: str, result: ActionResult = FAILURE) -> ToolOutput:
    return ToolOutput(tool, text, result, step=2)


def violations(count: int) -> str:
    return "".join(f"a.py:{n}:1: C901 `f{n}` is too complex (11 > 5)\n" for n in range(1, count + 1))


@pytest.mark.parametrize(("count", "facts"), [(49, 49), (50, 50), (51, 51)])
def test_all_matches_are_taken_up_to_a_bound_and_the_rest_is_counted(count: int, facts: int) -> None:
    found = extract_facts(output("run_check", violations(count)))
    assert len(found.facts) == facts
    assert found.left_out == max(0, count - MAX_FACTS_PER_OUTPUT)
    assert (found.facts[-1].statement == "1 more matches in the output of run_check are not listed") == (count == 51)


def test_the_end_of_a_long_output_is_read_for_it_has_the_summary() -> None:
    text = "x" * 10 * MAX_OUTPUT_CHARS + "\n3 failed, 4 passed in 0.1s\n"
    assert [fact.kind for fact in extract_facts(output("run_tests", text)).facts] == ["tests.passed", "tests.failed"]


@pytest.mark.parametrize(("extra", "is_cut"), [(-1, False), (0, False), (1, True)])
def test_output_is_cut_in_its_middle(extra: int, is_cut: bool) -> None:
    text = "ab\n" * ((MAX_OUTPUT_CHARS + extra) // 3) + "c" * ((MAX_OUTPUT_CHARS + extra) % 3)
    assert (bounded(text) != text) == is_cut


def test_colours_and_foreign_line_ends_do_not_hide_an_outcome() -> None:
    text = "\x1b[31m\x1b[1m2 failed\x1b[0m, \x1b[32m4 passed\x1b[0m in 0.1s\r\n"
    assert len(extract_facts(output("run_tests", text)).facts) == 2


HOSTILE = [
    "\x00\x1b[2J\u202e" * 50_000,
    "`" * 300_000,
    "a:" * 200_000,
    "FAILED " + "a::" * 100_000,
    "extracted '" * 30_000,
    "line 1 " * 40_000 + "\udcff",
    "[" * 100_000,
    '{"violations": [[1]]}',
    '[{"filename": "a.py", "code": "C901", "location": {"row": "x\\n"}, "message": ["?"]}, 7, null]',
    "1 passed, " * 30_000,
    "\n" * 300_000,
    "a.py:1:1: " + "a-" * 100_000 + " x",
]


@pytest.mark.parametrize("tool", sorted(RULE_SETS))
def test_hostile_output_costs_little_and_gives_bounded_visible_facts(tool: str) -> None:
    for text in HOSTILE:
        for result in (SUCCESS, FAILURE):
            before = time.process_time()
            found = extract_facts(output(tool, text, result))
            assert time.process_time() - before < 5
            assert 1 <= len(found.facts) <= MAX_FACTS_PER_OUTPUT + 1
            assert all(len(fact.statement) <= MAX_FACT_CHARS for fact in found.facts)
            assert all(visible_line(fact.statement) == fact.statement for fact in found.facts)
            assert found.timed_out == ()


@settings(max_examples=40)
@given(st.text(max_size=300), st.sampled_from(sorted(RULE_SETS)), st.sampled_from(list(ActionResult)))
def test_any_text_gives_at_least_one_fact_and_always_the_same(text: str, tool: str, result: ActionResult) -> None:
    found = extract_facts(output(tool, text, result))
    assert found.facts
    assert found == extract_facts(output(tool, text, result))
    assert len({fact.id for fact in found.facts}) == len(found.facts)


@given(st.text())
def test_a_statement_is_one_printable_line(text: str) -> None:
    line = stated(text)
    assert visible_line(line) == line
    assert len(line) <= MAX_FACT_CHARS


def rule(pattern: Any, statement: str = "{x}", **more: Any) -> RuleSet:
    return RuleSet((FactRule("own", pattern, FactCategory.PATTERN, statement, **more),))


def test_a_capability_adds_rules_for_its_tools_and_leaves_the_table_as_it_was() -> None:
    table = extended(RULE_SETS, {"deploy": rule(r"to (?P<x>\w+)", "Deployed to {x}"), "run_tests": rule(r"(?P<x>!)")})
    assert extract_facts(output("deploy", "to prod\nto test"), table).facts[1].statement == "Deployed to test"
    assert extract_facts(output("run_tests", "!"), table).facts[0].source == "run_tests:own"
    assert "deploy" not in RULE_SETS
    assert not is_specific(extract_facts(output("deploy", "to prod")).facts[0])


def test_a_rule_may_be_a_function_of_the_text() -> None:
    def longest(text: str) -> list[dict[str, str]]:
        return [{"x": max(text.split(), key=len)}]

    assert extract_facts(output("deploy", "a bcd"), {"deploy": rule(longest)}).facts[0].statement == "bcd"


@pytest.mark.parametrize(
    ("pattern", "statement", "words"), [("(", "x", "faulty"), ("(?P<x>a)", "{y}", "y"), ("(?P<x>a)", "{", "faulty")]
)
def test_a_rule_that_cannot_work_is_refused_when_it_is_added(pattern: str, statement: str, words: str) -> None:
    with pytest.raises(CapabilityError, match=words):
        extended(RULE_SETS, {"deploy": rule(pattern, statement)})


def test_a_pattern_that_explodes_is_given_up_named_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    rules = (*rule(r"(?P<x>(?:a|aa)+)+$").rules, FactRule("b", "b", FactCategory.PATTERN, "saw b"))
    exploding = RuleSet(rules, timeout_s=0.1)
    found = extract_facts(output("deploy", "a" * 900 + "b"), {"deploy": exploding})
    assert found.timed_out == ("own",)
    assert [fact.statement for fact in found.facts] == ["saw b"]
    assert "ran out of time" in caplog.text


def asked(*facts: Mapping[str, Any]) -> Any:
    calls: list[ToolOutput] = []

    def ask(given: ToolOutput) -> Sequence[Mapping[str, Any]]:
        calls.append(given)
        return facts

    ask.calls = calls  # type: ignore[attr-defined]
    return ask


def test_a_model_is_asked_only_where_rules_drew_fewer_than_two_facts() -> None:
    ask = asked({"statement": "the loop can be split"})
    assert len(extract_facts(output("run_check", violations(2)), ask_model=ask).facts) == 2
    assert ask.calls == []
    found = extract_facts(output("run_check", violations(1)), ask_model=ask)
    assert [fact.statement for fact in found.facts][1:] == ["the loop can be split"]
    found = extract_facts(output("deploy", "?"), ask_model=ask)
    assert [fact.confidence for fact in found.facts] == [0.7, 0.6]
    assert len(ask.calls) == 2


def test_a_model_is_never_asked_by_default() -> None:
    assert wants_model(extract_facts(output("deploy", "?")))
    assert len(extract_facts(output("deploy", "?")).facts) == 1


@pytest.mark.parametrize(("claimed", "kept"), [(0.79, 0.79), (0.8, 0.8), (0.81, 0.8), (1, 0.8)])
def test_the_confidence_of_a_model_is_capped(claimed: float, kept: float) -> None:
    found = extract_facts(output("deploy", "?"), ask_model=asked({"statement": "s", "confidence": claimed}))
    assert found.facts[-1].confidence == kept
    assert found.facts[-1].source == "deploy:llm"


def test_what_a_model_calls_verified_is_an_inference() -> None:
    found = extract_facts(
        output("deploy", "?"), ask_model=asked({"statement": "tests pass", "category": "verification"})
    )
    assert found.facts[-1].category is FactCategory.INFERENCE
    assert found.facts[-1].kind == ""


def test_a_model_that_fails_is_counted_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    def ask(given: ToolOutput) -> Sequence[Mapping[str, Any]]:
        raise ModelDownError("no answer")

    found = extract_facts(output("deploy", "?"), ask_model=ask)
    assert (len(found.facts), found.model_failures) == (1, 1)
    assert "a model drew no facts" in caplog.text


@pytest.mark.parametrize(
    "wrong",
    [{}, {"statement": ""}, {"statement": "s", "confidence": 2}, {"statement": "s", "odd": 1}, "s", None, 7],
)
def test_a_malformed_fact_of_a_model_is_counted_and_the_others_are_taken(wrong: Any) -> None:
    found = extract_facts(output("deploy", "?"), ask_model=asked(wrong, {"statement": "good"}))
    assert [fact.statement for fact in found.facts][1:] == ["good"]
    assert found.model_failures == 1


def test_a_model_that_returns_no_list_or_too_many_facts_is_counted() -> None:
    given, extraction = output("deploy", "?"), Extraction(())
    assert with_suggested(extraction, given, "text").model_failures == 1
    assert with_suggested(extraction, given, {"statement": "s"}).model_failures == 1
    many = [{"statement": str(n)} for n in range(MAX_MODEL_FACTS + 2)]
    found = with_suggested(extraction, given, many)
    assert (len(found.facts), found.model_failures) == (MAX_MODEL_FACTS, 2)


def test_coverage_counts_outputs_with_a_specific_fact() -> None:
    texts = [("run_tests", "3 passed in 1s"), ("run_tests", "Segmentation fault"), ("deploy", "x")]
    found = [extract_facts(output(tool, text, SUCCESS)) for tool, text in texts]
    assert [each.is_specific for each in found] == [True, False, False]
    coverage = coverage_of(each.facts for each in found)
    assert (coverage.outputs, coverage.specific, coverage.share) == (3, 1, 1 / 3)
    assert coverage_of([]).share == 1.0
