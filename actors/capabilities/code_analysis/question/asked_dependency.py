"""Finds the third-party dependency that a question is about: «What do we use requests for?», «Is the xz crate needed?»

A name of a dependency is often a common word, or the name of something in the code as well. So a question is about the
dependency only where it says so («the log crate»), or speaks of nothing else and nothing in the code is called so.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from runtime.codebase.codebase import Codebase
from runtime.codebase.dependencies.declared import declared_requirements
from runtime.codebase.dependencies.named_requirements import all_names, named
from runtime.codebase.dependencies.requirement import Requirement, plain
from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.files.words import STOP_WORDS, query_terms
from runtime.codebase.parsing.syntax import CALLABLE_KINDS, CONTAINER_KINDS
from runtime.codebase.search.presence.lexicon import is_ordinary

MAX_QUESTION_CHARS = 300
MAX_WORDS = 3
MAX_DEPENDENCIES = 3
# So many other words may stand beside a name that means nothing else.
MAX_REST = 2
LEAST_PART_CHARS = 4
_TOKEN = re.compile(r"@?[A-Za-z0-9][\w.+@-]*(?:/[\w.@-]+)*")
_ASKS = re.compile(
    r"\b(?:us(?:es?|ed|ing)|needs?|needed|requires?|required|depends?|depending|dependency|imports?|imported|version"
    r"|pin(?:ned)?|drop(?:ped)?|removed?|rid|replaced?|optional|pull(?:ed|s)? in|bring(?:s)? in|rel(?:y|ies) on"
    r"|what is|what's|what does|still|for what|librar(?:y|ies)|package|crate|gem|requirements|dependencies)\b",
    re.IGNORECASE,
)
# What only a dependency is called, and what a part of the repository may be called as well.
_SURELY = r"(?:dependency|dependencies|deps?|third[- ]party \w+|(?:npm|pypi|external) \w+|crate|gem)"
_NEEDS = re.compile(r"\b(?:depend(?:s|ing|ency)? on|rel(?:y|ies) on)$", re.IGNORECASE)
_MAY_BE = r"(?:librar(?:y|ies)|package|module)"
# What is asked of a dependency, whichever it is.
_ANYHOW = frozenset(
    query_terms(
        "use used uses using need needed needs still any anywhere anything currently actually really dependency"
        " dependencies depend depends library package crate gem third party external version versions require required"
        " requires import imported imports drop remove rid replace pull pin pinned minimum least latest code codebase"
        " project repo repository here part parts file files module modules place places where declare declared add"
        " added install installed bring rely relies get safely purpose role doing exactly supported compatible npm pip"
        " pypi cargo go optional test tests runtime production development break without dropped removed replaced"
        " simply just two three both each one these there newer only"
    ).counts
)
_THEM = r"(?:crates?|gems?|libraries|dependenc(?:y|ies)|packages|requirements)"
_SPEAKS_OF_THEM = re.compile(
    rf"\b{_THEM}\b|\b(?:go\.mod|cargo\.toml|package\.json|pyproject(?:\.toml)?|gemfile|composer\.json|pom\.xml)\b",
    re.IGNORECASE,
)
_WORD_AHEAD = re.compile(rf"\b(?P<word>[A-Za-z][\w-]*) {_THEM}\b", re.IGNORECASE)
_WORDS = re.compile(r"[A-Za-z][\w-]*")
_PARTS = re.compile(r"[-_./:@]+")
_ARTICLE = re.compile(r"\b(?:the|a|an|our|this|that|my)\W*$", re.IGNORECASE)
# The name of nothing else: it has a mark or a digit in it.
_DISTINCT = re.compile(r"[-_/.\d@]")


def asked_dependencies(codebase: Codebase, text: str) -> tuple[str, ...]:
    """Return the dependencies of a repository that a short question is about, at most three; none for most questions.

    They are named, or told by a part of their names where the question speaks of dependencies: «the two YAML crates».
    """
    if len(text) > MAX_QUESTION_CHARS or _ASKS.search(text) is None:
        return ()
    declared = declared_requirements(codebase)
    names = all_names(declared)
    runs = [(run, start, end) for run, start, end in _runs(text) if plain(run) in names]
    others = [run for run, _, _ in runs if not is_ordinary(run)]
    meant = [run for run, start, end in runs if _is_meant(codebase, text, start, end, others)]
    found = [each.name for run in meant for each in named(declared, run)] or _alike(declared, text)
    each = tuple(dict.fromkeys(found))
    return each if len(each) <= MAX_DEPENDENCIES else ()


def _alike(declared: Sequence[Requirement], text: str) -> list[str]:
    """Return the dependencies that a text about dependencies tells by a part of their names, or by its beginning."""
    if _SPEAKS_OF_THEM.search(text) is None:
        return []
    ahead = _telling(found["word"] for found in _WORD_AHEAD.finditer(text))
    told = ahead or _telling(_WORDS.findall(text))
    names = dict.fromkeys(each.name for each in declared if each.group != "indirect")
    return [name for name in names if any(_has_part(name, word) for word in told)]


def _telling(words: Iterable[str]) -> set[str]:
    """Return the words, in lower case, that may be a part of a name, and say nothing of dependencies as such."""
    long = {word.lower() for word in words if len(word) >= LEAST_PART_CHARS}
    return {word for word in long - STOP_WORDS if not query_terms(word).counts.keys() <= _ANYHOW}


def _has_part(name: str, word: str) -> bool:
    """Return whether a part of a name is a word, or one with a letter or two behind it: `tomli` of «TOML»."""
    parts = _PARTS.split(name.lower())
    return any(part == word or (part.startswith(word) and len(part) <= len(word) + 2) for part in parts)


def _runs(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield up to three neighbouring words with their place, the longest runs first."""
    tokens = [(found.start(), found.start() + len(found.group().rstrip("."))) for found in _TOKEN.finditer(text)]
    for length in range(MAX_WORDS, 0, -1):
        for first in range(len(tokens) - length + 1):
            start, end = tokens[first][0], tokens[first + length - 1][1]
            gaps = [text[tokens[n][1] : tokens[n + 1][0]] for n in range(first, first + length - 1)]
            if all(gap == " " for gap in gaps):
                yield text[start:end], start, end


