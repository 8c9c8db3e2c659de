"""Expands the terms of a question with other forms: prose and code often differ in a word's ending.

Only short questions are expanded. Forms come from the index itself, by a shorter stem than that of the index;
irregular verbs and common synonyms come from tables. Each counts less than the word itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runtime.codebase.files.words import STOP_WORDS, stem
from runtime.codebase.index.reader import IndexReader

MAX_TERMS = 8
MAX_FORMS = 6
LEAST_ROOT_CHARS = 4
FORM_FACTOR = 0.7
SYNONYM_FACTOR = 0.4

_ENDINGS = ("encies", "ancies", "ency", "ancy", "ance", "anc", "ence", "enc", "ant", "ent", "ive", "iv", "ity", "ness")

_IRREGULAR = """
    begun began begin; bound bind; broken broke break; brought bring; built build; caught catch; chosen chose
    choose; dealt deal; drawn drew draw; driven drove drive; fallen fell fall; found find; forgotten forgot
    forget; frozen froze freeze; given gave give; grown grew grow; held hold; hidden hid hide; kept keep; known
    knew know; laid lay; led lead; lost lose; made make; met meet; ran run; rewritten rewrote rewrite; sent
    send; shaken shook shake; shown show; spent spend; spoken spoke speak; stuck stick; taken took take; thought
    think; thrown threw throw; tried try; told tell; understood understand; woken woke wake; written wrote write"""

_SYNONYMS = """
    inheritance extend; inherit extend; delete remove; remove delete; configure setting; settings configure;
    start begin; begin start; stop shutdown; shutdown stop; error exception; exception error; fail error;
    directory folder; folder directory; order sort; order priority; wait sleep; decide choose; choose select;
    select choose; find lookup; lookup find; search find; check validate; validate check; verify check; parse
    read; save store; store save; save dump; write dump; load read; fetch get; create make; make create; build
    make; convert transform; show print; print show; display render; merge combine; combine merge; limit max;
    maximum max; minimum min; default fallback; wrong invalid; password secret; login auth; authentication auth;
    authorization auth; initialize init; initialization init; connection conn; connection connect; request req;
    response resp; argument arg; parameter param; environment env; variable var; temporary tmp; temporary temp;
    message msg; number num; length len; directory dir; command cmd; context ctx; database db; configuration
    config; configure config; application app; specification spec; reference ref; references ref; attribute
    attr; expression expr; statement stmt; iterate iter; execute run; execute exec; run execute; call invoke;
    invoke call; cancel abort; abort cancel; retry attempt; duplicate copy"""


def _table(text: str) -> dict[str, tuple[str, ...]]:
    """Build a map from a stem to the stems of the last word of each group that it is in."""
    pairs: dict[str, list[str]] = {}
    for group in text.split(";"):
        *words, last = group.split()
        for word in words:
            if stem(word) != stem(last):
                pairs.setdefault(stem(word), []).append(stem(last))
    return {word: tuple(dict.fromkeys(others)) for word, others in pairs.items()}


_BASE_FORMS = _table(_IRREGULAR)
_OTHER_WORDS = _table(_SYNONYMS)


def other_words(term: str) -> dict[str, float]:
    """Return the terms that the tables give for a question's term, each with its factor (0 to 1)."""
    found = dict.fromkeys(_OTHER_WORDS.get(term, ()), SYNONYM_FACTOR)
    return found | dict.fromkeys(_BASE_FORMS.get(term, ()), FORM_FACTOR)


def base_form(term: str) -> str:
    """Return the stem of an irregular verb's base form: `find` for `found`; any other term unchanged."""
    return next(iter(_BASE_FORMS.get(term, ())), term)


def root(term: str) -> str:
    """Strip noun and adjective endings from a term of the index: `inheritanc` and `inherit` have the same root."""
    for ending in _ENDINGS:
        if term.endswith(ending) and len(term) - len(ending) >= LEAST_ROOT_CHARS:
            return term[: -len(ending)]
    return term


def related_terms(index: IndexReader, terms: Sequence[str]) -> dict[str, Mapping[str, float]]:
    """Map each term to related terms and the factor by which each counts; empty for more than eight terms."""
    if len(terms) > MAX_TERMS:
        return {}
    found: dict[str, Mapping[str, float]] = {}
    for term in terms:
        forms = other_words(term)
        forms |= dict.fromkeys(_same_root(index, term), FORM_FACTOR)
        kept = {form: factor for form, factor in forms.items() if form not in terms and form not in STOP_WORDS}
        if kept:
            found[term] = kept
    return found


def _same_root(index: IndexReader, term: str) -> list[str]:
    start = root(term)
    if len(start) < LEAST_ROOT_CHARS or not start.isalpha():
        return []
    forms = [form for form in index.terms_from(start, 40) if form != term and root(form) == start]
    return forms[:MAX_FORMS]
