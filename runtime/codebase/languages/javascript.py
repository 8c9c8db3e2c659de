"""Declares JavaScript, and defines the parts that TypeScript shares with it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from runtime.codebase.language_facts import value_queries
from runtime.codebase.language_facts.ecmascript_facts import ecmascript_facts
from runtime.codebase.language_parts.head_comments import first_block
from runtime.codebase.language_parts.idle_statements import TEXT, IdleSyntax, thrown
from runtime.codebase.language_parts.language import Grammar, Language
from runtime.codebase.language_parts.repository_paths import RepositoryPaths
from runtime.codebase.language_parts.type_rules import TypeRules

# TypeScript publishes in the same registry.
ECOSYSTEM = "npm"

COMMON_TAGS = """
(method_definition name: [(property_identifier) (private_property_identifier)] @name) @definition.method
(variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression)]) @definition.function
(assignment_expression
  left: (member_expression object: [(identifier) (member_expression)] @owner property: (property_identifier) @name)
  right: [(arrow_function) (function_expression) (generator_function)]) @definition.function
(assignment_expression
  left: [(identifier) @name (member_expression property: (property_identifier) @name)]
  right: (class)) @definition.class
(program (lexical_declaration
  (variable_declarator name: (identifier) @name value: [(call_expression) (object) (array) (string) (number)
    (new_expression) (template_string) (regex) (identifier) (member_expression)]) @definition.constant))
(program (variable_declaration
  (variable_declarator name: (identifier) @name value: [(object) (array) (string) (number) (new_expression) (regex)
    (call_expression)]) @definition.variable))
(export_statement (lexical_declaration
  (variable_declarator name: (identifier) @name value: [(call_expression) (object) (array) (string) (number)
    (new_expression) (template_string) (regex)]) @definition.constant))
