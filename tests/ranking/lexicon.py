"""Writes the lexicon of ordinary words: of English, and of what software is commonly written in.

    python -m tests.ranking.lexicon --clones FOLDER

A word is ordinary if the vocabulary of the sentence model's tokenizer has it whole (Apache-2.0), or if ten of the
clones, the repositories of the ranker (docs/ranking.md, all permissive), use it. Forms of another word are left out.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from pathlib import Path

from runtime.codebase.files.path_kinds import is_listed_only, kind_of_path
from runtime.codebase.files.words import split_identifier
from runtime.codebase.search.presence import lexicon

LEAST_CHARS = 3
LEAST_REPOSITORIES = 10
MAX_FILE_BYTES = 2_000_000
TOKENIZER = Path(__file__).parents[2] / "runtime/codebase/semantics" / "minilm" / "tokenizer.json"

_WORD = re.compile(r"[A-Za-z]+")


def words_of(clone: Path) -> set[str]:
    """Return the words of a clone's own files, names split into their parts."""
    written: set[str] = set()
    for path in clone.rglob("*"):
        name = path.relative_to(clone).as_posix()
        if name.startswith(".git/") or is_listed_only(name) or not path.is_file() or path.is_symlink():
            continue
        if kind_of_path(name) in {"vendored", "generated", "translation", "data"}:
            continue
        text = path.read_bytes()[:MAX_FILE_BYTES]
        if b"\0" not in text[:8_000]:
            written.update(_WORD.findall(text.decode("utf-8", "ignore")))
    return {part for word in written for part in split_identifier(word) if len(part) >= LEAST_CHARS}


def ordinary_words(clones: Path) -> list[str]:
    """Return the lexicon's words, without those that are forms of others, in order."""
    used: Counter[str] = Counter()
    for clone in sorted(clones.iterdir()):
        used.update(words_of(clone))
    known = json.loads(TOKENIZER.read_text(encoding="utf-8"))["model"]["vocab"]
    words = {word for word in known if len(word) >= LEAST_CHARS and word.isascii() and word.isalpha()}
    words |= {word for word, count in used.items() if count >= LEAST_REPOSITORIES and word.isascii()}
    return sorted(word for word in words if not any(base in words for base in lexicon.base_forms(word)))


def main() -> None:
    """Write the lexicon into the package."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clones", type=Path, required=True)
    words = ordinary_words(parser.parse_args().clones)
    lexicon.FILE.write_text("\n".join(words) + "\n", encoding="ascii")
    print(f"{lexicon.FILE}: {len(words)} words")


if __name__ == "__main__":
    main()
