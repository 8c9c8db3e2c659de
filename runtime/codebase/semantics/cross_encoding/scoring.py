"""Keeps how well pieces answer a question, as a cross-encoder has scored them."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Protocol

from runtime.codebase.index.piece_text import piece_key

MAX_IN_MEMORY = 20_000

log = logging.getLogger(__name__)

# Scores texts for a question within a number of seconds, one number each. MachineError if nobody answers.
ScoreWithin = Callable[[str, Sequence[str], float], list[float]]


class Scorer(Protocol):
    """Says how well texts answer a question."""

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return one number for each text, in order; only differences mean anything."""
        ...


class KeptScores:
    """Scores each text for a question once, and keeps the latest 20,000 scores; serves several threads."""

    def __init__(self, score: ScoreWithin) -> None:
        self._score = score
        self._guard = threading.Lock()
        self._known: OrderedDict[tuple[bytes, bytes], float] = OrderedDict()

    def of(self, question: str, texts: Sequence[str], patience_s: float) -> list[float] | None:
        """Return one number for each text, in order; None if any cannot be scored within `patience_s`."""
        asked = piece_key(question)
        keys = [(asked, piece_key(text)) for text in texts]
        with self._guard:
            found = {key: self._known[key] for key in keys if key in self._known}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        if missing:
            try:
                made = self._score(question, list(missing.values()), patience_s)
                found |= zip(missing, made, strict=True)
            except Exception:
                log.exception("scores.failed", extra={"texts": len(missing)})
                return None
            self._keep(found)
        return [found[key] for key in keys]

    def _keep(self, scores: dict[tuple[bytes, bytes], float]) -> None:
        with self._guard:
            self._known.update(scores)
            while len(self._known) > MAX_IN_MEMORY:
                self._known.popitem(last=False)
