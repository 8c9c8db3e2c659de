"""Links names to definitions, references, callers and importers, by evidence in the index.

Nothing is executed and no types are inferred. If several definitions share a name, the likeliest come first: those in
the same class or file, then those in files that the caller imports, then a definition that is the only one.
"""

from __future__ import annotations

import functools
import posixpath
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.files.source_text import ReadSource, SourceText
from runtime.codebase.files.words import index_terms, looks_like_identifier
from runtime.codebase.index.reader import IndexReader
from runtime.codebase.index.records import ImportRecord, ReferenceRecord, SymbolRecord, around
from runtime.codebase.language_registry import language_at
from runtime.codebase.parsing.syntax import CALLABLE_KINDS, CONTAINER_KINDS
from runtime.codebase.resolution.code_words import lines_in_code
from runtime.codebase.resolution.named_namespaces import NamedNamespace
from runtime.codebase.resolution.proven_calls import CallProofs
from runtime.codebase.resolution.proven_links import MAX_CALLS, callers
from runtime.codebase.resolution.python_scopes import AnyMeaning, Meaning, brings
from runtime.codebase.resolution.python_uses import lines_with
from runtime.primitives.dotted_names import last_part

MAX_MENTION_FILES = 200
MAX_OWNERS = 500

_KIND_ORDER: dict[str, int] = {
    **dict.fromkeys(CONTAINER_KINDS, 0),
    **dict.fromkeys(CALLABLE_KINDS, 0),
    "module": 2,
    "prototype": 2,
    "section": 4,
    "key": 4,
}
_OTHER_KIND_ORDER = 1
_NAME_NOISE = re.compile(r"\(.*\)$|[`'\"\s]")
# As a heading or a sentence of its own; «deprecated names» are not meant.
_DEPRECATED = re.compile(r"(?:^|\n|[.@]\s*)\W{0,4}deprecated\b(?!\s+\w+s\b)", re.IGNORECASE)
_SEPARATORS = re.compile(r"::|#|->|/")


def normal_name(name: str) -> str:
    """Normalise a symbol name as people write it to the form of the index: dots between parts, no call brackets."""
    return _SEPARATORS.sub(".", _NAME_NOISE.sub("", name.strip())).strip(".")


def dotted_path(path: str) -> str:
    """Return a file's path as a module name: `pkg/app.py` is `pkg.app`, `pkg/__init__.py` is `pkg`."""
    base = posixpath.splitext(path)[0]
    return base.removesuffix("/__init__").removesuffix("/index").replace("/", ".")


def names_borne(index: IndexReader, words: Sequence[str]) -> list[str]:
    """Return those of some words that a type or callable of the source bears, spelt alike."""
    kinds = CONTAINER_KINDS | CALLABLE_KINDS
    return [
        word
        for word in words
        if any(
            one.name == word and one.kind in kinds and kind_of_path(one.file) == "source"
            for one in index.symbols_of_name(word)
        )
    ]


def symbols_named(index: IndexReader, name: str, *, fuzzy: bool, limit: int) -> list[SymbolRecord]:
    """Find definitions of a simple or dotted name, best first.

    Of namesakes those lead that are not deprecated, then those that most source files import, then those whose class is
    named most often.
    """
    wanted = normal_name(name)
    last = last_part(wanted)
    if not last:
        return []
    same_last = index.symbols_of_name(last)
    exact = [symbol for symbol in same_last if _means(symbol, wanted)]
    if len(exact) > 1:
        importers, mentions = _importers(index, last), _mentions_of_owners(index, exact)
        exact.sort(key=lambda one: _order(one, last, importers[one.file], mentions.get(last_part(one.owner), 0)))
    if not fuzzy or len(exact) >= limit:
        return exact[:limit]
    pattern = "%" + last.replace("\\", "\\\\").replace("%", r"\%").replace("_", r"\_") + "%"
    partial = index.symbols("s.name LIKE ? ESCAPE '\\' AND s.kind NOT IN ('key', 'section')", (pattern,), 5000)
    seen = {symbol.id for symbol in exact}
    rest = [symbol for symbol in (*same_last, *partial) if symbol.id not in seen]
    rest = list({symbol.id: symbol for symbol in rest}.values())
    rest.sort(key=lambda symbol: (len(symbol.name) - len(last), *_order(symbol, last)))
    return [*exact, *rest][:limit]


def _means(symbol: SymbolRecord, wanted: str) -> bool:
    if "." not in wanted:
        return True
    full = f".{dotted_path(symbol.file)}.{symbol.qualified_name}".lower()
    if symbol.kind == "module":
        full = f".{dotted_path(symbol.file)}".lower()
    return full.endswith("." + wanted.lower())


def _importers(index: IndexReader, name: str) -> Counter[str]:
    """Count the source files that import a name from each file."""
    found = {(record.file, record.target) for record in index.imports("i.name = ?", (name,)) if record.target}
    return Counter(target for file, target in found if target and kind_of_path(file) == "source")


