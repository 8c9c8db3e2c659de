"""Holds the rule of each duty of a phase: what is wrong with a submission, what it changes. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from runtime.contracts.contract import Contract, Duty, PhaseRule
from runtime.contracts.payloads import problems_in, says_something
from runtime.contracts.phase_order import has_trait
from runtime.contracts.session_state import Frame, Proof, Rule, SessionState, Slot
from runtime.contracts.shared_evidence import UNCLAIMED, Lapse, doubts_of, is_all_skipped, unclaimed
from runtime.contracts.task_lists import is_repeat, registered, reported, with_failures, without_failures

Demand = Literal["evidence", "diff", "checks", "bands", "head", "tests", "proofs"]
EffectKind = Literal["branches", "branch", "commit", "merge"]
SLOTS = (
    "action_type",
    "scope",
    "constraints",
    "target_feature",
    "trigger_condition",
    "observed_issue",
    "desired_action",
)
DOUBTFUL = "accepted, and review_changes shows it to whoever reviews: "
FORCED = "quality review was cut short after too many reverts; these issues stay: "
MAX_NAMED = 20
# Of a file that counts as read: listings show the line of each definition.
LEAST_LINES = 3
MAX_SYMBOL_CHARS = 200
MAX_SHOWN_CHARS = 60
MAX_ISSUES_CHARS = 1_000

__all__ = ["DUTIES", "Demand", "Effect", "Observed", "Outcome", "without_failures"]


class Effect(msgspec.Struct, frozen=True, omit_defaults=True):
    """Asks for something to be done outside.

    `choice` of what becomes of the stale `branches`, which are those that a person was shown; `message` of a commit.
    `tree` and `head`: the files to be committed, the commit to be merged, where commands passed on these; empty: any.
    """

    kind: EffectKind
    choice: str = ""
    branches: tuple[str, ...] = ()
    message: str = ""
    tree: str = ""
    head: str = ""


class CheckResult(msgspec.Struct, frozen=True):
    """Holds how a command of the contract ended, with the end of its output."""

    name: str
    passed: bool
    output: str = ""


class Observed(msgspec.Struct, frozen=True, omit_defaults=True):
    """Holds what was looked at before a decision.

    `refuted`: checklist item → why its evidence does not hold; `proofs`: item → the lines that it rests on. `changed`:
    files that differ from the base commit; `unpermitted`: those of them that may not be written, with the reason.
    `similarities`: symbol → likeness to the query, 0 to 1; a symbol without one was compared by name alone. `head`: the
    commit that the session's branch is at.
    `tree`: git's hash of the files that are to be committed or merged, where the contract names commands; `is_stable`:
    they stayed as they were while those ran; `uncommitted`: files that differ from the commit that is to be merged;
    `tests`: what the change takes away from the tests, as a sentence; empty where it takes nothing. `lapsed`: accepted
    items whose evidence does not hold any more.
    """

    refuted: Mapping[str, str] = {}
    proofs: Mapping[str, Proof] = {}
    changed: tuple[str, ...] = ()
    unpermitted: Mapping[str, str] = {}
    checks: tuple[CheckResult, ...] = ()
    similarities: Mapping[str, float] = {}
    head: str = ""
    tree: str = ""
    is_stable: bool = True
    uncommitted: tuple[str, ...] = ()
    tests: str = ""
    lapsed: tuple[Lapse, ...] = ()


class Outcome(NamedTuple):
    """Holds what a duty's rule makes of a submission; conditions of exits read the rest of its fields."""

    state: SessionState
    problems: Sequence[str] = ()
    notes: tuple[str, ...] = ()
    effects: tuple[Effect, ...] = ()
    answered_yes: bool = False
    has_failed: bool = False
    has_issues: bool = False
    has_moved: bool = False
    has_lapsed: bool = False


class DutyRule(NamedTuple):
    """Pairs a rule with what it must be told of the outside."""

    rule: Callable[[Contract, SessionState, Mapping[str, Any], Observed], Outcome]
    demands: frozenset[Demand] = frozenset()


