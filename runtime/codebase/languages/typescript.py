"""Declares TypeScript and TSX."""

from __future__ import annotations

from runtime.codebase.language_facts import value_queries
from runtime.codebase.language_parts.head_comments import first_block
from runtime.codebase.language_parts.language import Grammar, Language
from runtime.codebase.languages import javascript

_TAGS = """
(function_declaration name: (identifier) @name) @definition.function
(generator_function_declaration name: (identifier) @name) @definition.function
(function_signature name: (identifier) @name) @definition.function
(class_declaration name: (type_identifier) @name) @definition.class
(abstract_class_declaration name: (type_identifier) @name) @definition.class
(interface_declaration name: (type_identifier) @name) @definition.interface
(type_alias_declaration name: (type_identifier) @name) @definition.type
(enum_declaration name: (identifier) @name) @definition.enum
(internal_module name: (identifier) @name) @definition.namespace
(module name: (identifier) @name) @definition.namespace
(method_signature name: (property_identifier) @name) @definition.method
(abstract_method_signature name: (property_identifier) @name) @definition.method
(public_field_definition name: (property_identifier) @name) @definition.field
(interface_body (property_signature name: (property_identifier) @name) @definition.field)
(public_field_definition name: (property_identifier) @name
  value: [(arrow_function) (function_expression)]) @definition.method
(pair key: (property_identifier) @name value: [(arrow_function) (function_expression)]) @definition.function
(call_expression function: (identifier) @name) @reference.call
(new_expression constructor: (identifier) @name) @reference.class
(class_heritage (extends_clause value: (identifier) @name)) @reference.base
(implements_clause (type_identifier) @name) @reference.base
(extends_type_clause (type_identifier) @name) @reference.base
(import_require_clause source: (string) @import)
"""


def _typescript(name: str, extensions: str, grammar: Grammar, head_files: str = "", interpreters: str = "") -> Language:
    return Language(
        name=name,
        ecosystem=javascript.ECOSYSTEM,
        idle=javascript.IDLE,
        extensions=extensions,
        interpreters=interpreters,
        path_kinds=(
            ("test", r"(^|/)test[_-][^/]*\.ts$|[._-](test|spec)s?\.[mc]?tsx?$"),
            ("declaration", r"\.d\.[cm]?ts$"),
        ),
        code_extensions=extensions,
        head_files=head_files,
        grammar=grammar,
        tags=_TAGS + javascript.COMMON_TAGS,
        head_doc=first_block,
        resolve_import=javascript.module_file,
        family="ecmascript",
        builtin_methods=javascript.BUILTIN_METHODS,
        types=javascript.TYPE_RULES,
        values=value_queries.TYPESCRIPT,
        own_object="this",
        constructors="constructor",
        branch_words="switch case catch",
        failures=(r"\b(?:throw|reject)\b", r"\bnew \w*(?:Error|Exception)\b"),
    )


LANGUAGES = (
    _typescript(
        "typescript", "ts mts cts", Grammar("tree_sitter_typescript", "language_typescript"), "index.ts mod.ts", "deno"
    ),
    _typescript("tsx", "tsx", Grammar("tree_sitter_typescript", "language_tsx")),
)
