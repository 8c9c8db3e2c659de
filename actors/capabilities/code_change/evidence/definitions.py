"""Knows the definitions of a file, and which of those that were changed do nothing."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Sequence
from typing import NamedTuple

from runtime.codebase.files.source_text import SourceText
from runtime.codebase.language_parts.cython_lines import AS_PYTHON, as_python, is_cython
from runtime.codebase.language_registry import language_at, language_of
from runtime.codebase.parsing.bodies.empty_bodies import BYTE_ORDER_MARK, MAX_KEPT_CHARS, code_lines, judge_of
from runtime.codebase.parsing.bodies.meant_bodies import Meant, fails, gives_a_value, promises
from runtime.codebase.parsing.bodies.whole_heads import BareType
from runtime.codebase.parsing.parse import parse
from runtime.codebase.parsing.syntax import CALLABLE_KINDS, CONTAINER_KINDS, Symbol

# Each is judged by its syntax; a piece of evidence with more of them is not looked at so closely.
MAX_JUDGED = 40
_SCOPES = CALLABLE_KINDS | CONTAINER_KINDS
_ABSTRACT = re.compile(r"@(?:\w+\.)*abstract\w*|\babstract\b")
# Decorators of Python that need no more than a head: overloads, and what only holds commands or hooks of others.
_HEAD_IS_WHOLE = re.compile(r"@(?:\w+\.)*(?:overload|group|callback|hookspec)\b")
# What C++ writes in the place of a body, and destructors, which are often empty for a reason.
_GIVEN = re.compile(r"=\s*(?:default|delete|0)\s*;|~\s*\w+\s*\(")
# Without a grammar a head without any of these is taken for a declaration.
_BODY = re.compile(r"[{=]|\bend\b")
_STUBBED = re.compile(r"\s*(?:\.\.\.|pass)?\s*")
_FILLED = re.compile(r"\s*(?:\.\.\.|pass|[{}();]*)?\s*")
_PROTOCOL = re.compile(r"\((?:.*[\s.,])?Protocol\b")


class Hollow(NamedTuple):
    """Names the changed functions that do nothing; `beside`: whether another changed one does something."""

    names: tuple[str, ...]
    beside: bool


def symbols_of(file: str, text: str) -> Sequence[Symbol]:
    """Return the functions and types of a file's text; of a language without a grammar those that its lines show."""
    return _kept_symbols(file, text) if len(text) <= MAX_KEPT_CHARS else _symbols(file, text)


@functools.lru_cache(maxsize=4)
def _kept_symbols(file: str, text: str) -> Sequence[Symbol]:
    return _symbols(file, text)


def _symbols(file: str, text: str) -> Sequence[Symbol]:
    text = text.removeprefix(BYTE_ORDER_MARK)
    if is_cython(file):
        text, file = as_python(text), AS_PYTHON
    data = text.encode("utf-8", "replace")
    found = parse(SourceText(text, hashlib.sha256(data).hexdigest()), file, language_of(file)).symbols
    # A module that begins at the first line is the file itself.
    return tuple(each for each in found if each.kind in _SCOPES and (each.kind != "module" or each.start_line > 1))


def innermost(symbols: Sequence[Symbol], line: int) -> Symbol | None:
    """Return the smallest of some definitions around a line; None outside of all."""
    around = [each for each in symbols if each.start_line <= line <= each.end_line]
    return min(around, key=lambda each: each.end_line - each.start_line) if around else None


def is_declared(symbols: Sequence[Symbol], symbol: Symbol, lines: Sequence[str], *, is_parsed: bool) -> bool:
    """Return whether a function says that it has no body of its own: abstract, overloaded, of a protocol, defaulted.

    Nor needs one a private constructor that takes nothing, which is there so that nobody makes an object.
    """
    whole = "\n".join(lines[symbol.start_line - 1 : symbol.end_line])
    if _GIVEN.search(whole) or not (is_parsed or _BODY.search(whole)):
        return True
    if _is_private_constructor(symbols, symbol, lines):
        return True
    return _ABSTRACT.search(_head(symbol, lines)) is not None or is_signature(symbols, symbol, lines)


def _is_private_constructor(symbols: Sequence[Symbol], symbol: Symbol, lines: Sequence[str]) -> bool:
    around = [each for each in symbols if each.kind in CONTAINER_KINDS and each.start_line < symbol.start_line]
    within = innermost(around, symbol.start_line)
    names = "constructor" if within is None else rf"(?:constructor|{re.escape(within.name)})"
    return re.match(rf"\s*private\s+{names}\s*\(\s*\)", lines[symbol.name_line - 1]) is not None


