"""Defines the record that declares a language to the index and its searches.

A language without a grammar needs only a name and its file extensions. Fields that are left out have the value that
most languages have. `docs/guides/add-a-language.md` walks through an example.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from runtime.codebase.language_parts.head_comments import HeadDoc
from runtime.codebase.language_parts.outlines import Opening, code_openings
from runtime.codebase.language_parts.repository_paths import RepositoryPaths

Role = Literal["code", "prose", "data"]
PathKind = Literal[
    "source",
    "test",
    "docs",
    "example",
    "benchmark",
    "vendored",
    "generated",
    "changelog",
    "translation",
    "declaration",
    "data",
]


@dataclass(frozen=True, slots=True)
class Grammar:
    """Locates a tree-sitter grammar: a module, and the function in it that returns the language."""

    module: str
    function: str = "language"
    tags_attribute: str = "TAGS_QUERY"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Language:
    """Declares a language. Words in one string are separated by blanks; extensions are written without their dot."""

    name: str

    # Which files are written in it. `claims`: files of an ending of another language are, too, if their text shows it.
    extensions: str = ""
    file_names: str = ""
    interpreters: str = ""
    claims: tuple[str, re.Pattern[str]] | None = None
    role: Role = "code"

    # What a path says of the file's purpose, as patterns; they are looked for in the whole path. Files with one of the
    # `code_extensions` stay source where their names speak of something else: `history.py` is no list of changes.
    path_kinds: tuple[tuple[PathKind, str], ...] = ()
    code_extensions: str = ""
    # Names of files that stand for the folder in which they are, and say what that is for.
    head_files: str = ""

    # How files are read: by a grammar with its tags query and further `tags` (see `docs/guides/add-a-language.md` for
    # the captures), or by the look of their lines, as `outline` finds their openings. `before_parsing` may put blanks
    # in place of what the grammar does not know. Python's own readers follow scopes (`is_scoped`).
    grammar: Grammar | None = None
    tags: str = ""
    before_parsing: Callable[[bytes], bytes] | None = None
    is_scoped: bool = False
    outline: Callable[[Sequence[str]], Iterable[Opening]] = code_openings
    # Comments: what opens one besides `#`, `//`, `/*`, `*`, `--` and `;;`, and where a file says what it is for.
    comment_marks: str = ""
    head_doc: Callable[[Sequence[str]], HeadDoc | None] | None = None

    # Which file an import means: called with the paths, the importing file, the module and the name. A file such as
    # `go.mod` that declares the name of the module in its folder is given by its name and a pattern with one group.
    resolve_import: Callable[[RepositoryPaths, str, str, str], str | None] | None = None
    module_declaration: tuple[str, re.Pattern[str]] | None = None
    imports_folders: bool = False

    # Languages of one family call each other's code.
    family: str = ""
    # Methods of built-in and everyday types, and whether they are called on nothing as well (Kotlin's `apply { }`).
    builtin_methods: frozenset[str] = frozenset()
    calls_builtins_bare: bool = False
    # How a method speaks of its own object; Go lets it choose a short name of its own.
    own_object: str = ""
    names_own_object: bool = False
    constructors: str = ""
    # Whether a capitalised name before a dot that nobody imports or defines is a type of the language itself.
    has_global_types: bool = True
    # Whether functions belong to a namespace, as methods do to a class.
    has_namespaced_functions: bool = False

    # Words other than `if` and `else if` that begin a line which decides; patterns of what code does when it fails.
    branch_words: str = ""
    failures: tuple[str, ...] = ()
