"""Names a new function after what all of its code does.

A block with effects that no name covers gets none. The quality of a name is the chance, from 0 to 1, that a maintainer
takes it as it stands; the figures were set by reading what the rules made of packages that later counts leave out.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from actors.capabilities.violation_fix.refactoring.block_exits import Form
from actors.capabilities.violation_fix.refactoring.cuts import Shape
from actors.capabilities.violation_fix.refactoring.name_scopes import bound_names
from actors.capabilities.violation_fix.refactoring.naming.block_context import BlockContext
from actors.capabilities.violation_fix.refactoring.naming.block_effects import Effect, EffectKind
from actors.capabilities.violation_fix.refactoring.naming.condition_words import is_flag_test, noun_of, tested_nouns
from actors.capabilities.violation_fix.refactoring.naming.name_words import (
    DISTRIBUTIVE_VERBS,
    VAGUE_VERBS,
    VERBS,
    common_noun,
    is_good_noun,
    noun_of_comment,
    noun_quality,
    plural,
    singular,
    words_of,
    words_of_comment,
)
from actors.capabilities.violation_fix.refactoring.naming.output_verbs import QUESTION_WORDS, is_flag, verb_for

MAX_NAME_LENGTH = 36
MAX_NAME_WORDS = 5
BRANCH_REASON = "the case of the branch"


@dataclass(frozen=True, slots=True)
class SuggestedName:
    """Proposes a name; `quality` is between 0 and 1, and `reason` tells what it was derived from."""

    name: str
    quality: float
    reason: str


def suggest_names(context: BlockContext) -> list[SuggestedName]:
    """Return names for a block, best first; none where nothing in the code says what all of it does."""
    found: dict[str, SuggestedName] = {}
    for rule in _RULES:
        for suggestion in rule(context):
            weighed = _weighed(suggestion, context)
            known = found.get(weighed.name)
            if _is_acceptable(weighed.name, context) and (known is None or known.quality < weighed.quality):
                found[weighed.name] = weighed
    return sorted(found.values(), key=lambda suggestion: (-suggestion.quality, suggestion.name))


def _weighed(suggestion: SuggestedName, context: BlockContext) -> SuggestedName:
    """Take off for each output that the name does not tell of: a reader would not expect it."""
    words = {singular(word) for word in suggestion.name.split("_")}
    hidden = [name for name in context.outputs if not words & {singular(word) for word in words_of(name)}]
    # What only the code around it explains has its words from a comment.
    hidden = [] if len(context.outputs) == 1 and not is_good_noun(context.outputs[0]) else hidden
    return replace(suggestion, quality=suggestion.quality * 0.8 ** len(hidden)) if hidden else suggestion


def _is_acceptable(name: str, context: BlockContext) -> bool:
    words = name.strip("_").split("_")
    if not name.isidentifier() or len(name) > MAX_NAME_LENGTH or not 2 <= len(words) <= MAX_NAME_WORDS:
        return False
    own = words_of(context.function_name)
    # `parse_rows` beside `parse_row` is told apart by loops alone; the same words in another order by nothing.
    if sorted(words) == sorted(own):
        return False
    return all(first != second for first, second in pairwise(words))


def _joined(*parts: str | Sequence[str]) -> str:
    words: list[str] = []
    for part in parts:
        for word in words_of(part) if isinstance(part, str) else part:
            if not words or words[-1] != word:
                words.append(word)
    return "_" + "_".join(words)


def _from_comment_on_result(context: BlockContext) -> Iterator[SuggestedName]:
    """Take a comment's command where what it names is all that the block, paragraphs below it included, changes."""
    words, _ = words_of_comment(context.comment) if context.comment else ([], False)
    ends_well = _ends_plainly(context) or context.outputs
    if len(words) < 2 or not ends_well or (words[0] in _ASKING and context.has_guards):
        return
    changed = [_changed_by(effect) for effect in context.effects.all] + list(context.outputs)
    if changed and all(_ends_alike(words_of(name), words[1:]) for name in changed):
        yield SuggestedName(_joined(words), 0.8, "the comment above the block")


