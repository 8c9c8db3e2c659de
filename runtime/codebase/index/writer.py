"""Brings an index file up to date with its repository; the only writer of an index.

    stats = refresh(root, index_path, IndexOptions(), on_progress)

Only files whose size or time changed are read, and only those whose content changed are parsed; a synchronisation reads
all files and compares their SHA-256. Everything happens in one transaction, so that readers see the index either before
or after a refresh. Writers of the same index wait for one another. The repository is only read.
"""

from __future__ import annotations

import dataclasses
import errno
import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from runtime.codebase.files.file_entry import FileEntry, SkipReason
from runtime.codebase.files.project_config import ProjectConfig, read_project_config
from runtime.codebase.files.regular_file import NotRegularError, TooLargeError, read_below
from runtime.codebase.files.source_text import SourceText, from_bytes, is_binary
from runtime.codebase.files.walk import Walk, WalkOptions, resolve_root, walk
from runtime.codebase.index import rows, seal, tables
from runtime.codebase.index.lock import OnWait, await_other_programs, ignore_wait, writer_lock
from runtime.codebase.index.parsing_processes import ParsingProcesses
from runtime.codebase.index.refresh_memory import LastRefresh, RefreshMemory, RepositoryMemory, index_state
from runtime.codebase.index.stats import FileChanges, IndexStats, collect_stats, skipped_counts
from runtime.codebase.index.vector_store_kind import VectorStoreKind
from runtime.codebase.language_registry import languages_digest
from runtime.codebase.term_meaning.table_file import term_vectors_mark
from runtime.database.set_aside import set_aside
from runtime.errors import RepositoryError, StateStorageError

# A file changed again within this time of the last refresh may keep its size and time, so its content is compared.
_RACY_NS = 50_000_000
_HOUR_NS = 3_600_000_000_000

_SKIPPED_FOR: dict[type[OSError], SkipReason] = {NotRegularError: "not_a_file", TooLargeError: "too_large"}

Progress = Callable[[int, int], None]
# Whether every file is compared by its content: never, when the last time is too long ago by the project's
# configuration, also at the start of a server if it says so, or now; `anew` makes the whole index again.
Sync = Literal["never", "due", "start", "now", "anew"]


@dataclass(frozen=True, slots=True)
class IndexOptions:
    """Configures the index; `max_index_pages` caps the index file, 4096 bytes a page (None: no cap).

    `timeout_s` and `memory_bytes` bound the process in which `IndexService` refreshes. `embeds`: pieces get vectors.
    `vector_store`: where they are looked up.
    """

    walk: WalkOptions = field(default_factory=WalkOptions)
    max_index_pages: int | None = None
    timeout_s: float = 600.0
    memory_bytes: int = 4_000_000_000
    embeds: bool = False
    vector_store: VectorStoreKind = "sqlite"


def refresh(
    root: Path,
    index_path: Path,
    options: IndexOptions = IndexOptions(),
    on_progress: Progress | None = None,
    on_wait: OnWait = ignore_wait,
    *,
    sync: Sync = "never",
    memory: RefreshMemory | None = None,
    processes: int = 0,
    is_suspect: bool = False,
) -> IndexStats:
    """Bring the index at `index_path` up to date with the files under `root`, and return statistics.

    `on_progress(done, total)` counts the files examined, `on_wait` gets a sentence when a lock is waited for for long.
    So many `processes` beside this one, which must have no other threads then, parse where there is much to parse;
    all files if one of them `is_suspect` of ending the process that parses it.
    RepositoryError if the root or its configuration cannot be used, or if it holds no text;
    StateStorageError if the index cannot be written; it then stays as it was.
    """
    started = time.monotonic()
    root = resolve_root(root)
    project = read_project_config(root)
    options = _narrowed(options, project)
    kept = RepositoryMemory() if memory is None else memory.of(root, index_path, options)
    plan = _Plan(options, project, sync, on_progress or _no_progress, started, kept, processes, is_suspect)
    unchanged = _without_changes(root, index_path, plan)
    if unchanged is not None:
        return unchanged
    try:
        index_path.parent.mkdir(parents=True, exist_ok=True)
        with writer_lock(index_path, on_wait=on_wait):
            await_other_programs(index_path, on_wait)
            return _refresh_or_rebuild(root, index_path, plan)
    except sqlite3.Error as error:
        raise _storage_error(index_path, error) from error
    except OSError as error:
        raise _storage_error(index_path, error) from error


