"""Splits prose into sentences and picks those that answer a question, from passages and from code.

A sentence keeps the words of its lines; the marks of comments, quotations and lists and other markup are no part of it,
and white space counts as one blank. One that depends on the sentence before, or is taken back by the next, is picked
together with it, or not at all.
`holds` checks a quote against lines in the same way. Pure functions.
(Over 400 lines: what cuts prose into sentences and what chooses among them share one shape.)
"""

from __future__ import annotations

import bisect
import math
import re
from collections.abc import Mapping, Sequence

import msgspec

from runtime.codebase.files.source_text import indent_of
from runtime.codebase.files.words import index_terms
from runtime.codebase.search.prose.change_notes import asks_for_changes, is_change_note
from runtime.codebase.search.prose.comment_lines import OpenText, comment_lines
from runtime.codebase.search.prose.markup import is_damaged, without_markup, without_tags
from runtime.codebase.search.prose.parameter_fields import parameter_of
from runtime.codebase.search.prose.prose_paragraphs import (
    DISABLES,
    Paragraph,
    bare,
    comment_paragraphs,
    passage_paragraphs,
)
from runtime.codebase.search.prose.sentence_context import (
    denies_altogether,
    is_dependent,
    named_again,
    qualifies,
    takes_back,
)
from runtime.codebase.search.statements import Statements

MAX_SENTENCES = 2
# What stands in a quotation for lines that it leaves out.
ELLIPSIS = " … "
MAX_SENTENCE_CHARS = 600
MAX_QUOTE_CHARS = 320
MIN_WORDS = 4
# A quoted sentence must cover this share of the question's weight.
MIN_SHARE = 0.12
# What a further word of a quoted sentence costs, of the question's weight.
WORD_COST = 0.002
# A second sentence must add as much of the question's weight.
LEAST_GAIN = 0.15
_EARLY_BONUS = 0.02
# How many sentences and lines below one its default may be told.
MAX_SENTENCES_TO_DEFAULT = 4
MAX_LINES_TO_DEFAULT = 8
MAX_LINES_TO_TERM = 24
MAX_TERM_CHARS = 80
FIRST_LINES = 16  # looked through before all others
# In longer lines a quote is sought as it stands.
MAX_MARKED_UP_CHARS = 20_000
# A question answers none, nor does an example, or a line of names alone.
_QUESTION_FACTOR, _EXAMPLE_FACTOR = 0.2, 0.4

# The point of an abbreviation, a number or an ellipsis ends no sentence, and a colon never does.
_END = re.compile(
    r"(?<!\be\.g)(?<!\bi\.e)(?<!\bcf)(?<!\bvs)(?<!\betc)(?<!\bresp)(?<!\bincl)(?<!\bapprox)(?<!\bNo)(?<!\bFig)"
    r"[.!?][\"')\]*_`]*\s+(?=[\"'(\[`*@«„“<0-9-]|[^\W\d_a-z])|[。！？]\s*"
)
_DEFAULT = "default"
_TELLS_DEFAULT = re.compile(r"\bdefaults?\b(?:\W+(?:is|are|to|value)\b|\s*[:=])|\bby default\b", re.I)
# A comment that neither begins like a sentence nor ends like one is a note: «the rest of it».
_SENTENCE = re.compile(r"[\"'(\[`*@]*[A-Z0-9]|.*[.!?:][\"')\]`*]*$", re.DOTALL)
_LETTERS = re.compile(r"[^\W\d_]{2,}")
_NO_PROSE = re.compile(r"`[^`]*`|\S*[_/:.(){}\[\]=]\S+")
_PROSE_WORD = re.compile(r"[^\W\d_]+")


class Documented(msgspec.Struct, frozen=True):
    """Holds the lines of the statement that a comment documents, and the line that names it, as it stands, stripped.

    `has_members`: whether it holds members that are documented each by itself, as a class does.
    """

    start_line: int
    end_line: int
    head_line: int
    text: str
    has_members: bool = False


class Sentence(msgspec.Struct, frozen=True):
    """Holds a sentence and the first and last of its lines, inclusive, from 1.

    `share`: of the question's weight that it covers, 0 to 1, less for a question or an example in a passage. `line`:
    its first line as it stands in the file, stripped. `begins`: whether its documentation begins with it.
    `of`: of a comment in code, what it documents; None if not known. `parameter`: the one that it goes on to describe.
    """

    text: str
    start_line: int
    end_line: int
    share: float = 0.0
    line: str = ""
    begins: bool = False
    of: Documented | None = None
    parameter: str = ""


_Found = list[tuple[Sentence, Paragraph]]


