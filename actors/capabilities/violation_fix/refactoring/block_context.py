"""Reads out of a block and its surroundings what its name can be made of."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from actors.capabilities.violation_fix.refactoring.complexity import Function, Loop, Try
from actors.capabilities.violation_fix.refactoring.condition_words import (
    description_of,
    description_of_pattern,
    noun_of,
    tested_nouns,
)
from actors.capabilities.violation_fix.refactoring.name_scopes import (
    FunctionPlace,
    Scope,
    bound_names,
    own_nodes,
    scope_nodes,
    statement_lists,
)
from actors.capabilities.violation_fix.refactoring.name_words import (
    VAGUE_VERBS,
    VERBS,
    is_good_noun,
    plural,
    words_in,
    words_of,
)
from actors.capabilities.violation_fix.refactoring.source_text import SourceText, first_line

# Calls so common that they say nothing about what a block is for.
_INCIDENTAL = words_in(
    """
    append extend get pop join format strip lstrip rstrip split rsplit splitlines isinstance issubclass len str int
    float bool bytes print debug info warning error critical exception log startswith endswith lower upper title
    encode decode items keys values list dict set tuple frozenset sorted reversed range enumerate zip min max sum
    getattr hasattr setattr delattr super copy type id repr callable next iter any all abs round replace partition
    rpartition setdefault discard group groups count index insert cast map filter open vars echo secho append_text
    """
)
_MUTATORS = {
    "append": "collect",
    "add": "collect",
    "extend": "extend",
    "update": "update",
    "insert": "insert",
    "setdefault": "collect",
}


@dataclass
class BlockContext:
    """Holds a block with the statements around it, outermost first."""

    source: SourceText
    place: FunctionPlace
    statements: Sequence[ast.stmt]
    parents: Sequence[ast.stmt]
    inputs: Sequence[str] = ()

    @property
    def function_name(self) -> str:
        return self.place.function.name

    @cached_property
    def function_verb(self) -> str | None:
        words = words_of(self.function_name)
        if self.function_name == "__init__":
            return "init"
        return words[0] if words and words[0] in VERBS - VAGUE_VERBS else None

    @cached_property
    def function_noun(self) -> str | None:
        words = words_of(self.function_name)
        rest = words[1:] if words and words[0] in VERBS else words
        noun = "_".join(rest[-2:])
        return noun if noun and is_good_noun(noun) and not self.function_name.startswith("__") else None

    @cached_property
    def comment(self) -> str | None:
        """The comment above the block, if it stands right above it."""
        number = first_line(self.statements[0]) - 1
        lines: list[str] = []
        while number > 0 and self.source.is_comment(number):
            lines.insert(0, self.source.line(number).strip())
            number -= 1
        return " ".join([lines[0], *(line.lstrip("# ") for line in lines[1:])]) if lines else None

    @cached_property
    def has_inner_comments(self) -> bool:
        """True where a later statement of the block has a comment of its own above it."""
        return any(self.source.is_comment(first_line(statement) - 1) for statement in self.statements[1:])

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return [part for statement in self.statements for part in own_nodes(statement)]

    @cached_property
    def only_tests(self) -> bool:
        return all(_is_test(statement) for statement in self.statements)

    @cached_property
    def only_raises(self) -> bool:
        """True where raising is the only effect of the block."""
        effects = (ast.AugAssign, ast.Delete, ast.Return, ast.With, ast.AsyncWith, ast.Expr)
        raises = any(isinstance(node, ast.Raise) for node in self.nodes)
        stored = (getattr(node, "ctx", None) for node in self.nodes if isinstance(node, ast.Attribute | ast.Subscript))
        has_effect = any(isinstance(node, effects) for node in self.nodes)
        return raises and not has_effect and not any(isinstance(context, ast.Store) for context in stored)

    @cached_property
    def tested_nouns(self) -> list[str]:
        tests = [node.test for node in self.nodes if isinstance(node, ast.If | ast.While | ast.Assert)]
        found = [noun for test in tests for noun in tested_nouns(test)]
        return [noun for noun, _ in Counter(found).most_common(3) if is_good_noun(noun)]

    @cached_property
    def chain_nouns(self) -> list[str]:
        """The nouns that most conditions of a chain of branches look at."""
        counted: Counter[str] = Counter()
        branch: ast.stmt | None = self.statements[0]
        while isinstance(branch, ast.If):
            counted.update(set(tested_nouns(branch.test)))
            branch = branch.orelse[0] if len(branch.orelse) == 1 else None
        return [noun for noun, count in counted.most_common(3) if count > 1 and is_good_noun(noun)]

    @cached_property
    def _loop(self) -> Loop | None:
        loops = [parent for parent in self.parents if isinstance(parent, Loop)]
        return loops[-1] if loops else None

    @cached_property
    def loop_noun(self) -> str | None:
        """The noun that the loop around the block gives its items."""
        if not isinstance(self._loop, ast.For | ast.AsyncFor):
            return None
        names = [node.id for node in ast.walk(self._loop.target) if isinstance(node, ast.Name)]
        return next((name for name in reversed(names) if is_good_noun(name)), None)

    @cached_property
    def is_loop_body(self) -> bool:
        return self._loop is not None and list(self.statements) == self._loop.body

    @cached_property
    def iterated_noun(self) -> str | None:
        loops = [statement for statement in self.statements if isinstance(statement, ast.For | ast.AsyncFor)]
        if len(loops) != 1 or len(self.statements) > 3:
            return None
        noun = noun_of(loops[0].iter)
        if noun is not None and is_good_noun(noun):
            return noun
        names = [node.id for node in ast.walk(loops[0].target) if isinstance(node, ast.Name) and is_good_noun(node.id)]
        return plural(names[-1]) if names else None

    @cached_property
    def next_statement(self) -> ast.stmt | None:
        """The statement that follows the block in the same list."""
        around: ast.AST = self.parents[-1] if self.parents else self.place.function
        for body in statement_lists(around):
            if self.statements[-1] in body:
                position = body.index(self.statements[-1]) + 1
                return body[position] if position < len(body) else None
        return None

    @cached_property
    def branch_description(self) -> str | None:
        """The words of the condition under which the block runs, if it is all that runs under it."""
        parent = self.parents[-1] if self.parents else None
        body = list(self.statements)
        if isinstance(parent, ast.If) and body == parent.body:
            return description_of(parent.test)
        if isinstance(parent, ast.Match):
            return next((description_of_pattern(case.pattern) for case in parent.cases if case.body == body), None)
        only = body[0]
        if len(body) == 1 and isinstance(only, ast.If) and not only.orelse:
            return description_of(only.test)
        return None

    @cached_property
    def handled_error(self) -> str | None:
        parent = self.parents[-1] if self.parents else None
        if not isinstance(parent, Try):
            return None
        for handler in parent.handlers:
            if handler.body == list(self.statements) and handler.type is not None:
                return noun_of(handler.type)
        return None

    @cached_property
    def returned_name(self) -> str | None:
        """The one name that all returns of a value give back."""
        returns = [node.value for node in self.nodes if isinstance(node, ast.Return) and node.value is not None]
        values = [value for value in returns if not isinstance(value, ast.Constant)]
        names = {value.id for value in values if isinstance(value, ast.Name)}
        return names.pop() if len(names) == 1 and all(isinstance(value, ast.Name) for value in values) else None

    @cached_property
    def main_calls(self) -> list[tuple[list[str], float]]:
        """Verb and object of the calls that stand out, each with a weight of at most 1."""
        counted: Counter[tuple[str, ...]] = Counter()
        for depth, call in _calls_by_depth(self.statements):
            words = _words_of_call(call)
            if words:
                counted[tuple(words)] += max(1, 4 - depth)
        total = sum(counted.values())
        best = counted.most_common(3)
        return [(_in_plural(list(words), count), 0.75 + 0.25 * count / total) for words, count in best]

    @property
    def main_verb(self) -> str | None:
        return self.main_calls[0][0][0] if self.main_calls else None

    @cached_property
    def mutations(self) -> list[tuple[str, str]]:
        """The names that the block changes outside itself, with a verb for it, most often changed first."""
        counted = Counter(found for node in self.nodes if (found := _mutation(node)) is not None)
        return [pair for pair, _ in counted.most_common(3)]

    def _tests_for_none(self, name: str) -> bool:
        return any(_is_none_test(node, name) for node in self.nodes)

    @cached_property
    def defined_names(self) -> frozenset[str]:
        """Names that the function around the block imports or defines as functions."""
        names: set[str] = set()
        for node in scope_nodes(self.place.function):
            if isinstance(node, ast.Import | ast.ImportFrom | Function):
                names |= bound_names(node)
        return frozenset(names)

    @cached_property
    def sets_attributes(self) -> bool:
        stored = (node for node in self.nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store))
        return any(isinstance(node.value, ast.Name) for node in stored)

    def verb_for(self, output: str) -> tuple[str, float]:
        """Return the verb for how the block comes by an output, and how much it says."""
        bindings = [node for node in self.nodes if _binds(node, output)]
        is_loop = any(isinstance(statement, Loop) for statement in self.statements)
        appended = any(_mutation(node) == (output, "collect") for node in self.nodes)
        if appended:
            return "collect", 0.8
        if output in self.inputs and self._tests_for_none(output):
            return "resolve", 0.76
        if output in self.inputs:
            verb = _verb_of_value(bindings[-1]) if len(bindings) == 1 else None
            return (verb, 0.66) if verb and not is_loop else ("update", 0.62)
        verbs = [verb for node in bindings if (verb := _verb_of_value(node)) is not None]
        if verbs and len(set(verbs)) == 1:
            return verbs[0], 0.76
        if any(isinstance(node, ast.AugAssign) for node in bindings):
            return "compute", 0.7
        if is_loop:
            return "find", 0.64
        return ("select" if len(bindings) > 1 else "resolve"), 0.62


def _is_none_test(test: ast.AST, name: str) -> bool:
    if not isinstance(test, ast.Compare) or not isinstance(test.left, ast.Name) or test.left.id != name:
        return False
    right = test.comparators[0]
    return isinstance(right, ast.Constant) and right.value is None


def _is_test(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.If):
        return False
    jumps = (ast.Continue, ast.Break, ast.Return, ast.Pass)
    return all(isinstance(inner, jumps) or _is_test(inner) for inner in [*statement.body, *statement.orelse])


def _calls_by_depth(statements: Sequence[ast.stmt], depth: int = 0) -> Iterator[tuple[int, ast.Call]]:
    for statement in statements:
        if isinstance(statement, Scope):
            continue
        value = getattr(statement, "value", None)
        value = value.value if isinstance(value, ast.Await | ast.YieldFrom) else value
        if isinstance(value, ast.Call):
            yield (depth if isinstance(statement, ast.Expr) else depth + 1), value
        for _, inner in ast.iter_fields(statement):
            if isinstance(inner, list) and inner and isinstance(inner[0], ast.stmt):
                yield from _calls_by_depth(inner, depth + 1)
            elif isinstance(inner, list):
                for part in inner:
                    if isinstance(part, ast.match_case):
                        yield from _calls_by_depth(part.body, depth + 1)


def _words_of_call(call: ast.Call) -> list[str]:
    name = noun_of(call.func) or ""
    words = words_of(name)
    if not words or name.strip("_") in _INCIDENTAL or words[0] not in VERBS - VAGUE_VERBS or name[:1].isupper():
        return []
    if len(words) > 1:
        return words[:4]
    nouns = [noun for argument in call.args[:2] if (noun := noun_of(argument)) and is_good_noun(noun)]
    if isinstance(call.func, ast.Attribute) and (receiver := noun_of(call.func.value)) and is_good_noun(receiver):
        nouns.append(receiver)
    return [words[0], *words_of(nouns[0])[-2:]] if nouns else []


def _in_plural(words: list[str], count: int) -> list[str]:
    return [*words[:-1], plural(words[-1])] if count > 4 else words


def _mutation(node: ast.AST) -> tuple[str, str] | None:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _MUTATORS:
        noun = noun_of(node.func.value)
        return (noun, _MUTATORS[node.func.attr]) if noun else None
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        return (node.attr, "set") if not node.attr.startswith("__") else None
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        noun = noun_of(node.value)
        return (noun, "update") if noun else None
    return None


def _binds(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Assign):
        targets = [part for target in node.targets for part in ast.walk(target)]
        return any(isinstance(target, ast.Name) and target.id == name for target in targets)
    if isinstance(node, ast.AnnAssign | ast.AugAssign):
        return isinstance(node.target, ast.Name) and node.target.id == name
    return False


def _verb_of_value(node: ast.AST) -> str | None:
    value = getattr(node, "value", None)
    value = value.value if isinstance(value, ast.Await) else value
    if isinstance(value, ast.Call):
        name = noun_of(value.func) or ""
        words = words_of(name)
        if name[:1].isupper():
            return "create"
        verbs = VERBS - VAGUE_VERBS - {"get", "append", "next", "pop"}
        return words[0] if words and words[0] in verbs and name not in _INCIDENTAL else None
    if isinstance(value, ast.ListComp | ast.DictComp | ast.SetComp | ast.GeneratorExp):
        return "collect"
    if isinstance(value, ast.JoinedStr):
        return "format"
    if isinstance(value, ast.Dict) and value.keys:
        return "build"
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Sub | ast.Mult | ast.Div | ast.FloorDiv):
        return "compute"
    return None


def is_function_body(place: FunctionPlace, statements: Sequence[ast.stmt]) -> bool:
    """Return whether statements are all of a function but its docstring."""
    body: Sequence[ast.stmt] = place.function.body
    if ast.get_docstring(place.function) is not None:
        body = body[1:]
    return list(statements) == list(body) and isinstance(place.function, Function)
