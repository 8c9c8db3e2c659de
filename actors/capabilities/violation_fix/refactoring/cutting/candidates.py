"""Ranks the blocks of a function that are worth extracting."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
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
    Limits,
    branches_of,
    complexity_of,
    nesting_of,
    statements_of,
)
from actors.capabilities.violation_fix.refactoring.cutting.copies import Copies, Copy, CopySearch
from actors.capabilities.violation_fix.refactoring.cutting.cut_fitness import (
    BARE_FACTOR,
    LEAST_CHAIN,
    LIKE_FACTOR,
    OPAQUE_FACTOR,
    UNTYPED_FACTOR,
    fitness_of,
    twin_factor,
)
from actors.capabilities.violation_fix.refactoring.cutting.cuts import Cut, cuts_of
from actors.capabilities.violation_fix.refactoring.extraction import Prepared, prepared
from actors.capabilities.violation_fix.refactoring.flow.name_scopes import (
    BUILTIN_NAMES,
    FunctionPlace,
    Scope,
    bound_names,
    has_lazy_annotations,
    names_in_module,
    places_of,
)
from actors.capabilities.violation_fix.refactoring.naming.block_context import BlockContext
from actors.capabilities.violation_fix.refactoring.naming.helper_names import suggest_names
from actors.capabilities.violation_fix.refactoring.naming.suggestion import BRANCH_REASON, SuggestedName
from actors.capabilities.violation_fix.refactoring.outcomes import Refused, RefusedRefactoring
from actors.capabilities.violation_fix.refactoring.source_text import SourceText, first_line, last_line

MAX_OUTPUTS = 2
MIN_LINES = 3
# Below this, readers who would have to merge it found most names misleading.
MIN_QUALITY = 0.48
# Below this, readers who would have to merge it turned most plans down; no plan is better than its weakest cut.
MIN_SCORE = 0.48
# What a name counts for that somebody gives who has read the block.
OPEN_QUALITY = 0.75
OPEN_REASON = "nothing yet"
# A shorter block that no rule can name is seldom more than half of something, whoever names it.
MIN_OPEN_LINES = 7
# Forms whose call is followed by a branch of its own.
_ASKING = (Form.IF_JUMP, Form.IF_RESULT, Form.IF_NONE)


@dataclass(frozen=True)
class Candidate:
    """Proposes one extraction; `score` orders candidates, higher first.

    `is_unnamed`: the suggested name only stands in for one that somebody has to give.
    """

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
    is_unnamed: bool = False

    @property
    def told(self) -> str:
        """The name of the new function and why it has it, or that it has yet to be named."""
        inputs = ", ".join(self.inputs)
        if not self.is_unnamed:
            return f"{self.suggested_name}({inputs}), {self.reason}"
        outputs = f" and returns {', '.join(self.outputs)}" if self.outputs else ""
        return f"a function that has yet to be named, takes ({inputs}){outputs}"

    @property
    def called_in(self) -> str:
        """The functions in which copies of the block call the new one too; empty where there are none."""
        functions = self.prepared.copies.functions
        return f"; it is called in {', '.join(functions)} too" if functions else ""


class CandidateSearch:
    """Looks for candidates in one function and the functions nested in it.

    `leaves_names_open`: blocks of which no rule knows a good name are candidates too, since somebody else names them.
    """

    def __init__(
        self,
        source: SourceText,
        place: FunctionPlace,
        *,
        reserved: Collection[str] = (),
        typing: TypingRules | None = None,
        leaves_names_open: bool = False,
    ) -> None:
        self.source = source
        self._leaves_names_open = leaves_names_open
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
        movable = self._movable(analysis, cut, limits)
        if movable is None:
            return None
        block, extraction = movable
        context = BlockContext(self.source, analysis.place, cut, extraction)
        name = self._name_of(context, block)
        if name is None:
            refusal = Refused("no_name", "no name says all that it does", (block.first_line, block.last_line))
            self.refusals.append(refusal)
            return None
        score = name.quality * fitness_of(block, extraction, context)
        if score / twin_factor(context) < MIN_SCORE:
            self.refusals.append(_poor_cut(name, block))
            return None
        try:
            made = prepared(self._annotator, self._callees, self._copies, block, extraction, name.name)
        except RefusedRefactoring as refused:
            self.refusals.append(refused.refusal)
            return None
        signature, copies = made.signature, self._inside(made.copies)
        score *= LIKE_FACTOR if made.copies.leaves_others else 1.0
        # What is written twice in the function goes as a whole.
        score /= twin_factor(context) if copies and not made.copies.leaves_others else 1.0
        if score < MIN_SCORE:
            self.refusals.append(_poor_cut(name, block))
            return None
        is_untyped = signature == UNTYPED and is_annotated(analysis.place)
        if is_untyped and (line := _first_excuse(self.source, block)) is not None:
            message = "a checker that reads no unannotated function would find the excuse unused"
            self.refusals.append(Refused("unused_excuse", message, (line,)))
            return None
        score *= UNTYPED_FACTOR if is_untyped else 1.0
        score *= OPAQUE_FACTOR ** len(signature.opaque) * (BARE_FACTOR if signature.bare else 1.0)
        return Candidate(
            start_line=block.first_line,
            end_line=block.last_line,
            suggested_name=name.name,
            reason=f"named after {name.reason}",
            inputs=extraction.parameters,
            outputs=extraction.outputs,
            complexity_removed=_removed(extraction, cut.statements) * (1 + len(copies)),
            score=round(score, 4),
            prepared=made,
            family=_family_of(name, context),
            is_unnamed=name.reason == OPEN_REASON,
        )

    def _movable(self, analysis: FunctionAnalysis, cut: Cut, limits: Limits) -> tuple[Block, Extraction] | None:
        """Return the block of a cut that may be moved and makes the function simpler; else note why not."""
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
        is_long = last_line(statements[-1]) - first_line(statements[0]) + 1 >= MIN_LINES
        is_worth = is_long and _removed(extraction, statements) >= 1 and _is_sensible(extraction, limits)
        return (block, extraction) if is_worth else None

    def _inside(self, copies: Copies) -> list[Copy]:
        """Return the copies that stand in the function itself, or in a function nested in it."""
        own = {id(analysis.place.function) for analysis in self._analyses}
        return [copy for copy in copies.found if id(copy.block.place.function) in own]

    def _name_of(self, context: BlockContext, block: Block) -> SuggestedName | None:
        """Return the name of a block by the rules; where names may stay open, also what stands in for a missing one."""
        name = self._free_name(suggest_names(context))
        if not self._leaves_names_open:
            return name
        if name is None:
            if block.last_line - block.first_line + 1 < MIN_OPEN_LINES:
                return None
            return SuggestedName(open_name(block.first_line, block.last_line), OPEN_QUALITY, OPEN_REASON)
        return replace(name, quality=max(name.quality, OPEN_QUALITY))

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


def open_name(first_line: int, last_line: int) -> str:
    """Return what stands in for the name of a function made of these lines."""
    return f"_lines_{first_line}_to_{last_line}"


def _poor_cut(name: SuggestedName, block: Block) -> Refused:
    return Refused("poor_cut", f"{name.name} would be a poor cut", (block.first_line,))


def _removed(extraction: Extraction, statements: Sequence[ast.stmt]) -> int:
    """Return by how much the complexity of the function falls."""
    return complexity_of(statements) - (extraction.form in _ASKING)


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
    is_branch = label is not None and label.chain >= LEAST_CHAIN and name.reason == BRANCH_REASON
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
