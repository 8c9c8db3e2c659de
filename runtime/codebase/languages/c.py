"""Declares C, and defines the parts that C++ shares with it."""

from __future__ import annotations

import re

from runtime.codebase.language_facts import value_queries
from runtime.codebase.language_facts.c_facts import c_facts
from runtime.codebase.language_parts.head_comments import first_block
from runtime.codebase.language_parts.idle_statements import TEXT, IdleSyntax
from runtime.codebase.language_parts.language import Grammar, Language
from runtime.codebase.language_parts.repository_paths import RepositoryPaths
from runtime.codebase.language_parts.type_rules import TypeRules

TAGS = """
(struct_specifier name: (type_identifier) @name body: (_)) @definition.struct
(enum_specifier name: (type_identifier) @name body: (_)) @definition.enum
(field_declaration declarator: (field_identifier) @name) @definition.field
(field_declaration declarator: (pointer_declarator declarator: (field_identifier) @name)) @definition.field
(preproc_def name: (identifier) @name) @definition.constant
(preproc_function_def name: (identifier) @name) @definition.macro
(translation_unit (declaration declarator: (init_declarator declarator: (identifier) @name)) @definition.variable)
(translation_unit (declaration
  declarator: (init_declarator declarator: (array_declarator declarator: (identifier) @name))) @definition.variable)
(call_expression function: (identifier) @name) @reference.call
(call_expression function: (field_expression field: (field_identifier) @name)) @reference.call
(preproc_include path: (_) @import)
"""

# Those of the C++ standard library too, since a C++ header may have the extension of C.
_BUILTIN_METHODS = """
    append assign at back back_inserter begin bind c_str capacity cbegin cend clear close compare
    compare_exchange_strong compare_exchange_weak copy count crbegin crend data detach emplace emplace_back
    emplace_front empty end equal_range erase exchange fail fetch_add fetch_sub fill find find_first_of find_if
    find_last_of first flush for_each forward front full get getline good has_value hash imbue insert is_open join
    joinable length lock lower_bound make_pair make_shared make_tuple make_unique max max_size merge min move
    native_handle notify_all notify_one open owns_lock peek pop pop_back pop_front push push_back push_front put
    rbegin rdbuf rdstate read release remove rend replace reserve reset resize rfind second seekg seekp size sort
    splice starts_with str substr swap tellg tellp tie top transform try_lock unique unlock upper_bound use_count
    value value_or wait wait_for wait_until what write
"""

BUILTIN_METHODS = frozenset(_BUILTIN_METHODS.split())

_HEADERS = """
    assert complex ctype dirent dlfcn errno fcntl fenv float glob grp iconv inttypes iso646 langinfo limits locale math
    netdb poll pthread pwd regex sched semaphore setjmp signal stdalign stdarg stdatomic stdbool stddef stdint stdio
    stdlib stdnoreturn string strings syslog termios tgmath threads time uchar unistd wchar wctype
"""
_STANDARD_HEADERS = frozenset(f"{name}.h" for name in _HEADERS.split())

_EXPORT_MACRO = re.compile(
    rb"(\b(?:class|struct|enum)[ \t]+)([A-Z][A-Z0-9_]*_(?:API|EXPORT|PUBLIC|VISIBLE|DLL|INTERFACE)\b)(?=[ \t]+\w)"
)


def without_export_macros(source: bytes) -> bytes:
    """Blank out macros like `SHOP_API` after `class`, which grammars would take for its name."""
    return _EXPORT_MACRO.sub(lambda found: found.group(1) + b" " * len(found.group(2)), source)


def included_file(repository: RepositoryPaths, importer: str, module: str, _name: str) -> str | None:
    """Return the included file beside the including one, or else one whose path ends in the included path.

    A header of the standard library is one of the repository only beside it, at the top, or in `include`.
    """
    beside = repository.beside(importer, module)
    if beside in repository.paths:
        return beside
    if module in _STANDARD_HEADERS:
        return next((path for path in (f"include/{module}", module) if path in repository.paths), None)
    return repository.ending(module.lstrip("./"), importer)


_TYPE_RULES = TypeRules(extract=c_facts, imports="text")

IDLE = IdleSyntax(
    absent=frozenset({"NULL", "nullptr"}),
    fails=r"abort\(\)|_?exit\(\s*\w+\s*\)|__builtin_(?:unreachable|trap)\(\)"
    rf"|assert\(\s*(?:(?:0|false)(?:\s*&&\s*{TEXT})?|!\s*{TEXT})\s*\)",
    nothing=rf"(?:assert|(?:_S|s)tatic_assert)\(\s*(?:1|true)\s*(?:,\s*{TEXT}\s*)?\)|(?:__)?asm(?:__)?\(\s*\"\"\s*\)"
    r"|PyErr_(?:SetString|SetNone|Format)\(\s*PyExc_NotImplementedError\b.*\)",
    never_returns=r"\b_?[Nn]oreturn\b",
    idle_functions=r"(?:std::)?(?:strlen|l?l?abs|fabs|is(?:alnum|alpha|digit|space|upper|lower)|to(?:upper|lower))",
    gives_way=r"(?:std::this_thread::yield|sched_yield)\(\)|u?sleep\(\s*0\s*\)",
)

LANGUAGES = (
    Language(
        name="c",
        ecosystem="system",
        idle=IDLE,
        extensions="c h",
        path_kinds=(("test", r"(^|/)test[_-][^/]*\.c$|_tests?\.c$"),),
        code_extensions="c h",
        grammar=Grammar("tree_sitter_c"),
        tags=TAGS,
        before_parsing=without_export_macros,
        head_doc=first_block,
        resolve_import=included_file,
        family="c",
        builtin_methods=BUILTIN_METHODS,
        types=_TYPE_RULES,
        values=value_queries.C,
        branch_words="switch case",
        failures=(r"\babort\b",),
    ),
)
