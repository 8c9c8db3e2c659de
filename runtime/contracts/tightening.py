"""Compares two contracts: whether one accepts nothing that the other refuses. Pure.

A contract that a repository brings along may act without consent if it only tightens the shipped one. So every key must
be equal unless a rule here proves the difference tighter; a key that is added to the model later must be equal too.
Texts must be equal always, since an agent reads them as the server's own words. Nothing that is returned quotes the
contract that is judged. docs/phase-contracts.md has the rules as a table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import ge, le
from typing import Any

from pydantic import BaseModel

from runtime.contracts.contract import (
    END,
    ESCALATION,
    Confidence,
    Contract,
    Duty,
    FieldRule,
    FlagRule,
    HighRisk,
    Limits,
    PhaseRule,
    Relevance,
    ToolDemand,
)

# Duties that look or check and change nothing: that a flag no longer leaves them out adds to what has to be met.
LOOKING: frozenset[Duty] = frozenset(
    {"", "rules", "frame", "explore", "question", "hypotheses", "impact", "verify", "quality"}
)

_IsTighter = Callable[[Any, Any], bool]


def loosenings(known: Contract, given: Contract) -> list[str]:
    """Return the keys at which `given` is not proven to be at least as tight as `known`; empty if it only tightens."""
    found = [
        *_of_model("", known, given),
        *_of_intents(known, given),
        *_of_flags(known, given),
        *_of_tools(known, given),
    ]
    return list(dict.fromkeys(found))


def _of_model(path: str, known: BaseModel, given: BaseModel) -> Iterator[str]:
    rules = _TIGHTER.get(type(known), {})
    for key in type(known).model_fields:
        if (type(known), key) in _COMPARED_AS_A_WHOLE:
            continue
        yield from _of_value(f"{path}.{key}".lstrip("."), getattr(known, key), getattr(given, key), rules.get(key))


def _of_value(path: str, known: Any, given: Any, is_tighter: _IsTighter | None) -> Iterator[str]:
    if is_tighter is not None:
        if not is_tighter(known, given):
            yield path
    elif isinstance(known, BaseModel):
        yield from _of_model(path, known, given)
    elif isinstance(known, Mapping) and known.keys() == given.keys():
        for key, value in known.items():
            yield from _of_value(f"{path}.{key}", value, given[key], None)
    elif known != given:
        yield path


def _has_fewer(known: Sequence[str], given: Sequence[str]) -> bool:
    return set(given) <= set(known)


def _has_more(known: Sequence[str], given: Sequence[str]) -> bool:
    return set(known) <= set(given)


def _demands_no_less(known: Sequence[ToolDemand], given: Sequence[ToolDemand]) -> bool:
    """Return whether meeting what is given always meets each demand that is known."""
    return all(
        any(set(new.any_of) <= set(old.any_of) and new.at_least >= old.at_least for new in given) for old in known
    )


def _of_intents(known: Contract, given: Contract) -> Iterator[str]:
    """Yield the intents that are new, or do not leave out the same phases."""
    if given.intents.keys() - known.intents.keys():
        yield "intents"
    for name in known.intents.keys() & given.intents.keys():
        if known.keys_of(known.intents[name]) != known.keys_of(given.intents[name]):
            yield f"intents.{name}"


def _of_flags(known: Contract, given: Contract) -> Iterator[str]:
    """Yield what is looser about flags: one may be taken away, or leave out fewer of the phases that only look."""
    if given.flags.keys() - known.flags.keys():
        yield "flags"
    for name in known.flags.keys() & given.flags.keys():
        old, new = known.flags[name], given.flags[name]
        yield from _of_model(f"flags.{name}", old, new)
        if not set(old.excludes) & given.flags.keys() <= set(new.excludes):
            yield f"flags.{name}.excludes"
        before, after = known.keys_of(old.skips), known.keys_of(new.skips)
        if not after <= before or any(known.phases[key].duty not in LOOKING for key in before - after):
            yield f"flags.{name}.skips"


def _of_tools(known: Contract, given: Contract) -> Iterator[str]:
    """Yield the tools that may be called in more phases, or are taken away: claims of those are not checked.

    What a session can always be called with stays so.
    """
    if given.tools.keys() != known.tools.keys():
        yield "tools"
        return
    phases = (*known.phases, ESCALATION, END)
    for name, old in known.tools.items():
        is_always = not old.since and not old.within
        if given.tools[name].kind != old.kind:
            yield f"tools.{name}.kind"
        elif (is_always and given.tools[name] != old) or any(
            given.is_permitted(name, phase) and not known.is_permitted(name, phase) for phase in phases
        ):
            yield f"tools.{name}"


_COMPARED_AS_A_WHOLE = {
    (Contract, "intents"),
    (Contract, "flags"),
    (Contract, "tools"),
    (FlagRule, "skips"),
    (FlagRule, "excludes"),
}

# Quality reverts are not among them: fewer force the merge earlier, more let the loop go on longer.
_TIGHTER: Mapping[type[BaseModel], Mapping[str, _IsTighter]] = {
    Contract: {"version": le, "gate_levels": _has_fewer, "protected_paths": _has_more},
    Limits: {
        "task_failures": ge,
        "failures_in_all": ge,
        "interventions": ge,
        "min_reason_chars": le,
        "max_tasks": ge,
        "max_checklist_items": ge,
    },
    Confidence: dict.fromkeys(Confidence.model_fields, le),
    HighRisk: {"words": _has_more},
    Relevance: dict.fromkeys(Relevance.model_fields, le),
    PhaseRule: {"required_tools": _demands_no_less},
    FieldRule: {"least": le, "most": ge, "words": le, "required": le, "choices": _has_fewer},
}
