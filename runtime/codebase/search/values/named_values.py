"""Finds values by the words of their names: «maximum number of connections» finds `MAX_CONNECTIONS`.

Constants, variables, fields and attributes are not chunks of their own in the full text; their names are searched
instead. A word counts most in the name, less in its owner or file, least in its documentation or own lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.files.source_text import ReadSource
from runtime.codebase.files.words import index_terms, query_terms, split_identifier
from runtime.codebase.index.reader import IndexReader
from runtime.codebase.index.records import SymbolRecord
from runtime.codebase.search.query_expansion import other_words

VALUES: frozenset[str] = frozenset({"constant", "variable", "field", "attribute", "property"})
MAX_TERMS = 8
MAX_CANDIDATES = 1000
MAX_OWN_LINES = 40
MIN_TERM_CHARS = 3
OWNER_WEIGHT, OWN_LINES_WEIGHT, PRECISION_WEIGHT = 0.6, 0.4, 0.3
LEAST_SHARE = 0.5
ASIDE_FACTOR = 0.4
# Weight of words that name a kind of value («default», «number») rather than the thing itself.
OF_VALUES_WEIGHT = 0.3
_ASKING = frozenset(query_terms("configure configured configuration where").counts)
_OF_VALUES = frozenset(query_terms("default value number name option setting").counts)

# Terms that match a word of the question, each with its factor.
_Forms = dict[str, float]
_Wanted = Sequence[tuple[_Forms, float]]


def values_for(
    index: IndexReader, read: ReadSource, query: str, kinds: Iterable[str], limit: int
) -> list[tuple[SymbolRecord, float]]:
    """Return the named values that match a question, best first, each with its score.

    Each has a word of the question in its name. Empty for a question without words.
    """
    terms = [term for term in query_terms(query).counts if term not in _ASKING][:MAX_TERMS]
    wanted = [(_forms(term), OF_VALUES_WEIGHT if term in _OF_VALUES else 1.0) for term in terms]
    candidates: dict[int, SymbolRecord] = {}
    for forms, _ in wanted:
        for form in forms:
            candidates |= {symbol.id: symbol for symbol in _bearing(index, form, sorted(kinds))}
    rough = [(symbol, _share(symbol, wanted, "")) for symbol in candidates.values()]
    rough.sort(key=lambda pair: (-pair[1], pair[0].file, pair[0].start_line))
    exact = [(symbol, _share(symbol, wanted, _own_lines(symbol, read))) for symbol, _ in rough[: 4 * limit]]
    kept = [(symbol, round(share, 6)) for symbol, share in exact if share >= LEAST_SHARE]
    return sorted(kept, key=lambda pair: (-pair[1], pair[0].file, pair[0].start_line))[:limit]


def _forms(term: str) -> _Forms:
    return {term: 1.0, **other_words(term)}


def _bearing(index: IndexReader, form: str, kinds: Sequence[str]) -> list[SymbolRecord]:
    if len(form) < MIN_TERM_CHARS or not form.isalnum():
        return []
    marks = ", ".join("?" * len(kinds))
    return index.symbols(f"s.kind IN ({marks}) AND s.name LIKE ?", (*kinds, f"%{form}%"), MAX_CANDIDATES)


def _share(symbol: SymbolRecord, wanted: _Wanted, own_lines: str) -> float:
    name = _name_words(symbol.name)
    if not any(_met(forms, name) for forms, _ in wanted):
        return 0.0
    file = symbol.file.rpartition("/")[2].partition(".")[0]
    owner = _words(f"{symbol.owner} {file}")
    said = _words(f"{symbol.docstring} {symbol.signature} {own_lines}")
    met = sum(
        weight * max(_met(forms, name), OWNER_WEIGHT * _met(forms, owner), OWN_LINES_WEIGHT * _met(forms, said))
        for forms, weight in wanted
    )
    asked = {word for forms, weight in wanted for word in forms if weight == 1.0}
    share = met / sum(weight for _, weight in wanted) + PRECISION_WEIGHT * len(name & asked) / max(1, len(name))
    return share if kind_of_path(symbol.file) == "source" else ASIDE_FACTOR * share


def _met(forms: _Forms, words: frozenset[str]) -> float:
    return max((factor for form, factor in forms.items() if form in words), default=0.0)


def _name_words(name: str) -> frozenset[str]:
    return frozenset(index_terms(" ".join(split_identifier(name))).split())


def _words(text: str) -> frozenset[str]:
    return frozenset(index_terms(text).split())


def _own_lines(symbol: SymbolRecord, read: ReadSource) -> str:
    source = read(symbol.file)
    last = min(symbol.end_line, symbol.start_line + MAX_OWN_LINES - 1)
    return "" if source is None else "\n".join(source.lines[symbol.start_line - 1 : last])
