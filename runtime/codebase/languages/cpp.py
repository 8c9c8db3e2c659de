"""Declares C++."""

from __future__ import annotations

import re

from runtime.codebase.language_facts import value_queries
from runtime.codebase.language_parts.head_comments import first_block
from runtime.codebase.language_parts.idle_statements import IdleSyntax, thrown
from runtime.codebase.language_parts.language import Grammar, Language
from runtime.codebase.languages import c

_TAGS = """
(function_declarator declarator: (qualified_identifier scope: (_) @owner name: (identifier) @name)) @definition.method
(function_declarator declarator: (field_identifier) @name) @definition.method
(namespace_definition name: (namespace_identifier) @scope.name) @scope
(call_expression function: (qualified_identifier name: (identifier) @name)) @reference.call
(base_class_clause (type_identifier) @name) @reference.base
(class_specifier name: (type_identifier) @name body: (_)) @definition.class
"""

_CPP_ONLY = re.compile(r"^\s*(?:class\s+\w|namespace\b|template\s*<|public:|private:|using\s+\w)|std::", re.MULTILINE)
_DECLARES_FOR_C = 'extern "C"'
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_CONDITION = re.compile(r"[ \t]*#[ \t]*(?P<name>if|ifdef|ifndef|el\w+|endif)\b(?P<test>.*)")
_FOR_CPP = re.compile(r"\s*\(?(?:defined\b[\s(]*)?__cplusplus\b")

_GENERAL = "exception runtime_error logic_error invalid_argument"
_IDLE = IdleSyntax(
    absent=c.IDLE.absent,
    fails=c.IDLE.fails.replace("abort", r"(?:std::)?(?:abort|unreachable)") + "|" + thrown("throw", _GENERAL),
    nothing_value=r"std::nullopt"
    r"|std::(?:string|vector|map|set|unordered_map|optional|list)(?:<[\w:<>, *]+>)?(?:\(\)|\{\s*\})",
    nothing=c.IDLE.nothing + r"|static_cast<void>\(\s*[\w.]+\s*\)|std::ignore\s*=\s*[\w.]+",
    never_returns=c.IDLE.never_returns,
    idle_functions=c.IDLE.idle_functions + r"|std::(?:to_string|string|move)|\w+\.(?:size|empty|length|c_str)",
    gives_way=c.IDLE.gives_way,
)


def is_cpp_header(text: str) -> bool:
    """Return whether a header has what only C++ knows; of one that declares for C as well, what C sees decides."""
    if _CPP_ONLY.search(text) is None:
        return False
    code = _COMMENT.sub(" ", text)
    return _CPP_ONLY.search(_as_c_sees_it(code) if _DECLARES_FOR_C in code else code) is not None


def _as_c_sees_it(text: str) -> str:
    """Return a text without the lines that stand under `#ifdef __cplusplus`."""
    seen: list[str] = []
    # For each open condition, whether its lines are hidden.
    hidden: list[bool] = []
    for line in text.split("\n"):
        found = _CONDITION.match(line)
        if found is None:
            seen += [] if any(hidden) else [line]
        elif found["name"] == "endif":
            del hidden[-1:]
        elif found["name"].startswith("el"):
            hidden[-1:] = [False] * len(hidden[-1:])
        else:
            hidden.append(found["name"] != "ifndef" and _FOR_CPP.match(found["test"]) is not None)
    return "\n".join(seen)


LANGUAGES = (
    Language(
        name="cpp",
        ecosystem="system",
        idle=_IDLE,
        values=value_queries.CPP,
        extensions="cc cpp cxx c++ hh hpp hxx h++ ipp cu cuh",
        claims=("h", is_cpp_header),
        path_kinds=(("test", r"(^|/)test[_-][^/]*\.(cc|cpp)$|_tests?\.(cc|cpp)$"),),
        code_extensions="cc cpp cxx hh hpp",
        grammar=Grammar("tree_sitter_cpp"),
        tags=c.TAGS + _TAGS,
        before_parsing=c.without_export_macros,
        head_doc=first_block,
        resolve_import=c.included_file,
        family="c",
        builtin_methods=c.BUILTIN_METHODS,
        own_object="this",
        has_namespaced_functions=True,
        branch_words="switch case catch",
        failures=(r"\b(?:throw|abort)\b",),
    ),
)
