"""Answers a question in words from the places that speak of it: the deciding lines first, then what else bears on it.

Nothing is asserted but what the cited lines hold: a claim names a place and quotes it. The first place is shown with
its code, a document that speaks of the question follows it, and further places are quoted in a line each, as far as
they are likely to be needed and say something.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import msgspec

from actors.capabilities.code_analysis.evidence.claims import Claim, ClaimRole, code_span
from actors.capabilities.code_analysis.evidence.facts import Fact
from actors.capabilities.code_analysis.ranking.answer_order import Place
from actors.capabilities.code_analysis.ranking.worth_telling import LEAST_COSINE, worth_telling
from runtime.codebase.citation import Citation
from runtime.codebase.files.words import index_terms
from runtime.codebase.search.excerpts import Excerpt
from runtime.codebase.search.sentences import Sentence

MAX_POINTS = 6
MAX_DOCUMENTS = 2
MAX_QUOTE_CHARS = 140
MAX_CITED_LINES = 25


def answer_claims(places: Sequence[Place], of_parts: Sequence[Place] = ()) -> list[Claim]:
    """Return the claims of an answer: a lead with code, what documents say, and further places.

    `of_parts`: the best places of the parts of the question, in order; they stand before the other ones, which must be
    worth telling.
    """
    told = [place for place in places if place.fact.excerpt is not None]
    if not told:
        return [_place(place.fact, "point" if number else "lead") for number, place in enumerate(places[:MAX_POINTS])]
    code = [place for place in told if not place.is_prose]
    prose = [place for place in told if place.is_prose]
    if not code:
        of_prose = prose[:MAX_DOCUMENTS]
        return [claim for place in of_prose if (claim := _document_claim(place.fact, "lead")) is not None]
    lead, *others = code
    worth = worth_telling(told)
    first = [place for place in of_parts if place in others]
    others = [*first, *(place for place in others if place in worth and place not in first)]
    points = [claim for place in others if (claim := _point(place.fact)) is not None][:MAX_POINTS]
    near = [place for place in prose if place.fact.cosine is not None and place.fact.cosine >= LEAST_COSINE]
    said = [claim for place in near[:MAX_DOCUMENTS] if (claim := _document_claim(place.fact, "said")) is not None]
    return [_lead(lead.fact), *said, *points]


def _place(fact: Fact, role: ClaimRole) -> Claim:
    """Return a claim that names a place found by a name alone, of which no lines were chosen."""
    where = f"{_named(fact)} in {code_span(fact.citation.file)}" if fact.name else code_span(fact.citation.file)
    return Claim(role, where, (fact.citation,), subject=fact.name)


def _lead(fact: Fact) -> Claim:
    """Return the claim about the best place, with its deciding lines as code."""
    excerpt = _excerpt(fact)
    where = f"{_named(fact)} in {code_span(fact.citation.file)}" if fact.name else code_span(fact.citation.file)
    said = _documentation(fact, _own_words(excerpt))
    text = where if said is None else f"{where}: {_quoted(said.text)}"
    start, end = _around(excerpt, said)
    is_within = start <= excerpt.shown_start and excerpt.shown_end <= end
    is_repeat = said is not None and said.start_line <= excerpt.shown_start and excerpt.shown_end <= said.end_line
    code = excerpt.text if is_within and not is_repeat else ""
    cited = (_lines(fact, start, end),)
    return Claim("lead", text, cited, code=textwrap.dedent(code), subject=fact.name, quotes=_quotes(said))


def _point(fact: Fact) -> Claim | None:
    """Return the claim about a further place: its own words, or the lines of it that speak of the question.

    None for a place of nothing but imports, signatures and remarks.
    """
    excerpt = _excerpt(fact)
    said = _own_words(excerpt)
    if said is not None:
        cited = (_lines(fact, *_around(excerpt, said)),)
        text = f"{_named(fact)}: {_quoted(said.text)}"
        return Claim("point", text, cited, subject=fact.name, quotes=_quotes(said))
    if not excerpt.quotes:
        return None
    lines = " … ".join(code_span(_cut(line)) for line in excerpt.quotes)
    cited = (_lines(fact, excerpt.start_line, excerpt.end_line),)
    return Claim("point", f"{_named(fact)}: {lines}", cited, subject=fact.name, quotes=excerpt.quotes)


def _document_claim(fact: Fact, role: ClaimRole) -> Claim | None:
    """Return what a document says in one sentence; None where no sentence of it speaks of the question."""
    said = _excerpt(fact).said
    if said is None:
        return None
    text = f"{code_span(fact.citation.file)} says: {_quoted(said.text)}"
    cited = (_lines(fact, said.start_line, said.end_line),)
    return Claim(role, text, cited, quotes=_quotes(said))


def _quotes(said: Sentence | None) -> tuple[str, ...]:
    return () if said is None else (said.text,)


def _own_words(excerpt: Excerpt) -> Sentence | None:
    """Return the sentence of a comment or docstring, where it says no less of the question than the lines of code."""
    said = excerpt.said
    return said if said is not None and 2 * said.share >= excerpt.share else None


def _documentation(fact: Fact, said: Sentence | None) -> Sentence | None:
    """Return a sentence that stands in the documentation of a place: a remark within its code is no headline."""
    if said is None or not fact.docstring:
        return None
    told, documented = (" ".join(index_terms(text).split()) for text in (said.text, fact.docstring))
    return said if documented and (told in documented or documented in told) else None


def _around(excerpt: Excerpt, said: Sentence | None) -> tuple[int, int]:
    """Return the lines to cite: those of the excerpt together with those of the sentence, if they are near enough."""
    if said is None or (excerpt.start_line <= said.start_line and said.end_line <= excerpt.end_line):
        return excerpt.start_line, excerpt.end_line
    start, end = min(excerpt.start_line, said.start_line), max(excerpt.end_line, said.end_line)
    return (start, end) if end - start < MAX_CITED_LINES else (said.start_line, said.end_line)


def _lines(fact: Fact, start: int, end: int) -> Citation:
    """Return the citation of lines of a place, with one of them as its quote."""
    chosen = _excerpt(fact)
    known = dict(zip(chosen.quoted, chosen.quotes, strict=True))
    if chosen.said is not None:
        known.setdefault(chosen.said.start_line, chosen.said.line)
    quote = next((text for line, text in known.items() if start <= line <= end), "")
    return msgspec.structs.replace(
        fact.citation, start_line=start, end_line=end, quote=quote[:MAX_QUOTE_CHARS].rstrip()
    )


def _excerpt(fact: Fact) -> Excerpt:
    assert fact.excerpt is not None
    return fact.excerpt


def _named(fact: Fact) -> str:
    return code_span(fact.name or fact.citation.file)


def _quoted(text: str) -> str:
    return f"«{text}»"


def _cut(text: str) -> str:
    return text if len(text) <= MAX_QUOTE_CHARS else text[: MAX_QUOTE_CHARS - 1] + "…"