def _changed_by(effect: Effect) -> str:
    """Return the attribute or collection that an effect changes."""
    return effect.name if effect.kind is EffectKind.ATTRIBUTE else effect.target.rpartition(".")[2] or effect.name


def _ends_alike(name: Sequence[str], words: Sequence[str]) -> bool:
    """Return whether a name ends with the words of a phrase, or the phrase with those of the name."""
    pairs = list(zip(reversed(name), reversed(words), strict=False))
    return bool(pairs) and all(singular(one) == singular(two) for one, two in pairs)


def _from_comment(context: BlockContext) -> Iterator[SuggestedName]:
    if not context.comment or context.has_inner_comments or context.has_blank_lines or context.returns_several:
        return
    used = context.words_used
    words, is_whole = words_of_comment(context.comment)
    is_used = any(word in used or singular(word) in used or plural(word) in used for word in words[1:])
    # Two words or more are a thing of their own.
    is_telling = is_whole or (len(words) > 2 and len(context.outputs) < 2)
    if words and (is_used or (is_telling and context.cut.shape is not Shape.REST)):
        quality = (0.8 if is_whole else 0.66) if context.cut.shape is not Shape.REST else 0.5
        quality -= 0.06 * (not is_used) + 0.1 * context.has_long_comment
        if words[0] in _ASKING and not context.outputs and not context.effects.is_pure:
            return
        yield SuggestedName(_joined(words), quality, "the comment above the block")
    heading = noun_of_comment(context.comment) if not context.has_long_comment else []
    if (
        heading
        and _ends_plainly(context)
        and context.function_verb in DISTRIBUTIVE_VERBS
        and context.cut.shape is not Shape.REST
    ):
        yield SuggestedName(_joined(context.function_verb or "", heading), 0.68, "the heading above the block")


def _from_skipping(context: BlockContext) -> Iterator[SuggestedName]:
    """Name tests that only decide whether to go on after what they decide."""
    extraction = context.extraction
    if extraction.form is not Form.IF_JUMP or not context.only_tests or not context.effects.is_pure:
        return
    if isinstance(extraction.jump, ast.Continue) and context.loop_noun:
        yield SuggestedName(_joined("should_skip", context.loop_noun), 0.8, "tests that skip an item of the loop")


def _from_outputs(context: BlockContext) -> Iterator[SuggestedName]:
    names = list(context.outputs)
    if context.extraction.form is Form.RETURN and (returned := context.returned_name):
        names = [returned] if any(returned in bound_names(statement) for statement in context.statements) else []
    if not names or len(names) > 2 or not all(is_good_noun(name) for name in names):
        return
    asks = len(names) == 1 and words_of(names[0])[0] in QUESTION_WORDS and names[0] not in context.inputs
    if any(is_flag(context.nodes, name) for name in names) and not asks:
        return
    found = [verb_for(context.nodes, context.statements, name, name in context.inputs) for name in names]
    verb, quality = min(found, key=lambda pair: pair[1])
    if len({verb for verb, _ in found}) > 1:
        verb, quality = "determine", quality - 0.1
    effects = [effect for effect in context.effects.all if effect.target.partition(".")[0] not in names]
    if effects:
        # Reading a file and the like is an effect that the verb of the output can cover.
        verbs = {next(iter(words_of(effect.name)), "") for effect in effects}
        covered = verbs.pop() if len(verbs) == 1 else ""
        if any(effect.kind is not EffectKind.CALL for effect in effects) or covered not in _READING:
            return
        verb, quality = covered, 0.7
    noun = common_noun(names)
    quality *= min(noun_quality(name) for name in names)
    if "_and_" in noun:
        quality -= 0.15
    # A result that may be missing is looked for, or read; to get it promises too much.
    if verb in ("get", "determine") and (context.has_guards or context.extraction.form is Form.IF_NONE):
        quality -= 0.25
    if asks:
        yield SuggestedName("_" + noun, quality, f"the output {names[0]}")
        return
    if set(words_of(noun)) == set(words_of(context.function_noun or "")):
        quality -= 0.15
    if noun_quality(noun) < 1.0 and set(names) & set(context.inputs):
        quality *= 0.9
    yield SuggestedName(_joined(verb, noun), quality, f"the output {', '.join(names)}")


