"""Decides how a new function is annotated: wholly, not at all, or, under strict typing, not made."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from actors.capabilities.violation_fix.refactoring.annotations.attribute_tests import tested_before
from actors.capabilities.violation_fix.refactoring.annotations.modules import Package, TypingRules
from actors.capabilities.violation_fix.refactoring.annotations.types import (
    BOOL,
    NONE,
    Type,
    admits_none,
    named,
    union,
    without_none,
)
from actors.capabilities.violation_fix.refactoring.annotations.variables import LocalTypes, local_types
from actors.capabilities.violation_fix.refactoring.annotations.writing import AnnotationWriter
from actors.capabilities.violation_fix.refactoring.block_analysis import Extraction
from actors.capabilities.violation_fix.refactoring.block_exits import Form
from actors.capabilities.violation_fix.refactoring.complexity import Function
from actors.capabilities.violation_fix.refactoring.flow.name_scopes import (
    FunctionPlace,
    Scope,
    bound_in,
    parameters_of,
    places_of,
    statement_lists,
)
from actors.capabilities.violation_fix.refactoring.hazards import is_bare
from actors.capabilities.violation_fix.refactoring.insertion import goes_after
from actors.capabilities.violation_fix.refactoring.outcomes import RefusedRefactoring
from actors.capabilities.violation_fix.refactoring.placement import decorator_names
from actors.capabilities.violation_fix.refactoring.source_text import SourceText, first_line, last_line

_TEXT_ITERATORS = frozenset({"Iterator", "Iterable", "Generator", "AsyncIterator"})
_FEWEST_FUNCTIONS = 3
_ANNOTATED_SHARE = 0.9
_GUARDS = ("TypeGuard", "TypeIs", "NoReturn", "Never")


@dataclass(frozen=True)
class Signature:
    """Holds the annotations of a new function as text; none of them where it stays without.

    `opaque` are the parameters, or the result, whose type is not known, written as Any; `bare` the parameters that
    stay without one.
    """

    parameters: dict[str, str] = field(default_factory=dict)
    returns: str | None = None
    opaque: tuple[str, ...] = ()
    bare: tuple[str, ...] = ()


UNTYPED = Signature()


class Annotator:
    """Annotates new functions of one file; what is worked out for a function is kept."""

    def __init__(self, source: SourceText, rules: TypingRules | None = None) -> None:
        self._source = source
        self._rules = rules or TypingRules()
        self._locals: dict[Function, LocalTypes] = {}

    @cached_property
    def package(self) -> Package:
        """The file with the other modules of its package."""
        return Package(self._source.tree, self._rules)

    @cached_property
    def _places(self) -> list[FunctionPlace]:
        return list(places_of(self._source.tree))

    @cached_property
    def _is_module_annotated(self) -> bool:
        """True where functions of the file have all of their annotations, as under strict typing: nine of ten do."""
        # One or two functions tell of no rule.
        complete = sum(map(_is_complete, self._places))
        return len(self._places) >= _FEWEST_FUNCTIONS and complete >= _ANNOTATED_SHARE * len(self._places)

    def signature(self, place: FunctionPlace, extraction: Extraction) -> Signature:
        """Return the annotations. Raises RefusedRefactoring where strict typing asks for one that is not known."""
        if not self._rules.is_strict and not is_annotated(place):
            return UNTYPED
        narrowed = tested_before(place.function, extraction.statements)
        if narrowed is not None and (self._rules.is_checked or self._rules.is_strict or is_annotated(place)):
            message = f"a test above the block tells what {narrowed} is, which a new function would not know"
            raise RefusedRefactoring("unknown_type", message, (extraction.first.lineno,))
        is_demanded = self._rules.is_strict or self._is_module_annotated
        typed = _TypedExtraction(self._source, self.package, self._types_of(place), place, extraction)
        found = typed.signature(is_demanded=is_demanded)
        if isinstance(found, Signature):
            return found
        if is_demanded or (self._rules.is_checked and typed.takes_declarations):
            message = f"the type of {found} is not known, and functions here are annotated"
            raise RefusedRefactoring("unknown_type", message, (extraction.first.lineno,))
        return UNTYPED

    def _types_of(self, place: FunctionPlace) -> LocalTypes:
        if place.function not in self._locals:
            self._locals[place.function] = local_types(self.package, place, self._places)
        return self._locals[place.function]


def is_annotated(place: FunctionPlace) -> bool:
    """Return whether a function has any annotation."""
    function = place.function
    return function.returns is not None or any(argument.annotation for argument in place.parameters)


def _is_complete(place: FunctionPlace) -> bool:
    function = place.function
    plain = [*function.args.posonlyargs, *function.args.args]
    is_bound = place.is_method and "staticmethod" not in decorator_names(function)
    first = plain[:1] if is_bound else []
    # A type checker lets __init__ go without its None, if a parameter is annotated.
    has_result = function.returns is not None or function.name == "__init__"
    return has_result and all(each.annotation is not None for each in place.parameters if each not in first)


class _TypedExtraction:
    def __init__(
        self, source: SourceText, package: Package, types: LocalTypes, place: FunctionPlace, extraction: Extraction
    ) -> None:
        self._source = source
        self._package = package
        self._types = types
        self._place = place
        self._extraction = extraction
        self._block = extraction.statements
        self._parents = _parents_of(place.function, extraction.first)
        host = extraction.host
        hidden = bound_in(host.class_) if host is not None else frozenset[str]()
        for parent in place.enclosing_functions:
            hidden |= bound_in(parent) | {argument.arg for argument in parameters_of(parent.args)}
        line = first_line(place.top_statement if host is None else host.class_)
        if host is None and goes_after(source.tree, place.top_statement):
            line = last_line(place.top_statement) + 1
        self._writer = AnnotationWriter(package, line, hidden)

    def signature(self, *, is_demanded: bool) -> Signature | str:
        """Return the annotations, or the name whose type is not known.

        Where every function has to be annotated, one parameter or the result may be anything; elsewhere two of them,
        if as much is known, and parameters of the old function that have no annotation may stay without one.
        """
        most = 1 if is_demanded else 2
        parameters: dict[str, str] = {}
        opaque: list[str] = []
        bare: list[str] = []
        for name in self._extraction.parameters:
            written = self._parameter(name)
            if written is None and len(opaque) < most and (written := self._anything(name)) is not None:
                opaque.append(name)
            elif written is None and not is_demanded and name in self._left_bare and not self._is_learned(name):
                bare.append(name)
                continue
            if written is None:
                return name
            parameters[name] = written
        returns = self._returns()
        if returns is None and len(opaque) < most and (self._is_kept_inside() or not is_demanded):
            returns = self._any_result()
            opaque += self._extraction.outputs if returns is not None else ()
        if returns is None:
            return "the result"
        is_known = len(opaque) + len(bare) <= len(parameters) - len(opaque) + (returns != "None")
        if len(opaque) + len(bare) > 1 and not is_known:
            return next(iter((*opaque, *bare)))
        return Signature(parameters, returns, tuple(opaque), tuple(bare)) if not bare or parameters else bare[0]

    @property
    def _left_bare(self) -> frozenset[str]:
        """The parameters that the author of the old function left without an annotation, and nothing rebinds."""
        bare = {each.arg for each in self._place.parameters if each.annotation is None}
        return frozenset(bare - bound_in(self._place.function) - {self._place.bound_parameter})

    def _any_result(self) -> str | None:
        """Return Any for one result of unknown type, where the module knows the word."""
        extraction = self._extraction
        is_one = len(extraction.outputs) == 1 and extraction.form in (Form.PLAIN, Form.THEN_JUMP)
        if not is_one or extraction.crossings.yields or "Any" not in self._package.module.bindings:
            return None
        return self._writer.write(named("typing.Any"))

    @property
    def takes_declarations(self) -> bool:
        """True where a checker would no longer learn from the old function what a name holds."""
        names = self._extraction.parameters
        return any(self._is_learned(name) for name in names)

    def _narrows(self, name: str) -> bool:
        """Check for tests in the block that tell what comes after it what a name is: a call would not."""
        if name in self._extraction.outputs or name not in self._place.locals or not self._extraction.falls_through:
            return False
        last = last_line(self._block[-1])
        is_read = any(
            isinstance(node, ast.Name) and node.id == name and node.lineno > last
            for node in _own_nodes(self._place.function)
        )
        before = self._types.before(name, self._block, self._parents)
        return is_read and before is not None and before != self._types.after(name, self._block, self._parents)

    def _parameter(self, name: str) -> str | None:
        if self._is_learned(name):
            return None
        declared = self._types.declared(name) if name in self._place.locals else None
        found = self._types.before(name, self._block, self._parents)
        if found is not None and found != declared and declared is not None:
            binds = self._types.fits_in(name, self._block, found)
            found = found if binds else declared
        annotation = self._types.annotation_of(name) if name in self._place.locals else None
        if annotation is not None and not self._types.keeps_annotation(name):
            return None
        if annotation is not None and found == declared:
            written = self._writer.verbatim(annotation, self._source.segment(annotation))
            if written is not None:
                return written
        return self._write(found)

    def _anything(self, name: str) -> str | None:
        """Return Any for a parameter of unknown type, where the module knows the word and no checker loses a type."""
        if self._is_learned(name):
            return None
        return self._writer.write(named("typing.Any")) if "Any" in self._package.module.bindings else None

    def _is_learned(self, name: str) -> bool:
        """Return whether a checker learns from the block what a name holds."""
        return self._types.fills_first(name, self._block) or self._narrows(name)

    def _is_kept_inside(self) -> bool:
        """Return whether the old function returns nothing: no checker misses the type of a result there."""
        returns = self._place.function.returns
        return isinstance(returns, ast.Constant) and returns.value is None

    def _write(self, found: Type | None) -> str | None:
        if found is None or found == NONE or self._is_bound_elsewhere(found):
            return None
        return self._writer.write(found)

    def _is_bound_elsewhere(self, found: Type) -> bool:
        """Check for type variables, which a function of the module would not share with a method's class."""
        return any(self._package.is_type_variable(part) for part in found.walk()) and self._extraction.host is None

    def _returns(self) -> str | None:
        extraction = self._extraction
        if extraction.crossings.yields:
            return self._copied_return() if self._yields_only() else None
        outputs = self._outputs()
        match extraction.form:
            case Form.PLAIN | Form.THEN_JUMP:
                return "None" if not extraction.outputs else (self._writer.write(outputs) if outputs else None)
            case Form.IF_JUMP:
                return self._writer.write(BOOL)
            case Form.IF_NONE:
                return self._writer.write(union([outputs, NONE])) if outputs is not None else None
            case Form.IF_RESULT:
                returned = self._function_result()
                return self._writer.write(union([without_none(returned), NONE])) if returned is not None else None
        return self._returned()

    def _outputs(self) -> Type | None:
        found = [self._types.after(name, self._block, self._parents) for name in self._extraction.outputs]
        known = [each for each in found if each is not None and not self._is_bound_elsewhere(each)]
        if not known or len(known) < len(found):
            return None
        return known[0] if len(known) == 1 else named("tuple", *known)

    def _returned(self) -> str | None:
        """Return the annotation of a function that takes the returns of the old one with it."""
        if all(is_bare(node) for node in self._extraction.crossings.returns):
            return "None"
        found = self._function_result()
        if self._extraction.falls_through and (found is None or not admits_none(found)):
            return None
        copied = self._copied_return()
        return copied if copied is not None else self._write(found)

    def _function_result(self) -> Type | None:
        """Return the type of what the old function returns; None for a generator, whose result is another."""
        function = self._place.function
        is_generator = any(isinstance(node, ast.Yield | ast.YieldFrom) for node in _own_nodes(function))
        if is_generator or self._is_special():
            return None
        return self._package.annotated(function.returns, self._package.module)

    def _is_special(self) -> bool:
        returns = self._place.function.returns
        text = self._source.segment(returns) if returns is not None else ""
        return any(word in text for word in _GUARDS)

    def _copied_return(self) -> str | None:
        returns = self._place.function.returns
        if returns is None or self._is_special():
            return None
        found = self._package.annotated(returns, self._package.module)
        if found is not None and self._is_bound_elsewhere(found):
            return None
        return self._writer.verbatim(returns, self._source.segment(returns))

    def _yields_only(self) -> bool:
        """Check that the annotation of a generator holds for a part of it, which returns nothing."""
        found = self._package.annotated(self._place.function.returns, self._package.module)
        if found is None or found.name.rpartition(".")[2] not in _TEXT_ITERATORS:
            return False
        return found.name != "typing.Generator" or len(found.arguments) < 3 or found.arguments[2] == NONE


def _own_nodes(function: Function) -> list[ast.AST]:
    found: list[ast.AST] = []
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop()
        found.append(node)
        if not isinstance(node, Scope | ast.Lambda):
            pending.extend(ast.iter_child_nodes(node))
    return found


def _parents_of(function: Function, wanted: ast.stmt) -> list[ast.stmt]:
    """Return the statements around one in its function, outermost first."""

    def path(body: Sequence[ast.stmt]) -> list[ast.stmt] | None:
        for statement in body:
            if statement is wanted:
                return []
            if isinstance(statement, Scope):
                continue
            for inner in statement_lists(statement):
                found = path(inner)
                if found is not None:
                    return [statement, *found]
        return None

    return path(function.body) or []
