"""Lists what a block changes outside itself, so that its name can be held against it."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from actors.capabilities.violation_fix.refactoring.flow.name_scopes import Scope, own_nodes, statement_lists
from actors.capabilities.violation_fix.refactoring.naming.name_words import words_in, words_of

# Calls that report and change nothing that a caller relies on.
_REPORTS = words_in("debug info warn warning error critical exception log print isEnabledFor sleep")
_MUTATORS = words_in(
    """
    append appendleft add extend extendleft update insert setdefault remove discard clear sort reverse pop popitem
    popleft
    """
)
ADDING = words_in("append appendleft add extend insert")
# First words of calls that change something even where their value is used.
_ACTING = words_in(
    """
    write send emit set add update register delete remove save store push pop consume advance next read skip eat expect
    accept unlink rename put insert append discard clear close connect start stop kill recv receive readline seek
    execute commit submit dump install
    """
)
# What is kept beside the work itself: a name need not tell of it.
_BOOKKEEPING = words_in("cache caches errors messages warnings dependencies stats statistics seen visited history memo")
_FAILING = words_in("pytest.fail self.fail")
_FRESH_CALLS = words_in("list dict set tuple bytearray defaultdict OrderedDict Counter deque StringIO BytesIO")


class EffectKind(Enum):
    """Names the ways in which a block changes what lies outside it."""

    ATTRIBUTE = "sets an attribute"
    ITEM = "sets an item"
    MUTATION = "changes a collection"
    CALL = "calls for the effect"


@dataclass(frozen=True, slots=True)
class Effect:
    """Records one change: `target` is the object as it is spelled, `name` the attribute, method or function."""

    kind: EffectKind
    target: str
    name: str
    call: ast.Call | None = None


class BlockEffects:
    """Collects the effects of consecutive statements; what they do to objects that they made is none.

    `used_after` are names, as they are spelled, that the function goes on to read or fill: they are its work.
    """

    def __init__(self, statements: Sequence[ast.stmt], inputs: Sequence[str], used_after: Collection[str] = ()) -> None:
        self._statements = statements
        self._inputs = frozenset(inputs)
        self._used_after = frozenset(used_after)

    @cached_property
    def _nodes(self) -> list[ast.AST]:
        return [part for statement in self._statements for part in own_nodes(statement)]

    @cached_property
    def _fresh(self) -> frozenset[str]:
        """Names that are only bound to objects made in the block."""
        fresh: set[str] = set()
        shared: set[str] = set(self._inputs)
        for node in self._nodes:
            if isinstance(node, ast.Assign):
                pairs = [(target, node.value) for target in node.targets]
            elif isinstance(node, ast.AnnAssign) and node.value is not None:
                pairs = [(node.target, node.value)]
            elif isinstance(node, ast.For | ast.AsyncFor):
                pairs = [(node.target, node.iter)]
            else:
                continue
            for target, value in pairs:
                is_made = isinstance(node, ast.Assign | ast.AnnAssign) and _makes_object(value)
                names = {
                    part.id
                    for part in ast.walk(target)
                    if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
                }
                (fresh if is_made else shared).update(names)
        return frozenset(fresh - shared)

    @cached_property
    def all(self) -> tuple[Effect, ...]:
        return tuple(
            effect for effect in self.everything if effect.target in self._used_after or not _is_bookkeeping(effect)
        )

    @cached_property
    def everything(self) -> tuple[Effect, ...]:
        """The effects, those on what is kept beside the work itself among them."""
        called_for_effect = {id(call) for call in _calls_for_effect(self._statements)}
        return tuple(self._found(called_for_effect))

    def _found(self, called_for_effect: set[int]) -> Iterator[Effect]:
        for node in self._nodes:
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
                if root_of(node) not in self._fresh:
                    yield Effect(EffectKind.ATTRIBUTE, spelled(node.value), node.attr)
            elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
                if root_of(node) not in self._fresh and isinstance(node.ctx, ast.Del):
                    yield Effect(EffectKind.MUTATION, spelled(node.value), "remove")
                elif root_of(node) not in self._fresh:
                    yield Effect(EffectKind.ITEM, spelled(node.value), _constant_key(node))
            elif isinstance(node, ast.Call):
                yield from self._of_call(node, id(node) in called_for_effect)

    def _of_call(self, call: ast.Call, for_effect: bool) -> Iterator[Effect]:
        function = call.func
        name = function.attr if isinstance(function, ast.Attribute) else spelled(function)
        if is_assertion(call):
            return
        if name.strip("_") in _REPORTS or (
            isinstance(function, ast.Attribute) and spelled(function.value).startswith("warnings")
        ):
            return
        if isinstance(function, ast.Attribute) and name in _MUTATORS:
            if root_of(function) not in self._fresh and not isinstance(function.value, ast.Constant):
                yield Effect(EffectKind.MUTATION, spelled(function.value), name, call)
            return
        words = words_of(name)
        # `install_request_from_line` makes one thing of another, and does nothing to either.
        is_acting = bool(words) and words[0] in _ACTING and not {"from", "to"} & set(words[1:-1])
        if for_effect or (is_acting and name not in _FRESH_CALLS and not name[:1].isupper()):
            target = spelled(function.value) if isinstance(function, ast.Attribute) else ""
            if for_effect and root_of(function) in self._fresh:
                return
            yield Effect(EffectKind.CALL, target, name, call)

    @property
    def is_pure(self) -> bool:
        return not self.all

    @cached_property
    def of_success(self) -> tuple[Effect, ...]:
        """The effects, less what is called before the block gives up: a name tells what it does where it succeeds."""
        ended = (
            part
            for node in self._nodes
            if isinstance(node, ast.If | ast.ExceptHandler)
            for body in (node.body, getattr(node, "orelse", []))
            if body and _gives_up(body[-1])
            for statement in body
            for part in own_nodes(statement)
        )
        calls = {id(part) for part in ended}
        return tuple(effect for effect in self.all if effect.call is None or id(effect.call) not in calls)

    @cached_property
    def attributes(self) -> tuple[tuple[str, str], ...]:
        """Objects and their attributes that are set, where nothing else is done; items under a fixed key count."""
        set_: dict[tuple[str, str], None] = {}
        for effect in self.all:
            if effect.kind in (EffectKind.ATTRIBUTE, EffectKind.ITEM) and effect.name:
                set_[effect.target, effect.name] = None
        for effect in self.all:
            owner, _, name = effect.target.rpartition(".")
            is_part = effect.kind in (EffectKind.MUTATION, EffectKind.ITEM) and (owner, name) in set_
            if (effect.target, effect.name) not in set_ and not is_part:
                return ()
        return tuple(set_)


def changed_first(names: Sequence[str], statements: Sequence[ast.stmt]) -> tuple[str, ...]:
    """Return names with the only one of them first that statements change, where there is just one."""
    effects = (effect for effect in BlockEffects(statements, names).all if effect.kind is not EffectKind.CALL)
    changed = {effect.target.partition(".")[0] for effect in effects} & set(names)
    return tuple(sorted(names, key=lambda name: name not in changed)) if len(changed) == 1 else tuple(names)


def _gives_up(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Return):
        values = statement.value.elts if isinstance(statement.value, ast.Tuple) else [statement.value]
        return all(value is None or (isinstance(value, ast.Constant) and not value.value) for value in values)
    return isinstance(statement, ast.Raise | ast.Continue)


def is_assertion(node: ast.AST) -> bool:
    """Return whether a statement or call of a test does nothing but raise where something is wrong."""
    if isinstance(node, ast.Assert):
        return True
    if not isinstance(node, ast.Call):
        return False
    name = spelled(node.func)
    return name in _FAILING or name.startswith("self.assert") or name.rpartition(".")[2].startswith("assert_")


def _is_bookkeeping(effect: Effect) -> bool:
    words = words_of(effect.target.rpartition(".")[2])
    return effect.kind in (EffectKind.MUTATION, EffectKind.ITEM) and bool(words) and words[-1] in _BOOKKEEPING


def _constant_key(node: ast.Subscript) -> str:
    key = node.slice.value if isinstance(node.slice, ast.Constant) else None
    return key.replace("-", "_") if isinstance(key, str) and key.replace("-", "_").isidentifier() else ""


def _makes_object(value: ast.expr) -> bool:
    made = (ast.Constant, ast.List, ast.Dict, ast.Set, ast.Tuple, ast.ListComp, ast.DictComp, ast.SetComp)
    if isinstance(value, (*made, ast.GeneratorExp, ast.JoinedStr, ast.BinOp, ast.Compare)):
        return True
    if isinstance(value, ast.Call):
        name = value.func.attr if isinstance(value.func, ast.Attribute) else spelled(value.func)
        return name in _FRESH_CALLS or name[:1].isupper() or name in ("copy", "deepcopy", "split", "join", "format")
    return False


def _calls_for_effect(statements: Sequence[ast.stmt]) -> Iterator[ast.Call]:
    for statement in statements:
        if isinstance(statement, ast.Expr):
            value = statement.value
            value = value.value if isinstance(value, ast.Await) else value
            if isinstance(value, ast.Call):
                yield value
        elif not isinstance(statement, Scope):
            for body in statement_lists(statement):
                yield from _calls_for_effect(body)


def serves(effect: Effect, names: Sequence[str]) -> bool:
    """Return whether an effect is one on an output, or is given it."""
    given = effect.call.args if effect.call is not None else []
    is_given = any(isinstance(each, ast.Name) and each.id in names for each in given)
    return (is_given and effect.kind is EffectKind.CALL) or effect.target.partition(".")[0] in names


def root_of(node: ast.expr) -> str:
    """Return the name that a chain of attributes, items and calls begins with."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call | ast.Starred | ast.Await):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def spelled(node: ast.expr) -> str:
    """Return a dotted name as it is spelled; items and arguments are left out."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{spelled(node.value)}.{node.attr}"
    if isinstance(node, ast.Call):
        return spelled(node.func)
    return spelled(node.value) if isinstance(node, ast.Subscript | ast.Await | ast.Starred) else ""
