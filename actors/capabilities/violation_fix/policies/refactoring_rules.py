"""Chooses by rules the next refactoring that brings a function within its limits, or gives up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from actors.capabilities.violation_fix.refactoring.candidates import Candidate, CandidateSearch
from actors.capabilities.violation_fix.refactoring.complexity import Limits, Measures, measure
from actors.capabilities.violation_fix.refactoring.extraction import write_extraction
from actors.capabilities.violation_fix.refactoring.name_scopes import FunctionPlace, find_function
from actors.capabilities.violation_fix.refactoring.outcomes import RefusedRefactoring
from actors.capabilities.violation_fix.refactoring.source_text import SourceText

MAX_STEPS = 8
# How many of the best candidates are followed to their end at each step.
BREADTH = 3


@dataclass(frozen=True, slots=True)
class Proposal:
    """Proposes one action; `parameters` can be written as JSON and count lines from 1, inclusive."""

    action: str
    parameters: Mapping[str, str | int]
    suggestion: str

    @property
    def key(self) -> str:
        """Identifies the proposal among those that were tried, even if lines have moved since."""
        return f"{self.action}:{self.parameters.get('function', '')}:{self.parameters.get('name', '')}"


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Explains why no refactoring is proposed."""

    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class Plan:
    """Lists the proposals that bring a function within its limits and the source after all of them."""

    steps: tuple[Proposal, ...]
    source: str
    score: float = 0.0


@dataclass(frozen=True)
class PlanningOptions:
    """Holds what a project asks of new code."""

    line_length: int = 88
    # The measures of the old function to bring within the limits; new functions keep all of them.
    goals: frozenset[str] = frozenset({"complexity"})
    reserved: frozenset[str] = field(default_factory=frozenset)


def next_refactoring(
    source: str,
    function_qualified_name: str,
    limits: Limits,
    tried: Collection[str] = (),
    options: PlanningOptions | None = None,
) -> Proposal | GiveUp:
    """Return the first step of a plan that ends within the limits; `tried` are keys of proposals not to repeat."""
    plan = plan_refactorings(source, function_qualified_name, limits, tried, options)
    return plan if isinstance(plan, GiveUp) else plan.steps[0]


def plan_refactorings(
    source: str,
    function_qualified_name: str,
    limits: Limits,
    tried: Collection[str] = (),
    options: PlanningOptions | None = None,
) -> Plan | GiveUp:
    """Return the fewest refactorings that bring a function, and each new one, within the limits."""
    try:
        place = find_function(SourceText(source).tree, function_qualified_name)
    except (SyntaxError, ValueError) as error:
        return GiveUp("syntax_error", f"the file does not parse: {error}")
    if place is None:
        return GiveUp("no_such_function", f"{function_qualified_name} is not in the file")
    options = options or PlanningOptions()
    exceeded = exceeded_of(place, limits, options)
    if not exceeded:
        return GiveUp("within_limits", f"{function_qualified_name} keeps all limits")
    if "arguments" in exceeded:
        return GiveUp("escalate", f"{function_qualified_name} takes {exceeded['arguments']} arguments too many")
    planner = _Planner(function_qualified_name, limits, frozenset(tried), options)
    return planner.plan(source) or planner.reason(exceeded)


def measures_of(place: FunctionPlace) -> Measures:
    return measure(place.function, in_class=place.is_method)


def exceeded_of(place: FunctionPlace, limits: Limits, options: PlanningOptions) -> dict[str, int]:
    """Return by how much a function exceeds the limits that are to be met."""
    return {name: over for name, over in measures_of(place).over(limits).items() if name in options.goals}


class _Planner:
    def __init__(self, name: str, limits: Limits, tried: frozenset[str], options: PlanningOptions) -> None:
        self.name = name
        self.limits = limits
        self.tried = tried
        self.options = options
        self.refusals: Counter[str] = Counter()
        self.blocked: dict[str, str] = {}

    def plan(self, source: str) -> Plan | None:
        """Follow the best candidates; where they lead nowhere, try the next best first steps."""
        plans: list[Plan] = []
        for candidate in self._candidates(source)[:BREADTH]:
            shortest = min((len(plan.steps) for plan in plans), default=MAX_STEPS)
            if shortest == 1:
                break
            plan = self._follow(source, candidate, shortest)
            if plan is not None:
                plans.append(plan)
        return min(plans, key=lambda plan: (len(plan.steps), -plan.score), default=None)

    def _follow(self, source: str, first: Candidate, at_most: int) -> Plan | None:
        steps: list[Proposal] = []
        score = 0.0
        candidate: Candidate | None = first
        while candidate is not None and len(steps) < at_most:
            written = self._apply(source, candidate)
            if written is None:
                return None
            steps.append(self._proposal(candidate))
            score += candidate.score
            source = written
            place = find_function(SourceText(source).tree, self.name)
            if place is None or not exceeded_of(place, self.limits, self.options):
                return Plan(tuple(steps), source, score) if place is not None else None
            candidate = next(iter(self._candidates(source)), None)
        return None

    def _apply(self, source: str, candidate: Candidate) -> str | None:
        try:
            return write_extraction(
                candidate.block,
                candidate.extraction,
                candidate.suggested_name,
                self.options.line_length,
            )
        except RefusedRefactoring as refused:
            self._count(refused.refusal.code, str(refused.refusal))
            return None

    def _candidates(self, source: str) -> list[Candidate]:
        text = SourceText(source)
        place = find_function(text.tree, self.name)
        if place is None:
            return []
        exceeded = exceeded_of(place, self.limits, self.options)
        search = CandidateSearch(text, place, reserved=self.options.reserved)
        needed = max(exceeded.get("complexity", 0), exceeded.get("branches", 0), 1)
        found = search.ranked(needed, self.limits)
        for refusal in search.refusals:
            self._count(refusal.code, str(refusal))
        return [candidate for candidate in found if self._proposal(candidate).key not in self.tried]

    def _proposal(self, candidate: Candidate) -> Proposal:
        return Proposal(
            action="extract_function",
            parameters={
                "function": self.name,
                "start_line": candidate.start_line,
                "end_line": candidate.end_line,
                "name": candidate.suggested_name,
            },
            suggestion=(
                f"extract lines {candidate.start_line} to {candidate.end_line} of {self.name} into "
                f"{candidate.suggested_name}({', '.join(candidate.inputs)}), {candidate.reason}: "
                f"complexity less {candidate.complexity_removed}"
            ),
        )

    def _count(self, code: str, text: str) -> None:
        self.refusals[code] += 1
        self.blocked.setdefault(code, text)

    def reason(self, exceeded: Mapping[str, int]) -> GiveUp:
        over = ", ".join(f"{name} {amount} over" for name, amount in exceeded.items())
        if not self.refusals:
            return GiveUp("no_candidate", f"{self.name}: {over}; no block is worth a function of its own")
        code, _ = self.refusals.most_common(1)[0]
        return GiveUp(
            code, f"{self.name}: {over}; no sequence of extractions is enough, mostly since {self.blocked[code]}"
        )
