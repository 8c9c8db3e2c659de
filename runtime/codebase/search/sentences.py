"""Picks the one or two sentences of a passage that answer best, word for word, with their lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

MAX_SENTENCES = 2
MAX_SENTENCE_CHARS = 600
# A second sentence must add as much of the question's weight.
LEAST_GAIN = 0.15
_EARLY_BONUS = 0.02
# A question answers none, nor does an example, or a line of names alone.
_QUESTION_FACTOR, _EXAMPLE_FACTOR = 0.2, 0.4
_LEAST_WORDS = 4

# The end of a sentence, of a table row or list item, or a blank line; `e.g.` and a number's point end nothing.
_END = re.compile(r"(?<!\be\.g)(?<!\bi\.e)(?<!\betc)(?<!\bvs)[.!?:](?=[)\"'*_`]*(?:\s+[A-Z`*\"(\[0-9<-]|\s*$))|\n\s*\n")
_ITEM = re.compile(r"\s*(?:[-*+•]|\d+[.)]|\|)\s")
_MARKS = " \t#/*>;\"'"
_FENCE = re.compile(r"\s{0,3}(?:```|~~~)")
_HEADING = re.compile(r"\s{0,3}(?:#{1,6}|={1,6})\s")
_RULE = re.compile(r"[=\-~^\"'`#*+.:_]{3,}\s*$")
_NO_PROSE = re.compile(r"`[^`]*`|\S*[_/:.(){}\[\]=]\S+")
_PROSE_WORD = re.compile(r"[^\W\d_]+")

Terms = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Sentence:
    """Holds a sentence as it stands in the lines `start_line` to `end_line` of its file.

    `quote` is that text, with line ends and comment marks between its lines; `text` has neither. `worth`: the share of
    the question's weight that it covers, 0 to 1, less for a question or an example.
    """

    start_line: int
    end_line: int
    quote: str
    text: str
    worth: float = 0.0


def best_sentences(
    lines: Sequence[str], first_line: int, weights: Mapping[str, float], terms: Terms, *, is_document: bool = True
) -> tuple[Sentence, ...]:
    """Return the sentence of lines that covers most of a question, and one beside it that adds to that.

    `weights`: of the question's terms; `terms` splits a text into such terms. The headings of a document are no
    sentences. Empty for lines without a word.
    """
    sentences = split_sentences(lines, first_line, is_document=is_document)
    if not sentences:
        return ()
    examples = _example_lines(lines, first_line) if is_document else frozenset[int]()
    covered = [frozenset(terms(sentence.text).split()) & weights.keys() for sentence in sentences]
    worth = [
        sum(weights[term] for term in found) * _factor(sentence, examples)
        for sentence, found in zip(sentences, covered, strict=True)
    ]
    best = max(range(len(sentences)), key=lambda place: (worth[place] + (_EARLY_BONUS if place == 0 else 0), -place))
    beside = [place for place in (best - 1, best + 1) if 0 <= place < len(sentences)]
    gains = {place: sum(weights[term] for term in covered[place] - covered[best]) for place in beside}
    chosen = [best, *(place for place in beside if gains[place] >= LEAST_GAIN and gains[place] == max(gains.values()))]
    return tuple(replace(sentences[place], worth=round(worth[place], 6)) for place in sorted(chosen[:MAX_SENTENCES]))


def _factor(sentence: Sentence, examples: frozenset[int]) -> float:
    words = len(_PROSE_WORD.findall(_NO_PROSE.sub(" ", sentence.text)))
    factor = min(1.0, (words + 1) / (_LEAST_WORDS + 1))
    if sentence.text.rstrip("\"'*_)").endswith("?"):
        factor *= _QUESTION_FACTOR
    return factor * (_EXAMPLE_FACTOR if sentence.start_line in examples else 1.0)


def _example_lines(lines: Sequence[str], first_line: int) -> frozenset[int]:
    inside, found = False, set()
    for number, line in enumerate(lines, first_line):
        if _FENCE.match(line):
            inside = not inside
            found.add(number)
        elif inside:
            found.add(number)
    return frozenset(found)


def split_sentences(lines: Sequence[str], first_line: int, *, is_document: bool = True) -> list[Sentence]:
    """Return the sentences, list items and table rows of lines in order; `first_line` is the number of the first.

    In a document, headings, rules and the marks of examples are left out.
    """
    sentences: list[Sentence] = []
    for start, end in _blocks(lines):
        if is_document and _is_heading(lines, start):
            continue
        text = "\n".join(lines[start:end])
        at = 0
        for found in [*(match.end() for match in _END.finditer(text)), len(text)]:
            sentence = _sentence(text, at, found, first_line + start)
            if sentence is not None:
                sentences.append(sentence)
            at = max(at, found)
    return sentences


def _is_heading(lines: Sequence[str], place: int) -> bool:
    line = lines[place]
    underlined = place + 1 < len(lines) and bool(_RULE.match(lines[place + 1])) and bool(line.strip())
    return underlined or any(pattern.match(line) is not None for pattern in (_HEADING, _RULE, _FENCE))


def _blocks(lines: Sequence[str]) -> list[tuple[int, int]]:
    """Return ranges of lines, last ones exclusive, that sentences do not cross: list items, rows and paragraphs."""
    starts = [
        place
        for place, line in enumerate(lines)
        if place == 0
        or any(pattern.match(near) for pattern in (_HEADING, _RULE, _FENCE) for near in lines[place - 1 : place + 1])
        or _ITEM.match(line)
        or not line.strip(_MARKS)
        or line.lstrip().startswith(("#", "="))
        or not lines[place - 1].strip(_MARKS)
    ]
    return list(zip(starts, [*starts[1:], len(lines)], strict=True))


def _sentence(text: str, start: int, end: int, first_line: int) -> Sentence | None:
    raw = text[start:end]
    quote = raw.strip()
    if not any(character.isalpha() for character in quote):
        return None
    begin = start + len(raw) - len(raw.lstrip())
    quote = quote[:MAX_SENTENCE_CHARS]
    line = first_line + text.count("\n", 0, begin)
    plain = " ".join(part.strip(_MARKS) for part in quote.split("\n"))
    return Sentence(line, line + quote.count("\n"), quote, plain.strip())