def _no_progress(_done: int, _total: int) -> None:
    return None


@dataclass(frozen=True, slots=True)
class _Plan:
    """Holds what one refresh is asked for."""

    options: IndexOptions
    project: ProjectConfig
    sync: Sync
    on_progress: Progress
    started: float
    kept: RepositoryMemory
    processes: int
    is_suspect: bool

    def compares_all(self, compared_ns: int, now_ns: int) -> bool:
        """Return whether every file is to be compared by content, as it was last at `compared_ns`, 0 for never."""
        is_due = now_ns - compared_ns >= self.project.sync_ttl_hours * _HOUR_NS
        starts = self.sync == "start" and (self.project.sync_on_start or is_due)
        return self.sync == "now" or starts or (self.sync == "due" and is_due)


def _without_changes(root: Path, index_path: Path, plan: _Plan) -> IndexStats | None:
    """Return the statistics of a refresh that has nothing to do, as far as this process remembers; else None."""
    last = plan.kept.last
    if last is None or plan.sync == "anew" or plan.compares_all(last.compared_ns, time.time_ns()):
        return None
    state = index_state(index_path)
    found = _found(root, index_path, plan)
    if not last.holds(found, plan.project, state):
        return None
    plan.on_progress(len(found.entries), len(found.entries))
    return last.again(found, int((time.monotonic() - plan.started) * 1000))


def _found(root: Path, index_path: Path, plan: _Plan) -> Walk:
    """Return the files of a repository, without those of its index if that lies within."""
    found = walk(root, plan.options.walk, plan.kept.folders)
    index_name = _relative_name(root, index_path)
    if index_name is None:
        return found
    return Walk(tuple(each for each in found.entries if not each.path.startswith(index_name)), found.notes)


def _narrowed(options: IndexOptions, project: ProjectConfig) -> IndexOptions:
    """Return options by which no more is read than a project wants to be read of it."""
    excludes = (*options.walk.excludes, *project.exclude_patterns)
    walked = dataclasses.replace(options.walk, excludes=excludes, folders=project.source_dirs)
    return dataclasses.replace(options, walk=walked)


def _refresh_or_rebuild(root: Path, index_path: Path, plan: _Plan) -> IndexStats:
    is_new = not os.path.lexists(index_path)
    try:
        seal.check(index_path)
        if not is_new and (plan.sync == "anew" or not _is_current(index_path, root, plan.project)):
            _remove(index_path)
        refreshed = _refresh(root, index_path, plan)
    except BaseException as error:
        if is_new:
            _remove(index_path)
        if is_new or not seal.can_be_rebuilt(error):
            raise
        set_aside(index_path, str(error))
        refreshed = _refresh(root, index_path, plan)
    seal.seal(index_path)
    left = index_state(index_path)
    if refreshed.is_settled and left is not None:
        plan.kept.keep(LastRefresh(plan.project, refreshed.found, left, refreshed.compared_ns, refreshed.stats))
    return refreshed.stats


def _is_current(index_path: Path, root: Path, project: ProjectConfig) -> bool:
    with closing(tables.connect_writer(index_path)) as connection:
        if tables.schema_version(connection) != tables.SCHEMA_VERSION:
            return False
        if (tables.read_meta(connection, "chunking") or "") != project.chunking:
            return False
        if tables.read_meta(connection, "term_vectors") != term_vectors_mark():
            return False
        made_with = tables.read_meta(connection, "languages")
        return tables.read_meta(connection, "root") == str(root) and made_with == languages_digest()


