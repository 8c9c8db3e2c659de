"""Names blocks after what they change: attributes, collections, objects, or what they call."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from actors.capabilities.violation_fix.refactoring.complexity import Loop
from actors.capabilities.violation_fix.refactoring.flow.name_scopes import bound_names
from actors.capabilities.violation_fix.refactoring.naming.block_context import BlockContext
from actors.capabilities.violation_fix.refactoring.naming.block_effects import Effect, EffectKind, spelled
from actors.capabilities.violation_fix.refactoring.naming.name_words import (
    VAGUE_VERBS,
    VERBS,
    common_noun,
    is_good_noun,
    noun_quality,
    plural,
    singular,
    words_in,
    words_of,
)
from actors.capabilities.violation_fix.refactoring.naming.suggestion import SuggestedName, ends_plainly, joined_name

_OBJECT_VERBS = frozenset({"set", "add", "append", "insert", "put", "remove", "get", "show", "start", "call"})
# How many effects may lead to the last step for each item.
_MOST_PREPARING = 4


def from_attributes(context: BlockContext) -> Iterator[SuggestedName]:
    attributes = context.effects.attributes
    names = list(dict.fromkeys(name.strip("_") for _, name in attributes))
    if not names or context.outputs or not ends_plainly(context) or context.has_guards or context.has_blank_lines:
        return
    if _does_more(context):
        return
    noun = common_noun(names)
    if not all(is_good_noun(name) for name in names) or "_and_" in noun or _only_counts(context):
        return
    quality = (0.74 if len(names) == 1 else 0.62) * min(noun_quality(name) for name in names)
    verb = "init" if context.function_name == "__init__" else "set"
    owners = {owner.rpartition(".")[2] for owner, _ in attributes}
    owner = owners.pop() if len(owners) == 1 else ""
    if owner in ("self", "cls"):
        yield SuggestedName(joined_name(verb, noun), quality, f"the attribute {noun}")
    elif is_good_noun(owner):
        yield SuggestedName(joined_name("set", owner, noun), quality - 0.04, f"the attribute {noun} of {owner}")


def from_keys(context: BlockContext) -> Iterator[SuggestedName]:
    """Name what sets one or two items under fixed keys of several words after these."""
    keys = fixed_keys(context)
    if not keys or len(keys) > _FEW_KEYS or context.outputs or not ends_plainly(context) or context.has_guards:
        return
    if _does_more(context):
        return
    noun = common_noun(keys)
    is_joined = noun.count("_and_") > (len(keys) > 1)
    if is_joined or len(words_of(keys[0])) < 2 or not all(is_good_noun(key) for key in keys):
        return
    is_shared = len({words_of(key)[0] for key in keys}) == 1
    if is_shared:
        yield SuggestedName(joined_name("set", noun), 0.7 * min(map(noun_quality, keys)), f"the items {noun}")


_FEW_KEYS = 2
# What is said to a log, or warned of, is no deed that a name has to tell.
_MESSAGES = words_in("debug info warn warning error critical exception")


def _does_more(context: BlockContext) -> bool:
    """Return whether a block asserts something, or calls something for its effect, beside what it sets."""
    if any(isinstance(node, ast.Assert) for node in context.nodes):
        return True
    calls = (node.value for node in context.nodes if isinstance(node, ast.Expr))
    changing = {id(effect.call) for effect in context.effects.everything}
    return any(
        isinstance(call, ast.Call) and id(call) not in changing and _last_word_called(call) not in _MESSAGES
        for call in calls
    )


def _last_word_called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else spelled(call.func)


def fixed_keys(context: BlockContext) -> list[str]:
    """Return the keys of the items that a block sets, where that is all it does and they are of one thing."""
    effects = context.effects.all
    is_all = all(effect.kind is EffectKind.ITEM and effect.name for effect in effects)
    if not is_all or len({effect.target for effect in effects}) != 1:
        return []
    return list(dict.fromkeys(effect.name for effect in effects))


def _only_counts(context: BlockContext) -> bool:
    """Check for attributes that are only ever raised or lowered: what is done besides that is the point."""
    stored = [
        node for node in context.nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del)
    ]
    counted = [node.target for node in context.nodes if isinstance(node, ast.AugAssign)]
    return bool(stored) and all(any(node is target for target in counted) for node in stored)


def from_shared_words(context: BlockContext) -> Iterator[SuggestedName]:
    """Name what sets several attributes of one object after the words that all of their names begin with."""
    attributes = context.effects.attributes
    owners = {owner for owner, _ in attributes}
    split = [words_of(name) for name in dict.fromkeys(name for _, name in attributes)]
    if len(split) < 2 or len(owners) > 1 or context.outputs or not ends_plainly(context) or context.has_guards:
        return
    shared: list[str] = []
    for column in zip(*split, strict=False):
        if len(set(column)) > 1:
            break
        shared.append(column[0])
    noun = "_".join(shared)
    if not noun or not is_good_noun(noun) or not all(len(words) > len(shared) for words in split):
        return
    if context.label is not None and set(shared) & set(words_of(context.label.noun)):
        yield SuggestedName(joined_name("configure", noun), 0.66, f"the attributes of {noun}")
    elif len(endings := {words[-1] for words in split}) == 1:
        verb = "init" if context.function_name == "__init__" else "set"
        yield SuggestedName(joined_name(verb, [*shared, plural(endings.pop())]), 0.6, f"the attributes of {noun}")


def from_last_call(context: BlockContext) -> Iterator[SuggestedName]:
    """Name what is done to each item of a loop after its last step, which all others prepare."""
    effects = context.effects.all
    if not 2 <= len(effects) <= _MOST_PREPARING or context.outputs or not ends_plainly(context) or context.has_guards:
        return
    loop = context.only_loop
    body = context.statements if context.is_loop_body else loop.body if loop is not None else []
    noun = context.loop_noun if context.is_loop_body else context.iterated_noun
    last = effects[-1]
    if not body or noun is None or not is_good_noun(noun) or last.kind is not EffectKind.CALL or last.call is None:
        return
    tail = body[-1].value if isinstance(body[-1], ast.Expr) else None
    tail = tail.value if isinstance(tail, ast.Await) else tail
    verb = next(iter(words_of(last.name)), "")
    if tail is last.call and verb in VERBS - VAGUE_VERBS - _OBJECT_VERBS:
        words = singular(noun) if context.is_loop_body else noun
        yield SuggestedName(joined_name(verb, words), 0.58 * noun_quality(noun), "the last step for each item")


def from_collection(context: BlockContext) -> Iterator[SuggestedName]:
    """Name what only fills collections, or takes from them."""
    effects = context.effects.all
    targets = list(dict.fromkeys(effect.target.rpartition(".")[2] for effect in effects))
    if not targets or context.outputs or not ends_plainly(context):
        return
    if any(effect.kind not in (EffectKind.MUTATION, EffectKind.ITEM) for effect in effects):
        return
    noun = common_noun(targets)
    if "_and_" in noun or not all(is_good_noun(target) for target in targets):
        return
    names = {effect.name for effect in effects}
    removes = names & {"remove", "discard", "pop", "popitem", "clear"}
    adds = names - removes - {"sort", "reverse"}
    verb = "update" if removes and adds else "remove" if removes else "add"
    label = context.label
    if label is not None and label.is_case and all(effect.kind is EffectKind.MUTATION for effect in effects):
        words = words_of(label.noun)
        is_same = singular(words[-1]) == singular(words_of(noun)[-1])
        quality = (0.68 if label.is_case else 0.58) * noun_quality(noun)
        yield SuggestedName(joined_name(verb, words if is_same else [*words, *words_of(noun)]), quality, f"the {noun}")


def from_calls(context: BlockContext) -> Iterator[SuggestedName]:
    """Name what makes the same call again and again."""
    effects = context.effects.all
    if not effects or context.outputs or not ends_plainly(context):
        return
    if any(effect.kind is not EffectKind.CALL for effect in effects):
        return
    verbs = {next(iter(words_of(effect.name)), "") for effect in effects}
    verb = verbs.pop() if len(verbs) == 1 else ""
    if verb not in VERBS - VAGUE_VERBS or (verb == "print" and context.attempts):
        return
    if all(context.is_trivial_call(effect.call) for effect in effects):
        return
    called = {effect.name for effect in effects}
    rest = words_of(called.pop())[1:] if len(called) == 1 else []
    several = any(context.is_repeated(effect.call) for effect in effects)
    if rest and rest[-1] not in VERBS and is_good_noun("_".join(rest)):
        words = [*rest[:-1], plural(rest[-1])] if several else rest
        if several or len(effects) == 1:
            yield SuggestedName(
                joined_name([verb, *words]), 0.74 if several else 0.6, "the only call that has an effect"
            )
        is_in_loop = all(context.is_in_loop(effect.call) for effect in effects)
        items = words_of(context.iterated_noun or "") if is_in_loop else []
        if len(items) == 1 and not {singular(items[0])} & {singular(word) for word in rest}:
            owner = singular(items[0])
            quality = 0.77 * noun_quality(owner)
            yield SuggestedName(joined_name([verb, owner, *words]), quality, "what the loop does with each item")
    # `set_exception` says what is set, not what it is done to; `insert_before` takes what it inserts.
    if verb in _OBJECT_VERBS and (rest or not all(_is_given_item(effect, context) for effect in effects)):
        return
    is_in_loop = all(context.is_in_loop(effect.call) for effect in effects)
    if context.iterated_noun and is_good_noun(context.iterated_noun) and is_in_loop:
        quality = 0.76 * noun_quality(context.iterated_noun)
        yield SuggestedName(joined_name(verb, context.iterated_noun), quality, "what the loop does with each item")
    # What is asked for without a case, such as `verbose`, tells when it is done, not to what.
    label = context.label if context.label is not None and context.label.is_case else None
    if label is not None and not rest and words_of(label.noun)[-1] not in VERBS:
        yield SuggestedName(joined_name(verb, label.noun), 0.7, "the only call in the branch")
    first = [effect.call.args[0] if effect.call and effect.call.args else None for effect in effects]
    nouns = {argument.id if isinstance(argument, ast.Name) else None for argument in first}
    noun = nouns.pop() if len(nouns) == 1 else None
    # What is waited for is not told by `wait_time`.
    if not rest and noun and is_good_noun(noun) and verb not in words_of(noun):
        yield SuggestedName(joined_name(verb, noun), 0.64 * noun_quality(noun), "the only call that has an effect")


def _is_given_item(effect: Effect, context: BlockContext) -> bool:
    """Return whether a call without an object in its name is given the item of a loop, if there is one."""
    if len(words_of(effect.name)) > 1:
        return False
    given = (
        {part.id for each in effect.call.args for part in ast.walk(each) if isinstance(part, ast.Name)}
        if effect.call
        else set()
    )
    return not context.loop_targets or bool(given & context.loop_targets)


def from_one_object(context: BlockContext) -> Iterator[SuggestedName]:
    """Name what changes one object in several ways, by its attributes, items and methods."""
    effects = context.effects.all
    if len(effects) < 2 or context.outputs or not ends_plainly(context) or context.has_guards:
        return
    if any(effect.kind is EffectKind.CALL and not effect.target for effect in effects):
        return
    owner = min((effect.target for effect in effects), key=len)
    if owner in ("self", "cls", "") or not all(_is_done_to(owner, effect) for effect in effects):
        return
    # What is bound anew for each item is not one object.
    in_loops = (part for node in context.nodes if isinstance(node, Loop) for part in node.body)
    if owner.partition(".")[0] in frozenset[str]().union(*(bound_names(part) for part in in_loops)):
        return
    # Where all of the function does so, it says nothing of the block.
    if owner in context.changed_elsewhere:
        return
    noun = owner.rpartition(".")[2]
    kinds = {effect.kind for effect in effects}
    # Which items is more than that some are.
    if 0 < len(fixed_keys(context)) <= _FEW_KEYS:
        return
    # One item is no update of the whole.
    is_update = EffectKind.ATTRIBUTE in kinds or (EffectKind.ITEM in kinds and context.changes_several_items)
    if not is_good_noun(noun) or not is_update:
        return
    quality = 0.68 if EffectKind.ATTRIBUTE in kinds else 0.62
    yield SuggestedName(joined_name("update", noun), quality * noun_quality(noun), f"what is done to {noun}")


_SETTING = frozenset(
    {"set", "define", "undefine", "add", "enable", "disable", "configure", "register", "use", "update"}
)
_FEWEST_SETTINGS = 3


def from_settings(context: BlockContext) -> Iterator[SuggestedName]:
    """Name what makes several settings of one object by calls of its methods."""
    effects = context.effects.all
    owners = {effect.target for effect in effects}
    owner = owners.pop() if len(owners) == 1 else ""
    if not owner or owner in ("self", "cls") or context.outputs or not ends_plainly(context) or context.has_guards:
        return
    called = {effect.name for effect in effects if effect.call is not None}
    if len(called) < _FEWEST_SETTINGS or not all(
        words_of(name)[:1] and words_of(name)[0] in _SETTING for name in called
    ):
        return
    noun = owner.rpartition(".")[2]
    is_one = all(effect.kind is EffectKind.CALL and _is_done_to(owner, effect) for effect in effects)
    if is_one and is_good_noun(noun) and owner not in context.changed_elsewhere:
        yield SuggestedName(joined_name("configure", noun), 0.66 * noun_quality(noun), f"the settings of {noun}")


def _is_done_to(owner: str, effect: Effect) -> bool:
    """Return whether an effect is one on an object or its attributes; what it holds are other objects."""
    receiver = effect.call.func.value if effect.call and isinstance(effect.call.func, ast.Attribute) else None
    is_held = any(isinstance(part, ast.Subscript | ast.Call) for part in ast.walk(receiver)) if receiver else False
    return not is_held and f"{effect.target}.".startswith(f"{owner}.")
