"""Bounds in numbers: a request only lowers, N permits exactly N, what is reserved counts as spent."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.errors import InputError
from runtime.pipeline.config import MAX_SPAN_S, PipelineConfig
from runtime.primitives.ids import RunId
from runtime.run.bounds import (
    LIMITS,
    Grant,
    blocked_edge,
    blocked_hop,
    bounds_for,
    check_limits,
    grant_for,
    is_loop_back,
    soft_limits_passed,
    unknown_limits,
)
from runtime.run.envelope import Bounds, Envelope, Request, Usage
from runtime.testing import START_MS, PipelineBuilder

NAMES = ("max_iterations", "max_llm_calls", "max_agent_hops", "max_tool_calls", "max_tokens")


def pipeline(**settings: Any) -> PipelineConfig:
    builder = PipelineBuilder(**settings).stage("a", default_next="b").stage("b", default_next="c")
    return builder.rule("again", 1, "a").rule("self", 1, "b").edge_limit("b", "b", 2).stage("c").build()


def envelope(usage: Usage | None = None, bounds: Bounds | None = None) -> Envelope:
    return Envelope(RunId("r-1"), Request("sample", "?"), usage=usage or Usage(), bounds=bounds or Bounds())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("asked", "got"), [(4, 4), (5, 5), (6, 5), (0, 0), (-3, 0)])
def test_a_request_lowers_a_bound_and_never_raises_it(name: str, asked: int, got: int) -> None:
    config = pipeline(**dict.fromkeys(NAMES, 5))
    bounds = bounds_for(config, Request("sample", "?", limits={name: asked}), START_MS)
    assert {key: getattr(bounds, key) for key in NAMES} == {**dict.fromkeys(NAMES, 5), name: got}


def test_a_request_may_limit_tokens_where_the_pipeline_does_not() -> None:
    assert bounds_for(pipeline(), Request("sample", "?"), START_MS).max_tokens is None
    assert bounds_for(pipeline(), Request("sample", "?", limits={"max_tokens": 9}), START_MS).max_tokens == 9


@pytest.mark.parametrize("name", [*LIMITS, "rounds"])
def test_a_limit_that_names_a_bound_is_known(name: str) -> None:
    config, request = pipeline(context_bounds={"rounds": 3}), Request("sample", "?", limits={name: 1})
    assert unknown_limits(config, request) == ()
    check_limits(config, request)


def test_limits_that_name_no_bound_are_refused_with_the_known_ones() -> None:
    config = pipeline(context_bounds={"rounds": 3})
    request = Request("sample", "?", limits={"max_hops": 1, "max_tokens": 1, "files": 2, "deadline_s": 3})
    assert unknown_limits(config, request) == ("deadline_s", "files", "max_hops")
    with pytest.raises(InputError) as caught:
        check_limits(config, request)
    assert caught.value.message == (
        "limits: there is no deadline_s, files, max_hops; the pipeline 'sample' has max_iterations, max_llm_calls, "
        "max_agent_hops, max_tool_calls, max_tokens, rounds"
    )
    assert caught.value.values["unknown"] == ("deadline_s", "files", "max_hops")


def test_a_request_lowers_bounds_of_the_context_and_adds_none() -> None:
    config = pipeline(context_bounds={"rounds": 3, "files": 4})
    bounds = bounds_for(config, Request("sample", "?", limits={"rounds": 2, "files": 9, "made_up": 1}), START_MS)
    assert bounds.context == {"rounds": 2, "files": 4}


@pytest.mark.parametrize(
    ("of_pipeline", "of_request", "expected_ms"),
    [
        (None, None, None),
        (5, None, 5_000),
        (None, 5.0, 5_000),
        (5, 2.0, 2_000),
        (2, 5.0, 2_000),
        (None, 0.0, 0),
        (5, -1.0, 0),
        (None, 1.001, 1_001),
        (5, float("nan"), 5_000),
        (None, float("nan"), None),
        (5, float("inf"), 5_000),
        (None, float("inf"), MAX_SPAN_S * 1000),
        (None, 1e300, MAX_SPAN_S * 1000),
    ],
)
def test_the_earlier_deadline_holds(
    of_pipeline: float | None, of_request: float | None, expected_ms: int | None
) -> None:
    request = Request("sample", "?", deadline_s=of_request)
    found = bounds_for(pipeline(deadline_s=of_pipeline), request, START_MS).deadline_ms
    assert found == (None if expected_ms is None else START_MS + expected_ms)


@pytest.mark.parametrize(("hops", "blocked"), [(0, False), (2, False), (3, True), (4, True)])
def test_a_hop_bound_of_three_permits_exactly_three(hops: int, blocked: bool) -> None:
    run = envelope(Usage(agent_hops=hops), Bounds(max_agent_hops=3))
    assert (blocked_hop(pipeline(), run, "a") is not None) == blocked


@pytest.mark.parametrize(("hops", "blocked"), [(1, False), (2, True), (3, True)])
def test_with_a_final_stage_one_hop_less_is_left_for_the_others(hops: int, blocked: bool) -> None:
    run = envelope(Usage(agent_hops=hops), Bounds(max_agent_hops=3))
    assert (blocked_hop(pipeline(final_stage="c"), run, "a") is not None) == blocked


@pytest.mark.parametrize(("hops", "blocked"), [(2, False), (3, True)])
def test_the_final_stage_itself_may_take_the_last_hop(hops: int, blocked: bool) -> None:
    run = envelope(Usage(agent_hops=hops), Bounds(max_agent_hops=3))
    assert (blocked_hop(pipeline(final_stage="c"), run, "c") is not None) == blocked


def test_a_hop_bound_of_zero_permits_nothing_not_even_the_final_stage() -> None:
    run = envelope(bounds=Bounds(max_agent_hops=0))
    for target in ("a", "c"):
        blocked = blocked_hop(pipeline(final_stage="c"), run, target)
        assert blocked is not None
        assert blocked.reason == "max_agent_hops_exceeded"


@pytest.mark.parametrize(("taken", "blocked"), [(0, False), (1, False), (2, True), (3, True)])
def test_an_edge_limit_of_two_permits_exactly_two(taken: int, blocked: bool) -> None:
    found = blocked_edge(pipeline(), envelope(Usage(edges={"b->b": taken})), "b", "b")
    assert (found is not None) == blocked
    if found is not None:
        assert found.reason == "max_loop_exceeded"
        assert found.detail == f"edge 'b' -> 'b' taken {taken} times, limit 2"


@pytest.mark.parametrize(("made", "blocked"), [(1, False), (2, True), (3, True)])
def test_an_iteration_bound_of_two_permits_exactly_two_loop_backs(made: int, blocked: bool) -> None:
    found = blocked_edge(pipeline(), envelope(Usage(iterations=made), Bounds(max_iterations=2)), "b", "a")
    assert (found is not None) == blocked
    assert found is None or found.reason == "max_iterations_exceeded"


def test_only_a_move_to_an_earlier_stage_is_an_iteration() -> None:
    assert is_loop_back(pipeline(), "b", "a")
    assert not is_loop_back(pipeline(), "b", "b")
    assert not is_loop_back(pipeline(), "a", "b")
    spent = envelope(bounds=Bounds(max_iterations=0))
    assert blocked_edge(pipeline(), spent, "b", "b") is None
    assert blocked_edge(pipeline(), spent, "a", "b") is None


@pytest.mark.parametrize(("spent", "warned"), [(7, False), (8, True), (9, True), (10, True)])
def test_a_soft_limit_is_passed_from_eighty_percent_on(spent: int, warned: bool) -> None:
    run = envelope(Usage(llm_calls=spent), Bounds(max_llm_calls=10))
    assert soft_limits_passed(run) == ({"max_llm_calls"} if warned else set())


def test_a_bound_of_zero_or_none_has_no_soft_limit() -> None:
    assert soft_limits_passed(envelope(Usage(tokens_in=9), Bounds(0, 0, 0, 0))) == frozenset()


amounts = st.integers(0, 30)
grants = st.builds(Grant, amounts, amounts, amounts)


@given(
    st.builds(Usage, llm_calls=amounts, tool_calls=amounts, tokens_in=amounts, tokens_out=amounts),
    st.lists(grants),
    amounts,
)
def test_spent_reserved_and_granted_together_never_pass_the_bound(usage: Usage, taken: list[Grant], bound: int) -> None:
    run = envelope(usage, Bounds(max_llm_calls=bound, max_tool_calls=bound, max_tokens=bound))
    grant = grant_for(run, taken)
    assert grant.tokens is not None
    assert min(grant.llm_calls, grant.tool_calls, grant.tokens) >= 0
    for given_now, spent, reserved in (
        (grant.llm_calls, usage.llm_calls, sum(other.llm_calls for other in taken)),
        (grant.tool_calls, usage.tool_calls, sum(other.tool_calls for other in taken)),
        (grant.tokens, usage.tokens_in + usage.tokens_out, sum(other.tokens or 0 for other in taken)),
    ):
        assert given_now == max(0, bound - spent - reserved)


def test_without_a_token_bound_tokens_are_not_limited() -> None:
    assert grant_for(envelope(), [Grant(tokens=5)]).tokens is None
