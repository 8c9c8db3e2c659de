"""Compares one question with the pieces of one index."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from runtime.codebase.files.source_text import ReadSource, SourceText
from runtime.codebase.index.piece_text import piece_text
from runtime.codebase.index.reader import IndexReader
from runtime.codebase.index.records import ChunkHit
from runtime.codebase.search.gathering import Reading
from runtime.codebase.semantics.cross_encoding.reading_windows import most_telling, windows_of
from runtime.codebase.semantics.similarity import Semantics


class QuestionMeaning:
    """Compares a question with chunks and passages; None wherever nothing can be compared.

    With `wait`, a slow embedder is waited for, and `similar` makes the vectors that are missing. `meanwhile` is called
    whenever another process reads for this one.
    """

    def __init__(
        self,
        semantics: Semantics,
        index: IndexReader,
        read: ReadSource,
        question: str,
        *,
        wait: bool = False,
        meanwhile: Callable[[], object] | None = None,
    ) -> None:
        self._semantics = semantics
        self._index = index
        self._read = read
        self._question = question
        self._wait = wait
        self._meanwhile = meanwhile

    def similar(self, hits: Sequence[ChunkHit]) -> list[float | None] | None:
        """Return the cosine of each chunk, None for one without a vector."""
        return self._semantics.similarities(self._question, self._texts(hits), wait=self._wait)

    def readings(self, hits: Sequence[ChunkHit], *, whole: bool) -> list[Reading] | None:
        """Return how well each chunk answers the question, read together with it; None if nothing reads.

        Of a long chunk the window that shares most words with the question is read or, with `whole`, all of them, of
        which the best counts.
        """
        cut = [windows_of(f"{hit.file} {hit.symbol or ''}", lines) for hit, lines in self._lines(hits)]
        chosen = cut if whole else [[most_telling(self._question, windows)] for windows in cut]
        texts = [window.text for windows in chosen for window in windows]
        scores = self._scores(texts)
        if scores is None:
            return None
        following = iter(scores)
        read = [[(next(following), window) for window in windows] for windows in chosen]
        best = [max(own, key=lambda one: one[0]) for own in read]
        return [
            Reading(score, hit.start_line + window.first, hit.start_line + window.last)
            for hit, (score, window) in zip(hits, best, strict=True)
        ]

    def _scores(self, texts: Sequence[str]) -> list[float] | None:
        if self._meanwhile is None:
            return self._semantics.scores(self._question, texts, wait=self._wait)
        with ThreadPoolExecutor(1, "readings") as pool:
            asked = pool.submit(self._semantics.scores, self._question, texts, wait=self._wait)
            self._meanwhile()
            return asked.result()

    def nearest(self, limit: int, *, passages: bool) -> Sequence[tuple[int, float]] | None:
        """Return the ids and cosines of the nearest chunks, or passages, best first."""
        return self._semantics.nearest(self._index, self._question, limit, passages=passages, wait=self._wait)

    def near_passages(self, _question: str, limit: int) -> Sequence[tuple[int, float]] | None:
        """Return the ids and cosines of the nearest passages, best first."""
        return self.nearest(limit, passages=True)

    def cosines(self, chunk_ids: Sequence[int]) -> Mapping[int, float] | None:
        """Return the cosine of each chunk that has a vector."""
        return self._semantics.cosines(self._index, self._question, chunk_ids, wait=self._wait)

    def windows(self, chunk_ids: Sequence[int]) -> Mapping[int, float] | None:
        """Return the cosine of the best window of each chunk that is longer than one."""
        return self._semantics.windows(self._index, self._question, chunk_ids, wait=self._wait)

    def _texts(self, hits: Sequence[ChunkHit]) -> list[str]:
        sources = {file: self._read(file) for file in {hit.file for hit in hits}}
        return [described(hit, sources[hit.file]) for hit in hits]

    def _lines(self, hits: Sequence[ChunkHit]) -> Iterator[tuple[ChunkHit, Sequence[str]]]:
        sources = {file: self._read(file) for file in {hit.file for hit in hits}}
        for hit in hits:
            source = sources[hit.file]
            yield hit, [] if source is None else source.lines[hit.start_line - 1 : hit.end_line]


def described(hit: ChunkHit, source: SourceText | None) -> str:
    """Return the text from which a chunk's vector is made."""
    return piece_text(hit.file, hit.symbol or "", source.lines[hit.start_line - 1 : hit.end_line] if source else [])
