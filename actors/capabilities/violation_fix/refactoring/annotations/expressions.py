"""Infers the types of expressions from declarations, literals and well-known calls.

A type that is not certain is left unknown."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from actors.capabilities.violation_fix.refactoring.annotations.known_calls import (
    ANY,
    CLASSES,
    FUNCTIONS,
    METHODS,
    TEXT_FUNCTIONS,
    filled,
)
from actors.capabilities.violation_fix.refactoring.annotations.members import MemberTypes
from actors.capabilities.violation_fix.refactoring.annotations.modules import Package
from actors.capabilities.violation_fix.refactoring.annotations.types import (
    BOOL,
    BYTES,
    FLOAT,
    INT,
    MAPPINGS,
    NONE,
    SEQUENCES,
    STR,
    Type,
    dict_of,
    element_of,
    joined,
    members_of,
    union,
    without_none,
)

# Returns the type of a local name where an expression stands; None for one that is not local or not known.
NameTypes = Callable[[str], Type | None]
# Returns what a call of a local function gives; the second argument tells whether the call is awaited.
CallTypes = Callable[[str, bool], Type | None]
_NUMBERS = (INT, FLOAT)


class ExpressionTypes:
    """Infers types of expressions of one function.

    `local` tells those of its names, `is_local` which are local, `call_local` what its nested functions return.
    """

    def __init__(
        self, package: Package, local: NameTypes, is_local: Callable[[str], bool], call_local: CallTypes
    ) -> None:
        self.package = package
        self.members = MemberTypes(package)
        self._local = local
        self._is_local = is_local
        self._call_local = call_local
        self._bound: dict[str, Type | None] = {}

    def of(self, node: ast.expr) -> Type | None:
        """Return the type of an expression; None where it is not known."""
        infer = _BY_NODE.get(type(node))
        return infer(self, node) if infer is not None else None

    def all_of(self, nodes: Sequence[ast.expr]) -> tuple[Type, ...] | None:
        found = [self.of(node) for node in nodes]
        known = tuple(each for each in found if each is not None)
        return known if len(known) == len(found) else None

    def _present(self, node: ast.expr) -> Type | None:
        """Return the type of what something is read from: None was excluded before."""
        found = self.of(node)
        return without_none(found) if found is not None else None

    def _is_shadowed(self, node: ast.expr) -> bool:
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and (self._is_local(node.id) or node.id in self._bound)

    def _full_name(self, node: ast.expr) -> str | None:
        """Return the full name of a class, function or constant; None for what hangs on a local name."""
        if not isinstance(node, ast.Name | ast.Attribute) or self._is_shadowed(node):
            return None
        return self.package.module.resolve(node)

    def name(self, node: ast.Name) -> Type | None:
        if node.id in self._bound:
            return self._bound[node.id]
        if self._is_local(node.id):
            return self._local(node.id)
        full = self.package.module.resolve(node)
        return self.members.constant(full) if full is not None else None

    def attribute(self, node: ast.Attribute) -> Type | None:
        full = self._full_name(node)
        if full is not None and (found := self.members.constant(full)) is not None:
            return found
        value = self._present(node.value)
        if value is None or value == ANY:
            return value
        return self.members.attribute(value, node.attr)

    def constant(self, node: ast.Constant) -> Type | None:
        if node.value is None:
            return NONE
        return Type(type(node.value).__name__) if isinstance(node.value, str | bytes | int | float | bool) else None

    def compare(self, node: ast.Compare) -> Type | None:
        return BOOL

    def text(self, node: ast.JoinedStr) -> Type | None:
        return STR

    def unary(self, node: ast.UnaryOp) -> Type | None:
        if isinstance(node.op, ast.Not):
            return BOOL
        operand = self.of(node.operand)
        return operand if operand in _NUMBERS else (INT if operand == BOOL else None)

    def boolean(self, node: ast.BoolOp) -> Type | None:
        values = self.all_of(node.values)
        if values is None:
            return None
        if isinstance(node.op, ast.Or):
            values = (*(without_none(value) for value in values[:-1]), values[-1])
        return union(values)

    def conditional(self, node: ast.IfExp) -> Type | None:
        values = self.all_of([node.body, node.orelse])
        return union(values) if values is not None else None

    def binary(self, node: ast.BinOp) -> Type | None:
        left, right = self.of(node.left), self.of(node.right)
        if isinstance(node.op, ast.Mod) and left in (STR, BYTES):
            return left
        if left is None or right is None:
            return None
        if left in (*_NUMBERS, BOOL) and right in (*_NUMBERS, BOOL):
            is_real = FLOAT in (left, right) or isinstance(node.op, ast.Div)
            return None if isinstance(node.op, ast.Pow) else (FLOAT if is_real else INT)
        if isinstance(node.op, ast.Add) and left == right and left.name in ("str", "bytes", "list"):
            return left
        if isinstance(node.op, ast.Mult) and left.name in ("str", "bytes", "list") and right == INT:
            return left
        if isinstance(node.op, ast.BitOr | ast.BitAnd | ast.Sub) and left == right and left.name in ("set", "dict"):
            return left
        if isinstance(node.op, ast.Div) and left.name == "pathlib.Path" and right in (STR, left):
            return left
        return None

    def subscript(self, node: ast.Subscript) -> Type | None:
        value = self._present(node.value)
        if value is None or value == ANY:
            return value
        if isinstance(node.slice, ast.Slice):
            return value if value.name in ("str", "bytes", "list", "typing.Sequence") else None
        if value.name in MAPPINGS and len(value.arguments) == 2:
            return value.arguments[1]
        if value == STR or (value.name in SEQUENCES and value.arguments):
            return element_of(value)
        if value.name == "tuple" and value.arguments:
            return self._item(value, node.slice)
        return None

    def _item(self, value: Type, index: ast.expr) -> Type | None:
        if value.arguments[-1].name == "...":
            return value.arguments[0]
        number = index.value if isinstance(index, ast.Constant) else None
        return value.arguments[number] if isinstance(number, int) and number < len(value.arguments) else None

    def sequence(self, node: ast.List | ast.Set) -> Type | None:
        element = joined([self.of(each) for each in node.elts])
        return Type("list" if isinstance(node, ast.List) else "set", (element,)) if element is not None else None

    def tuple_(self, node: ast.Tuple) -> Type | None:
        if any(isinstance(each, ast.Starred) for each in node.elts):
            return None
        elements = self.all_of(node.elts)
        return Type("tuple", elements) if elements else None

    def dictionary(self, node: ast.Dict) -> Type | None:
        if any(key is None for key in node.keys):
            return None
        key = joined([self.of(each) for each in node.keys if each is not None])
        value = joined([self.of(each) for each in node.values])
        return Type("dict", (key, value)) if key is not None and value is not None else None

    def comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> Type | None:
        before = dict(self._bound)
        try:
            for generator in node.generators:
                element = None if generator.is_async else element_of(self.of(generator.iter))
                self._bound.update(targets_bound(generator.target, element))
            if isinstance(node, ast.DictComp):
                pair = self.all_of([node.key, node.value])
                return Type("dict", pair) if pair is not None else None
            inner = self._kept(node)
        finally:
            self._bound = before
        names = {ast.ListComp: "list", ast.SetComp: "set"}
        return Type(names.get(type(node), "typing.Iterator"), (inner,)) if inner is not None else None

    def _kept(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Type | None:
        """Return the type of the elements that the conditions of a comprehension let pass."""
        inner = self.of(node.elt)
        tests = [test for generator in node.generators for test in generator.ifs]
        if inner is None or not tests or len(members_of(inner)) == 1:
            return inner
        name = node.elt.id if isinstance(node.elt, ast.Name) else None
        return without_none(inner) if any(_is_presence(test, name) for test in tests) else None

    def awaited(self, node: ast.Await) -> Type | None:
        return self._call(node.value, is_awaited=True) if isinstance(node.value, ast.Call) else None

    def walrus(self, node: ast.NamedExpr) -> Type | None:
        return self.of(node.value)

    def call(self, node: ast.Call) -> Type | None:
        return self._call(node, is_awaited=False)

    def _call(self, node: ast.Call, *, is_awaited: bool) -> Type | None:
        full = self._full_name(node.func)
        if full is not None and (found := self._call_by_name(full, node, is_awaited=is_awaited)) is not None:
            return found
        if isinstance(node.func, ast.Name) and node.func.id not in self._bound and self._is_local(node.func.id):
            return self._call_of_local(node.func.id, is_awaited=is_awaited)
        if not isinstance(node.func, ast.Attribute):
            return None
        receiver = self._present(node.func.value)
        if receiver == ANY:
            return receiver
        return self._method(receiver, node.func.attr, node, is_awaited) if receiver is not None else None

    def _call_of_local(self, name: str, *, is_awaited: bool) -> Type | None:
        found = self._local(name)
        if found == ANY:
            return found
        if found is not None and found.name == "type" and not is_awaited:
            made = found.arguments[0] if len(found.arguments) == 1 else None
            return self.members.instance(made) if made is not None else None
        return self._call_local(name, is_awaited)

    def _call_by_name(self, full: str, node: ast.Call, *, is_awaited: bool) -> Type | None:
        if full in CLASSES:
            return Type(full)
        if full in FUNCTIONS:
            return FUNCTIONS[full]
        if full in TEXT_FUNCTIONS:
            is_text = bool(node.args) and self.of(node.args[0]) == STR
            return TEXT_FUNCTIONS[full] if is_text else None
        if full in _BY_FUNCTION:
            return _BY_FUNCTION[full](self, node)
        return self.members.call_result(full, is_awaited=is_awaited)

    def _method(self, receiver: Type, name: str, node: ast.Call, is_awaited: bool) -> Type | None:
        if receiver.name in METHODS and name in METHODS[receiver.name]:
            return filled(METHODS[receiver.name][name], receiver.arguments)
        if receiver.name in MAPPINGS and len(receiver.arguments) == 2:
            if name in ("get", "pop"):
                return self._looked_up(receiver, name, node)
            template = METHODS["dict"].get(name)
            return filled(template, receiver.arguments) if template is not None and name != "copy" else None
        if receiver.name == "type" and len(receiver.arguments) == 1:
            return self.members.class_method_result(receiver.arguments[0], name, is_awaited=is_awaited)
        return self.members.method_result(receiver, name, is_awaited=is_awaited)

    def _looked_up(self, receiver: Type, name: str, node: ast.Call) -> Type | None:
        value = receiver.arguments[1]
        if len(node.args) == 2:
            default = self.of(node.args[1])
            return union([value, default]) if default is not None else None
        return union([value, NONE]) if name == "get" else value

    def _made_of(self, node: ast.Call) -> Type | None:
        """Return the type of `list(xs)` and the like."""
        full = self.package.module.resolve(node.func) or ""
        if (element := element_of(self.of(node.args[0])) if len(node.args) == 1 else None) is None:
            return None
        made = {"sorted": "list", "iter": "typing.Iterator", "reversed": "typing.Iterator"}.get(full, full)
        return Type(made, (element, Type("...")) if full == "tuple" else (element,))

    def _mapped(self, node: ast.Call) -> Type | None:
        return dict_of(self.of(node.args[0])) if len(node.args) == 1 and not node.keywords else None

    def _zipped(self, node: ast.Call) -> Type | None:
        elements = [element_of(self.of(argument)) for argument in node.args]
        known = tuple(each for each in elements if each is not None)
        return Type("typing.Iterator", (Type("tuple", known),)) if known and len(known) == len(elements) else None

    def _enumerated(self, node: ast.Call) -> Type | None:
        element = element_of(self.of(node.args[0])) if node.args else None
        return Type("typing.Iterator", (Type("tuple", (INT, element)),)) if element is not None else None

    def _next(self, node: ast.Call) -> Type | None:
        element = element_of(self.of(node.args[0])) if node.args else None
        default = self.of(node.args[1]) if len(node.args) == 2 else element
        return union([element, default]) if element is not None and default is not None else None

    def _extreme(self, node: ast.Call) -> Type | None:
        if len(node.args) == 1:
            return element_of(self.of(node.args[0])) if not node.keywords else None
        return joined([self.of(argument) for argument in node.args])

    def _summed(self, node: ast.Call) -> Type | None:
        element = element_of(self.of(node.args[0])) if len(node.args) == 1 and not node.keywords else None
        return INT if element == BOOL else element if element in _NUMBERS else None

    def _cast(self, node: ast.Call) -> Type | None:
        names = {part.id for part in ast.walk(node.args[0]) if isinstance(part, ast.Name)} if node.args else set()
        is_known = len(node.args) == 2 and not any(self._is_local(name) for name in names)
        return self.package.annotated(node.args[0], self.package.module) if is_known else None

    def _got(self, node: ast.Call) -> Type | None:
        """Return the type of `getattr(...)`: anything, or what it is by default."""
        if len(node.args) == 2:
            return ANY
        default = node.args[2] if len(node.args) == 3 else None
        if not isinstance(default, ast.Constant) or not (default.value is None or isinstance(default.value, bool)):
            return None
        return union([ANY, NONE if default.value is None else BOOL])

    def _same(self, node: ast.Call) -> Type | None:
        return self.of(node.args[0]) if node.args else None

    def _opened(self, node: ast.Call) -> Type | None:
        mode: ast.expr | None = node.args[1] if len(node.args) > 1 else None
        mode = next((keyword.value for keyword in node.keywords if keyword.arg == "mode"), mode)
        if mode is None:
            return Type("typing.TextIO")
        if not isinstance(mode, ast.Constant) or not isinstance(mode.value, str):
            return None
        return Type("typing.BinaryIO" if "b" in mode.value else "typing.TextIO")


def _is_presence(test: ast.expr, name: str | None) -> bool:
    """Check for `name` and `name is not None` as conditions."""
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.IsNot):
        is_none = isinstance(test.comparators[0], ast.Constant) and test.comparators[0].value is None
        test = test.left if is_none else test
    return isinstance(test, ast.Name) and test.id == name


def targets_bound(target: ast.expr, value: Type | None) -> Mapping[str, Type | None]:
    """Return the types that an assignment gives to the names of its target."""
    if isinstance(target, ast.Name):
        return {target.id: value}
    if isinstance(target, ast.Starred):
        names = (node.id for node in ast.walk(target) if isinstance(node, ast.Name))
        return dict.fromkeys(names)
    if not isinstance(target, ast.Tuple | ast.List):
        return {}
    found: dict[str, Type | None] = {}
    parts: tuple[Type | None, ...] = (None,) * len(target.elts)
    has_star = any(isinstance(each, ast.Starred) for each in target.elts)
    if value is not None and value.name == "tuple" and "..." not in {each.name for each in value.arguments}:
        if len(value.arguments) == len(target.elts) and not has_star:
            parts = value.arguments
    elif not has_star:
        parts = (element_of(value),) * len(target.elts)
    for each, part in zip(target.elts, parts, strict=True):
        found.update(targets_bound(each, part))
    return found


_BY_FUNCTION: Mapping[str, Callable[[ExpressionTypes, ast.Call], Type | None]] = {
    **dict.fromkeys(("list", "set", "frozenset", "tuple", "sorted", "reversed", "iter"), ExpressionTypes._made_of),
    **dict.fromkeys(("copy.copy", "copy.deepcopy"), ExpressionTypes._same),
    **dict.fromkeys(("max", "min"), ExpressionTypes._extreme),
    "abs": ExpressionTypes._same,
    "getattr": ExpressionTypes._got,
    "sum": ExpressionTypes._summed,
    "typing.cast": ExpressionTypes._cast,
    "dict": ExpressionTypes._mapped,
    "zip": ExpressionTypes._zipped,
    "enumerate": ExpressionTypes._enumerated,
    "next": ExpressionTypes._next,
    "open": ExpressionTypes._opened,
}
_BY_NODE: Mapping[type[ast.expr], Callable[[ExpressionTypes, Any], Type | None]] = {
    ast.Name: ExpressionTypes.name,
    ast.Attribute: ExpressionTypes.attribute,
    ast.Constant: ExpressionTypes.constant,
    ast.Compare: ExpressionTypes.compare,
    ast.JoinedStr: ExpressionTypes.text,
    ast.UnaryOp: ExpressionTypes.unary,
    ast.BoolOp: ExpressionTypes.boolean,
    ast.IfExp: ExpressionTypes.conditional,
    ast.BinOp: ExpressionTypes.binary,
    ast.Subscript: ExpressionTypes.subscript,
    ast.List: ExpressionTypes.sequence,
    ast.Set: ExpressionTypes.sequence,
    ast.Tuple: ExpressionTypes.tuple_,
    ast.Dict: ExpressionTypes.dictionary,
    **dict.fromkeys((ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp), ExpressionTypes.comprehension),
    ast.Await: ExpressionTypes.awaited,
    ast.NamedExpr: ExpressionTypes.walrus,
    ast.Call: ExpressionTypes.call,
}
