"""What documentation says happens in a case: «Called when the client closed the connection». Pure text analysis."""

from __future__ import annotations

import re
from collections.abc import Collection

from runtime.codebase.files.words import index_terms

# One word may be the name of what is documented: «closes» alone says little.
LEAST_WORDS = 2

_CASE = re.compile(r"\b(?:when(?:ever)?|if|once|after|as soon as|in case)\b([^.;]*)", re.IGNORECASE)


def says_it_is_for(docstring: str, terms: Collection[str]) -> bool:
    """True when the documentation names a case that has each of the terms, stems of the index; two at least."""
    wanted = frozenset(terms)
    if len(wanted) < LEAST_WORDS:
        return False
    return any(wanted <= frozenset(index_terms(case).split()) for case in _CASE.findall(docstring))
