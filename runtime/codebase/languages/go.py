"""Declares Go."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence

from runtime.codebase.language_facts import value_queries
from runtime.codebase.language_facts.go_facts import go_facts
from runtime.codebase.language_parts.head_comments import HeadDoc, block, told
from runtime.codebase.language_parts.idle_statements import IdleSyntax
from runtime.codebase.language_parts.language import Grammar, Language
from runtime.codebase.language_parts.repository_paths import RepositoryPaths
from runtime.codebase.language_parts.type_rules import TypeRules

_TAGS = """
(method_declaration
  receiver: (parameter_list (parameter_declaration type: [
    (type_identifier) @owner
    (pointer_type (type_identifier) @owner)
    (generic_type type: (type_identifier) @owner)
    (pointer_type (generic_type type: (type_identifier) @owner))]))
  name: (field_identifier) @name) @definition.method
(type_spec name: (type_identifier) @name type: (struct_type)) @definition.struct
(type_spec name: (type_identifier) @name type: (interface_type)) @definition.interface
(method_elem name: (field_identifier) @name) @definition.method
(field_declaration name: (field_identifier) @name) @definition.field
(source_file (const_declaration (const_spec name: (identifier) @name) @definition.constant))
(source_file (var_declaration (var_spec name: (identifier) @name) @definition.variable))
(source_file (var_declaration (var_spec_list (var_spec name: (identifier) @name) @definition.variable)))
(import_spec path: (_) @import)
"""

_BUILTIN_METHODS = """
    Bytes Cap Close Copy Done Err Error Fields Flush Format Get Join Len Less Lock Next Now Peek Pop Printf Println
    Push Range Read ReadAll ReadByte ReadFrom ReadString Replace RLock RUnlock Seek Set Sleep Split Stat String Sub
    Swap Trim TryLock Unlock Unwrap Value Wait Write WriteByte WriteString WriteTo
"""


_PREDECLARED = """
    any append bool byte cap chan clear close comparable complex complex128 complex64 copy delete error false float32
    float64 imag int int16 int32 int64 int8 iota len make map max min new nil panic print println real recover rune
    string true tuple uint uint16 uint32 uint64 uint8 uintptr []
"""


def _above_package(head: Sequence[str]) -> HeadDoc | None:
    """Return the comment that ends right above the `package` clause."""
    at = next((n for n, line in enumerate(head) if line.startswith("package ")), None)
    if not at:
        return None
    if head[at - 1].startswith("//"):
        start = at - 1
        while start > 0 and head[start - 1].startswith("//"):
            start -= 1
        return told(head, start, at - 1, lambda line: line.removeprefix("//"))
    if head[at - 1].endswith("*/"):
        opening = next((n for n in range(at - 1, -1, -1) if head[n].startswith("/*")), None)
        return None if opening is None else block(head, opening)
    return None


def _package_folder(repository: RepositoryPaths, _importer: str, module: str, _name: str) -> str | None:
    """Return the folder of a package, below the folder whose `go.mod` declares the prefix of its path."""
    for folder, declared in repository.declared_modules.get("go", {}).items():
        if module == declared or module.startswith(declared + "/"):
            target = posixpath.join(folder, module[len(declared) + 1 :]).strip("/")
            return (target or ".") if not target or target in repository.folders else None
    return None


_TYPE_RULES = TypeRules(
    extract=go_facts,
    imports="folder",
    shares_package="folder",
    builtins=frozenset(_PREDECLARED.split()),
    elements={"[]": 0, "chan": 0},
    indexed={"[]": 0, "map": 1},
)

_CONSTANT = r"""(?:"[^"]*"|`[^`]*`)"""
_IDLE = IdleSyntax(
    absent=frozenset({"nil"}),
    fails=rf"panic\(\s*(?:{_CONSTANT}|(?:errors\.New|fmt\.Errorf|fmt\.Sprintf)\(\s*{_CONSTANT}\s*\)|nil)\s*\)",
    wrapped=r"(\w+)\s*,\s*nil",
    failed_value=rf"(?:errors\.New|fmt\.Errorf)\(\s*{_CONSTANT}\s*\)",
    nothing_value=r"\[\]\*?[\w.]+\{\s*\}|map\[\w+\][\w.]+\{\s*\}|make\((?:\[\]|map\[\w+\])[\w.]+(?:,\s*0)?\)|\*new\(\w+\)",
    nothing=r"(?:(?:defer|go)\s+)?(?:func\(\)\s*)?(?:\{\s*\}\s*)?\(\)",
    pure_calls=r"(?:len|cap)\(\s*\w+\s*\)",
    idle_functions=r"len|cap|string|u?int(?:8|16|32|64)?|float(?:32|64)|bool|\[\](?:byte|rune)|fmt\.(?:Sprint(?:f|ln)?|Errorf)"
    r"|strconv\.(?:Itoa|Quote)|errors\.New|strings\.(?:TrimSpace|ToLower|ToUpper)",
    idle_alone=r"time\.(?:Now|Since)|strings\.(?:Contains|HasPrefix|HasSuffix|Fields|Split|Repeat|Replace(?:All)?|Trim\w*|Index)"
    r"|os\.(?:Getpid|Getenv)|filepath\.(?:Join|Base|Dir|Clean)|math\.\w+|make|new|min|max",
    checking_functions=r"json\.Marshal|strconv\.(?:Atoi|Parse\w+)|url\.Parse",
    gives_way=r"time\.Sleep\(\s*0\s*\)|runtime\.Gosched\(\)",
    drains=r"\b(\w+)\s+(?:<-\s*)?chan\b",
)

LANGUAGES = (
    Language(
        name="go",
        ecosystem="go",
        idle=_IDLE,
        extensions="go",
        path_kinds=(
            ("test", r"_tests?\.go$"),
            ("generated", r"\.pb\.go$|_easyjson\.go$|/zz_generated[^/]*\.go$|[._]gen\.go$"),
        ),
        code_extensions="go",
        head_files="main.go doc.go",
        grammar=Grammar("tree_sitter_go"),
        tags=_TAGS,
        head_doc=_above_package,
        resolve_import=_package_folder,
        module_declaration=("go.mod", re.compile(r"^\s*module\s+(\S+)", re.MULTILINE)),
        imports_folders=True,
        builtin_methods=frozenset(_BUILTIN_METHODS.split()),
        types=_TYPE_RULES,
        values=value_queries.GO,
        names_own_object=True,
        branch_words="switch case",
        failures=(r"\bpanic\b", r"\b(?:fmt\.Errorf|errors\.New)\b"),
    ),
)
