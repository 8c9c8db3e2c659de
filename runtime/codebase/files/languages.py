"""Which language a file is written in, and which grammar reads it.

`language_of(path)` looks at the file name alone; `language_of_shebang(first_line)` serves scripts without an
extension. Languages with a grammar are parsed with tree-sitter; every grammar is a package of its own that is imported
when its first file is met, never before. Languages without one are read by text heuristics (`text_symbols`).
"""

from __future__ import annotations

import functools
import importlib
import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tree_sitter


@dataclass(frozen=True, slots=True)
class Grammar:
    """Where a tree-sitter grammar lies: a module, and the function in it that returns the language."""

    module: str
    function: str = "language"
    tags_attribute: str = "TAGS_QUERY"


GRAMMARS: dict[str, Grammar] = {
    "python": Grammar("tree_sitter_python"),
    "javascript": Grammar("tree_sitter_javascript"),
    "typescript": Grammar("tree_sitter_typescript", "language_typescript"),
    "tsx": Grammar("tree_sitter_typescript", "language_tsx"),
    "go": Grammar("tree_sitter_go"),
    "rust": Grammar("tree_sitter_rust"),
    "java": Grammar("tree_sitter_java"),
    "c": Grammar("tree_sitter_c"),
    "cpp": Grammar("tree_sitter_cpp"),
    "ruby": Grammar("tree_sitter_ruby"),
    "php": Grammar("tree_sitter_php", "language_php"),
    "c_sharp": Grammar("tree_sitter_c_sharp"),
    "kotlin": Grammar("tree_sitter_kotlin"),
    "shell": Grammar("tree_sitter_bash"),
}

# Languages whose code calls one another directly.
_KIN = (
    frozenset({"javascript", "typescript", "tsx", "vue", "svelte"}),
    frozenset({"c", "cpp", "objc", "cuda"}),
    frozenset({"java", "kotlin", "scala", "groovy", "clojure"}),
    frozenset({"python", "cython"}),
)

_EXTENSIONS_BY_LANGUAGE: dict[str, str] = {
    "python": "py pyi pyw",
    "javascript": "js jsx mjs cjs",
    "typescript": "ts mts cts",
    "tsx": "tsx",
    "go": "go",
    "rust": "rs",
    "java": "java",
    "c": "c h",
    "cpp": "cc cpp cxx c++ hh hpp hxx h++ ipp cu cuh",
    "ruby": "rb rake gemspec ru",
    "php": "php php5 phtml",
    "c_sharp": "cs",
    "kotlin": "kt kts",
    "swift": "swift",
    "scala": "scala sc",
    "groovy": "groovy gradle",
    "lua": "lua",
    "perl": "pl pm",
    "elixir": "ex exs",
    "erlang": "erl hrl",
    "haskell": "hs",
    "julia": "jl",
    "r": "r",
    "dart": "dart",
    "zig": "zig",
    "cython": "pyx pxd pxi",
    "shell": "sh bash zsh ksh",
    "fish": "fish",
    "powershell": "ps1 psm1",
    "sql": "sql",
    "proto": "proto",
    "graphql": "graphql gql",
    "terraform": "tf hcl",
    "vue": "vue svelte",
    "html": "html htm xhtml jinja j2",
    "css": "css scss sass less",
    "xml": "xml xsd xsl svg",
    "markdown": "md markdown mdx",
    "rst": "rst",
    "text": "txt text adoc",
    "yaml": "yaml yml",
    "toml": "toml",
    "ini": "ini cfg conf properties",
    "json": "json jsonc json5 ipynb",
    "csv": "csv tsv",
    "make": "mk mak",
}

_LANGUAGE_BY_EXTENSION: dict[str, str] = {
    extension: language for language, extensions in _EXTENSIONS_BY_LANGUAGE.items() for extension in extensions.split()
}

_LANGUAGE_BY_NAME: dict[str, str] = {
    "makefile": "make",
    "gnumakefile": "make",
    "dockerfile": "docker",
    "containerfile": "docker",
    "jenkinsfile": "groovy",
    "rakefile": "ruby",
    "gemfile": "ruby",
    "cmakelists.txt": "cmake",
    "readme": "text",
    "license": "text",
    "changelog": "text",
    "pipfile": "toml",
    "go.mod": "text",
}

_LANGUAGE_BY_INTERPRETER: dict[str, str] = {
    "python": "python",
    "pypy": "python",
    "node": "javascript",
    "deno": "typescript",
    "ruby": "ruby",
    "php": "php",
    "bash": "shell",
    "sh": "shell",
    "zsh": "shell",
    "dash": "shell",
    "perl": "perl",
    "lua": "lua",
}

_INTERPRETER = re.compile(r"^#!\s*(?:\S*/)?([A-Za-z]+)[\d.]*(?:\s+(?:-\S+\s+)*([A-Za-z]+))?")

_CPP_ONLY = re.compile(r"^\s*(?:class\s+\w|namespace\b|template\s*<|public:|private:|using\s+\w)|std::", re.MULTILINE)

PROSE: frozenset[str] = frozenset({"markdown", "rst", "text"})
DATA: frozenset[str] = frozenset({"json", "yaml", "toml", "ini", "csv", "xml", "css", "html"})


def language_of(path: str) -> str | None:
    """The language that the file name tells, or None."""
    name = PurePosixPath(path).name.lower()
    if name in _LANGUAGE_BY_NAME:
        return _LANGUAGE_BY_NAME[name]
    _, dot, extension = name.rpartition(".")
    return _LANGUAGE_BY_EXTENSION.get(extension) if dot else None


def may_call(file: str, other: str) -> bool:
    """False when code of one file does not call that of another by name: their languages are strangers."""
    one, two = language_of(file), language_of(other)
    return one == two or None in (one, two) or any({one, two} <= kin for kin in _KIN)


def language_of_shebang(first_line: str) -> str | None:
    """The language of a script whose first line names its interpreter, or None."""
    found = _INTERPRETER.match(first_line)
    if found is None:
        return None
    program, argument = found.groups()
    return _LANGUAGE_BY_INTERPRETER.get(argument if program == "env" and argument else program)


def language_of_content(path: str, by_name: str | None, text: str) -> str | None:
    """The language of a file whose text is at hand: scripts by their first line, C++ headers by what they hold."""
    if by_name is None:
        return language_of_shebang(text[:200].split("\n", 1)[0])
    if by_name == "c" and path.endswith(".h") and _CPP_ONLY.search(text):
        return "cpp"
    return by_name


@functools.cache
def load_grammar(language: str) -> tree_sitter.Language:
    """The grammar of a language in `GRAMMARS`; imports its package on the first call. KeyError for any other."""
    import tree_sitter

    grammar = GRAMMARS[language]
    module = importlib.import_module(grammar.module)
    return tree_sitter.Language(getattr(module, grammar.function)())


def bundled_tags_query(language: str) -> str:
    """The tags query that the grammar's package brings along, or an empty string."""
    grammar = GRAMMARS[language]
    query = getattr(importlib.import_module(grammar.module), grammar.tags_attribute, None)
    return query if isinstance(query, str) else ""
