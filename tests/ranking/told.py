"""Judges what an answer in words tells its reader: the things that it had to say, and whether it leads to them.

Its first 250 words are read, marks not counted, and the first eight marks; a mark of at most 25 lines shows what its
lines hold.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.ranking.cases import Case, Place

MAX_WORDS = 250
MAX_MARKS = 8
MAX_LINES, MAX_LEAD_LINES = 25, 80
HALF_SHARE, GOOD_SHARE = 1 / 3, 2 / 3

_MARK = re.compile(r"\[([^\[\]\s:]+):(\d+)(?:-(\d+))?\]")


@dataclass(frozen=True, slots=True)
class Told:
    """Holds the share of the needed things that an answer tells, and whether its first mark is a leading place."""

    share: float
    leads: bool

    @property
    def is_helpful(self) -> bool:
        """True if it tells any of the needed things or leads to the deciding place."""
        return self.share > 0 or self.leads

    @property
    def is_half(self) -> bool:
        """True if it tells a third of the needed things or leads to the deciding place."""
        return self.share >= HALF_SHARE - 1e-9 or self.leads

    @property
    def is_good(self) -> bool:
        """True if it tells two thirds of the needed things and leads to the deciding place."""
        return self.share >= GOOD_SHARE - 1e-9 and self.leads


def told_by(case: Case, answer: str) -> Told:
    """Judge an answer by what its case needs; nothing is told of what is not there."""
    if not case.lead:
        return Told(0.0, False)
    text = _read(answer)
    marks = [_place(found) for found in _MARK.finditer(text)][:MAX_MARKS]
    shown = [mark for mark in marks if mark.end - mark.start < MAX_LINES]
    plain = _flat(_MARK.sub(" ", text))
    met = [
        any(_flat(said) in plain for said in nugget.any_text)
        or any(place.meets(mark.file, mark.start, mark.end) for mark in shown for place in nugget.any_place)
        for nugget in case.nuggets
    ]
    first = [mark for mark in marks[:1] if mark.end - mark.start < MAX_LEAD_LINES]
    leads = any(place.meets(mark.file, mark.start, mark.end) for mark in first for place in case.lead)
    return Told(sum(met) / len(met) if met else 0.0, leads)


def _read(answer: str) -> str:
    """Return the part of an answer that is read."""
    count = 0
    for found in re.finditer(r"\S+", answer):
        count += _MARK.fullmatch(found.group().strip(".,;")) is None
        if count > MAX_WORDS:
            return answer[: found.start()]
    return answer


def _place(mark: re.Match[str]) -> Place:
    return Place(mark.group(1).removeprefix("./"), int(mark.group(2)), int(mark.group(3) or mark.group(2)))


def _flat(text: str) -> str:
    return re.sub(r"\s+", " ", text).lower()