# They promise a result.
_ASKING = frozenset({"get", "find", "determine", "compute", "calculate", "look", "count", "search", "select"})
_READING = frozenset({"read", "receive", "recv", "consume", "next", "expect"})


def _from_validation(context: BlockContext) -> Iterator[SuggestedName]:
    if not context.only_raises or all(is_flag_test(test) for test in context.tests):
        return
    label = context.label
    if label is not None and not label.noun.startswith("missing") and context.is_branch_body:
        yield SuggestedName(_joined("check", label.noun), 0.72, "the branch whose tests raise")
    counted: Counter[str] = Counter()
    for test in context.tests:
        tested = set(tested_nouns(test, context.place.locals))
        counted.update(tested - context.bound)
        # One item of a loop after the other is checked.
        counted.update({plural(name) for name in tested & context.loop_targets if is_good_noun(name)})
    most = max(counted.values(), default=0)
    share = most / len(context.tests)
    noun = common_noun(sorted(name for name, count in counted.items() if count == most)) if most else ""
    if share >= 0.66 and "_and_" not in noun and is_good_noun(noun):
        quality = 0.8 if share == 1.0 else 0.68
        yield SuggestedName(_joined("check", noun), quality * noun_quality(noun), "tests that raise")
    parameters = {argument.arg for argument in context.place.parameters} - {"self", "cls"}
    tested = [set(tested_nouns(test, context.place.locals)) for test in context.tests]
    if all(names & parameters for names in tested) and len(parameters & set(counted)) > 1:
        yield SuggestedName("_check_arguments", 0.7, "tests of arguments that raise")
        own = context.function_noun or context.function_name
        if is_good_noun(own) and not context.function_name.startswith("__"):
            yield SuggestedName(_joined("check", own, "arguments"), 0.68, "tests of arguments that raise")


def _from_attributes(context: BlockContext) -> Iterator[SuggestedName]:
    attributes = context.effects.attributes
    names = list(dict.fromkeys(name.strip("_") for _, name in attributes))
    if not names or context.outputs or not _ends_plainly(context) or context.has_guards or context.has_blank_lines:
        return
    noun = common_noun(names)
    if not all(is_good_noun(name) for name in names) or "_and_" in noun:
        return
    quality = (0.74 if len(names) == 1 else 0.62) * min(noun_quality(name) for name in names)
    verb = "init" if context.function_name == "__init__" else "set"
    owners = {owner.rpartition(".")[2] for owner, _ in attributes}
    owner = owners.pop() if len(owners) == 1 else ""
    if owner in ("self", "cls"):
        yield SuggestedName(_joined(verb, noun), quality, f"the attribute {noun}")
    elif is_good_noun(owner):
        yield SuggestedName(_joined("set", owner, noun), quality - 0.04, f"the attribute {noun} of {owner}")


def _from_shared_words(context: BlockContext) -> Iterator[SuggestedName]:
    """Name what sets several attributes of one object after the words that all of their names begin with."""
    attributes = context.effects.attributes
    owners = {owner for owner, _ in attributes}
    split = [words_of(name) for name in dict.fromkeys(name for _, name in attributes)]
    if len(split) < 2 or len(owners) > 1 or context.outputs or not _ends_plainly(context) or context.has_guards:
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
        yield SuggestedName(_joined("configure", noun), 0.66, f"the attributes of {noun}")
    elif len(endings := {words[-1] for words in split}) == 1:
        verb = "init" if context.function_name == "__init__" else "set"
        yield SuggestedName(_joined(verb, [*shared, plural(endings.pop())]), 0.6, f"the attributes of {noun}")


def _from_last_call(context: BlockContext) -> Iterator[SuggestedName]:
    """Name what is done to each item of a loop after its last step, which all others prepare."""
    effects = context.effects.all
    if not 2 <= len(effects) <= _MOST_PREPARING or context.outputs or not _ends_plainly(context) or context.has_guards:
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
        yield SuggestedName(_joined(verb, words), 0.58 * noun_quality(noun), "the last step for each item")


_MOST_PREPARING = 4


