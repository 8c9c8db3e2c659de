"""Weighs the terms of a question for a value: the rarer one is in code, the more it tells."""

from __future__ import annotations

import math
from collections.abc import Sequence

from runtime.codebase.index.reader import IndexReader

MAX_TERMS = 8


def rarest_terms(index: IndexReader, terms: Sequence[str]) -> dict[str, float]:
    """Return the weights of a subject's rarest terms: the rarer a term is in pieces of code, the more it tells."""
    pieces, counts = max(2, index.chunk_count()), index.document_counts(list(terms))
    weights = {term: math.log(1 + pieces / (1 + counts.get(term, 0))) if counts.get(term) else 1.0 for term in terms}
    return dict(sorted(weights.items(), key=lambda pair: -pair[1])[:MAX_TERMS])
