"""Agent profiles: what is shipped, what precedes it, and the warning of a stage that takes too long."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.agents.capability import StageContext, StageResult
from runtime.agents.profile import AgentProfile, profile_of
from runtime.errors import SettingsError
from runtime.kernel import AgentHooks, Capability, Request, open_kernel
from runtime.pipeline.config import AgentConfig
from runtime.primitives.clock import FakeClock
from runtime.run.envelope import Envelope
from runtime.run.stage_view import StageView
from runtime.supervision.commands import ClientEvent
from runtime.supervision.events import LatencyPassed
from runtime.testing import Bench, PipelineBuilder

PIPELINE = "name: depot\nagents:\n  - {name: clerk, stage_order: 1, max_retries: 1, default_next: end}\n"
BUDGET_MS = 500


def config(**keys: Any) -> AgentConfig:
    return AgentConfig.model_validate({"name": "clerk", "stage_order": 1, "has_llm": True, **keys})


@pytest.mark.parametrize(
    ("pipeline", "overrides", "chosen"),
    [
        ({}, {}, (0.1, 100)),
        ({"temperature": 0.2}, {}, (0.2, 100)),
        ({"temperature": 0.2, "max_tokens": 200}, {"temperature": 0.3}, (0.3, 200)),
        ({"temperature": 0}, {"max_tokens": 300}, (0, 300)),
        ({"temperature": 0.2}, {"temperature": 0}, (0, 100)),
        ({"temperature": 0.2}, {"temperature": None}, (0.2, 100)),
    ],
)
def test_settings_precede_the_pipeline_and_that_precedes_the_profile(
    pipeline: dict[str, Any], overrides: dict[str, Any], chosen: tuple[float, int]
) -> None:
    found = profile_of(AgentProfile("writer", 0.1, 100), config(**pipeline), overrides)
    assert (found.temperature, found.max_tokens) == chosen
    assert found.role == "writer"


def test_thresholds_are_replaced_one_by_one() -> None:
    shipped = AgentProfile(thresholds={"enough": 0.5, "most": 3})
    assert profile_of(shipped, config(), {"thresholds": {"most": 7}}).thresholds == {"enough": 0.5, "most": 7}


def test_a_threshold_that_the_agent_does_not_have_is_refused() -> None:
    with pytest.raises(SettingsError, match="agent 'clerk' has no threshold enuogh; it has enough"):
        profile_of(AgentProfile(thresholds={"enough": 0.5}), config(), {"thresholds": {"enuogh": 1}})


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"temperature": math.nan}, "temperature is from 0 to 2, not nan"),
        ({"temperature": 2.01}, "temperature is from 0 to 2, not 2.01"),
        ({"temperature": -0.01}, "temperature"),
        ({"temperature": True}, "temperature"),
        ({"max_tokens": 0}, "max_tokens is a whole number from 1, not 0"),
        ({"max_tokens": 1.5}, "max_tokens"),
        ({"latency_budget_ms": 0}, "latency_budget_ms"),
        ({"latency_budget_ms": math.inf}, "latency_budget_ms"),
        ({"thresholds": {"enough": math.nan}}, "threshold 'enough' of a profile is a finite number, not nan"),
        ({"thresholds": {"enough": math.inf}}, "threshold 'enough'"),
        ({"thresholds": {"enough": "0.5"}}, "threshold 'enough'"),
    ],
)
def test_a_profile_with_a_value_out_of_range_is_refused(keys: dict[str, Any], told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        AgentProfile(**keys)


@pytest.mark.parametrize("keys", [{"temperature": 0}, {"temperature": 2}, {"max_tokens": 1}, {"latency_budget_ms": 1}])
def test_the_limits_of_a_profile_belong_to_it(keys: dict[str, Any]) -> None:
    AgentProfile(**keys)


values = st.none() | st.sampled_from([0.0, 0.5, 2.0])
counts = st.none() | st.integers(1, 9)


@given(values, values, values, counts, counts, counts)
def test_the_first_value_that_is_given_is_taken(
    shipped: float | None, pipeline: float | None, chosen: float | None, a: int | None, b: int | None, c: int | None
) -> None:
    found = profile_of(
        AgentProfile(temperature=shipped, max_tokens=a),
        config(temperature=pipeline, max_tokens=b),
        {"temperature": chosen, "max_tokens": c},
    )
    assert found.temperature == next((x for x in (chosen, pipeline, shipped) if x is not None), None)
    assert found.max_tokens == next((x for x in (c, b, a) if x is not None), None)


async def ran(
    hook: Any, clock: FakeClock, settings: dict[str, Any] | None = None
) -> tuple[Envelope, list[ClientEvent]]:
    """A run of one stage with a budget, while the clock advances; its envelope and its warnings."""
    profile = AgentProfile(thresholds={"enough": 0.5}, latency_budget_ms=BUDGET_MS)
    capability = Capability("depot", agents={"clerk": AgentHooks(process=hook, profile=profile)})
    kernel = open_kernel(capability, [PIPELINE], clock=clock, settings=settings)
    run = asyncio.create_task(kernel.run(Request("depot", "?")))
    while not run.done():
        await clock.advance(0.1)
    envelope = run.result()
    events = [event async for event in kernel.watch(envelope.run_id)]
    await kernel.close()
    return envelope, [event for event in events if event.type == "bound.warned"]


@pytest.mark.parametrize(("delay_ms", "count"), [(BUDGET_MS - 100, 0), (BUDGET_MS, 0), (BUDGET_MS + 100, 1)])
async def test_a_stage_over_its_latency_budget_is_warned_of_and_counted(delay_ms: int, count: int) -> None:
    clock = FakeClock()

    async def slow(_context: StageContext, _view: StageView) -> StageResult:
        await clock.sleep(delay_ms / 1000)
        return StageResult({"x": 1})

    envelope, warned = await ran(slow, clock)
    assert envelope.terminal_reason == "completed"
    assert envelope.usage.slow_stages == count
    allowed = {"bound": "latency_budget_ms", "allowed": BUDGET_MS}
    assert [(event.stage, event.data) for event in warned] == [("clerk", allowed)] * count


async def test_it_is_warned_of_while_it_is_at_work() -> None:
    clock, seen = FakeClock(), []

    async def slow(_context: StageContext, _view: StageView) -> StageResult:
        await clock.sleep(10)
        seen.append(clock.now_ms())
        return StageResult({"x": 1})

    _, (warned,) = await ran(slow, clock)
    assert warned.at_ms < seen[0] - 9_000


async def test_a_hook_that_blocks_everything_is_warned_of_when_it_ends() -> None:
    class Jump(FakeClock):
        late_ms = 0

        def now_ms(self) -> int:
            return super().now_ms() + self.late_ms

    clock = Jump()

    async def block(_context: StageContext, _view: StageView) -> StageResult:
        clock.late_ms = BUDGET_MS + 1
        return StageResult({"x": 1})

    envelope, warned = await ran(block, clock)
    assert (len(warned), envelope.usage.slow_stages) == (1, 1)


async def test_hooks_read_their_profile_with_what_the_settings_say() -> None:
    async def read(context: StageContext, _view: StageView) -> StageResult:
        return StageResult({"enough": context.profile.thresholds["enough"]})

    told = {"capability_settings": {"depot": {"agents": {"clerk": {"thresholds": {"enough": 0.9}}}}}}
    for settings, enough in (({}, 0.5), (told, 0.9)):
        envelope, _ = await ran(read, FakeClock(), settings)
        assert envelope.outputs["clerk"] == {"enough": enough}


def test_a_visit_is_warned_of_once_however_often_its_stage_is_issued() -> None:
    bench = Bench(PipelineBuilder("p").stage("a").build())
    bench.request()
    bench.start()
    assert bench.happen(LatencyPassed(bench.flying.key, 5)).ignored is None
    bench.lose()
    bench.start()
    assert bench.happen(LatencyPassed(bench.flying.key, 5)).ignored == "the visit was warned of already"
    assert bench.envelope.usage.slow_stages == 1