def _nothing(contract: Contract, state: SessionState, payload: Mapping[str, Any], observed: Observed) -> Outcome:
    return Outcome(state)


def _branches(contract: Contract, state: SessionState, payload: Mapping[str, Any], observed: Observed) -> Outcome:
    effect = Effect("branches", choice=payload["choice"], branches=state.stale_branches)
    return Outcome(state.with_(stale_branches=()), effects=(effect,))


def _rules(contract: Contract, state: SessionState, payload: Mapping[str, Any], observed: Observed) -> Outcome:
    found = tuple(Rule(entry["rule"], entry["source"]) for entry in payload.get("mandatory_rules") or ())
    unread = [file for file in payload["documents_reviewed"] if file not in state.shown]
    problems = [f"documents_reviewed: no tool of this session showed '{file}'" for file in unread[:MAX_NAMED]]
    foreign = [rule.source for rule in found if rule.source not in payload["documents_reviewed"]]
    problems += [f"mandatory_rules: '{source}' is not among documents_reviewed" for source in foreign[:MAX_NAMED]]
    return Outcome(state.with_(rules=found), problems)


def _frame(contract: Contract, state: SessionState, payload: Mapping[str, Any], observed: Observed) -> Outcome:
    slots: dict[str, Slot] = {}
    dropped: list[str] = []
    problems: list[str] = []
    for name in SLOTS:
        given = payload.get(name)
        if given is None:
            continue
        if is_quoted(given["quote"], state.query):
            slots[name] = Slot(given["value"], given["quote"])
        elif contract.phases[state.phase].expected_payload[name].required:
            problems.append(f"{name}.quote: these words are not in the query; copy them from it, whole words")
        else:
            dropped.append(f"{name}: its quote is not in the query")
    symbols: list[str] = []
    bands: dict[str, str] = {}
    for entry in payload.get("target_symbols") or ():
        symbol = entry["value"]
        shown = symbol if len(symbol) <= MAX_SHOWN_CHARS else f"{symbol[:MAX_SHOWN_CHARS]}…"
        if len(symbol) > MAX_SYMBOL_CHARS:
            dropped.append(f"target_symbols '{shown}': {len(symbol)} characters, a name has at most {MAX_SYMBOL_CHARS}")
            continue
        bands[symbol] = band_of(contract, observed.similarities.get(symbol))
        if not is_quoted(entry["quote"], state.query):
            dropped.append(f"target_symbols '{shown}': its quote is not in the query")
        elif bands[symbol] == "rejected":
            dropped.append(f"target_symbols '{shown}': it is too unlike the query")
        else:
            symbols.append(symbol)
    frame = Frame(slots, tuple(dict.fromkeys(symbols)), bands, tuple(dropped))
    notes = tuple(f"dropped from the frame: {name}" for name in dropped[:MAX_NAMED])
    if len(dropped) > MAX_NAMED:
        notes = (*notes, f"dropped from the frame: and {len(dropped) - MAX_NAMED} more")
    doubtful = [symbol[:MAX_SHOWN_CHARS] for symbol in frame.symbols if bands[symbol] == "low_confidence"]
    if doubtful:
        notes = (*notes, f"taken with low confidence, so look them up first: {', '.join(doubtful[:MAX_NAMED])}")
    return Outcome(state.with_(frame=frame), problems, notes)


def is_quoted(quote: str, query: str) -> bool:
    """Return whether a quote occurs in a query, white space and case aside, as whole words."""
    wanted = " ".join(quote.split()).casefold()
    text = " ".join(query.split()).casefold()
    return bool(wanted) and re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", text) is not None


def band_of(contract: Contract, similarity: float | None) -> str:
    """Return how a symbol's likeness to the query is taken: accepted, low confidence, or rejected; None is low."""
    if similarity is None:
        return "low_confidence"
    if similarity >= contract.relevance.accepted:
        return "accepted"
    return "low_confidence" if similarity >= contract.relevance.low else "rejected"