(import_statement source: (string) @import)
(export_statement source: (string) @import)
(call_expression function: (identifier) @_require arguments: (arguments . (string) @import)
  (#eq? @_require "require"))
(call_expression function: (import) arguments: (arguments . (string) @import))
(call_expression function: (member_expression property: (property_identifier) @name)) @reference.call
"""

_TAGS = """
(class_heritage (identifier) @name) @reference.base
"""

_BUILTIN_METHODS = """
    add addEventListener addListener all allSettled any append appendChild apply assign at attr before bind blur
    call catch charAt charCodeAt clear clone close closest codePointAt concat contains copyWithin createReadStream
    delete destroy digest end endsWith entries eventNames every fill filter finally find findIndex findLast
    findLastIndex flat flatMap flush focus forEach formatToParts from get getAll getAttribute getItem getTime
    getTimezoneOffset has hasAttribute hasOwnProperty includes indexOf insertBefore is isArray isPrototypeOf item
    join json keys lastIndexOf listenerCount listeners localeCompare log map match matchAll next normalize on once
    padEnd padStart pipe pop postMessage prepend preventDefault propertyIsEnumerable push querySelector
    querySelectorAll read readFile reduce reduceRight ref remove removeAllListeners removeAttribute removeChild
    removeEventListener removeItem removeListener repeat replace replaceAll replaceChildren reverse set setAttribute
    setEncoding setHeader setItem setTimeout shift size slice some sort splice split startsWith stopPropagation
    stringify subarray substr substring test then throw toFixed toISOString toJSON toLocaleString toLowerCase
    toPrecision toString toUpperCase trim trimEnd trimStart unbind unpipe unref unshift valueOf values warn write
    writeHead
"""

BUILTIN_METHODS = frozenset(_BUILTIN_METHODS.split())
_MODULE_EXTENSIONS = ("", ".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".d.ts", ".json", ".vue", ".svelte")
_MODULE_ENDINGS = (
    *_MODULE_EXTENSIONS,
    *("/index" + ending for ending in (".ts", ".tsx", ".js", ".jsx", ".mjs")),
)
# Mostly the first key; the names of authors lie deeper.
_NAME_OF_PACKAGE = re.compile(r'^(?:\{\s*|[ \t]{1,4})"name"\s*:\s*"([^"\s]{1,214})"', re.MULTILINE)


def module_file(repository: RepositoryPaths, importer: str, module: str, _name: str) -> str | None:
    """Return the file of a module by its path from the importing one; `.js` may stand for a source such as `.ts`.

    A module without such a path is one of the repository if a package of it has that name: its sources are in `src`,
    beside its `package.json`, or in `lib`, for what is built from them is mostly not there.
    """
    if not module.startswith("."):
        return _file_of_package(repository, module)
    return _first_of(repository, [repository.beside(importer, module)])


def _first_of(repository: RepositoryPaths, bases: Sequence[str]) -> str | None:
    named = [name for base in bases for name in (base, re.sub(r"\.[mc]?jsx?$", "", base))]
    return repository.first((name + ending).removeprefix("./") for name in named for ending in _MODULE_ENDINGS)


def _file_of_package(repository: RepositoryPaths, module: str) -> str | None:
    parts = module.split("/")
    count = 2 if module.startswith("@") else 1
    folder = repository.kept(_folders_of_packages).get("/".join(parts[:count]))
    if folder is None:
        return None
    below = "/".join(parts[count:]) or "index"
    return _first_of(repository, [f"{folder}/{within}{below}".removeprefix("/") for within in ("src/", "", "lib/")])


def _folders_of_packages(repository: RepositoryPaths) -> dict[str, str]:
    """Return the folders of the packages of a repository by their names, without names that several have."""
    declared = repository.declared_modules.get("javascript", {})
    counts = Counter(declared.values())
    return {name: folder for folder, name in declared.items() if counts[name] == 1}


TYPE_RULES = TypeRules(
    extract=ecmascript_facts,
    imports="exports",
    sees_class_names=False,
    unbound_is_external=True,
    constructor="constructor",
    own_type=frozenset({"this"}),
    awaited=frozenset({"Promise", "PromiseLike", "Awaitable"}),
    transparent=frozenset({"Readonly", "NonNullable", "Partial", "Required", "Awaited"}),
    elements=dict.fromkeys(("Array", "ReadonlyArray", "Set", "ReadonlySet", "Iterable", "IterableIterator", "list"), 0),
    indexed={"Array": 0, "ReadonlyArray": 0, "Record": 1},
    element_methods={"get": -1, "pop": -1, "shift": -1, "find": -1, "at": -1},
    collection_methods={"values": -1, "filter": -1, "slice": -1},
)

_CONSTANT_ERROR = thrown(r"(?:new\s+)?", "Error")
IDLE = IdleSyntax(
    absent=frozenset({"null", "undefined"}),
    fails=thrown(r"throw(?:\s+new)?", "Error") + rf"|throw\s*\(?\s*{TEXT}\s*\)?",
    # Marks of TypeScript, which change the type alone.
    wrapped=r"(.+)!|(.+?)\s+as\s+[\w.<>\[\]| ]+",
    failed_value=rf"Promise\.reject\(\s*(?:{_CONSTANT_ERROR}|{TEXT})\s*\)",
    nothing_value=r"(?:new\s+)?(?:Array|Object|String|Number|Boolean)\(\s*\)|Object\.create\(\s*null\s*\)|<[\w<>\[\]]+>\s*\{\s*\}"
    r"|\[\s*\.\.\.\s*\[\s*\]\s*\]|\{\s*\.\.\.\s*\{\s*\}\s*\}",
    never_returns=r"\)\s*:\s*never\b",
    nothing=r"(?:const|let|var)\s+(?:\w+|\{[\w\s,:]*\})\s*=\s*require\(\s*(?:\"[^\"]*\"|'[^']*')\s*\)",
    idle_functions=r"String|Number|Boolean|BigInt|Symbol|parseInt|parseFloat|isNaN|isFinite|Object\.(?:keys|values|entries)"
    r"|Array\.isArray|Math\.(?:abs|ceil|floor|max|min|round|sign|trunc)|[\w$.]+\.(?:toString|valueOf|trim|toLowerCase|toUpperCase)",
    idle_alone=r"Date\.now|performance\.now|[\w$.]+\.(?:slice|concat|indexOf|includes|startsWith|endsWith|split|padStart|padEnd)"
    r"|Object\.(?:is|getPrototypeOf)|Number\.is\w+|Array\.(?:of)",
    checking_functions=r"Array\.from|JSON\.(?:stringify|parse)|structuredClone|encodeURI(?:Component)?|decodeURI(?:Component)?",
    # The heads of functions are blanked out of what is matched.
    pure_calls=r"[\w$.]+\.(?:forEach|map|filter)\(\s*\{\s*\}\s*\)",
    gives_way=r"await\s+(?:Promise\.resolve\(\)|new\s+Promise\(\s*(?:setTimeout|setImmediate|process\.nextTick)"
    r"\(\s*\w+(?:\s*,\s*0)?\s*\)\s*\))"
    r"|(?:setTimeout|setImmediate|queueMicrotask|process\.nextTick)\(\s*\{\s*\}\s*(?:,\s*0)?\)",
)

LANGUAGES = (
    Language(
        name="javascript",
        ecosystem=ECOSYSTEM,
        idle=IDLE,
        extensions="js jsx mjs cjs",
        interpreters="node",
        path_kinds=(
            ("test", r"(^|/)test[_-][^/]*\.m?js$|[._-](test|spec)s?\.[mc]?jsx?$"),
            ("generated", r"\.(min|bundle)\.js$"),
        ),
        code_extensions="js jsx mjs cjs",
        head_files="index.js",
        grammar=Grammar("tree_sitter_javascript"),
        tags=_TAGS + COMMON_TAGS,
        head_doc=first_block,
        resolve_import=module_file,
        module_declaration=("package.json", _NAME_OF_PACKAGE),
        family="ecmascript",
        builtin_methods=BUILTIN_METHODS,
        types=TYPE_RULES,
        values=value_queries.JAVASCRIPT,
        own_object="this",
        constructors="constructor",
        branch_words="switch case catch",
        failures=(r"\b(?:throw|reject)\b", r"\bnew \w*(?:Error|Exception)\b"),
    ),
)
