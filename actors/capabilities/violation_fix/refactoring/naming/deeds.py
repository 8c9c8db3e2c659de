"""Finds what a block does besides working something out: waits, asks others, prints, or changes what it is given."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from actors.capabilities.violation_fix.refactoring.complexity import Loop
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
    found = frozenset(_deeds(context.nodes))
    sleeps = any(_is_sleep(node) for node in context.nodes)
    if not sleeps:
        return found
    in_loop = any(_is_sleep(part) for node in context.nodes if isinstance(node, Loop) for part in ast.walk(node))
    # Who asks again and again, and sleeps between, polls.
    return found - {"fetch"} | {"poll" if in_loop else UNTOLD}


def _is_sleep(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and _called(node) in _SLEEPING


def _deeds(nodes: Sequence[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Await):
            if not (isinstance(node.value, ast.Call) and _called(node.value) in _SLEEPING):
                yield _verb_of(node.value)
        elif isinstance(node, ast.AsyncWith | ast.AsyncFor):
            yield _verb_of(node.iter if isinstance(node, ast.AsyncFor) else node.items[0].context_expr)
        elif isinstance(node, ast.Call):
            yield from _of_call(node)


def _of_call(call: ast.Call) -> Iterator[str]:
    name = _called(call)
    words = words_of(name.strip("_"))
    owner = spelled(call.func).partition(".")[0] if isinstance(call.func, ast.Attribute) else ""
    if name in _PRINTING or (words and words[-1] in _HOOKS and words[0] not in VERBS):
        yield UNTOLD
    elif owner in _PROGRAMS:
        yield UNTOLD
    elif words and owner in _CLIENTS and words[0] in ("get", "head", "options", "request", "urlopen"):
        yield "fetch"
    elif words and owner in _CLIENTS and words[0] in ("put", "patch", "delete"):
        yield "send"
    elif words and words[0] in _ASKING_OTHERS and not {"from", "to"} & set(words[1:-1]):
        yield _SPELLED.get(words[0], words[0])


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _verb_of(value: ast.expr) -> str:
    """Return the verb of what is waited for."""
    verb = next(iter(words_of(_called(value).strip("_"))), "") if isinstance(value, ast.Call) else ""
    verb = _SPELLED.get(verb, verb)
    return verb if verb in VERBS - VAGUE_VERBS - (PURE_VERBS - {"collect"}) else UNTOLD


def _changed_inputs(context: BlockContext) -> Iterator[str]:
    """Yield the parameters of the new function that the block changes, also under another name, and gives back none of."""
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
