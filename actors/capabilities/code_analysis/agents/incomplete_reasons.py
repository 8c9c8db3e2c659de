"""Explains in the answer why a question's rounds ended with open goals, and names the bound."""

from __future__ import annotations

from actors.capabilities.code_analysis.agents.tool_choice import NOT_PLANNED
from actors.capabilities.code_analysis.answers.composition import ROUNDS_ENDED
from actors.capabilities.code_analysis.evidence.claims import plain
from actors.capabilities.code_analysis.evidence.steps import StepReport
from actors.capabilities.code_analysis.handover.execution import execution_if_any
from actors.capabilities.code_analysis.handover.passes import last_pass, passes_of
from actors.capabilities.code_analysis.question.aspects import Aspect, aspect_of
from runtime.run.stage_view import StageView
from runtime.tools.executor import BREAKER_OPEN, NONE_LEFT

# The rows of the decision tables that end the rounds at a bound.
_BOUND_OF_ROW = {
    "rounds_used_up": "max_stages",
    "reintents_used_up": "max_reintents",
    "loops_used_up": "max_loops_per_stage",
}
# The aspects that each tool serves: a forbidden call affects these alone.
_ASPECTS_OF_TOOL: dict[str, tuple[Aspect, ...]] = {
    "locate": (
        "answer",
        "definition",
        "mechanism",
        "usage",
        "tests",
        "configuration",
        "listing",
        "history",
        "together",
    ),
    "explore_symbol_usage": ("usage", "tests"),
    "map_module": ("structure", "listing"),
    "describe_folder": ("structure",),
    "trace_entry_point": ("mechanism",),
    "read_code": ("answer", "mechanism", "structure"),
}
MAX_FAILURE_CHARS = 300
_NOT_LOOKED_FOR = "Not all was looked at that could tell {of}: the run had {bound} {limit}."
_OF: dict[Aspect, str] = {
    "answer": "what answers it",
    "definition": "where it is defined",
    "mechanism": "how it works",
    "usage": "who uses it",
    "tests": "which tests cover it",
    "configuration": "where it is configured",
    "listing": "what there is",
    "structure": "how it is laid out",
    "history": "how it came about",
    "together": "what changes with it",
}


def bound_reached(view: StageView) -> str | None:
    """Return the bound that left goals open although the run was not ended by one; None without one."""
    if not view.goals.unanswered:
        return None
    if _calls_used_up(view):
        return "max_tool_calls"
    if forbidden := _forbidden_by(view):
        return next(iter(forbidden.values()))
    return _BOUND_OF_ROW.get(last_pass(view).because)


def failure_in(view: StageView) -> str | None:
    """Name the stages that failed for good and took their error route, with the errors; None without one."""
    said = [f"stage `{stage}` failed ({plain(error)[:MAX_FAILURE_CHARS]})" for stage, error in view.failures.items()]
    return ", ".join(said) or None


def ended_because(view: StageView) -> str | None:
    """Explain why goals are open; None when all are answered."""
    if view.failures:
        return failure_in(view)
    if view.goals.unanswered and _calls_used_up(view):
        return "all tool calls that the run may make are made"
    if forbidden := _forbidden_by(view):
        message = ", ".join(f"{bound} {view.context_bounds.get(bound)}" for bound in dict.fromkeys(forbidden.values()))
        return f"the run had {message}, and not all was looked at that was planned"
    if view.goals.unanswered and (unused := _tools_not_used(view)):
        return "; ".join(unused)
    return last_pass(view).ended_because or None


def not_looked_for(view: StageView) -> dict[str, str]:
    """Map each aspect of an open goal that a bound kept from being searched to a sentence that admits it.

    Without it, «none was found» would claim too much.
    """
    return {
        aspect: _NOT_LOOKED_FOR.format(of=_OF[aspect], bound=bound, limit=view.context_bounds.get(bound))
        for aspect, bound in _forbidden_by(view).items()
    }


def reports_of(view: StageView) -> list[StepReport]:
    """Return the reports of the steps of all passes of this query."""
    execution = execution_if_any(view)
    reports = [report for done in passes_of(view) for report in done.steps]
    return reports if execution is None else [*reports, *execution.results]


def _forbidden_by(view: StageView) -> dict[Aspect, str]:
    """Map each aspect of an open goal to the context bound that forbade calls relevant to it in this query."""
    reports = reports_of(view)
    wanted = {aspect_of(goal) for goal in view.goals.unanswered}
    return {
        aspect: bound
        for report in reports
        for bound in report.forbidden_by
        for aspect in _ASPECTS_OF_TOOL.get(report.tool, ())
        if aspect in wanted
    }


def _calls_used_up(view: StageView) -> bool:
    """Return whether a call of the last pass, including its plan's, was refused for lack of tool calls."""
    execution = execution_if_any(view)
    refused = [] if execution is None else [error for report in execution.results for error in report.errors]
    return any(said.endswith(NONE_LEFT) for said in (*refused, *_risks(view)))


def _tools_not_used(view: StageView) -> list[str]:
    """Return why tools were left out of the last plan, or refused by their breaker while it was carried out."""
    execution = execution_if_any(view)
    refused = [] if execution is None else [error for report in execution.results for error in report.errors]
    said = [risk for risk in _risks(view) if NOT_PLANNED in risk]
    return list(dict.fromkeys([*said, *(error for error in refused if BREAKER_OPEN in error)]))


def _risks(view: StageView) -> list[str]:
    """Return the risk factors of the last plan."""
    return last_pass(view).plan.risk_factors or []


def remarks(view: StageView) -> list[str]:
    """Return the answer's remarks on its own making: why goals are open, and weak plans."""
    because = ended_because(view)
    said = [ROUNDS_ENDED.format(because=because)] if because and view.goals.unanswered else []
    if risks := _risks(view):
        said.append(f"The last search was a weak one: {plain('; '.join(risks))}.")
    return said