def best_sentences(
    lines: Sequence[str],
    first_line: int,
    weights: Mapping[str, float],
    *,
    is_document: bool = True,
) -> tuple[Sentence, ...]:
    """Return the sentence of a passage that covers most of a question, and one beside it that adds to that.

    `weights`: of the question's terms. The headings of a document are no sentences. A sentence that depends on the one
    before comes with it, and not at all where that one depends on another. A question for a default is answered by the
    sentence and what is said of the default below it. Ahead of what describes a term in a list of definitions stands
    the term. Empty for lines without a word.
    """
    found = sentences_of(lines, first_line, passage_paragraphs(lines, first_line, is_document=is_document))
    terms = [term_of(lines, first_line, sentence) if is_document else None for sentence, _ in found]
    needs = [
        needed_with(found, at, begins=not is_document or terms[at] is not None, documents=not is_document)
        for at in range(len(found))
    ]
    usable = [place for place, needed in enumerate(needs) if needed is not None]
    if not usable:
        return ()
    covered = [frozenset(index_terms(sentence.text).split()) & weights.keys() for sentence, _ in found]
    shares = [
        math.fsum(weights[term] for term in own) * prose_factor(sentence.text, is_example=paragraph.is_example)
        for (sentence, paragraph), own in zip(found, covered, strict=True)
    ]
    best = max(usable, key=lambda place: (shares[place] + (_EARLY_BONUS if place == 0 else 0), -place))
    chosen = [*(needs[best] or ()), best]
    if len(chosen) < MAX_SENTENCES:
        chosen += _beside(lines, first_line, found, best, covered, weights, needs)
    told = [msgspec.structs.replace(found[place][0], share=round(shares[place], 6)) for place in sorted(chosen)]
    term = terms[min(chosen)]
    return tuple(told if term is None else [term, *told])


def term_of(lines: Sequence[str], first_line: int, said: Sentence) -> Sentence | None:
    """Return the term that an indented sentence describes: the nearest line further left, directly above its text."""
    place = said.start_line - first_line
    indent = indent_of(lines[place])
    above = range(place - 1, max(-1, place - MAX_LINES_TO_TERM), -1)
    at = next((number for number in above if lines[number].strip() and indent_of(lines[number]) < indent), None)
    if at is None or not lines[at + 1].strip():
        return None
    term = without_markup(bare(lines[at]))
    if len(term) > MAX_TERM_CHARS or term.endswith((".", ":", ",", ";")) or not _LETTERS.search(term):
        return None
    is_item = indent_of(lines[at + 1]) > indent_of(lines[at]) and bare(lines[at]) == lines[at].strip()
    return Sentence(term, first_line + at, first_line + at, line=lines[at].strip()) if is_item else None


def _beside(
    lines: Sequence[str],
    first_line: int,
    found: _Found,
    best: int,
    covered: Sequence[frozenset[str]],
    weights: Mapping[str, float],
    needs: Sequence[Sequence[int] | None],
) -> list[int]:
    """Return the place of one sentence to tell with the best one: what is said of a default, or what adds most."""
    if _DEFAULT in weights and not _TELLS_DEFAULT.search(found[best][0].text):
        below = range(best + 1, min(len(found), best + 1 + MAX_SENTENCES_TO_DEFAULT))
        told = next((place for place in below if _TELLS_DEFAULT.search(found[place][0].text)), None)
        if told is not None and _is_of_same_item(lines, first_line, found[best][0], found[told][0]):
            return [told]
    # What stands in front must stand by itself; what follows has the best one before it.
    beside = [place for place in (best - 1,) if place >= 0 and needs[place] == []]
    beside += [place for place in (best + 1,) if place < len(found) and needs[place] in ([], [best])]
    beside = [place for place in beside if found[place][1].is_example == found[best][1].is_example]
    gains = {place: math.fsum(weights[term] for term in covered[place] - covered[best]) for place in beside}
    return [place for place in beside if gains[place] >= LEAST_GAIN and gains[place] == max(gains.values())][:1]


def _is_of_same_item(lines: Sequence[str], first_line: int, said: Sentence, below: Sentence) -> bool:
    """Return whether no line from the end of a sentence to another stands further left: they speak of one thing."""
    own = lines[said.end_line - first_line : below.end_line - first_line + 1]
    indents = [len(line) - len(line.lstrip()) for line in own if line.strip()]
    return (
        min(indents[1:], default=indents[0]) >= indents[0] and below.start_line - said.end_line < MAX_LINES_TO_DEFAULT
    )


