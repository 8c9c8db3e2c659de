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
from runtime.codebase.language_parts.idle_statements import IdleSyntax
from runtime.codebase.language_parts.line_bodies import LineBodies
from runtime.codebase.language_parts.outlines import Opening, code_openings
from runtime.codebase.language_parts.repository_paths import RepositoryPaths
from runtime.codebase.language_parts.type_rules import TypeRules
from runtime.codebase.language_parts.value_syntax import ValueSyntax

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

    # Files in this language. `claims`: an extension of another language, and whether a text with it belongs here.
    extensions: str = ""
    file_names: str = ""
    interpreters: str = ""
    claims: tuple[str, Callable[[str], bool]] | None = None
    role: Role = "code"

    # Kinds of files by patterns that are searched in the whole path of names with one of the extensions, behind a
    # slash. Files with one of the `code_extensions` stay source even if their names suggest a changelog or document:
    # `history.py` is not a list of changes.
    path_kinds: tuple[tuple[PathKind, str], ...] = ()
    code_extensions: str = ""
    # How functions that are tests begin in the source files that they test.
    test_prefix: str = ""
    # Names of files that represent their folder and describe its purpose.
    head_files: str = ""

    # How files are parsed: by a grammar with its tags query and further `tags` (see `docs/guides/add-a-language.md` for
    # the captures), or by line patterns, with `outline` to find openings. `before_parsing` may blank out syntax that
    # the grammar does not know. Python has parsers of its own that follow scopes (`is_scoped`).
    grammar: Grammar | None = None
    tags: str = ""
    before_parsing: Callable[[bytes], bytes] | None = None
    is_scoped: bool = False
    outline: Callable[[Sequence[str]], Iterable[Opening]] = code_openings
    # Comments: markers besides `#`, `//`, `/*`, `*`, `--` and `;;`, and the function that finds a file's description.
    comment_marks: str = ""
    head_doc: Callable[[Sequence[str]], HeadDoc | None] | None = None

    # Which file an import means: called with the paths, the importing file, the module and the name. A file such as
    # `go.mod` that declares the name of the module in its folder is given by its name and a pattern with one group.
    resolve_import: Callable[[RepositoryPaths, str, str, str], str | None] | None = None
    module_declaration: tuple[str, re.Pattern[str]] | None = None
    # Whether paths within the package of such a file begin at its root, by the file's text.
    begins_paths_at_root: Callable[[str], bool] | None = None
    imports_folders: bool = False

    # Where its dependencies are published, as `dependencies.requirement` names it; empty where none are known.
    ecosystem: str = ""

    # How names and types are resolved; calls of a language without these rules are proven by imports alone.
    types: TypeRules | None = None
    # Where names get values; defaults of a language that does not say are not proven.
    values: ValueSyntax | None = None

    # Languages of one family call each other's code.
    family: str = ""
    # Methods of built-in and everyday types, and whether they are called on nothing as well (Kotlin's `apply { }`).
    builtin_methods: frozenset[str] = frozenset()
    calls_builtins_bare: bool = False
    # How a method refers to its own object; in Go each method chooses a short name (`names_own_object`).
    own_object: str = ""
    names_own_object: bool = False
    constructors: str = ""
    # Whether a capitalised name before a dot that is neither imported nor defined is a type of the language itself.
    has_global_types: bool = True
    # Whether functions belong to a namespace, as methods do to a class.
    has_namespaced_functions: bool = False
    # Finds the namespace that a file declares (`name`); there a class is named whole with `\` ahead, as in PHP.
    declares_namespace: str = ""
    # Finds the `title` with which a line declares a test without parentheses.
    declares_test: str = ""

    # Words other than `if` and `else if` that begin a branching line; patterns of failing code.
    branch_words: str = ""
    failures: tuple[str, ...] = ()
    # How statements say nothing; without it only bodies of empty statements are taken for unwritten.
    idle: IdleSyntax | None = None
    # Without a grammar: how functions and bodies that do nothing are written, where that differs from most languages.
    line_bodies: LineBodies | None = None
