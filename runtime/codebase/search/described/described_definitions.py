"""Finds the definitions that a text describes by the words of their names, owners and files.

Every name of the source is compared: that takes some tens of milliseconds in a repository of 200,000 lines.
"""

from __future__ import annotations

import math
import posixpath
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from runtime.codebase.files.path_kinds import kind_of_place
from runtime.codebase.files.words import index_terms, split_identifier, stem
from runtime.codebase.index.reader import IndexReader
from runtime.codebase.index.records import SymbolRecord
from runtime.codebase.parsing.syntax import CALLABLE_KINDS
from runtime.codebase.search.described.name_match import (
    NameMatch,
    SaidWords,
    is_one_of_several,
    match_name,
    nearness,
    said_words,
    told_apart_by,
)

MAX_TEXT_CHARS = 1_000
MAX_NAMES = 200_000
# So many of the best names are looked up.
LOOKED_UP = 40
# A word that begins more names than this share of (the first of) them is the project's own prefix.
COMMON, MAX_COUNTED = 0.15, 5_000
MAX_BEARERS = 60
MAX_FOUND = 5
# What the words of the owner, of the file and of the documentation count, beside those of the name.
OWNER, FILE, SAYS = 0.6, 0.3, 0.15
# What it counts, in usual words, that the sort of thing is the one that the text calls it, or another.
OF_SORT = 0.5
# What it counts that the words of the name stand close to each other, as a share of what they count.
TOGETHER = 0.4
# From this weight on a word is rare enough to tell one of a sort from the others.
RARE = 2.0
# What a word that is missing costs, in usual words.
MISSING = 1.0
# A word that half of the definitions have in their names counts hardly anything.
LEAST_WEIGHT = 0.1

_TYPES = frozenset({"class", "struct", "type", "interface", "trait", "object", "enum", "record", "protocol"})
_VALUES = frozenset({"field", "attribute", "property", "constant", "variable", "enum_member", "key"})
# What people call sorts of definitions.
_SORTS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("class", "struct", "type", "interface", "trait", "object", "exception", "error"), _TYPES),
    **dict.fromkeys(("function", "func", "method", "helper", "routine", "callback", "handler"), CALLABLE_KINDS),
    **dict.fromkeys(("field", "attribute", "property", "member", "column"), _VALUES),
    **dict.fromkeys(("constant", "const", "variable", "flag", "option", "setting", "default"), _VALUES),
    "enum": frozenset({"enum", "class"}),
    "macro": frozenset({"macro", "constant"}),
}
_NO_DEFINITIONS = frozenset({"section", "module", "namespace", "impl", "import", "key"})
_FIRST = re.compile(r"[a-z]{3}|\d{2}")


@dataclass(frozen=True, slots=True)
class Described:
    """Holds a definition with how well a text describes it; `is_surely`: by words that leave no doubt.

    `is_of_sort`: the text calls it what it is, such as a function or a class.
    """

    symbol: SymbolRecord
    score: float
    is_surely: bool
    is_of_sort: bool


def described_definitions(index: IndexReader, text: str) -> list[Described]:
    """Return the definitions of the source that a text describes by all words of their names, best first, at most five.

    Of one name the bearer comes first whose owner and file the text speaks of as well.
    """
    said = said_words(text[:MAX_TEXT_CHARS])
    if not said.words:
        return []
    weigh = _weights(index, said)
    names = index.symbol_names(MAX_NAMES)
    common = _common_words(names)
    likely = _beginning_alike(names, said)
    matched = [(name, match_name(said, name, common)) for name in likely]
    matched = [(name, match) for name, match in matched if match.is_whole or match.is_nearly_whole]
    ranked = sorted(matched, key=lambda pair: -_worth(pair[0], pair[1], weigh))[:LOOKED_UP]
    found = [each for name, match in ranked for each in _bearers(index, said, name, match, weigh)]
    ordered = sorted(found, key=lambda each: (-each.score, each.symbol.file, each.symbol.start_line))[:MAX_FOUND]
    return _members_first(ordered, said)


def _members_first(found: Sequence[Described], said: SaidWords) -> list[Described]:
    """Return the best member ahead of its owner, where the text has words of it that the owner lacks.

    «the flag of the concurrent bag for weak thread locals» speaks of the bag only to tell whose flag it is.
    """
    if not found:
        return []
    best = found[0].symbol
    own = set(map(stem, split_identifier(best.name)))
    members = [each for each in found[1:] if each.is_surely and each.symbol.owner == best.qualified_name]
    told = [each for each in members if not own.issuperset(_said_of(each.symbol, said))]
    return [*told[:1], *(each for each in found if each not in told[:1])]