def needed_with(found: _Found, place: int, *, begins: bool, documents: bool) -> list[int] | None:
    """Return the places of the sentences to quote with one, ahead of it or behind, at most one.

    None if it cannot be quoted. `begins`: what begins a documentation may refer to the thing that is documented;
    `documents`: of a comment.
    """
    ahead = _needed_ahead(found, place, begins=begins, documents=documents)
    behind = _needed_behind(found, place)
    if ahead is None or behind is None:
        return None
    if ahead and behind:
        return ahead if qualifies(found[behind[0]][0].text) else None
    return ahead or behind


def _needed_behind(found: _Found, place: int) -> list[int] | None:
    """Return the place of the next sentence if it takes back what one says, or limits it; None if a later one does."""
    block = found[place][1].block
    following = [at for at in (place + 1, place + 2) if at < len(found) and found[at][1].block == block]
    following = [at for at in following if not (found[at][1].is_row or found[at][1].is_example)]
    if following and following[0] == place + 1:
        said = found[place + 1][0].text
        if takes_back(said) or qualifies(said):
            return None if is_damaged(said) else [place + 1]
    if any(denies_altogether(found[at][0].text) for at in following):
        return None
    return []


def _needed_ahead(found: _Found, place: int, *, begins: bool, documents: bool) -> list[int] | None:
    """Return the place of the sentence to quote ahead of one that depends on it; None if that is not there."""
    sentence, paragraph = found[place]
    if is_damaged(sentence.text):
        return None
    noun = None if documents else named_again(sentence.text)
    is_first = sentence.begins and begins
    needs_none = paragraph.is_row or not is_dependent(sentence.text, is_first=is_first, documents=documents)
    if noun is None and needs_none:
        return []
    if place == 0:
        return None
    before, above = found[place - 1]
    is_near = above.block == paragraph.block and not (above.is_row or above.is_example)
    is_ended = above is paragraph or before.text.endswith((".", "!", "?", ":"))
    if not is_near or not is_ended or is_damaged(before.text) or (noun or "") not in before.text.lower():
        return None
    return None if _is_hanging(before, begins=begins, documents=documents) else [place - 1]


def _is_hanging(said: Sentence, *, begins: bool, documents: bool) -> bool:
    """Return whether a sentence that another one needs depends on a further one itself."""
    takes_for_known = not documents and named_again(said.text) is not None
    return takes_for_known or is_dependent(said.text, is_first=said.begins and begins, documents=documents)


def best_quote(
    lines: Sequence[str],
    first_line: int,
    weights: Mapping[str, float],
    *,
    is_document: bool,
    statements: Statements | None = None,
    within: OpenText | None = None,
) -> Sentence | None:
    """Return the sentence of a place that covers most of a question, the first of equals; None if none is worth it.

    Of code, comments and documentation strings count; of a document, what is neither example, table nor heading. One
    that depends on the sentence before is told with it, or not at all. `statements`: those of the lines, to tell what
    its comment documents. `within`: the comment or string of code in which the first line begins.
    """
    whole = sum(weights.values())
    best: Sentence | None = None
    best_gain = MIN_SHARE
    if not whole:
        return None
    if is_document:
        paragraphs = [one for one in passage_paragraphs(lines, first_line) if not one.is_example and not one.is_row]
    else:
        paragraphs = comment_paragraphs(lines, first_line, within)
    found = sentences_of(lines, first_line, paragraphs)
    wants_changes = asks_for_changes(weights)
    for place, (sentence, _) in enumerate(found):
        is_first = place == 0 and not is_document
        is_usable = _is_quotable(sentence.text, is_document)
        is_usable = is_usable and not (is_first and _is_begun_above(sentence, lines, first_line, within))
        is_usable = is_usable and (wants_changes or not is_change_note(lines, sentence.start_line - first_line))
        needed = needed_with(found, place, begins=not is_document, documents=not is_document) if is_usable else None
        if needed is None:
            continue
        said = _joined([found[at][0] for at in sorted((*needed, place))])
        covered = weights.keys() & set(index_terms(said.text).split())
        share = math.fsum(weights[term] for term in covered) / whole
        gain = share - WORD_COST * len(said.text.split())
        if gain > best_gain and len(said.text) <= MAX_QUOTE_CHARS:
            best, best_gain = msgspec.structs.replace(said, share=round(share, 4)), gain
    if best is None or statements is None:
        return best
    of = _documented(lines, first_line, statements, best.end_line - first_line)
    return msgspec.structs.replace(best, of=of, parameter=parameter_of(lines, best.start_line - first_line))


