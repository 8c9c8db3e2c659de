"""Provides read-only access to a repository: its files, and their symbols and chunks in the index.

    codebase = Codebase.open(root, index_path)            after `index.writer.refresh(root, index_path)`
    codebase.files()                                      IndexedFile …
    codebase.read_lines("pkg/app.py", 10, 30)             lines as they are on disk now
    codebase.symbols_named("Flask.route")                 definitions; fuzzy=True for partial names
    codebase.symbols_in(path), symbol_at(path, line)
    codebase.references(name), callers(symbol), callees(symbol)
    codebase.importers(module_or_path), imports_of(path)
    codebase.search_text(pattern), search_chunks(question), passages(question)

Every path argument is resolved, links included, and must lead below the root: otherwise a RepositoryError is raised for
which `paths.is_denied` is True. A missing file raises a RepositoryError too. One object serves several threads.
(Over 400 lines: one class is all that tools and capabilities see of a repository.)
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from runtime.codebase.attempt_log import MAX_RETRIES
from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.files.paths import relative_to_root
from runtime.codebase.files.project_config import read_project_config
from runtime.codebase.files.source_reader import KEPT_BYTES, SourceReader
from runtime.codebase.files.source_text import ReadSource, SourceText
from runtime.codebase.files.walk import resolve_root, unmoved_root
from runtime.codebase.git.head import head_commit
from runtime.codebase.git.known_history import HistoryMemory
from runtime.codebase.index.reader import IndexReader
from runtime.codebase.index.records import (
    Callee,
    CallsOf,
    ChunkHit,
    ImportRecord,
    IndexedFile,
    ReferenceRecord,
    SymbolRecord,
    around,
)
from runtime.codebase.index.rows import import_resolver
from runtime.codebase.index.state_memo import StateMemo
from runtime.codebase.index.unparsed_texts import UnparsedTexts
from runtime.codebase.knowledge.relation import Relation
from runtime.codebase.parsing.import_resolution import ImportResolver
from runtime.codebase.resolution import proven_links, symbol_links
from runtime.codebase.resolution.default_values.kept_values import KeptValues
from runtime.codebase.resolution.default_values.value_chains import ValueChain, ValueChains
from runtime.codebase.resolution.default_values.value_scopes import ValueScopes
from runtime.codebase.resolution.proven_calls import CallProofs
from runtime.codebase.search import ripgrep
from runtime.codebase.search.explained_order import ExplainedOrder, explained_order
from runtime.codebase.search.gathering import MAX_BY_WORDS
from runtime.codebase.search.likely_pieces import first_pieces
from runtime.codebase.search.prose.document_quotes import DocumentQuote, find_document_quotes
from runtime.codebase.search.prose.passages import Passage, find_passages
from runtime.codebase.search.ranking import rank_chunks
from runtime.codebase.search.second_reading import FULL, ReadingBudget
from runtime.codebase.search.text_search import FoundText, byte_filter, compile_pattern, files_listed, search_files
from runtime.codebase.search.values.asked_values import AskedValue, asked_values
from runtime.codebase.search.values.shown_literals import Piece, ShownLiteral, shown_literals
from runtime.codebase.search.values.shown_values import ShownLines, shown_values
from runtime.codebase.semantics.question_meaning import QuestionMeaning
from runtime.codebase.semantics.similarity import Semantics
from runtime.errors import RepositoryError

TEXT_SEARCH_TIMEOUT_S = 5.0


class FixedVectors(msgspec.Struct, frozen=True):
    """Fixes the vectors of a run: those up to the id `last`, and how many of all pieces have one of them."""

    last: int
    compared: int
    of: int


class Codebase:
    """Reads one repository and its index. Create it with `open`."""

    def __init__(
        self, root: Path, reader: IndexReader, *, allow_secrets: bool = False, semantics: Semantics | None = None
    ) -> None:
        self.root = root
        self.index = reader
        self.allow_secrets = allow_secrets
        self.semantics = semantics
        self.history = HistoryMemory()
        self.remembered: tuple[Relation, ...] | None = None
        self.max_retries = MAX_RETRIES
        self.by_words = MAX_BY_WORDS
        self.budget: ReadingBudget | None = FULL
        self._sources = SourceReader(root, on_new=UnparsedTexts(reader).heed)
        self._values = KeptValues()
        self._files = files = StateMemo(reader, lambda: tuple(reader.files()))
        self._file_links = StateMemo(reader, lambda: tuple(reader.file_links()))
        self._proofs = StateMemo(reader, lambda: CallProofs(reader, lambda: _resolver(root, files.value())))

    @classmethod
    def open(
        cls, root: Path, index_path: Path, *, allow_secrets: bool = False, semantics: Semantics | None = None
    ) -> Codebase:
        """Open the index of a repository. RepositoryError for the root, StateStorageError for the index.

        `semantics` may serve several codebases; its creator closes it. A project that wants no vectors has none.
        """
        reader = IndexReader(index_path)
        folder = resolve_root(root)
        if semantics is not None and read_project_config(folder).embedding_model == "none":
            semantics = None
        return cls(folder, reader, allow_secrets=allow_secrets, semantics=semantics)

    def remembering(self, relations: Sequence[Relation]) -> Codebase:
        """Return a copy, with shared index and texts, that also holds remembered relations of its symbols.

        Relations may be outdated: check that a relation's file is unchanged before using it.
        """
        other = copy.copy(self)
        other.remembered = tuple(relations)
        return other

    def retrying(self, max_retries: int) -> Codebase:
        """Return a copy whose tools make at most `max_retries` retries in a call, and never more than two."""
        other = copy.copy(self)
        other.max_retries = max_retries
        return other

    def reading_within(self, budget: ReadingBudget | None) -> Codebase:
        """Return a copy whose searches read the first pieces together with the question within a budget; None: not."""
        other = copy.copy(self)
        other.budget = budget
        return other

    def embed_likely(self, question: str, patience_s: float) -> None:
        """Have the pieces embedded that a question turns on, and all of few, as far as `patience_s` allows."""
        if self.semantics is not None and patience_s > 0 and self.semantics.ready(self.index) < 1:
            pieces = first_pieces(self.index, question)
            self.semantics.embed_first(question, pieces, self._lines, patience_s)

    def fixed_vectors(self, question: str) -> FixedVectors | None:
        """Return the vectors that all of a run compares a question with; None if words alone count."""
        if self.semantics is None:
            return None
        last = self.semantics.fix(self.index, question)
        return FixedVectors(last, *self.semantics.as_of(last).counted(self.index))

    def comparing(self, fixed: FixedVectors) -> Codebase:
        """Return a copy for which only the fixed vectors count, however many there are by now."""
        other = copy.copy(self)
        other.semantics = None if self.semantics is None else self.semantics.as_of(fixed.last)
        return other

    @property
    def tool_scope(self) -> str:
        """The scope in which tools that work on this object are judged: the repository."""
        return str(self.root)

    def portable(self) -> tuple[str, dict[str, Any], dict[str, Any]]:
        """Return how another process opens this codebase, as `PortableSubject` does; semantics are left out."""
        opened = {"root": str(self.root), "index_path": str(self.index.path), "allow_secrets": self.allow_secrets}
        remembered = None if self.remembered is None else msgspec.to_builtins(self.remembered)
        return f"{__name__}:open_elsewhere", opened, {"remembered": remembered, "max_retries": self.max_retries}

    def viewed(self, remembered: list[dict[str, Any]] | None, max_retries: int) -> Codebase:
        """Return a copy with the relations and retries of `portable`."""
        other = self.retrying(max_retries)
        other.remembered = None if remembered is None else msgspec.convert(remembered, tuple[Relation, ...])
        return other

    def close(self) -> None:
        """Release the index file."""
        self.index.close()

    @property
    def commit(self) -> str | None:
        """The commit of the work tree; None if there is none or it cannot be read."""
        return head_commit(self.root)

    # Files

    def files(self) -> tuple[IndexedFile, ...]:
        """Return every file of the index by path, including skipped ones."""
        return self._files.value()

    def file(self, path: str) -> IndexedFile | None:
        """Return the index entry of the file at a path, or None."""
        return self.index.file(self.relative(path))

    def relative(self, path: str) -> str:
        """Return the path relative to the root, as in the index. A denied RepositoryError if it leads outside."""
        return relative_to_root(self.root, path)

    def source(self, path: str) -> SourceText:
        """Return text and hash of a file as it is on disk now. RepositoryError if it cannot be read as text."""
        return self._sources.source(path, allow_secrets=self.allow_secrets)

    def read_lines(self, path: str, start: int = 1, end: int | None = None) -> list[str]:
        """Return lines `start` to `end` (inclusive, clamped to the file), without line ends."""
        lines = self.source(path).lines
        return lines[max(start, 1) - 1 : len(lines) if end is None else max(end, 0)]

    def sha256(self, path: str) -> str:
        """Return the SHA-256 of the file's bytes as they are on disk now."""
        return self.source(path).sha256

    # Symbols

    def symbols_named(self, name: str, *, fuzzy: bool = False, limit: int = 100) -> list[SymbolRecord]:
        """Find definitions of a name: `f`, `Class.f`, `module.f`, `pkg.module.Class`; exact case first, then any case.

        With `fuzzy` also names that contain it.
        """
        return symbol_links.symbols_named(self.index, name, fuzzy=fuzzy, limit=limit)

    def symbols_of_kinds(self, kinds: Sequence[str], *, limit: int = 5000) -> list[SymbolRecord]:
        """Return symbols of the given kinds (function, class …), by file and line."""
        return self.index.symbols(f"s.kind IN ({', '.join('?' * len(kinds))})", tuple(kinds), limit)

    def symbols_beginning(self, name: str, *, limit: int = 5000) -> list[SymbolRecord]:
        """Return symbols whose simple names begin so, spelt alike and no shorter, by file and line."""
        where = "substr(s.name, 1, ?) = ? AND length(s.name) > ?"
        return self.index.symbols(where, (len(name), name, len(name)), limit)

    def symbols_in(self, path: str, *, limit: int = 5000) -> list[SymbolRecord]:
        """Return the symbols of one file, by line."""
        return self.index.symbols("f.path = ?", (self.relative(path),), limit)

    def symbol_at(self, path: str, line: int) -> SymbolRecord | None:
        """Return the innermost definition around a line; modules and keys do not count."""
        where = "f.path = ? AND s.start_line <= ? AND s.end_line >= ? AND s.kind NOT IN ('module', 'key')"
        found = around(self.index.symbols(where, (self.relative(path), line, line)))
        return min(found, key=lambda symbol: (symbol.end_line - symbol.start_line, -symbol.start_line), default=None)

    # Links between symbols and files

    @property
    def proofs(self) -> CallProofs:
        """The proofs of what calls mean, for the present state of the index."""
        return self._proofs.value()

    def references(self, name: str | SymbolRecord, *, limit: int = 200) -> list[ReferenceRecord]:
        """Find uses of a simple name or a definition: calls, bases, decorators, imports, any other mention in code."""
        return symbol_links.references(self.index, self.try_source, self.proofs, name, limit)

    def callers(self, symbol: SymbolRecord | str, *, limit: int = 200) -> list[ReferenceRecord]:
        """Find calls that are proven to mean a definition; for a mere name, all calls of that name."""
        if isinstance(symbol, str):
            return symbol_links.calls_of_name(self.index, symbol, limit)
        return self.calls_of(symbol, limit=limit).calls

    def calls_of(self, symbol: SymbolRecord, *, limit: int = 200) -> CallsOf:
        """Find calls that are proven to mean a definition, and count those that may mean it."""
        return proven_links.callers(self.index, self.proofs, symbol, limit)

    def callees(self, symbol: SymbolRecord, *, limit: int = 100) -> list[Callee]:
        """Return the calls inside a symbol in order, each with the definition that it is proven to mean."""
        return proven_links.callees(self.index, self.proofs, symbol, limit)

    def imports_of(self, path: str) -> list[ImportRecord]:
        """Return the imports of a file, by line."""
        return self.index.imports("f.path = ?", (self.relative(path),))

    def file_links(self) -> tuple[tuple[str, str, int], ...]:
        """Return (importing file, imported file or folder, line) of imports within the repository, each pair once."""
        return self._file_links.value()

    def importers(self, module_or_path: str, *, limit: int = 500) -> list[ImportRecord]:
        """Find imports of a file, a folder or a module."""
        return symbol_links.importers(self.index, module_or_path, limit)

    def value_chains(self, name: str) -> list[ValueChain]:
        """Return the proofs of the values that a name has by default, or the places that set it, without values."""
        with self.proofs.reading() as store:
            scopes = ValueScopes(store, self._text, self._values)
            return ValueChains(scopes).of(name, scopes.files_with(name))

    def asked_values(
        self, question: str, places: Sequence[tuple[str, int, int]], names: Sequence[str] = ()
    ) -> list[AskedValue]:
        """Return the values that a question asks for, each with its proof; empty if it asks for none.

        `places`: the best places for the question as (file, first line, last line); `names`: what passages about it
        name.
        """

        def ranked(text: str) -> Sequence[tuple[str, int, int]]:
            if text == question:
                return places
            return [(hit.file, hit.start_line, hit.end_line) for hit in self.search_chunks(text, len(places) or 1)]

        with self.proofs.reading() as store:
            scopes = ValueScopes(store, self._text, self._values)
            return asked_values(self.index, scopes, self.try_source, question, ranked, names)

    def shown_values(self, places: Sequence[ShownLines]) -> list[list[ValueChain]]:
        """Return for each place the proven quantities of the constants in its lines, at most two."""
        with self.proofs.reading() as store:
            return shown_values(ValueScopes(store, self._text, self._values), places)

    def shown_literals(
        self, question: str, weights: Mapping[str, float], places: Sequence[Piece]
    ) -> list[list[ShownLiteral]]:
        """Return for each place the literals that tell a value which a question asks for, at most three."""
        with self.proofs.reading() as store:
            return shown_literals(ValueScopes(store, self._text, self._values), self._text, question, weights, places)

    def _lines(self, path: str) -> Sequence[str] | None:
        source = self.try_source(path)
        return None if source is None else source.lines

    def _text(self, path: str) -> str | None:
        source = self.try_source(path)
        return None if source is None else source.text

    # Search

    def search_text(
        self,
        pattern: str,
        *,
        regex: bool = False,
        case_sensitive: bool = True,
        max_hits: int = 50,
        scope: str | None = None,
        timeout_s: float = TEXT_SEARCH_TIMEOUT_S,
        endings: tuple[str, ...] = (),
        read: ReadSource | None = None,
    ) -> FoundText:
        """Find lines with a string or regular expression, source files first; after `timeout_s`, those found so far.

        `scope` is a file or folder; `endings` are those of the names of files to search. `read`: what `texts_of_call`
        has returned, for several searches of one call. ToolArgumentsError for a pattern that cannot be used.
        """
        compiled = compile_pattern(pattern, regex=regex, case_sensitive=case_sensitive)
        files = [file for file in self._readable(scope) if not endings or file.path.endswith(endings)]
        literal = compiled.required.selecting(sum(file.size for file in files), KEPT_BYTES)
        listed = files_listed(self.root, literal, case_sensitive=case_sensitive, rg=ripgrep.program())
        # What is listed is put in order, and not all files of a large repository.
        paths = [file.path for file in files if listed is None or file.path in listed]
        paths.sort(key=lambda path: (kind_of_path(path) != "source", path))
        may_have = byte_filter(self.root, literal if listed is None else "", case_sensitive=case_sensitive)
        deadline_s = time.monotonic() + timeout_s
        read = read or self.texts_of_call()
        return search_files(compiled, paths, read, may_have=may_have, max_hits=max_hits, deadline_s=deadline_s)

    def texts_of_call(self) -> ReadSource:
        """Return a function that reads each text once as it is on disk now, for searches within one call."""
        return self._sources.of_call(allow_secrets=self.allow_secrets)

    def search_chunks(
        self,
        query: str,
        limit: int = 20,
        *,
        scope: str | None = None,
        join: bool = False,
        wait: bool = False,
        meanwhile: Callable[[], object] | None = None,
    ) -> list[ChunkHit]:
        """Find chunks that match a question by words, identifiers or meaning, best first.

        With `join`, neighbouring chunks become one, up to 80 lines. Meaning counts where there are vectors; with `wait`
        the first 60 get theirs first. Where words find too few, those that are near in meaning follow. `meanwhile` is
        called, perhaps twice or not at all, while pieces are read together with the question.
        """
        within = None if scope in (None, ".") else self.relative(scope or ".")
        meaning, most = self._compared(query, wait=wait, meanwhile=meanwhile), self.by_words
        read = self.try_source
        return rank_chunks(
            self.index,
            query,
            limit,
            scope=within,
            meaning=meaning,
            join=join,
            by_words=most,
            read=read,
            budget=self.budget,
        )

    def explained_order(self, query: str) -> ExplainedOrder:
        """Return what each feature added to the scores by which `search_chunks` orders the pieces for a question."""
        return explained_order(self.index, query, self._compared(query, wait=False), self.try_source)

    def passages(self, question: str, limit: int = 10, *, wait: bool = False) -> list[Passage]:
        """Find passages of documents, documentation strings and comments that speak of a question, best first.

        Meaning counts where vectors are there; with `wait`, a slow embedder is waited for.
        """
        meaning = self._compared(question, wait=wait)
        near = None if meaning is None else meaning.near_passages
        return find_passages(self.index, self.try_source, question, limit, near)

    def document_quotes(self, question: str, *, wait: bool = False) -> list[DocumentQuote]:
        """Find the sentences of at most two passages of documents that answer a question best; `wait` as above.

        Each has the probability that it answers, the best first.
        """
        meaning = self._compared(question, wait=wait)
        near = None if meaning is None else meaning.near_passages
        return find_document_quotes(self.index, self.try_source, question, near)

    def _compared(
        self, question: str, *, wait: bool, meanwhile: Callable[[], object] | None = None
    ) -> QuestionMeaning | None:
        if self.semantics is None:
            return None
        return QuestionMeaning(self.semantics, self.index, self.try_source, question, wait=wait, meanwhile=meanwhile)

    @property
    def meaning(self) -> float | None:
        """The share of the pieces whose meaning can be compared with a question, 0 to 1; None if words alone count."""
        return None if self.semantics is None else round(self.semantics.ready(self.index), 4)

    def readable_paths(self, scope: str | None = None) -> list[str]:
        """Return the paths of readable files; `scope` limits them to a file or folder."""
        return [file.path for file in self._readable(scope)]

    def _readable(self, scope: str | None) -> list[IndexedFile]:
        within = "." if scope is None else self.relative(scope)
        return [
            file
            for file in self.files()
            if file.is_readable and (within == "." or file.path == within or file.path.startswith(within + "/"))
        ]

    def try_source(self, path: str) -> SourceText | None:
        """Return the text as `source` does; None if the file is missing or cannot be read."""
        try:
            return self.source(path)
        except RepositoryError:
            return None


def _resolver(root: Path, files: Sequence[IndexedFile]) -> ImportResolver:
    paths = [file.path for file in files if file.is_readable]
    return import_resolver(root, paths)


def open_elsewhere(root: str, index_path: str, allow_secrets: bool) -> Codebase:
    """Open the codebase that `Codebase.portable` describes."""
    return Codebase.open(unmoved_root(Path(root)), Path(index_path), allow_secrets=allow_secrets)
