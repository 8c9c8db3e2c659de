"""Computes similarities from cached vectors; makes missing ones at once or in the background."""

from __future__ import annotations

import atexit
import logging
import os
import secrets
import threading
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from runtime.codebase.semantics.embedding import Embedder, Vectors
from runtime.codebase.semantics.vector_cache import VectorCache, key_of

log = logging.getLogger(__name__)

MAX_IN_MEMORY = 20_000
MAX_WAITING = 2_000
# So few that who closes waits a tenth of a second at most.
TEXTS_AT_ONCE = 4


class VectorSemantics:
    """Computes similarities by an embedder, with its vectors kept in memory and in a cache file."""

    def __init__(self, embedder: Embedder, cache: VectorCache) -> None:
        self._embedder = embedder
        self._cache = cache
        self._guard = threading.Lock()
        self._known: OrderedDict[bytes, Vectors] = OrderedDict()
        self._waiting: OrderedDict[bytes, str] = OrderedDict()
        self._worker: threading.Thread | None = None
        self._closed = False
        self._made = 0
        self._owner = f"{os.getpid()}-{secrets.token_hex(4)}"
        # A model that is at work when the interpreter goes away takes the whole process down with it.
        atexit.register(self.close)

    def similarities(self, query: str, texts: Sequence[str], *, wait: bool) -> list[float] | None:
        """Return the cosine of the query and each text, -1 to 1; None if vectors are missing (no `wait`) or fail."""
        if not texts:
            return []
        wanted = {key_of(self._embedder.name, text): text for text in (query, *texts)}
        vectors = self._find(list(wanted))
        missing = {key: text for key, text in wanted.items() if key not in vectors}
        if len(missing) == 1 and query in missing.values():
            # The vector of a question is made in a few milliseconds; only those of code are worth waiting for.
            wait = True
        if missing and not wait:
            self._make_later(missing)
            return None
        try:
            vectors |= self._make(missing)
        except Exception:
            log.exception("embeddings.failed", extra={"texts": len(missing)})
            return None
        at = vectors[key_of(self._embedder.name, query)]
        return [float(at @ vectors[key_of(self._embedder.name, text)]) for text in texts]

    def progress(self) -> tuple[int, int]:
        """Return the number of vectors made so far, and that number plus the texts still waiting."""
        with self._guard:
            return self._made, self._made + len(self._waiting)

    def close(self) -> None:
        """Stop making vectors; those that are made are kept."""
        with self._guard:
            self._closed = True
            self._waiting.clear()
            worker = self._worker
        if worker is not None and worker is not threading.current_thread():
            worker.join()
            self._cache.note(self._owner, 0, 0)
        self._cache.close()
        atexit.unregister(self.close)

    def _find(self, keys: Sequence[bytes]) -> dict[bytes, Vectors]:
        with self._guard:
            found = {key: self._known[key] for key in keys if key in self._known}
            for key in found:
                self._known.move_to_end(key)
        stored = self._cache.get([key for key in keys if key not in found])
        self._remember(stored)
        return found | stored

    def _make(self, texts: dict[bytes, str]) -> dict[bytes, Vectors]:
        if not texts:
            return {}
        rows = self._embedder.embed(list(texts.values()))
        # Half precision, as they are kept, so that the first answer and later ones agree.
        made = {key: row.astype(np.float16).astype(np.float32) for key, row in zip(texts, rows, strict=True)}
        self._cache.put(made)
        self._remember(made)
        with self._guard:
            self._made += len(made)
        return made

    def _remember(self, vectors: dict[bytes, Vectors]) -> None:
        with self._guard:
            self._known.update(vectors)
            while len(self._known) > MAX_IN_MEMORY:
                self._known.popitem(last=False)

    def _make_later(self, texts: dict[bytes, str]) -> None:
        with self._guard:
            self._waiting.update(texts)
            while len(self._waiting) > MAX_WAITING:
                self._waiting.popitem(last=False)
            if self._closed or (self._worker is not None and self._worker.is_alive()):
                return
            self._worker = threading.Thread(target=self._work, name="embeddings", daemon=True)
            self._worker.start()

    def _work(self) -> None:
        before = self._made
        while True:
            with self._guard:
                part = {key: self._waiting[key] for key in list(self._waiting)[:TEXTS_AT_ONCE]}
                made, total = self._made - before, self._made - before + len(self._waiting)
                if not part:
                    self._worker = None
            # A note for whoever looks; when nothing is left to make it goes.
            self._cache.note(self._owner, made, total)
            if not part:
                return
            try:
                self._make(part)
            except Exception:
                # Without vectors the search goes by words alone; the next question tries again.
                log.exception("embeddings.failed", extra={"texts": len(part)})
            with self._guard:
                for key in part:
                    self._waiting.pop(key, None)
