"""Decides what a submission does to a session: it is refused with all that is wrong, or leads on.

Pure and total. What only the files, git or a command can tell is gathered before (`demands_of` says what) and handed in
as `Observed`; what has to be done outside is handed back as effects, which must succeed before the new state is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from runtime.contracts import duties
from runtime.contracts.contract import END, ESCALATION, Condition, Contract, Limits, PhaseRule
from runtime.contracts.due_checks import CHECK_FAILS, after_checks
from runtime.contracts.observations import MAX_NAMED, Effect, Observed, Outcome
from runtime.contracts.payloads import problems_in
from runtime.contracts.phase_order import first_phase, next_phase
from runtime.contracts.reopening import after_proofs
from runtime.contracts.session_state import Escalation, SessionState
from runtime.contracts.task_lists import without_failures

ErrorCode = Literal["", "payload_mismatch", "session_over", "waits_for_person"]
OVER = "the session is over: {outcome}; start another one with start_session"
MAX_SUMMARY_CHARS = 2_000
MAX_PROBLEMS = 30
MAX_PROBLEM_CHARS = 800
# Together with what an answer tells besides they stay within its 4,000 tokens.
MAX_PROBLEMS_CHARS = 3_300


class Decision(msgspec.Struct, frozen=True):
    """Holds the state after a submission, and what to say of it.

    `code` and `problems`: why it was refused; the state has not changed then, its count of compactions aside. `notes`:
    what the agent is told besides. `is_recalled`: the summaries of all finished phases are to be told again.
    """

    state: SessionState
    code: ErrorCode = ""
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    effects: tuple[Effect, ...] = ()
    is_recalled: bool = False


def started(contract: Contract, state: SessionState) -> Decision:
    """Return a new session in its first phase."""
    return Decision(_entered(state, first_phase(contract, state)))


def submitted(
    contract: Contract,
    state: SessionState,
    payload: object,
    compaction_count: object,
    observed: Observed,
    at_ms: int,
) -> Decision:
    """Return what a submission leads to.

    A count of compactions that differs from the state's is taken over, and recalls the summaries.
    """
    state, is_recalled = _recounted(state, compaction_count)
    decided = _judged(contract, state, payload, observed, at_ms)
    return msgspec.structs.replace(decided, is_recalled=is_recalled)


def answered(contract: Contract, state: SessionState, text: str, *, goes_on: bool, at_ms: int) -> Decision:
    """Return what a person's answer to an escalation leads to: back to the plan, or to the end with the branch kept."""
    if not state.waits_for_person:
        return Decision(state, "payload_mismatch", ("the session asks nothing of a person",))
    if not goes_on:
        return Decision(_ended(state, "ended_by_person", at_ms))
    tasks = without_failures(state.tasks)
    state = state.with_(tasks=tasks, interventions=0, verify_failures=0, escalation=None)
    state = state.with_(revert_reason=f"a person says: {text}")
    back = next(name for name in contract.order if contract.phases[name].duty == "plan")
    return Decision(_entered(state.with_(changed_at_ms=at_ms), back))


def demands_of(contract: Contract, state: SessionState, payload: object) -> frozenset[duties.Demand]:
    """Return what has to be looked at before a submission can be judged; empty where it is refused anyhow."""
    rule = contract.phases.get(state.phase)
    if rule is None or problems_in(_asked_for(rule, payload), rule.expected_payload):
        return frozenset()
    return duties.DUTIES[rule.duty].demands


def _recounted(state: SessionState, count: object) -> tuple[SessionState, bool]:
    if isinstance(count, bool) or not isinstance(count, int) or count == state.compaction_count:
        return state, False
    # One below zero is no count to be taken over; who sends it has lost its own all the same.
    return state.with_(compaction_count=min(count, 1_000_000)) if count >= 0 else state, True


def _judged(contract: Contract, state: SessionState, payload: object, observed: Observed, at_ms: int) -> Decision:
    if state.is_over:
        return Decision(state, "session_over", (OVER.format(outcome=state.outcome),))
    if state.waits_for_person:
        return Decision(state, "waits_for_person", ("a person has to answer before anything can be submitted",))
    rule = contract.phases[state.phase]
    if duties.is_repeated_plan(contract, state, rule, payload):
        return Decision(state, notes=("the same task list was registered before; nothing has changed",))
    problems = problems_in(_asked_for(rule, payload), rule.expected_payload)
    if problems or not isinstance(payload, Mapping):
        return Decision(state, "payload_mismatch", _in_short([*duties.why_no_plan(state, rule, payload), *problems]))
    problems = [*unused_tools(contract, state, rule, payload)]
    outcome = after_checks(
        contract, duties.DUTIES[rule.duty].rule(contract, state, payload, observed), payload, observed
    )
    outcome = after_proofs(outcome, state, observed)
    problems += outcome.problems
    if problems:
        notes = tuple(note for note in outcome.notes if not note.startswith(duties.DOUBTFUL))
        return Decision(state, "payload_mismatch", _in_short(problems), notes)
    return _led_on(contract, outcome, payload, at_ms)


def _asked_for(rule: PhaseRule, payload: object) -> object:
    """Return a payload without a list of tools that its phase does not ask for: it is taken everywhere."""
    if not isinstance(payload, Mapping) or "tools_used" in rule.expected_payload:
        return payload
    named = payload.get("tools_used")
    is_list = isinstance(named, list) and all(isinstance(tool, str) for tool in named)
    return {name: value for name, value in payload.items() if name != "tools_used"} if is_list else payload