def is_signature(symbols: Sequence[Symbol], symbol: Symbol, lines: Sequence[str]) -> bool:
    """Return whether a function is whole with its head: an overload, a group of commands, or of a protocol."""
    around = [each for each in symbols if each.kind in CONTAINER_KINDS and each.start_line < symbol.start_line]
    within = innermost(around, symbol.start_line)
    is_protocol = within is not None and _PROTOCOL.search(lines[within.name_line - 1]) is not None
    return is_protocol or _HEAD_IS_WHOLE.search(_head(symbol, lines)) is not None


def _head(symbol: Symbol, lines: Sequence[str]) -> str:
    return "\n".join(lines[symbol.start_line - 1 : symbol.name_line])


def has_signatures(text: str, file: str, parts: Sequence[tuple[int, int]]) -> bool:
    """Return whether changed parts of a Python file hold heads of functions that need no body, or lines of a stub."""
    if not file.endswith((".py", ".pyi")):
        return False
    lines, code = text.split("\n"), code_lines(text, file, bare_strings=False)
    said = [n for first, last in parts for n in range(first, min(last, len(lines)) + 1)]
    said = [n for n in said if not _STUBBED.fullmatch(code[n - 1])]
    if file.endswith(".pyi"):
        return bool(said)
    symbols = symbols_of(file, text)
    callables = [each for each in symbols if each.kind in CALLABLE_KINDS]
    touched = dict.fromkeys(each for n in said if (each := innermost(callables, n)) is not None)
    return any(is_signature(symbols, each, lines) for each in touched)


def written_functions(
    text: str, file: str, parts: Sequence[tuple[int, int]], most: int = MAX_JUDGED
) -> list[Symbol] | None:
    """Return the functions that parts of a file lie in, declarations left out; None of more than `most`, or a stub."""
    lines = text.split("\n")
    symbols = symbols_of(file, text)
    callables = [each for each in symbols if each.kind in CALLABLE_KINDS]
    numbers = (n for first, last in parts for n in range(first, min(last, len(lines)) + 1) if lines[n - 1].strip())
    touched = dict.fromkeys(each for n in numbers if (each := innermost(callables, n)) is not None)
    if file.endswith(".pyi") or len(touched) > most:
        return None
    is_parsed = language_at(file).grammar is not None or is_cython(file)
    return [each for each in touched if not is_declared(symbols, each, lines, is_parsed=is_parsed)]


def hollow_functions(
    text: str,
    file: str,
    parts: Sequence[tuple[int, int]],
    most: int = MAX_JUDGED,
    meant: frozenset[Meant] = frozenset(),
) -> Hollow:
    """Return which functions that changed parts of a file lie in do nothing; declarations are none of them.

    Of more than `most` functions none is told, nor are those whose bodies are of a kind that is `meant`.
    """
    touched = written_functions(text, file, parts, most)
    if touched is None:
        return Hollow((), beside=True)
    judge = judge_of(text, file)
    empty = {each: judge.is_empty(each.start_line, each.end_line) for each in touched}
    if meant and any(empty.values()):
        empty = {
            each: is_idle and not is_meant(text, file, (each.start_line, each.end_line), meant)
            for each, is_idle in empty.items()
        }
    return Hollow(tuple(each.name for each, does_nothing in empty.items() if does_nothing), not all(empty.values()))


def is_meant(text: str, file: str, part: tuple[int, int], meant: frozenset[Meant]) -> bool:
    """Return whether a function without effect may be one of those that are meant, and promises nothing for later."""
    start, end = part
    if promises("\n".join(text.split("\n")[start - 1 : end])):
        return False
    if not judge_of(text, file, meant).is_empty(start, end):
        return True
    code = "\n".join(code_lines(text, file, bare_strings=False)[start - 1 : end])
    return not fails(code) and ("nothing" in meant or ("constant" in meant and gives_a_value(code)))


def only_bare_types(text: str, file: str, parts: Sequence[tuple[int, int]]) -> bool:
    """Return whether all code in parts of a file belongs to types that hold nothing of their own."""
    code = code_lines(text, file, bare_strings=False)
    said = [n for first, last in parts for n in range(first, min(last, len(code)) + 1)]
    said = [n for n in said if not _FILLED.fullmatch(code[n - 1])]
    bare = [each for each in symbols_of(file, text) if bare_types(text, file, [(each.start_line, each.start_line)])]
    return bool(said) and all(any(each.start_line <= n <= each.end_line for each in bare) for n in said)


def bare_types(text: str, file: str, parts: Sequence[tuple[int, int]]) -> list[BareType]:
    """Return the types in parts of a file that hold nothing of their own."""
    judge = judge_of(text, file)
    return [found for first, last in parts for found in judge.bare_types(first, last)]
