"""Declares PHP."""

from __future__ import annotations

from runtime.codebase.language_facts import value_queries
from runtime.codebase.language_parts.head_comments import first_block
from runtime.codebase.language_parts.idle_statements import TEXT, IdleSyntax, thrown
from runtime.codebase.language_parts.language import Grammar, Language
from runtime.codebase.language_parts.repository_paths import RepositoryPaths

_TAGS = """
(enum_declaration name: (name) @name) @definition.enum
(trait_declaration name: (name) @name) @definition.trait
(const_element (name) @name) @definition.constant
(function_call_expression function: (name) @name) @reference.call
(object_creation_expression (name) @name) @reference.class
(base_clause (name) @name) @reference.base
(method_declaration name: (name) @name) @definition.method
(property_declaration (property_element (variable_name (name) @name))) @definition.property
(namespace_use_clause (qualified_name) @import)
"""

_BUILTIN_METHODS = """
    __toString append bindParam bindValue contains count current diff each end fetch fetchAll fetchColumn format get
    getCode getContents getFile getIterator getLine getMessage getPath getPathname getPrevious getTimestamp getTrace
    getTraceAsString isFile isReadable key map merge modify next offsetExists offsetGet offsetSet reset rewind
    rollBack setTimezone size slice sort sub toArray valid
"""


def _class_file(repository: RepositoryPaths, importer: str, module: str, _name: str) -> str | None:
    """Return the file of a class, whose path ends in its qualified name or in the later parts of it."""
    parts = module.strip("\\").split("\\")
    for start in range(max(len(parts) - 1, 1)):
        found = repository.ending("/".join(parts[start:]) + ".php", importer)
        if found:
            return found
    return None


_GENERAL = "Exception RuntimeException LogicException InvalidArgumentException DomainException Error"
_IDLE = IdleSyntax(
    absent=frozenset({"null", "NULL"}),
    keywords_in_any_case=True,
    fails=thrown(r"throw\s+new", _GENERAL)
    + rf"|(?:die|exit)\s*(?:\(\s*(?:{TEXT}|\d+)?\s*\))?|trigger_error\(\s*{TEXT}(?:\s*,\s*\w+)?\s*\)",
    nothing=r"unset\(\s*\$\w+\s*\)",
    nothing_value=r"array\(\s*\)",
    never_returns=r"\)\s*:\s*never\b",
    idle_functions=r"strval|intval|floatval|boolval|count|strlen|trim|strtolower|strtoupper|is_\w+|gettype",
    pure_calls=r"(?:count|isset|empty)\(\s*\$\w+\s*\)",
    assigns_locals=True,
    not_local=r"&\s*\$",
)

LANGUAGES = (
    Language(
        name="php",
        ecosystem="composer",
        idle=_IDLE,
        values=value_queries.PHP,
        extensions="php php5 phtml",
        interpreters="php",
        path_kinds=(("test", r"(^|/)test[_-][^/]*\.php$|(^|/)[^/]*(Tests?|TestCase|Spec)\.php$"),),
        code_extensions="php",
        grammar=Grammar("tree_sitter_php", "language_php"),
        tags=_TAGS,
        head_doc=first_block,
        resolve_import=_class_file,
        builtin_methods=frozenset(_BUILTIN_METHODS.split()),
        own_object="$this static self",
        declares_namespace=r"^\s*(?:<\?php\s+)?namespace\s+(?P<name>\w+(?:\\\w+)*)\s*[;{]",
        branch_words="switch case match catch",
        failures=(r"\b(?:throw|die)\b", r"\bnew \w*(?:Error|Exception)\b"),
    ),
)