def _explore(contract: Contract, state: SessionState, payload: Mapping[str, Any], observed: Observed) -> Outcome:
    unseen = [file for file in payload["explored_files"] if file not in state.shown]
    problems = [f"explored_files: no tool of this session showed '{file}'" for file in unseen[:MAX_NAMED]]
    explored = tuple(dict.fromkeys((*state.explored, *payload["explored_files"])))
    barely = [file for file in payload["explored_files"] if _lines_shown(state, file) < LEAST_LINES]
    noted = f"hardly a line was shown of {', '.join(barely[:MAX_NAMED])}; read what you will change" if barely else ""
    return Outcome(state.with_(explored=explored), problems, (noted,) if noted else ())


def _lines_shown(state: SessionState, file: str) -> int:
    return sum(last - first + 1 for first, last in state.shown.get(file, ()))


def confidence_of(contract: Contract, state: SessionState) -> float:
    """Return the server's own confidence in an exploration, 0 to 1: a quarter for each threshold that is reached."""
    enough = contract.confidence
    kinds = {use.kind or use.tool for use in state.uses if use.tool in contract.tools and contract.tools[use.tool].kind}
    symbols = len(state.frame.symbols) if state.frame is not None else 0
    found = symbols or sum(use.kind in {"definitions", "symbols"} and bool(use.targets) for use in state.uses)
    references = sum(use.kind == "references" and bool(use.targets) for use in state.uses)
    reached = (
        len(state.explored) >= enough.files,
        found >= enough.symbols,
        len(kinds) >= enough.tool_kinds,
        references >= enough.references,
    )
    return sum(reached) / len(reached)


def _question(contract: Contract, state: SessionState, payload: Mapping[str, Any], observed: Observed) -> Outcome:
    said = any(value is True for value in payload.values())
    confidence = confidence_of(contract, state)
    is_doubtful = confidence < contract.confidence.least
    notes: tuple[str, ...] = ()
    if not said and state.gate_level == "full":
        notes = ("the gate is full: the answer was taken for yes",)
    elif not said and is_doubtful:
        notes = (f"confidence in the exploration is {confidence:.2f}: the answer was taken for yes",)
    return Outcome(state, notes=notes, answered_yes=said or bool(notes))


def _hypotheses(contract: Contract, state: SessionState, payload: Mapping[str, Any], observed: Observed) -> Outcome:
    problems = [
        f"hypotheses_verified[{place}]: it came out false; withdraw it, or say what replaces it"
        for place, entry in enumerate(payload["hypotheses_verified"])
        if not entry["confirmed"] and not entry.get("withdrawn") and not str(entry.get("replaced_by") or "").strip()
    ]
    problems += [
        f"hypotheses_verified[{place}].evidence: it names no file that this session's tools showed; give path and lines"
        for place, entry in enumerate(payload["hypotheses_verified"])
        if not entry.get("withdrawn") and not any(file in entry["evidence"] for file in state.shown)
    ]
    return Outcome(state, problems)


def _impact(contract: Contract, state: SessionState, payload: Mapping[str, Any], observed: Observed) -> Outcome:
    told = {entry["file"] for entry in payload["impact_summary"] if says_something(entry["finding"])}
    missing = [file for file in state.must_verify if file not in told]
    problems = [f"impact_summary: says nothing of {file}, which must be verified" for file in missing[:MAX_NAMED]]
    if len(missing) > MAX_NAMED:
        problems.append(f"impact_summary: and of {len(missing) - MAX_NAMED} more")
    return Outcome(state, problems)


def _plan(contract: Contract, state: SessionState, payload: Mapping[str, Any], observed: Observed) -> Outcome:
    tasks = registered(state, payload["tasks"], contract.limits)
    if isinstance(tasks, list):
        return Outcome(state, tasks)
    has_branch = state.place is not None and bool(state.place.branch)
    wants_branch = not has_branch and not has_trait(contract, state.flags, "no_branch")
    effects = (Effect("branch"),) if wants_branch else ()
    return Outcome(state.with_(tasks=tasks, revert_reason=""), effects=effects)


