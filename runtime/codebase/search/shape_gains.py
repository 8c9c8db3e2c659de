"""Moves the first pieces for a question by their shapes: code that decides before code that lists.

Where the first pieces are read together with the question afterwards, which sees their shapes and more, it counts half;
with vectors of most pieces not at all.
"""

from __future__ import annotations

from collections.abc import Sequence

from runtime.codebase.files.path_kinds import kind_of_place
from runtime.codebase.files.source_text import ReadSource
from runtime.codebase.search.gathering import Gathered
from runtime.codebase.search.piece_shape import features_of, worth_of

# So many were looked at to fit what a shape is worth.
MAX_SHAPED = 40
BEFORE_READING = 0.5


def shape_gains(gathered: Gathered, sums: Sequence[float], read: ReadSource | None) -> dict[int, float]:
    """Return what the shapes of the first forty candidates add to their sums, by place, each at least 0.

    What is not source code, or cannot be read, gains as much as source code does on average. Empty where no source
    code is among them, with vectors of most, and for a question that asks for other kinds of files, such as documents.
    """
    hits = [candidate.words.hit for candidate in gathered.candidates]
    order = sorted(range(len(hits)), key=lambda place: (-sums[place], hits[place].file, hits[place].start_line))
    worth: dict[int, float] = {}
    is_shaped = read is not None and not gathered.asked.kinds and gathered.state == "words"
    for place in order[:MAX_SHAPED] if is_shaped else ():
        hit = hits[place]
        is_code = kind_of_place(hit.file, hit.symbol) == "source"
        source = read(hit.file) if is_code and read is not None else None
        if source is not None:
            lines = source.lines[hit.start_line - 1 : hit.end_line]
            worth[place] = worth_of(features_of(lines, hit.start_line))
    if not worth:
        return {}
    # The least of them stays where it is: what was not looked at must not gain by that.
    least, usual = min(worth.values()), sum(worth.values()) / len(worth)
    share = BEFORE_READING if gathered.by_meaning else 1.0
    return {place: share * (worth.get(place, usual) - least) for place in order[:MAX_SHAPED]}
