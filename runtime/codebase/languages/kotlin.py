"""Declares Kotlin."""

from __future__ import annotations

import posixpath

from runtime.codebase.language_facts import value_queries
from runtime.codebase.language_parts.head_comments import first_block
from runtime.codebase.language_parts.idle_statements import TEXT, IdleSyntax, thrown
from runtime.codebase.language_parts.language import Grammar, Language
from runtime.codebase.language_parts.repository_paths import RepositoryPaths
from runtime.codebase.languages import java

_TAGS = """
(class_declaration name: (identifier) @name) @definition.class
(class_declaration "interface" name: (identifier) @name) @definition.interface
(class_declaration (modifiers (class_modifier) @_enum) name: (identifier) @name (#eq? @_enum "enum")) @definition.enum
(object_declaration name: (identifier) @name) @definition.object
(companion_object name: (identifier) @name) @definition.object
(type_alias type: (identifier) @name) @definition.type
(function_declaration name: (identifier) @name) @definition.function
(class_body (property_declaration (variable_declaration (identifier) @name)) @definition.property)
(source_file (property_declaration (variable_declaration (identifier) @name)) @definition.constant)
(call_expression . (identifier) @name) @reference.call
(call_expression . (navigation_expression (identifier) @name .)) @reference.call
(delegation_specifier (user_type (identifier) @name)) @reference.base
(delegation_specifier (constructor_invocation (user_type (identifier) @name))) @reference.base
(import (qualified_identifier) @import)
"""

_BUILTIN_METHODS = """
    all also any apply applyTo as asIterable asList asReversed asSequence associate associateBy associateWith async
    average awaitAll buffered byLazy capitalize checkNotNull chunked coerceAtLeast coerceAtMost coerceIn component1
    component2 containsAny copy copyTo count decapitalize distinctBy drop dropLast dropWhile elementAt
    elementAtOrNull filterIndexed filterIsInstance filterKeys filterNot filterNotNull filterTo filterValues find
    findLast firstNotNullOf firstOrNull flatten fold forEachIndexed getOrElse getOrNull getOrPut getValue groupBy
    groupingBy ifBlank ifEmpty indexOfFirst indexOfLast indices isNotBlank isNotEmpty isNullOrBlank isNullOrEmpty
    joinTo joinToString keysToMap lastOrNull lazy let linesOf mapIndexed mapKeys mapNotNull mapTo mapValues maxBy
    maxByOrNull maxOf maxOfOrNull minBy minByOrNull minOf minus minusAssign none onEach onEachIndexed orEmpty padEnd
    padStart partition plus plusAssign randomOrNull readBytes readText removePrefix removeSuffix removeSurrounding
    replaceAfter replaceBefore require requireNotNull reversed runCatching setValue shuffled single singleOrNull
    sortBy sortedBy sortedByDescending sortedDescending sortedWith substringAfter substringAfterLast substringBefore
    substringBeforeLast sumBy sumOf takeIf takeLast takeUnless takeWhile toBoolean toByteArray toDouble toFloat
    toHashSet toInt toIntOrNull toLong toLongOrNull toMap toMutableList toMutableMap toMutableSet toPair toRegex
    toSet toSortedMap toTypedArray trimEnd trimIndent trimMargin trimStart union until use useLines with withIndex
    writeText zip zipWithNext
"""


def _class_file(repository: RepositoryPaths, importer: str, module: str, _name: str) -> str | None:
    """Return the file of a class, or of the class whose member is imported."""
    tail = module.replace(".", "/")
    paths = (path + ending for path in (tail, posixpath.dirname(tail)) for ending in (".kt", ".java", ".kts") if path)
    return next((found for path in paths if (found := repository.ending(path, importer))), None)


_GENERAL = "Exception RuntimeException IllegalStateException IllegalArgumentException Error Throwable"
_IDLE = IdleSyntax(
    absent=frozenset({"null", "Unit"}),
    fails=thrown("throw", _GENERAL) + rf"|error\(\s*{TEXT}\s*\)",
    gives_way=r"(?:Thread\.)?yield\(\)|delay\(\s*0L?\s*\)",
    nothing=r"(?:check|require|assert)\(\s*true\s*\)|kotlin\.TODO\(.*\)|(?:[\w.]+\.)?(?:run|let|also|apply|with\(\w+\))\s*\{\s*\}",
    nothing_value=r"kotlin\.TODO\(.*\)|empty(?:List|Map|Set|Array|Sequence)(?:<[\w<>?, ]+>)?\(\)"
    r"|(?:mutable)?(?:[lL]ist|[sS]et|[mM]ap|array|sequence)Of(?:<[\w<>?, ]+>)?\(\)",
    never_returns=r"\)\s*:\s*Nothing\b(?!\?)",
    value_bodies=frozenset({"lambda_literal"}),
)

LANGUAGES = (
    Language(
        name="kotlin",
        ecosystem="maven",
        idle=_IDLE,
        values=value_queries.KOTLIN,
        extensions="kt kts",
        path_kinds=(("test", r"(^|/)[^/]*(Tests?|TestCase|Spec)\.kt$"),),
        code_extensions="kt kts",
        grammar=Grammar("tree_sitter_kotlin"),
        tags=_TAGS,
        head_doc=first_block,
        resolve_import=_class_file,
        family="jvm",
        builtin_methods=java.BUILTIN_METHODS | frozenset(_BUILTIN_METHODS.split()),
        calls_builtins_bare=True,
        own_object="this",
        branch_words="when catch",
        failures=(r"\bthrow\b",),
    ),
)
