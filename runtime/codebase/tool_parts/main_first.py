"""Orders files and definitions so that a list that is cut keeps the main ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.index.records import IndexedFile, SymbolRecord
from runtime.codebase.language_registry import all_words


def weights_of(files: Iterable[IndexedFile], links: Iterable[tuple[str, str, int]]) -> dict[str, int]:
    """Return file → its lines times one more than the files that import it; unreadable files weigh nothing.

    `links`: (importing file, imported file or folder, line), each pair once.
    """
    importers = Counter(target for source, target, _ in links if source != target)
    return {file.path: file.lines * (1 + importers[file.path]) if file.is_readable else 0 for file in files}


def heaviest_first(files: Iterable[IndexedFile], weights: Mapping[str, int], prefix: str) -> list[IndexedFile]:
    """Sort files: sources first, the one that represents the folder `prefix` leading, then the heaviest."""
    return sorted(
        files,
        key=lambda file: (
            kind_of_path(file.path) != "source",
            file.path.removeprefix(prefix) not in all_words("head_files"),
            -weights[file.path],
            file.path,
        ),
    )


def as_tree(files: Sequence[IndexedFile], weights: Mapping[str, int], prefix: str) -> list[IndexedFile]:
    """Sort files as a tree lists them, each folder in one piece: in every folder the heaviest files and folders first.

    A folder weighs as much as its files; one without sources comes after those that have some.
    """
    inside: dict[str, list[IndexedFile]] = {}
    for file in files:
        inside.setdefault(file.path.removeprefix(prefix).rpartition("/")[0], []).append(file)
    heavy: Counter[str] = Counter()
    with_sources: set[str] = set()
    below: dict[str, set[str]] = {}
    for folder, found in inside.items():
        weight = sum(weights[file.path] for file in found)
        has_sources = any(kind_of_path(file.path) == "source" for file in found)
        for place in folders_around(folder):
            heavy[place] += weight
            with_sources.update((place,) if has_sources else ())
            below.setdefault(place.rpartition("/")[0], set()).add(place)
    heads = all_words("head_files")

    def rank(item: str | IndexedFile) -> tuple[bool, bool, int, str]:
        if isinstance(item, str):
            return (item not in with_sources, _name(item) not in heads, -heavy[item], item)
        place = item.path.removeprefix(prefix)
        return (kind_of_path(item.path) != "source", _name(place) not in heads, -weights[item.path], place)

    ordered: list[IndexedFile] = []
    # The next one last.
    pending: list[str | IndexedFile] = [""]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            pending += sorted([*below.get(item, ()), *inside.get(item, ())], key=rank, reverse=True)
        else:
            ordered.append(item)
    return ordered


def folders_around(folder: str) -> list[str]:
    """Return a folder behind those that it lies in, outermost first; none for an empty name."""
    parts = folder.split("/") if folder else []
    return ["/".join(parts[:depth]) for depth in range(1, len(parts) + 1)]


def _name(place: str) -> str:
    return place.rpartition("/")[2]


def main_symbols(symbols: Sequence[SymbolRecord], limit: int) -> list[SymbolRecord]:
    """Keep at most `limit` definitions, in the order given: outer, public and long ones are kept first."""

    def rank(symbol: SymbolRecord) -> tuple[int, bool, int, int]:
        return (symbol.qualified_name.count("."), symbol.name.startswith("_"), -_lines(symbol), symbol.start_line)

    kept = {symbol.id for symbol in sorted(symbols, key=rank)[:limit]}
    return [symbol for symbol in symbols if symbol.id in kept]


def by_main_symbol(symbols: Sequence[SymbolRecord]) -> list[SymbolRecord]:
    """Sort definitions: the longest public top-level one first, each followed by what lies in it in order of lines."""
    tops: dict[str, SymbolRecord] = {}
    for symbol in symbols:
        tops.setdefault(symbol.qualified_name.partition(".")[0], symbol)

    def key(symbol: SymbolRecord) -> tuple[bool, int, int, int]:
        top = tops[symbol.qualified_name.partition(".")[0]]
        return (top.name.startswith("_"), -_lines(top), top.start_line, symbol.start_line)

    return sorted(symbols, key=key)


def _lines(symbol: SymbolRecord) -> int:
    return symbol.end_line - symbol.start_line + 1
