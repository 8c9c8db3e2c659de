"""Runs simulations for many seeds and reports faults, violations and the seeds that reproduce them.

A seed decides everything: the scenario, the twin without faults, the faults. `run_seed` runs one of them,
`run_campaign` a half-open range. The supervisor decides through the real `RunTable`; delivery, journal and run log are
those of `runtime`; around them are one heap of events and one random seed, no thread, no event loop, no clock. With a
protection broken on purpose (`PROTECTIONS`) a campaign must find violations: this shows that it can.
"""

from __future__ import annotations

import gc
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec

from runtime.errors import SettingsError
from runtime.simulator.faults import NO_FAULTS, Extent, FaultPlan, draw_plan
from runtime.simulator.invariants import findings
from runtime.simulator.pipelines import draw_scenario
from runtime.simulator.scenarios import Scenario
from runtime.simulator.simulated_system import PROTECTIONS, System

FAILURES_KEPT = 100
SEEDS_BETWEEN_COLLECTIONS = 200


class Failure(msgspec.Struct, frozen=True):
    """Describes a violation; `seed` reproduces it."""

    seed: int
    invariant: str
    detail: str


class Report(msgspec.Struct, frozen=True):
    """Reports the findings of a campaign. `failures` holds the first hundred of the `violations`.

    `compared`: number of runs by the level at which they were compared with their twins (see
    `runtime.simulator.differential`).
    """

    seeds: int
    runs: int
    violations: int
    faults: dict[str, int]
    compared: dict[str, int]
    failures: tuple[Failure, ...]
    broken: str | None
    duration_s: float
    seeds_per_s: float


class Outcome(msgspec.Struct, frozen=True):
    """Holds the results of one seed."""

    failures: list[Failure]
    faults: Counter[str]
    compared: Counter[str]


def prepare(seed: int) -> tuple[Scenario, System, FaultPlan]:
    """Derive from a seed a scenario, its twin without faults, already run, and the plan of faults."""
    rng = random.Random(seed)
    scenario = draw_scenario(rng)
    twin = System(scenario, NO_FAULTS)
    twin.run()
    # Without faults nothing is acknowledged or repeated, so a world with faults has more messages and steps.
    extent = Extent(
        messages=2 * twin.world.messages,
        steps=twin.world.steps * 3 // 2,
        writes=twin.disk.writes,
        journal_writes=twin.journal.writes,
        effects=twin.books.effects_made,
    )
    return scenario, twin, draw_plan(rng, extent)


def run_seed(seed: int, broken: str | None = None) -> Outcome:
    """Run one seed and return its violations, the faults injected by kind, and the levels of comparison."""
    scenario, twin, plan = prepare(seed)
    system = System(scenario, plan, broken)
    system.run()
    compared: Counter[str] = Counter()
    failures = [Failure(seed, name, detail) for name, detail in findings(system, twin, compared)]
    outcome = Outcome(failures, system.world.faults, compared)
    system.dismantle()
    twin.dismantle()
    return outcome


def run_campaign(
    first: int, stop: int, broken: str | None = None, on_seed: Callable[[int], None] | None = None
) -> Report:
    """Run the seeds from `first` to before `stop`. Raises SettingsError if there is no protection named `broken`."""
    if broken is not None and broken not in PROTECTIONS:
        raise SettingsError(f"no protection is named '{broken}'; there are {', '.join(PROTECTIONS)}")
    began_s = time.perf_counter()
    faults: Counter[str] = Counter()
    compared: Counter[str] = Counter()
    failures: list[Failure] = []
    violations = 0
    with _collecting_between_seeds() as collect:
        for seed in range(first, stop):
            outcome = run_seed(seed, broken)
            faults.update(outcome.faults)
            compared.update(outcome.compared)
            violations += len(outcome.failures)
            failures += outcome.failures[: FAILURES_KEPT - len(failures)]
            collect(seed)
            if on_seed is not None:
                on_seed(seed)
    duration_s = time.perf_counter() - began_s
    seeds = max(0, stop - first)
    return Report(
        seeds=seeds,
        runs=compared.total(),
        violations=violations,
        faults=dict(sorted(faults.items())),
        compared=dict(sorted(compared.items())),
        failures=tuple(failures),
        broken=broken,
        duration_s=round(duration_s, 3),
        seeds_per_s=round(seeds / duration_s, 1) if duration_s else 0.0,
    )


@contextmanager
def _collecting_between_seeds() -> Iterator[Callable[[int], None]]:
    """Collect garbage between seeds only: each seed leaves many small objects behind at once."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield _collect
    finally:
        if was_enabled:
            gc.enable()


def _collect(seed: int) -> None:
    if seed % SEEDS_BETWEEN_COLLECTIONS == 0:
        gc.collect()
