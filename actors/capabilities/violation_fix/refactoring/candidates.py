"""Ranks the blocks of a function that are worth extracting."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from actors.capabilities.violation_fix.refactoring.annotations.modules import TypingRules
from actors.capabilities.violation_fix.refactoring.annotations.signatures import (
    UNTYPED,
    Annotator,
    Signature,
    is_annotated,
)
from actors.capabilities.violation_fix.refactoring.block_analysis import Extraction, FunctionAnalysis
from actors.capabilities.violation_fix.refactoring.block_context import BlockContext, is_function_body
from actors.capabilities.violation_fix.refactoring.block_exits import Form
from actors.capabilities.violation_fix.refactoring.callee_hazards import CalleeHazards
from actors.capabilities.violation_fix.refactoring.complexity import (
    Limits,
    Loop,
    Try,
    branches_of,
    complexity_of,
    nesting_of,
    statements_of,
)
from actors.capabilities.violation_fix.refactoring.extraction import Block, block_of
from actors.capabilities.violation_fix.refactoring.name_scopes import (
    BUILTIN_NAMES,
    FunctionPlace,
    Scope,
    has_lazy_annotations,
    names_in_module,
    places_of,
    statement_lists,
)
from actors.capabilities.violation_fix.refactoring.naming import SuggestedName, suggest_names
from actors.capabilities.violation_fix.refactoring.outcomes import Refused, RefusedRefactoring
from actors.capabilities.violation_fix.refactoring.source_text import SourceText, first_line, last_line

MAX_OUTPUTS = 3
MIN_LINES = 3
# Below this, readers who would have to merge it found most names misleading.
MIN_QUALITY = 0.6
# Forms whose call is followed by a branch of its own.
_ASKING = (Form.IF_JUMP, Form.IF_RESULT, Form.IF_NONE)
_MAX_RUN = 14
# How many simple statements may prepare the first compound statement of a block.
_MAX_LEADING = 4


@dataclass(frozen=True)
class Candidate:
    """Proposes one extraction; `score` orders candidates, higher first."""

    start_line: int
    end_line: int
    suggested_name: str
    reason: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    complexity_removed: int
    score: float
    block: Block
    extraction: Extraction
    signature: Signature


class CandidateSearch:
    """Looks for candidates in one function and the functions nested in it."""

    def __init__(
        self,
        source: SourceText,
        place: FunctionPlace,
        *,
        reserved: Collection[str] = (),
        typing: TypingRules | None = None,
    ) -> None:
        self.source = source
        self._annotator = Annotator(source, typing)
        self._callees = CalleeHazards(self._annotator.package)
        self.place = place
        self.taken = names_in_module(source.tree) | BUILTIN_NAMES | frozenset(reserved)
        self.refusals: list[Refused] = []
        lazy = has_lazy_annotations(source.tree)
        inner = [other for other in places_of(source.tree) if place.function in other.parents]
        self._analyses = [FunctionAnalysis(found, annotations_are_evaluated=not lazy) for found in (place, *inner)]

    @cached_property
    def _dispatch_prefixes(self) -> tuple[str, ...]:
        """Prefixes of names that the file looks up by getattr: a new method must not be found by accident."""
        strings = (
            node.value
            for node in ast.walk(self.source.tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        )
        found = (re.match(r"^(_\w*_)(?:%s|\{.*\})?$", text) for text in strings if len(text) < 60)
        return tuple(match.group(1) for match in found if match)

    def ranked(self, needed: int, limits: Limits) -> list[Candidate]:
        """Return candidates whose new function keeps all limits, best first; `needed` is what must be removed."""
        found: list[Candidate] = []
        for analysis in self._analyses:
            if analysis.refusal is not None:
                self.refusals.append(analysis.refusal)
                continue
            for statements, parents in _runs(analysis):
                candidate = self._candidate(analysis, statements, parents, needed, limits)
                if candidate is not None:
                    found.append(candidate)
        return sorted(found, key=lambda candidate: (-candidate.score, candidate.start_line, -candidate.end_line))

    def _candidate(
        self,
        analysis: FunctionAnalysis,
        statements: Sequence[ast.stmt],
        parents: Sequence[ast.stmt],
        needed: int,
        limits: Limits,
    ) -> Candidate | None:
        if not _keeps_limits(statements, limits) or is_function_body(analysis.place, statements):
            return None
        try:
            block = block_of(self.source, analysis.place, statements)
        except RefusedRefactoring as refused:
            self.refusals.append(refused.refusal)
            return None
        extraction = analysis.analyse(statements)
        if isinstance(extraction, Refused):
            self.refusals.append(extraction)
            return None
        removed = complexity_of(statements) - (extraction.form in _ASKING)
        if (
            removed < 1
            or last_line(statements[-1]) - first_line(statements[0]) + 1 < MIN_LINES
            or not _is_sensible(extraction, limits)
        ):
            return None
        context = BlockContext(self.source, analysis.place, statements, parents, extraction.parameters)
        name = self._free_name(suggest_names(context, extraction))
        if name is None:
            refusal = Refused("no_name", "nothing in the block says what it does", (block.first_line, block.last_line))
            self.refusals.append(refusal)
            return None
        try:
            self._callees.refuse(extraction.statements, extraction.host)
            signature = self._annotator.signature(analysis.place, extraction)
        except RefusedRefactoring as refused:
            self.refusals.append(refused.refusal)
            return None
        candidate = Candidate(
            start_line=block.first_line,
            end_line=block.last_line,
            suggested_name=name.name,
            reason=f"named after {name.reason}",
            inputs=extraction.parameters,
            outputs=extraction.outputs,
            complexity_removed=removed,
            score=0.0,
            block=block,
            extraction=extraction,
            signature=signature,
        )
        return replace(candidate, score=round(_score(candidate, context, name, needed), 4))

    def _free_name(self, suggestions: Sequence[SuggestedName]) -> SuggestedName | None:
        for suggestion in suggestions:
            if suggestion.quality < MIN_QUALITY:
                continue
            name = suggestion.name
            is_looked_up = any(name.startswith(prefix) and prefix != "_" for prefix in self._dispatch_prefixes)
            if name not in self.taken and name.lstrip("_") not in BUILTIN_NAMES and not is_looked_up:
                return suggestion
        return None


def _runs(analysis: FunctionAnalysis) -> Iterator[tuple[list[ast.stmt], tuple[ast.stmt, ...]]]:
    """Yield runs of consecutive statements that a reader could see as a unit, outer blocks first."""
    pending: list[tuple[list[ast.stmt], tuple[ast.stmt, ...]]] = [(analysis.place.function.body, ())]
    while pending:
        body, parents = pending.pop(0)
        is_compound = [complexity_of([statement]) > 0 for statement in body]
        for begin in range(len(body)):
            leading = next((n for n in range(begin, len(body)) if is_compound[n]), None)
            if leading is None or leading - begin > _MAX_LEADING:
                continue
            last = min(len(body), begin + _MAX_RUN)
            for end in range(leading + 1, last + 1):
                if is_compound[end - 1] or end == len(body):
                    yield body[begin:end], parents
            if last < len(body):
                yield body[begin:], parents
        for statement in body:
            if not isinstance(statement, Scope):
                pending += [(inner, (*parents, statement)) for inner in statement_lists(statement)]


def _keeps_limits(statements: Sequence[ast.stmt], limits: Limits) -> bool:
    measured = (
        (complexity_of(statements) + 1, limits.complexity),
        (branches_of(statements), limits.branches),
        (statements_of(statements) + 1, limits.statements),
        (nesting_of(statements), limits.nesting),
    )
    return complexity_of(statements) > 0 and all(limit is None or value <= limit for value, limit in measured)


def _is_sensible(extraction: Extraction, limits: Limits) -> bool:
    if limits.arguments is not None and len(extraction.parameters) > limits.arguments:
        return False
    returns = len(extraction.crossings.lines) + extraction.falls_through
    if limits.returns is not None and returns > limits.returns:
        return False
    only_raises = not extraction.falls_through and not extraction.crossings.lines
    # A generator whose value is used besides what it yields is hard to read.
    if extraction.crossings.yields and (extraction.form is not Form.PLAIN or extraction.outputs):
        return False
    return len(extraction.outputs) <= MAX_OUTPUTS and not only_raises


_FORM_COST = {
    Form.PLAIN: 0.0,
    Form.RETURN: 0.1,
    Form.THEN_JUMP: 0.7,
    Form.IF_JUMP: 0.9,
    Form.IF_RESULT: 0.9,
    Form.IF_NONE: 1.2,
}


def _score(candidate: Candidate, context: BlockContext, name: SuggestedName, needed: int) -> float:
    statements = candidate.block.statements
    score = 4.0 * name.quality - _FORM_COST[candidate.extraction.form]
    score -= 0.3 * len(candidate.inputs) + 0.7 * max(0, len(candidate.outputs) - 1)
    score -= 0.5 * candidate.extraction.crossings.yields
    score -= 1.0 if candidate.signature == UNTYPED and is_annotated(candidate.block.place) else 0.0
    # A module or function handed over as an argument reads badly.
    score -= 0.6 * len(set(candidate.inputs) & context.defined_names)
    score += 0.35 * min(candidate.complexity_removed, needed)
    score -= 0.6 if candidate.complexity_removed * 6 < needed else 0.0
    score += 2.0 if candidate.complexity_removed >= needed else 0.0
    score += _unity(statements, context) + _fit_with_return(candidate, context)
    # Attributes belong into the constructor itself.
    score -= 1.2 if context.function_name == "__init__" and context.sets_attributes else 0.0
    overlapping = set(candidate.inputs) & set(candidate.outputs)
    score -= 0.4 * len(overlapping)
    lines = candidate.end_line - candidate.start_line + 1
    score -= 0.8 if lines <= 4 else 0.0
    score -= 1.0 if candidate.complexity_removed == 1 < needed else 0.0
    share = statements_of(statements) / max(1, statements_of(candidate.block.place.function.body))
    return score - (1.5 if share > 0.75 else 0.0)


def _fit_with_return(candidate: Candidate, context: BlockContext) -> float:
    """Prefer blocks that take the return of their output with them."""
    last = candidate.block.statements[-1]
    if isinstance(last, ast.Return) and isinstance(last.value, ast.Name):
        return 0.5
    after = context.next_statement
    is_returned = isinstance(after, ast.Return) and isinstance(after.value, ast.Name)
    return -0.5 if is_returned and len(candidate.outputs) == 1 else 0.0


def _unity(statements: Sequence[ast.stmt], context: BlockContext) -> float:
    """Reward blocks that a reader sees as one thing."""
    parent = context.parents[-1] if context.parents else None
    unity = 0.0
    if parent is not None and any(list(statements) == body for body in statement_lists(parent)):
        unity += 0.7
    if len(statements) == 1 and isinstance(statements[0], Loop | Try | ast.With | ast.AsyncWith | ast.Match | ast.If):
        unity += 0.6
    if context.comment:
        unity += 0.5
    # A run that begins in the middle of other code is less of a unit the longer it is.
    if isinstance(statements[0], ast.If) and context.source.is_elif(statements[0]):
        unity -= 1.2
    return unity - 0.08 * max(0, len(statements) - 1)


def find_candidates(
    source: str, qualified_name: str, limits: Limits | None = None, *, reserved: Collection[str] = ()
) -> list[Candidate]:
    """Return the extractions worth proposing for a function, best first; none where it is not in the file."""
    text = SourceText(source)
    limits = limits or Limits()
    wanted = qualified_name.replace(".<locals>", "")
    found = [place for place in places_of(text.tree) if place.qualified_name == wanted]
    if not found:
        return []
    place = max(found, key=lambda one: complexity_of(one.function.body))
    needed = max(1, 1 + complexity_of(place.function.body) - (limits.complexity or 0))
    return CandidateSearch(text, place, reserved=reserved).ranked(needed, limits)
