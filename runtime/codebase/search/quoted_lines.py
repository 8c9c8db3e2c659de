"""Chooses the few lines of a place that an answer quotes: those that answer most of the question.

Lines with words of the question count, more where reading has found that they answer it, and there also those without
such a word that decide something: a condition, what is returned or raised. Pure.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence

from runtime.codebase.search.excerpt_windows import Words, leaves_open

MAX_QUOTED = 2
# What a line gains that was read to answer, and one that decides something, of what an average word weighs.
READ_GAIN = 0.5
DECIDING_GAIN = 0.5

_COMMENT = re.compile(r"\s*(?:#(?![\w!\[])|//|/?\*|--|;)")
_NO_CONTENT = re.compile(r"[\W_]*$")
# Lines of keywords alone.
_TRIVIAL = re.compile(r"\s*(?:try|else|finally|do|return|break|continue|pass|begin|end|then|this|self|default)?[\W_]*$")
_DECIDES = re.compile(
    r"\s*\}?\s*(?:(?:else\s+)?if|elif|elsif|unless|case|when|return|yield|raise|throw|panic|break|continue)\b"
    r"|.*(?:=>|\?\s)"
)
# Lines that tell little by themselves: what is imported, logged, or declared without a body.
_BARE = re.compile(
    r"\s*(?:import\b|from\s+\S+\s+import\b|use\s+[\w:\\{]|using\s|require(?:_once|_relative)?\b|#\s*include\b"
    r"|package\s|namespace\s|export\s+\*|(?:const|let|var)\s.{1,80}=\s*require\("
    r"|@\w|(?:\w+(?:\.|->|::))*(?:_?log(?:ger|ging)?|LOG(?:GER|_\w+)?|console|slog|debug|warn(?:ing)?|trace)s?"
    r"(?:\.\w+)?!?\("
    r"|(?:(?:public|private|protected|internal|static|final|async|export|default|pub(?:\([^)]*\))?|override|virtual"
    r"|inline|abstract|extern|unsafe|const)\s+)*(?:def|fn|func|function|class|struct|interface|trait|impl|enum|module)\b"
    r"[^=]*$"
    r"|(?:public|private|protected|internal)\s[^=;]*\([^=;]*$)"
)


def quoted_places(
    lines: Sequence[str],
    words: Words,
    weights: Mapping[str, float],
    span: range,
    read: Collection[int] = (),
    bare: Collection[int] = (),
) -> list[int]:
    """Return the positions within a span of the lines that together cover most of the question, in order, at most two.

    Behind one that begins something stands the line that goes on with it: a condition tells little without its outcome.
    `read`: the positions of lines that answer, read together with the question; `bare`: those of signatures.
    """
    chosen: list[int] = []
    covered: set[str] = set()
    for _ in range(MAX_QUOTED):
        best = _best_line(lines, words, _gains(lines, words, weights, span, read, covered), bare, not covered)
        if best is None or best in chosen:
            break
        chosen.append(best)
        covered |= set(words[best])
    if not chosen:
        chosen = [place for place in span if not _NO_CONTENT.match(lines[place])][:1]
    outcomes = (_outcome(lines, place, span[-1]) for place in chosen)
    return sorted({*chosen, *(place for place in outcomes if place is not None)})


def _gains(
    lines: Sequence[str],
    words: Words,
    weights: Mapping[str, float],
    span: range,
    read: Collection[int],
    covered: Collection[str],
) -> dict[int, float]:
    """Return what each line that may be quoted adds to what is covered, position → weight."""
    usual = math.fsum(weights.values()) / len(weights) if weights else 0.0
    gains: dict[int, float] = {}
    for place in span:
        # Sums that no order of the terms changes: that of a set differs from process to process.
        gained = math.fsum(weights[term] for term in set(words[place]) - set(covered))
        decides = place in read and _DECIDES.match(lines[place]) is not None
        if gained > 0 or decides:
            gains[place] = gained + usual * (READ_GAIN * (place in read) + DECIDING_GAIN * decides)
    return gains


def _best_line(
    lines: Sequence[str], words: Words, gains: Mapping[int, float], bare: Collection[int], is_first: bool
) -> int | None:
    useful = [place for place in gains if not _TRIVIAL.match(lines[place])]
    telling = [place for place in useful if place not in bare and not _BARE.match(lines[place])]
    # Where nothing else speaks of the question, an import or a signature does.
    chosen = telling if telling or not is_first else [place for place in useful if words[place]]
    return max(chosen, key=lambda place: (gains[place], -place), default=None)


def _outcome(lines: Sequence[str], place: int, end: int) -> int | None:
    """Return the position of the first line of what a line of code begins; None where it is whole by itself."""
    if _COMMENT.match(lines[place]) or not leaves_open(lines[place]):
        return None
    following = range(place + 1, end + 1)
    return next((at for at in following if not (_NO_CONTENT.match(lines[at]) or _COMMENT.match(lines[at]))), None)
