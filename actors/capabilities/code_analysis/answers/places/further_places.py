"""Words the places that an answer tells of besides its lead: few, and each with the lines that decide.

Places of one file stand together, each an entry of its own with what its lines say. What is quoted stands in the lines
behind it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from actors.capabilities.code_analysis.answers.documents.comment_pairing import is_shown_with, lines_about, own_line
from actors.capabilities.code_analysis.answers.places.shown_blocks import Block, block_of
from actors.capabilities.code_analysis.evidence.claims import Claim, code_span
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.ranking.answer_order import Place
from actors.capabilities.code_analysis.ranking.line_kinds import deciding_lines
from runtime.codebase.citation import Citation
from runtime.codebase.search.excerpt_windows import leaves_open
from runtime.codebase.search.excerpts import Excerpt
from runtime.codebase.search.prose.comment_lines import comment_lines
from runtime.codebase.search.prose.sentences import Sentence
from runtime.codebase.search.telling_lines import begins_other_branch, returns_nothing, says_nothing

MAX_POINTS = 3
MAX_PER_POINT = 3
# The first further places are shown with a few of their lines, the others told in a line each.
MAX_BLOCKS = 3
MAX_LISTED = 3
# Beyond these, places have little to do with the question.
MAX_CONSIDERED = 12
MAX_QUOTE_CHARS = 140
MAX_CITED_LINES = 25
# How many lines that decide something are quoted besides the telling ones, where words are left.
MAX_DECIDING = 3
# So many lines of a remark may stand between a condition and its outcome.
MAX_REMARK_LINES = 3
_COMMENT_MARKS = " \t/#*!-;"


def further_claims(
    places: Sequence[Place],
    left_words: int,
    told: Sequence[Citation] = (),
    asked: Mapping[tuple[str, int, int], tuple[tuple[int, ...], str]] | None = None,
    *,
    left_shown: int = 0,
) -> list[Claim]:
    """Return claims about places of at most three further files, at most three of each, in at most so many words.

    The first three places are shown with a block of their lines, as far as `left_shown` words of code and text allow,
    ahead of the others, of which then at most three are told.

    The file of the lead, which is the first of the lines that are `told` already, is open before the reader: it does
    not count among the three. A place that does not fit is told in fewer words, or not at all, as is one of nothing but
    imports, signatures and remarks; one whose lines are told, not again. Claims about the same file stand together.
    `asked`: by place, the numbers of the parts of the question that it answers, and what is said in front for it. Words
    that are left in the end tell, place by place, the lines that decide something beside those that tell most.
    """
    claims: dict[str, list[_Told]] = {}
    home = {citation.file for citation in told[:1]}
    blocks = 0
    for place in places[:MAX_CONSIDERED]:
        file = place.fact.citation.file
        of_file = claims.get(file, [])
        is_further = file not in home and not of_file
        if len(of_file) == MAX_PER_POINT or (is_further and len(claims.keys() - home) == MAX_POINTS):
            continue
        if blocks and sum(map(len, claims.values())) - blocks == MAX_LISTED:
            break
        known = [*told, *(citation for one in of_file for citation in one.claim.citations)]
        numbers, ahead = (asked or {}).get(place.fact.place, ((), ""))
        worded = (_worded(place.fact, most, numbers, ahead) for most in (2, 1))
        claim = next((claim for claim in worded if claim is not None and word_count(claim) <= left_words), None)
        if claim is not None and blocks < MAX_BLOCKS:
            shown = _shown(place.fact, numbers, ahead)
            fits = shown is not None and word_count(shown) <= left_words and shown_words(shown) <= left_shown
            claim = shown if fits else claim
        if claim is None or any(_overlap(one, other) for one in claim.citations for other in known):
            continue
        left_words -= word_count(claim)
        left_shown -= shown_words(claim)
        blocks += bool(claim.code)
        claims[file] = [*of_file, _Told(place.fact, claim, ahead)]
    listed = sorted((one for of_file in claims.values() for one in of_file), key=lambda one: not one.claim.code)
    return _with_deciding_lines(listed, left_words)


class _Told(NamedTuple):
    """Holds the claim about a place with what is said in front of it."""

    fact: CodeFact
    claim: Claim
    ahead: str


def _with_deciding_lines(told: Sequence[_Told], left_words: int) -> list[Claim]:
    """Return the claims, the first ones with as many deciding lines as so many further words allow."""
    claims = []
    for one in told:
        more = () if one.claim.code else range(MAX_DECIDING, 0, -1)
        claim = next(filter(None, (_fuller(one, lines, left_words) for lines in more)), one.claim)
        left_words -= word_count(claim) - word_count(one.claim)
        claims.append(claim)
    return claims


def _fuller(told: _Told, deciding: int, left_words: int) -> Claim | None:
    """Return the claim with so many deciding lines; None if these are too long, or not in the lines that it cites."""
    claim = _worded(told.fact, 2 + deciding, told.claim.parts, told.ahead, deciding)
    if claim is None or claim.citations != told.claim.citations:
        return None
    return claim if 0 < word_count(claim) - word_count(told.claim) <= left_words else None


def word_count(claim: Claim) -> int:
    """Return how many words the text of a claim has."""
    return len(claim.text.split())


def shown_words(claim: Claim) -> int:
    """Return how many words a claim has with its code."""
    return word_count(claim) + len(claim.code.split())


def excerpt_in(fact: CodeFact) -> Excerpt:
    """Return the lines that were chosen of a place; it must have some."""
    assert fact.excerpt is not None
    return fact.excerpt


def own_words(excerpt: Excerpt) -> Sentence | None:
    """Return the sentence of a comment or docstring, where it says no less of the question than the lines of code."""
    said = excerpt.said
    return said if said is not None and 2 * said.share >= excerpt.share else None


def cited_lines(fact: CodeFact, said: Sentence | None, told: Sequence[int] = ()) -> tuple[Citation, ...]:
    """Return the lines to cite: those of the excerpt and of the sentence, together if they are near enough.

    `told`: the lines that are shown or quoted. Of members, such as settings, no others are cited.
    """
    excerpt = excerpt_in(fact)
    if excerpt.of_members and told:
        spans = [(number, number) for number in told] + ([] if said is None else [(said.start_line, said.end_line)])
        return tuple(lines_of(fact, start, end) for start, end in _joined(spans))
    chosen = lines_of(fact, excerpt.start_line, excerpt.end_line)
    if said is None or (excerpt.start_line <= said.start_line and said.end_line <= excerpt.end_line):
        return (chosen,)
    start, end = min(excerpt.start_line, said.start_line), max(excerpt.end_line, said.end_line)
    if end - start < MAX_CITED_LINES:
        return (lines_of(fact, start, end),)
    return (chosen, lines_of(fact, said.start_line, said.end_line))


def _joined(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return spans of lines in order, those that overlap or have nothing but one line between them as one."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1] + 2:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def lines_of(fact: CodeFact, start: int, end: int) -> Citation:
    """Return the citation of lines of a place, with one of them as its quote."""
    chosen = excerpt_in(fact)
    known = dict(zip(chosen.quoted, chosen.quotes, strict=True))
    if chosen.said is not None:
        known.setdefault(chosen.said.start_line, chosen.said.line)
    quote = next((text for line, text in known.items() if start <= line <= end), "")
    return msgspec.structs.replace(
        fact.citation, start_line=start, end_line=end, quote=quote[:MAX_QUOTE_CHARS].rstrip()
    )


def named(fact: CodeFact) -> str:
    """Return the name of a place as code, that of its file for one without a name.

    What a comment by itself documents is not known: it is not what holds the place, such as a class.
    """
    return code_span(fact.name if has_name(fact) else fact.citation.file)


def has_name(fact: CodeFact) -> bool:
    """Return whether a place is what it is named after, not a comment in that."""
    return bool(fact.name) and not (fact.excerpt is not None and fact.excerpt.is_prose)


def quoted(said: Sentence) -> str:
    """Return a sentence between the marks of a quotation, with the parameter that it goes on to describe."""
    return f"on {code_span(said.parameter)}: «{said.text}»" if said.parameter else f"«{said.text}»"


def _overlap(one: Citation, other: Citation) -> bool:
    return one.file == other.file and one.start_line <= other.end_line and other.start_line <= one.end_line


def _shown(fact: CodeFact, parts: tuple[int, ...], ahead: str) -> Claim | None:
    """Return the claim about a place with a block of its lines; None if it has no two lines to show."""
    excerpt = excerpt_in(fact)
    block = block_of(excerpt)
    if block is None:
        return None
    said = own_words(excerpt)
    said = said if said is not None and is_shown_with(said, block.first, block.last) else None
    text = f"{ahead}{named(fact)}" if said is None else f"{ahead}{named(fact)}: {quoted(said)}"
    cited = cited_lines(fact, said, range(block.first, block.last + 1))
    if not any(one.start_line <= block.first and block.last <= one.end_line for one in cited):
        cited = (*_apart_from(cited, block), lines_of(fact, block.first, block.last))
    quotes = () if said is None else (said.text,)
    return Claim("point", text, cited, code=block.text, subject=fact.name, quotes=quotes, parts=parts)


def _apart_from(cited: Sequence[Citation], block: Block) -> list[Citation]:
    """Return the citations that share no line with a block."""
    return [one for one in cited if one.end_line < block.first or block.last < one.start_line]


def _worded(fact: CodeFact, most: int, parts: tuple[int, ...], ahead: str, deciding: int = 0) -> Claim | None:
    """Return the claim about a place in its own sentence, its telling lines, or both; None if it has neither.

    `deciding`: how many lines that decide something are told besides.

    Lines are told with a sentence only where it is about them. Where it is about none of those chosen, what it does
    document is told with it, unless the lines by themselves tell more of the question.
    """
    excerpt = excerpt_in(fact)
    numbered = sorted({*zip(excerpt.quoted, excerpt.quotes, strict=True), *_deciding(excerpt, deciding)})
    said = own_words(excerpt)
    own = numbered if said is None else lines_about(said, numbered)
    if said is not None and not _telling(own, said):
        if said.share < excerpt.told_share and _telling(numbered, None):
            said, own = None, numbered
        else:
            own = [] if (line := own_line(said)) is None else [line]
    runs = _telling(own, said)[: most - (said is not None)]
    bits = [] if said is None else [quoted(said)]
    bits += [" ".join(code_span(_cut(line)) for _, line in run) for run in runs]
    quotes = [*([] if said is None else [said.text]), *(line for run in runs for _, line in run)]
    told = [number for run in runs for number, _ in run]
    if not bits:
        return None
    text = f"{ahead}{named(fact)}: {', '.join(bits)}"
    is_of_quoted = set(told) <= {number for number, _ in numbered}
    cited = cited_lines(fact, said, told) if is_of_quoted and told else _own_lines(fact, said, told)
    return Claim("point", text, cited, subject=fact.name, quotes=tuple(quotes), parts=parts)


def _deciding(excerpt: Excerpt, most: int) -> set[tuple[int, str]]:
    """Return lines of the shown code that decide something, at most so many, those beside the telling ones first."""
    runs = deciding_lines(excerpt.text, excerpt.shown_start, excerpt.within)
    runs.sort(key=lambda run: min((abs(run[0][0] - other) for other in excerpt.quoted), default=0))
    told: set[tuple[int, str]] = set()
    for run in runs:
        further = {line for line in run if line[0] not in excerpt.quoted} | told
        told = further if len(further) <= most else told
    return told


def _own_lines(fact: CodeFact, said: Sentence | None, told: Sequence[int]) -> tuple[Citation, ...]:
    """Return the lines of a sentence and of the line that it documents."""
    ends = [*told, *(() if said is None else (said.start_line, said.end_line))]
    return (lines_of(fact, min(ends), max(ends)),)


def _telling(numbered: Sequence[tuple[int, str]], said: Sentence | None) -> list[list[tuple[int, str]]]:
    """Return those of the lines that the sentence does not repeat; each with the line that goes on with it.

    Remarks, imports and bare signatures tell nothing by themselves, nor does a return without a value. What begins
    another branch stands apart from the outcome of the one before.
    """
    runs: list[list[tuple[int, str]]] = []
    for number, line in numbered:
        if said is not None and line.lstrip(_COMMENT_MARKS) in said.text:
            continue
        if says_nothing(line) or comment_lines([line])[0]:
            continue
        if runs and _goes_on(runs[-1][-1], (number, line)):
            runs[-1].append((number, line))
        else:
            runs.append([(number, line)])
    return [run for run in runs if len(run) > 1 or not returns_nothing(run[0][1])]


def _goes_on(last: tuple[int, str], line: tuple[int, str]) -> bool:
    """Return whether a line goes on with another: the next one of its branch, or its outcome behind a remark."""
    if begins_other_branch(line[1]):
        return False
    return line[0] == last[0] + 1 or (leaves_open(last[1]) and line[0] <= last[0] + MAX_REMARK_LINES + 1)


def _cut(text: str) -> str:
    return text if len(text) <= MAX_QUOTE_CHARS else text[: MAX_QUOTE_CHARS - 1] + "…"
