"""Reads out of a block and its surroundings what its name can be made of."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from actors.capabilities.violation_fix.refactoring.block_analysis import Extraction
from actors.capabilities.violation_fix.refactoring.complexity import Function, Loop, statements_of
from actors.capabilities.violation_fix.refactoring.cutting.cuts import Cut, Shape
from actors.capabilities.violation_fix.refactoring.flow.name_scopes import (
    FunctionPlace,
    bound_names,
    own_nodes,
    scope_nodes,
)
from actors.capabilities.violation_fix.refactoring.naming.block_effects import (
    ADDING,
    BlockEffects,
    EffectKind,
    is_assertion,
    spelled,
)
from actors.capabilities.violation_fix.refactoring.naming.branch_labels import Label, label_of_body
from actors.capabilities.violation_fix.refactoring.naming.condition_words import noun_of
from actors.capabilities.violation_fix.refactoring.naming.likeness import has_copy, has_like_branch, has_twin
from actors.capabilities.violation_fix.refactoring.naming.name_words import (
    DISTRIBUTIVE_VERBS,
    VAGUE_VERBS,
    VERBS,
    is_good_noun,
    plural,
    words_of,
)
from actors.capabilities.violation_fix.refactoring.naming.styles import names_in_camel_case
from actors.capabilities.violation_fix.refactoring.source_text import SourceText, first_line, last_line

# What follows it in a visitor is the name of a class.
_OF_VISITORS = frozenset({"visit"})
_MAIN_SHARE = 0.35


@dataclass
class BlockContext:
    """Holds a block with the statements around it and what data flow tells of it."""

    source: SourceText
    place: FunctionPlace
    cut: Cut
    extraction: Extraction

    @property
    def statements(self) -> Sequence[ast.stmt]:
        return self.cut.statements

    @property
    def parents(self) -> Sequence[ast.stmt]:
        return self.cut.parents

    @property
    def inputs(self) -> Sequence[str]:
        return self.extraction.parameters

    @property
    def outputs(self) -> Sequence[str]:
        return self.extraction.outputs

    @cached_property
    def effects(self) -> BlockEffects:
        return BlockEffects(self.statements, self.inputs, self._used_after)

    @cached_property
    def _used_after(self) -> frozenset[str]:
        """The names that the function spells behind the block, in the branches around it and after them."""
        last = last_line(self.statements[-1])
        nodes = (part for statement in self.place.function.body for part in own_nodes(statement))
        return frozenset(spelled(n) for n in nodes if isinstance(n, ast.Name | ast.Attribute) and n.lineno > last)

    @property
    def function_name(self) -> str:
        return self.place.function.name

    @cached_property
    def function_verb(self) -> str | None:
        words = words_of(self.function_name)
        if self.function_name == "__init__":
            return "init"
        # The author's own word may be vague; `table_create` is another order of `create_table`.
        verbs = (VERBS | {"process"}) - (VAGUE_VERBS - {"process"}) - _OF_VISITORS
        if not words:
            return None
        if words[0] in verbs:
            return words[0]
        return words[-1] if words[-1] in verbs & DISTRIBUTIVE_VERBS else None

    @cached_property
    def function_noun(self) -> str | None:
        """The noun in the name of the function."""
        words = words_of(self.function_name)
        rest = words[1:] if words and words[0] in VERBS else words
        if rest == words and self.function_verb and words[-1] == self.function_verb:
            rest = words[:-1]
        noun = "_".join(rest[-2:])
        return noun if noun and is_good_noun(noun) and not self.function_name.startswith("__") else None

    @cached_property
    def comment(self) -> str | None:
        """The comment right above the block, its lines joined."""
        end = begin = first_line(self.statements[0])
        while begin > 1 and self.source.is_comment(begin - 1):
            begin -= 1
        lines = [self.source.line(number).strip() for number in range(begin, end)] or self._lines_above_branch
        return "# " + " ".join(line.lstrip("#: ") for line in lines) if len(lines) > 1 else next(iter(lines), None)

    @property
    def _lines_above_branch(self) -> list[str]:
        """The comment above an `elif` that the block is the body of; further right it would be of the branch before."""
        parent = self.parents[-1] if self.parents else None
        if not self.is_branch_body or parent is None or not self.source.is_elif(parent):
            return []
        begin = parent.lineno
        while self.source.is_comment(begin - 1) and self.source.indent(begin - 1) == self.source.indent(parent.lineno):
            begin -= 1
        return [self.source.line(number).strip() for number in range(begin, parent.lineno)]

    @cached_property
    def handler(self) -> ast.ExceptHandler | None:
        """The `except` whose whole body the block is."""
        parent = self.parents[-1] if self.parents else None
        handlers = parent.handlers if isinstance(parent, ast.Try | ast.TryStar) else []
        return next((each for each in handlers if each.body == list(self.statements)), None)

    @cached_property
    def is_camel_case(self) -> bool:
        """True where the file names its functions in camelCase."""
        return names_in_camel_case(self.source.tree, self.function_name)

    @cached_property
    def has_long_comment(self) -> bool:
        """True where the comment right above the block has several lines."""
        number = first_line(self.statements[0]) - 1
        return number > 1 and self.source.is_comment(number) and self.source.is_comment(number - 1)

    @cached_property
    def has_inner_comments(self) -> bool:
        """True where a comment between the statements, or the branches of one, speaks of another part of the block."""
        begin, end = first_line(self.statements[0]), last_line(self.statements[-1])
        indent = self.source.indent(begin)
        return any(
            self.source.is_comment(number) and self.source.indent(number) == indent for number in range(begin + 1, end)
        )

    @cached_property
    def has_blank_lines(self) -> bool:
        """True where a blank line parts the statements of the block: a comment above it covers the first part."""
        return any(self.source.is_blank(first_line(statement) - 1) for statement in self.statements[1:])

    @cached_property
    def is_one_work(self) -> bool:
        """True where what stands behind the first blank line only goes on with what was made above it."""
        is_behind_blank = [self.source.is_blank(first_line(each) - 1) for each in self.statements]
        first = is_behind_blank.index(True, 1) if any(is_behind_blank[1:]) else len(self.statements)
        made = frozenset[str]().union(*(bound_names(each) for each in self.statements[:first]))
        return all(bound_names(each) <= made for each in self.statements[first:])

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return [part for statement in self.statements for part in own_nodes(statement)]

    @cached_property
    def bound(self) -> frozenset[str]:
        return frozenset[str]().union(*(bound_names(statement) for statement in self.statements))

    @cached_property
    def words_used(self) -> frozenset[str]:
        """The words of all identifiers in the block."""
        names = [node.id for node in self.nodes if isinstance(node, ast.Name)]
        names += [node.attr for node in self.nodes if isinstance(node, ast.Attribute)]
        return frozenset(word for name in names for word in words_of(name))

    @cached_property
    def only_tests(self) -> bool:
        return all(_is_test(statement) for statement in self.statements)

    @cached_property
    def only_raises(self) -> bool:
        """True where raising is the only effect of the block."""
        leaves = any(isinstance(node, ast.Return | ast.AugAssign | ast.Delete) for node in self.nodes)
        raises = any(isinstance(node, ast.Raise) or is_assertion(node) for node in self.nodes)
        return raises and not leaves and self.effects.is_pure and not self.outputs

    @cached_property
    def has_guards(self) -> bool:
        """True where a statement of the block does nothing but raise under a condition."""
        tests = (statement for statement in self.statements if isinstance(statement, ast.If))
        return any(_raises(test.body[-1]) and not test.orelse for test in tests)

    @cached_property
    def has_twin(self) -> bool:
        """True where the function has a second block built like this one, which would stay where it is."""
        is_branch = has_like_branch(self.statements, self.parents)
        return is_branch or has_twin(self.statements, self.place.function, self.parents)

    @cached_property
    def has_copy(self) -> bool:
        """True where a second block of the function differs from this one in nothing but constants."""
        return has_copy(self.statements, self.place.function, self.parents)

    @cached_property
    def is_main_part(self) -> bool:
        """True where the block is so much of the function that the function's own verb tells of it."""
        whole = max(1, statements_of(self.place.function.body))
        return statements_of(self.statements) >= _MAIN_SHARE * whole

    @cached_property
    def stops_early(self) -> bool:
        """True where not all items of a loop may be gone through."""
        return any(isinstance(node, ast.Break) for node in self.nodes)

    @cached_property
    def attempts(self) -> bool:
        """True where the block handles exceptions: what it tries is its point, not what it reports of that."""
        return any(isinstance(node, ast.Try | ast.TryStar) for node in self.nodes)

    @cached_property
    def tests(self) -> list[ast.expr]:
        return [node.test for node in self.nodes if isinstance(node, ast.If | ast.While | ast.Assert)]

    @cached_property
    def _loop(self) -> Loop | None:
        loops = [parent for parent in self.parents if isinstance(parent, Loop)]
        return loops[-1] if loops else None

    @cached_property
    def loop_noun(self) -> str | None:
        """The noun that the loop around the block gives its items."""
        return _target_noun(self._loop) if isinstance(self._loop, ast.For | ast.AsyncFor) else None

    @cached_property
    def is_loop_body(self) -> bool:
        return self._loop is not None and list(self.statements) == self._loop.body

    @cached_property
    def only_loop(self) -> ast.For | ast.AsyncFor | None:
        """The loop that the block consists of, what prepares it left out."""
        loops = [statement for statement in self.statements if isinstance(statement, ast.For | ast.AsyncFor)]
        is_led = all(isinstance(each, ast.Assign | ast.AnnAssign | ast.Assert) for each in self.statements[:-1])
        is_rest_simple = self.cut.shape in (Shape.STATEMENT, Shape.PREPARED) or is_led
        return loops[0] if len(loops) == 1 and is_rest_simple else None

    @cached_property
    def iterated_noun(self) -> str | None:
        """The noun, in the plural, for the items of the only loop in the block."""
        if self.only_loop is None:
            return None
        noun = noun_of(self.only_loop.iter)
        if noun is not None and is_good_noun(noun) and words_of(noun)[-1].endswith("s"):
            return noun
        item = _target_noun(self.only_loop)
        return plural(item) if item else None

    def is_repeated(self, call: ast.Call | None) -> bool:
        """Return whether a loop in the block makes a call again and again; one that breaks off makes it once."""
        return not self.stops_early and self.is_in_loop(call)

    def is_in_loop(self, call: ast.Call | None) -> bool:
        loops = (node for node in self.nodes if isinstance(node, Loop))
        return call is not None and any(part is call for loop in loops for part in ast.walk(loop))

    @cached_property
    def loop_targets(self) -> frozenset[str]:
        """The names that loops in the block give their items."""
        loops = (node for node in self.nodes if isinstance(node, ast.For | ast.AsyncFor))
        return frozenset(part.id for loop in loops for part in ast.walk(loop.target) if isinstance(part, ast.Name))

    @cached_property
    def is_branch_body(self) -> bool:
        """True where the block is all that a branch of a condition does."""
        parent = self.parents[-1] if self.parents else None
        return isinstance(parent, ast.If) and list(self.statements) == parent.body

    @cached_property
    def only_adds(self) -> bool:
        """True where the block does nothing but add to collections that are there."""
        effects = self.effects.all
        added = (effect.kind is EffectKind.MUTATION and effect.name in ADDING for effect in effects)
        return bool(effects) and not self.outputs and all(added)

    @cached_property
    def changed_elsewhere(self) -> frozenset[str]:
        """The objects whose attributes the function sets outside the block."""
        inside = {id(node) for node in self.nodes}
        stored = (
            node
            for statement in self.place.function.body
            for node in own_nodes(statement)
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and id(node) not in inside
        )
        return frozenset(spelled(node.value) for node in stored)

    @cached_property
    def changes_several_items(self) -> bool:
        """True where items under several fixed keys are set, or one in each turn of a loop in the block."""
        keys = {effect.name for effect in self.effects.all if effect.kind is EffectKind.ITEM and effect.name}
        loops = (node for node in self.nodes if isinstance(node, Loop))
        in_loops = (part for loop in loops for part in ast.walk(loop) if isinstance(part, ast.Subscript))
        return len(keys) > 1 or any(isinstance(part.ctx, ast.Store) for part in in_loops)

    def is_trivial_call(self, call: ast.Call | None) -> bool:
        """Return whether the block does nothing but make a call under a condition: its name would only repeat it."""
        only = self.statements[0] if len(self.statements) == 1 else None
        while isinstance(only, ast.If) and len(only.body) == 1 and not only.orelse:
            only = only.body[0]
        return isinstance(only, ast.Expr) and call is not None and any(part is call for part in ast.walk(only.value))

    @cached_property
    def label(self) -> Label | None:
        """The case that the condition around the block names."""
        return label_of_body(self.statements, self.parents, self.place.function.body)

    @cached_property
    def topic(self) -> str | None:
        """The name that the block uses again and again, and the rest of the function but where it comes from."""
        inside = Counter(_nouns_in(self.statements))
        outside = Counter(_nouns_in(self.place.function.body)) - inside
        known = (noun for noun in inside if noun not in self.bound and outside[noun] <= 1 and is_good_noun(noun))
        ranked = [(inside[noun], noun) for noun in known]
        ranked.sort(key=lambda pair: -pair[0])
        if not ranked or ranked[0][0] < 3:
            return None
        is_clear = len(ranked) == 1 or ranked[0][0] > ranked[1][0]
        return ranked[0][1] if is_clear else None

    @cached_property
    def returned_name(self) -> str | None:
        """The one name that all returns of a value give back."""
        returns = [node.value for node in self.nodes if isinstance(node, ast.Return) and node.value is not None]
        values = [value for value in returns if not isinstance(value, ast.Constant)]
        names = {value.id for value in values if isinstance(value, ast.Name)}
        return names.pop() if len(names) == 1 and all(isinstance(value, ast.Name) for value in values) else None

    @cached_property
    def returns_several(self) -> bool:
        """True where the block returns a tuple for the function: a name for one thing would hide the others."""
        returns = (node.value for node in self.nodes if isinstance(node, ast.Return))
        return any(isinstance(value, ast.Tuple) and len(value.elts) > 1 for value in returns)

    @cached_property
    def defined_names(self) -> frozenset[str]:
        """Names that the function around the block imports or defines as functions."""
        names: set[str] = set()
        for node in scope_nodes(self.place.function):
            if isinstance(node, ast.Import | ast.ImportFrom | Function):
                names |= bound_names(node)
        return frozenset(names)


