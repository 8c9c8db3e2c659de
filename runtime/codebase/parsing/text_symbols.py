"""Symbols of files without a grammar, by the look of their lines.

Markdown and reStructuredText headings become `section` symbols, the top-level keys of YAML, TOML, INI and JSON become
`key` symbols, and lines that open a class or a function in any other language become those. Extents are estimates: a
symbol ends where the next one of the same or a lower indent begins.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from runtime.codebase.files.source_text import split_lines
from runtime.codebase.parsing.syntax import FileSyntax, Symbol

MAX_NAME_CHARS = 120
MAX_SIGNATURE_CHARS = 200
MAX_KEYS = 300
_LONGEST_LINE_CHARS = 1000

# Line, indent or heading level, name, kind.
_Opening = tuple[int, int, str, str]

_FENCE = re.compile(r"^\s{0,3}(```|~~~)")
_ATX_HEADING = re.compile(r"^\s{0,3}(#{1,6})\s+(.+?)\s*#*\s*$")
_SETEXT_RULE = re.compile(r"^\s{0,3}(=+|-{2,})\s*$")
_RST_RULE = re.compile(r"^([=\-~^\"'`#*+.:_])\1{2,}\s*$")
_YAML_KEY = re.compile(r"^([A-Za-z_][\w .$/-]*?)\s*:(?:\s|$)")
_TOML_KEY = re.compile(r"^\[{1,2}\s*([^\]]+?)\s*\]{1,2}|^([A-Za-z_][\w.-]*)\s*[=:]")
_JSON_KEY = re.compile(r"^(\s*)\"([^\"]+)\"\s*:")
_MAKE_TARGET = re.compile(r"^([A-Za-z_][\w./-]*)\s*:(?![=:])")
_SHELL_FUNCTION = re.compile(r"^\s*(?:function\s+)?([A-Za-z_][\w:-]*)\s*\(\)\s*\{?|^\s*function\s+([A-Za-z_][\w:-]*)")
_SQL_OBJECT = re.compile(
    r"^\s*create\s+(?:or\s+replace\s+)?(?:temp(?:orary)?\s+)?(table|view|function|procedure|index|trigger|type)\s+"
    r"(?:if\s+not\s+exists\s+)?([\w.\"`]+)",
    re.IGNORECASE,
)
_OPENING = re.compile(
    r"^(\s*)(?:(?:export|default|public|private|protected|internal|static|abstract|final|open|override|virtual|async"
    r"|inline|suspend|data|sealed|pub|local|implicit|lazy|partial|cdef|cpdef|const|unsafe|extern|mutating)\s+)*"
    r"(class|interface|trait|struct|enum|object|protocol|extension|module|namespace|record|type|message|service|rpc"
    r"|def|defp|defmodule|defmacro|function|func|fun|fn|sub|proc|macro|resource|variable|provider)"
    r"\s+(?:\([^)]*\)\s*)?[\"`]?([A-Za-z_][\w.:?!]*)"
)
_KIND_BY_KEYWORD: dict[str, str] = {
    "def": "function",
    "defp": "function",
    "defmodule": "module",
    "defmacro": "macro",
    "func": "function",
    "fun": "function",
    "fn": "function",
    "sub": "function",
    "proc": "function",
    "rpc": "method",
    "protocol": "interface",
    "extension": "class",
    "message": "struct",
    "service": "interface",
    "resource": "object",
    "variable": "variable",
    "provider": "object",
}


def extract_text(text: str, language: str | None) -> FileSyntax:
    """Symbols of a text; no references and no imports. Files of unknown language have status `unsupported`."""
    lines = split_lines(text)
    openings = list(_READERS.get(language or "", code_openings)(lines)) if language is not None else []
    return FileSyntax(
        _symbols(openings, lines), [], [], [], status="text" if language is not None else "unsupported", note=""
    )


def _read_markdown(lines: list[str]) -> Iterator[_Opening]:
    fenced = False
    for number, line in enumerate(lines, 1):
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and (heading := _ATX_HEADING.match(line[:_LONGEST_LINE_CHARS])):
            yield number, len(heading.group(1)), heading.group(2), "section"
        elif not fenced and number > 1 and (rule := _SETEXT_RULE.match(line)):
            title = lines[number - 2].strip()
            if title and not title.startswith(("#", "-", ">", "|", "`")):
                yield number - 1, 1 if rule.group(1)[0] == "=" else 2, title, "section"


def _read_rst(lines: list[str]) -> Iterator[_Opening]:
    levels: list[str] = []
    for number, line in enumerate(lines[1:], 2):
        rule = _RST_RULE.match(line)
        title = lines[number - 2].rstrip()
        if rule is None or not title or title[0].isspace() or _RST_RULE.match(title):
            continue
        if len(line.rstrip()) < min(len(title), 3):
            continue
        mark = rule.group(1)
        if mark not in levels:
            levels.append(mark)
        yield number - 1, levels.index(mark) + 1, title, "section"


def _read_yaml(lines: list[str]) -> Iterator[_Opening]:
    for number, line in enumerate(lines, 1):
        if key := _YAML_KEY.match(line[:_LONGEST_LINE_CHARS]):
            yield number, 0, key.group(1), "key"


def _read_toml(lines: list[str]) -> Iterator[_Opening]:
    in_table = False
    for number, line in enumerate(lines, 1):
        key = _TOML_KEY.match(line[:_LONGEST_LINE_CHARS])
        if key is None:
            continue
        if key.group(1):
            in_table = True
            yield number, 0, key.group(1), "key"
        elif not in_table:
            yield number, 0, key.group(2), "key"


def _read_json(lines: list[str]) -> Iterator[_Opening]:
    indent: int | None = None
    for number, line in enumerate(lines, 1):
        key = _JSON_KEY.match(line[:_LONGEST_LINE_CHARS])
        if key is None:
            continue
        indent = len(key.group(1)) if indent is None else indent
        if len(key.group(1)) == indent:
            yield number, 0, key.group(2), "key"


def _read_make(lines: list[str]) -> Iterator[_Opening]:
    for number, line in enumerate(lines, 1):
        if target := _MAKE_TARGET.match(line[:_LONGEST_LINE_CHARS]):
            yield number, 0, target.group(1), "key"


def _read_shell(lines: list[str]) -> Iterator[_Opening]:
    for number, line in enumerate(lines, 1):
        if found := _SHELL_FUNCTION.match(line[:_LONGEST_LINE_CHARS]):
            yield number, 0, found.group(1) or found.group(2), "function"


def _read_sql(lines: list[str]) -> Iterator[_Opening]:
    for number, line in enumerate(lines, 1):
        if found := _SQL_OBJECT.match(line[:_LONGEST_LINE_CHARS]):
            kind = found.group(1).lower()
            yield number, 0, found.group(2).strip('"`'), kind if kind in ("function", "type") else "object"


def code_openings(lines: list[str]) -> Iterator[_Opening]:
    """Lines that open a class or a function: line, indent, name, kind."""
    for number, line in enumerate(lines, 1):
        if found := _OPENING.match(line[:_LONGEST_LINE_CHARS]):
            keyword = found.group(2)
            yield number, len(found.group(1)), found.group(3), _KIND_BY_KEYWORD.get(keyword, keyword)


def _read_nothing(_lines: list[str]) -> Iterator[_Opening]:
    return iter(())


_READERS: dict[str, Callable[[list[str]], Iterator[_Opening]]] = {
    "markdown": _read_markdown,
    "rst": _read_rst,
    "text": _read_nothing,
    "yaml": _read_yaml,
    "toml": _read_toml,
    "ini": _read_toml,
    "json": _read_json,
    "csv": _read_nothing,
    "xml": _read_nothing,
    "html": _read_nothing,
    "css": _read_nothing,
    "make": _read_make,
    "docker": _read_nothing,
    "shell": _read_shell,
    "fish": _read_shell,
    "sql": _read_sql,
}


def _symbols(openings: list[_Opening], lines: list[str]) -> list[Symbol]:
    openings.sort()
    del openings[MAX_KEYS:]
    symbols: list[Symbol] = []
    ends = _ends(openings, len(lines))
    above: list[tuple[int, int]] = []
    for index, (line, level, full_name, kind) in enumerate(openings):
        name = full_name[:MAX_NAME_CHARS]
        while above and above[-1][0] >= level:
            above.pop()
        parent = above[-1][1] if above else None
        nested = parent is not None and kind not in ("section", "key")
        qualified = f"{symbols[parent].qualified_name}.{name}" if nested and parent is not None else name
        own_kind = "method" if kind == "function" and nested else kind
        signature = lines[line - 1].strip()[:MAX_SIGNATURE_CHARS]
        symbols.append(Symbol(name, qualified, own_kind, line, ends[index], line, signature, "", parent))
        above.append((level, index))
    return symbols


def _ends(openings: list[_Opening], line_count: int) -> list[int]:
    ends = [line_count] * len(openings)
    waiting: list[int] = []
    for index, (line, level, _, _) in enumerate(openings):
        while waiting and openings[waiting[-1]][1] >= level:
            ends[waiting.pop()] = max(line - 1, 1)
        waiting.append(index)
    return ends
