"""Reads the defaults that a program ships in a file of settings.

It is one of YAML, TOML, INI or JSON, or one without an ending such as `shoprc`.
A file counts if it is named after defaults or if code names it, and an entry only if code reads its key. The proof is
the line of code that reads the key, and the entry.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.files.source_text import ReadSource
from runtime.codebase.files.words import index_terms, split_identifier
from runtime.codebase.index.reader import IndexReader
from runtime.codebase.resolution.default_values.site_surroundings import Surroundings
from runtime.codebase.resolution.default_values.value_chains import ChainStep, ValueChain
from runtime.codebase.resolution.default_values.value_expressions import Value
from runtime.codebase.resolution.default_values.value_sites import MAX_LINE_CHARS, Site, key_of

MAX_FILES, MAX_LINES, MAX_VALUE_CHARS = 6, 4_000, 60
MAX_SEARCHED = 12
# A folder with one of these holds settings of other programs, or of a run.
_ASIDE = re.compile(r"(?:^|/)(?:\.|tests?/|docs?/|examples?/|samples?/|ci/|docker|deploy|fixtures?/|node_modules/)")
_OTHERS = re.compile(
    r"(?:^|/)(?:package|tsconfig|composer|cargo|pyproject|setup|tox|manifest|renovate|lerna|nx|codecov|mkdocs|book)\b"
    r"[\w.-]*\.\w+$|lock",
    re.IGNORECASE,
)
_ENDINGS = re.compile(r"\.(?:(?P<indented>ya?ml)|(?P<quoted>json)|toml|ini|cfg|conf|properties)$|(?:^|/)[a-z][\w-]*rc$")
_DEFAULTS = frozenset({"default", "defaults"})
_SECTION = re.compile(r"\[{1,2}\s*([\w.\- \"]{1,80}?)\s*\]{1,2}\s*$")
_ASSIGNED = re.compile(r"(?P<indent>\s*)(?P<key>[A-Za-z_][\w.\-]{0,80})\s*[=:]\s*(?P<value>\S.*?)\s*(?:\s[#;].*)?$")
_YAML = re.compile(r"(?P<indent>\s*)(?P<key>[A-Za-z_][\w.\-]{0,80}):(?:\s+(?P<value>\S.*?))?\s*(?:\s#.*)?$")
_JSON = re.compile(r"(?P<indent>\s*)\"(?P<key>[\w.\-]{1,80})\"\s*:\s*(?P<value>.*?)\s*,?\s*$")
# What begins a text of several lines.
_TEXT = re.compile(r"[|>][+-]?\d?$")
_SCALAR = re.compile(r"\"[^\"]*\"|'[^']*'|[^\s\[\]{}&*!|>%@`\"',][^\[\]{}\"]*")


class ShippedSetting(NamedTuple):
    """Holds an entry of a file of settings: the keys around it, outermost first, its value and its line."""

    file: str
    keys: tuple[str, ...]
    value: str
    line: int
    text: str

    @property
    def site(self) -> Site:
        """The place where the key gets its value."""
        around = Surroundings("", "", tuple(reversed(self.keys[:-1])), (), 0)
        value = Value(self.value)
        return Site(self.file, "entry", self.keys[-1:], self.line, self.line, self.line, self.text, value, around, True)


class ShippedSettings:
    """Holds the defaults that one repository ships in files of data, read when they are asked for."""

    def __init__(self, index: IndexReader, read: ReadSource) -> None:
        self._index = index
        self._read = read
        self._entries: list[ShippedSetting] | None = None

    def with_terms(self, terms: frozenset[str]) -> Iterator[ShippedSetting]:
        """Yield the entries whose keys have one of the terms."""
        for one in self._all():
            if not terms.isdisjoint(index_terms(one.keys[-1]).split()):
                yield one

    def chains_of(self, name: str) -> list[ValueChain]:
        """Return the proofs of the entries of a name; empty where no code reads it."""
        found = [one for one in self._all() if key_of(one.keys[-1]) == key_of(name)]
        read = self._read_at(found[0].keys[-1]) if found else None
        return [_chain(one, read) for one in found] if read is not None else []

    def _all(self) -> list[ShippedSetting]:
        if self._entries is None:
            self._entries = [one for file in self._files() for one in self._entries_of(file)]
        return self._entries

    def _files(self) -> list[str]:
        """Return the files of settings that are named after defaults, or that code names."""
        paths = [path for (path,) in self._index.rows("SELECT path FROM files ORDER BY path", ())]
        known = [path for path in paths if _ENDINGS.search(path) and not (_ASIDE.search(path) or _OTHERS.search(path))]
        known = [path for path in known if kind_of_path(path) in {"data", "source"}]
        named = [path for path in known if not _DEFAULTS.isdisjoint(split_identifier(_stem(path)))]
        others = [path for path in known if path not in named][: 4 * MAX_FILES]
        return [*named, *(path for path in others if self._is_named(path))][:MAX_FILES]

    def _is_named(self, path: str) -> bool:
        base = path.rpartition("/")[2]
        return self._line_with(base, re.compile(rf"[\"'/`]{re.escape(base)}[\"'`]")) is not None

    def _read_at(self, key: str) -> ChainStep | None:
        """Return the first line of code that reads a key, as a text or as a member."""
        return self._line_with(
            key, re.compile(rf"[\"'`:]{re.escape(key)}[\"'`]|[\w\])]\.{re.escape(key)}\b|:{re.escape(key)}\b")
        )

    def _line_with(self, name: str, written: re.Pattern[str]) -> ChainStep | None:
        terms = " ".join(index_terms(name).split())
        sql = f"""SELECT DISTINCT f.path FROM chunk_text t
            JOIN chunks c ON c.id = t.rowid JOIN files f ON f.id = c.file_id
            WHERE chunk_text MATCH ? ORDER BY f.path LIMIT {MAX_SEARCHED * 4}"""
        found = [path for (path,) in self._index.rows(sql, (f'body : "{terms}"',))] if terms else []
        for path in [path for path in found if kind_of_path(path) == "source" and not _ENDINGS.search(path)][
            :MAX_SEARCHED
        ]:
            source = self._read(path)
            for number, line in enumerate(source.lines if source is not None else (), 1):
                if (
                    name in line
                    and written.search(line[:MAX_LINE_CHARS])
                    and not line.lstrip().startswith(("#", "//", "*"))
                ):
                    return ChainStep(path, number, line.strip()[:MAX_LINE_CHARS].rstrip(), name)
        return None

    def _entries_of(self, file: str) -> list[ShippedSetting]:
        source = self._read(file)
        return list(entries_in(file, source.lines)) if source is not None else []


def entries_in(file: str, lines: Sequence[str]) -> Iterator[ShippedSetting]:
    """Yield the entries of a file of settings that have one value in their line."""
    ending = _ENDINGS.search(file)
    kind = ending.lastgroup if ending is not None else None
    pattern = {"indented": _YAML, "quoted": _JSON}.get(kind or "", _ASSIGNED)
    above: list[tuple[int, str]] = []
    text_indent: int | None = None
    section: tuple[str, ...] = ()
    for number, line in enumerate(lines[:MAX_LINES], 1):
        headed = _SECTION.match(line) if pattern is _ASSIGNED else None
        if headed is not None:
            section = tuple(headed[1].strip('"').split("."))
        found = pattern.match(line[:MAX_LINE_CHARS]) if headed is None else None
        if found is None:
            continue
        indent = len(found["indent"])
        if text_indent is not None and indent > text_indent:
            continue
        text_indent = indent if found["value"] and _TEXT.match(found["value"]) and pattern is _YAML else None
        above = [one for one in above if one[0] < indent] if pattern is not _ASSIGNED else []
        value = (found["value"] or "").strip()
        if _SCALAR.fullmatch(value) and len(value) <= MAX_VALUE_CHARS:
            keys = (*section, *(key for _, key in above), found["key"])
            yield ShippedSetting(file, keys, value, number, line.strip()[:MAX_LINE_CHARS].rstrip())
        above.append((indent, found["key"]))


def _chain(one: ShippedSetting, read: ChainStep) -> ValueChain:
    step = ChainStep(one.file, one.line, one.text, one.keys[-1])
    return ValueChain(one.keys[-1], ".".join(one.keys[:-1]), "default", "shipped", one.value, (read, step))


def _stem(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0]
