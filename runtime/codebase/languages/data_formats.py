"""Declares formats of data, settings and web pages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from runtime.codebase.language_parts.language import Language, PathKind
from runtime.codebase.language_parts.outlines import MAX_LINE_CHARS, Opening, no_openings

_YAML_KEY = re.compile(r"^([A-Za-z_][\w .$/-]*?)\s*:(?:\s|$)")
_TOML_KEY = re.compile(r"^\[{1,2}\s*([^\]]+?)\s*\]{1,2}|^([A-Za-z_][\w.-]*)\s*[=:]")
_JSON_KEY = re.compile(r"^(\s*)\"([^\"]+)\"\s*:")


def _yaml_keys(lines: Sequence[str]) -> Iterator[Opening]:
    for number, line in enumerate(lines, 1):
        if key := _YAML_KEY.match(line[:MAX_LINE_CHARS]):
            yield number, 0, key.group(1), "key"


def _toml_keys(lines: Sequence[str]) -> Iterator[Opening]:
    in_table = False
    for number, line in enumerate(lines, 1):
        key = _TOML_KEY.match(line[:MAX_LINE_CHARS])
        if key is None:
            continue
        if key.group(1):
            in_table = True
            yield number, 0, key.group(1), "key"
        elif not in_table:
            yield number, 0, key.group(2), "key"


def _json_keys(lines: Sequence[str]) -> Iterator[Opening]:
    indent: int | None = None
    for number, line in enumerate(lines, 1):
        key = _JSON_KEY.match(line[:MAX_LINE_CHARS])
        if key is None:
            continue
        indent = len(key.group(1)) if indent is None else indent
        if len(key.group(1)) == indent:
            yield number, 0, key.group(2), "key"


def _data(
    name: str,
    extensions: str,
    outline: Callable[[Sequence[str]], Iterable[Opening]],
    path_kind: str | None = None,
    file_names: str = "",
) -> Language:
    """Return the record of a data format; `path_kind` is the pattern of paths that are classified as data."""
    kinds: tuple[tuple[PathKind, str], ...] = () if path_kind is None else (("data", path_kind),)
    return Language(
        name=name, extensions=extensions, file_names=file_names, role="data", path_kinds=kinds, outline=outline
    )


LANGUAGES = (
    _data("yaml", "yaml yml", _yaml_keys, r"\.ya?ml$"),
    _data("toml", "toml", _toml_keys, r"\.toml$", file_names="pipfile"),
    _data("ini", "ini cfg conf properties", _toml_keys, r"\.(ini|cfg|properties)$"),
    _data("json", "json jsonc json5 ipynb", _json_keys, r"\.(json|jsonc|json5|ipynb)$"),
    _data("csv", "csv tsv", no_openings, r"\.(csv|tsv)$"),
    _data("xml", "xml xsd xsl svg", no_openings, r"\.(xml|xsd|svg)$"),
    _data("css", "css scss sass less", no_openings, r"\.(css|scss|sass|less)$"),
    _data("html", "html htm xhtml jinja j2", no_openings, r"\.html?$"),
)
