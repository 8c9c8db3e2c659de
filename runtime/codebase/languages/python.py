"""Declares Python."""

from __future__ import annotations

import builtins
import io
import pathlib
import posixpath
import re
from collections import Counter, OrderedDict, deque
from collections.abc import Sequence
from datetime import datetime, timedelta

from runtime.codebase.language_facts import value_queries
from runtime.codebase.language_facts.python_facts import python_facts
from runtime.codebase.language_parts.head_comments import HeadDoc, told
from runtime.codebase.language_parts.idle_statements import TEXT, IdleSyntax, thrown
from runtime.codebase.language_parts.language import Grammar, Language
from runtime.codebase.language_parts.repository_paths import RepositoryPaths
from runtime.codebase.language_parts.type_rules import TypeRules

_TYPES = (
    *(str, bytes, list, dict, set, tuple, int, float, BaseException, deque, Counter, OrderedDict),
    *(io.StringIO, io.BufferedReader, io.TextIOWrapper, pathlib.Path, re.Pattern, re.Match, datetime, timedelta),
)
_ONE_ARGUMENT = (
    *("list", "set", "frozenset", "deque", "List", "Set", "FrozenSet", "Deque", "Sequence", "MutableSequence"),
    *(
        "Iterable",
        "Iterator",
        "Generator",
        "Collection",
        "AbstractSet",
        "MutableSet",
        "Tuple",
        "tuple",
        "AsyncIterator",
    ),
)
_SOURCE_FOLDERS = ("src/", "lib/", "python/")


def _docstring(head: Sequence[str]) -> HeadDoc | None:
    """Return the first statement if it is a triple-quoted string."""
    first = next((n for n, line in enumerate(head) if line.strip() and not line.lstrip().startswith("#")), None)
    opened = re.match(r"[rRuU]?(\"\"\"|''')", head[first]) if first is not None else None
    if first is None or opened is None:
        return None
    for number in range(first, len(head)):
        rest = head[number][opened.end() :] if number == first else head[number]
        if opened.group(1) in rest:
            return told(head, first, number, _without_quotes)
    return None


def _without_quotes(line: str) -> str:
    return re.sub(r"^[rRuU]?(?:\"\"\"|''')|(?:\"\"\"|''')\s*$", "", line)


def _module_file(repository: RepositoryPaths, importer: str, module: str, name: str) -> str | None:
    """Return the file of a module, or of the submodule that is imported by name."""
    if not module.startswith("."):
        modules = repository.kept(_modules)
        return (modules.get(f"{module}.{name}") if name else None) or modules.get(module)
    tail = module.lstrip(".")
    folder = posixpath.dirname(importer)
    for _ in range(len(module) - len(tail) - 1):
        folder = posixpath.dirname(folder)
    base = posixpath.join(folder, *tail.split(".")) if tail else folder
    candidates = [posixpath.join(base, name)] if name and name != "*" else []
    endings = (".py", "/__init__.py", ".pyi", "/__init__.pyi", ".pyx")
    return repository.first((one + ending).lstrip("/") for one in [*candidates, base] for ending in endings)


def _modules(repository: RepositoryPaths) -> dict[str, str]:
    """Map dotted names to files: from the top of their package, from the root, and from below a source folder."""
    paths, root_name = repository.paths, repository.root_name
    packages = {
        posixpath.dirname(path) for path in paths if posixpath.basename(path) in ("__init__.py", "__init__.pyi")
    }
    modules: dict[str, str] = {}
    weaker: list[tuple[str, str]] = []
    for path in sorted(paths):
        base, extension = posixpath.splitext(path)
        if extension not in (".py", ".pyi", ".pyx"):
            continue
        base = base.removesuffix("__init__").rstrip("/") if posixpath.basename(base) == "__init__" else base
        top = posixpath.dirname(path)
        if top not in packages:
            inside = posixpath.basename(base)
        else:
            while top and posixpath.dirname(top) in packages:
                top = posixpath.dirname(top)
            above = posixpath.dirname(top)
            inside = base[len(above) + 1 :] if above else base
            if top == "" or "" in packages:
                inside = f"{root_name}/{base}".rstrip("/") if root_name else base
        modules.setdefault(inside.replace("/", "."), path)
        weaker.append((base.replace("/", "."), path))
        weaker += [
            (base[len(folder) :].replace("/", "."), path) for folder in _SOURCE_FOLDERS if base.startswith(folder)
        ]
    for dotted, path in weaker:
        modules.setdefault(dotted, path)
    return modules


_TYPE_RULES = TypeRules(
    extract=python_facts,
    imports="module",
    sees_class_names=False,
    builtins=frozenset(name for name in dir(builtins) if not name.startswith("_")),
    constructs_by_call=True,
    call_method="__call__",
    constructor="__init__",
    enter_methods=("__enter__", "__aenter__"),
    iterator_method="__iter__",
    index_method="__getitem__",
    plain_bases=frozenset({"object", "ABC", "ABCMeta", "Generic", "Protocol", "type"}),
    own_type=frozenset({"Self"}),
    awaited=frozenset({"Awaitable", "Coroutine", "Future", "Task"}),
    elements=dict.fromkeys(_ONE_ARGUMENT, 0) | {"dict": 0, "Dict": 0, "Mapping": 0, "MutableMapping": 0},
    indexed=dict.fromkeys(_ONE_ARGUMENT, 0)
    | {"dict": 1, "Dict": 1, "Mapping": 1, "MutableMapping": 1, "defaultdict": 1},
    element_methods={"get": -1, "pop": -1, "popleft": -1, "setdefault": -1, "popitem": -1, "__getitem__": -1},
    collection_methods={"values": -1, "copy": 0},
    results={"open": "TextIOWrapper", "sorted": "list", "str": "str", "repr": "str", "len": "int", "int": "int"},
    opaque=frozenset({"TypeVar", "ParamSpec", "NewType", "TypeVarTuple", "Any", "object", "Self", "Type", "Callable"}),
)

