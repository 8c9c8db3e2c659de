"""Runs the one process that embeds for a state folder.

    process = EmbeddingProcess(state_dir / "index")
    process.start()
    process.take(root, index_path)      after each refresh of an index
    process.close()

The process holds a lock; further ones that are started meanwhile wait for it without loading the model, and take over
when its owner ends. It answers requests at normal priority, makes the vectors of all pieces at the lowest one, and dies
with its owner at once: what was made is kept.
"""

from __future__ import annotations

import fcntl
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeVar

from runtime.codebase.index.vector_store_kind import VectorStoreKind
from runtime.codebase.semantics.sentence_model.model_file import missing_packages
from runtime.errors import JeevesError, ProcessKilledError
from runtime.processes.worker_process import WorkerProcess

if TYPE_CHECKING:
    from runtime.codebase.semantics.embedding import Vectors, Window
    from runtime.codebase.semantics.further_windows import WindowEmbedder

T = TypeVar("T")

SERVE = f"{__name__}:serve"
VECTORS_NAME = "vectors.sqlite"
LOCK_NAME = "embedding.lock"
# The library of the model maps more than it uses; at 350 MB of resident memory its private data is far below this.
MEMORY_BYTES = 1_500_000_000
SLICE_S = 600.0
IDLE_POLL_S = 0.3
LOCK_POLL_S = 0.2
STORE_POLL_S = 0.05
# Before the process is killed in the middle of a write, which would have the vector store begun anew.
STORE_PATIENCE_S = 1.0
_LOWEST = 19

log = logging.getLogger(__name__)


class EmbeddingProcess:
    """Starts the process when it is needed, and kills it when it is closed."""

    def __init__(self, folder: Path, store: VectorStoreKind = "sqlite") -> None:
        """Configure the process; `folder` has the vectors, and will have its socket and its lock.

        `store`: where searches look the pieces of indexes up.
        """
        self._folder = folder
        self._store = store
        self._guard = threading.Lock()
        self._worker: WorkerProcess | None = None
        self._closed = False

    @property
    def is_running(self) -> bool:
        """True from the start of the process until it fails or is closed."""
        with self._guard:
            return self._worker is not None

    def start(self) -> None:
        """Start the process unless it runs; one that failed is started again by the next call."""
        with self._guard:
            if self._closed or self._worker is not None:
                return
            self._folder.mkdir(parents=True, exist_ok=True)
            # Each call ends by itself after ten minutes; the pool's rule for slow calls would undo our priorities.
            self._worker = WorkerProcess(memory_bytes=MEMORY_BYTES, slow_after_s=2 * SLICE_S)
            threading.Thread(target=self._run, args=(self._worker,), name="embedding", daemon=True).start()

    def take(self, root: str, index_path: Path) -> None:
        """Have the pieces of an index embedded before those of earlier ones; returns at once."""
        from runtime.codebase.semantics.vector_cache import VectorCache, WantedIndex

        cache = VectorCache(self._folder / VECTORS_NAME)
        cache.want(WantedIndex(str(index_path), root))
        cache.want_windows(WantedIndex(str(index_path), root))
        if self._store == "chroma":
            cache.want_stored(WantedIndex(str(index_path), root))
        cache.close()
        self.start()

    def close(self) -> None:
        """Kill the process. Idempotent; it is not started again."""
        with self._guard:
            self._closed = True
            worker, self._worker = self._worker, None
        if worker is None:
            return
        if self._store == "chroma":
            from runtime.codebase.semantics.chroma_database import between_writes
            from runtime.codebase.semantics.vector_store import CHROMA_NAME

            with between_writes(self._folder / CHROMA_NAME, STORE_PATIENCE_S):
                worker.kill()
        else:
            worker.kill()

    def _run(self, worker: WorkerProcess) -> None:
        try:
            while True:
                worker.call(SERVE, {"folder": str(self._folder), "for_s": SLICE_S})
        except ProcessKilledError:
            return
        except JeevesError as error:
            log.warning("embeddings.process_failed", extra={"error": error.message})
        finally:
            worker.kill()
            with self._guard:
                if self._worker is worker:
                    self._worker = None


def embedding_process(folder: Path, *, embeds: bool, store: VectorStoreKind = "sqlite") -> EmbeddingProcess | None:
    """Return what makes the vectors kept in `folder`; None if they are not wanted or the model is not installed."""
    return EmbeddingProcess(folder, store) if embeds and not missing_packages() else None


