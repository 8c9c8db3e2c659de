"""Chooses by rules the next refactoring that brings a function within its limits, or gives up."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from actors.capabilities.violation_fix.refactoring.annotations.modules import TypingRules
from actors.capabilities.violation_fix.refactoring.complexity import Limits, Measures, measure
from actors.capabilities.violation_fix.refactoring.cutting.candidates import MIN_SCORE, Candidate, CandidateSearch
from actors.capabilities.violation_fix.refactoring.extraction import write_extraction
from actors.capabilities.violation_fix.refactoring.flow.name_scopes import FunctionPlace, find_function
from actors.capabilities.violation_fix.refactoring.outcomes import Refused, RefusedRefactoring
from actors.capabilities.violation_fix.refactoring.parameter_lists import split_parameters
from actors.capabilities.violation_fix.refactoring.simplifications.registry import (
    CHOOSING,
    REDUCING,
    SIMPLIFICATIONS,
    simplifications_in,
)
from actors.capabilities.violation_fix.refactoring.simplifications.spot import spots_in
from actors.capabilities.violation_fix.refactoring.source_text import SourceText, last_line

# A reader takes few cuts; the branches of one chain may be more.
MAX_CUTS = 2
# A function that is far over the limit is taken apart into more.
MAX_CUTS_IF_LONG = 3
FAR_OVER = 3
# More blocks without a name of their own, and the function was not made of parts.
MAX_UNNAMED = 2
MAX_STEPS = 5
MAX_SIMPLIFICATIONS = 5
SIMPLIFIED = "simplified"
# How many of the best candidates are followed to their end, by the number of steps before.
BREADTH = (5, 2, 1, 1, 1)
# Some seven seconds for a function of 400 lines in a file of 200 KB.
MAX_ANALYSED = 600
# What a further step of its own, and a further branch of the same chain, cost the reader.
_FURTHER_STEP = 0.93
_FURTHER_BRANCH = 0.98


@dataclass(frozen=True, slots=True)
class Proposal:
    """Proposes one action; `parameters` can be written as JSON and count lines from 1, inclusive.

    `is_unnamed`: the name among them only stands in for one that somebody has to give.
    """

    action: str
    parameters: Mapping[str, str | int]
    suggestion: str
    is_unnamed: bool = False

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
    """Holds what a project asks of new code, and how many blocks a plan analyses before it makes no further cut.

    `leaves_names_open`: blocks that no rule can name may be moved too, since a model or a person names them.
    """

    line_length: int = 88
    # The measures of the old function to bring within the limits; new functions keep all of them.
    goals: frozenset[str] = frozenset({"complexity"})
    reserved: frozenset[str] = field(default_factory=frozenset)
    typing: TypingRules | None = None
    max_analysed: int = MAX_ANALYSED
    leaves_names_open: bool = False


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
    """Return the refactorings that bring a function, and each new one, within the limits."""
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
    far_over = exceeded.get("complexity", 0) >= FAR_OVER
    planner = _Planner(function_qualified_name, limits, frozenset(tried), options, far_over=far_over)
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
    end_line: int
    family: str
    removed: int
    apply: Callable[[], str | None]


class _Planner:
    def __init__(
        self, name: str, limits: Limits, tried: frozenset[str], options: PlanningOptions, *, far_over: bool
    ) -> None:
        self.name = name
        self.limits = limits
        self.tried = tried
        self.options = options
        self.refusals: Counter[str] = Counter()
        self.blocked: dict[str, str] = {}
        self.analysed = 0
        self.max_cuts = MAX_CUTS_IF_LONG if far_over else MAX_CUTS
        self.built_alike: frozenset[str] = frozenset()

    def plan(self, source: str) -> Plan | None:
        """Return the plan that a reader takes most likely, if that is likely enough."""
        text = SourceText(source)
        place = find_function(text.tree, self.name)
        spots = spots_in(text, place, self.options.line_length) if place is not None else iter(())
        self.built_alike = frozenset(ast.dump(spot.node) for spot in spots if spot.is_one_of_many)
        return self._best(source, (), 1.0)

    def _best(self, source: str, before: tuple[_Step, ...], score: float) -> Plan | None:
        """Return the best of what simplifications alone reach, and of what one more cut leads to."""
        best = self._simplified(source, before, score)
        if len(before) == MAX_STEPS or self.analysed >= self.options.max_analysed:
            return best
        followed = 0
        steps = self._steps(source, self._extractions)
        needed = self._needed(source)
        for step in steps:
            reached = _score_with(step, before, score)
            if reached < MIN_SCORE or (best is not None and reached <= best.score):
                continue
            if not _is_bearable((*before, step), self.max_cuts):
                continue
            if _most_removed(step, steps, self.max_cuts - _cuts_of(before)) + MAX_SIMPLIFICATIONS < needed:
                continue
            followed += 1
            if followed > BREADTH[len(before)]:
                break
            plan = self._followed(step, before, reached)
            if plan is not None and (best is None or plan.score > best.score):
                best = plan
        return best

    def _needed(self, source: str) -> int:
        """Return by how much the complexity has to fall; 0 where other measures decide."""
        if self.options.goals != {"complexity"}:
            return 0
        place = find_function(SourceText(source).tree, self.name)
        return exceeded_of(place, self.limits, self.options).get("complexity", 0) if place is not None else 0

    def _followed(self, step: _Step, before: tuple[_Step, ...], score: float) -> Plan | None:
        source = step.apply()
        return self._best(source, (*before, step), score) if source is not None else None

    def _simplified(self, source: str, before: tuple[_Step, ...], score: float) -> Plan | None:
        """Return a plan that ends with simplifications, the best ones first and no more than are needed."""
        done = before
        while True:
            place = find_function(SourceText(source).tree, self.name)
            if place is None:
                return None
            if done and not exceeded_of(place, self.limits, self.options):
                return Plan(tuple(each.proposal for each in done), source, score)
            step = next(iter(self._steps(source, self._simplifications)), None)
            if step is None or len(done) - len(before) == MAX_SIMPLIFICATIONS:
                return None
            score = _score_with(step, done, score)
            simplified = step.apply()
            if score < MIN_SCORE or simplified is None:
                return None
            source, done = simplified, (*done, step)

    def _steps(self, source: str, found_in: Callable[[SourceText, FunctionPlace], list[_Step]]) -> list[_Step]:
        """Return what can be done with a source next, best first."""
        text = SourceText(source)
        place = find_function(text.tree, self.name)
        found = found_in(text, place) if place is not None else []
        untried = [step for step in found if step.proposal.key not in self.tried]
        return sorted(untried, key=lambda step: (-step.score, step.start_line))

    def _extractions(self, text: SourceText, place: FunctionPlace) -> list[_Step]:
        exceeded = exceeded_of(place, self.limits, self.options)
        needed = max(exceeded.get("complexity", 0), exceeded.get("branches", 0), 1)
        search = CandidateSearch(
            text,
            place,
            reserved=self.options.reserved,
            typing=self.options.typing,
            leaves_names_open=self.options.leaves_names_open,
        )
        found = search.ranked(needed, self.limits)
        self.analysed += search.analysed
        for refusal in search.refusals:
            self._count(refusal)
        return [
            _Step(
                self._extraction(one),
                one.score,
                one.start_line,
                one.end_line,
                one.family,
                one.complexity_removed,
                partial(self._extracted, one),
            )
            for one in found
        ]

    def _extracted(self, candidate: Candidate) -> str | None:
        name, line_length = candidate.suggested_name, self.options.line_length
        try:
            return write_extraction(candidate.prepared, name, line_length)
        except RefusedRefactoring as refused:
            self._count(refused.refusal)
            return None

    def _simplifications(self, text: SourceText, place: FunctionPlace) -> list[_Step]:
        steps = []
        for spot, kind in simplifications_in(text, place, self.options.line_length):
            # Branches that were alike stay so, also where a cut has taken the other one away.
            if kind in CHOOSING and ast.dump(spot.node) in self.built_alike:
                continue
            try:
                source = SIMPLIFICATIONS[kind](spot)
            except RefusedRefactoring as refused:
                self._count(refused.refusal)
                continue
            if source is not None:
                proposal = self._simplification(spot.line, kind)
                lines = spot.line, last_line(spot.node)
                steps.append(_Step(proposal, REDUCING[kind], *lines, SIMPLIFIED, 1, partial(str, source)))
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
                f"{candidate.told}: complexity less {candidate.complexity_removed}{candidate.called_in}"
            ),
            is_unnamed=candidate.is_unnamed,
        )

    def _count(self, refusal: Refused) -> None:
        self.refusals[refusal.code] += 1
        self.blocked.setdefault(refusal.code, str(refusal))

    def reason(self, exceeded: Mapping[str, int]) -> GiveUp:
        over = ", ".join(f"{name} {amount} over" for name, amount in exceeded.items())
        if self.analysed >= self.options.max_analysed:
            over += f"; the search ended after {self.analysed} blocks"
        if not self.refusals:
            return GiveUp("no_candidate", f"{self.name}: {over}; no block is worth a function of its own")
        code, _ = self.refusals.most_common(1)[0]
        return GiveUp(
            code,
            f"{self.name}: {over}; no blocks with a name of their own are enough, mostly since {self.blocked[code]}",
        )


def _score_with(step: _Step, before: Sequence[_Step], score: float) -> float:
    """Return how likely a reader takes the steps before and this one: the weakest decides, each further one costs."""
    if not before:
        return step.score
    is_branch = step.family == SIMPLIFIED or (bool(step.family) and any(step.family == each.family for each in before))
    return min(score, step.score) * (_FURTHER_BRANCH if is_branch else _FURTHER_STEP)


def _is_bearable(steps: Sequence[_Step], max_cuts: int) -> bool:
    """Return whether there are not too many cuts; branches of one chain count as one."""
    names = [str(step.proposal.parameters.get("name", number)) for number, step in enumerate(steps)]
    # Two names for one thing leave the reader to guess which does what.
    if len({name.strip("_").partition("_")[2] or name for name in names}) < len(names):
        return False
    if any(other.startswith(f"{name}_") for name in names for other in names):
        return False
    if sum(step.proposal.is_unnamed for step in steps) > MAX_UNNAMED:
        return False
    return _cuts_of(steps) <= max_cuts


def _cuts_of(steps: Sequence[_Step]) -> int:
    cuts = {step.family or str(number) for number, step in enumerate(steps)}
    return len(cuts - {SIMPLIFIED})


def _most_removed(step: _Step, steps: Sequence[_Step], cuts: int) -> int:
    """Return at most how much complexity a step takes away, with the others that may still be made besides it."""
    gains: dict[str, int] = {}
    for number, other in enumerate(steps):
        if other is step or step.start_line <= other.start_line <= other.end_line <= step.end_line:
            continue
        is_around = other.start_line <= step.start_line and step.end_line <= other.end_line
        unit = other.family or str(number)
        gains[unit] = gains.get(unit, 0) + other.removed - (step.removed if is_around else 0)
    own = gains.pop(step.family, 0) if step.family else 0
    further = sorted(gains.values(), reverse=True)[: max(cuts - 1, 0)]
    return step.removed + own + sum(further)
