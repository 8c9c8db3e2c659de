"""Lists the sentences of a document's passage with what each must be quoted with. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from runtime.codebase.search.prose.prose_paragraphs import passage_paragraphs
from runtime.codebase.search.prose.sentences import Sentence, needed_with, prose_factor, sentences_of, term_of


@dataclass(frozen=True, slots=True)
class QuotableSentence:
    """Holds a sentence of a passage, its place among them, and the places of all that are told with it, in order.

    `told_with`: empty for one that cannot be quoted, because it depends on what is not there. `prose`: how much of it
    is prose that tells something, 0 to 1. `term`: what it describes, in a list of definitions.
    """

    sentence: Sentence
    at: int
    told_with: tuple[int, ...]
    chars: int
    is_row: bool
    is_example: bool
    prose: float
    term: Sentence | None

    @property
    def text(self) -> str:
        """The sentence alone."""
        return self.sentence.text

    @property
    def begins(self) -> bool:
        """True if prose begins with it."""
        return self.sentence.begins

    @property
    def is_usable(self) -> bool:
        """True if it can be quoted."""
        return bool(self.told_with)


def quotable_sentences(lines: Sequence[str], first_line: int) -> list[QuotableSentence]:
    """Return all sentences of a document's passage in order; `first_line` is the number of the first line."""
    found = sentences_of(lines, first_line, passage_paragraphs(lines, first_line, is_document=True))
    made: list[QuotableSentence] = []
    for at, (sentence, paragraph) in enumerate(found):
        term = term_of(lines, first_line, sentence)
        needed = needed_with(found, at, begins=term is not None, documents=False)
        told = () if needed is None else tuple(sorted((*needed, at)))
        chars = sum(len(found[place][0].text) + 1 for place in told)
        prose = prose_factor(sentence.text, is_example=paragraph.is_example)
        made.append(QuotableSentence(sentence, at, told, chars, paragraph.is_row, paragraph.is_example, prose, term))
    return made
