"""Budgets of sections: what gives way, in which order, and what never does."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from runtime.context.actions import ActionDef, ActionsSpec, BlockedAction
from runtime.context.context_builder import ContextBuilder, validated
from runtime.context.models import AgentContext, Analysis, ExtractionSuggestion, StateSpec, Understanding
from runtime.context.section_budgets import SectionBudgets, fit_to_budgets, token_breakdown
from runtime.context.yaml_context import to_yaml
from runtime.errors import ContextError
from tests.runtime.context.realistic_steps import realistic_steps
from tests.runtime.context.test_context_models import fact, record, task, whole

PLENTY = 10**6
OPEN = SectionBudgets(
    understanding_tokens=PLENTY,
    analysis_tokens=PLENTY,
    recent_tokens=PLENTY,
    actions_tokens=PLENTY,
    context_tokens=PLENTY,
    total_tokens=PLENTY,
)


def lines(text: str) -> int:
    """Count lines as tokens, so that sizes are easy to see."""
    return text.count("\n")


def context(facts: int = 9, source_lines: int = 90, domain: int = 10) -> AgentContext:
    found = tuple(fact(f"f{n}", statement=f"statement {n}", step=n) for n in range(facts))
    return AgentContext(
        task=task(),
        state=StateSpec(
            current_step=9,
            understanding=Understanding(facts=found),
            recent_actions=tuple(record(step) for step in range(4)),
        ),
        actions=whole().actions,
        domain_context={f"k{n}": "d" * 500 for n in range(domain)},
        precomputed=Analysis(
            violating_function="f",
            function_source="\n".join(f"line {n}" for n in range(source_lines)),
            extraction_suggestions=tuple(
                ExtractionSuggestion(start_line=n, end_line=n, suggested_name="g", reason="r") for n in range(901, 909)
            ),
        ),
    )


def shown(given_: AgentContext, count: Any = lines, **budgets: int) -> dict[str, Any]:
    parsed: dict[str, Any] = yaml.safe_load(fit_to_budgets(given_, OPEN.changed(**budgets), count).text)
    return parsed


def test_the_budgets_of_all_parts_make_up_the_total() -> None:
    budgets = SectionBudgets()
    names = ("system_prompt", "task", "understanding", "verification", "analysis", "recent", "actions", "context")
    assert sum(budgets.of(name) for name in names) == budgets.total_tokens == 5_000


def test_what_fits_is_written_whole() -> None:
    fitted = fit_to_budgets(context(), OPEN, lines)
    assert fitted.text == to_yaml(context())
    assert (fitted.cuts, fitted.excess_tokens) == ((), 0)
    assert fitted.tokens == token_breakdown(context(), lines)


# The section has a line for its name, one for the category and one for each fact.
@pytest.mark.parametrize(("budget", "kept"), [(12, 9), (11, 9), (10, 6), (8, 6), (7, 5), (6, 5), (0, 5)])
def test_old_facts_give_way_until_the_five_newest_are_left(budget: int, kept: int) -> None:
    statements = shown(context(), understanding_tokens=budget)["understanding"]["code_structure"]
    assert statements == [f"statement {n} (1.0)" for n in range(9 - kept, 9)]


@pytest.mark.parametrize(("source_lines", "kept"), [(29, 29), (30, 30), (31, 30), (90, 30)])
def test_source_gives_way_until_thirty_lines_are_left(source_lines: int, kept: int) -> None:
    analysis = shown(context(source_lines=source_lines), analysis_tokens=0)["analysis"]
    assert analysis["function_source"].split("\n") == [f"line {n}" for n in range(kept)]
    assert analysis.get("source_left_out") == (f"the last {source_lines - kept} lines" if source_lines > kept else None)
    assert len(analysis["extraction_suggestions"]) == 3


def test_domain_texts_are_shortened_and_marked_where_they_are() -> None:
    cut = shown(context(), count=len, context_tokens=2_000)["context"]
    assert list(cut) == [f"k{n}" for n in range(10)]
    assert set(cut.values()) == {"d" * 149 + "…"}


@pytest.mark.long
def test_sections_give_way_in_order_facts_source_domain_then_the_rest() -> None:
    whole_tokens = fit_to_budgets(context(), OPEN, lines).tokens
    parts = sum(tokens for name, tokens in whole_tokens.items() if name != "total")
    seen: list[tuple[str, ...]] = []
    for room in range(parts, -1, -1):
        fitted = fit_to_budgets(context(), OPEN.changed(total_tokens=room), lines)
        names = tuple(cut.section for cut in fitted.cuts)
        if names not in seen:
            seen.append(names)
    assert seen == [
        (),
        ("understanding",),
        ("understanding", "analysis"),
        ("understanding", "analysis", "context"),
        ("understanding", "analysis", "context", "recent"),
        ("understanding", "analysis", "context", "recent", "actions"),
    ]


def test_task_and_verification_are_never_cut_and_the_excess_is_stated() -> None:
    fitted = fit_to_budgets(context(), SectionBudgets(total_tokens=0), lines)
    parsed = yaml.safe_load(fitted.text)
    uncut = yaml.safe_load(to_yaml(context()))
    assert (parsed["task"], parsed["verification"], parsed["step"]) == (uncut["task"], uncut["verification"], 9)
    assert len(parsed["understanding"]["code_structure"]) == 5
    assert fitted.excess_tokens == sum(tokens for name, tokens in fitted.tokens.items() if name != "total")


@pytest.mark.parametrize(("prompt_lines", "is_cut"), [(-1, False), (0, False), (1, True)])
def test_a_system_prompt_takes_its_tokens_from_the_total(prompt_lines: int, is_cut: bool) -> None:
    parts = sum(tokens for name, tokens in token_breakdown(context(), lines).items() if name != "total")
    prompt = "p\n" * (10 + prompt_lines)
    fitted = fit_to_budgets(context(), OPEN.changed(total_tokens=parts + 10), lines, prompt)
    assert bool(fitted.cuts) == is_cut


def test_many_and_long_actions_are_cut_to_their_names() -> None:
    long = tuple(ActionDef(name=f"a{n}", description="d" * 4_000) for n in range(40))
    blocked = tuple(BlockedAction(action=f"b{n}", reason="r" * 4_000) for n in range(40))
    given_ = context().changed(actions=ActionsSpec(available=long, recommended="a0", blocked=blocked))
    fitted = ContextBuilder().write(given_)
    actions = yaml.safe_load(fitted.text)["actions"]
    assert actions["available"] == [f"a{n}" for n in range(40)]
    assert actions["recommended"] == "a0"
    assert fitted.tokens["actions"] <= 400


@settings(max_examples=20)
@given(
    st.integers(0, 25),
    st.integers(0, 200),
    st.integers(0, 30),
    st.integers(0, 3_000),
    st.integers(0, 3_000),
    st.booleans(),
)
def test_budgets_hold_for_all_that_may_be_cut(
    facts: int, source_lines: int, domain: int, section: int, total: int, by_lines: bool
) -> None:
    given_ = context(facts, source_lines, domain)
    count = lines if by_lines else len
    budgets = SectionBudgets(understanding_tokens=section, analysis_tokens=section, total_tokens=total)
    fitted = fit_to_budgets(given_, budgets, count)
    assert fitted == fit_to_budgets(given_, budgets, count)
    assert all(cut.tokens_after < cut.tokens_before for cut in fitted.cuts if not by_lines)
    least = fit_to_budgets(given_, SectionBudgets(total_tokens=0), count)
    assert fitted.excess_tokens == 0 or fitted.text == least.text
    assert yaml.safe_load(fitted.text)["task"] == yaml.safe_load(to_yaml(given_))["task"]


def test_realistic_steps_fit_their_budgets() -> None:
    builder = ContextBuilder()
    for step in realistic_steps():
        fitted = builder.write(step)
        assert fitted.excess_tokens == 0
        assert fitted.tokens["total"] <= 5_000 - 800
        assert {cut.section for cut in fitted.cuts} <= {"analysis"}


def test_a_huge_context_costs_little_time_and_fits() -> None:
    given_ = context().changed(
        precomputed=Analysis(function_source="x = 1\n" * 33_000),
        domain_context={f"k{n}": [str(n)] * 100 for n in range(300)},
        state=StateSpec(
            understanding=Understanding(facts=tuple(fact(f"f{n}", statement="s" * 4_000) for n in range(99)))
        ),
    )
    fitted = ContextBuilder().write(given_)
    assert fitted.excess_tokens == 0
    assert {cut.section for cut in fitted.cuts} == {"understanding", "analysis", "context"}


def test_a_breakdown_names_each_section_and_the_total() -> None:
    breakdown = ContextBuilder(count=len).token_breakdown(context())
    assert list(breakdown) == [
        "task",
        "understanding",
        "verification",
        "analysis",
        "context",
        "actions",
        "recent",
        "step",
        "total",
    ]
    assert breakdown["total"] == len(to_yaml(context()))


def test_a_builder_makes_a_validated_context_of_typed_parts() -> None:
    made = ContextBuilder().build(task(), StateSpec(), ActionsSpec(), {"a": (1, 2)})
    assert made.domain_context == {"a": [1, 2]}
    assert made.precomputed == Analysis()


def test_a_context_that_does_not_validate_is_an_error_of_ours_with_every_fault() -> None:
    odd: Any = "odd"
    state = StateSpec.model_construct(current_step=-1, verification=odd)
    with pytest.raises(ContextError) as caught:
        ContextBuilder().build(task(), state, ActionsSpec())
    assert caught.value.values["task_id"] == "t1"
    assert [fault.split(":")[0] for fault in caught.value.values["faults"]] == [
        "state.current_step",
        "state.verification",
    ]
    with pytest.raises(ContextError, match="task t1 does not validate"):
        ContextBuilder().write(whole().model_copy(update={"state": state}))
    with pytest.raises(ContextError, match="domain_context"):
        ContextBuilder().build(task(), StateSpec(), ActionsSpec(), {"a": object()})


def test_a_dict_inside_a_frozen_model_is_validated_again_before_it_is_written() -> None:
    made = ContextBuilder().build(task(), StateSpec(), ActionsSpec(), {"a": 1})
    made.domain_context["a"] = float("nan")
    with pytest.raises(ContextError, match="JSON"):
        validated(made)


def test_budgets_are_never_negative() -> None:
    with pytest.raises(ValidationError):
        SectionBudgets(total_tokens=-1)