def _nouns_in(statements: Sequence[ast.stmt]) -> Iterator[str]:
    """Yield the names and attributes that statements spell; what is called is none."""
    nodes = [part for statement in statements for part in ast.walk(statement)]
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    for node in nodes:
        if isinstance(node, ast.Name) and id(node) not in called:
            yield node.id
        elif isinstance(node, ast.Attribute) and id(node) not in called:
            yield node.attr


def _target_noun(loop: ast.For | ast.AsyncFor) -> str | None:
    if isinstance(loop.iter, ast.Call) and getattr(loop.iter.func, "id", "") == "range":
        # A number says where the loop is, not what is done there.
        return None
    names = [node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)]
    good = [name for name in names if is_good_noun(name)]
    if len(names) == 2 and isinstance(loop.target, ast.Tuple) and _counts_or_keys(loop.iter):
        # An index or key tells which item it is, the other name what it is.
        return names[1] if names[1] in good else None
    # Of `for name, column in zip(...)` neither is what the loop goes through.
    return good[0] if len(names) == 1 and good else good[-1] if len(good) == 1 else None


def _counts_or_keys(iterated: ast.expr) -> bool:
    if not isinstance(iterated, ast.Call):
        return False
    name = iterated.func.attr if isinstance(iterated.func, ast.Attribute) else getattr(iterated.func, "id", "")
    return name in ("enumerate", "items", "iteritems")


def _raises(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Raise) or (isinstance(statement, ast.Expr) and is_assertion(statement.value))


def _is_test(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.If):
        return False
    jumps = (ast.Continue, ast.Break, ast.Return, ast.Pass)
    return all(isinstance(inner, jumps) or _is_test(inner) for inner in [*statement.body, *statement.orelse])