def is_repeated_plan(contract: Contract, state: SessionState, rule: PhaseRule, payload: object) -> bool:
    """Return whether a submission is the task list that is registered already, sent again."""
    if rule.duty not in {"implement", "finish"} or not isinstance(payload, Mapping) or "tasks" not in payload:
        return False
    plan = next((phase for phase in contract.phases.values() if phase.duty == "plan"), None)
    if plan is None or problems_in(payload, plan.expected_payload):
        return False
    return is_repeat(state, payload["tasks"], contract.limits)


def _implement(contract: Contract, state: SessionState, payload: Mapping[str, Any], observed: Observed) -> Outcome:
    tasks = reported(state, payload, observed.refuted, contract.limits, observed.proofs)
    if isinstance(tasks, list):
        return Outcome(state, tasks)
    known = set(doubts_of(state.tasks))
    new = [doubt for doubt in doubts_of(tasks) if doubt not in known]
    skips_all = any(is_all_skipped(task) for task in tasks if task.id == payload["task_id"])
    if skips_all and (left := unclaimed(tasks, observed.changed)):
        new.append(left)
    return Outcome(state.with_(tasks=tasks), notes=tuple(f"{DOUBTFUL}{doubt}" for doubt in new))


def _with_unclaimed(state: SessionState, observed: Observed) -> SessionState:
    """Return the state with a warning of the changed files that no accepted item is about, as they are now."""
    left = unclaimed(state.tasks, observed.changed) if state.tasks else ""
    warnings = [warning for warning in state.warnings if not warning.startswith(UNCLAIMED)]
    return state.with_(warnings=(*warnings, left) if left else tuple(warnings))


def is_demanded(rule: PhaseRule, payload: Mapping[str, Any]) -> bool:
    """Return whether a phase's tools are demanded of this submission: not where nothing was written."""
    if rule.duty != "implement":
        return True
    checklist = payload.get("checklist")
    return any(entry.get("status") == "done" for entry in checklist) if isinstance(checklist, list) else True


def _finish(contract: Contract, state: SessionState, payload: Mapping[str, Any], observed: Observed) -> Outcome:
    open_ = [task.id for task in state.open_tasks]
    problems = [f"tasks: still open: {', '.join(open_[:MAX_NAMED])}"] if open_ else []
    return Outcome(_with_unclaimed(state, observed), [*problems, *_unpermitted(observed)])


def _unpermitted(observed: Observed) -> list[str]:
    return [f"files: {file} was changed, but {why}" for file, why in list(observed.unpermitted.items())[:MAX_NAMED]]


def _verify(contract: Contract, state: SessionState, payload: Mapping[str, Any], observed: Observed) -> Outcome:
    failed = list(payload.get("failed_tasks") or ())
    if payload["passed"]:
        problems = ["failed_tasks: tasks are named although it passed"] if failed else []
        return Outcome(state, problems, notes=_own_verdict(contract, observed))
    problems = [f"failed_tasks: no task is registered as '{name}'" for name in failed if state.task(name) is None]
    tasks = with_failures(state.tasks, failed)
    named = tuple(failed) or tuple(task.id for task in state.tasks)
    # Where a flag ends the session here whichever way, nothing else will say how it went.
    ends = (contract.flags[flag].ends_after for flag in state.flags if flag in contract.flags)
    outcome = "verification_failed" if state.phase in ends else state.outcome
    changed = state.with_(
        tasks=tasks,
        failed_tasks=named,
        revert_reason=payload["details"],
        outcome=outcome,
        verify_failures=state.verify_failures + 1,
    )
    return Outcome(changed, problems, has_failed=True)


def _own_verdict(contract: Contract, observed: Observed) -> tuple[str, ...]:
    if observed.checks:
        return ()
    if any(rule.checks for rule in contract.phases.values()):
        return ("no command of the operator had to be run here: this verdict is the agent's own",)
    return ("the operator named no commands to be run: this verdict is the agent's own",)


