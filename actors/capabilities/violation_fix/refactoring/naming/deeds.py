"""Finds what a block does besides working something out: waits, asks others, prints, changes inputs."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from actors.capabilities.violation_fix.refactoring.complexity import Loop
from actors.capabilities.violation_fix.refactoring.flow.name_scopes import bound_names
from actors.capabilities.violation_fix.refactoring.naming.block_context import BlockContext
from actors.capabilities.violation_fix.refactoring.naming.block_effects import EffectKind, spelled
from actors.capabilities.violation_fix.refactoring.naming.name_words import (
    VAGUE_VERBS,
    VERBS,
    singular,
    words_in,
    words_of,
)

# They promise a value, and nothing else.
PURE_VERBS = words_in(
    "build calculate collect compute count determine extend find get look normalize resolve search select update"
)
# What a deed that no verb tells is called.
UNTOLD = ""
_PRINTING = words_in("print pprint secho echo input")
_SLEEPING = words_in("sleep")
_HOOKS = words_in("hook hooks callback callbacks")
# They do not run a hook.
_KEEPING_HOOKS = words_in("add append attach clear create get has is make register remove set unregister")
_ASKING_OTHERS = words_in(
    "fetch send request urlopen urlretrieve download upload poll post publish transmit recv receive"
)
_SPELLED = {"urlopen": "fetch", "urlretrieve": "download", "request": "fetch", "recv": "receive", "get": "fetch"}
_CLIENTS = words_in("requests httpx aiohttp urllib subprocess")
_PROGRAMS = words_in("subprocess")
# What is removed from or added to beside the work itself.
_OWN_RECORDS = words_in("cache caches seen visited history memo stats statistics")


def hides_deeds(name: str, context: BlockContext) -> bool:
    """Return whether a name that promises a value keeps to itself what else the block does."""
    words = words_of(name)
    # What the author calls so may do it all.
    if not words or words[0] not in PURE_VERBS or words[0] == context.function_verb:
        return False
    told = {singular(word) for word in words}
    changed = (noun for noun in _changed_inputs(context) if not {singular(word) for word in words_of(noun)} & told)
    return bool(deeds_in(context)) or any(True for _ in changed)


def deeds_in(context: BlockContext) -> frozenset[str]:
    """Return the verbs of what a block does to the world; `UNTOLD` for what has none."""
    found = frozenset(verb for node in context.nodes for verb in _verbs_of(node))
    if any(_is_sleep(node) for node in context.nodes):
        loops = (node for node in context.nodes if isinstance(node, Loop))
        in_loop = any(_is_sleep(part) for loop in loops for part in ast.walk(loop))
        # Who asks again and again, and sleeps between, polls.
        found = found - {"fetch"} | {"poll" if in_loop else UNTOLD}
    # Who asks others may say so.
    is_printed = not found and any(_is_printed(node) for node in context.nodes)
    return found | {UNTOLD} if is_printed else found


def _is_sleep(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and _called(node) in _SLEEPING


def _is_printed(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and _called(node) in _PRINTING


def makes_by_deed(outputs: Sequence[str], context: BlockContext) -> bool:
    """Return whether all outputs are made of what the deeds of a block give back."""
    made: frozenset[str] = frozenset()
    loops = [list(ast.walk(node)) for node in context.nodes if isinstance(node, ast.While)]
    polled = {part for parts in loops if any(_is_sleep(each) for each in parts) for part in parts}
    # What is assigned further up may be made of what a loop assigns further down.
    for _ in range(2):
        for node in context.nodes:
            if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign) and node.value is not None:
                parts, bound = list(ast.walk(node.value)), bound_names(node)
            elif isinstance(node, ast.For | ast.AsyncFor):
                parts, bound = list(ast.walk(node.iter)), bound_names(node.target)
            elif isinstance(node, ast.With | ast.AsyncWith):
                parts = [part for item in node.items for part in ast.walk(item.context_expr)]
                bound = frozenset[str]().union(
                    *(bound_names(item.optional_vars) for item in node.items if item.optional_vars)
                )
            else:
                continue
            names = {part.id for part in parts if isinstance(part, ast.Name)}
            is_asked = node in polled and any(isinstance(part, ast.Call) for part in parts)
            if names & made or is_asked or any(True for part in parts for _verb in _verbs_of(part)):
                made |= bound
    return set(outputs) <= made


def _verbs_of(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Await):
        if not _is_sleep(node.value):
            yield _verb_of(node.value)
    elif isinstance(node, ast.AsyncWith | ast.AsyncFor):
        yield _verb_of(node.iter if isinstance(node, ast.AsyncFor) else node.items[0].context_expr)
    elif isinstance(node, ast.Call):
        yield from _verbs_of_call(node)


def _verbs_of_call(call: ast.Call) -> Iterator[str]:
    name = _called(call)
    words = words_of(name.strip("_"))
    first = words[0] if words else ""
    owner = spelled(call.func).partition(".")[0] if isinstance(call.func, ast.Attribute) else ""
    if owner in _PROGRAMS or (words[-1:] and words[-1] in _HOOKS and first not in _KEEPING_HOOKS):
        yield UNTOLD
    elif owner in _CLIENTS and first in ("get", "head", "options", "request", "urlopen"):
        yield "fetch"
    elif owner in _CLIENTS and first in ("put", "patch", "delete"):
        yield "send"
    elif first in VAGUE_VERBS and words[-1] == "request":
        yield "fetch"
    elif first in _ASKING_OTHERS and not {"from", "to"} & set(words[1:-1]):
        yield _SPELLED.get(first, first)


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _verb_of(value: ast.expr) -> str:
    """Return the verb of what is waited for."""
    verb = next(iter(words_of(_called(value).strip("_"))), "") if isinstance(value, ast.Call) else ""
    verb = _SPELLED.get(verb, verb)
    return verb if verb in VERBS - VAGUE_VERBS - (PURE_VERBS - {"collect"}) else UNTOLD


def _changed_inputs(context: BlockContext) -> Iterator[str]:
    """Yield parameters of the new function that the block changes, also under another name, and does not return."""
    given = set(context.inputs) - {"self", "cls"}
    aliases = {name: name for name in given}
    for node in context.nodes:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id in given:
            aliases |= {target.id: node.value.id for target in node.targets if isinstance(target, ast.Name)}
    for effect in context.effects.everything:
        name = aliases.get(effect.target.partition(".")[0])
        is_own = bool(set(words_of(effect.target)) & _OWN_RECORDS)
        if name is not None and not is_own and effect.kind is not EffectKind.CALL and name not in context.outputs:
            yield name
