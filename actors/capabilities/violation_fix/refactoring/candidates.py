"""Ranks the blocks of a function that are worth extracting."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from actors.capabilities.violation_fix.refactoring.annotations.modules import TypingRules
from actors.capabilities.violation_fix.refactoring.annotations.signatures import (
    UNTYPED,
    Annotator,
    is_annotated,
)
from actors.capabilities.violation_fix.refactoring.block_analysis import Extraction, FunctionAnalysis
from actors.capabilities.violation_fix.refactoring.block_exits import Form
from actors.capabilities.violation_fix.refactoring.blocks import Block, block_of
from actors.capabilities.violation_fix.refactoring.callee_hazards import CalleeHazards
from actors.capabilities.violation_fix.refactoring.complexity import (
    Function,
    Limits,
    branches_of,
    complexity_of,
    nesting_of,
    statements_of,
)
from actors.capabilities.violation_fix.refactoring.copies import Copies, Copy, CopySearch
from actors.capabilities.violation_fix.refactoring.cuts import Cut, Shape, cuts_of, stores_result
from actors.capabilities.violation_fix.refactoring.extraction import Prepared, prepared
from actors.capabilities.violation_fix.refactoring.halves import is_half_assigned, is_half_built, starts_outside
from actors.capabilities.violation_fix.refactoring.name_scopes import (
    BUILTIN_NAMES,
    FunctionPlace,
    Scope,
    bound_names,
    has_lazy_annotations,
    names_in_module,
    places_of,
)
from actors.capabilities.violation_fix.refactoring.naming.block_context import BlockContext
from actors.capabilities.violation_fix.refactoring.naming.block_effects import EffectKind
from actors.capabilities.violation_fix.refactoring.naming.helper_names import suggest_names
from actors.capabilities.violation_fix.refactoring.naming.suggestion import BRANCH_REASON, SuggestedName
from actors.capabilities.violation_fix.refactoring.outcomes import Refused, RefusedRefactoring
from actors.capabilities.violation_fix.refactoring.source_text import SourceText, first_line, last_line

MAX_OUTPUTS = 2
MIN_LINES = 3
# The branches of a chain as long as this can be moved one by one.
_LEAST_CHAIN = 3
# Below this, readers who would have to merge it found most names misleading.
MIN_QUALITY = 0.48
# Below this, readers who would have to merge it turned most plans down; no plan is better than its weakest cut.
MIN_SCORE = 0.48
# Forms whose call is followed by a branch of its own.
_ASKING = (Form.IF_JUMP, Form.IF_RESULT, Form.IF_NONE)


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
    prepared: Prepared
    family: str = ""


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
        self._copies = CopySearch(source)
        self.place = place
        self.taken = names_in_module(source.tree) | BUILTIN_NAMES | frozenset(reserved)
        self.refusals: list[Refused] = []
        self.analysed = 0
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
            for cut in cuts_of(analysis, self.source):
                candidate = self._candidate(analysis, cut, limits)
                if candidate is not None:
                    found.append(candidate)
        return sorted(found, key=lambda candidate: (-candidate.score, candidate.start_line, -candidate.end_line))

    def _candidate(self, analysis: FunctionAnalysis, cut: Cut, limits: Limits) -> Candidate | None:
        statements = cut.statements
        if not _keeps_limits(statements, limits) or _leaves_nothing(analysis.place, statements):
            return None
        try:
            block = block_of(self.source, analysis.place, statements)
        except RefusedRefactoring as refused:
            self.refusals.append(refused.refusal)
            return None
        self.analysed += 1
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
        context = BlockContext(self.source, analysis.place, cut, extraction)
        name = self._free_name(suggest_names(context))
        if name is None:
            refusal = Refused("no_name", "no name says all that it does", (block.first_line, block.last_line))
            self.refusals.append(refusal)
            return None
        score = name.quality * _fitness(block, extraction, context)
        if score / _twin_factor(context) < MIN_SCORE:
            self.refusals.append(_poor_cut(name, block))
            return None
        try:
            made = prepared(self._annotator, self._callees, self._copies, block, extraction, name.name)
        except RefusedRefactoring as refused:
            self.refusals.append(refused.refusal)
            return None
        signature, copies = made.signature, self._inside(made.copies)
        score *= _LIKE_FACTOR if made.copies.leaves_others else 1.0
        # What is written twice in the function goes as a whole.
        score /= _twin_factor(context) if copies and not made.copies.leaves_others else 1.0
        if score < MIN_SCORE:
            self.refusals.append(_poor_cut(name, block))
            return None
        if signature == UNTYPED and is_annotated(analysis.place):
            if (line := _first_excuse(self.source, block)) is not None:
                message = "a checker that reads no unannotated function would find the excuse unused"
                self.refusals.append(Refused("unused_excuse", message, (line,)))
                return None
            score *= UNTYPED_FACTOR
        score *= OPAQUE_FACTOR ** len(signature.opaque) * (_BARE_FACTOR if signature.bare else 1.0)
        return Candidate(
            start_line=block.first_line,
            end_line=block.last_line,
            suggested_name=name.name,
            reason=f"named after {name.reason}",
            inputs=extraction.parameters,
            outputs=extraction.outputs,
            complexity_removed=removed * (1 + len(copies)),
            score=round(score, 4),
            prepared=made,
            family=_family_of(name, context),
        )

    def _inside(self, copies: Copies) -> list[Copy]:
        """Return the copies that stand in the function itself, or in a function nested in it."""
        own = {id(analysis.place.function) for analysis in self._analyses}
        return [copy for copy in copies.found if id(copy.block.place.function) in own]

    def _free_name(self, suggestions: Sequence[SuggestedName]) -> SuggestedName | None:
        for suggestion in suggestions:
            name = suggestion.name
            is_looked_up = any(name.startswith(prefix) and prefix != "_" for prefix in self._dispatch_prefixes)
            if suggestion.quality < MIN_QUALITY or is_looked_up:
                continue
            if name not in self.taken and name.lstrip("_") not in BUILTIN_NAMES and _plain(name) not in self._called:
                return suggestion
        return None

    @cached_property
    def _called(self) -> frozenset[str]:
        """Functions that the file defines or calls: a new one must not differ from them by underscores alone."""
        names = {node.name for node in ast.walk(self.source.tree) if isinstance(node, Scope)}
        calls = [node.func for node in ast.walk(self.source.tree) if isinstance(node, ast.Call)]
        # `hub.create_model` is told apart from `_create_model` by its module.
        imports = (each for each in self.source.tree.body if isinstance(each, ast.Import))
        modules = frozenset[str]().union(*(bound_names(each) for each in imports))
        calls = [call for call in calls if not (isinstance(call, ast.Attribute) and _owner(call) in modules)]
        names |= {call.attr if isinstance(call, ast.Attribute) else getattr(call, "id", "") for call in calls}
        return frozenset(_plain(name) for name in names)


def _poor_cut(name: SuggestedName, block: Block) -> Refused:
    return Refused("poor_cut", f"{name.name} would be a poor cut", (block.first_line,))


def _leaves_nothing(place: FunctionPlace, statements: Sequence[ast.stmt]) -> bool:
    """Return whether statements are all that a function does: it would only hand on what it is given."""
    body: Sequence[ast.stmt] = place.function.body
    if ast.get_docstring(place.function) is not None:
        body = body[1:]
    rest = body[len(statements) :]
    if list(statements) != list(body[: len(statements)]) or len(rest) > 1:
        return False
    returned = rest[0].value if rest and isinstance(rest[0], ast.Return) else None
    made = frozenset[str]().union(*(bound_names(statement) for statement in statements))
    return not rest or (isinstance(returned, ast.Name) and returned.id in made)


_EXCUSE = re.compile(r"#\s*(?:type|mypy|pyright):\s*ignore\b")


def _first_excuse(source: SourceText, block: Block) -> int | None:
    """Return the first line of a block that excuses something from a type checker."""
    lines = range(block.first_line, block.last_line + 1)
    return next((number for number in lines if _EXCUSE.search(source.line(number))), None)


def _owner(function: ast.Attribute) -> str:
    return function.value.id if isinstance(function.value, ast.Name) else ""


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def _family_of(name: SuggestedName, context: BlockContext) -> str:
    """Return what the branches of one chain share, so that they can be moved together; empty outside of chains."""
    label = context.label
    is_branch = label is not None and label.chain >= _LEAST_CHAIN and name.reason == BRANCH_REASON
    return label.subject if label is not None and is_branch else ""


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


# What the calls that replace blocks cost the reader, as a factor.
_FORM_FACTORS = {
    Form.PLAIN: 1.0,
    Form.RETURN: 1.0,
    Form.THEN_JUMP: 0.92,
    Form.IF_JUMP: 0.95,
    Form.IF_RESULT: 0.75,
    Form.IF_NONE: 0.0,
}
# Of a call whose only result is None where the caller is to jump.
_ONE_OR_NONE_FACTOR = 0.82
_SHAPE_FACTORS = {
    Shape.BODY: 1.0,
    Shape.STATEMENT: 1.0,
    Shape.PARAGRAPH: 1.0,
    Shape.PREPARED: 1.0,
    Shape.RESULT: 1.0,
    Shape.SERIES: 0.95,
    Shape.REST: 0.92,
}
# Of a function without annotations beside annotated ones.
UNTYPED_FACTOR = 0.75
# Of a function some of whose parameters have no annotation.
_BARE_FACTOR = 0.85
# Of each parameter that is annotated with Any.
OPAQUE_FACTOR = 0.9
# Of a cut that is written nearly the same elsewhere in the file, and would stay there.
_LIKE_FACTOR = 0.7
# Of a cut whose other half stays behind.
_HALF_FACTOR = 0.6
# Of a cut that ends with what its caller would do with the result.
_STORING_FACTOR = 0.85
_INPUT_FACTORS = (1.0, 1.0, 1.0, 1.0, 0.95, 0.85)


def _fitness(block: Block, extraction: Extraction, context: BlockContext) -> float:
    """Return the chance that a maintainer takes the cut, if its name is good."""
    inputs, outputs = extraction.parameters, extraction.outputs
    is_one_or_none = extraction.form is Form.IF_NONE and len(outputs) == 1
    factor = _ONE_OR_NONE_FACTOR if is_one_or_none else _FORM_FACTORS[extraction.form]
    factor *= _SHAPE_FACTORS[context.cut.shape]
    factor *= _INPUT_FACTORS[len(inputs)] if len(inputs) < len(_INPUT_FACTORS) else 0.6
    factor *= 0.9 if len(outputs) == 2 else 1.0
    factor *= 0.95 ** len(set(inputs) & set(outputs))
    # A module or function handed over as an argument reads badly.
    factor *= 0.8 ** len(set(inputs) & context.defined_names)
    lines = block.last_line - block.first_line + 1
    factor *= 0.75 if lines < 4 else 0.88 if lines < 5 or lines > 45 else 1.0
    factor *= _twin_factor(context)
    # Attributes belong into the constructor itself.
    factor *= 0.8 if context.function_name == "__init__" and context.effects.attributes else 1.0
    factor *= _HALF_FACTOR if _is_half(context) else 1.0
    factor *= _STORING_FACTOR if stores_result(block.statements) else 1.0
    # Beside a class, a function of `self` is a method at the wrong place.
    factor *= 0.5 if extraction.host is None and {"self", "cls"} & set(inputs) else 1.0
    factor *= 0.5 if _has_long_docstring(block.statements) else 1.0
    share = statements_of(block.statements) / max(1, statements_of(block.place.function.body))
    # An exception that was caught is half of what its handler does.
    handlers = (parent for parent in ast.walk(block.place.function) if isinstance(parent, ast.ExceptHandler))
    is_half = context.handler is None and bool(set(inputs) & {handler.name for handler in handlers})
    factor *= 0.6 if is_half else 1.0
    return factor * (0.8 if share > 0.75 and not context.is_loop_body else 1.0)


def _twin_factor(context: BlockContext) -> float:
    """Return what it costs the reader that half of something symmetric would move."""
    if _is_in_chain(context):
        return 1.0
    return 0.5 if context.has_copy else 0.6 if context.has_twin else 1.0


def _is_half(context: BlockContext) -> bool:
    """Return whether the reader would find the other half of what a cut does where it was."""
    where = context.statements, context.parents, context.place.function
    attributes = {effect.name for effect in context.effects.all if effect.kind is EffectKind.ATTRIBUTE}
    inputs, outputs = frozenset(context.inputs), frozenset(context.outputs)
    return (
        is_half_built(*where, outputs - inputs)
        or is_half_assigned(*where, frozenset(attributes))
        or starts_outside(*where, inputs - outputs)
    )


def _has_long_docstring(statements: Sequence[ast.stmt]) -> bool:
    """Check for the docstring of a nested definition: its later lines would keep their old indent."""
    scopes = (
        part for statement in statements for part in ast.walk(statement) if isinstance(part, Function | ast.ClassDef)
    )
    texts = (scope.body[0] for scope in scopes if ast.get_docstring(scope) is not None)
    return any(last_line(text) > text.lineno for text in texts)


def _is_in_chain(context: BlockContext) -> bool:
    return context.label is not None and context.label.chain >= _LEAST_CHAIN


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
