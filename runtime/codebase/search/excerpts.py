"""Chooses the lines of a found place to cite, to show and to quote for a question.

A span covers as many of the question's informative words as it can in few lines; it never starts or ends within a
bracket if it can avoid it. Pure functions; the same lines and weights always give the same choice.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Collection, Mapping, Sequence

import msgspec

from runtime.codebase.files.words import index_terms, query_terms
from runtime.codebase.index.reader import IndexReader
from runtime.codebase.search.excerpt_windows import (
    Words,
    balanced,
    best_window,
    grown,
    is_cut,
    leaves_open,
    without_blanks,
)
from runtime.codebase.search.prose.comment_lines import OpenText, open_at
from runtime.codebase.search.prose.sentences import Sentence, best_quote
from runtime.codebase.search.quoted_lines import quoted_places
from runtime.codebase.search.short_definitions import MAX_COMMENT_LINES, MAX_REST_LINES, is_short, long_comments
from runtime.codebase.search.statements import Statements
from runtime.codebase.search.telling_lines import says_nothing

MAX_SPAN_LINES = 24
MAX_SHOWN_LINES = 20
# So few at the end of a piece that begins within a definition are shown as well: what it comes to stands there.
MAX_TAIL_LINES = 14
# So many lines that follow are shown of the place that leads: what decides often stands right below.
MAX_AFTER_LINES = 14
# So few lines of code tell little by themselves.
FEW_LINES = 3
MAX_PARAMETER_LINES = 30
# A condition is shown above an excerpt in at most so many lines.
MAX_HEAD_LINES = 3
# So many lines between conditions and what is shown below them are shown, too: what a condition asks for is made there.
MAX_GAP_LINES = 8
# A branch of which only the head and so few lines are shown goes on to its end, as far as a definition does.
MAX_BEGUN_LINES = 2
MAX_LINE_CHARS = 400
# What a word that is nowhere in the repository weighs, of a word that is in one piece alone.
UNKNOWN_WEIGHT = 0.5
# What a line weighs that answers the question as a reading has found, of an average word.
READ_SHARE = 0.2

_NO_CONTENT = re.compile(r"[\W_]*$")


class Excerpt(msgspec.Struct, frozen=True, omit_defaults=True):
    """Holds the chosen lines of a place; line numbers are inclusive and count from 1 in the file.

    `shown_start` to `shown_end` lie within the span, `text` holds them, lines of code before comments and
    docstrings; `quoted` are the numbers of the most telling lines, at most four, `quotes` those lines, stripped.
    Lines are verbatim, cut at 400 characters. `share`: the part of the question's weight that the span covers, 0 to
    1. `said`: the sentence of a comment, docstring or document, anywhere in the place, that speaks most of it.
    `told_share`: the part of the question's weight that the quoted lines cover. `of_members`: the lines are members
    that stand for themselves, such as settings. `heads`: lines of the place above those that are shown, with their
    numbers, that decide whether these are reached, the outermost first, and the few lines between. `rest`: the
    lines behind those that are shown, to the end of their definition, or of a branch that has only begun, if these
    are few; else none. `after`: those behind these, to the end of a statement, for the place that leads. `body`:
    where nothing but comments, documentation and signatures is shown, the lines of code
    of the place that speak most of the question, with their numbers. `is_bare`: nothing but a signature, or a part
    of one, is shown. `is_prose`: the place is a comment, of which it is not known what it documents. `within`: the
    comment or string in which the first line that is shown begins. `has`: the terms of the question that the whole
    place has, also beyond the span, to which `locate` adds those of its path and name.
    """

    start_line: int
    end_line: int
    shown_start: int
    shown_end: int
    text: str
    quoted: tuple[int, ...] = ()
    quotes: tuple[str, ...] = ()
    share: float = 0.0
    said: Sentence | None = None
    told_share: float = 0.0
    of_members: bool = False
    heads: tuple[tuple[int, str], ...] = ()
    rest: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    body: tuple[tuple[int, str], ...] = ()
    is_bare: bool = False
    is_prose: bool = False
    within: OpenText | None = None
    has: tuple[str, ...] = ()


def informative_terms(index: IndexReader, question: str) -> dict[str, float]:
    """Return the terms of a question with their weights: rare ones weigh more, those that are nowhere half of that.

    Many words of a question are nowhere in code, and few of these say that it is about something else.
    """
    counts = query_terms(question).counts
    known = index.document_counts(list(counts))
    total = max(1, index.chunk_count())
    return {
        term: math.log(1 + total / known[term]) if known.get(term) else UNKNOWN_WEIGHT * math.log(1 + total)
        for term in counts
    }


def excerpt_of(
    lines: Sequence[str],
    first_line: int,
    weights: Mapping[str, float],
    *,
    is_document: bool = False,
    read_lines: tuple[int, int] | None = None,
    within: OpenText | None = None,
) -> Excerpt:
    """Choose from the lines of a place, at least one; `first_line` is the number of the first.

    `read_lines`: the numbers of the first and last of those that answer the question best, read together with it.
    `within`: the comment or string of code in which the first line begins.
    """
    cut = [line[:MAX_LINE_CHARS] for line in lines]
    words = [[term for term in index_terms(line).split() if term in weights] for line in cut]
    statements = None if is_document else Statements(cut, begins_file=first_line == 1, within=within)
    own = words if statements is None else _with_comments(statements, words)
    start, end = (0, len(cut) - 1)
    marks = _marks(cut, first_line, weights, read_lines)
    if len(cut) > MAX_SPAN_LINES:
        start, end = best_window(_marked(own, marks), {**weights, **marks}, 0, len(cut), MAX_SPAN_LINES)
        start, end = balanced(cut, start, end, 0, len(cut), MAX_SPAN_LINES)
        start = start if statements is None else _comment_begin(statements, start, end)
    of_code = own if statements is None else _without_prose(statements, own, words, start, end)
    first, last = _shown(cut, _marked(of_code, marks), {**weights, **marks}, statements, start, end)
    bare = set() if statements is None else _heads_of_definitions(cut)
    read = {int(mark[1:]) for mark in marks if statements is None or not statements.is_comment[int(mark[1:])]}
    quoted = quoted_places(cut, of_code, weights, range(start, end + 1), read, bare)
    covered = {term for found in words[start : end + 1] for term in found}
    told = {term for place in quoted for term in words[place]}
    whole = sum(weights.values())
    chosen = Excerpt(
        first_line + start,
        first_line + end,
        first_line + first,
        first_line + last,
        "\n".join(cut[first : last + 1]),
        tuple(first_line + place for place in quoted),
        tuple(cut[place].strip() for place in quoted),
        round(math.fsum(weights[term] for term in covered) / whole, 4) if whole else 0.0,
        best_quote(lines, first_line, weights, is_document=is_document, statements=statements, within=within),
        round(math.fsum(weights[term] for term in told) / whole, 4) if whole else 0.0,
        has=tuple(dict.fromkeys(term for found in words for term in found)),
    )
    if statements is None:
        return chosen
    body = _body(cut, own, weights, statements, bare, first, last)
    end = _end_of(statements, cut, first, last)
    return msgspec.structs.replace(
        chosen,
        of_members=any(map(statements.is_member, quoted)),
        heads=tuple((first_line + at, cut[at]) for at in _heads(cut, statements, first)),
        rest=tuple(cut[last + 1 : end + 1]),
        after=tuple(cut[end + 1 : _end_after(statements, cut, end) + 1]),
        body=tuple((first_line + at, cut[at]) for at in body),
        is_bare=all(at in bare for at in range(first, last + 1) if cut[at].strip()),
        is_prose=all(prose for line, prose in zip(cut, statements.is_comment, strict=True) if line.strip()),
        within=open_at(cut, first, within),
    )


def _marks(
    lines: Sequence[str], first_line: int, weights: Mapping[str, float], read_lines: tuple[int, int] | None
) -> dict[str, float]:
    """Return a term for each line that reading has found to answer, with what it weighs beside those of the question.

    Its key is the position of the line, which no term of a question is.
    """
    if read_lines is None or not weights:
        return {}
    weight = READ_SHARE * sum(weights.values()) / len(weights)
    start, end = read_lines[0] - first_line, read_lines[1] - first_line
    places = range(max(0, start), min(len(lines) - 1, end) + 1)
    return {f"#{at}": weight for at in places if not _NO_CONTENT.match(lines[at])}


def _marked(words: Words, marks: Collection[str]) -> Words:
    """Return the words of lines with the terms of those that have one."""
    return [[*found, f"#{at}"] if f"#{at}" in marks else found for at, found in enumerate(words)]


def _body(
    lines: Sequence[str],
    words: Words,
    weights: Mapping[str, float],
    statements: Statements,
    bare: Collection[int],
    first: int,
    last: int,
) -> range:
    """Return the positions of the code to show beside prose and bare signatures; none if there is code between them.

    Code that has no word of the question is shown whole, or not at all.
    """
    is_code = [
        bool(line.strip()) and not prose and at not in bare
        for at, (line, prose) in enumerate(zip(lines, statements.is_comment, strict=True))
    ]
    of_code = [found if code else [] for found, code in zip(words, is_code, strict=True)]
    if any(is_code[first : last + 1]) or not any(is_code):
        return range(0)
    if not any(of_code):
        whole = range(is_code.index(True), len(is_code) - is_code[::-1].index(True))
        return whole if len(whole) <= MAX_SHOWN_LINES else range(0)
    window = best_window(of_code, weights, 0, len(lines), MAX_SHOWN_LINES)
    start, end = balanced(lines, *window, 0, len(lines), MAX_SHOWN_LINES)
    return range(start, end + 1)


def _end_of(statements: Statements, lines: Sequence[str], first: int, last: int) -> int:
    """Return the position of the last line to show, beyond `last` where little is left, or too little is shown.

    To the end of the definition that the lines are, or are the end of, if few are left of it. Else behind the head of
    a block, or beside hardly any code, to the end of the block or as far as lines may be shown.
    """
    whole = statements.whole()
    if whole is not None and last < whole.end and (whole.end <= last + MAX_REST_LINES or is_short(statements)):
        return whole.end
    if whole is None and last < (end := _end_of_body(statements, lines)) <= last + MAX_TAIL_LINES:
        return end
    code = [at for at in range(first, last + 1) if lines[at].strip() and not statements.is_comment[at]]
    # What stands for itself, as a setting does, has nothing that follows from it.
    if any(map(statements.is_member, code)) or (whole is None and not lines[last][:1].isspace()):
        return last
    is_open = bool(code) and code[-1] == last and leaves_open(lines[last])
    begun = last if is_open else statements.branch_head(last)
    if begun is not None and begun >= max(first, last - MAX_BEGUN_LINES):
        end = statements.extent(begun).end
        if last < end <= last + MAX_REST_LINES:
            return end
    if not code or not (is_open or len(code) <= FEW_LINES):
        return last
    end = whole.end if whole is not None and whole.end > last else len(lines) - 1
    most = min(end, first + MAX_SHOWN_LINES - 1)
    block = statements.extent(last).end if is_open else end
    if last < block <= most:
        return block
    ends = (at for at in range(most, last, -1) if _ends_well(statements, lines, at))
    return next(ends, last)


def _end_after(statements: Statements, lines: Sequence[str], end: int) -> int:
    """Return the position of the last line that the place that leads is shown with, in the definition of line `end`.

    It leaves nothing open; `end` where nothing follows that belongs to it, or the line stands for itself.
    """
    whole = statements.whole()
    last = len(lines) - 1 if whole is None else whole.end
    if not lines[end][:1].isspace() or statements.is_member(end):
        return end
    below = range(end + 1, min(last, end + MAX_AFTER_LINES) + 1)
    own = list(
        itertools.takewhile(lambda at: not lines[at].strip() or lines[at][:1].isspace() or _closes(lines[at]), below)
    )
    return next((at for at in reversed(own) if _ends_well(statements, lines, at)), end)


def _closes(line: str) -> bool:
    return line.lstrip()[:1] in set(")]}")


def _end_of_body(statements: Statements, lines: Sequence[str]) -> int:
    """Return the position of the last line of code, if all stand in the body of a definition above; -1 if not."""
    code = [at for at, line in enumerate(lines) if line.strip() and not statements.is_comment[at]]
    return code[-1] if code and all(lines[at][:1].isspace() for at in code) else -1


def _ends_well(statements: Statements, lines: Sequence[str], at: int) -> bool:
    """Return whether a line of code leaves nothing open."""
    line = lines[at]
    return bool(line.strip()) and not statements.is_comment[at] and not leaves_open(line)


def _heads_of_definitions(lines: Sequence[str]) -> set[int]:
    """Return the positions of lines that say nothing, and of the parameters that such a line begins to list."""
    found: set[int] = set()
    for at, line in enumerate(lines):
        if at not in found and says_nothing(line):
            found.add(at)
            end = at
            while _is_open(lines[at : end + 1]) and end - at < MAX_PARAMETER_LINES and end + 1 < len(lines):
                end += 1
                found.add(end)
    return found


def _heads(lines: Sequence[str], statements: Statements, first: int) -> list[int]:
    """Return the positions of the conditions around the first line to show, whole, above it.

    Of a short definition these are all lines above, but for long documentation.
    """
    whole = statements.whole()
    if whole is not None and whole.start < first <= whole.end and is_short(statements):
        return [at for at in range(whole.start, first) if at not in long_comments(statements)]
    found: list[int] = []
    for at in statements.conditions(_next_code(statements, lines, first)):
        end = at
        while end - at < MAX_HEAD_LINES - 1 and end + 1 < first and _is_open(lines[at : end + 1]):
            end += 1
        found += [place for place in range(at, end + 1) if place < first and place not in found]
    return _without_short_gaps(found, first)


def _without_short_gaps(heads: Sequence[int], first: int) -> list[int]:
    """Return the positions of conditions with those of the lines between, and down to the first shown, if few.

    The gaps that are nearest to what is shown are filled first.
    """
    told: set[int] = set(heads)
    left = MAX_GAP_LINES
    for at, following in reversed(list(itertools.pairwise([*heads, first]))):
        if following - at - 1 <= left:
            left -= following - at - 1
            told.update(range(at, following))
    return sorted(told)


def _next_code(statements: Statements, lines: Sequence[str], first: int) -> int:
    """Return the position of the first line of code from one on; that one itself if there is none."""
    following = range(first, len(lines))
    return next((at for at in following if lines[at].strip() and not statements.is_comment[at]), first)


def _is_open(lines: Sequence[str]) -> bool:
    text = "\n".join(lines)
    return text.count("(") > text.count(")")


def _shown(
    lines: Sequence[str],
    words: Words,
    weights: Mapping[str, float],
    statements: Statements | None,
    start: int,
    end: int,
) -> tuple[int, int]:
    """Return the positions of the first and last line to show, within a span: a small definition is shown whole."""
    first, last = best_window(words, weights, start, end + 1, MAX_SHOWN_LINES)
    if statements is None:
        return without_blanks(lines, *balanced(lines, first, last, start, end + 1, MAX_SHOWN_LINES))
    whole = statements.whole()
    is_of_code = not any(words[at] for at in range(start, end + 1) if statements.is_comment[at])
    if whole is not None and is_of_code and start <= whole.start and whole.end <= end:
        above = max(start, statements.comment_above(whole.start))
        above = above if whole.start - above <= MAX_COMMENT_LINES else whole.start
        above = above if whole.end - above < MAX_SHOWN_LINES else whole.start
        if whole.end - above < MAX_SHOWN_LINES:
            return above, whole.end
    more = grown(statements, words[: end + 1], weights, (first, last), start, MAX_SHOWN_LINES)
    wide = balanced(lines, *more, start, end + 1, MAX_SHOWN_LINES)
    if is_cut(lines, *wide):
        wide = balanced(lines, first, last, start, end + 1, MAX_SHOWN_LINES)
    first, last = _without_begun_comment(statements, *without_blanks(lines, *wide))
    return _with_whole_comment(statements, first, last, start), last


def _with_whole_comment(statements: Statements, first: int, last: int, low: int) -> int:
    """Return the position of the first line to show: the beginning of the comment in which `first` stands.

    Where too much of it lies above, or beyond `low`, that of the code below, unless little is left then.
    """
    if not _is_within_comment(statements, first):
        return first
    above = _comment_begin(statements, first, last)
    if above < first and above >= low and last - above < MAX_SHOWN_LINES:
        return above
    code = (at for at in range(first, last + 1) if not statements.is_comment[at] and statements.lines[at].strip())
    below = next(code, last)
    return below if last - below + 1 >= FEW_LINES else first


def _comment_begin(statements: Statements, start: int, end: int) -> int:
    """Return the position at which the comment begins that a span goes on with; its start where too much lies above."""
    above = start
    while _is_within_comment(statements, above):
        above -= 1
    return above if start - above <= MAX_COMMENT_LINES and end - above < MAX_SPAN_LINES else start


def _is_within_comment(statements: Statements, at: int) -> bool:
    return at > 0 and statements.is_comment[at] and statements.is_comment[at - 1]


def _without_begun_comment(statements: Statements, first: int, last: int) -> tuple[int, int]:
    """Leave out the comment at the end that speaks of what follows it and is not shown, unless little is left then."""
    end = last
    while end > first and (owner := statements.owners.get(end)) is not None and owner.start > last:
        end -= 1
    _, end = without_blanks(statements.lines, first, end)
    return (first, end) if end - first + 1 >= FEW_LINES else (first, last)


def _with_comments(statements: Statements, words: Words) -> Words:
    """Return the words of lines, with those of its comment at the head of each statement but the place itself."""
    own = [list(found) for found in words]
    whole = statements.whole()
    for at, owner in statements.owners.items():
        is_of_place = whole is not None and owner.start <= whole.start and whole.end <= owner.end
        if not is_of_place and owner.end - owner.start < MAX_SPAN_LINES:
            own[statements.head(owner)] += words[at]
    return own


def _without_prose(statements: Statements, own: Words, words: Words, start: int, end: int) -> Words:
    """Return the words of the lines of code; all words where those lines have none of the question's."""
    of_code = [[] if prose else found for found, prose in zip(own, statements.is_comment, strict=True)]
    return of_code if any(of_code[start : end + 1]) else words
