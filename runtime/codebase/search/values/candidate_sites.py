"""Finds the places of code that may give a name the value which a question asks for.

They are places with two words of the subject in their name, options of tables of settings, names that say nothing but
what is asked, entries of shipped files of settings, and what stands in the places and the passages that rank best.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.files.source_text import ReadSource
from runtime.codebase.files.words import index_terms
from runtime.codebase.index.reader import IndexReader
from runtime.codebase.resolution.default_values.handed_names import sites_of
from runtime.codebase.resolution.default_values.site_roles import role_of
from runtime.codebase.resolution.default_values.site_surroundings import TESTS
from runtime.codebase.resolution.default_values.value_scopes import ValueScopes
from runtime.codebase.resolution.default_values.value_sites import Site
from runtime.codebase.resolution.default_values.value_syntax import syntax_of
from runtime.codebase.search.values.named_values import VALUES, values_for
from runtime.codebase.search.values.shipped_settings import ShippedSettings
from runtime.codebase.search.values.value_questions import ValuePart
from runtime.codebase.search.values.value_words import (
    OF_MEASURE,
    forms_of,
    forms_with_joined,
    free_words,
    subject_of,
    words_of,
)

# Programs that feed others with noise have values of their own, and so have files that set up builds and servers.
_OF_OTHERS = re.compile(
    r"(?:^|/)(?:fuzz\w*/|(?:[\w.-]+\.config\.[cm]?[jt]s|puma\.rb|unicorn\.rb|rakefile|gemfile|gulpfile\.\w+|gruntfile\.\w+"
    r"|setup\.py|conf\.py|noxfile\.py|conanfile\.py|build\.rs|build\.gradle\.kts)$)",
    re.IGNORECASE,
)
MAX_VALUES = 15
# So many constants of a file begin with the name of a program.
LEAST_PREFIXED = 5
MAX_SAID_LINES = 12
MAX_NAMED = 6
MAX_PAIRED, MAX_FORMS, MAX_PAIR_FILES = 5, 4, 8
MAX_PLAIN_FILES = 4
_OF_RECORDS = "({}) AND ({})".format(
    " OR ".join(index_terms("default value").split()),
    " OR ".join(index_terms("description help usage desc name").split()),
)
_OF_SETTINGS = "({})".format(" OR ".join(index_terms("default option config setting").split()))


class CandidateSites:
    """Finds the places of one repository, for one question."""

    def __init__(self, index: IndexReader, scopes: ValueScopes, read: ReadSource, shipped: ShippedSettings) -> None:
        self._index = index
        self._scopes = scopes
        self._read = read
        self._shipped = shipped
        self._prefixes: dict[str, frozenset[str]] = {}

    def of(self, part: ValuePart, places: Sequence[tuple[str, int, int]], named: Sequence[str]) -> Iterator[Site]:
        """Yield the places for a part of a question; `places` rank best, passages name `named`."""
        yield from self._with_words(part)
        yield from self._recorded(part)
        yield from self._plain_names(part)
        asked = frozenset(form for term in subject_of(part) for form in forms_of(term))
        yield from (one.site for one in self._shipped.with_terms(asked))
        for file, first, last in places:
            values = self._scopes.values(file) if kind_of_path(file) == "source" else None
            for site in values.within(first, last) if values is not None else ():
                if self._says_value(site):
                    yield site
        terms = " ".join((*part.terms, *part.context))
        for symbol, _ in values_for(self._index, self._read, terms or part.text, VALUES, MAX_VALUES):
            if kind_of_path(symbol.file) == "source":
                yield from self._named(symbol.file, symbol.name)
        for name in named[:MAX_NAMED]:
            for file in self._scopes.files_with(name)[:MAX_NAMED]:
                yield from self._named(file, name)

    def _with_words(self, part: ValuePart) -> Iterable[Site]:
        """Yield the sites whose names have two words of the subject, in the files where these stand side by side.

        A word of the measure that is asked for, such as `max` or `timeout`, stands for one of the two.
        """
        terms = [term for term in subject_of(part) if term.isalnum()][:MAX_PAIRED]
        forms = [list(known)[:MAX_FORMS] for known in forms_with_joined(terms, part.text).values()]
        measured = sorted(OF_MEASURE.get(part.measure, ()))
        for place, one in enumerate(forms):
            for other in (*forms[place + 1 :], *([measured] if measured else ())):
                pairs = " OR ".join(f'NEAR("{a}" "{b}", 2)' if a != b else f'"{a}"' for a in one for b in other)
                for file in self._files(pairs) if pairs else ():
                    values = self._scopes.values(file)
                    for name in values.names_with(set(one), set(other)) if values is not None else ():
                        yield from self._named(file, name)

    def _plain_names(self, part: ValuePart) -> Iterator[Site]:
        """Yield the sites of names that say nothing but what is asked, in the files that tell of defaults."""
        free = free_words(part)
        asked = {form for term in subject_of(part) for form in forms_of(term)} | free
        for term in [term for term in subject_of(part) if term.isalnum()][:MAX_PAIRED]:
            forms = {form for form in forms_of(term) if form.isalnum()} - free
            said = " OR ".join(f'"{form}"' for form in sorted(forms))
            for file in self._files(f"({said}) AND {_OF_SETTINGS}")[:MAX_PLAIN_FILES] if said else ():
                values = self._scopes.values(file)
                for name in values.names_with(forms, forms) if values is not None else ():
                    if words_of(name) <= asked:
                        yield from self._named(file, name)

    def _recorded(self, part: ValuePart) -> Iterator[Site]:
        """Yield the options of the tables of settings that speak of the subject."""
        terms = [form for term in subject_of(part)[:MAX_PAIRED] for form in forms_of(term) if form.isalnum()]
        wanted = " OR ".join(f'"{term}"' for term in terms)
        for file in self._files(f"({wanted}) AND {_OF_RECORDS}") if terms else ():
            values = self._scopes.values(file)
            for site in values.recorded() if values is not None else ():
                said = frozenset(index_terms(f"{site.name} {self.said(site)}").split())
                if not said.isdisjoint(terms) and self._says_value(site):
                    yield site

    def _files(self, pairs: str) -> list[str]:
        sql = """SELECT f.path FROM
            (SELECT rowid, bm25(chunk_text) AS score FROM chunk_text WHERE chunk_text MATCH ? ORDER BY score LIMIT 60) t
            JOIN chunks c ON c.id = t.rowid JOIN files f ON f.id = c.file_id ORDER BY t.score"""
        found = dict.fromkeys(path for (path,) in self._index.rows(sql, (f"body : ({pairs})",)))
        return [path for path in found if kind_of_path(path) == "source"][:MAX_PAIR_FILES]

    def _named(self, file: str, name: str) -> Iterable[Site]:
        values = self._scopes.values(file)
        found = sites_of(values, name) if values is not None else ()
        return [site for site in found if self._says_value(site)]

    def prefixes(self, file: str) -> frozenset[str]:
        """Return the terms that the constants of a file begin with as those of a program do: `LD_` in `LD_TIMEOUT`."""
        if file not in self._prefixes:
            values = self._scopes.values(file)
            found = Counter(values.constant_prefixes()) if values is not None else Counter[str]()
            common = (word for word, count in found.items() if count >= LEAST_PREFIXED)
            self._prefixes[file] = frozenset(term for word in common for term in index_terms(word).split())
        return self._prefixes[file]

    def _says_value(self, site: Site) -> bool:
        if _OF_OTHERS.search(site.file):
            return False
        return (
            TESTS not in site.around.conditions and role_of(site, syntax_of(self._scopes.language(site.file))) != "set"
        )

    def said(self, site: Site) -> str:
        """Return what is said of a place: the comment above or behind it, and its own lines."""
        source = self._read(site.file)
        if source is None:
            return ""
        lines = source.lines
        first = site.start_line - 1
        above: list[str] = []
        for number in range(first - 1, max(-1, first - 1 - MAX_SAID_LINES), -1):
            line = lines[number].strip() if number < len(lines) else ""
            if not line.startswith(("#", "//", "*", "/*", "--", "@")) and not line.endswith("*/"):
                break
            above.append(line)
        own: Sequence[str] = lines[first : min(site.end_line, first + MAX_SAID_LINES + 1)]
        if site.declares and site.form == "binding":
            own = _class_around(lines, first)
        return "\n".join((*reversed(above), *own))


def _class_around(lines: Sequence[str], at: int) -> Sequence[str]:
    """Return the lines of the class that declares an option by its attributes, which say together what it is."""
    first = at
    while first > max(0, at - MAX_SAID_LINES) and lines[first - 1].strip():
        first -= 1
    return lines[first : at + MAX_SAID_LINES]
