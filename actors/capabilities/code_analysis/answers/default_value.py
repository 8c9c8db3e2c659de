"""Tells the value that a question asks for, and each line that leads from the name to it.

Several values are all told, each with the thing and the condition for which it holds; none is chosen silently. Where
the value is not proven, the place is told that sets it. What documents say otherwise is said behind the code's value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import msgspec

from actors.capabilities.code_analysis.evidence.claims import Claim, code_span, may_be_quoted
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.evidence.values import ValueNote
from runtime.codebase.citation import Citation

MAX_VALUES = 5
MAX_STEPS = 4
MAX_CONTRADICTIONS = 1

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
# A plain number or switch right behind «default», without a unit.
_SAID = (
    r"\bdefaults?\b(?:(?!version|since)[^.\d]){0,40}?[ `\"':=(]"
    r"(-?\d+(?:\.\d+)?|true|false|on|off)\b(?!\.\d)[`\"']?(?! ?[a-z%])"
)
_TRUTH = {"true": True, "on": True, "false": False, "off": False}


def value_claims(
    facts: Sequence[CodeFact], parts_of: Callable[[str], tuple[int, ...]] = lambda clause: ()
) -> list[Claim]:
    """Return the claims about the values that a question asks for, the proven ones first in the order of its parts.

    `parts_of` returns the numbers of the parts in which a clause of the question stands.
    """
    notes = [fact.value for fact in facts if fact.value is not None and all(map(may_be_quoted, fact.value.texts))]
    kept = _merged(sorted(notes, key=lambda note: not note.is_proven))[:MAX_VALUES]
    claims = [msgspec.structs.replace(_claim(note), parts=parts_of(note.part)) for note in kept]
    return [*claims, *_contradictions(kept, facts)]


def _merged(notes: Sequence[ValueNote]) -> list[ValueNote]:
    """Return one note for each name, thing and value: the first of those that several places prove."""
    kept: dict[tuple[object, ...], ValueNote] = {}
    for note in notes:
        kept.setdefault((note.name, note.owner, note.value, note.conditions, note.is_proven), note)
    return list(kept.values())


def constant_claims(notes: Sequence[ValueNote]) -> list[Claim]:
    """Return what the constants are that stand in the lines shown of a place."""
    told = _merged([note for note in notes if note.is_proven and all(map(may_be_quoted, note.texts))])
    return [msgspec.structs.replace(_claim(note), role="point") for note in told]


def _claim(note: ValueNote) -> Claim:
    name = code_span(f"{note.owner}.{note.name}" if note.owner else note.name)
    by_default = " by default" if note.role == "default" else ""
    conditions = " and ".join(map(code_span, note.conditions))
    where = f", where {conditions}" if conditions else ""
    if note.is_secret:
        text = f"{name} has a literal text{by_default}{where}, which is not repeated here"
        return Claim("value", text, note.steps, subject=note.name)
    cited = _cited(note)
    quotes = tuple(text for citation, text in zip(note.steps, note.texts, strict=True) if citation in cited)
    if note.form == "sentence":
        return Claim("value", f"{name}: «{quotes[0]}»", cited, subject=note.name, quotes=quotes)
    if note.form == "stated":
        text = f"{code_span(cited[0].file)} says: «{quotes[0]}»"
        return Claim("value", text, cited, subject=note.name, quotes=quotes)
    shown = [code_span(" ".join(text.split())) for text in quotes]
    shown[0] += f" in {code_span(note.function)}" if note.function else ""
    said = (
        f"set: {shown[0]}" if note.value is None else f"{code_span(note.value)}{by_default}{where}: {', '.join(shown)}"
    )
    if note.form == "document":
        stated = f"as {code_span(cited[0].file)} says"
        said = f"{code_span(note.value or '')} by default, {stated}: {shown[0]}"
    return Claim("value", f"{name} is {said}", cited, subject=note.name, quotes=quotes)


def _cited(note: ValueNote) -> tuple[Citation, ...]:
    return note.steps[:MAX_STEPS] if len(note.steps) <= MAX_STEPS else (*note.steps[: MAX_STEPS - 1], note.steps[-1])


def _contradictions(notes: Sequence[ValueNote], facts: Sequence[CodeFact]) -> list[Claim]:
    """Return what a passage says of the same name, where it gives another plain number or switch as the default."""
    names = {note.name for note in notes}
    if len(names) != 1 or any(note.form == "document" for note in notes):
        return []
    values = [_plain_value(note.value or "") for note in notes]
    if None in values:
        return []
    found = []
    for fact in facts:
        if fact.kind != "passage" or not re.search(rf"(?<!\w){re.escape(notes[0].name)}(?!\w)", fact.text):
            continue
        said = re.search(_SAID, fact.text, re.IGNORECASE)
        other = _plain_value(said.group(1)) if said is not None else None
        if other is not None and isinstance(other, bool) == isinstance(values[0], bool) and other not in values:
            text = f"{code_span(fact.citation.file)} says otherwise, and the code decides: «{fact.text}»"
            found.append(Claim("value", text, (fact.citation,), quotes=(fact.text,)))
    return found[:MAX_CONTRADICTIONS]


def _plain_value(text: str) -> float | bool | None:
    lowered = text.lower()
    if lowered in _TRUTH:
        return _TRUTH[lowered]
    return float(text) if _NUMBER.fullmatch(text) else None