def _intervene(contract: Contract, state: SessionState, payload: Mapping[str, Any], observed: Observed) -> Outcome:
    tasks = without_failures(state.tasks)
    return Outcome(state.with_(interventions=state.interventions + 1, tasks=tasks, verify_failures=0))


def _commit(contract: Contract, state: SessionState, payload: Mapping[str, Any], observed: Observed) -> Outcome:
    unseen = [file for file in observed.changed if file not in payload["reviewed_files"]]
    problems = [f"reviewed_files: {file} was changed and not reviewed" for file in unseen[:MAX_NAMED]]
    if not observed.changed:
        problems.append(
            "files: nothing was changed, so there is nothing to commit; if the request needs no change, say so to the "
            f"person, who ends the session with `jeeves runs cancel {state.session_id}`"
        )
    problems += _unpermitted(observed)
    effect = Effect("commit", message=payload["commit_message"], tree=observed.tree)
    return Outcome(_with_unclaimed(state, observed).with_(reviewed=""), problems, effects=(effect,))


def _quality(contract: Contract, state: SessionState, payload: Mapping[str, Any], observed: Observed) -> Outcome:
    issues = [str(issue) for issue in payload["issues"]]
    state = state.with_(reviewed=observed.head)
    lost = (observed.tests,) if observed.tests else ()
    if not issues:
        return Outcome(state, notes=(*_own_verdict(contract, observed), *lost))
    reverts = state.quality_reverts + 1
    changed = state.with_(quality_reverts=reverts, revert_reason="quality review found: " + "; ".join(issues))
    if reverts < contract.limits.quality_reverts:
        return Outcome(changed, has_issues=True)
    warning = f"{FORCED}{'; '.join(issues)}"[:MAX_ISSUES_CHARS]
    return Outcome(changed.with_(warnings=(*state.warnings, warning)), notes=(warning,), has_issues=True)


def _merge(contract: Contract, state: SessionState, payload: Mapping[str, Any], observed: Observed) -> Outcome:
    lost = (observed.tests,) if observed.tests else ()
    merged = Outcome(state, notes=lost, effects=(Effect("merge", head=observed.head if observed.tree else ""),))
    looks_again = any(exit_.when == "moved_since_review" for exit_ in contract.phases[state.phase].exits)
    # Without a quality review what was looked at is the session's own commit.
    known = state.reviewed or (state.place.head if state.place is not None else "")
    if not looks_again or not known or observed.head in {"", known}:
        return merged
    said = f"the branch has commits that were made after the review of {known[:12]}"
    reverts = state.quality_reverts + 1
    if reverts > contract.limits.quality_reverts:
        warning = f"{said}, which nobody reviewed"
        return merged._replace(state=state.with_(warnings=(*state.warnings, warning)), notes=(*lost, warning))
    return Outcome(state.with_(quality_reverts=reverts), notes=(f"{said}; review them too",), has_moved=True)


DUTIES: Mapping[Duty, DutyRule] = {
    "": DutyRule(_nothing),
    "branches": DutyRule(_branches),
    "rules": DutyRule(_rules),
    "frame": DutyRule(_frame, frozenset({"bands"})),
    "explore": DutyRule(_explore),
    "question": DutyRule(_question),
    "hypotheses": DutyRule(_hypotheses),
    "impact": DutyRule(_impact),
    "plan": DutyRule(_plan),
    "implement": DutyRule(_implement, frozenset({"evidence"})),
    "finish": DutyRule(_finish, frozenset({"diff", "checks", "proofs"})),
    "verify": DutyRule(_verify, frozenset({"checks", "proofs"})),
    "intervene": DutyRule(_intervene),
    "commit": DutyRule(_commit, frozenset({"diff", "checks", "proofs"})),
    "quality": DutyRule(_quality, frozenset({"head", "checks", "tests"})),
    "merge": DutyRule(_merge, frozenset({"head", "checks", "tests", "proofs"})),
}
