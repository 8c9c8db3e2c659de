"""Defines the result of parsing one file: its symbols, references and imports.

Lines are counted from 1 and ranges include both ends. `parent` and `enclosing` are positions in `FileSyntax.symbols`;
a symbol always comes after its parent there. These are tuples, not dataclasses: an index run makes millions of them.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from runtime.codebase.language_parts.type_facts import FileFacts

SOME_OBJECT = "?"

ReferenceKind = Literal["call", "reference", "base", "decorator", "import"]
ParseStatus = Literal["parsed", "text", "failed", "unsupported", "skipped"]

CONTAINER_KINDS: frozenset[str] = frozenset(
    {"class", "interface", "struct", "enum", "trait", "module", "namespace", "impl", "type", "record", "object"}
)
CALLABLE_KINDS: frozenset[str] = frozenset({"function", "method", "constructor", "macro"})
VALUE_KINDS: frozenset[str] = frozenset({"attribute", "field"})


class Symbol(NamedTuple):
    """Describes a named definition. `start_line` includes decorators; `name_line` is the line of the name itself."""

    name: str
    qualified_name: str
    kind: str
    start_line: int
    end_line: int
    name_line: int
    signature: str = ""
    docstring: str = ""
    parent: int | None = None


class Reference(NamedTuple):
    """Records a use of a name; `qualifier` is the text before its last dot (`self`, `app.config`), or empty.

    It is `SOME_OBJECT` where that text is not a plain name: an index, a literal, a call with arguments.
    """

    name: str
    line: int
    kind: ReferenceKind
    qualifier: str = ""
    enclosing: int | None = None


class Import(NamedTuple):
    """Records one imported name: `name` is empty if the module itself is imported, `*` for all of it.

    `module` is as written, with leading dots for relative Python imports.
    """

    module: str
    name: str
    alias: str
    line: int


class FileSyntax(NamedTuple):
    """Holds everything that a parser found in one file. `doc_ranges` are the line ranges of its docstrings.

    `facts` are None for a language without type facts.
    """

    symbols: list[Symbol]
    references: list[Reference]
    imports: list[Import]
    doc_ranges: list[tuple[int, int]]
    status: ParseStatus
    note: str = ""
    facts: FileFacts | None = None