def _is_begun_above(said: Sentence, lines: Sequence[str], first_line: int, within: OpenText | None) -> bool:
    """Return whether the first sentence of a place goes on with one above: it begins in lower case, with no name."""
    word = _PROSE_WORD.match(said.text)
    if said.start_line != first_line or word is None or not said.text[0].islower():
        return False
    name = re.compile(rf"(?<!\w){re.escape(word.group())}(?!\w)")
    marked = list(zip(lines, comment_lines(lines, within), strict=True))
    return not any(name.search(line) for line, prose in marked[said.end_line - first_line + 1 :] if not prose)


def _documented(lines: Sequence[str], first_line: int, statements: Statements, place: int) -> Documented | None:
    owner = statements.owners.get(place)
    if owner is None:
        return None
    head = statements.head(owner)
    ends = (first_line + owner.start, first_line + owner.end, first_line + head)
    return Documented(*ends, lines[head].strip()[:MAX_QUOTE_CHARS], statements.is_holder(owner))


def _is_quotable(text: str, is_document: bool) -> bool:
    is_note = not is_document and not _SENTENCE.match(text)
    return not is_note and len(_LETTERS.findall(text)) >= MIN_WORDS and DISABLES.search(text) is None


def _joined(sentences: Sequence[Sentence]) -> Sentence:
    """Join sentences that follow one another to one text with all their lines."""
    text = " ".join(sentence.text for sentence in sentences)
    return msgspec.structs.replace(sentences[0], text=text, end_line=sentences[-1].end_line)


def split_sentences(lines: Sequence[str], first_line: int, *, is_document: bool = True) -> list[Sentence]:
    """Return the sentences, list items and table rows of lines in order; `first_line` is the number of the first.

    In a document, headings, rules and the marks of examples are left out. A text of more than 600 characters is cut.
    """
    paragraphs = passage_paragraphs(lines, first_line, is_document=is_document)
    return [sentence for sentence, _ in sentences_of(lines, first_line, paragraphs)]


def holds(lines: Sequence[str], quote: str) -> bool:
    """Return whether lines hold a quote: comment marks, list marks, other markup and white space aside."""
    wanted = _flat(quote)
    if not wanted:
        return False
    bared: list[str] = []
    while len(bared) < len(lines):
        # What documents a long definition stands in its first lines.
        end = max(FIRST_LINES, 4 * len(bared))
        bared += map(bare, lines[len(bared) : end])
        if wanted in _flat(" ".join(bared)):
            return True
    text = " ".join(bared)
    if len(text) > MAX_MARKED_UP_CHARS:
        return False
    return wanted in without_markup(text) or wanted in without_tags(text)


def prose_factor(text: str, *, is_example: bool) -> float:
    """Return how much of a sentence is prose that tells something, 0 to 1: less for a question or an example."""
    words = len(_PROSE_WORD.findall(_NO_PROSE.sub(" ", text)))
    factor = min(1.0, (words + 1) / (MIN_WORDS + 1))
    if text.rstrip("\"'*_)").endswith("?"):
        factor *= _QUESTION_FACTOR
    return factor * (_EXAMPLE_FACTOR if is_example else 1.0)


def _flat(text: str) -> str:
    return " ".join(text.split())


def sentences_of(lines: Sequence[str], first_line: int, paragraphs: Sequence[Paragraph]) -> _Found:
    """Split paragraphs into sentences with letters, without markup, each with its lines and its paragraph."""
    found: _Found = []
    block = -1
    for paragraph in paragraphs:
        text = " ".join(line.text for line in paragraph.lines)
        starts = [0]
        for line in paragraph.lines:
            starts.append(starts[-1] + len(line.text) + 1)
        begin = 0
        for end in [*(match.end() for match in _END.finditer(text)), len(text)]:
            raw = _cut(text[begin:end].strip())
            said = without_markup(raw)
            if any(character.isalpha() for character in said):
                at = begin + len(text[begin:end]) - len(text[begin:end].lstrip())
                first = paragraph.lines[_line_at(starts, at)].number
                last = paragraph.lines[_line_at(starts, at + len(raw) - 1)].number
                shown = lines[first - first_line].strip()[:MAX_QUOTE_CHARS]
                begins = paragraph.block != block
                found.append((Sentence(said, first, last, line=shown, begins=begins), paragraph))
                block = paragraph.block
            begin = end
    return found


def _cut(text: str) -> str:
    """Return a text of at most 600 characters, cut at a blank if there is one."""
    if len(text) <= MAX_SENTENCE_CHARS:
        return text
    at = text.rfind(" ", 1, MAX_SENTENCE_CHARS + 1)
    return text[: at if at > 0 else MAX_SENTENCE_CHARS].rstrip()


def _line_at(starts: Sequence[int], position: int) -> int:
    return min(bisect.bisect_right(starts, position) - 1, len(starts) - 2)
