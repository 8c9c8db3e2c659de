"""Writes the values of a closed set: what it is and how many it has, then one entry for each, with its line.

Only what the declaration shows is told: of a set that takes more from elsewhere no entry says that these are all.
"""

from __future__ import annotations

from collections.abc import Sequence

from actors.capabilities.code_analysis.answers.evidence import Evidence
from actors.capabilities.code_analysis.evidence.claims import Claim, code_span
from actors.capabilities.code_analysis.evidence.doc_text import readable
from actors.capabilities.code_analysis.evidence.facts import CodeFact

MAX_CHOICES = 30
MAX_DOC_CHARS = 160
MAX_NAMED = 12
_WHAT = {"keys": ("key", "keys"), "list": ("entry", "entries")}


def choice_claims(evidence: Evidence) -> list[Claim]:
    """Return the claims about the set that fits best, and about an option which lists its values, too; else none."""
    by_set: dict[str, list[CodeFact]] = {}
    for fact in evidence.facts:
        if fact.kind in {"choices", "choice"}:
            by_set.setdefault(fact.about, []).append(fact)
    told = [claims for facts in by_set.values() if (claims := _of_set(facts))]
    if not told:
        return []
    options = [facts for facts in list(by_set.values())[1:] if facts[0].symbol_kind == "option"]
    return [*told[0], *(claim for facts in options[:1] for claim in _of_option(facts))]


def _of_set(facts: Sequence[CodeFact]) -> list[Claim]:
    members = [fact for fact in facts if fact.kind == "choice"]
    heads = {fact.symbol_kind: fact for fact in facts if fact.kind == "choices"}
    declared = next((fact for kind, fact in heads.items() if kind not in {"from", "added"}), None)
    if declared is None or not members:
        return []
    shown = members[:MAX_CHOICES]
    return [_head(declared, heads.get("from"), heads.get("added"), len(shown)), *map(_entry, shown)]


def _head(declared: CodeFact, option: CodeFact | None, added: CodeFact | None, shown: int) -> Claim:
    """Return what the set is, how many values it has, and whether more may be added."""
    name, total = code_span(declared.name), declared.of
    one, several = _WHAT.get(declared.symbol_kind, ("value", "values"))
    counted = f"{total:,} {one if total == 1 else several}"
    text = f"**{name} has {counted}**"
    if option is not None:
        text = f"**{code_span(option.name)} takes the {counted} of {name}**"
    elif declared.symbol_kind == "option":
        text = f"**{name} takes {counted}**"
    if added is not None:
        text = f"{text} where it is declared, and code adds more to it"
    elif declared.more:
        text = f"{text} where it is declared, and may take more from elsewhere"
    text += f" ({shown} of {total:,})" if shown < total else ""
    cited = tuple(fact.citation for fact in (option, declared, added) if fact is not None)
    return Claim("choices", text, cited, subject=declared.name, of=total, count=shown)


def _entry(fact: CodeFact) -> Claim:
    """Return one value, what it stands for if that is another word, and what is said of it."""
    value = fact.signature if fact.signature and fact.name not in fact.signature else ""
    text = code_span(fact.name) + (f" = {code_span(value)}" if value and _tells(value) else "")
    said = readable(fact.docstring)
    said = said if len(said) <= MAX_DOC_CHARS else said[:MAX_DOC_CHARS].rsplit(" ", 1)[0] + " …"
    quotes = (fact.name,) if fact.name in fact.citation.quote else ()
    return Claim("choice", f"{text} — {said}" if said else text, (fact.citation,), subject=fact.name, quotes=quotes)


def _tells(value: str) -> bool:
    """Return whether a value says something to who reads it: a text or a number."""
    return value[:1] in "\"'`-0123456789"


def _of_option(facts: Sequence[CodeFact]) -> list[Claim]:
    """Return what an option takes, in one sentence."""
    names = list(dict.fromkeys(fact.name for fact in facts if fact.kind == "choice"))
    listed = ", ".join(map(code_span, names[:MAX_NAMED])) + (" …" if len(names) > MAX_NAMED else "")
    text = f"The option {code_span(facts[0].name)} takes {listed}"
    return [Claim("choices", text, (facts[0].citation,), subject=facts[0].name)] if names else []
