"""Finds the verb for how a block comes by one of its outputs."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from actors.capabilities.violation_fix.refactoring.complexity import Loop
from actors.capabilities.violation_fix.refactoring.flow.name_scopes import names_read
from actors.capabilities.violation_fix.refactoring.naming.condition_words import noun_of
from actors.capabilities.violation_fix.refactoring.naming.name_words import VAGUE_VERBS, VERBS, words_in, words_of

_ADDING = words_in("append add extend appendleft insert setdefault")
# Verbs of calls that do not carry over to what is assigned.
_INCIDENTAL = words_in(
    """
    get pop next append join format strip split replace encode decode copy sort index count insert cast map filter open
    add set update setdefault group match search partition lower upper list filter cast reverse print
    """
)
# What a name that is an answer to a question begins with.
QUESTION_WORDS = words_in("is has should can needs was must may are")


def verb_for(
    nodes: Sequence[ast.AST], statements: Sequence[ast.stmt], output: str, is_input: bool
) -> tuple[str, float]:
    """Return the verb for how a block comes by an output, and how sure it is."""
    bindings = [node for node in nodes if _binds(node, output)]
    values = [value for node in bindings if (value := getattr(node, "value", None)) is not None]
    loops = [statement for statement in statements if isinstance(statement, Loop)]
    if any(_adds_to(node, output) for node in nodes):
        # What is collected has a name for several.
        collected = ("collect", 0.8) if output.rstrip("0123456789_").endswith("s") else ("build", 0.74)
        return ("extend", 0.55) if is_input else collected
    if not bindings and not any(_binds_item(node, output) for node in nodes):
        # Bound by a definition or an import: no verb says that.
        return "get", 0.0
    if is_input:
        return _verb_of_change(nodes, statements, bindings, values, output)
    plain = [value for value in values if not isinstance(value, ast.Constant)]
    # What is then done to what was made, as in `model = model.to(device)`, is no other way to come by it.
    verbs = {_verb_of_value(value) for value in plain if not _is_of_itself(value, output)}
    if len(verbs) == 1 and (verb := verbs.pop()) is not None:
        return verb, 0.82
    if any(isinstance(node, ast.AugAssign) for node in bindings):
        return _verb_of_sum(bindings)
    if any(_binds_item(node, output) for node in nodes):
        return "build", 0.78
    loops = [loop for loop in loops if any(node in bindings for node in ast.walk(loop))]
    if any(isinstance(loop, ast.For | ast.AsyncFor) for loop in loops):
        # What a loop calls again until it succeeds was there to be had, not to be found.
        is_made = any(isinstance(value, ast.Call) for value in values)
        return ("get", 0.64) if is_made else ("find", 0.8 if _ends_early(loops) else 0.62)
    if loops:
        return "determine", 0.6
    if any(_may_act(value) for value in plain):
        return "get", 0.4
    return ("determine", 0.76) if len(bindings) > 1 else ("get", 0.74)


def _is_of_itself(value: ast.expr, output: str) -> bool:
    """Check for a call of a method of an output itself."""
    function = value.func if isinstance(value, ast.Call) else None
    return isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == output


# First words of calls that do something: to determine what they return is another thing.
_ACTING = words_in(
    """
    accept advance apply call commit connect consume download dump eat emit execute expect fetch handle install invoke
    load next open perform pop post process put read receive recv register remove request run save send start store
    submit update upload urlopen wait write
    """
)


def _may_act(value: ast.expr) -> bool:
    """Check for a call that does more than its result tells."""
    value = value.value if isinstance(value, ast.Await) else value
    if not isinstance(value, ast.Call):
        return False
    name = value.func.attr if isinstance(value.func, ast.Attribute) else getattr(value.func, "id", "")
    return bool(set(words_of(name.strip("_"))[:1]) & _ACTING)


def _verb_of_change(
    nodes: Sequence[ast.AST],
    statements: Sequence[ast.stmt],
    bindings: Sequence[ast.AST],
    values: Sequence[ast.expr],
    output: str,
) -> tuple[str, float]:
    verbs = {_verb_of_value(value) for value in values}
    # Who refuses some, and leaves others as they are, does not cut, join or read all.
    refuses = any(isinstance(node, ast.Raise) for node in nodes)
    is_always = not refuses or any(binding is statement for binding in bindings for statement in statements)
    if is_always and len(verbs) == 1 and (verb := verbs.pop()) not in (None, "build", "create", "collect", "compute"):
        return str(verb), 0.68
    if all(isinstance(node, ast.AugAssign) for node in bindings) or all(_appends(value, output) for value in values):
        return "extend", 0.5
    loops = [node for node in nodes if isinstance(node, ast.For | ast.AsyncFor)]
    are_in_loops = all(any(part is node for loop in loops for part in ast.walk(loop)) for node in bindings)
    if (loops and are_in_loops) or (values and all(_is_extreme(value) for value in values)):
        # With each turn it becomes another thing, not another form of the same.
        return "update", 0.6
    if values and all(output in names_read(value) or isinstance(value, ast.Constant) for value in values):
        return "normalize", 0.64
    is_tested = any(_is_type_test(node, output) for node in nodes)
    return ("normalize", 0.66) if is_tested else ("resolve", 0.66)


def _appends(value: ast.expr, output: str) -> bool:
    """Check for `x + …`, where x is the output itself."""
    while isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        value = value.left
        if isinstance(value, ast.Name) and value.id == output:
            return True
    return False


def _is_extreme(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in ("max", "min")


def _is_type_test(node: ast.AST, name: str) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id != "isinstance":
        return False
    return bool(node.args) and isinstance(node.args[0], ast.Name) and node.args[0].id == name


def _verb_of_sum(bindings: Sequence[ast.AST]) -> tuple[str, float]:
    added = [node.value for node in bindings if isinstance(node, ast.AugAssign)]
    numbers = [value for value in added if isinstance(value, ast.Constant) and isinstance(value.value, int | float)]
    if len(numbers) == len(added) and all(value.value == 1 for value in numbers):
        return "count", 0.7
    return ("build", 0.74) if any(_is_text(value) for value in added) else ("compute", 0.74)


def _is_text(value: ast.expr) -> bool:
    return any(
        isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
        for node in ast.walk(value)
    )


def _ends_early(loops: Sequence[ast.stmt]) -> bool:
    return any(isinstance(node, ast.Break | ast.Return) for loop in loops for node in ast.walk(loop))


def _adds_to(node: ast.AST, name: str) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in _ADDING:
        return False
    return isinstance(node.func.value, ast.Name) and node.func.value.id == name


def _binds_item(node: ast.AST, name: str) -> bool:
    if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Store):
        return False
    return isinstance(node.value, ast.Name) and node.value.id == name


def _binds(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Assign):
        targets = [part for target in node.targets for part in ast.walk(target)]
        return any(
            isinstance(target, ast.Name) and target.id == name and isinstance(target.ctx, ast.Store)
            for target in targets
        )
    if isinstance(node, ast.AnnAssign | ast.AugAssign):
        return isinstance(node.target, ast.Name) and node.target.id == name
    if isinstance(node, ast.For | ast.AsyncFor):
        return isinstance(node.target, ast.Name) and node.target.id == name
    if isinstance(node, ast.With | ast.AsyncWith):
        return any(isinstance(item.optional_vars, ast.Name) and item.optional_vars.id == name for item in node.items)
    return False


def _verb_of_value(value: ast.expr) -> str | None:
    value = value.value if isinstance(value, ast.Await) else value
    if isinstance(value, ast.Call):
        name = noun_of(value.func) or ""
        words = words_of(name)
        if name[:1].isupper():
            return "open" if words[-1] in ("file", "input", "stream") else "create"
        if name == "open":
            return name
        if words[:1] == ["make"] and len(words) > 1:
            return "create"
        return words[0] if words and words[0] in VERBS - VAGUE_VERBS - _INCIDENTAL else None
    if isinstance(value, ast.ListComp | ast.DictComp | ast.SetComp):
        return "collect"
    if isinstance(value, ast.JoinedStr):
        return "build"
    if isinstance(value, ast.Dict) and value.keys:
        return "build"
    if isinstance(value, ast.BinOp):
        return "build" if _is_text(value) else "compute"
    return None


def is_flag(nodes: Sequence[ast.AST], output: str) -> bool:
    """Return whether an output only ever is True or False."""
    bindings = [node for node in nodes if _binds(node, output)]
    values = [getattr(node, "value", None) for node in bindings]
    return bool(values) and all(isinstance(value, ast.Constant) and isinstance(value.value, bool) for value in values)


def is_constant(nodes: Sequence[ast.AST], output: str) -> bool:
    """Return whether an output is only ever bound to one and the same constant."""
    values = [getattr(node, "value", None) for node in nodes if _binds(node, output)]
    texts = {ast.dump(value) for value in values if isinstance(value, ast.Constant)}
    return len(texts) == 1 and all(isinstance(value, ast.Constant) for value in values)


def opens_to_read(nodes: Sequence[ast.AST]) -> bool:
    """Return whether a block gets what it makes out of a file that it opens."""
    managers = [item.context_expr for node in nodes if isinstance(node, ast.With) for item in node.items]
    opened = [each for each in managers if isinstance(each, ast.Call) and noun_of(each.func) == "open"]
    modes = [_mode_of(each) for each in opened]
    return bool(opened) and all(mode in ("r", "rb", "rt") for mode in modes)


def _mode_of(call: ast.Call) -> object:
    # The path comes first where a function opens, not where the path itself does.
    given = call.args[1:] if isinstance(call.func, ast.Name) else call.args
    named = [keyword.value for keyword in call.keywords if keyword.arg == "mode"]
    mode = next(iter([*given[:1], *named]), None)
    return "r" if mode is None else mode.value if isinstance(mode, ast.Constant) else None
