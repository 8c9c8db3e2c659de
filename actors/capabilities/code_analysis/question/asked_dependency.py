"""Finds the third-party dependency that a question is about: «What do we use requests for?», «Is the xz crate needed?»

A name of a dependency is often a common word, or the name of something in the code as well. So a question is about the
dependency only where it says so («the log crate»), or speaks of nothing else and nothing in the code is called so.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator

from runtime.codebase.codebase import Codebase
from runtime.codebase.dependencies.declared import declared_requirements
from runtime.codebase.dependencies.named_requirements import all_names
from runtime.codebase.dependencies.requirement import plain
from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.files.words import STOP_WORDS, query_terms
from runtime.codebase.parsing.syntax import CALLABLE_KINDS, CONTAINER_KINDS

MAX_QUESTION_CHARS = 300
MAX_WORDS = 3
_TOKEN = re.compile(r"@?[A-Za-z0-9][\w.+@-]*(?:/[\w.@-]+)*")
_ASKS = re.compile(
    r"\b(?:us(?:es?|ed|ing)|needs?|needed|requires?|required|depends?|depending|dependency|imports?|imported|version"
    r"|pin(?:ned)?|drop(?:ped)?|removed?|rid|replaced?|optional|pull(?:ed|s)? in|bring(?:s)? in|rel(?:y|ies) on"
    r"|what is|what's|what does|still|for what|librar(?:y|ies)|package|crate|gem)\b",
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
    ).counts
)
_ARTICLE = re.compile(r"\b(?:the|a|an|our|this|that|my)\W*$", re.IGNORECASE)
# The name of nothing else: it has a mark or a digit in it.
_DISTINCT = re.compile(r"[-_/.\d@]")


def asked_dependency(codebase: Codebase, text: str) -> str | None:
    """Return the dependency of a repository that a short question is about, as the question calls it; None for most."""
    if len(text) > MAX_QUESTION_CHARS or _ASKS.search(text) is None:
        return None
    names = all_names(declared_requirements(codebase))
    found = [(run, start, end) for run, start, end in _runs(text) if plain(run) in names]
    return next((run for run, start, end in found if _is_meant(codebase, text, start, end)), None)


def _runs(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield up to three neighbouring words with their place, the longest runs first."""
    tokens = [(found.start(), found.start() + len(found.group().rstrip("."))) for found in _TOKEN.finditer(text)]
    for length in range(MAX_WORDS, 0, -1):
        for first in range(len(tokens) - length + 1):
            start, end = tokens[first][0], tokens[first + length - 1][1]
            gaps = [text[tokens[n][1] : tokens[n + 1][0]] for n in range(first, first + length - 1)]
            if all(gap == " " for gap in gaps):
                yield text[start:end], start, end


def _is_meant(codebase: Codebase, text: str, start: int, end: int) -> bool:
    name, before, behind = text[start:end], text[:start].rstrip("`'\" "), text[end:].lstrip("`'\" ")
    project = query_terms(posixpath.basename(codebase.root)).counts.keys()
    rest = query_terms(f"{before} {behind}").counts.keys() - _ANYHOW - project
    if _is_called(_SURELY, before, behind):
        return not rest or _ASKS.search(f"{before} {behind}") is not None
    # What relies on «redis locks» relies on something else.
    if _NEEDS.search(before) is not None and not query_terms(behind).counts.keys() - _ANYHOW - project:
        return True
    if _is_in_code(codebase, name):
        return False
    if _is_called(_MAY_BE, before, behind):
        return not rest or _ASKS.search(f"{before} {behind}") is not None
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
