"""An index of files that a test writes, its vectors, and the store that keeps them."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

from runtime.codebase.index.reader import IndexReader
from runtime.codebase.index.writer import refresh
from runtime.codebase.semantics.forest_entries import PieceKind, collection_of, entries_of
from runtime.codebase.semantics.forest_keeper import ForestKeeper
from runtime.codebase.semantics.further_windows import WindowMaker
from runtime.codebase.semantics.similarity import Semantics
from runtime.codebase.semantics.vector_cache import VectorCache, WantedIndex
from runtime.codebase.semantics.vector_maker import VectorMaker
from runtime.codebase.semantics.vector_semantics import VectorSemantics
from runtime.codebase.semantics.vector_store import VectorStore, open_vector_store
from tests.runtime.codebase.test_further_windows import Embedder


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


class Forest:
    """An index of files that a test writes, its vectors, and the store that keeps them, if any does."""

    def __init__(self, folder: Path, kind: str) -> None:
        self.folder, self.kind = folder, kind
        self.root, self.index_path = folder / "repo", folder / "state" / "index.sqlite"
        self.root.mkdir(exist_ok=True)
        self.clock, self.embedder = Clock(), Embedder()
        self.cache = VectorCache(folder / "vectors.sqlite")
        self._stores: list[VectorStore] = []
        stored = None if kind == "cache" else self.opened
        self.keeper = ForestKeeper(self.cache, self.opened, self.clock)
        self.semantics = VectorSemantics(self.embedder.within, self.cache, stored)

    def opened(self, index_path: Path, kind: PieceKind) -> VectorStore:
        store = open_vector_store(
            "chroma" if self.kind == "chroma" else "sqlite", self.folder, collection_of(index_path, kind)
        )
        self._stores.append(store)
        return store

    def put(self, **files: str | None) -> WantedIndex:
        for name, text in files.items():
            path = self.root / f"{name}.py"
            path.unlink() if text is None else path.write_text(text)
        refresh(self.root, self.index_path)
        wanted = WantedIndex(str(self.index_path), str(self.root))
        self.cache.want(wanted)
        if self.kind != "cache":
            self.cache.want_stored(wanted)
        return wanted

    def embed(self, windows: bool = False) -> None:
        maker = VectorMaker(self.embedder, self.cache)
        while maker.step():
            pass
        if windows:
            self.cache.want_windows(WantedIndex(str(self.index_path), str(self.root)))
            further = WindowMaker(self.embedder, self.cache)
            while further.step():
                pass

    def keep(self) -> int:
        """Have the store brought up to date; return how many entries were written or deleted."""
        done = 0
        for _ in range(3):
            self.clock.now_s += 3600
            while step := self.keeper.step():
                done += step
                self.clock.now_s += 3600
        return done

    def grow(self, windows: bool = False, /, **files: str | None) -> int:
        self.put(**files)
        self.embed(windows)
        return self.keep()

    def reader(self) -> closing[IndexReader]:
        return closing(IndexReader(self.index_path))

    def entries(self, kind: PieceKind = "chunk") -> frozenset[str]:
        return self.opened(self.index_path, kind).ids()

    def wanted(self, kind: PieceKind = "chunk") -> set[str]:
        with self.reader() as reader:
            return set(entries_of(reader, kind, self.cache))

    def near(self, query: str, limit: int = 5, semantics: Semantics | None = None, **more: Any) -> list[str]:
        with self.reader() as reader:
            found = (semantics or self.semantics).nearest(reader, query, limit, **more)
            places = {row[0]: row[1] for row in reader.chunk_places([piece for piece, _ in found or ()])}
            return [places[piece] for piece, _ in found or ()]

    def close(self) -> None:
        self.keeper.close()
        self.semantics.close()
        for store in self._stores:
            store.close()
        self.cache.close()


def say(*words: str) -> str:
    return "def say():\n    return " + repr(" ".join(words)) + "\n"