# What the process keeps from one call to the next: its lock, its server and the thread that makes vectors.
_held: dict[Path, _Service] = {}


def serve(_note: Callable[[object], None], folder: str, for_s: float) -> None:
    """Embed for a state folder, as soon as no other process does, until `for_s` seconds have passed.

    Called in the worker process; raises what the thread that makes vectors has failed with.
    """
    deadline_s = time.monotonic() + for_s
    path = Path(folder)
    while path not in _held:
        lock = _try_lock(path / LOCK_NAME)
        if lock is not None:
            _held[path] = _Service(path, lock)
        elif time.monotonic() >= deadline_s:
            return
        else:
            time.sleep(LOCK_POLL_S)
    _held[path].run_until(deadline_s)


class BehindRequests:
    """Embeds one text or window at a time, and none while a request is being answered.

    A thread of the lowest priority that had the interpreter's lock just then would keep the request waiting for as long
    as other programs keep the processor.
    """

    def __init__(self, embedder: WindowEmbedder, wait_until_idle: Callable[[], None]) -> None:
        self._embedder = embedder
        self._wait_until_idle = wait_until_idle

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row for each text, in order."""
        return self._in_turn(self._embedder.embed, texts)

    def further_windows(self, text: str) -> list[Window]:
        """Return the windows of a text behind its beginning, in order."""
        return self._embedder.further_windows(text)

    def embed_windows(self, windows: Sequence[Window]) -> Vectors:
        """Return one row for each window, in order."""
        return self._in_turn(self._embedder.embed_windows, windows)

    def _in_turn(self, embed: Callable[[Sequence[T]], Vectors], items: Sequence[T]) -> Vectors:
        import numpy as np

        rows = []
        for item in items:
            self._wait_until_idle()
            rows.append(embed([item])[0])
        return np.array(rows, np.float32)


class _Service:
    """Answers requests, and makes vectors in a thread of its own."""

    def __init__(self, folder: Path, lock: IO[bytes]) -> None:
        from runtime.codebase.semantics.cross_encoding.cross_encoder import shared_cross_encoder
        from runtime.codebase.semantics.embedding import shared_embedder
        from runtime.codebase.semantics.embedding_socket import EmbeddingServer
        from runtime.codebase.semantics.forest_entries import chroma_pieces
        from runtime.codebase.semantics.forest_keeper import ForestKeeper
        from runtime.codebase.semantics.further_windows import WindowMaker
        from runtime.codebase.semantics.vector_cache import VectorCache
        from runtime.codebase.semantics.vector_maker import VectorMaker

        self._lock = lock
        self._server = EmbeddingServer(folder, shared_embedder(), shared_cross_encoder())
        behind = BehindRequests(shared_embedder(), self._server.wait_until_idle)
        self._maker = VectorMaker(behind, VectorCache(folder / VECTORS_NAME))
        self._windows = WindowMaker(behind, VectorCache(folder / VECTORS_NAME))
        self._wanted = VectorCache(folder / VECTORS_NAME)
        self._keeper = ForestKeeper(VectorCache(folder / VECTORS_NAME), chroma_pieces(folder))
        self._failed = threading.Event()
        self._failure: BaseException | None = None
        # Loads the models, so that the first requests do not wait for them.
        shared_embedder().embed([""])
        shared_cross_encoder().scores("", [""])
        threading.Thread(target=self._make, name="vectors", daemon=True).start()

    def run_until(self, deadline_s: float) -> None:
        if self._failed.wait(max(0.0, deadline_s - time.monotonic())) and self._failure is not None:
            raise self._failure

    def _make(self) -> None:
        from runtime.codebase.semantics.further_windows import are_windows_next

        _lower_priority()
        try:
            while True:
                made = self._windows.step() if are_windows_next(self._wanted) else self._maker.step()
                if not self._keeper.step(is_idle=not made) and not made:
                    time.sleep(STORE_POLL_S if self._keeper.has_work else IDLE_POLL_S)
        except BaseException as error:  # noqa: BLE001 - raised by `run_until`
            self._failure = error
            self._failed.set()


def _lower_priority() -> None:
    """Give this thread alone the lowest priority; on Linux priorities are those of threads."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _LOWEST)


def _try_lock(path: Path) -> IO[bytes] | None:
    file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600), "wb")
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return None
    return file