def _said_of(symbol: SymbolRecord, said: SaidWords) -> set[str]:
    """Return the words of a definition's name that a text has."""
    return said.stems.keys() & set(map(stem, split_identifier(symbol.name)))


def _beginning_alike(names: Sequence[str], said: SaidWords) -> list[str]:
    """Return the names that have the beginning of a word of the text; none that the language gives a meaning."""
    beginnings = {found.group() for word in said.words if (found := _FIRST.match(word))}
    own = (name for name in names if not (name.startswith("__") and name.endswith("__")))
    return [name for name in own if any(part in name.lower() for part in beginnings)]


def _common_words(names: Sequence[str]) -> frozenset[str]:
    """Return the words that so many names begin with that these do without it in what people say."""
    first = Counter(parts[0] for name in names[:MAX_COUNTED] if (parts := split_identifier(name)))
    return frozenset(word for word, count in first.items() if count > COMMON * min(len(names), MAX_COUNTED))


def _weights(index: IndexReader, said: SaidWords) -> dict[str, float]:
    """Return how much each word of a text tells, by how few pieces have it; of a usual word about 1."""
    counts = index.document_counts([term for term in said.stems if term])
    total = max(1, index.chunk_count())
    rarest = math.log1p(total)
    return {
        term: max(LEAST_WEIGHT, 3 * math.log((total + 1) / (counts.get(term, 0) + 1)) / rarest) for term in said.stems
    }


def _worth(name: str, match: NameMatch, weigh: Mapping[str, float]) -> float:
    known = [weigh.get(stem(part), 1.0) * sure for part, (_, sure) in match.found.items()]
    return sum(known) * (1 + TOGETHER * nearness(match)) - MISSING * len(match.missing)


def _bearers(
    index: IndexReader, said: SaidWords, name: str, match: NameMatch, weigh: Mapping[str, float]
) -> list[Described]:
    """Return the definitions of a name in the source, each with how well the text describes it."""
    made = []
    apart = frozenset(term for term in told_apart_by(said, match) if weigh[term] >= RARE)
    for symbol in index.symbols("s.name = ?", (name,), MAX_BEARERS):
        if symbol.kind in _NO_DEFINITIONS or kind_of_place(symbol.file, symbol.qualified_name) != "source":
            continue
        used = {place for place, _ in match.found.values()}
        owner = _told(said, split_identifier(symbol.owner), used, weigh)
        file = _told(said, _words_of_path(symbol.file), used, weigh)
        says = _told(said, index_terms(symbol.docstring[:MAX_TEXT_CHARS]).split(), used, weigh)
        sort = _of_sort(said, symbol.kind)
        score = _worth(name, match, weigh) + OWNER * owner + FILE * file + SAYS * says + OF_SORT * sort
        # One word alone may be any: then its class or file, or what it says, has to be spoken of as well.
        is_told = sort >= 0 and (owner > 0 or (sort > 0 and file + says > 0))
        is_one = sort > 0 or not is_one_of_several(said, match)
        is_surely = is_one and (match.strong > 1 or (match.strong == 1 and is_told)) and _speaks_of(symbol, apart)
        made.append(Described(symbol, score, is_surely, sort > 0))
    return made


def _speaks_of(symbol: SymbolRecord, words: frozenset[str]) -> bool:
    """Return whether a definition has words in its names, its path, its declaration or its documentation."""
    text = f"{symbol.qualified_name} {symbol.file} {symbol.signature} {symbol.docstring[:MAX_TEXT_CHARS]}"
    return words <= set(said_words(text).stems)


def _words_of_path(path: str) -> list[str]:
    stem_of_file = posixpath.splitext(posixpath.basename(path))[0]
    return split_identifier(f"{posixpath.basename(posixpath.dirname(path))} {stem_of_file}")


def _told(said: SaidWords, words: Collection[str], used: Collection[int], weigh: Mapping[str, float]) -> float:
    """Return what the words count that a text has, each once, but for those that it has in the name."""
    stems = dict.fromkeys(map(stem, words))
    fresh = [term for term in stems if any(place not in used for place in said.stems.get(term, ()))]
    return sum(weigh[term] for term in fresh)


def _of_sort(said: SaidWords, kind: str) -> float:
    """Return 1 where the text calls the thing a sort that it is of, -1 where only others, 0 where none."""
    sorts = [_SORTS[word.removesuffix("s")] for word in said.words if word.removesuffix("s") in _SORTS]
    sorts += [_SORTS[word] for word in said.words if word in _SORTS]
    if not sorts:
        return 0.0
    return 1.0 if any(kind in sort for sort in sorts) else -1.0
