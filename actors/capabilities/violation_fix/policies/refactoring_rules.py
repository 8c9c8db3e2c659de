"""Chooses by rules the next refactoring that brings a function within its limits, or gives up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial

from actors.capabilities.violation_fix.refactoring.annotations.modules import TypingRules
from actors.capabilities.violation_fix.refactoring.candidates import Candidate, CandidateSearch
from actors.capabilities.violation_fix.refactoring.complexity import Limits, Measures, measure
from actors.capabilities.violation_fix.refactoring.conditionals import REDUCING, SIMPLIFICATIONS, conditionals_in
from actors.capabilities.violation_fix.refactoring.extraction import write_extraction
from actors.capabilities.violation_fix.refactoring.name_scopes import FunctionPlace, find_function
from actors.capabilities.violation_fix.refactoring.outcomes import Refused, RefusedRefactoring
from actors.capabilities.violation_fix.refactoring.parameter_lists import split_parameters
from actors.capabilities.violation_fix.refactoring.source_text import SourceText

MAX_STEPS = 6
# How many of the best candidates are followed to their end at each step.
BREADTH = 3
SIMPLIFICATION_SCORE = 3.4


@dataclass(frozen=True, slots=True)
class Proposal:
    """Proposes one action; `parameters` can be written as JSON and count lines from 1, inclusive."""

    action: str
    parameters: Mapping[str, str | int]
    suggestion: str

    @property
    def key(self) -> str:
        """Identifies the proposal among those that were tried, even if lines have moved since."""
        names = ("function", "name", "kind", "line")
        return ":".join([self.action, *(str(self.parameters.get(name, "")) for name in names)])


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
    typing: TypingRules | None = None


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
        return _plan_parameters(source, place, exceeded["arguments"], frozenset(tried), options)
    planner = _Planner(function_qualified_name, limits, frozenset(tried), options)
    return planner.plan(source) or planner.reason(exceeded)


def _plan_parameters(
    source: str, place: FunctionPlace, over: int, tried: frozenset[str], options: PlanningOptions
) -> Plan | GiveUp:
    """Gather the last parameters of a function in one, if all its callers can be seen."""
    arguments = [*place.function.args.posonlyargs, *place.function.args.args]
    names = [argument.arg for argument in arguments[-over - 1 :]]
    done = split_parameters(source, place.qualified_name, names, reserved=options.reserved)
    if isinstance(done, Refused):
        return GiveUp("escalate", f"{place.qualified_name} takes {over} arguments too many, and {done}")
    proposal = Proposal(
        action="split_parameters",
        parameters={"function": place.qualified_name, "names": ",".join(names), "name": done.new_functions[0]},
        suggestion=f"gather {', '.join(names)} of {place.qualified_name} in {done.new_functions[0]}",
    )
    if proposal.key in tried:
        return GiveUp("tried", f"the parameters of {place.qualified_name} were gathered before, to no avail")
    return Plan((proposal,), done.source)


def measures_of(place: FunctionPlace) -> Measures:
    return measure(place.function, in_class=place.is_method)


def exceeded_of(place: FunctionPlace, limits: Limits, options: PlanningOptions) -> dict[str, int]:
    """Return by how much a function exceeds the limits that are to be met."""
    return {name: over for name, over in measures_of(place).over(limits).items() if name in options.goals}


@dataclass(frozen=True)
class _Step:
    """Joins a proposal with the source that it leads to, made when it is first asked for."""

    proposal: Proposal
    score: float
    start_line: int
    apply: Callable[[], str | None]


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
        for step in self._steps(source)[:BREADTH]:
            shortest = min((len(plan.steps) for plan in plans), default=MAX_STEPS)
            if shortest == 1:
                break
            plan = self._follow(step, shortest)
            if plan is not None:
                plans.append(plan)
        return min(plans, key=lambda plan: (len(plan.steps), -plan.score), default=None)

    def _follow(self, first: _Step, at_most: int) -> Plan | None:
        steps: list[Proposal] = []
        score = 0.0
        step: _Step | None = first
        while step is not None and len(steps) < at_most:
            source = step.apply()
            if source is None:
                return None
            steps.append(step.proposal)
            score += step.score
            place = find_function(SourceText(source).tree, self.name)
            if place is None:
                return None
            if not exceeded_of(place, self.limits, self.options):
                return Plan(tuple(steps), source, score)
            step = next(iter(self._steps(source)), None)
        return None

    def _steps(self, source: str) -> list[_Step]:
        """Return what can be done with a source next, best first."""
        text = SourceText(source)
        place = find_function(text.tree, self.name)
        if place is None:
            return []
        exceeded = exceeded_of(place, self.limits, self.options)
        needed = max(exceeded.get("complexity", 0), exceeded.get("branches", 0), 1)
        found = [*self._extractions(text, place, needed), *self._simplifications(text, place, needed)]
        untried = [step for step in found if step.proposal.key not in self.tried]
        return sorted(untried, key=lambda step: (-step.score, step.start_line))

    def _extractions(self, text: SourceText, place: FunctionPlace, needed: int) -> list[_Step]:
        search = CandidateSearch(text, place, reserved=self.options.reserved, typing=self.options.typing)
        found = search.ranked(needed, self.limits)
        for refusal in search.refusals:
            self._count(refusal)
        return [_Step(self._extraction(one), one.score, one.start_line, partial(self._extracted, one)) for one in found]

    def _extracted(self, candidate: Candidate) -> str | None:
        name, line_length = candidate.suggested_name, self.options.line_length
        try:
            return write_extraction(candidate.block, candidate.extraction, name, line_length, candidate.signature)
        except RefusedRefactoring as refused:
            self._count(refused.refusal)
            return None

    def _simplifications(self, text: SourceText, place: FunctionPlace, needed: int) -> list[_Step]:
        steps = []
        for conditional in conditionals_in(text, place, self.options.line_length):
            for kind in REDUCING:
                try:
                    source = SIMPLIFICATIONS[kind](conditional)
                except RefusedRefactoring as refused:
                    self._count(refused.refusal)
                    continue
                if source is not None:
                    score = SIMPLIFICATION_SCORE + (2.0 if needed == 1 else 0.0)
                    proposal = self._simplification(conditional.line, kind)
                    steps.append(_Step(proposal, score, conditional.line, partial(str, source)))
        return steps

    def _simplification(self, line: int, kind: str) -> Proposal:
        return Proposal(
            action="simplify_conditional",
            parameters={"function": self.name, "line": line, "kind": kind},
            suggestion=f"{kind.replace('_', ' ')} on line {line} of {self.name}: complexity less 1",
        )

    def _extraction(self, candidate: Candidate) -> Proposal:
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

    def _count(self, refusal: Refused) -> None:
        self.refusals[refusal.code] += 1
        self.blocked.setdefault(refusal.code, str(refusal))

    def reason(self, exceeded: Mapping[str, int]) -> GiveUp:
        over = ", ".join(f"{name} {amount} over" for name, amount in exceeded.items())
        if not self.refusals:
            return GiveUp("no_candidate", f"{self.name}: {over}; no block is worth a function of its own")
        code, _ = self.refusals.most_common(1)[0]
        return GiveUp(
            code, f"{self.name}: {over}; no sequence of extractions is enough, mostly since {self.blocked[code]}"
        )
