"""Decides which agreements speak for a request, and what a finished change agrees on. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from actors.capabilities.code_change.store.agreement_files import Agreement, AgreementFile, is_symbol, normal
from runtime.codebase.files.words import query_terms
from runtime.contracts.session_state import SessionState

MAX_JOINED = 3

_QUOTED = re.compile(r"`([^`\s]{1,200})`")
_WORD = re.compile(r"\w+")
_PLACE = re.compile(r"(.+):(\d{1,9})(?:-(\d{1,9}))?")


class Agreed(NamedTuple):
    """Holds the symbols that agreements give for a request, those of the likest first.

    `likeness`: of the likest request, 0 to 1; `is_allowed`: the operator recorded, imported or allowed them.
    """

    symbols: tuple[str, ...]
    likeness: float
    is_allowed: bool
    agreements: int


class Evidence(NamedTuple):
    """Names lines of a file, both ends included."""

    file: str
    start_line: int
    end_line: int


def exact(query: str, agreements: Mapping[str, AgreementFile]) -> dict[str, float]:
    """Return the agreements for the very same request, white space and case aside: path → 1."""
    asked = normal(query)
    return {path: 1.0 for path, each in agreements.items() if normal(each.agreement.query) == asked}


def agreed(
    query: str,
    agreements: Mapping[str, AgreementFile],
    likeness: Mapping[str, float],
    allowed: Mapping[str, str],
    bound: float,
) -> Agreed | None:
    """Return what the agreements with the likest requests say; None where none is like enough.

    `likeness`: path → how like its request is; `allowed`: path → SHA-256. Those that are not allowed count only where
    no allowed one speaks.
    """
    near = [path for path, value in likeness.items() if value >= bound and path in agreements]
    fitting = [path for path in near if names_the_same(query, agreements[path].agreement)]
    own = [path for path in fitting if allowed.get(path) == agreements[path].sha256]
    chosen = sorted(own or fitting, key=lambda path: (-likeness[path], path))[:MAX_JOINED]
    if not chosen:
        return None
    symbols = dict.fromkeys(name for path in chosen for name in agreements[path].agreement.symbols)
    return Agreed(tuple(symbols), likeness[chosen[0]], bool(own), len(chosen))


def names_the_same(query: str, agreement: Agreement) -> bool:
    """Return whether each name of code in a request is one that an agreement knows, and the other way round.

    Two requests that differ in a name alone are very like each other, and mean different symbols.
    """
    known = {name for text in (agreement.query, *agreement.symbols) for name in _names(text)}
    known |= {part for name in agreement.symbols for part in _parts(name)}
    asked = _parts(query) | _names(query)
    return _names(query) <= known and _names(agreement.query) <= asked


def _names(text: str) -> set[str]:
    """Return what is written like a name of code, or between backticks."""
    return {*query_terms(text).identifiers, *_QUOTED.findall(text)}


def _parts(text: str) -> set[str]:
    return {text, *_WORD.findall(text)}


def accepted_evidence(state: SessionState) -> list[Evidence]:
    """Return the places that the server has accepted as evidence of finished tasks, in order."""
    items = [item for task in state.tasks if task.status == "completed" for item in task.checklist]
    found = [_PLACE.fullmatch(item.evidence.strip()) for item in items if item.status == "done"]
    return [
        Evidence(place.group(1), int(place.group(2)), int(place.group(3) or place.group(2))) for place in found if place
    ]


def proven_symbols(changed: Sequence[str], framed: Iterable[str]) -> list[str]:
    """Return the symbols that a successful change has agreed on: what it changed, then the targets of its frame.

    A target that names one of the changed symbols in short is not told twice.
    """
    named = {re.split(r"\W+", name)[-1] for name in changed}
    return [*changed, *(name for name in framed if is_symbol(name) and name not in named and name not in changed)]