def _from_collection(context: BlockContext) -> Iterator[SuggestedName]:
    """Name what only fills collections, or takes from them."""
    effects = context.effects.all
    targets = list(dict.fromkeys(effect.target.rpartition(".")[2] for effect in effects))
    if not targets or context.outputs or not _ends_plainly(context):
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
        yield SuggestedName(_joined(verb, words if is_same else [*words, *words_of(noun)]), quality, f"the {noun}")


def _from_calls(context: BlockContext) -> Iterator[SuggestedName]:
    """Name what makes the same call again and again."""
    effects = context.effects.all
    if not effects or context.outputs or not _ends_plainly(context):
        return
    if any(effect.kind is not EffectKind.CALL for effect in effects):
        return
    verbs = {next(iter(words_of(effect.name)), "") for effect in effects}
    verb = verbs.pop() if len(verbs) == 1 else ""
    if verb not in VERBS - VAGUE_VERBS:
        return
    if all(context.is_trivial_call(effect.call) for effect in effects):
        return
    called = {effect.name for effect in effects}
    rest = words_of(called.pop())[1:] if len(called) == 1 else []
    several = any(context.is_repeated(effect.call) for effect in effects)
    if rest and rest[-1] not in VERBS and is_good_noun("_".join(rest)):
        words = [*rest[:-1], plural(rest[-1])] if several else rest
        if several or len(effects) == 1:
            yield SuggestedName(_joined([verb, *words]), 0.74 if several else 0.6, "the only call that has an effect")
        items = words_of(context.iterated_noun or "")
        if len(items) == 1 and not {singular(items[0])} & {singular(word) for word in rest}:
            owner = singular(items[0])
            quality = 0.77 * noun_quality(owner)
            yield SuggestedName(_joined([verb, owner, *words]), quality, "what the loop does with each item")
    # `set_exception` says what is set, not what it is done to.
    if rest and verb in _OBJECT_VERBS:
        return
    if context.iterated_noun and is_good_noun(context.iterated_noun):
        quality = 0.76 * noun_quality(context.iterated_noun)
        yield SuggestedName(_joined(verb, context.iterated_noun), quality, "what the loop does with each item")
    if context.label is not None and not rest and words_of(context.label.noun)[-1] not in VERBS:
        yield SuggestedName(_joined(verb, context.label.noun), 0.7, "the only call in the branch")
    first = [effect.call.args[0] if effect.call and effect.call.args else None for effect in effects]
    nouns = {argument.id if isinstance(argument, ast.Name) else None for argument in first}
    noun = nouns.pop() if len(nouns) == 1 else None
    if not rest and noun and is_good_noun(noun):
        yield SuggestedName(_joined(verb, noun), 0.64 * noun_quality(noun), "the only call that has an effect")


_OBJECT_VERBS = frozenset({"set", "add", "append", "insert", "put", "remove", "get", "show", "start", "call"})


def _from_one_object(context: BlockContext) -> Iterator[SuggestedName]:
    """Name what changes one object in several ways, by its attributes, items and methods."""
    effects = context.effects.all
    if len(effects) < 2 or context.outputs or not _ends_plainly(context) or context.has_guards:
        return
    if any(effect.kind is EffectKind.CALL and not effect.target for effect in effects):
        return
    owner = min((effect.target for effect in effects), key=len)
    if owner in ("self", "cls", "") or not all(_is_done_to(owner, effect) for effect in effects):
        return
    noun = owner.rpartition(".")[2]
    kinds = {effect.kind for effect in effects}
    # One item is no update of the whole.
    is_update = EffectKind.ATTRIBUTE in kinds or (EffectKind.ITEM in kinds and context.changes_several_items)
    if not is_good_noun(noun) or not is_update:
        return
    quality = 0.68 if EffectKind.ATTRIBUTE in kinds else 0.62
    yield SuggestedName(_joined("update", noun), quality * noun_quality(noun), f"what is done to {noun}")


def _is_done_to(owner: str, effect: Effect) -> bool:
    """Return whether an effect is one on an object or its attributes; what it holds are other objects."""
    receiver = effect.call.func.value if effect.call and isinstance(effect.call.func, ast.Attribute) else None
    is_held = any(isinstance(part, ast.Subscript | ast.Call) for part in ast.walk(receiver)) if receiver else False
    return not is_held and f"{effect.target}.".startswith(f"{owner}.")


