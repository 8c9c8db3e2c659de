"""Names the file with the vectors of terms, and reads its mark without the library for vectors.

The mark tells its vectors from others. Each refresh of an index compares it; one that is up to date needs no more.
"""

from __future__ import annotations

import functools
import zipfile
from pathlib import Path

FILE = Path(__file__).parent / "term_vectors.npz"
MARK_CHARS = 16
# In the file a mark has four bytes for each character, behind a head that says so.
_ENCODING, _BYTES = "utf-32-le", 4 * MARK_CHARS


@functools.cache
def term_vectors_mark() -> str:
    """Return what tells the vectors of the package from others: pieces compare with questions of the same only."""
    return mark_of(FILE)


def mark_of(path: Path) -> str:
    """Return the mark of a file with vectors of terms."""
    with zipfile.ZipFile(path) as kept:
        return kept.read("mark.npy")[-_BYTES:].decode(_ENCODING)
