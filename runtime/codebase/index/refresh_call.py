"""Refreshes an index in a worker process: what `IndexService` has called there."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from runtime.codebase.files.project_config import read_project_config
from runtime.codebase.git.head import head_commit
from runtime.codebase.index.parsing_processes import processes_beside
from runtime.codebase.index.refresh_memory import RefreshMemory
from runtime.codebase.index.writer import IndexOptions, Sync, refresh

REFRESH = f"{__name__}:refresh_index"
_NOTE_EVERY_S = 0.05
# A worker process refreshes the same few repositories again and again.
_MEMORY = RefreshMemory()


def refresh_index(
    note: Callable[[tuple[int, int] | str], None],
    root: str,
    index_path: str,
    options: IndexOptions,
    sync: Sync = "never",
    *,
    is_suspect: bool = False,
) -> dict[str, Any]:
    """Bring an index up to date and return {commit, stats, embeds}; `embeds`: whether the project wants vectors.

    `note` gets the files done and in total now and then, or a sentence about the lock that is waited for.
    `is_suspect`: a file may have ended the process of the last refresh, so that others parse.
    """
    noted_s = 0.0

    def on_progress(done: int, total: int) -> None:
        nonlocal noted_s
        now_s = time.monotonic()
        if now_s - noted_s >= _NOTE_EVERY_S:
            noted_s = now_s
            note((done, total))

    stats = refresh(
        Path(root),
        Path(index_path),
        options,
        on_progress,
        note,
        sync=sync,
        memory=_MEMORY,
        processes=processes_beside(options.memory_bytes, is_suspect=is_suspect),
        is_suspect=is_suspect,
    )
    embeds = read_project_config(Path(root)).embedding_model != "none"
    return {"commit": head_commit(Path(root)), "stats": asdict(stats), "embeds": embeds}
