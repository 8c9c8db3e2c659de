"""Waits until the vectors of an index are made: `jeeves index --wait-vectors`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from runtime.errors import InputError
from runtime.settings import Settings

POLL_S = 0.2

OnVectors = Callable[[int, int], None]


def wait_for_vectors(settings: Settings, refreshed: Mapping[str, Any], on_vectors: OnVectors) -> dict[str, Any]:
    """Wait until the pieces of a refreshed index and their windows have vectors; return {pieces, ready, duration_ms}.

    `ready` is the share of the pieces that have one: less than 1 if files were changed meanwhile, or if the process
    that embeds has failed. InputError if search by meaning is switched off or its model is not usable.
    """
    from runtime.codebase.index.reader import IndexReader
    from runtime.codebase.semantics.embedding_process import VECTORS_NAME, EmbeddingProcess
    from runtime.codebase.semantics.sentence_model.model_file import model_fault
    from runtime.codebase.semantics.similarity import open_semantics
    from runtime.codebase.semantics.vector_cache import VectorCache, WantedIndex

    fault = model_fault() if settings.code_index.embeddings else "code_index.embeddings is false"
    folder, store = settings.state_dir / "index", settings.code_index.vector_store
    semantics = None if fault else open_semantics(folder / VECTORS_NAME, store=store)
    if semantics is None:
        raise InputError(f"there are no vectors to wait for: {fault}")
    started_s = time.monotonic()
    wanted = WantedIndex(str(refreshed["index_path"]), str(refreshed["root"]))
    index, cache, process = IndexReader(Path(wanted.index_path)), VectorCache(folder / VECTORS_NAME), None
    try:
        process = EmbeddingProcess(folder, store)
        process.take(wanted.root, Path(wanted.index_path))
        _, pieces = semantics.counted(index)
        while True:
            is_left, has_windows = wanted in cache.wanted(), wanted not in cache.wanted_windows()
            ready = semantics.ready(index)
            on_vectors(round(ready * pieces), pieces)
            if not process.is_running or (has_windows and (not is_left or ready == 1.0)):
                break
            time.sleep(POLL_S)
    finally:
        if process is not None:
            process.close()
        cache.close()
        semantics.close()
        index.close()
    return {
        "pieces": pieces,
        "ready": round(ready, 4),
        "duration_ms": int((time.monotonic() - started_s) * 1000),
    }


def told_of_waiting(state: Mapping[str, Any]) -> str:
    """Return what `wait_for_vectors` returned as a line of text."""
    ready = round(state["ready"] * state["pieces"])
    failed = "" if state["ready"] == 1.0 else "; logs/cli.log in the state folder says why not all"
    return f"vectors: {ready} of {state['pieces']} pieces, {state['duration_ms']} ms{failed}\n"
