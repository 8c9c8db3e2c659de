"""Generates random scenarios with sequential or parallel pipelines.

Sequential pipelines loop, jump, fail, ask and fan out at random, but everything in their runs follows from the scripts.
For parallel ones see `runtime.simulator.fork_join_pipelines`.
"""

from __future__ import annotations

import random

import msgspec

from runtime.hosting.limits.admission import Quotas
from runtime.primitives.ids import RunId
from runtime.run.envelope import Request
from runtime.run.policy_verdict import PolicyVerdict
from runtime.simulator.fork_join_pipelines import draft_parallel
from runtime.simulator.scenarios import ASKED_KINDS, FAILURES, Draft, Json, Person, PlannedRun, Scenario
from runtime.simulator.scripts import ALWAYS


def draw_scenario(rng: random.Random) -> Scenario:
    """Draw a scenario; three in five are sequential."""
    draft = Draft(rng)
    (_draft_sequential if draft.chance(0.6) else draft_parallel)(draft)
    amount = rng.choice((1, 1, 1, 1, 1, 1, 2, 2, 3, 4))
    quotas = Quotas(running=rng.randint(1, 2)) if amount > 1 and draft.chance(0.3) else Quotas()
    runs = tuple(_run(draft, number) for number in range(amount))
    _let_one_exaggerate(draft)
    scenario = Scenario(draft.pipeline(), draft.scripts, runs, quotas, draft.racers, draft.depends_on_time)
    return _with_named_modes(scenario) if _rng_beside(draft, 1).random() < 1 / 10 else scenario


def _rng_beside(draft: Draft, place: int) -> random.Random:
    """Return a generator for one more draw, which leaves the other draws of the seed as they were."""
    return random.Random(draft.rng.getstate()[1][place])


def _with_named_modes(scenario: Scenario) -> Scenario:
    """Return the scenario with requests that name their run mode, which is not the one that the pipeline has."""
    replace, mode = msgspec.structs.replace, scenario.config.default_run_mode
    runs = tuple(replace(run, request=replace(run.request, run_mode=mode)) for run in scenario.runs)
    return replace(scenario, runs=runs, names_mode=True)


def _let_one_exaggerate(draft: Draft) -> None:
    """Have one agent in thirty scenarios report more than it spent.

    What is booked then depends on its grants, and these on how its attempts were interrupted.
    """
    rng = _rng_beside(draft, 0)
    if rng.random() < 1 / 30:
        name = rng.choice(sorted(draft.scripts))
        draft.scripts[name] = msgspec.structs.replace(draft.scripts[name], exaggerates=rng.choice((1, 50, 2**62)))
        draft.depends_on_time = True


def _run(draft: Draft, number: int) -> PlannedRun:
    rng = draft.rng
    limits = {"max_agent_hops": rng.randint(1, 6)} if draft.chance(0.05) else {}
    kinds: tuple[str, ...] = (*ASKED_KINDS, "timeout", "system_error")
    answers = {kind: "no" if draft.chance(0.15) else "yes" for kind in kinds}
    if draft.chance(0.1):
        answers[rng.choice(("confirmation", "agent_review", "timeout", "system_error"))] = "never"
    person = Person(
        answers,
        delay_ms=rng.randint(100, 20_000),
        twice=draft.chance(0.3),
        stranger=draft.chance(0.2),
        pauses_ms=rng.randint(0, 4_000) if draft.chance(0.06) else None,
        cancels_ms=rng.randint(0, 4_000) if draft.chance(0.03) else None,
    )
    request = Request("simulated", f"question {number}", user_id="ann", wait=not draft.chance(0.1), limits=limits)
    return PlannedRun(RunId(f"r-{number}"), rng.randint(0, 4_000) if number else 0, request, person)


def _draft_sequential(draft: Draft) -> None:
    rng = draft.rng
    names = [f"s{number}" for number in range(rng.choice((2, 3, 3, 4, 4, 5, 6)))]
    for number, name in enumerate(names):
        rules = _rules(draft, name, names)
        script = draft.work(
            routes=tuple(rng.choice((0, 1, 1, 2, 2)) for _ in range(rng.randint(1, 4))), **_mishap(draft)
        )
        settings: Json = {
            "max_retries": rng.choice((0, 1, 2, 3)) if script.fails or script.hangs else rng.choice((0, 2))
        }
        if script.fails < ALWAYS and script.hangs < ALWAYS:
            settings["max_retries"] = max(settings["max_retries"], script.fails, script.hangs)
        if draft.chance(0.3):
            settings["error_next"] = rng.choice([*(other for other in names if other != name), "end"])
        if number and draft.chance(0.14):
            settings |= {"foreach": f"outputs.{names[number - 1]}.list", "foreach_concurrency": rng.randint(1, 4)}
            rules = []
            draft.limits = {edge: count for edge, count in draft.limits.items() if edge[0] != name}
            script = msgspec.structs.replace(script, asks=None)
            draft.scripts[names[number - 1]] = msgspec.structs.replace(
                draft.scripts[names[number - 1]], listed=rng.randint(0, 5)
            )
        following = names[number + 1] if number + 1 < len(names) else "end"
        draft.stage(name, script, routing_rules=rules, default_next=following, **settings)
    if draft.chance(0.3):
        draft.stage("final", draft.work())
        draft.settings["final_stage"] = "final"
    for kind in ("clarification", "confirmation", "agent_review"):
        if draft.chance(0.3):
            draft.settings[f"{kind}_resume_stage"] = rng.choice(names)
    draft.settings |= {"max_iterations": rng.randint(0, 6), "max_agent_hops": _hops(draft)}
    for field in ("on_timeout", "on_system_error"):
        if draft.chance(0.2):
            draft.settings[field] = "wait"
    if draft.chance(0.3):
        draft.settings["interrupt_expiry"] = {"confirmation": "proceed", "agent_review": "proceed"}
    _tighten(draft)


def _rules(draft: Draft, name: str, names: list[str]) -> list[Json]:
    rules = []
    for value in (1, 2):
        if not draft.chance(0.5):
            continue
        target = draft.rng.choice((*names, *names, "end", *ASKED_KINDS))
        rules.append({"condition": "route", "value": value, "target": target})
        if target == name or (target in names and draft.chance(0.4)):
            draft.limits[name, target] = draft.rng.randint(0, 3)
    return rules


def _mishap(draft: Draft) -> Json:
    """Draw the script fields of at most one failure, hang, interrupt or policy verdict."""
    rng, roll = draft.rng, draft.rng.random()
    if roll < 0.12:
        return {"fails": rng.choice((1, 2, ALWAYS)), "failure": rng.choice(FAILURES)}
    if roll < 0.16:
        return {"hangs": rng.choice((1, 1, ALWAYS))}
    if roll < 0.24:
        return {"asks": rng.choice(ASKED_KINDS)}
    if roll < 0.30:
        return {"verdict": PolicyVerdict(rng.choice(("approved", "denied", "requires_confirmation")), "as scripted")}
    return {}


def _hops(draft: Draft) -> int:
    return draft.rng.randint(1, 8) if draft.chance(0.35) else draft.rng.randint(10, 30)


def _tighten(draft: Draft) -> None:
    """Draw tight bounds on model calls, tool calls and tokens, for some pipelines."""
    for name, most, probability in (("max_llm_calls", 8, 0.2), ("max_tool_calls", 8, 0.15), ("max_tokens", 80, 0.1)):
        if draft.chance(probability):
            draft.settings[name] = draft.rng.randint(0, most)
