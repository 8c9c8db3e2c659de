"""What an index holds, in figures: the report of a refresh."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

MAX_NAMED_SKIPS = 20


@dataclass(frozen=True, slots=True)
class IndexStats:
    """What a refresh found and did.

    `files`, `lines` and `by_language` (files of each) speak of what was read; `skipped` maps each reason to its count,
    `skipped_names` to the first 20 paths; `parsed_now`, `unchanged` and `removed` count files.
    """

    files: int
    lines: int
    parsed_now: int
    unchanged: int
    removed: int
    skipped: dict[str, int]
    skipped_names: dict[str, tuple[str, ...]]
    symbols: int
    chunks: int
    by_language: dict[str, int]
    notes: tuple[str, ...]
    duration_ms: int


def collect_stats(
    connection: sqlite3.Connection,
    *,
    parsed_now: int,
    unchanged: int,
    removed: int,
    notes: tuple[str, ...],
    duration_ms: int,
) -> IndexStats:
    """The figures of an index together with those of the refresh that has just been made."""
    files, lines = connection.execute(
        "SELECT count(*), coalesce(sum(lines), 0) FROM files WHERE status != 'skipped'"
    ).fetchone()
    by_language = connection.execute(
        "SELECT coalesce(language, 'unknown'), count(*) FROM files WHERE status != 'skipped' "
        "GROUP BY 1 ORDER BY 2 DESC, 1"
    )
    return IndexStats(
        files=files,
        lines=lines,
        parsed_now=parsed_now,
        unchanged=unchanged,
        removed=removed,
        skipped=skipped_counts(connection),
        skipped_names=_skipped_names(connection),
        symbols=int(connection.execute("SELECT count(*) FROM symbols").fetchone()[0]),
        chunks=int(connection.execute("SELECT count(*) FROM chunks").fetchone()[0]),
        by_language=dict(by_language),
        notes=notes,
        duration_ms=duration_ms,
    )


def skipped_counts(connection: sqlite3.Connection) -> dict[str, int]:
    """How many files are skipped, by reason."""
    return dict(
        connection.execute("SELECT note, count(*) FROM files WHERE status = 'skipped' GROUP BY note ORDER BY 1")
    )


def _skipped_names(connection: sqlite3.Connection) -> dict[str, tuple[str, ...]]:
    names: dict[str, list[str]] = {}
    for path, note in connection.execute("SELECT path, note FROM files WHERE status = 'skipped' ORDER BY path"):
        if len(names.setdefault(note, [])) < MAX_NAMED_SKIPS:
            names[note].append(path)
    return {note: tuple(paths) for note, paths in names.items()}
