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

LANGUAGES = (
    Language(
        name="cpp",
        idle=_IDLE,
        values=value_queries.CPP,
        extensions="cc cpp cxx c++ hh hpp hxx h++ ipp cu cuh",
        claims=("h", _CPP_ONLY),
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
