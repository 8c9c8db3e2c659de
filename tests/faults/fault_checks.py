"""What must hold after any fault: the checks of a round, which read the log, the effects and what watchers saw."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from runtime.primitives.ids import RunId
from runtime.supervision.events import Event, InterruptAnswered, StageSucceeded
from tests.faults.fault_rounds import Round, Seen
from tests.faults.fault_runs import MAX_TOOL_CALLS, Effect, Outcome, is_recorded


class Case(NamedTuple):
    """One run of a round, with all that is known of it. `is_calm`: no agent and no supervisor died of the fault."""

    run_id: RunId
    seen: Seen
    expected: Outcome
    log: list[Event]
    effects: Counter[Effect]
    records: Counter[Effect]
    is_calm: bool


def findings(around: Round, expected: Mapping[str, Outcome], is_calm: bool) -> list[str]:
    """All that is wrong with the runs of a round, each with the name of what it violates."""
    found = list(around.findings)
    for case in cases(around, expected, is_calm):
        for name, check in CHECKS.items():
            found += [f"{name}: {case.run_id} ({case.seen.kind}) {wrong}" for wrong in check(case)]
    return found


def cases(around: Round, expected: Mapping[str, Outcome], is_calm: bool) -> list[Case]:
    """The runs of a round, as the log on the disk and the files of effects have them."""
    effects, records = _by_run(around.place.effects()), _by_run(around.place.recorded())
    log = around.site.open_log()
    try:
        return [
            Case(run_id, seen, expected[seen.kind], log.events(run_id), effects[run_id], records[run_id], is_calm)
            for run_id, seen in around.runs.items()
        ]
    finally:
        log.close()


def _by_run(counted: Counter[Effect]) -> dict[RunId, Counter[Effect]]:
    by_run: dict[RunId, Counter[Effect]] = defaultdict(Counter)
    for effect, times in counted.items():
        by_run[effect.run_id][effect] = times
    return by_run


def lost(case: Case) -> Iterator[str]:
    """Every accepted run ends."""
    if case.seen.outcome is None:
        yield f"is not over; its log has {len(case.log)} events"


def ended_twice(case: Case) -> Iterator[str]:
    """A run ends once."""
    ends = sum(event.type == "run.finished" for event in case.seen.events)
    if case.seen.events and ends > 1:
        yield f"was told to have ended {ends} times"


def other_outcome(case: Case) -> Iterator[str]:
    """A run ends as it would have ended undisturbed; hops, iterations and edges are counted exactly."""
    if case.seen.outcome not in (None, case.expected):
        yield f"ended as {case.seen.outcome}, undisturbed as {case.expected}"


def effect_twice(case: Case) -> Iterator[str]:
    """Where no process of a run died, its stages work once; elsewhere once for each attempt that was recorded."""
    visits = Counter((effect.hop, effect.item) for effect in case.effects.elements())
    for visit, times in visits.items():
        if case.is_calm and times > 1:
            yield f"worked {times} times at hop and item {visit} though its processes lived"
    ended = Counter(
        (event.payload.key.hop, event.payload.key.item)
        for event in case.log
        if isinstance(event.payload, StageSucceeded)
    )
    for visit, times in ended.items():
        if times > 1:
            yield f"has {times} results of hop and item {visit}"
        if not visits[visit]:
            yield f"has a result of hop and item {visit} that nobody worked for"


def record_not_once(case: Case) -> Iterator[str]:
    """A journaled effect happens exactly once in each visit, however often its processes died."""
    if case.seen.outcome is None:
        return
    wanted = {hop for stage, hop in case.expected.visits if is_recorded(case.seen.kind, stage)}
    made = Counter(record.hop for record in case.records.elements())
    for hop in wanted | set(made):
        if made[hop] != (hop in wanted):
            yield f"made the record of hop {hop} {made[hop]} times"


def beyond_bounds(case: Case) -> Iterator[str]:
    """No more tool calls than the bound allows, and none that was made and not counted."""
    made = case.effects.total() + case.records.total()
    if case.seen.outcome is not None and not made <= case.seen.tool_calls <= MAX_TOOL_CALLS:
        yield f"made {made} tool calls, counted {case.seen.tool_calls}, limit {MAX_TOOL_CALLS}"


def gap(case: Case) -> Iterator[str]:
    """Whoever watched through the fault saw every event once, in order."""
    numbers = [event.seq for event in case.seen.events]
    if numbers != list(range(1, len(numbers) + 1)):
        yield f"was seen with the numbers {numbers}"
    if numbers and case.seen.events[-1].type != "run.finished":
        yield f"was last seen with {case.seen.events[-1].type}"


def answered_twice(case: Case) -> Iterator[str]:
    """A question has one answer."""
    answers = Counter(event.payload.interrupt_id for event in case.log if isinstance(event.payload, InterruptAnswered))
    for interrupt_id, times in answers.items():
        if times > 1:
            yield f"has {times} answers to {interrupt_id}"


def log_gap(case: Case) -> Iterator[str]:
    """The log of a run is numbered without gaps."""
    if [event.seq for event in case.log] != list(range(1, len(case.log) + 1)):
        yield f"has a log of the numbers {[event.seq for event in case.log]}"


CHECKS: dict[str, Callable[[Case], Iterator[str]]] = {
    "lost": lost,
    "ended twice": ended_twice,
    "other outcome": other_outcome,
    "effect twice": effect_twice,
    "effect not once": record_not_once,
    "bounds": beyond_bounds,
    "event numbers": gap,
    "answered twice": answered_twice,
    "log": log_gap,
}

DOUBLED = ("ended twice", "effect twice", "effect not once", "answered twice")