def _from_branch(context: BlockContext) -> Iterator[SuggestedName]:
    label = context.label
    if label is None or label.noun.startswith("missing") or context.extraction.form is Form.IF_JUMP:
        return
    if label.chain < 2 and not context.is_main_part:
        return
    quality = 0.62 if label.is_case else 0.54
    quality += 0.1 if label.chain >= 3 else 0.04 if label.chain == 2 else 0.0
    verb, noun = context.function_verb, context.function_noun
    # One word for a flag, such as `double`, tells nothing of what is done.
    tells = label.is_case or len(words_of(label.noun)) > 1 or label.noun.endswith("s")
    if verb in DISTRIBUTIVE_VERBS and tells:
        yield SuggestedName(_joined(verb, label.noun), quality + 0.04, BRANCH_REASON)
    elif (
        label.is_case
        and verb
        and noun
        and verb not in ("init", "handle")
        and words_of(noun)[-1] != words_of(label.noun)[-1]
    ):
        yield SuggestedName(_joined(verb, label.noun, singular(noun)), quality, BRANCH_REASON)
    if label.is_case and label.chain >= 2 and _ends_plainly(context) and not context.outputs:
        yield SuggestedName(_joined("handle", label.noun), quality - 0.02, BRANCH_REASON)


def _from_loop(context: BlockContext) -> Iterator[SuggestedName]:
    """Name a loop, or the body of one, after what the function does to all items."""
    verb = context.function_verb if context.function_verb in DISTRIBUTIVE_VERBS and context.is_main_part else None
    own = {singular(word) for word in words_of(context.function_noun or "")}
    if context.is_loop_body and context.loop_noun:
        noun = singular(context.loop_noun)
        quality = 0.8 if words_of(noun)[-1] in own else 0.7
        if verb is not None:
            yield SuggestedName(_joined(verb, noun), quality * noun_quality(noun), "the loop's body")
    elif context.iterated_noun and is_good_noun(context.iterated_noun):
        noun = context.iterated_noun
        if verb is not None:
            yield SuggestedName(_joined(verb, noun), 0.62 * noun_quality(noun), "the loop over " + noun)


def _from_yields(context: BlockContext) -> Iterator[SuggestedName]:
    yielded = [node.value for node in context.nodes if isinstance(node, ast.Yield) and node.value is not None]
    nouns = {value.id if isinstance(value, ast.Name) else None for value in yielded}
    delegates = any(isinstance(node, ast.YieldFrom) for node in context.nodes)
    noun = nouns.pop() if len(nouns) == 1 and not delegates else None
    if noun and is_good_noun(noun) and not noun.endswith("ed") and context.effects.is_pure:
        yield SuggestedName(_joined("iterate", plural(noun)), 0.66 * noun_quality(noun), "what the block yields")


def _from_returned(context: BlockContext) -> Iterator[SuggestedName]:
    """Name what returns an object of one class after it."""
    if context.extraction.form is not Form.RETURN or not context.effects.is_pure:
        return
    values = [node.value for node in context.nodes if isinstance(node, ast.Return)]
    made = [value.func if isinstance(value, ast.Call) else None for value in values]
    nouns = {noun_of(function) if function is not None else None for function in made}
    noun = nouns.pop() if len(nouns) == 1 else None
    if noun and noun[:1].isupper() and not noun.isupper() and is_good_noun(noun):
        yield SuggestedName(_joined("create", noun), 0.68, "what the block returns")


def _ends_plainly(context: BlockContext) -> bool:
    """Return whether the call tells nothing but what its name says."""
    return context.extraction.form in (Form.PLAIN, Form.THEN_JUMP)


_RULES: Sequence[Callable[[BlockContext], Iterator[SuggestedName]]] = (
    _from_comment,
    _from_comment_on_result,
    _from_skipping,
    _from_outputs,
    _from_validation,
    _from_attributes,
    _from_shared_words,
    _from_last_call,
    _from_collection,
    _from_calls,
    _from_one_object,
    _from_branch,
    _from_loop,
    _from_yields,
    _from_returned,
)
