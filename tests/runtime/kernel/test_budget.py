"""Budgets: what a stage is given to begin with, what it may ask for, and that all of it keeps to the bounds."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.run.bounds import FIRST_TOKENS, FIRST_TOOL_CALLS, Grant
from runtime.supervision.commands import GiveGrant
from runtime.supervision.events import BudgetRequested, StageSucceeded, StageUsage
from runtime.testing import Bench, PipelineBuilder

MODEL: dict[str, Any] = {"has_llm": True, "model_role": "m"}
TOOLS: dict[str, Any] = {"has_tools": True, "tool_access": "read", "allowed_tools": ["look"]}


def begun(builder: PipelineBuilder) -> Bench:
    bench = Bench(builder.build())
    bench.request()
    return bench


def alone(stage: dict[str, Any] | None = None, **settings: Any) -> Bench:
    return begun(PipelineBuilder(**settings).stage("a", **(stage or {**MODEL, **TOOLS})))


def branches(count: int, **settings: Any) -> Bench:
    builder = PipelineBuilder.parallel(**settings)
    for number in range(count):
        builder.stage(f"s{number}", **MODEL, **TOOLS)
    return begun(builder)


# First grants


def test_a_stage_begins_with_one_model_call_and_its_tokens_and_with_some_tool_calls() -> None:
    expected = Grant(1, FIRST_TOOL_CALLS, FIRST_TOKENS)
    assert alone(max_llm_calls=5, max_tool_calls=70, max_tokens=99_000).flying.grant == expected


def test_a_stage_begins_with_no_more_tokens_than_its_own_limit_or_than_are_left() -> None:
    assert alone({**MODEL, "max_tokens": 50}, max_tokens=99_000).flying.grant.tokens == 50
    assert alone({**MODEL, "max_tokens": 50}, max_tokens=20).flying.grant.tokens == 20


def test_a_stage_without_a_model_gets_no_calls_or_tokens_and_one_without_tools_no_tool_calls() -> None:
    assert alone(TOOLS, max_tokens=99).flying.grant == Grant(0, FIRST_TOOL_CALLS, 0)
    assert alone(MODEL, max_tokens=99).flying.grant == Grant(1, 0, 99)


def test_without_a_token_bound_tokens_are_not_counted_out() -> None:
    bench = alone()
    assert bench.flying.grant.tokens is None
    assert bench.want(tokens=10**9).tokens is None


def test_stages_side_by_side_begin_with_what_is_left_of_the_tool_calls() -> None:
    bench = branches(3, max_tool_calls=20)
    assert [command.grant.tool_calls for command in bench.issued] == [FIRST_TOOL_CALLS, FIRST_TOOL_CALLS, 4]


@pytest.mark.parametrize("limit", [0, 1, 2])
def test_a_stage_is_issued_also_when_no_model_call_is_left(limit: int) -> None:
    bench = branches(3, max_llm_calls=limit)
    assert [command.grant.llm_calls for command in bench.issued] == [1] * limit + [0] * (3 - limit)


# Asking for more


@pytest.mark.parametrize(("asked", "given"), [(0, 0), (3, 3), (4, 4), (5, 4), (-2, 0)])
def test_a_stage_is_given_what_it_asks_for_as_far_as_it_is_there(asked: int, given: int) -> None:
    bench = alone(max_llm_calls=5, max_tool_calls=0)
    assert bench.want(llm_calls=asked).llm_calls == given
    assert bench.flying.grant.llm_calls == 1 + given


def test_tool_calls_and_tokens_are_asked_for_likewise() -> None:
    bench = alone({**MODEL, **TOOLS, "max_tokens": 10}, max_tokens=30, max_tool_calls=8)
    assert bench.want(tool_calls=9, tokens=15) == Grant(0, 0, 15)
    assert bench.want(tokens=15) == Grant(0, 0, 5)
    assert bench.flying.grant == Grant(1, 8, 30)


def test_the_answer_goes_to_the_stage_that_asked() -> None:
    bench = branches(2)
    entry = bench.in_flight("s1")
    decision = bench.happen(BudgetRequested(entry.key, 2))
    assert decision.commands == (GiveGrant(entry.key, entry.stage, Grant(2, 0, None)),)


def test_what_one_branch_reserved_another_cannot_have_until_it_is_given_back() -> None:
    bench = branches(2, max_llm_calls=4)
    assert bench.want("s0", llm_calls=9).llm_calls == 2
    assert bench.want("s1", llm_calls=1).llm_calls == 0
    bench.succeed({}, StageUsage(llm_calls=1), stage="s0")
    assert bench.want("s1", llm_calls=9).llm_calls == 2
    assert bench.envelope.usage.llm_calls == 1


def test_what_was_granted_and_not_used_is_given_back() -> None:
    builder = PipelineBuilder(max_llm_calls=5, max_tokens=100, max_tool_calls=7)
    bench = begun(builder.stage("a", **MODEL, **TOOLS, default_next="b").stage("b", **MODEL, **TOOLS))
    bench.want(llm_calls=4)
    bench.succeed({}, StageUsage(llm_calls=2, tool_calls=3, tokens_in=10, tokens_out=20))
    assert bench.flying.grant == Grant(1, 4, 70)
    assert bench.want(llm_calls=9).llm_calls == 2


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_max_llm_calls_n_permits_n_calls_and_the_next_attempt_ends_the_run(limit: int) -> None:
    bench = alone(MODEL, max_llm_calls=limit)
    for _ in range(limit - 1):
        assert bench.want(llm_calls=1).llm_calls == 1
    assert bench.want(llm_calls=1).llm_calls == 0
    bench.fail("budget", "none is left", bound="llm_calls", usage=StageUsage(llm_calls=limit))
    assert (bench.reason, bench.envelope.usage.llm_calls) == ("max_llm_calls_exceeded", limit)


def test_a_lost_attempt_counts_all_it_was_granted_as_spent() -> None:
    bench = alone({**MODEL, "max_tokens": 30}, max_llm_calls=5, max_tokens=100)
    bench.want(llm_calls=2, tokens=10)
    bench.lose()
    assert (bench.envelope.usage.llm_calls, bench.envelope.usage.tokens_out) == (3, 40)
    assert bench.flying.grant == Grant(1, 0, 30)


def test_an_attempt_that_waits_to_be_retried_reserves_nothing() -> None:
    bench = begun(PipelineBuilder.parallel(max_llm_calls=2).stage("a", **MODEL, max_retries=1).stage("b", **MODEL))
    bench.fail(stage="a")
    assert bench.want("b", llm_calls=1).llm_calls == 1
    bench.wait(1)
    assert bench.in_flight("a").grant.llm_calls == 0


def test_a_request_of_a_stage_that_is_not_in_flight_changes_nothing() -> None:
    bench = begun(PipelineBuilder().stage("a", **MODEL, max_retries=1))
    key = bench.flying.key
    bench.fail()
    assert bench.happen(BudgetRequested(key, 1)).ignored == "no such stage is in flight"


def test_at_the_limit_no_model_call_is_given_and_tool_calls_are() -> None:
    bench = begun(PipelineBuilder(max_agent_hops=1, final_stage="z").stage("a").stage("z", **MODEL, **TOOLS))
    assert bench.flying.grant == Grant(0, FIRST_TOOL_CALLS, None)
    assert bench.want(llm_calls=1).llm_calls == 0


@pytest.mark.parametrize("used", [0, 1, 2, 3, 4])
def test_eight_branches_that_race_for_calls_together_never_pass_the_bound(used: int) -> None:
    bench = branches(8, max_llm_calls=20, max_agent_hops=8)
    asked = 0
    for _ in range(3):
        for number in range(8):
            asked += bench.want(f"s{number}", llm_calls=used).llm_calls
    assert asked == min(12, 24 * used)
    for entry in list(bench.state.in_flight.values()):
        bench.happen(StageSucceeded(entry.key, {}, usage=StageUsage(llm_calls=entry.grant.llm_calls)))
    assert (bench.reason, bench.envelope.usage.llm_calls) == ("completed", 8 + asked)
