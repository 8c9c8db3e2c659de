"""Chooses the few files that may declare the closed set which is asked for.

They are found by the names of symbols, and by the words of options in the full text.
At most `MAX_FILES` are parsed for one question, however large the repository is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.files.words import index_terms, split_identifier, stem
from runtime.codebase.index.reader import IndexReader
from runtime.codebase.index.records import SymbolRecord
from runtime.codebase.search.choices.asked_choices import AskedChoices

# Kinds of files whose sets are those of the program.
DECLARING = frozenset({"source", "declaration"})
MAX_FILES = 12
MAX_BY_NAME = 8
MAX_BY_OPTION = 6
MAX_SYMBOLS = 1_500
MAX_CHUNKS = 60
LEAST_TERM_CHARS = 3
# Kinds of symbols that may be a closed set, or have its name.
SET_KINDS = ("class", "constant", "enum", "field", "interface", "object", "property", "struct", "type", "variable")
_OF_PURPOSE = frozenset({"enum", "type", "class", "constant"})
_LISTS = " OR ".join(
    f'"{term}"' for term in index_terms("choices choice possible_values value_parser literal one").split()
)
_WORD = re.compile(r"\w+")


def files_for(index: IndexReader, asked: AskedChoices) -> list[str]:
    """Return the source files that may declare the set, the likeliest first."""
    if asked.option:
        terms = [stem(part) for part in split_identifier(asked.option)]
        return list(dict.fromkeys([*_with_words(index, terms, _LISTS), *_with_words(index, terms)]))[:MAX_FILES]
    by_name = list(dict.fromkeys(_by_name(index, asked)))[:MAX_BY_NAME]
    by_option = list(dict.fromkeys(_with_words(index, asked.terms, _LISTS)))[:MAX_BY_OPTION]
    return list(dict.fromkeys([*by_name, *by_option]))[:MAX_FILES]


def _by_name(index: IndexReader, asked: AskedChoices) -> Iterator[str]:
    found: dict[int, SymbolRecord] = {}
    marks = ", ".join("?" * len(SET_KINDS))
    for term in asked.terms:
        if len(term) >= LEAST_TERM_CHARS and term.isalnum():
            where = f"s.kind IN ({marks}) AND s.name LIKE ?"
            found |= {
                one.id: one for one in index.symbols(where, (*SET_KINDS, f"%{term.removesuffix('y')}%"), MAX_SYMBOLS)
            }
    worth = {one.id: _worth(one, asked) for one in found.values()}
    kept = [one for one in found.values() if worth[one.id] > 0 and kind_of_path(one.file) in DECLARING]
    kept.sort(key=lambda one: (-worth[one.id], one.file, one.start_line))
    yield from (one.file for one in kept)


def _worth(symbol: SymbolRecord, asked: AskedChoices) -> float:
    """Return how likely a symbol is the set, by the words of its name, its owner and its documentation."""
    name = {stem(part) for part in split_identifier(symbol.name)} | {"".join(split_identifier(symbol.name))}
    named = len(name & set(asked.terms))
    if not named:
        return 0.0
    around = set(index_terms(f"{symbol.owner} {symbol.file} {symbol.docstring}").split())
    precision = named / max(1, len(name - asked.beside))
    return named + 0.5 * len((around - name) & set(asked.terms)) + precision + 0.3 * (symbol.kind in _OF_PURPOSE)


def _with_words(index: IndexReader, terms: list[str] | tuple[str, ...], besides: str = "") -> Iterator[str]:
    """Yield the files of the chunks whose code has all of the terms, and one of some words besides."""
    plain = [term for term in terms if _WORD.fullmatch(term)]
    if not plain:
        return
    match = " AND ".join(f'"{term}"' for term in plain) + (f" AND ({besides})" if besides else "")
    sql = f"""SELECT f.path FROM
        (SELECT rowid, bm25(chunk_text) AS score FROM chunk_text WHERE chunk_text MATCH ? ORDER BY score
         LIMIT {MAX_CHUNKS}) t JOIN chunks c ON c.id = t.rowid JOIN files f ON f.id = c.file_id ORDER BY t.score"""
    for (path,) in index.rows(sql, (f"body : ({match})",)):
        if kind_of_path(path) in DECLARING:
            yield path
