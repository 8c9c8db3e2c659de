"""Words what was proven of a question's subject: it occurs nowhere, or is mentioned only aside."""

from __future__ import annotations

from collections.abc import Iterable

from actors.capabilities.code_analysis.evidence.claims import Claim, code_span, plain
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.search.presence.absence import Absence

MAX_ASIDES = 3
_WHERE = {"test": "tests", "changelog": "a changelog", "vendored": "code of others", "generated": "generated files"}


def is_nowhere(names: Iterable[str], absence: Absence | None) -> bool:
    """Return whether words of a question occur nowhere, one of them in each name of it."""
    if absence is None or not absence.nowhere:
        return False
    return all(any(word.lower() in name.lower() for word in absence.nowhere) for name in names)


def nowhere_sentence(absence: Absence | None) -> str:
    """Return the sentence that names the words that occur nowhere and what was searched; empty if there are none."""
    if absence is None or not absence.nowhere:
        return ""
    words = [code_span(word) for word in absence.nowhere]
    listed = " and ".join((", ".join(words[:-1]), words[-1]) if len(words) > 1 else words)
    occur = "occur" if len(words) > 1 else "occurs"
    in_part = f"; {absence.in_part} more in part: lock files, minified code or long data" if absence.in_part else ""
    files = "1 file" if absence.files == 1 else f"{absence.files} files"
    searched = f"searched: {files}, names, comments and documents{in_part}"
    return plain(f"{listed} {occur} nowhere in this repository ({searched}).")


def undefined_sentence(names: Iterable[str]) -> str:
    """Return the sentence that says of names that nothing bears any of them; empty without names."""
    listed = " or ".join(map(code_span, names))
    return plain(f"Nothing in this repository is named {listed}.") if listed else ""


def aside_claims(facts: Iterable[CodeFact]) -> list[Claim]:
    """Return a claim for each line that mentions a word of the question which nothing but asides mention.

    Of a sentence that only tells something, which is searched for as a part, none: the search for the whole leaves its
    words out.
    """
    found = [fact for fact in facts if fact.kind == "only_aside" and fact.citation.quote]
    asides = [fact for fact in found if set(fact.purposes) != {"part"}]
    claims = []
    for fact in asides[:MAX_ASIDES]:
        where = _WHERE.get(kind_of_path(fact.citation.file), "translations")
        text = f"{code_span(fact.name)} is mentioned only in {where}: «{fact.citation.quote}»."
        claims.append(Claim("only_aside", text, (fact.citation,), subject=fact.name, quotes=(fact.citation.quote,)))
    return claims