def _remove(index_path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        index_path.with_name(index_path.name + suffix).unlink(missing_ok=True)


class _Refreshed(NamedTuple):
    """Holds what a refresh found; `is_settled`: the status of each file would show that it has changed since."""

    stats: IndexStats
    found: Walk
    compared_ns: int
    is_settled: bool


def _refresh(root: Path, index_path: Path, plan: _Plan) -> _Refreshed:
    with closing(tables.connect_writer(index_path, max_pages=plan.options.max_index_pages)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        try:
            if tables.schema_version(connection) == 0:
                tables.create_tables(connection)
                tables.write_meta(connection, "root", str(root))
                tables.write_meta(connection, "languages", languages_digest())
                tables.write_meta(connection, "chunking", plan.project.chunking)
                tables.write_meta(connection, "term_vectors", term_vectors_mark())
            beside = ParsingProcesses(plan.processes, plan.options.memory_bytes, is_suspect=plan.is_suspect)
            with closing(beside) as processes:
                refreshed = _Refresh(root, index_path, plan, connection).run(processes)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
    return refreshed


@dataclass(slots=True)
class _Changes:
    parsed_now: int = 0
    unchanged: int = 0
    removed: int = 0
    texts_added: int = 0
    texts_changed: int = 0
    texts_removed: int = 0
    paths_changed: bool = False
    changed_ids: list[int] = field(default_factory=list)


class _Refresh:
    """Makes one pass over the repository within an open transaction."""

    def __init__(self, root: Path, index_path: Path, plan: _Plan, connection: sqlite3.Connection) -> None:
        self._root = root
        self._index_path = index_path
        self._plan = plan
        self._options = plan.options
        self._connection = connection
        self._changes = _Changes()
        self._compares_all = False
        self._is_settled = True

    def run(self, processes: ParsingProcesses) -> _Refreshed:
        found = _found(self._root, self._index_path, self._plan)
        entries = found.entries
        if not entries:
            raise RepositoryError(
                f"{self._root} holds no files to read; give a folder with source", path=str(self._root)
            )
        known = rows.known_files(self._connection)
        last_ns = int(tables.read_meta(self._connection, "refreshed_ns") or 0)
        begun_ns = time.time_ns()
        compared_ns = int(tables.read_meta(self._connection, "compared_ns") or 0)
        self._compares_all = self._plan.compares_all(compared_ns, begun_ns)
        writer = rows.RowWriter(self._connection, self._plan.project, processes)
        self._is_settled = all(_is_settled(entry, begun_ns) for entry in entries)
        for done, entry in enumerate(entries, 1):
            self._visit(entry, known.pop(entry.path, None), writer, last_ns)
            self._plan.on_progress(done, len(entries))
        for row in known.values():
            self._remove(row, writer)
        writer.flush()
        self._require_text()
        self._resolve_imports(bool(known))
        tables.write_meta(self._connection, "refreshed_ns", str(begun_ns))
        # Without a row before, every file was read.
        if self._compares_all or not last_ns:
            compared_ns = begun_ns
            tables.write_meta(self._connection, "compared_ns", str(begun_ns))
        if self._changes.removed or self._changes.changed_ids:
            tables.write_meta(self._connection, "generation", str(begun_ns))
        return _Refreshed(self._stats(found.notes), found, compared_ns, self._is_settled)

    def _visit(self, entry: FileEntry, row: rows.KnownFile | None, writer: rows.RowWriter, last_ns: int) -> None:
        same_place = row is not None and row.size == entry.size and row.mtime_ns == entry.mtime_ns
        is_known = same_place and _is_settled(entry, last_ns) and not (self._compares_all and entry.skip_reason is None)
        if row is not None and is_known and row.skip_reason_by_walk == entry.skip_reason:
            self._changes.unchanged += 1
            return
        if entry.skip_reason is not None:
            self._replace(entry, row, writer, None, entry.skip_reason)
            return
        try:
            data = read_below(self._root, entry.path, self._options.walk.max_file_bytes)
        except FileNotFoundError:
            self._is_settled = False
            if row is not None:
                self._remove(row, writer)
            return
        except OSError as error:
            self._is_settled = False  # whether it may be read is no part of its status
            self._replace(entry, row, writer, None, _SKIPPED_FOR.get(type(error), "unreadable"))
            return
        self._take(entry, row, writer, data)

    def _take(self, entry: FileEntry, row: rows.KnownFile | None, writer: rows.RowWriter, data: bytes) -> None:
        if is_binary(data):
            self._replace(entry, row, writer, None, "binary")
            return
        source = from_bytes(data)
        if row is not None and row.sha256 == source.sha256:
            self._changes.unchanged += 1
            if (row.size, row.mtime_ns) != (entry.size, entry.mtime_ns):
                writer.touch(row.id, entry)
            return
        self._replace(entry, row, writer, source, "")
        self._changes.parsed_now += 1

    def _remove(self, row: rows.KnownFile, writer: rows.RowWriter) -> None:
        writer.remove(row.id)
        self._changes.removed += 1
        self._changes.texts_removed += row.has_text

    def _replace(
        self,
        entry: FileEntry,
        row: rows.KnownFile | None,
        writer: rows.RowWriter,
        source: SourceText | None,
        skip_reason: str,
    ) -> None:
        if row is not None and source is None and row.status == "skipped" and row.note == skip_reason:
            self._changes.unchanged += 1
            writer.touch(row.id, entry)
            return
        if row is not None:
            writer.remove(row.id)
        else:
            self._changes.paths_changed = True
        had_text, has_text = row is not None and row.has_text, source is not None
        self._changes.texts_added += has_text and not had_text
        self._changes.texts_changed += has_text and had_text
        self._changes.texts_removed += had_text and not has_text
        self._changes.changed_ids.append(writer.add(entry, source, skip_reason))

    def _require_text(self) -> None:
        (readable,) = self._connection.execute("SELECT count(*) FROM files WHERE status != 'skipped'").fetchone()
        if readable == 0:
            reasons = skipped_counts(self._connection)
            told = ", ".join(f"{count} {reason.replace('_', ' ')}" for reason, count in sorted(reasons.items()))
            raise RepositoryError(
                f"{self._root} holds no text that may be read ({told}); give a folder with source", path=str(self._root)
            )

    def _resolve_imports(self, paths_removed: bool) -> None:
        if not self._changes.changed_ids and not paths_removed:
            return
        paths = rows.readable_paths(self._connection)
        resolver = rows.import_resolver(self._root, paths)
        everything = self._changes.paths_changed or paths_removed
        rows.resolve_imports(self._connection, resolver, None if everything else self._changes.changed_ids)

    def _stats(self, notes: tuple[str, ...]) -> IndexStats:
        changes = self._changes
        return collect_stats(
            self._connection,
            parsed_now=changes.parsed_now,
            unchanged=changes.unchanged,
            removed=changes.removed,
            notes=notes,
            duration_ms=int((time.monotonic() - self._plan.started) * 1000),
            differs=FileChanges(changes.texts_added, changes.texts_changed, changes.texts_removed),
        )


def _is_settled(entry: FileEntry, refreshed_ns: int) -> bool:
    """Return whether a file that changes after a refresh gets another size or time than it had then."""
    return entry.skip_reason is not None or entry.mtime_ns + _RACY_NS < refreshed_ns


def _relative_name(root: Path, index_path: Path) -> str | None:
    """Return the index file's path relative to the root; None if it lies outside, as it should."""
    full = index_path.resolve()
    return full.relative_to(root).as_posix() if full.is_relative_to(root) else None


def _storage_error(index_path: Path, error: sqlite3.Error | OSError) -> StateStorageError:
    full = (isinstance(error, OSError) and error.errno == errno.ENOSPC) or "full" in str(error)
    cure = "free some room" if full else "check the folder and its permissions"
    return StateStorageError(
        f"the index {index_path} cannot be written: {error}; {cure}, or set another state_dir", path=str(index_path)
    )
