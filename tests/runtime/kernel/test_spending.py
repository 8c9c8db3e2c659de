"""What is booked of an attempt: never more than it was granted, never less than nothing, and no model without one."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.agents.capability import StageContext, StageResult
from runtime.run.bounds import Grant
from runtime.run.envelope import Request
from runtime.run.stage_view import StageView
from runtime.supervision.events import (
    Event,
    RunAdopted,
    RunRequested,
    StageSucceeded,
    StageUsage,
    decode_event,
    encode_event,
)
from runtime.supervision.spending import MOST_TOKENS, booked
from runtime.testing import Bench, PipelineBuilder, ScriptedAgent
from tests.runtime.kernel.test_agent_step import agent_of, command

MODEL: dict[str, Any] = {"has_llm": True, "model_role": "m"}
TOOLS: dict[str, Any] = {"has_tools": True, "tool_access": "read", "allowed_tools": ["look"]}
counts = st.integers(-5, 12) | st.sampled_from([-(2**63), 2**63, 2**64 - 1])


def begun(**settings: Any) -> Bench:
    bench = Bench(PipelineBuilder(**settings).stage("a", default_next="b", **MODEL, **TOOLS).stage("b").build())
    bench.request()
    return bench


def spent(bench: Bench) -> tuple[int, int, int, int]:
    usage = bench.envelope.usage
    return usage.llm_calls, usage.tool_calls, usage.tokens_in, usage.tokens_out


@pytest.mark.parametrize(
    ("reported", "booked_as"),
    [
        (StageUsage(1, 8, 60, 40), (1, 8, 60, 40)),
        (StageUsage(2, 0), (1, 0, 0, 0)),
        (StageUsage(0, 9), (0, 8, 0, 0)),
        (StageUsage(0, 0, 101, 0), (0, 0, 100, 0)),
        (StageUsage(0, 0, 60, 41), (0, 0, 60, 40)),
        (StageUsage(-1, -1, -1, -1), (0, 0, 0, 0)),
        (StageUsage(0, 0, -50, 100), (0, 0, 0, 100)),
    ],
    ids=["granted", "a call more", "a tool more", "a token more", "a token more together", "negative", "set off"],
)
def test_an_attempt_is_booked_within_its_grant(reported: StageUsage, booked_as: tuple[int, ...]) -> None:
    bench = begun(max_tokens=100)
    assert bench.flying.grant == Grant(1, 8, 100)
    bench.succeed({}, reported)
    assert spent(bench) == booked_as
    is_honest = booked_as == tuple(getattr(reported, name) for name in StageUsage.__struct_fields__[:4])
    assert bool(bench.envelope.errors) != is_honest
    assert bench.at_work == ["b"]


def test_what_an_agent_cannot_have_spent_is_recorded_as_its_fault() -> None:
    bench = begun()
    bench.succeed({}, StageUsage(llm_calls=7))
    fault = "the agent reported what it cannot have spent: 7 llm_calls of 1 granted, booked 1"
    assert bench.envelope.errors == (f"a: {fault}",)
    (finished,) = [event.data for event in bench.client_events if event.type == "stage.finished"]
    assert finished["fault"] == fault
    assert bench.envelope.history[0].llm_calls == 1


@given(st.builds(StageUsage, counts, counts, counts, counts), st.none() | st.integers(0, 9))
def test_no_report_is_booked_outside_its_grant(reported: StageUsage, tokens: int | None) -> None:
    within, fault = booked(reported, Grant(2, 3, tokens), 2)
    assert 0 <= within.llm_calls <= 2
    assert 0 <= within.tool_calls <= 3
    assert min(within.tokens_in, within.tokens_out) >= 0
    assert within.tokens_in + within.tokens_out <= (MOST_TOKENS if tokens is None else tokens)
    assert (fault is None) == (within == reported)
    assert booked(within, Grant(2, 3, tokens), 2) == (within, None)


def test_a_run_of_an_older_version_is_booked_as_it_was_then() -> None:
    config = PipelineBuilder().stage("a").build()
    bench = Bench(config)
    bench.happen(RunRequested(Request("sample", "?")))
    bench.succeed({}, StageUsage(llm_calls=7, tokens_in=-3))
    assert spent(bench) == (7, 0, -3, 0)
    assert (bench.envelope.errors, bench.envelope.schema_version) == ((), 1)


@pytest.mark.parametrize("value", [math.nan, 1.5, True, "3", None, 2**70], ids=str)
async def test_what_a_hook_makes_of_its_budget_can_be_recorded_and_is_not_booked(value: Any) -> None:
    async def tampers(context: StageContext, _view: StageView) -> StageResult:
        context.budget.llm_calls = value
        return StageResult({})

    result = await agent_of(ScriptedAgent([tampers]).hooks()).run(command(), asyncio.Event())
    assert isinstance(result, StageSucceeded)
    read = decode_event(encode_event(Event(result.key.run_id, 2, 0, result))).payload
    assert isinstance(read, StageSucceeded)
    within, fault = booked(read.usage, Grant(), 2)
    assert within.llm_calls == 0
    assert fault is not None


# --- models that nobody calls


def test_no_model_call_is_granted_or_booked_where_rules_reason() -> None:
    bench = Bench(PipelineBuilder(max_tokens=100).stage("a", **MODEL, **TOOLS).build())
    bench.request(calls_models=False)
    assert bench.flying.grant == Grant(0, 8, 0)
    bench.cancel()
    assert spent(bench) == (0, 8, 0, 0)
    assert bench.envelope.history[0].llm_calls == 0


def test_a_stage_that_wants_a_model_call_all_the_same_is_granted_one() -> None:
    bench = Bench(PipelineBuilder(max_llm_calls=1).stage("a", **MODEL).build())
    bench.request(calls_models=False)
    assert bench.want(llm_calls=1) == Grant(1, 0, None)


@pytest.mark.parametrize("before", [True, False])
def test_the_new_owner_says_whether_its_agents_call_models(before: bool) -> None:
    bench = Bench(PipelineBuilder().stage("a", **MODEL).build())
    bench.request(calls_models=before)
    bench.happen(RunAdopted(calls_models=not before))
    assert bench.flying.grant.llm_calls == int(not before)
    bench.lose()
    assert bench.flying.grant.llm_calls == int(not before)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(bench.state), type=type(bench.state)) == bench.state
