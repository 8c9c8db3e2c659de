"""What seeds stand for: pipelines of every kind, deterministic stages, faults that fall where something happens."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from runtime.pipeline.pipeline_validation import problems_of
from runtime.primitives.ids import RunId, StageKey, StageName
from runtime.run.bounds import Grant
from runtime.run.stage_view import StageView
from runtime.simulator.faults import Extent, draw_plan
from runtime.simulator.pipelines import draw_scenario
from runtime.simulator.scenarios import Scenario
from runtime.simulator.scripts import (
    ALWAYS,
    CallModel,
    CallTool,
    Failed,
    Hang,
    StageScript,
    Step,
    Succeeded,
    Wait,
    play,
)
from runtime.supervision.commands import RunStage

SCENARIOS = [draw_scenario(random.Random(seed)) for seed in range(400)]
ROOT = Path(__file__).resolve().parents[3]


def test_scenarios_have_one_to_four_runs_and_at_most_eight_branches() -> None:
    runs = Counter(len(scenario.runs) for scenario in SCENARIOS)
    assert set(runs) == {1, 2, 3, 4}
    widths = {sum(agent.name.startswith("b") for agent in scenario.config.agents) for scenario in SCENARIOS}
    assert max(widths) == 8


def features(scenario: Scenario) -> set[str]:
    config, agents = scenario.config, scenario.config.agents
    found = {
        "parallel": config.is_parallel,
        "sequential": not config.is_parallel,
        "any": any(agent.join_strategy == "any" for agent in agents),
        "after": any(agent.after for agent in agents),
        "foreach": any(agent.foreach for agent in agents),
        "retries": any(agent.max_retries for agent in agents),
        "error route": any(agent.error_next for agent in agents),
        "final stage": config.final_stage is not None,
        "edge limit": bool(config.edge_limits),
        "closed edge": 0 in config.edge_limit_of.values(),
        "tight hops": config.max_agent_hops < 9,
        "tight calls": config.max_llm_calls < 9,
        "tokens": config.max_tokens is not None,
        "no iterations": config.max_iterations == 0,
        "waits on timeout": config.on_timeout == "wait",
        "expiry": bool(config.interrupt_expiry),
        "quotas": scenario.quotas.running is not None,
        "race": bool(scenario.racers),
        "race above a join": scenario.depends_on_time,
        "asks": any(script.asks for script in scenario.scripts.values()),
        "hangs": any(script.hangs for script in scenario.scripts.values()),
        "policy": any(script.verdict for script in scenario.scripts.values()),
        "does not wait": any(not run.request.wait for run in scenario.runs),
        "pauses": any(run.person.pauses_ms is not None for run in scenario.runs),
        "cancels": any(run.person.cancels_ms is not None for run in scenario.runs),
        "never answers": any("never" in run.person.answers.values() for run in scenario.runs),
        "names its run mode": any(run.request.run_mode for run in scenario.runs),
        "asks for less": any(run.request.limits for run in scenario.runs),
    }
    return {name for name, there in found.items() if there}


def test_every_feature_of_the_kernel_occurs() -> None:
    counts = Counter(name for scenario in SCENARIOS for name in features(scenario))
    assert len(counts) == 28
    assert min(counts.values()) >= 3, counts


def test_every_pipeline_is_one_that_a_system_accepts() -> None:
    faults = {seed: problems_of(scenario.config) for seed, scenario in enumerate(SCENARIOS)}
    assert {seed: found for seed, found in faults.items() if found} == {}


def test_at_most_one_thing_goes_wrong_in_a_parallel_pipeline_that_is_compared_with_its_twin() -> None:
    for scenario in SCENARIOS:
        if scenario.config.is_parallel and not scenario.depends_on_time:
            odd = [s for s in scenario.scripts.values() if s.fails or s.hangs or s.asks or s.verdict]
            tight = scenario.config.max_agent_hops < 60 or scenario.config.max_llm_calls < 200
            assert len(odd) + tight <= 1


def test_in_a_race_above_a_join_a_branch_fails_while_others_ask() -> None:
    asking = 0
    for scenario in SCENARIOS:
        if not scenario.depends_on_time or "both" not in scenario.config.stages:
            continue
        join, both = scenario.config.stages["join"], scenario.config.stages["both"]
        assert (join.join_strategy, join.requires, both.join_strategy) == ("any", ("both", "quick"), "all")
        assert sum(scenario.scripts[name].fails == ALWAYS for name in both.requires) == 1
        asking += any(scenario.scripts[name].asks for name in both.requires)
    assert asking >= 10


def command(attempt: int = 1, hop: int = 1, outputs: dict[str, dict[str, Any]] | None = None) -> RunStage:
    view = StageView("?", outputs=outputs or {}, hop=hop)
    key = StageKey(RunId("r"), hop, 0, attempt)
    return RunStage(key, StageName("a"), msgspec.msgpack.encode(view), Grant(), 0)


Played = tuple[list[Step], Succeeded | Failed | None]


def played(script: StageScript, of: RunStage, is_parallel: bool = False) -> Played:
    """The steps of an attempt whose calls all succeed, and its end; None when it hangs."""
    steps = play(script, of, is_parallel)
    taken: list[Step] = []
    answer: bytes | None = None
    while True:
        try:
            step = steps.send(answer)
        except StopIteration as stop:
            return taken, stop.value
        taken.append(step)
        if isinstance(step, Hang):
            return taken, None
        answer = b"made" if isinstance(step, CallTool) else None


def test_a_stage_does_the_same_in_every_attempt() -> None:
    script = StageScript(llm_calls=1, tokens_per_call=5, tools=("ask", "repeatable"))
    steps, end = played(script, command())
    assert [type(step) for step in steps] == [Wait, CallModel, CallTool, CallTool]
    assert played(script, command(attempt=5)) == (steps, end)


def test_its_output_follows_from_the_visit_and_from_what_it_saw() -> None:
    first = played(StageScript(), command())[1]
    assert first != played(StageScript(), command(hop=2))[1]
    assert first != played(StageScript(), command(outputs={"b": {"digest": 1}}))[1]
    blind = StageScript(reads=())
    assert played(blind, command())[1] == played(blind, command(outputs={"b": {"digest": 1}}))[1]


def test_in_parallel_a_stage_counts_its_own_visits() -> None:
    seen = {"a": {"visit": 1, "digest": 3}}
    script = StageScript(reads=())
    assert played(script, command(hop=4), True)[1] == played(script, command(hop=7), True)[1]
    assert played(script, command(hop=4), True)[1] != played(script, command(hop=4, outputs=seen), True)[1]


@pytest.mark.parametrize("fails", [1, 2, ALWAYS])
def test_so_many_attempts_fail_or_hang_as_the_script_says(fails: int) -> None:
    for attempt in (1, 2, 3):
        end = played(StageScript(fails=fails), command(attempt))[1]
        assert isinstance(end, Failed) == (attempt <= fails)
        assert (played(StageScript(hangs=fails), command(attempt))[1] is None) == (attempt <= fails)


def test_a_refused_call_fails_the_stage_with_its_bound() -> None:
    steps = play(StageScript(llm_calls=1), command(), False)
    steps.send(None)
    steps.send(None)
    with pytest.raises(StopIteration) as stopped:
        steps.send("tokens")
    assert stopped.value.value == Failed("budget", "no tokens left", "tokens")


def test_a_plan_has_faults_where_something_happens_and_a_seed_has_one_plan() -> None:
    extent = Extent(messages=50, steps=90, writes=20, journal_writes=10, effects=4)
    plans = [draw_plan(random.Random(seed), extent) for seed in range(100)]
    assert plans == [draw_plan(random.Random(seed), extent) for seed in range(100)]
    assert max(place for plan in plans for place in plan.at_message) <= 55
    assert max(place for plan in plans for place in plan.at_step) <= 95
    assert sum(len(plan.at_message) for plan in plans) > 200


def test_a_seed_is_the_same_in_every_process() -> None:
    """Sets of strings are ordered otherwise in every process; nothing may follow from that."""
    program = (
        "from runtime.simulator.campaign import run_campaign; import msgspec;"
        "r = run_campaign(0, 15, 'reserve'); print(msgspec.json.encode([r.failures, r.faults, r.compared]))"
    )
    said = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": str(number), "PYTHONPATH": str(ROOT)},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for number in (1, 2)
    ]
    assert said[0] == said[1] != ""
