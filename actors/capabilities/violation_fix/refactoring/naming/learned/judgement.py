"""Holds names that rules make against the verbs that authors would use, and mends or lowers them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from actors.capabilities.violation_fix.refactoring.naming.block_context import BlockContext
from actors.capabilities.violation_fix.refactoring.naming.learned.verb_groups import (
    NEVER_GIVEN,
    NO_VERB,
    QUESTION,
    group_of,
    verb_class,
)
from actors.capabilities.violation_fix.refactoring.naming.learned.verb_model import by_group
from actors.capabilities.violation_fix.refactoring.naming.name_words import words_in, words_of
from actors.capabilities.violation_fix.refactoring.naming.suggestion import (
    BRANCH_REASON,
    BY_COMMENT,
    BY_FUNCTION_AND_CASE,
    BY_HEADING,
    BY_LOOP_BODY,
    BY_TYPE_LEFT,
    MESSAGE_REASONS,
    MISSING_REASON,
    OUTPUT_REASON,
    SuggestedName,
    joined_name,
)

# Below this the model does not know, and above the second it mostly does.
_UNSURE, _SURE = 0.35, 0.5
# By how much the quality of a name changes where its own group of verbs is at most so likely.
_STEPS_IF_SURE = ((0.2, 0.75), (0.35, 1.0), (1.0, 1.12))
_STEPS = ((0.03, 0.75), (0.35, 1.0), (1.0, 1.05))
# Of a name that makes a deed of what makes a value, or the other way round, or whose verb could be said of anything.
_OF_ANOTHER_KIND, _LEAST_OF_A_KIND = 0.58, 0.2
MOST_QUALITY = 0.9
# They have their verbs from the author's own words.
_OF_THE_AUTHOR = MESSAGE_REASONS | {
    BRANCH_REASON,
    BY_COMMENT,
    BY_FUNCTION_AND_CASE,
    BY_HEADING,
    BY_LOOP_BODY,
    BY_TYPE_LEFT,
}
# A verb gives way to one that is so likely, and so much more likely.
_LEAST_LIKELY, _TIMES_LIKELIER = 0.65, 5.0
# Authors get, build or collect the same thing, and give it back.
_OF_ANY_VALUE = ("get", "build", "collect")
# They promise a result, and nothing else.
_PROMISING = frozenset({"get", "build", "parse", "convert", "format", "load", "fetch", "collect", "merge", "filter"})
_OF_ANYTHING = words_in("apply extend handle normalize resolve update")
# One reads a result and converts a source: a verb goes with what its object is to the block.
_OF_RESULTS = frozenset({"get", "build", "collect", "load", "fetch", "parse", "format"})
_OF_WHAT_IS_CHANGED = frozenset({"convert", "format", "filter", "expand", "sort", "wrap"})
_OF_WHAT_IS_USED = frozenset({"add", "load", "print", "remove", "send", "start", "stop", "write", "init", "draw"})
# Frameworks call functions so, whatever these do.
_OF_FRAMEWORKS = frozenset({"forward", "test"})
# They say how something comes about that could be said in many ways; other verbs tell what is done.
_LOOSE = words_in(
    "apply build collect compute create determine extend find generate get handle normalize resolve set update"
)


def likely_verbs(chances: Mapping[str, float]) -> dict[str, float]:
    """Return how likely each verb is where the name has one."""
    rest = 1.0 - chances.get(NO_VERB, 0.0) - chances.get(QUESTION, 0.0)
    verbs = ((verb, chance) for verb, chance in chances.items() if verb not in (NO_VERB, QUESTION))
    return {verb: chance / rest for verb, chance in verbs} if rest > 0.0 else {}


def judged(suggestion: SuggestedName, verbs: Mapping[str, float]) -> SuggestedName:
    """Return a name with its quality by how likely its verb is; words of the author stay as they are."""
    group = group_of(verb_class(suggestion.name))
    groups = by_group(verbs)
    if suggestion.reason in _OF_THE_AUTHOR or group not in groups:
        return suggestion
    # Who handles something may do anything.
    chance = 0.0 if group in NEVER_GIVEN else _chance_of(group, groups)
    _, best = best_verb(verbs)
    steps = _STEPS_IF_SURE if best >= _SURE or group in NEVER_GIVEN else _STEPS if best >= _UNSURE else ()
    factor = next((factor for most, factor in steps if chance <= most), 1.0)
    if best >= _SURE and _is_of_another_kind(suggestion.name, groups):
        factor = _OF_ANOTHER_KIND
    return replace(suggestion, quality=min(suggestion.quality * factor, max(suggestion.quality, MOST_QUALITY)))


def _chance_of(group: str, groups: Mapping[str, float]) -> float:
    """Return how likely a group is, with those that a reader takes for it."""
    return sum(groups.get(each, 0.0) for each in _OF_ANY_VALUE) if group in _OF_ANY_VALUE else groups.get(group, 0.0)


def _is_of_another_kind(name: str, groups: Mapping[str, float]) -> bool:
    """Return whether authors would hardly use a verb of the kind that a name has."""
    verb = verb_class(name)
    own = group_of(verb)
    if verb in _OF_ANYTHING:
        return groups[own] < _LEAST_OF_A_KIND
    alike = (chance for group, chance in groups.items() if (group in _PROMISING) == (own in _PROMISING))
    return sum(alike) < _LEAST_OF_A_KIND


def with_likely_verb(
    suggestion: SuggestedName, verbs: Mapping[str, float], context: BlockContext
) -> SuggestedName | None:
    """Return a name whose loose verb has given way to one that is much likelier, if there is one."""
    verb = verb_class(suggestion.name)
    if verb not in _LOOSE or suggestion.reason in _OF_THE_AUTHOR:
        return None
    likely, chance = best_verb(verbs)
    own, new = group_of(verb), group_of(likely)
    if chance < max(_LEAST_LIKELY, _TIMES_LIKELIER * _chance_of(own, by_group(verbs))):
        return None
    if new not in _fitting_groups(suggestion.reason, context) or (new in _OF_ANY_VALUE and context.has_guards):
        return None
    name = joined_name(likely, words_of(suggestion.name)[1:])
    reason = f"{suggestion.reason}, with the verb that authors would use"
    return replace(suggestion, name=name, reason=reason)


def _fitting_groups(reason: str, context: BlockContext) -> frozenset[str]:
    """Return the groups of verbs that go with what the object of a name is to the block."""
    if reason.endswith(MISSING_REASON):
        return _OF_WHAT_IS_USED
    is_changed = bool(set(context.outputs) & set(context.inputs))
    if not reason.startswith(OUTPUT_REASON):
        return frozenset()
    return _OF_WHAT_IS_CHANGED if is_changed else _OF_RESULTS


def best_verb(verbs: Mapping[str, float]) -> tuple[str, float]:
    """Return the likeliest verb of the likeliest group that says something, and how likely the group is."""
    groups = by_group(verbs)
    told = next((group for group in groups if group not in NEVER_GIVEN | _OF_FRAMEWORKS), None)
    verb = next((verb for verb in verbs if group_of(verb) == told), "")
    return verb, groups.get(told, 0.0) if told else 0.0
