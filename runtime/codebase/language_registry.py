"""Detects the language of a file and looks up its record and grammar.

Every module of `runtime.codebase.languages` declares languages; installed packages declare further ones by an entry
point of the group `jeeves.languages`. They are loaded on first use. `language_of(path)` looks at the file name alone;
scripts without an extension and headers of C++ are recognised by their text. A grammar is a package of its own that is
imported for its first file, never before.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
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
_COMMENTS_ABOVE = re.compile(
    r"\(comment\)\*\s*@doc\s*\.\s*|\(#(?:strip|select-adjacent|set-adjacent)!\s+@doc\s+(?:\"[^\"]*\"|@[\w.]+)\s*\)"
)
_NO_LANGUAGE = Language(name="")


@functools.cache
def languages() -> Mapping[str, Language]:
    """Return every language by its name. SettingsError if two declare the same name, extension or file name."""
    return records_by_name((*_of_this_package(), *_of_others()))


def records_by_name(records: Iterable[Language]) -> dict[str, Language]:
    """Return the records by name. SettingsError if two declare the same name, extension, file name or interpreter."""
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
    """Return a digest of the language settings that affect parsing; an index with another digest is rebuilt."""
    told = [
        (
            *(r.name, r.extensions, r.file_names, r.interpreters, r.role, r.grammar, r.tags, r.comment_marks),
            *(r.is_scoped, r.types is not None),
        )
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
def _claims() -> dict[str, tuple[Callable[[str], bool], str]]:
    return {r.claims[0]: (r.claims[1], r.name) for r in languages().values() if r.claims is not None}


@functools.cache
def all_words(field: str) -> frozenset[str]:
    """Return the words in a field of all language records."""
    return frozenset(word for record in languages().values() for word in getattr(record, field).split())


@functools.lru_cache(maxsize=65536)
def language_of(path: str) -> str | None:
    """Return the name of the language that a file name indicates, or None."""
    name = path.rpartition("/")[2]
    name = (PurePosixPath(path).name if name in ("", ".") else name).lower()
    named = _by_file_name().get(name)
    if named is not None:
        return named
    stem, dot, extension = name.rpartition(".")
    if extension == "in" and "." in stem and stem not in _by_file_name():
        # What a document is made from, with a few names to fill in, is one; code with gaps may not parse.
        inner = _by_extension().get(stem.rpartition(".")[2])
        return inner if language_named(inner).role == "prose" else None
    return _by_extension().get(extension) if dot else None


def language_named(name: str | None) -> Language:
    """Return the record of a language; one with default values for None or an undeclared name."""
    return languages().get(name or "", _NO_LANGUAGE)


def language_at(path: str) -> Language:
    """Return the record of the language that the file name indicates."""
    return language_named(language_of(path))


def may_call(file: str, other: str) -> bool:
    """Return False if code in one file cannot call that in another by name: their languages are unrelated."""
    one, two = language_at(file), language_at(other)
    return one is two or not one.name or not two.name or (one.family != "" and one.family == two.family)


def language_of_shebang(first_line: str) -> str | None:
    """Return the language of a script whose first line names its interpreter, or None."""
    found = _INTERPRETER.match(first_line)
    if found is None:
        return None
    program, argument = found.groups()
    return _by_interpreter().get(argument if program == "env" and argument else program)


def language_of_content(path: str, by_name: str | None, text: str) -> str | None:
    """Return the language of a file with known text.

    A script is recognised by its first line; a language may claim other files by their text, as C++ does with headers.
    """
    if by_name is None:
        return language_of_shebang(text[:200].split("\n", 1)[0])
    claim = _claims().get(path.rpartition(".")[2])
    return claim[1] if claim is not None and claim[0](text) else by_name


@functools.cache
def load_grammar(language: str) -> tree_sitter.Language:
    """Load the grammar of a language; imports its package on the first call. KeyError for a language without one."""
    import tree_sitter

    grammar = languages()[language].grammar
    if grammar is None:
        raise KeyError(language)
    module = importlib.import_module(grammar.module)
    return tree_sitter.Language(getattr(module, grammar.function)())


def tags_query(language: Language) -> str:
    """Return the tags query of the grammar's package, followed by the further patterns of the record.

    It asks for no comments before definitions, which takes time quadratic in the comments that follow each other.
    """
    if language.grammar is None:
        return language.tags
    query = getattr(importlib.import_module(language.grammar.module), language.grammar.tags_attribute, None)
    return (_COMMENTS_ABOVE.sub("", query) if isinstance(query, str) else "") + language.tags
