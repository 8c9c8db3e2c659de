"""Finds the literals in the lines of a place that tell a value which the question asks for.

`max_attempts = 3`, `if len(name) > 255` and `options.timeout ?? 10_000` say how many, how long or which by themselves.
One is told only if its name, or its line, has words of the question, units of time aside. Nothing is told that another
line of the place gives another value, that code counts up, or that may be a secret.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from runtime.codebase.files.words import index_terms
from runtime.codebase.resolution.default_values.secret_values import is_secret
from runtime.codebase.resolution.default_values.site_roles import NOTHING
from runtime.codebase.resolution.default_values.value_scopes import ValueScopes
from runtime.codebase.resolution.default_values.value_sites import FileValues, key_of
from runtime.codebase.search.values.literal_forms import (
    MAX_LINE_CHARS,
    FoundLiteral,
    LiteralForm,
    is_nested_deeply,
    is_quantity,
    literals_in,
)
from runtime.codebase.search.values.literal_names import literals_of_names
from runtime.codebase.search.values.value_fit import likelihood, measures
from runtime.codebase.search.values.value_questions import ValuePart, asks_for_a_place, literal_parts
from runtime.codebase.search.values.value_words import (
    BIG,
    BOUNDS,
    SIZES,
    TIMES,
    UNITS_OF_TIME,
    forms_of,
    is_of_subject,
    met_by,
)

MAX_TOLD = 3
# A longer place is read in its first lines and in those that are shown.
MAX_PIECE_LINES = 200
# What a word counts that the line has beside the name, or what is above the line, or the name of the place.
LINE_WEIGHT, AROUND_WEIGHT = 0.7, 0.35
CONTEXT_WEIGHT = 0.3
# The least share of the question that is said of a literal, of one whose name has a word of it, and what that must be
# of the best one's.
LEAST_SHARE, LEAST_OF_NAMED, LEAST_OF_BEST = 0.25, 0.12, 0.5
# From this share on a literal answers by itself, if no other one comes as near as that.
LEADING_SHARE, LEAST_MARGIN = 0.45, 1.25
MAX_ABOVE_LINES, MAX_BELOW_LINES = 4, 2

_BY_DEFAULT: frozenset[LiteralForm] = frozenset({"default", "fallback", "documented", "constant", "entry"})
_OF_DEFAULTS = _BY_DEFAULT - {"entry"}
_UNSAID_FACTOR = 0.8
_OF_BOUNDS: frozenset[LiteralForm] = frozenset({"test", "loop", "repeat", "most", "least"})
_SWITCHES = frozenset({"true", "false", "yes", "no"})
# Numbers that tell a reader of bounds nothing.
_PLAIN = re.compile(r"-?[01](?:\.0)?[A-Za-z]{0,3}")
_QUOTED_NUMBER = re.compile(r"-?\d+(?:\.\d+)? ?[A-Za-z%]{0,12}")
_ENDLESS = frozenset({"Infinity", "inf", "math.inf"})
# Of these each line is told by itself: one name may be compared twice, and slept twice.
_OF_LINES: frozenset[LiteralForm] = frozenset(
    {"test", "loop", "repeat", "most", "least", "argument", "keyword", "documented"}
)


class Piece(msgspec.Struct, frozen=True):
    """Describes a place of an answer: its lines, the numbers of those that are shown, and its name."""

    file: str
    start_line: int
    end_line: int
    shown: tuple[int, ...]
    name: str


class ShownLiteral(msgspec.Struct, frozen=True):
    """Describes a literal to tell of a place, and its line; value and subject stand there as they are.

    `start_line`: that of the condition under which it holds, else its own; `leads`: it answers by itself.
    """

    form: LiteralForm
    subject: str
    value: str
    start_line: int
    line: int
    text: str
    leads: bool = False


class _Rated(msgspec.Struct, frozen=True):
    literal: ShownLiteral
    share: float
    is_met: bool
    named: frozenset[str]
    is_of_subject: bool


def shown_literals(
    scopes: ValueScopes,
    read: Callable[[str], str | None],
    question: str,
    weights: Mapping[str, float],
    pieces: Sequence[Piece],
) -> list[list[ShownLiteral]]:
    """Return for each place its literals that tell what the question asks for, best first, at most three.

    Empty for a question that asks for no value. `weights`: those of the question's terms.
    """
    parts = literal_parts(question)
    may_lead = not asks_for_a_place(question)
    told = [_told(scopes, read, parts, weights, piece) if parts else [] for piece in pieces]
    return [[msgspec.structs.replace(one, leads=one.leads and may_lead) for one in own] for own in told]


def _told(
    scopes: ValueScopes,
    read: Callable[[str], str | None],
    parts: Sequence[ValuePart],
    weights: Mapping[str, float],
    piece: Piece,
) -> list[ShownLiteral]:
    values, text = scopes.values(piece.file), read(piece.file)
    if values is None or text is None:
        return []
    lines = text.split("\n")
    found = list(_literals(values, text, lines, piece))
    said = [(literal, _said_of(literal, found, lines, piece)) for literal in found]
    rated = [one for literal, of in said if (one := _best(literal, of, parts, weights)) is not None]
    met = [one for one in rated if one.is_met and one.share >= (LEAST_OF_NAMED if one.named else LEAST_SHARE)]
    met.sort(key=lambda one: -one.share)
    if not met:
        return []
    kept = _chosen(met)
    leads = met[0].share >= LEADING_SHARE and all(LEAST_MARGIN * one.share < met[0].share for one in met[1:])
    # That something else has a limit as well is no answer.
    leads = leads and met[0].is_of_subject and not any(one.named - met[0].named for one in kept)
    return [msgspec.structs.replace(one.literal, leads=leads and one is met[0]) for one in kept]


def _chosen(met: Sequence[_Rated]) -> list[_Rated]:
    """Return the literals to tell, best first: all that come near the best one, and those of further words.

    Of «what delay and failure rate» one name has the first, and another one the second.
    """
    kept: list[_Rated] = []
    covered: frozenset[str] = frozenset()
    for one in met:
        if one.share >= LEAST_OF_BEST * met[0].share or one.named - covered:
            kept.append(one)
            covered |= one.named
    return kept[:MAX_TOLD]


def _literals(values: FileValues, text: str, lines: Sequence[str], piece: Piece) -> Iterator[ShownLiteral]:
    """Yield the literals of a place whose value and subject stand in their lines, each once, by line."""
    first, last = piece.start_line, min(piece.end_line, piece.start_line + MAX_PIECE_LINES - 1)
    last = min(len(lines), max([last, *(number for number in piece.shown if number <= piece.end_line)]))
    if is_nested_deeply(values.root, first, last):
        return
    found = list(literals_of_names(values, text, lines, first, last))
    found += literals_in(values.root, first, last, values.syntax.reading)
    given: dict[str, set[str]] = {}
    for one in found:
        given.setdefault(_thing_of(one), set()).add(one.value)
    seen: set[tuple[int, str]] = set()
    for one in sorted(found, key=lambda each: each.line):
        if not first <= one.line <= last or (one.line, one.value) in seen or len(given[_thing_of(one)]) > 1:
            continue
        line, told = lines[one.line - 1], lines[one.start_line - 1 : one.line]
        is_said = one.value in line and any(one.subject in each for each in told) and len(line) <= MAX_LINE_CHARS
        if is_said and one.value not in NOTHING and not is_secret(one.subject, one.value):
            seen.add((one.line, one.value))
            yield ShownLiteral(one.form, one.subject, one.value, one.start_line, one.line, line.strip())


def _thing_of(found: FoundLiteral) -> str:
    """Return what may have one value only in a place: a name, or what is returned; of all else the line itself."""
    if found.form == "returned":
        return found.form
    return f"{found.line}" if found.form in _OF_LINES else key_of(found.subject)


class _Said(NamedTuple):
    """Holds the terms that are said of a literal: by its name, in its line, and around it."""

    name: frozenset[str]
    line: frozenset[str]
    around: frozenset[str]


def _said_of(literal: ShownLiteral, all_found: Sequence[ShownLiteral], lines: Sequence[str], piece: Piece) -> _Said:
    """Return the terms that are said of a literal; its line says nothing of it by the names of others in it."""
    # What is returned has no name but that of the function.
    name = _words(literal.subject if literal.form != "returned" else piece.name.rpartition(".")[2])
    others = [one.subject for one in all_found if one.line == literal.line and one.subject != literal.subject]
    near = lines[max(piece.start_line, literal.start_line - MAX_ABOVE_LINES) - 1 : literal.start_line - 1]
    # What a documented default is of stands below it.
    behind = lines[literal.line : literal.line + MAX_BELOW_LINES] if literal.form == "documented" else ()
    own = " ".join((literal.text, *(each[:MAX_LINE_CHARS] for each in behind)))
    around = " ".join((piece.name, *(each[:MAX_LINE_CHARS] for each in near)))
    return _Said(name, _words(own) - (_words(" ".join(others)) - name), _words(around))


def _best(
    literal: ShownLiteral, said: _Said, parts: Sequence[ValuePart], weights: Mapping[str, float]
) -> _Rated | None:
    rated = [one for part in parts if (one := _rated(literal, said, part, weights)) is not None]
    return max(rated, key=lambda one: one.share, default=None)


def _rated(literal: ShownLiteral, said: _Said, part: ValuePart, weights: Mapping[str, float]) -> _Rated | None:
    """Return how much of a part of the question is said of a literal; None where it is not of the kind asked for."""
    bare = literal.value.strip("\"'`") if part.measure == "time" else literal.value
    if not measures(bare, part.measure) or not _may_answer(literal, part):
        return None
    factor = likelihood(literal.subject, [bare], part) if literal.subject else 1.0
    factor *= _UNSAID_FACTOR if part.says_default and literal.form not in _BY_DEFAULT else 1.0
    # The name of a size or a time speaks of «how big» and «how long» without any word of it.
    is_measured = not _measure_words(part).isdisjoint(said.name)
    met = total = sum(weights.get(term, 1.0) for term in part.terms) / max(1, len(part.terms)) if is_measured else 0.0
    is_met, named = is_measured, frozenset[str]()
    for term, of_part in (*((term, 1.0) for term in part.terms), *((term, CONTEXT_WEIGHT) for term in part.context)):
        weight, forms = of_part * weights.get(term, 1.0), forms_of(term)
        own = max(met_by(forms, said.name), LINE_WEIGHT * met_by(forms, said.line))
        # That a line speaks of milliseconds as well says nothing of what takes them.
        is_met = is_met or (own > 0 and term not in UNITS_OF_TIME)
        named |= {term} if met_by(forms, said.name) else frozenset()
        met += weight * max(own, AROUND_WEIGHT * met_by(forms, said.around))
        total += weight
    share = factor * met / total if total else 0.0
    return _Rated(literal, share, is_met, named, is_of_subject(said.name | said.line, part)) if factor else None


def _may_answer(literal: ShownLiteral, part: ValuePart) -> bool:
    """Return whether what a line says of a literal can be what a part asks for.

    A comparison says nothing of what holds by default, and what is set to nothing within a function is no bound.
    """
    is_of_bound = literal.form in _OF_BOUNDS and (part.measure in {"any", "flag"} or "==" in literal.subject)
    if (part.says_default and is_of_bound) or (_is_text_of_words(literal) and literal.form not in _OF_DEFAULTS):
        return False
    if (part.measure == "any" or literal.form == "returned") and literal.value.lower() in _SWITCHES:
        return False
    if part.measure in {"time", "count"} and not (_is_number(literal.value) or literal.value in _ENDLESS):
        return False
    is_plain = _PLAIN.fullmatch(literal.value) is not None
    return not is_plain or (part.says_default and literal.form in _OF_DEFAULTS)


def _is_number(value: str) -> bool:
    bare = value.strip("\"'`")
    return is_quantity(value) if bare == value else _QUOTED_NUMBER.fullmatch(bare) is not None


def _is_text_of_words(literal: ShownLiteral) -> bool:
    """Return whether a literal is a message, a query or the like."""
    return literal.value[-1:] in {'"', "'", "`"} and " " in literal.value.strip()


def _measure_words(part: ValuePart) -> frozenset[str]:
    is_of_size = part.measure == "count" and BIG.search(part.text) is not None
    return SIZES | BOUNDS if is_of_size else TIMES if part.measure == "time" else frozenset()


def _words(text: str) -> frozenset[str]:
    return frozenset(index_terms(text).split())