_IDLE = IdleSyntax(
    absent=frozenset({"None"}),
    nothing_value=r"\.\.\.",
    empty_is_false=True,
    fails=thrown("raise", "Exception RuntimeError ValueError AssertionError")
    + rf"(?:\s+from\s+None)?|assert\s+(?:False|0|None)(?:\s*,\s*{TEXT})?",
    never_returns=r"->\s*[\"']?(?:[\w.]+\.)?(?:NoReturn|Never)\b",
    wrapped=r"(?:typing\.|t\.)?cast\([^(),]+,\s*(\w+)\s*\)",
    pure_calls=r"(?:range|len|isinstance|callable|bool|type)\([\w\s,.]*\)",
    pure_functions=(
        r"len|isinstance|issubclass|callable|bool|type|str|repr|dict|list|set|tuple|frozenset|sorted|reversed|enumerate|zip"
        r"|range|object|id|abs|round|min|max|sum|any|all|[\"'][^\n]*[\"']\.(?:format|join)"
    ),
    idle_functions=r"str|repr|ascii|bool|id|type|isinstance|issubclass|callable|len|object",
    idle_alone=r"hash|dir|chr|ord|hex|oct|bin|abs|round|divmod|pow|slice|range|zip|map|filter|enumerate|reversed|format"
    r"|(?:[\w.]+|[\"'][^\n]*[\"'])\.(?:l?strip|rstrip|lower|upper|title|casefold|capitalize|swapcase|splitlines|(?:starts|ends)with"
    r"|is(?:digit|alpha|alnum|lower|upper|space)|[lr]just|zfill|remove(?:prefix|suffix)|copy|keys|values|items)"
    r"|[\"'][^\n]*[\"']\.(?:format|join)|os\.(?:getpid|getcwd|path\.\w+)|math\.\w+|copy\.(?:deep)?copy|logging\.getLogger"
    r"|(?:time\.)?(?:time|time_ns|monotonic|perf_counter)|(?:datetime\.)?datetime\.(?:now|utcnow|today)",
    checking_functions=r"list|dict|tuple|set|frozenset|sorted|sum|max|min|any|all|iter|hasattr|int|float|complex|bytes|bytearray|getattr|vars"
    r"|json\.(?:dumps|loads)|re\.compile|ast\.parse|(?:uuid\.)?UUID|(?:decimal\.)?Decimal|(?P<on>[\w.]+)\.(?:encode|decode)|(?:datetime\.)?date(?:time)?\.fromisoformat",
    nothing=r"assert\s+(?P<same>[\w.]+)\s*(?:is|==|<=|>=)\s*(?P=same)|\(\s*(?:None|\.\.\.|0)\s*\)\(\)",
    drains=r"\bdef\s+\w*(?:consum|drain|exhaust|deplet|iterate|spin|wait)\w*",
    gives_way=r"(?:await\s+)?(?:(?:asyncio|anyio|trio|time|gevent)\.)?sleep\(\s*0?(?:\.0*)?\s*\)"
    r"|await\s+(?:asyncio\.)?gather\(\)",
    idle_contexts=r"\(?(?:(?:contextlib\.)?(?:suppress|nullcontext)\([\w\s.,]*\)(?:\s+as\s+\w+)?[\s,]*)+\)?",
    assigns_locals=True,
    imports=r"(?:from\s+[\w.]+\s+)?import\s+[\w.,*()\s#]+",
    not_local=r"(?m:^|;)\s*(?:global|nonlocal)\b",
)

PYTHON = Language(
    name="python",
    ecosystem="pypi",
    idle=_IDLE,
    extensions="py pyi pyw",
    interpreters="python pypy",
    path_kinds=(
        ("test", r"(^|/)(test[_-][^/]*\.py|conftest\.py)$|_tests?\.py$"),
        ("generated", r"_pb2(_grpc)?\.pyi?$"),
        ("declaration", r"\.pyi$"),
    ),
    code_extensions="py pyi",
    head_files="__init__.py",
    grammar=Grammar("tree_sitter_python"),
    is_scoped=True,
    types=_TYPE_RULES,
    values=value_queries.PYTHON,
    head_doc=_docstring,
    resolve_import=_module_file,
    family="python",
    builtin_methods=frozenset(name for kind in _TYPES for name in dir(kind) if not name.startswith("_")),
    own_object="self cls super()",
    constructors="__init__",
    has_global_types=False,
    branch_words="elif match case except",
    failures=(r"\braise\b",),
)

LANGUAGES = (
    PYTHON,
    Language(
        name="cython",
        extensions="pyx pxd pxi",
        code_extensions="pyx",
        resolve_import=_module_file,
        family="python",
    ),
)