def _mentions_of_owners(index: IndexReader, symbols: Sequence[SymbolRecord]) -> dict[str, int]:
    """Count how often the class or function around each symbol is named."""
    owners = sorted({last_part(symbol.owner) for symbol in symbols if symbol.owner})[:MAX_OWNERS]
    marks = ", ".join("?" * len(owners))
    return dict(index.rows(f"SELECT name, count(*) FROM refs WHERE name IN ({marks}) GROUP BY name", owners))


def _order(
    symbol: SymbolRecord, last: str, importers: int = 0, mentions: int = 0
) -> tuple[int, int, int, bool, int, int, int, str, int]:
    return (
        int(symbol.name != last),
        int(kind_of_path(symbol.file) != "source"),
        _KIND_ORDER.get(symbol.kind, _OTHER_KIND_ORDER),
        _DEPRECATED.search(symbol.docstring) is not None,
        symbol.qualified_name.count("."),
        -importers,
        -mentions,
        symbol.file,
        symbol.start_line,
    )


def references(
    index: IndexReader, read: ReadSource, proofs: CallProofs, name: str | SymbolRecord, limit: int
) -> list[ReferenceRecord]:
    """Find uses recorded by the parsers, then other mentions in code; source files before tests and the like.

    For a definition, only calls that are proven to mean it are returned; for one in Python, only other uses that
    scopes, imports and known classes allow to mean it.
    """
    symbol = name if isinstance(name, SymbolRecord) else None
    last = symbol.name if symbol is not None else last_part(normal_name(str(name)))
    if not last:
        return []
    meaning: Meaning | AnyMeaning = AnyMeaning(index, read, last)
    if symbol is not None and language_at(symbol.file).is_scoped:
        meaning = Meaning(index, read, symbol)
    found = index.references("r.name = ?", (last,))
    unproven: set[tuple[str, int]] = set()
    if symbol is not None:
        calls = callers(index, proofs, symbol, MAX_CALLS).calls
        proven = {(call.file, call.line) for call in calls}
        unproven = {(use.file, use.line) for use in found if use.kind in ("call", "decorator")} - proven
        found = [use for use in found if use.kind not in ("call", "decorator")] + calls
    found += [
        ReferenceRecord(item.file, item.line, last, "import", item.module)
        for item in index.imports("i.name = ? OR i.module = ? OR i.module LIKE ?", (last, last, f"%.{last}"))
    ]
    taken = {(item.file, item.line) for item in found} | unproven
    taken.update((other.file, other.name_line) for other in index.symbols_of_name(last) if other.name == last)
    if symbol is not None and symbol.kind in CALLABLE_KINDS:
        # A definition does not use itself, but for the calls that are proven.
        taken.update((symbol.file, line) for line in range(symbol.start_line, symbol.end_line + 1))
    namespace = NamedNamespace(index, read, symbol)
    found = [use for use in found if use.proof or use.kind == "import" or namespace.allows(use)]
    found += _mentions(index, read, last, taken, meaning, limit, namespace)
    found.sort(key=lambda item: (kind_of_path(item.file) != "source", item.kind == "reference", item.file, item.line))
    unique = {(item.file, item.line): item for item in reversed(found)}
    once = (item for item in found if unique.get((item.file, item.line)) is item)
    return _with_tests([item for item in once if item.proof or meaning.includes(item)], limit)


