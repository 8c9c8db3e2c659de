"""Generates random parallel pipelines: a root, branches, a join, perhaps a loop back and a sink.

The effect of bounds and failures depends on timing here, so a pipeline has at most one such trouble. Only those with a
join `any` above a join `all` have more, and their runs are not compared with a twin.
"""

from __future__ import annotations

from typing import Any, cast

from runtime.run.policy_verdict import PolicyVerdict
from runtime.simulator.scenarios import ASKED_KINDS, FAILURES, Draft, Json
from runtime.simulator.scripts import ALWAYS

TROUBLES = ("none", "none", "none", "fails", "flaky", "hops", "budget", "asks", "asks", "items")


def draft_parallel(draft: Draft) -> None:
    """Draft a fork and join, or a race above a join."""
    if draft.chance(0.15):
        _draft_race_above_join(draft)
    else:
        _draft_diamond(draft)


def _draft_race_above_join(draft: Draft) -> None:
    """Draft branches that ask beside one that fails and a quick one: timing decides which are cancelled."""
    rng = draft.rng
    draft.settings |= {"default_run_mode": "parallel", "max_agent_hops": 60}
    draft.depends_on_time = True
    names = [f"b{number}" for number in range(rng.choice((2, 3, 4)))]
    unlucky = rng.choice(names)
    for name in names:
        if name == unlucky:
            draft.stage(name, draft.work(reads=(), fails=ALWAYS, failure=rng.choice(FAILURES)))
        else:
            draft.stage(name, draft.work(reads=(), asks=cast(Any, rng.choice((None, *ASKED_KINDS)))))
    draft.stage("both", draft.work(reads=tuple(names)), requires=names)
    draft.stage("quick", draft.work(reads=(), asks=cast(Any, rng.choice((None, None, *ASKED_KINDS)))))
    draft.stage("join", draft.work(reads=()), requires=["both", "quick"], join_strategy="any")
    if draft.chance(0.5):
        verdict = PolicyVerdict("requires_confirmation", "as scripted")
        draft.stage("alone", draft.work(reads=(), verdict=verdict), has_policies=True)


def _draft_diamond(draft: Draft) -> None:
    rng = draft.rng
    trouble = rng.choice(TROUBLES)
    branches = [f"b{number}" for number in range(rng.choice((2, 2, 2, 3, 3, 4, 8)))]
    is_race = trouble not in {"asks", "hops"} and draft.chance(0.4)
    unlucky = rng.choice(branches)
    draft.settings |= {"default_run_mode": "parallel", "max_iterations": 3, "max_agent_hops": 60}
    draft.stage("root", draft.work(listed=rng.randint(0, 4), reads=()))
    for name in branches:
        mishap, settings = _branch_trouble(draft, trouble) if name == unlucky else ({}, {})
        draft.stage(name, draft.work(reads=("root",), **mishap), requires=["root"], **settings)
    if not is_race and draft.chance(0.3):
        draft.stage("extra", draft.work(reads=(branches[0],)), requires=[branches[0]], after=[branches[-1]])
        branches.append("extra")
    loops = rng.randint(1, 3) if draft.chance(0.3) else 0
    join = draft.work(
        routes=tuple(int(visit <= loops) for visit in range(loops + 2)) if loops else (0,),
        reads=() if is_race else tuple(branches),
    )
    rule = {"condition": "route", "value": 1, "target": "root"}
    draft.stage(
        "join",
        join,
        requires=branches,
        join_strategy="any" if is_race else "all",
        routing_rules=[rule] if loops else [],
    )
    if draft.chance(0.4):
        draft.stage("sink", draft.work(reads=("join",)), requires=["join"])
    if trouble == "hops":
        draft.settings["max_agent_hops"] = rng.randint(1, len(branches) + 2)
    elif trouble == "budget":
        draft.settings["max_llm_calls"] = rng.randint(0, 6)
        draft.settings["max_tool_calls"] = rng.randint(0, 12)
    draft.racers = frozenset(branches) if is_race else frozenset()


def _branch_trouble(draft: Draft, trouble: str) -> tuple[Json, Json]:
    """Return the script fields and the stage settings of the branch in trouble."""
    rng = draft.rng
    if trouble == "fails":
        return {"fails": ALWAYS, "failure": rng.choice(FAILURES)}, {"max_retries": rng.randint(0, 1)}
    if trouble == "flaky":
        return {"fails": 1, "failure": rng.choice(FAILURES)}, {"max_retries": rng.randint(1, 2)}
    if trouble == "asks":
        return {"asks": cast(Any, rng.choice(ASKED_KINDS))}, {}
    if trouble == "items":
        return {}, {"foreach": "outputs.root.list", "foreach_concurrency": rng.randint(1, 4)}
    return {}, {}
