"""Finds the definition that a question describes by the words of its name: «the retry policy» is `RetryPolicy`.

Two to four words in a row that make the name of one definition, and hardly any others beside them, are no chance, so
that relations of it are asked for as if it was named. What is extended is a type of which there are others already, or
which says that it is open; of such one word is enough, and a base may be called so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from actors.capabilities.code_analysis.question.analysis import Question
from actors.capabilities.code_analysis.question.kinds import kind_of
from actors.capabilities.code_analysis.question.listing_scope import is_open_type
from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.files.words import STOP_WORDS, query_terms
from runtime.codebase.index.reader import IndexReader
from runtime.codebase.index.records import SymbolRecord
from runtime.codebase.parsing.syntax import CALLABLE_KINDS, CONTAINER_KINDS

MAX_WORDS = 4
# «Which tests refuse a wrong host name?» is not about `host_name`.
MAX_FURTHER_TERMS = 1
_SAID_OF_NAMES = frozenset(
    query_terms(
        "anything anybody anyone something somebody still currently already actually really ever function class method"
        " module type struct interface trait definition defined declared implementation thing stuff code"
    ).counts
)
LEAST_SINGULAR_CHARS = 4
# A longer text tells a story, in which words stand beside each other by chance.
MAX_SUBJECT_CHARS = 200
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*+")
_BASES = ("{}", "Base{}", "Abstract{}", "{}Base", "I{}")
# Modules and namespaces are no types, and share their name with what stands in them.
_NAMED = (CONTAINER_KINDS | CALLABLE_KINDS) - {"module", "namespace", "impl"}
_TYPES = _NAMED - CALLABLE_KINDS


def described_name(index: IndexReader, question: Question) -> str | None:
    """Return the name of the definition of the source that the words of a question's subject make; None for most.

    More words are tried first, and of as many the last ones, which are what the others tell more about.
    """
    way = kind_of(question).named_by_words
    if way == "never" or question.identifiers or question.paths:
        return None
    extends = way == "open types"
    more = 0 if way == "definitions alone" else MAX_FURTHER_TERMS
    terms = {*question.terms} - _SAID_OF_NAMES.union(question.deed_terms)
    for run in _runs(question.subject[:MAX_SUBJECT_CHARS], least=1 if extends else 2):
        if len(terms.difference(query_terms(" ".join(run)).counts)) > more:
            continue
        for form in _forms(run, is_type=extends):
            found = _borne(index, form, extends=extends)
            if found is not None:
                return found.name
    return None


def _runs(subject: str, least: int) -> Iterator[tuple[str, ...]]:
    """Yield the words that stand in a row, the longest runs first, and of as long ones the last first."""
    words = [word.lower() for word in _WORD.findall(subject)]
    for length in range(min(MAX_WORDS, len(words)), least - 1, -1):
        for start in range(len(words) - length, -1, -1):
            run = tuple(words[start : start + length])
            if STOP_WORDS.isdisjoint(run):
                yield run


def _forms(run: tuple[str, ...], *, is_type: bool) -> Iterator[str]:
    """Yield how a name may be written that has these words, or their singular, in any case."""
    for words in dict.fromkeys((run, tuple(map(_singular, run)), (*run[:-1], _singular(run[-1])))):
        joined = "".join(words)
        yield from (form.format(joined) for form in _BASES) if is_type else (joined,)
        if len(words) > 1:
            yield "_".join(words)


def _singular(word: str) -> str:
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) >= LEAST_SINGULAR_CHARS else word


def _borne(index: IndexReader, name: str, *, extends: bool) -> SymbolRecord | None:
    """Return the definition of the source that bears a name in any case; of several, any."""
    kinds = _TYPES if extends else _NAMED
    found = [one for one in index.symbols_of_name(name) if one.kind in kinds and kind_of_path(one.file) == "source"]
    return next((one for one in found if not extends or _is_extended(index, one)), None)


def _is_extended(index: IndexReader, symbol: SymbolRecord) -> bool:
    """Return whether a type is open by what it says, or others build on one of its name."""
    if is_open_type(symbol.name, symbol.kind, symbol.signature, symbol.docstring):
        return True
    return bool(index.references("r.name = ? AND r.kind = 'base'", (symbol.name,), 1))
