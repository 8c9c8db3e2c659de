"""Finds the sentence that states the value which a question asks for, in prose or a help text.

Where no name of code is proven to have the value, the sentence is quoted as what its file says. It must state a value
of the kind that is asked for in a way that answers: as a default where one is asked for, as a bound where a bound is,
as a time or a number of what is counted; it and what stands around it must cover the question, and no other sentence
that covers it as well may state another value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.files.source_text import ReadSource
from runtime.codebase.files.words import index_terms
from runtime.codebase.index.reader import IndexReader
from runtime.codebase.resolution.default_values.value_chains import ChainStep, ValueChain
from runtime.codebase.search.prose.prose_paragraphs import passage_paragraphs
from runtime.codebase.search.prose.sentences import MAX_QUOTE_CHARS, Sentence, split_sentences
from runtime.codebase.search.values.documented_settings import row_default, usage_default
from runtime.codebase.search.values.setting_terms import rarest_terms
from runtime.codebase.search.values.stated_forms import is_of_kind, states
from runtime.codebase.search.values.value_questions import ValuePart, asks_for_bound
from runtime.codebase.search.values.value_words import forms_with_joined, met_by, subject_of, words_of, words_of_path

# The form of a value that a sentence tells, of which no name of code is known.
STATED = "stated"

MAX_PASSAGES, MAX_FORMS = 80, 4
# So many sentences ahead of one may say what it speaks of.
MAX_BEFORE = 3
MAX_PIECES, MAX_HELP_LINES = 24, 6_000
# So far from a value stands what it is the value of.
MAX_AHEAD_CHARS, MAX_BEHIND_CHARS = 160, 100
# What a word counts that stands in the sentence before, in the headings or in the path.
BEFORE_WEIGHT, HEADING_WEIGHT, PATH_WEIGHT = 0.6, 0.6, 0.4
# The least share of the question's weight that a sentence covers with what is around it, and by itself.
LEAST_COVERED, LEAST_OWN = 0.68, 0.45
LEAST_TERMS = 2
# How far behind a sentence with another value must be.
MARGIN = 0.1
_OPTION = re.compile(r"(?<![\w-])--([A-Za-z][\w-]*)")
MAX_HEAD_CHARS = 80
_KINDS = ("comment", "docstring", "document", "help")
_ASIDE = frozenset({"test", "vendored", "example", "translation", "changelog", "generated", "benchmark"})
# «Default: `30`.» goes on with the sentence before.
_GOES_ON = re.compile(r"\W*(?:(?:the |it |this |which )?defaults?\b|by default\b)", re.IGNORECASE)

_BY_WORDS = f"""SELECT p.kind, f.path, p.start_line, p.end_line, p.heading FROM
    (SELECT rowid, bm25(passage_text, 1.0, 2.0) AS score FROM passage_text WHERE passage_text MATCH ?
     ORDER BY score, rowid LIMIT {MAX_PASSAGES}) t
    JOIN passages p ON p.id = t.rowid JOIN files f ON f.id = p.file_id
    WHERE p.kind IN ({", ".join(f"'{kind}'" for kind in _KINDS)}) ORDER BY t.score, p.id"""

_OF_HELP = " OR ".join(index_terms("usage options help default").split())
_FILES_OF_HELP = f"""SELECT DISTINCT f.path FROM
    (SELECT rowid, bm25(chunk_text) AS score FROM chunk_text WHERE chunk_text MATCH ?
     ORDER BY score LIMIT {MAX_PIECES}) t
    JOIN chunks c ON c.id = t.rowid JOIN files f ON f.id = c.file_id"""


class Stated(NamedTuple):
    """Describes a sentence that states a value: its file and lines, and the share of the question that it covers."""

    text: str
    value: str
    file: str
    start_line: int
    end_line: int
    covered: float

    @property
    def chain(self) -> ValueChain:
        """The words of the sentence as a proof, without a value of code."""
        step = ChainStep(self.file, self.start_line, self.text, self.value, self.end_line)
        return ValueChain(self.value, "", "default", STATED, None, (step,))


def stated_value(index: IndexReader, read: ReadSource, part: ValuePart) -> Stated | None:
    """Return the one sentence that states the value which a part of a question asks for; None if none clearly does."""
    terms = rarest_terms(index, subject_of(part))
    if not terms:
        return None
    forms = forms_with_joined(subject_of(part), part.text)
    wanted = dict.fromkeys(form for known in forms.values() for form in list(known)[:MAX_FORMS] if form.isalnum())
    match = " OR ".join(f'"{form}"' for form in wanted)
    found: list[Stated] = []
    for file, heading, unit in _said(index, read, match) if match else ():
        is_listed = bool(unit.value) and is_of_kind(unit.value, unit.text, part) and not asks_for_bound(part)
        value = unit.value if is_listed else "" if unit.value else states(unit.text, part)
        around = (words_of(heading), words_of_path(file))
        covered = _covered(unit, value, around, terms, forms) if value else 0.0
        if covered >= LEAST_COVERED and len(unit.text) <= MAX_QUOTE_CHARS:
            found.append(Stated(unit.text, value, file, unit.start_line, unit.end_line, covered))
    if not found:
        return None
    found.sort(key=lambda one: (-one.covered, one.file, one.start_line))
    rivals = [one for one in found if one.covered > found[0].covered - MARGIN]
    is_clear = len({_plain(one.value) for one in rivals}) == 1
    return found[0] if is_clear else None


def _said(index: IndexReader, read: ReadSource, match: str) -> Iterator[tuple[str, str, _Unit]]:
    """Yield what passages with the words say, with its file and headings, and the lines of help texts in code."""
    for kind, file, first, last, heading in index.rows(_BY_WORDS, (f"body : ({match})",)):
        source = read(file) if kind_of_path(file) not in _ASIDE else None
        if source is not None:
            for unit in _units(source.lines, first, last, is_document=kind == "document"):
                yield file, heading, unit
    for (file,) in index.rows(_FILES_OF_HELP, (f"body : ({match}) AND body : ({_OF_HELP})",)):
        source = read(file) if kind_of_path(file) == "source" else None
        for number, line in enumerate(source.lines[:MAX_HELP_LINES] if source is not None else (), 1):
            told = usage_default(line)
            if told is not None:
                yield file, "", _Unit(told[0], "", number, number, told[1])


class _Unit(NamedTuple):
    """Holds what a passage says in one breath: a sentence, a row of a table or a line of a help text.

    `before`: the sentences ahead of it; `value`: the default of a row or of a line of a help text.
    """

    text: str
    before: str
    start_line: int
    end_line: int
    value: str = ""


def _units(lines: Sequence[str], first: int, last: int, *, is_document: bool) -> Iterator[_Unit]:
    """Yield what a passage says; a sentence that only goes on is told together with the one before."""
    listed: set[int] = set()
    for number in range(first, min(last, len(lines)) + 1):
        row = row_default(lines, number) if is_document else ""
        usage = usage_default(lines[number - 1])
        if row or usage is not None:
            listed.add(number)
            text, value = (lines[number - 1].strip(), row) if usage is None else usage
            yield _Unit(text, "", number, number, value)
    own = lines[first - 1 : last]
    examples = {
        line.number
        for paragraph in passage_paragraphs(own, first, is_document=is_document)
        for line in paragraph.lines
        if paragraph.is_example or paragraph.is_row
    }
    before: list[Sentence] = []
    for said in split_sentences(own, first, is_document=is_document):
        if said.start_line in examples or said.start_line in listed:
            before = []
            continue
        if before and _GOES_ON.match(said.text):
            yield _Unit(f"{before[-1].text} {said.text}", _text(before[:-1]), before[-1].start_line, said.end_line)
        else:
            yield _Unit(said.text, _text(before), said.start_line, said.end_line)
        before = [*before, said][-MAX_BEFORE:]


def _text(sentences: Sequence[Sentence]) -> str:
    return " ".join(sentence.text for sentence in sentences)


def _covered(
    unit: _Unit,
    value: str,
    around: tuple[frozenset[str], frozenset[str]],
    terms: Mapping[str, float],
    forms: Mapping[str, Mapping[str, float]],
) -> float:
    """Return the share of the question that is said by a unit and around it; 0 if too little is said by itself."""
    near = unit.text if unit.value else _around(unit.text, value)
    own = frozenset(index_terms(near).split()) | words_of(near)
    before = frozenset(index_terms(unit.before).split())
    headings, path = around
    total, met, of_own, count = sum(terms.values()) or 1.0, 0.0, 0.0, 0
    for term, weight in terms.items():
        here = met_by(forms[term], own)
        count += here > 0
        of_own += weight * here
        others = (
            BEFORE_WEIGHT * met_by(forms[term], before),
            HEADING_WEIGHT * met_by(forms[term], headings),
            PATH_WEIGHT * met_by(forms[term], path),
        )
        met += weight * max(here, *others)
    is_option = bool(unit.value) and not _named_options(unit.text).isdisjoint(
        form for term in terms for form in forms[term]
    )
    is_enough = of_own / total >= LEAST_OWN and (count >= LEAST_TERMS or (is_option and len(terms) == 1))
    return met / total if is_enough else 0.0


def _around(text: str, value: str) -> str:
    """Return what stands near a value: a long sentence may speak of other things first."""
    at = max(0, text.find(value))
    return text[max(0, at - MAX_AHEAD_CHARS) : at + MAX_BEHIND_CHARS]


def _named_options(text: str) -> frozenset[str]:
    """Return the terms of the options that a row or a line of a help text begins with."""
    return frozenset(index_terms(" ".join(_OPTION.findall(text[:MAX_HEAD_CHARS]))).split())


def _plain(value: str) -> str:
    return re.sub(r"[\s`\"',_]", "", value).lower()
