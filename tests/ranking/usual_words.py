"""Writes how often words usually occur in software: the file by which `familiarity` judges a repository.

    python -m tests.ranking.usual_words --clones FOLDER --state FOLDER

The clones are the repositories of the ranker (docs/ranking.md, all permissive); their indexes are kept in `--state`.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Collection, Mapping
from pathlib import Path

from runtime.codebase.search.presence import familiarity
from tests.ranking.examples import open_clone

MOST_OFTEN = 5
LEAST_REPOSITORIES = 3
LEAST_SHARE = 5e-4

# Word → repository → the share of its pieces that have the word.
Shares = Mapping[str, Mapping[str, float]]


def shares_in(clones: Path, state: Path, words: Collection[str] | None = None) -> Shares:
    """Return the share of the pieces that have each word, in each clone that has it; by default of all words."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for clone in sorted(path for path in clones.iterdir() if path.is_dir()):
        codebase = open_clone(clones, state, clone.name)
        pieces = max(1, codebase.index.chunk_count())
        counted = codebase.index.rows("SELECT term, doc FROM chunk_terms")
        for word, count in counted:
            if words is None or word in words:
                found[word][clone.name] = count / pieces
        codebase.close()
    return found


def usual(shares: Shares, without: str = "") -> dict[str, float]:
    """Return the mean share of each word in the five repositories that have it most, one of them left out."""
    means = {}
    for word, of in shares.items():
        most = sorted((share for name, share in of.items() if name != without), reverse=True)[:MOST_OFTEN]
        if len(of) >= LEAST_REPOSITORIES and most:
            means[word] = sum(most) / MOST_OFTEN
    return means


def main() -> None:
    """Write the file into the package."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clones", type=Path, required=True)
    parser.add_argument("--state", type=Path, required=True)
    given = parser.parse_args()
    means = usual(shares_in(given.clones, given.state))
    kept = {word: share for word, share in means.items() if share >= LEAST_SHARE and word.isascii()}
    lines = [f"{word} {float(f'{1e6 * share:.2g}'):.0f}" for word, share in sorted(kept.items())]
    familiarity.FILE.write_text("\n".join(lines) + "\n", encoding="ascii")
    print(f"{familiarity.FILE}: {len(lines)} words")


if __name__ == "__main__":
    main()
