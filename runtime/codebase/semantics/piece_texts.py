"""Reads the texts from which the vectors of pieces are made."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from runtime.codebase.files.source_text import SourceText, try_read_source
from runtime.codebase.index.piece_text import piece_key
from runtime.codebase.semantics.piece_order import Piece


class PieceTexts:
    """Reads pieces in order; the file of the last one is kept in memory."""

    def __init__(self) -> None:
        self._source: tuple[str, SourceText | None] = ("", None)

    def of(self, root: Path, pieces: Sequence[Piece]) -> dict[bytes, str]:
        """Return the texts of pieces by their keys, without those whose file has changed since it was indexed."""
        texts: dict[bytes, str] = {}
        for piece in pieces:
            if self._source[0] != piece.file:
                self._source = (piece.file, try_read_source(root, piece.file))
            source = self._source[1]
            text = piece.text(source.lines if source else ())
            if piece_key(text) == piece.key:
                texts[piece.key] = text
        return texts
