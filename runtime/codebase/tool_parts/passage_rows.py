"""Builds the rows of passages that speak of a question."""

from __future__ import annotations

from typing import Any

from runtime.codebase.search.passages import Passage


def passage_row(passage: Passage) -> dict[str, Any]:
    """Return the row of a passage, with the sentences that speak most of the question."""
    return {
        "file": passage.file,
        "start_line": passage.sentences[0].start_line,
        "end_line": passage.sentences[-1].end_line,
        "kind": passage.kind,
        "heading": passage.heading,
        "text": " ".join(sentence.text for sentence in passage.sentences),
        "names": [tie.definition.qualified_name for tie in passage.ties if tie.definition is not None],
        "score": round(passage.score, 6),
    }
