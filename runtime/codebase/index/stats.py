"""Collects the statistics of an index for the report of a refresh."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import NamedTuple

MAX_NAMED_SKIPS = 20
COVERAGE = ("parsed", "text", "failed", "unsupported", "empty")
_HOW_READ = "CASE WHEN lines = 0 THEN 'empty' ELSE status END"


class FileChanges(NamedTuple):
    """Counts the files with text that a refresh added to the index, changed in it, or removed from it."""

    added: int = 0
    changed: int = 0
    removed: int = 0


@dataclass(frozen=True, slots=True)
class IndexStats:
    """Reports the result of a refresh.

    `files`, `lines` and `by_language` (files of each) count what was read; `skipped` maps each reason to its count,
    `skipped_names` to the first 20 paths; `parsed_now`, `unchanged` and `removed` count files. `coverage` counts the
    files by how they were read: `parsed` with a grammar, `text` by line patterns, `failed` if a grammar could not read
    them, `unsupported` for an unknown kind, `empty` without a line; `coverage_names` has the first 20 paths of the
    last three. `files_added`, `files_changed` and `files_removed` count the files with text in which the index differs
    from what it was before.
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
    references: int
    imports: int
    coverage: dict[str, int]
    coverage_names: dict[str, tuple[str, ...]]
    files_added: int = 0
    files_changed: int = 0
    files_removed: int = 0


def collect_stats(
    connection: sqlite3.Connection,
    *,
    parsed_now: int,
    unchanged: int,
    removed: int,
    notes: tuple[str, ...],
    duration_ms: int,
    differs: FileChanges,
) -> IndexStats:
    """Return the statistics of an index together with those of the refresh that has just been made."""
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
        symbols=_count(connection, "symbols"),
        chunks=_count(connection, "chunks"),
        by_language=dict(by_language),
        notes=notes,
        duration_ms=duration_ms,
        references=_count(connection, "refs"),
        imports=_count(connection, "imports"),
        coverage=_coverage(connection),
        coverage_names=_coverage_names(connection),
        files_added=differs.added,
        files_changed=differs.changed,
        files_removed=differs.removed,
    )


def _count(connection: sqlite3.Connection, table: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def _coverage(connection: sqlite3.Connection) -> dict[str, int]:
    found = dict(
        connection.execute(f"SELECT {_HOW_READ}, count(*) FROM files WHERE status != 'skipped' GROUP BY 1 ORDER BY 1")
    )
    return {how: found.get(how, 0) for how in COVERAGE}


def _coverage_names(connection: sqlite3.Connection) -> dict[str, tuple[str, ...]]:
    names: dict[str, tuple[str, ...]] = {}
    for how in ("failed", "unsupported", "empty"):
        rows = connection.execute(
            f"SELECT path FROM files WHERE status != 'skipped' AND {_HOW_READ} = ? ORDER BY path LIMIT ?",
            (how, MAX_NAMED_SKIPS),
        )
        names[how] = tuple(path for (path,) in rows)
    return {how: paths for how, paths in names.items() if paths}


def skipped_counts(connection: sqlite3.Connection) -> dict[str, int]:
    """Return the number of skipped files, by reason."""
    return dict(
        connection.execute("SELECT note, count(*) FROM files WHERE status = 'skipped' GROUP BY note ORDER BY 1")
    )


def _skipped_names(connection: sqlite3.Connection) -> dict[str, tuple[str, ...]]:
    names: dict[str, list[str]] = {}
    for path, note in connection.execute("SELECT path, note FROM files WHERE status = 'skipped' ORDER BY path"):
        if len(names.setdefault(note, [])) < MAX_NAMED_SKIPS:
            names[note].append(path)
    return {note: tuple(paths) for note, paths in names.items()}
