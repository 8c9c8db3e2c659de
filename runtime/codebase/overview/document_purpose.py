"""Picks the sentences in which a document says what the thing that it belongs to is.

A sentence that names the thing and says what it is or does goes before the first sentence of the introduction; what
stands below a heading about installing, licences or money is left out. Quotes are text of the cited lines, checked here
as an answer's citations are. Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from runtime.codebase.overview.prose_lines import paragraphs, title_of
from runtime.codebase.search.prose.sentences import holds, split_sentences

MAX_QUOTE_CHARS = 400
MAX_CONSIDERED = 4
_LEAST_LETTERS = 12
_LEAST_WORDS = 3

_ASIDE = re.compile(
    r"\b(?:install\w*|download|getting|quick\W?start|usage|licen[sc]e|copyright|contribut\w*|donat\w*|sponsor\w*|backers"
    r"|funding|enterprise|support|badges?|contents|changelog|change log|release\w*|what'?s new|requirements"
    r"|prerequisites|compatib\w*|build\w*|compil\w*|tests?|testing|credits?|acknowledg\w*|authors?|maintainers?|contact"
    r"|security|faq|migrat\w*|upgrad\w*|roadmap|status|version\w*|supported|translations?|community|examples?|links)\b",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    r"\b(?:about|overview|introduction|intro|description|synopsis|summary|purpose|what(?:'s| is| are))\b"
    r"|简介|簡介|介绍|介紹|概述|概要|关于|紹介|소개",
    re.IGNORECASE,
)
_NOT_ABOUT = re.compile(
    r"^\W*(?:see|read|please|click|visit|check out|follow|join|you can (?:find|view|read)|for (?:more|the|full|a)\b"
    r"|this (?:readme|document|file|page|branch)|documentation|the (?:latest |full )?documentation"
    r"|available|copyright|authors?:|version:?|translations?|languages?:|english|if you (?:like|find|want)|©|\(c\)"
    r"|(?:if you(?:'re| are) )?looking for"
    r"|here (?:is|are)|table of contents|author\b)|\blicen[sc]ed? under\b|\bdeprecated\b|\bno longer maintained\b"
    r"|\b(?:npm|pip|cargo|gem|brew|apt|go) (?:install|get|add)\b",
    re.IGNORECASE,
)
_SAYS = (
    r"(?:\W{1,4}\w[\w.-]*){0,4}?\W{1,6}(?:(?:is|are|was)\W{1,4}(?:(?:also|just|basically|simply|essentially)\W{1,4})?"
    r"(?:an?|the|one|our|your|designed|meant|intended)\b|provides|offers|lets|allows|helps|makes|implements|enables|gives"
    r"|adds|brings|aims|turns|generates|simplifies)\b"
)
_CONTENTS = re.compile(r"\W*(?:table of )?contents\W*", re.IGNORECASE)
# What is told of the past, behind a first sentence, is how the thing came to be.
_PAST = re.compile(r"\b(?:was|were|had|did|existed|wanted|started|began|became)\b", re.IGNORECASE)
_OUTER_TAG = re.compile(r"^<(?:i|b|em|strong)>|</(?:i|b|em|strong)>$")
_BADGE = re.compile(r"\[?!\[[^\]\[]*\]\([^)]*\)(?:\]\([^)]*\))?")
_LETTER = re.compile(r"[^\W\d_]")


@dataclass(frozen=True, slots=True)
class Quoted:
    """Holds text as it stands in lines `start_line` to `end_line`, inclusive; `is_named`: it names its subject."""

    text: str
    start_line: int
    end_line: int
    is_named: bool = False


def purpose_in(lines: Sequence[str], names: Collection[str] = ()) -> Quoted | None:
    """Return the sentence that says what a document's subject is, and the next one where the first is short.

    `names`: what the subject is called. None where no sentence of the introduction can be quoted.
    """
    named, title = _naming(names), title_of(lines)
    introduction: Quoted | None = None
    considered = 0
    for paragraph in paragraphs(lines):
        above = [_BADGE.sub("", heading) for heading in paragraph.headings if heading != title]
        sections = [heading for heading in above if not _is_called(heading, names)]
        quoted = None if _is_aside(sections) else first_sentences(paragraph.lines, paragraph.start_line, named)
        if quoted is None:
            continue
        considered += 1
        if named is not None and named.search(quoted.text):
            return Quoted(quoted.text, quoted.start_line, quoted.end_line, is_named=True)
        if introduction is None and (not sections or _ABOUT.search(sections[-1])):
            introduction = quoted
        if considered == MAX_CONSIDERED:
            break
    return introduction


def first_sentences(lines: Sequence[str], first_line: int, named: re.Pattern[str] | None = None) -> Quoted | None:
    """Return the first sentence of lines of prose, with the next one where it is short; None if none can be quoted.

    One that matches `named` may introduce a list.
    """
    sentences = split_sentences(lines, first_line)
    # One that names the subject says what it is, others may say what it is for.
    leads = (place for place, one in enumerate(sentences[:3]) if named is not None and named.search(one.text))
    sentences = sentences[next(leads, 0) :]
    for place, one in enumerate(sentences[:3]):
        if not _is_worth_quoting(one.text, may_introduce=named is not None and named.search(one.text) is not None):
            continue
        quoted = _held(lines, first_line, _OUTER_TAG.sub("", one.text), one.start_line, one.end_line)
        following = sentences[place + 1] if place + 1 < len(sentences) else None
        is_long = len(one.text) >= MAX_QUOTE_CHARS // 4
        if following is None or is_long or _PAST.search(following.text) or not _is_worth_quoting(following.text):
            return quoted
        return _held(lines, first_line, f"{one.text} {following.text}", one.start_line, following.end_line) or quoted
    return None


def _naming(names: Collection[str]) -> re.Pattern[str] | None:
    """Return an expression for a sentence that begins with one of the names and says what it is or does."""
    usable = sorted({name.strip().lower() for name in names if len(name.strip()) > 1}, key=len, reverse=True)
    if not usable:
        return None
    called = "|".join(r"[-_\s]?".join(map(re.escape, re.split(r"[-_\s]+", name))) for name in usable)
    return re.compile(rf"^\W*(?:the |welcome to )?\W*(?:{called})(?![\w/])" + _SAYS, re.IGNORECASE)


def _is_aside(sections: Sequence[str]) -> bool:
    """Return whether a section, or one around it, tells of how to get the thing rather than of what it is.

    Below a table of contents stands the document itself, if the headings rank so.
    """
    around = [heading for heading in sections[:-1] if not _CONTENTS.fullmatch(heading)]
    return any(_ASIDE.search(heading) and not _ABOUT.search(heading) for heading in (*around, *sections[-1:]))


def _is_called(heading: str, names: Collection[str]) -> bool:
    """Return whether a heading is what the subject is called, or begins so and tells no aside."""
    told = heading.strip(" `*_").lower()
    known = {name.lower() for name in names if len(name) > 2}
    is_begun = any(re.match(rf"{re.escape(name)}\b", told) for name in known)
    return told in {name.lower() for name in names} or (is_begun and not _ASIDE.search(heading))


def _is_worth_quoting(text: str, *, may_introduce: bool = False) -> bool:
    if len(_LETTER.findall(text)) < _LEAST_LETTERS or _NOT_ABOUT.search(text) or text.endswith("?"):
        return False
    if text.endswith(":") and not may_introduce:
        return False
    is_wide = any(character > "\u2e80" for character in text)
    return is_wide or len(text.split()) >= _LEAST_WORDS


def _held(lines: Sequence[str], first_line: int, text: str, start_line: int, end_line: int) -> Quoted | None:
    """Return a quote that its lines hold and that is not too long; None for any other."""
    cited = lines[start_line - first_line : end_line - first_line + 1]
    return Quoted(text, start_line, end_line) if len(text) <= MAX_QUOTE_CHARS and holds(cited, text) else None
