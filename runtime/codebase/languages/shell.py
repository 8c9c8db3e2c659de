"""Declares shell scripts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from runtime.codebase.language_parts.head_comments import first_hashes
from runtime.codebase.language_parts.idle_statements import IdleSyntax
from runtime.codebase.language_parts.language import Grammar, Language
from runtime.codebase.language_parts.outlines import MAX_LINE_CHARS, Opening
from runtime.codebase.language_parts.repository_paths import RepositoryPaths

_TAGS = """
(function_definition name: (word) @name) @definition.function
(program (variable_assignment name: (variable_name) @name) @definition.variable)
(program (declaration_command (variable_assignment name: (variable_name) @name) @definition.constant))
(command name: (command_name (word) @name)) @reference.call
(command name: (command_name) @_source argument: (word) @import (#any-of? @_source "source" "."))
(command name: (command_name) @_source argument: (string) @import (#any-of? @_source "source" "."))
"""

_FUNCTION = re.compile(r"^\s*(?:function\s+)?([A-Za-z_][\w:-]*)\s*\(\)\s*\{?|^\s*function\s+([A-Za-z_][\w:-]*)")


def _functions(lines: Sequence[str]) -> Iterator[Opening]:
    for number, line in enumerate(lines, 1):
        if found := _FUNCTION.match(line[:MAX_LINE_CHARS]):
            yield number, 0, found.group(1) or found.group(2), "function"


def _sourced_file(repository: RepositoryPaths, importer: str, module: str, _name: str) -> str | None:
    """Return the sourced script, ignoring a leading variable, command substitution or `.` in its path."""
    tail = re.sub(r"^(?:\$\{?\w+\}?|\$\([^)]*\)|\.)/", "", module)
    beside = repository.beside(importer, tail)
    return beside if beside in repository.paths else repository.ending(tail.lstrip("./"), importer)


_IDLE = IdleSyntax(
    fails=r"exit(?:\s+\d+)?",
    nothing=r":|true|local(?:\s+\w+(?:=[\w\"']*)?)+",
)

LANGUAGES = (
    Language(
        name="shell",
        idle=_IDLE,
        extensions="sh bash zsh ksh",
        interpreters="bash sh zsh dash",
        path_kinds=(("test", r"(^|/)test[_-][^/]*\.sh$"),),
        grammar=Grammar("tree_sitter_bash"),
        tags=_TAGS,
        outline=_functions,
        head_doc=first_hashes,
        resolve_import=_sourced_file,
        branch_words="elif case",
    ),
    Language(name="fish", extensions="fish", outline=_functions),
)