def _with_tests(found: Sequence[ReferenceRecord], limit: int) -> list[ReferenceRecord]:
    """Return the first references, at most `limit`, with up to a quarter reserved for tests.

    Tests whose file name contains the name come first.
    """
    if len(found) <= limit:
        return list(found)
    tests = [item for item in found if kind_of_path(item.file) == "test"]
    tests.sort(key=lambda item: item.name.lower() not in posixpath.basename(item.file).lower())
    others = [item for item in found if kind_of_path(item.file) != "test"]
    room = max(limit - len(tests), limit - max(1, limit // 4))
    return [*others[:room], *tests[: limit - len(others[:room])]]


def _mentions(
    index: IndexReader,
    read: ReadSource,
    name: str,
    taken: set[tuple[str, int]],
    meaning: Meaning | AnyMeaning,
    limit: int,
    namespace: NamedNamespace,
) -> list[ReferenceRecord]:
    term = index_terms(name).partition(" ")[0]
    if not term:
        return []
    mentions: list[ReferenceRecord] = []
    paths = index.files_with_term(term, MAX_MENTION_FILES)
    for path in sorted(paths, key=lambda path: (kind_of_path(path) != "source", path)):
        if len(mentions) >= limit:
            break
        if kind_of_path(path) == "source" and len(mentions) >= limit - limit // 4:
            continue
        source = None if language_at(path).role != "code" else read(path)
        if source is None or name not in source.text:
            continue
        is_scoped = language_at(path).is_scoped
        if is_scoped and all((path, line) in taken for line in lines_with(source.text, name)):
            continue
        lines = sorted(meaning.uses.of(path, name) or ()) if is_scoped else _lines_like_code(source, name)
        lines = [line for line in lines if (path, line) not in taken]
        if not is_scoped:
            lines = lines_in_code(source, path, name, lines)
            lines = [line for line in lines if namespace.may_mean(path, source.lines[line - 1])]
        fresh = [line for line in lines if meaning.includes(_bare(path, line, name))]
        mentions += [_mention(index, path, line, name) for line in fresh[: limit - len(mentions)]]
    return mentions


def _bare(path: str, line: int, name: str) -> ReferenceRecord:
    return ReferenceRecord(path, line, name, "reference")


def _lines_like_code(source: SourceText, name: str) -> list[int]:
    word = re.compile(_shape(name))
    return [number for number, line in enumerate(source.lines, 1) if name in line and word.search(line)]


def _shape(name: str) -> str:
    """Return a pattern for uses of a name; a plain word counts only where it looks like code, not prose."""
    escaped = re.escape(name)
    if looks_like_identifier(name.strip("_")) or not name.islower():
        return rf"(?<!\w){escaped}(?!\w)"
    return rf"[.@`]{escaped}(?!\w)|(?<!\w){escaped}\s?(?:[(=\[]|\)$)"


def _mention(index: IndexReader, path: str, line: int, name: str) -> ReferenceRecord:
    where = "f.path = ? AND s.start_line <= ? AND s.end_line >= ? AND s.kind NOT IN ('module', 'key', 'section')"
    outer = around(index.symbols(where, (path, line, line)))
    inner = min(outer, key=lambda symbol: symbol.end_line - symbol.start_line, default=None)
    if inner is None:
        return ReferenceRecord(path, line, name, "reference")
    return ReferenceRecord(path, line, name, "reference", "", inner.qualified_name, inner.id)


def calls_of_name(index: IndexReader, name: str, limit: int) -> list[ReferenceRecord]:
    """Find all calls of a name, whatever they mean; source files first."""
    calls = _calls_of(index, last_part(normal_name(name)))
    calls.sort(key=lambda call: (kind_of_path(call.file) != "source", call.file, call.line))
    return calls[:limit]


def _calls_of(index: IndexReader, name: str) -> list[ReferenceRecord]:
    return index.references("r.name = ? AND r.kind IN ('call', 'decorator')", (name,))


def importers_of_symbol(index: IndexReader, symbol: SymbolRecord, limit: int) -> list[ImportRecord]:
    """Find imports of a definition by name, also through re-exporting files; if there are none, those of its module.

    Imports that only bring other names of that module are left out.
    """
    top = symbol.qualified_name.partition(".")[0]
    by_name = [item for item in importers(index, symbol.file, limit) if item.name in (symbol.name, top)]
    if language_at(symbol.file).is_scoped:
        head = replace(symbol, name=top, qualified_name=top)
        imports_of = functools.cache(lambda file: index.imports("f.path = ?", (file,)))
        named = index.imports("i.name = ? AND i.target IS NOT NULL", (top,), limit)
        direct = {(item.file, item.line) for item in by_name}
        by_name += [
            item
            for item in named
            if item.target is not None
            and (item.file, item.line) not in direct
            and brings(item.target, top, head, imports_of, 1)
        ]
    if by_name:
        return sorted(by_name, key=lambda item: (item.file, item.line))
    imports = importers(index, symbol.file, limit)
    return [item for item in imports if symbol.kind == "module" or is_of_whole_module(item, symbol)]


def is_of_whole_module(item: ImportRecord, symbol: SymbolRecord) -> bool:
    """Return whether an import brings the module of a definition, not one of the names in it."""
    if item.name in (symbol.name, symbol.qualified_name.partition(".")[0]):
        return symbol.kind == "module"
    folder, _, stem = posixpath.splitext(symbol.file)[0].rpartition("/")
    return item.name in {"", "*", "default", "self", stem, posixpath.basename(folder)}


def importers(index: IndexReader, module_or_path: str, limit: int) -> list[ImportRecord]:
    """Find imports of a file, a folder or a module name, by file and line."""
    wanted = module_or_path.strip().strip("/").removeprefix("./")
    if index.file(wanted) is not None:
        folder = posixpath.dirname(wanted) or "."
        if language_at(wanted).imports_folders:
            return index.imports("i.target IN (?, ?)", (wanted, folder), limit)
        return index.imports("i.target = ?", (wanted,), limit)
    below = index.imports("i.target = ? OR substr(i.target, 1, ?) = ?", (wanted, len(wanted) + 1, wanted + "/"), limit)
    below = [item for item in below if not item.file.startswith(wanted + "/")]
    if below:
        return below
    where = "i.module = ? OR substr(i.module, 1, ?) = ? OR i.module || '.' || i.name = ?"
    return index.imports(where, (wanted, len(wanted) + 1, wanted + ".", wanted), limit)
