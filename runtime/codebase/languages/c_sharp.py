"""Declares C#."""

from __future__ import annotations

import posixpath

from runtime.codebase.language_facts import value_queries
from runtime.codebase.language_parts.head_comments import first_block
from runtime.codebase.language_parts.idle_statements import IdleSyntax, thrown
from runtime.codebase.language_parts.language import Grammar, Language
from runtime.codebase.language_parts.repository_paths import RepositoryPaths

_TAGS = """
(class_declaration name: (identifier) @name) @definition.class
(interface_declaration name: (identifier) @name) @definition.interface
(struct_declaration name: (identifier) @name) @definition.struct
(record_declaration name: (identifier) @name) @definition.record
(enum_declaration name: (identifier) @name) @definition.enum
(delegate_declaration name: (identifier) @name) @definition.type
(method_declaration name: (identifier) @name) @definition.method
(constructor_declaration name: (identifier) @name) @definition.constructor
(property_declaration name: (identifier) @name) @definition.property
(field_declaration (variable_declaration (variable_declarator name: (identifier) @name))) @definition.field
(namespace_declaration name: (_) @scope.name) @scope
(invocation_expression function: (identifier) @name) @reference.call
(invocation_expression function: (member_access_expression name: (identifier) @name)) @reference.call
(object_creation_expression type: (identifier) @name) @reference.class
(base_list (identifier) @name) @reference.base
(using_directive (qualified_name) @import)
(using_directive (identifier) @import)
"""

_BUILTIN_METHODS = """
    Abs Add AddRange Aggregate All Any Append AppendFormat AppendLine AsReadOnly AsSpan Average Cast Clear Clone
    Close Compare CompareTo Concat ConfigureAwait Contains ContainsKey ContainsValue ContinueWith Copy CopyTo Count
    CreateInstance Delete Dequeue Dispose DisposeAsync Distinct ElementAt EndsWith Enqueue Equals Except Exists Exit
    Find FindAll FindIndex First FirstOrDefault Flush FlushAsync ForEach Get GetAwaiter GetBytes GetConstructor
    GetConstructors GetCustomAttribute GetCustomAttributes GetEnumerator GetField GetFields GetHashCode
    GetInterfaces GetMember GetMethod GetMethods GetName GetOrAdd GetProperties GetProperty GetResult GetService
    GetString GetType GetValue GroupBy IndexOf Insert Intersect IsAssignableFrom IsMatch Join Last LastIndexOf
    LastOrDefault Lock Match Matches Max Min MoveNext Next OfType OrderBy OrderByDescending PadLeft PadRight Peek
    Pop Push Range Read ReadAsync ReadLine ReadLineAsync ReadToEnd Remove RemoveAll RemoveAt RemoveRange Replace
    Reset Reverse Seek Select SelectMany SequenceEqual SetResult SetValue Single SingleOrDefault Skip SkipWhile
    Slice Sort Split StartsWith Substring Sum Take TakeWhile ThenBy ToArray ToCharArray ToDictionary ToHashSet
    ToList ToLookup ToLower ToLowerInvariant ToString ToUpper ToUpperInvariant Trim TrimEnd TrimStart TryAdd
    TryGetValue TryParse TryRemove Union Wait WaitOne Where Write WriteAsync WriteLine WriteLineAsync Zip
"""


def _namespace_folder(repository: RepositoryPaths, importer: str, module: str, _name: str) -> str | None:
    """Return the folder named after a namespace, with or without its first part."""
    dotted_folders = repository.kept(_folders_by_dotted_name)
    shorter = module.partition(".")[2]
    for dotted in (module, shorter) if "." in shorter else (module,):
        found = dotted_folders.get(dotted, ())
        if found:
            return min(found, key=lambda path: (-len(posixpath.commonprefix([path, importer])), len(path), path))
    return None


def _folders_by_dotted_name(repository: RepositoryPaths) -> dict[str, list[str]]:
    """Map every dotted ending of a folder path to the folders: `src/Shop.Core/Orders` is one of `Core.Orders`."""
    dotted_folders: dict[str, list[str]] = {}
    for folder in repository.folders:
        parts = folder.replace("/", ".").split(".")
        for start in range(len(parts)):
            dotted_folders.setdefault(".".join(parts[start:]), []).append(folder)
    return dotted_folders


_GENERAL = "Exception SystemException ApplicationException InvalidOperationException ArgumentException"
_IDLE = IdleSyntax(
    absent=frozenset({"null"}),
    fails=thrown(r"throw\s+new", _GENERAL) + r"|throw\s+null",
    wrapped=r"(.+)!",
    nothing_value=r"new\s+[\w.<>]+\[0\]|new\s+[\w.<>]*(?:\[\])+\s*\{\s*\}|\(\w+\??\)\s*(?:null|default)|Task\.CompletedTask|Task\.FromResult(?:<[\w<>?]+>)?\((?:null|default|0|false)\)|string\.Empty"
    r"|(?:Enumerable|Array)\.Empty<\w+>\(\)",
    nothing=r"Debug\.Assert\(\s*true\s*\)",
    never_returns=r"\[DoesNotReturn\]",
    idle_functions=r"[\w.]+\.(?:ToString|GetHashCode|Trim|ToLower|ToUpper)|[Ss]tring\.(?:Format|Concat|IsNullOrEmpty)|Math\.(?:Abs|Max|Min)",
    gives_way=r"await\s+Task\.(?:CompletedTask(?:\.ConfigureAwait\(\w+\))?|Yield\(\)|Delay\(\s*0\s*\))|Thread\.(?:Yield\(\)|Sleep\(\s*0\s*\))",
)

LANGUAGES = (
    Language(
        name="c_sharp",
        ecosystem="nuget",
        idle=_IDLE,
        values=value_queries.C_SHARP,
        extensions="cs",
        path_kinds=(
            ("test", r"(^|/)[^/]*(Tests?|TestCase|Spec)\.cs$"),
            ("generated", r"\.(g|designer)\.cs$"),
        ),
        code_extensions="cs",
        grammar=Grammar("tree_sitter_c_sharp"),
        tags=_TAGS,
        head_doc=first_block,
        resolve_import=_namespace_folder,
        builtin_methods=frozenset(_BUILTIN_METHODS.split()),
        own_object="this",
        branch_words="switch case catch",
        failures=(r"\bthrow\b", r"\bnew \w*(?:Error|Exception)\b"),
    ),
)