def _is_meant(codebase: Codebase, text: str, start: int, end: int, others: Sequence[str]) -> bool:
    name, before, behind = text[start:end], text[:start].rstrip("`'\" "), text[end:].lstrip("`'\" ")
    project = query_terms(posixpath.basename(codebase.root)).counts.keys()
    rest = query_terms(f"{before} {behind}").counts.keys() - _ANYHOW - project
    rest = rest - query_terms(" ".join(others)).counts.keys()
    if _is_called(_SURELY, before, behind):
        return not rest or _ASKS.search(f"{before} {behind}") is not None
    # What relies on «redis locks» relies on something else.
    if _NEEDS.search(before) is not None and not query_terms(behind).counts.keys() - _ANYHOW - project:
        return True
    if _is_in_code(codebase, name):
        return False
    if _is_called(_MAY_BE, before, behind):
        return not rest or _ASKS.search(f"{before} {behind}") is not None
    # What is no word of English or of software in general can hardly mean anything else.
    if not is_ordinary(name) and len(rest) <= MAX_REST:
        return _ASKS.search(f"{before} {behind}") is not None
    is_plain_word = _DISTINCT.search(name) is None
    if name.lower() in STOP_WORDS or (is_plain_word and _ARTICLE.search(before)):
        return False
    return not rest and _ASKS.search(f"{before} {behind}") is not None


def _is_called(noun: str, before: str, behind: str) -> bool:
    told_behind = re.match(rf"(?:as an? |is an? )?{noun}\b", behind, re.IGNORECASE)
    return told_behind is not None or re.search(rf"\b{noun}$", before, re.IGNORECASE) is not None


def _is_in_code(codebase: Codebase, name: str) -> bool:
    """Return whether a definition, a file or a folder of the source is called so."""
    kinds: Collection[str] = CONTAINER_KINDS | CALLABLE_KINDS
    symbols = codebase.index.symbols_of_name(name)
    if any(one.kind in kinds and kind_of_path(one.file) == "source" for one in symbols):
        return True
    wanted = plain(name)
    paths = (file.path for file in codebase.files() if kind_of_path(file.path) == "source")
    return any(wanted == plain(part) for path in paths for part in posixpath.splitext(path)[0].split("/"))
