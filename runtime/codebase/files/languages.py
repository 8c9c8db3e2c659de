"""Which language a file is written in, and what its record says.

Every module of `runtime.codebase.languages` declares languages; installed packages declare further ones by an entry
point of the group `jeeves.languages`. They are listed when the first file is met. `language_of(path)` looks at the file
name alone; scripts without an ending and headers of C++ are told by their text. A grammar is a package of its own that
is imported when its first file is met, never before.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import pkgutil
import re
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import entry_points
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from runtime.codebase import languages as declared
from runtime.codebase.language_parts.language import Language
from runtime.errors import SettingsError

if TYPE_CHECKING:
    import tree_sitter

ENTRY_POINT_GROUP = "jeeves.languages"

_INTERPRETER = re.compile(r"^#!\s*(?:\S*/)?([A-Za-z]+)[\d.]*(?:\s+(?:-\S+\s+)*([A-Za-z]+))?")
_NO_LANGUAGE = Language(name="")


@functools.cache
def languages() -> Mapping[str, Language]:
    """Every language by its name. SettingsError when two declare the same name, ending or file name."""
    return records_by_name((*_of_this_package(), *_of_others()))


def records_by_name(records: Iterable[Language]) -> dict[str, Language]:
    """The records by their names. SettingsError when two of them declare the same thing."""
    known: dict[str, Language] = {}
    owners: dict[str, str] = {}
    for record in records:
        claimed = [f"the name {record.name}", *(f"the ending .{ending}" for ending in record.extensions.split())]
        claimed += [f"the file name {name}" for name in record.file_names.split()]
        claimed += [f"the interpreter {program}" for program in record.interpreters.split()]
        for thing in claimed:
            if thing in owners:
                raise SettingsError(
                    f"two languages declare {thing}: {owners[thing]} and {record.name}; leave it to one of them"
                )
            owners[thing] = record.name
        known[record.name] = record
    return known


def _of_this_package() -> Iterator[Language]:
    for found in pkgutil.iter_modules(declared.__path__):
        module = importlib.import_module(f"{declared.__name__}.{found.name}")
        yield from _records(module, f"the module {module.__name__}")


def _of_others() -> Iterator[Language]:
    for entry in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda entry: entry.name):
        yield from _records(entry.load(), f"the entry point {entry.name} of {ENTRY_POINT_GROUP}")


def _records(module: object, place: str) -> tuple[Language, ...]:
    records = getattr(module, "LANGUAGES", None)
    if not isinstance(records, tuple) or not all(isinstance(record, Language) for record in records):
        raise SettingsError(f"{place} declares no languages; give it LANGUAGES, a tuple of records of type Language")
    return records


@functools.cache
def languages_digest() -> str:
    """A digest of what decides how files are read: an index that was made with other languages is made anew."""
    told = [
        (r.name, r.extensions, r.file_names, r.interpreters, r.role, r.grammar, r.tags, r.comment_marks, r.is_scoped)
        for r in sorted(languages().values(), key=lambda record: record.name)
    ]
    return hashlib.sha256(repr(told).encode()).hexdigest()


@functools.cache
def _by_extension() -> dict[str, str]:
    return {ending: record.name for record in languages().values() for ending in record.extensions.split()}


@functools.cache
def _by_file_name() -> dict[str, str]:
    return {name: record.name for record in languages().values() for name in record.file_names.split()}


@functools.cache
def _by_interpreter() -> dict[str, str]:
    return {program: record.name for record in languages().values() for program in record.interpreters.split()}


@functools.cache
def _claims() -> dict[str, tuple[re.Pattern[str], str]]:
    return {r.claims[0]: (r.claims[1], r.name) for r in languages().values() if r.claims is not None}


@functools.cache
def all_words(field: str) -> frozenset[str]:
    """The words that the records of all languages have in a field."""
    return frozenset(word for record in languages().values() for word in getattr(record, field).split())


def language_of(path: str) -> str | None:
    """The name of the language that the file name tells, or None."""
    name = PurePosixPath(path).name.lower()
    named = _by_file_name().get(name)
    if named is not None:
        return named
    _, dot, extension = name.rpartition(".")
    return _by_extension().get(extension) if dot else None


def language_named(name: str | None) -> Language:
    """The record of a language; one with nothing but defaults for None and for a name that nobody declares."""
    return languages().get(name or "", _NO_LANGUAGE)


def language_at(path: str) -> Language:
    """The record of the language that the file name tells."""
    return language_named(language_of(path))


def may_call(file: str, other: str) -> bool:
    """False when code of one file does not call that of another by name: their languages are strangers."""
    one, two = language_at(file), language_at(other)
    return one is two or not one.name or not two.name or (one.family != "" and one.family == two.family)


def language_of_shebang(first_line: str) -> str | None:
    """The language of a script whose first line names its interpreter, or None."""
    found = _INTERPRETER.match(first_line)
    if found is None:
        return None
    program, argument = found.groups()
    return _by_interpreter().get(argument if program == "env" and argument else program)


def language_of_content(path: str, by_name: str | None, text: str) -> str | None:
    """The language of a file whose text is at hand: scripts by their first line, others where a language claims them
    by what they hold, as C++ does with headers."""
    if by_name is None:
        return language_of_shebang(text[:200].split("\n", 1)[0])
    claim = _claims().get(path.rpartition(".")[2])
    return claim[1] if claim is not None and claim[0].search(text) else by_name


@functools.cache
def load_grammar(language: str) -> tree_sitter.Language:
    """The grammar of a language that has one; imports its package on the first call. KeyError for any other."""
    import tree_sitter

    grammar = languages()[language].grammar
    if grammar is None:
        raise KeyError(language)
    module = importlib.import_module(grammar.module)
    return tree_sitter.Language(getattr(module, grammar.function)())


def tags_query(language: Language) -> str:
    """The tags query that the grammar's package brings along, with the further patterns of the record."""
    if language.grammar is None:
        return language.tags
    query = getattr(importlib.import_module(language.grammar.module), language.grammar.tags_attribute, None)
    return (query if isinstance(query, str) else "") + language.tags
