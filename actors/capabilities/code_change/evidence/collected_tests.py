"""Knows which functions of a Python file pytest collects as tests, by its syntax."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

Function = ast.FunctionDef | ast.AsyncFunctionDef
_TEST, _TEST_CLASS, _CASE = "test", "Test", "TestCase"
# What pytest and unittest call the decorators that keep a test from counting.
_SKIPS = frozenset({"skip", "skipif", "skipIf", "skipUnless", "xfail", "expectedFailure"})


def collected(body: Iterable[ast.stmt], group: str = "") -> Iterator[tuple[str, Function]]:
    """Yield the tests of a module or class as `Class.name`, in order; of several of one name all that stand there.

    One that is deleted, put something else under, or switched off afterwards is none.
    """
    found: list[tuple[str, Function]] = []
    for node in _flat(body):
        if isinstance(node, Function) and node.name.startswith(_TEST):
            found.append((f"{group}{node.name}", node))
        elif isinstance(node, ast.ClassDef) and _is_test_class(node):
            found += collected(node.body, f"{group}{node.name}.")
        else:
            lost = {f"{group}{name}" for name in _unbound(node)}
            found = [each for each in found if each[0] not in lost]
    yield from found


def _flat(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements with those below conditions that may hold and in what is tried."""
    for node in body:
        if isinstance(node, ast.If):
            yield from _flat([*([] if is_false(node.test) else node.body), *node.orelse])
        elif isinstance(node, ast.Try):
            yield from _flat([*node.body, *node.orelse, *node.finalbody])
        else:
            yield node


def _is_test_class(node: ast.ClassDef) -> bool:
    if is_switched_off(node.body):
        return False
    if any(dotted(base).rpartition(".")[2].endswith(_CASE) for base in node.bases):
        return True
    # pytest leaves out classes that it would have to give something to.
    makes = {each.name for each in node.body if isinstance(each, Function)}
    return node.name.startswith(_TEST_CLASS) and not makes & {"__init__", "__new__"}


def _unbound(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement takes from what they stood for, or switches off."""
    if isinstance(node, ast.Delete):
        yield from (dotted(target) for target in node.targets)
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            name = dotted(target)
            if name.endswith(".__test__") and is_false(node.value):
                yield name.removesuffix(".__test__")
            elif isinstance(target, ast.Name):
                yield name


def skip_under_another_name(function: Function, names: Mapping[str, str]) -> str:
    """Return the decorator that skips a test under a name that does not say so; `names`: name → what it stands for."""
    for decorator in function.decorator_list:
        spelled = dotted(decorator.func if isinstance(decorator, ast.Call) else decorator)
        first, _, rest = spelled.partition(".")
        meant = ".".join(filter(None, (names.get(first, first), rest)))
        is_plain = spelled in _SKIPS or spelled.startswith(("pytest.mark.", "unittest."))
        if meant.rpartition(".")[2] in _SKIPS and not is_plain:
            return spelled
    return ""


def runs_never(function: Function) -> bool:
    """Return whether a test is given no parameters to run with."""
    calls = (each for each in function.decorator_list if isinstance(each, ast.Call))
    return any(
        dotted(call.func).rpartition(".")[2] == "parametrize" and len(call.args) > 1 and _is_nothing(call.args[1])
        for call in calls
    )


def _is_nothing(node: ast.expr) -> bool:
    return isinstance(node, ast.List | ast.Tuple | ast.Set) and not node.elts


def is_false(node: ast.expr) -> bool:
    """Return whether a condition never holds where tests run."""
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        return any(map(is_false, node.values))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return dotted(node.operand) == "__debug__" or (
            isinstance(node.operand, ast.Constant) and bool(node.operand.value)
        )
    if isinstance(node, ast.Compare) and dotted(node.left) == "__name__":
        asked = node.comparators[0]
        return isinstance(node.ops[0], ast.Eq) and isinstance(asked, ast.Constant) and asked.value == "__main__"
    if dotted(node).rpartition(".")[2] == "TYPE_CHECKING":
        return True
    return isinstance(node, ast.Constant) and not node.value


def is_switched_off(body: Iterable[ast.stmt]) -> bool:
    """Return whether a module or class says that it holds no tests."""
    switches = [node for node in body if isinstance(node, ast.Assign) and is_false(node.value)]
    return any(dotted(target) == "__test__" for node in switches for target in node.targets)


def dotted(node: ast.expr | None) -> str:
    """Return a name with those before it, `a.b.c`; empty for other expressions."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(node.id)
    return ".".join(reversed(parts))
