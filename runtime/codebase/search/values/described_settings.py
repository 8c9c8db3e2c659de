"""Finds the settings whose description speaks of a question.

Descriptions are comments, help texts, parameters of documentation strings and items of documents.

A setting is often asked for in the words of its description, of which its name has hardly any: «After how many seconds
is a silent worker killed?» asks for `timeout`. Descriptions are sought among the passages of the index; each is rated
by the share of the question's weight that it covers together with the name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.files.source_text import ReadSource
from runtime.codebase.files.words import index_terms
from runtime.codebase.index.reader import IndexReader
from runtime.codebase.resolution.default_values.value_sites import key_of
from runtime.codebase.search.values.documented_settings import DocumentedSetting, settings_in
from runtime.codebase.search.values.named_values import VALUES, values_for
from runtime.codebase.search.values.setting_terms import rarest_terms
from runtime.codebase.search.values.value_questions import ValuePart
from runtime.codebase.search.values.value_words import (
    BIG,
    GENERAL,
    OF_MEASURE,
    SIZES,
    forms_of,
    forms_with_joined,
    met_by,
    subject_of,
    words_of,
    words_of_path,
)

MAX_PASSAGES, MAX_READ, MAX_FOUND = 120, 30, 16
MAX_FORMS, MAX_SYMBOLS = 4, 15
# A description must have so many of the subject's words.
LEAST_TERMS = 2
# The least share of the question's weight that a name and its description cover together.
LEAST_COVERED = 0.75
# What a word counts that the path or the type has; what the name counts besides; what each further word of it costs.
PATH_WEIGHT, NAME_WEIGHT, FURTHER_WORD_COST = 0.7, 0.25, 0.12
# A name with more words that the question does not have is that of something else.
MAX_FURTHER = 2
_TIMES_SAID = frozenset(
    index_terms("second seconds millisecond milliseconds ms minute minutes hour hours duration").split()
)
_ACCESSORS = frozenset({"get", "set", "with", "is", "has", "use"})
_KINDS = ("comment", "docstring", "document", "help")

_BY_WORDS = f"""SELECT p.kind, f.path, p.start_line, p.end_line, p.heading, t.body FROM
    (SELECT rowid, body, bm25(passage_text, 1.0, 2.0) AS score FROM passage_text WHERE passage_text MATCH ?
     ORDER BY score, rowid LIMIT {MAX_PASSAGES}) t
    JOIN passages p ON p.id = t.rowid JOIN files f ON f.id = p.file_id
    WHERE p.kind IN ({", ".join(f"'{kind}'" for kind in _KINDS)}) ORDER BY t.score, p.id"""


class Described(NamedTuple):
    """Describes a setting that a question may mean.

    `owner`: the type or function of its description, «» in a document; `covered`: the share of the question's weight
    that its name and its description have, `of_name` that of its name; `score` puts settings in order; `says_time`:
    whether the description speaks of a time; `setting`: what a document states of it.
    """

    name: str
    owner: str
    file: str
    start_line: int
    end_line: int
    covered: float
    of_name: float
    score: float
    says_time: bool
    setting: DocumentedSetting | None = None

    @property
    def key(self) -> str:
        """The name by which settings are compared."""
        return key_of(self.name)


def described_settings(index: IndexReader, read: ReadSource, part: ValuePart) -> list[Described]:
    """Return the settings whose descriptions cover a part of a question, best first, each name once in a file."""
    terms = rarest_terms(index, subject_of(part))
    if len(terms) < LEAST_TERMS:
        return []
    forms = forms_with_joined(subject_of(part), part.text)
    wanted = dict.fromkeys(form for known in forms.values() for form in list(known)[:MAX_FORMS] if form.isalnum())
    match = " OR ".join(f'"{form}"' for form in wanted)
    rows = index.rows(_BY_WORDS, (f"body : ({match})",)) if match else []
    rated = sorted(
        (
            (_covered(terms, forms, frozenset(row[5].split()) | words_of(row[4]), words_of_path(row[1])), row)
            for row in rows
        ),
        key=lambda pair: -pair[0],
    )
    found: dict[tuple[str, str], Described] = {}
    for covered, row in rated[:MAX_READ]:
        if covered >= LEAST_COVERED and kind_of_path(row[1]) not in {"test", "vendored"}:
            for one in _settings_of(read, row):
                said = _rated(one, terms, forms, part)
                known = found.get((said.key, said.file)) if said is not None else None
                if said is not None and (known is None or known.score < said.score):
                    found[said.key, said.file] = said
    for symbol, _ in values_for(index, read, " ".join(terms), VALUES, MAX_SYMBOLS):
        # A short comment is no passage of its own.
        text = frozenset(index_terms(symbol.docstring).split())
        if text and kind_of_path(symbol.file) == "source":
            own = _Said(symbol.name, symbol.owner, symbol.file, symbol.start_line, symbol.end_line, text, "", None)
            said = _rated(own, terms, forms, part)
            if said is not None:
                found.setdefault((said.key, said.file), said)
    return sorted(found.values(), key=lambda one: (-one.score, one.file, one.start_line))[:MAX_FOUND]


class _Said(NamedTuple):
    name: str
    owner: str
    file: str
    start_line: int
    end_line: int
    text: frozenset[str]
    sections: str
    setting: DocumentedSetting | None


def _settings_of(read: ReadSource, row: tuple[str, str, int, int, str, str]) -> Iterator[_Said]:
    """Yield the settings that a passage describes."""
    kind, file, first, last, heading, body = row
    source = read(file)
    if source is None:
        return
    owner, _, last_name = heading.rpartition(".")
    if kind != "document":
        name = _without_accessor(last_name)
        if name:
            yield _Said(name, owner, file, first, last, frozenset(body.split()), "", None)
    is_prose = kind in {"document", "docstring"}
    for one in settings_in(source.lines, first, last, heading if kind == "document" else "") if is_prose else ():
        owner = "" if kind == "document" else last_name
        terms = frozenset(index_terms(one.text).split())
        yield _Said(one.name, owner, file, one.start_line, one.end_line, terms, heading, one)


def _without_accessor(name: str) -> str:
    """Return the name of what a method reads or sets: `getMaxSize` speaks of `MaxSize`."""
    for accessor in _ACCESSORS:
        rest = name[len(accessor) :]
        if name.lower().startswith(accessor) and (rest[:1] == "_" or rest[:1].isupper()):
            return rest.lstrip("_")
    return name


def _rated(
    said: _Said, terms: Mapping[str, float], forms: Mapping[str, Mapping[str, float]], part: ValuePart
) -> Described | None:
    """Return a setting with its score; None if too little of the question is said of it."""
    name = words_of(said.name)
    covered = _covered(
        terms, forms, said.text | name, words_of(f"{said.owner} {said.sections}") | words_of_path(said.file)
    )
    of_name = _covered(terms, forms, name, frozenset())
    asked = {form for known in (*forms.values(), *map(forms_of, (*part.terms, *part.context))) for form in known}
    free = GENERAL | OF_MEASURE.get(part.measure, frozenset()) | (SIZES if BIG.search(part.text) else frozenset())
    further = len(name - asked - free)
    score = covered + NAME_WEIGHT * of_name - FURTHER_WORD_COST * further
    is_of_measure = not name.isdisjoint(OF_MEASURE.get(part.measure, frozenset()))
    if covered < LEAST_COVERED or further > MAX_FURTHER or not (of_name or is_of_measure):
        return None
    lines, says_time = (said.start_line, said.end_line), not said.text.isdisjoint(_TIMES_SAID)
    score = round(score, 4)
    return Described(said.name, said.owner, said.file, *lines, covered, of_name, score, says_time, said.setting)


def _covered(
    terms: Mapping[str, float], forms: Mapping[str, Mapping[str, float]], text: frozenset[str], around: frozenset[str]
) -> float:
    met = sum(
        weight * max(met_by(forms[term], text), PATH_WEIGHT * met_by(forms[term], around))
        for term, weight in terms.items()
    )
    return met / (sum(terms.values()) or 1.0)
