"""Answers a question in words from the places that speak of it: the deciding lines first, then what else bears on it.

Nothing is asserted but what the cited lines hold: a claim names a place and quotes it. The first place is shown with
its code, a document that speaks of the question follows it, and further places are quoted in a line each.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Collection, Sequence

import msgspec

from actors.capabilities.code_analysis.answers.default_value import constant_claims
from actors.capabilities.code_analysis.answers.documents.comment_pairing import is_shown_with
from actors.capabilities.code_analysis.answers.literal_values import literal_claims
from actors.capabilities.code_analysis.answers.part_answers import PartPlaces, introduction, numbers_of_places
from actors.capabilities.code_analysis.answers.places.further_places import (
    MAX_CITED_LINES,
    cited_lines,
    excerpt_in,
    further_claims,
    has_name,
    lines_of,
    named,
    own_words,
    quoted,
    shown_words,
    word_count,
)
from actors.capabilities.code_analysis.evidence.claims import Claim, ClaimRole, code_span
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.evidence.values import ValueNote
from actors.capabilities.code_analysis.ranking.answer_order import Place
from actors.capabilities.code_analysis.ranking.worth_telling import worth_telling
from runtime.codebase.citation import Citation
from runtime.codebase.files.words import index_terms
from runtime.codebase.search.excerpts import Excerpt
from runtime.codebase.search.prose.comment_lines import comment_lines
from runtime.codebase.search.prose.sentences import Sentence

# A comment that is no documentation by its marks.
_REMARK = re.compile(r"(?:#|//(?![/!])|--|;)")
# What an answer tells in words, its code and its marks not counted.
MAX_WORDS = 120
# What it tells and shows together: as much as is read at a glance.
MAX_SHOWN_WORDS = 250
MAX_NAMED = 6
MAX_DOCUMENTS = 1


def answer_claims(
    places: Sequence[Place],
    parts: Sequence[PartPlaces] = (),
    passages: Sequence[Claim] = (),
    *,
    left_words: int = MAX_WORDS,
    left_shown: int = MAX_SHOWN_WORDS,
    values: Sequence[Claim] = (),
    unsure: Collection[int] = (),
) -> list[Claim]:
    """Return the claims of an answer: a lead with code, what a document says, and further places.

    `parts`: those of the question with their places; the first place of each stands before the other ones, which must
    be worth telling, and says which part it answers. `passages`: what documents say. `left_words`: how many words the
    claims may have together, `left_shown` how many with the code; the lead and what a document says are told even so.
    `values`: what was told of values before. `unsure`: the numbers of the parts whose places are told without saying
    that they answer these.
    """
    told = [place for place in places if place.fact.excerpt is not None]
    if not told:
        return [_place(place.fact, "point" if number else "lead") for number, place in enumerate(places[:MAX_NAMED])]
    code = [place for place in told if not place.is_prose]
    prose = [place for place in told if place.is_prose]
    if not code:
        led = [claim for place in prose if (claim := _document_claim(place.fact, "lead")) is not None]
        return [*led[:MAX_DOCUMENTS], *passages] if led else []
    lead, *others = code
    worth = worth_telling(told)
    numbers = numbers_of_places(parts)
    first = [part.first for part in parts if part.first in others and part.first is not None]
    first = [place for at, place in enumerate(first) if place not in first[:at]]
    others = [*first, *(place for place in others if place in worth and place not in first)]
    best = msgspec.structs.replace(_lead(lead.fact), parts=numbers.get(lead.fact.place, ()))
    constants = constant_claims(_in_lines(lead.fact, best))
    literals = literal_claims(lead.fact.literals, best, [*values, *constants])
    ahead = [best, *constants, *literals, *passages]
    left_words -= sum(map(word_count, ahead))
    cited = [citation for claim in ahead for citation in claim.citations]
    asked = {place: (found, _introduced(parts, found, unsure)) for place, found in numbers.items()}
    left_shown -= sum(map(shown_words, ahead))
    return [*ahead, *further_claims(others, left_words, cited, asked, left_shown=left_shown)]


def _introduced(parts: Sequence[PartPlaces], found: Sequence[int], unsure: Collection[int]) -> str:
    """Return the words of the first part that a place is trusted to answer, to stand ahead of it; «» without one."""
    return next((introduction(parts[number - 1]) for number in found if number not in unsure), "")


def _in_lines(fact: CodeFact, claim: Claim) -> list[ValueNote]:
    """Return the constants of a place whose names stand in the code that a claim shows."""
    return [note for note in fact.constants if re.search(rf"(?<!\w){re.escape(note.name)}(?!\w)", claim.code)]


def _place(fact: CodeFact, role: ClaimRole) -> Claim:
    """Return a claim that names a place found by a name alone, of which no lines were chosen."""
    where = f"{named(fact)} in {code_span(fact.citation.file)}" if fact.name else code_span(fact.citation.file)
    return Claim(role, where, (fact.citation,), subject=fact.name)


def _lead(fact: CodeFact) -> Claim:
    """Return the claim about the best place, with its deciding lines as code."""
    excerpt = excerpt_in(fact)
    where = f"{named(fact)} in {code_span(fact.citation.file)}" if has_name(fact) else code_span(fact.citation.file)
    said = _documentation(fact, own_words(excerpt))
    if said is not None and not _is_of_body(said, excerpt, fact.docstring):
        excerpt = msgspec.structs.replace(excerpt, body=())
    text = where if said is None else f"{where}{',' if said.parameter else ':'} {quoted(said)}"
    code = textwrap.dedent("\n".join(_shown(excerpt, said)))
    if said is None and excerpt.body:
        # Nothing is told of the prose that the body is shown for.
        cited: tuple[Citation, ...] = (lines_of(fact, excerpt.body[0][0], excerpt.body[-1][0]),)
    else:
        cited = cited_lines(fact, said, range(excerpt.shown_start, excerpt.shown_end + 1))
        cited = _with_further(fact, cited) if code else cited
    return Claim("lead", text, _with_conditions(fact, cited), code=code, subject=fact.name, quotes=_quotes(said))


def _is_of_body(said: Sentence, excerpt: Excerpt, docstring: str) -> bool:
    """Return whether a sentence documents the code to show beside prose; True where there is no such code."""
    if not excerpt.body or " ".join(said.text.split()) in " ".join(docstring.split()):
        return True
    own = said.of
    if own is None and excerpt.within is not None:
        # It stands in the documentation of the whole place, which began above what was found of it.
        return True
    return own is not None and own.start_line <= excerpt.body[0][0] and excerpt.body[-1][0] <= own.end_line


def _shown(excerpt: Excerpt, said: Sentence | None) -> list[str]:
    """Return the code to show below a sentence: none that only repeats it, and no signature alone."""
    if excerpt.body:
        return [line for _, line in excerpt.body]
    if said is not None:
        repeats = said.start_line <= excerpt.shown_start and excerpt.shown_end <= said.end_line
        if repeats or (excerpt.is_bare and not excerpt.rest):
            return []
    return [_under_conditions(excerpt, _without(said, excerpt)), *excerpt.rest, *excerpt.after]


def _with_further(fact: CodeFact, cited: tuple[Citation, ...]) -> tuple[Citation, ...]:
    """Return the lines to cite with what is shown beside the excerpt: its body, or the end of its definition.

    What goes on from a citation is one with that, if it stays short enough.
    """
    excerpt = excerpt_in(fact)
    further = len(excerpt.rest) + len(excerpt.after)
    behind = range(excerpt.shown_end + 1, excerpt.shown_end + further + 1)
    behind = range(excerpt.body[0][0], excerpt.body[-1][0] + 1) if excerpt.body else behind
    left = [line for line in behind if not any(one.start_line <= line <= one.end_line for one in cited)]
    if not left:
        return cited
    *others, last = cited
    if left[0] == last.end_line + 1 and left[-1] - last.start_line < MAX_CITED_LINES:
        return (*others, msgspec.structs.replace(last, end_line=left[-1]))
    return (*cited, lines_of(fact, left[0], left[-1]))


def _under_conditions(excerpt: Excerpt, text: str) -> str:
    """Return the lines to show behind the conditions that decide whether they are reached, «…» for lines between."""
    told: list[str] = []
    last = None
    for number, line in (*excerpt.heads, (excerpt.shown_start, text.split("\n")[0])):
        if last is not None and number > last + 1:
            told.append(f"{line[: len(line) - len(line.lstrip())]}…")
        told.append(line)
        last = number
    return "\n".join((*told[:-1], text))


def _with_conditions(fact: CodeFact, cited: Sequence[Citation]) -> tuple[Citation, ...]:
    """Return the lines to cite with those of the conditions: in the first citation if it stays short enough."""
    first, *rest = cited
    spans: list[tuple[int, int]] = []
    for number, _ in reversed(excerpt_in(fact).heads):
        if any(citation.start_line <= number <= citation.end_line for citation in (first, *rest)):
            continue
        if number < first.start_line and first.end_line - number < MAX_CITED_LINES:
            first = msgspec.structs.replace(first, start_line=number)
        elif spans and number == spans[-1][0] - 1 and spans[-1][1] - number < MAX_CITED_LINES:
            spans[-1] = (number, spans[-1][1])
        else:
            spans.append((number, number))
    return (first, *rest, *(lines_of(fact, start, end) for start, end in spans))


def _without(said: Sentence | None, excerpt: Excerpt) -> str:
    """Return the lines to show without those at their head that the quoted sentence repeats, if code follows these."""
    lines = excerpt.text.split("\n")
    if said is None or not said.start_line <= excerpt.shown_start <= said.end_line:
        return excerpt.text
    behind = said.end_line - excerpt.shown_start + 1
    is_followed = behind < len(lines) and not comment_lines(lines, excerpt.within)[behind]
    return "\n".join(lines[behind:]) if is_followed else excerpt.text


def _document_claim(fact: CodeFact, role: ClaimRole) -> Claim | None:
    """Return what a document says in one sentence; None where no sentence of it speaks of the question."""
    said = excerpt_in(fact).said
    if said is None:
        return None
    text = f"{code_span(fact.citation.file)} says: {quoted(said)}"
    cited = (lines_of(fact, said.start_line, said.end_line),)
    return Claim(role, text, cited, quotes=_quotes(said))


def _documentation(fact: CodeFact, said: Sentence | None) -> Sentence | None:
    """Return a sentence that documents a place, stands ahead of it, or documents what is shown of it.

    A remark within is no headline.
    """
    if said is None:
        return None
    told, documented = (" ".join(index_terms(text).split()) for text in (said.text, fact.docstring))
    if documented and (told in documented or documented in told):
        return said
    is_ahead = not fact.name and said.start_line <= fact.citation.start_line
    excerpt = excerpt_in(fact)
    is_of_shown = is_shown_with(said, excerpt.shown_start, excerpt.shown_end)
    return said if is_of_shown and (is_ahead or not _REMARK.match(said.line)) else None


def _quotes(said: Sentence | None) -> tuple[str, ...]:
    return () if said is None else (said.text,)