def _in_short(problems: Sequence[str]) -> tuple[str, ...]:
    """Return problems as they are told: so many that an agent can mend them at once, none longer than a paragraph."""
    # The end of a failing check's output says which tests failed; it was cut where it was made.
    told = [
        text if len(text) <= MAX_PROBLEM_CHARS or text.startswith(CHECK_FAILS) else f"{text[:MAX_PROBLEM_CHARS]}…"
        for text in problems
    ]
    shown = 0
    while shown < min(len(told), MAX_PROBLEMS) and sum(map(len, told[: shown + 1])) <= MAX_PROBLEMS_CHARS:
        shown += 1
    shown = max(1, shown)
    more = len(told) - shown
    return (*told[:shown], f"and {more} more problems") if more > 0 else tuple(told)


def unused_tools(contract: Contract, state: SessionState, rule: PhaseRule, payload: Mapping[str, Any]) -> Sequence[str]:
    """Return which demanded or claimed tools were not called: what counts is the server's own log."""
    here = [use for use in state.uses if use.visit == state.visit and not use.refused]
    used = {use.tool: use.kind or use.tool for use in here}
    showing = {use.tool for use in here if use.targets}
    ever = {use.tool for use in state.uses} | set(used)
    problems = []
    for demand in rule.required_tools:
        # Of several kinds each must have shown something; a single tool may find that there is nothing.
        counted = showing if demand.at_least > 1 else used.keys()
        kinds = {used[tool] for tool in counted if tool in demand.any_of}
        if len(kinds) < demand.at_least and duties.is_demanded(rule, payload):
            many = f"{demand.at_least} kinds of " if demand.at_least > 1 else ""
            when = "for this task" if rule.duty == "implement" else "in this phase"
            shown = " that showed something" if demand.at_least > 1 else ""
            vain = [tool for tool in demand.any_of if tool in used and tool not in counted]
            refused = sum(use.refused and use.tool in demand.any_of for use in state.uses if use.visit == state.visit)
            problems.append(
                f"tools: {many}{' / '.join(demand.any_of)} must be called {when}; this server saw {len(kinds)}{shown}"
                + (f"; nothing was found by: {', '.join(vain)}" if vain else "")
                + (f"; {refused} more counted for nothing, as their answers say" if refused else "")
            )
    claimed = payload.get("tools_used")
    for tool in claimed if isinstance(claimed, list) else ():
        if tool in contract.tools and tool not in ever:
            problems.append(f"tools_used: '{tool}' is claimed, but was never called in this session")
    return problems


def _led_on(contract: Contract, outcome: Outcome, payload: Mapping[str, Any], at_ms: int) -> Decision:
    state = outcome.state
    rule = contract.phases[state.phase]
    said = str(payload.get("summary") or payload.get("reason") or "").strip()[:MAX_SUMMARY_CHARS]
    if said and not outcome.has_lapsed:
        summaries = {**state.summaries, f"step_{rule.step:02d}_{contract.phase_name(state.phase)}": said}
        state = state.with_(summaries=summaries)
    state = state.with_(changed_at_ms=at_ms)
    if outcome.has_lapsed:
        back = next(name for name in contract.order if contract.phases[name].duty == "implement")
        return Decision(_entered(state, back), notes=outcome.notes)
    target = next_phase(contract, state, lambda condition: _holds(condition, contract, state, outcome))
    if target == ESCALATION:
        state = state.with_(escalation=_escalation(state, at_ms))
    if target == END:
        state = _ended(state, state.outcome or "completed", at_ms)
        return Decision(state, notes=outcome.notes, effects=outcome.effects)
    return Decision(_entered(state, target), notes=outcome.notes, effects=outcome.effects)


def _holds(condition: Condition, contract: Contract, state: SessionState, outcome: Outcome) -> bool:
    limits = contract.limits
    found: Mapping[Condition, bool] = {
        "answered_yes": outcome.answered_yes,
        "tasks_open": bool(state.open_tasks),
        "verification_failed": outcome.has_failed,
        "task_failed_often": outcome.has_failed and _has_failed_often(state, limits),
        "intervened_often": state.interventions >= limits.interventions,
        "issues_found": outcome.has_issues,
        "moved_since_review": outcome.has_moved,
        "reverted_often": outcome.has_issues and state.quality_reverts >= limits.quality_reverts,
    }
    return found[condition]


def _has_failed_often(state: SessionState, limits: Limits) -> bool:
    """Return whether a task failed too often, or verification did, whichever tasks it blamed each time."""
    most = max((task.failure_count for task in state.tasks), default=0)
    return most >= limits.task_failures or state.verify_failures >= limits.failures_in_all


def _entered(state: SessionState, phase: str) -> SessionState:
    if phase == END:
        return state.with_(phase=END, outcome=state.outcome or "completed")
    return state.with_(phase=phase, visit=state.visit + 1)


def _ended(state: SessionState, outcome: str, at_ms: int) -> SessionState:
    return state.with_(phase=END, outcome=outcome, escalation=None, changed_at_ms=at_ms)


def _escalation(state: SessionState, at_ms: int) -> Escalation:
    failing = ", ".join(state.failed_tasks[:MAX_NAMED]) or "the work"
    last = state.revert_reason[:MAX_PROBLEM_CHARS]
    question = (
        f"Verification of {failing} keeps failing, last with: {last}. How should it go on? "
        "Answer with advice to try again, or end the session; its branch is kept."
    )
    return Escalation(f"{state.session_id}-q{state.visit}", question, at_ms)
