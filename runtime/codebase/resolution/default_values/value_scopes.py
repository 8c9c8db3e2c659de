"""Resolves the names in the text of a value: a parameter, a member, a constant, or an import.

`targets` returns the sites that bind it: one, or several that hold under different conditions. It returns none where
the name may mean something else: a variable of the function, a constant that is bound twice, a name that several
files give.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.files.words import index_terms
from runtime.codebase.language_parts.type_facts import FileFacts
from runtime.codebase.language_registry import language_named
from runtime.codebase.resolution.default_values.kept_values import KeptValues
from runtime.codebase.resolution.default_values.site_roles import conditions_of, is_filled_in, role_of
from runtime.codebase.resolution.default_values.site_surroundings import NO_NAMES
from runtime.codebase.resolution.default_values.value_expressions import path_of
from runtime.codebase.resolution.default_values.value_sites import FileValues, Site
from runtime.codebase.resolution.default_values.value_syntax import has_values, syntax_of
from runtime.codebase.resolution.default_values.word_sets import words
from runtime.codebase.resolution.facts_store import FactsStore

MAX_IMPORT_HOPS = 4
MAX_CACHED_FILES = 60
MAX_FILE_CHARS = 1_500_000
MAX_SHARED_FILES = 40
MAX_FOUND = 200

_OWN = frozenset({"self", "this", "cls", "Self", "static", "super"})
# Types and modules of the languages whose members are constants.
_BUILT_IN = words(
    """
    u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 std core Integer Long Double Float Short Byte
    Character Number Math math time http sys string numeric_limits int long uint ulong TimeSpan Duration Float
    Process Signal
    """
)
_C_LIMITS = words(
    """
    INT_MAX INT_MIN UINT_MAX LONG_MAX LONG_MIN ULONG_MAX SIZE_MAX SSIZE_MAX INT32_MAX INT64_MAX UINT16_MAX
    UINT32_MAX UINT64_MAX INT16_MAX PATH_MAX BUFSIZ LLONG_MAX ULLONG_MAX CHAR_BIT DBL_MAX DBL_MIN FLT_MAX SOMAXCONN
    INFINITY STDOUT_FILENO STDERR_FILENO SIGINT SIGTERM SIGKILL
    """
)


class ValueScopes:
    """Resolves names in values, for one question; `kept` has the files that earlier ones have had parsed."""

    def __init__(self, store: FactsStore, read: Callable[[str], str | None], kept: KeptValues | None = None) -> None:
        self._store = store
        self._read = read
        self._kept = kept or KeptValues()
        self._files: dict[str, FileValues | None] = {}

    def language(self, file: str) -> str:
        """Return the language of a file, by the index."""
        return self._store.language(file)

    def values(self, file: str) -> FileValues | None:
        """Return the sites of a file; None for one that cannot be read, is too long or slow, or in another language."""
        if file not in self._files and len(self._files) < MAX_CACHED_FILES:
            language = self.language(file)
            text = self._read(file) if has_values(language) else None
            is_readable = text is not None and len(text) <= MAX_FILE_CHARS
            self._files[file] = self._kept.of(file, text or "", language) if is_readable else None
        return self._files.get(file)

    def lines(self, file: str, first: int, last: int) -> list[str]:
        """Return lines of a file, inclusive; empty if it cannot be read."""
        text = self._read(file)
        return [] if text is None else text.split("\n")[first - 1 : last]

    def files_with(self, name: str) -> list[str]:
        """Return the source files that have a name in any spelling, by path."""
        terms, index = index_terms(name).split(), self._store.index
        # The whole identifier, and its parts one after the other, as in `--max-size`.
        wanted = [*terms[:1], " ".join(terms[1:])]
        found = [path for term in filter(None, wanted) for path in index.files_with_term(term, MAX_FOUND)]
        return [path for path in dict.fromkeys(found) if kind_of_path(path) == "source"][:MAX_SHARED_FILES]

    def targets(self, name: str, site: Site) -> list[Site] | None:
        """Return the sites that a name in a site's value stands for; None for a constant from outside."""
        path = path_of(name)
        if not path or not has_values(self.language(site.file)):
            return []
        return self._bare(path[0], site) if len(path) == 1 else self._dotted(path, site)

    # Names without a dot

    def _bare(self, name: str, site: Site) -> list[Site] | None:
        local = self._local(name, site)
        if local is not None:
            return local
        syntax = syntax_of(self.language(site.file))
        if site.around.owner and (syntax.members_are_bare or not site.around.depth):
            own = [one for one in self._members(site.file, site.around.owner, name) if one != site]
            if own:
                return _agreed(own)
        found = self._top_level(site.file, name)
        if found:
            return _agreed([one for one in found if (one.file, one.line) != (site.file, site.line)])
        given = self._imported(site.file, name)
        if given is not None:
            target, original = given
            if target is None:
                return None if original[:1].isupper() else []
            return self._given(target, original or name, 0)
        return self._shared(name, site)

    def _local(self, name: str, site: Site) -> list[Site] | None:
        """Return what a variable or parameter of the function stands for; None for a name that no function binds."""
        if not site.around.depth:
            return None
        values = self.values(site.file)
        near = [
            one
            for one in (values.named(name) if values is not None else ())
            if one.around.depth and one.path == (name,) and _same_function(one, site) and one != site
        ]
        parameters = [one for one in near if one.form == "parameter"]
        bindings = [one for one in near if one.form == "binding"]
        if not parameters and not bindings:
            return [] if self._is_bound_locally(name, site) else None
        filled = [one for one in bindings if is_filled_in(one) or one.joins]
        if len(filled) != len(bindings):
            is_single = len(bindings) == 1 and not parameters and not bindings[0].around.conditions
            return bindings if is_single and bindings[0].start_line <= site.start_line else []
        if filled:
            return filled if len(filled) == 1 else []
        return parameters if len(parameters) == 1 else []

    def _is_bound_locally(self, name: str, site: Site) -> bool:
        facts = self._store.facts(site.file)
        if facts is None:
            # No scopes are known: what does not begin like a constant may be a variable of the function.
            return not (name[:1].isupper() or name[:2].rstrip("abcdefghijlmnopqrstuvwxyz") == "k")
        return any(name in facts.scopes[place].bindings for place in _functions_at(facts, site.line))

    def _top_level(self, file: str, name: str) -> list[Site]:
        values = self.values(file)
        return [
            one
            for one in (values.named(name) if values is not None else ())
            if one.path[-1] == name
            and not one.around.depth
            and one.form in {"binding", "member"}
            and (not one.around.owner or one.form == "member")
            and (len(one.path) == 1 or one.path[0] in {"exports", "module"})
        ]

    def _shared(self, name: str, site: Site) -> list[Site] | None:
        """Return the constant that another file of the package or the program defines, if only one does."""
        sharing = syntax_of(self.language(site.file)).sharing
        if sharing == "include" and name in _C_LIMITS:
            return None
        if sharing == "folder":
            files = self._store.in_folder(site.file.rpartition("/")[0])
            files = [file for file in files if not file.endswith("_test.go")]
            known = {one.file for one in self._symbols(name)}
            files = [file for file in files if file in known]
        elif sharing in {"include", "all"} or (sharing == "package" and name[:1].isupper()):
            family = self.language(site.file)
            symbols = [one for one in self._symbols(name) if self._is_akin(one.file, family)]
            files = list(dict.fromkeys(one.file for one in symbols))
        else:
            return []
        found = [one for file in files[:MAX_SHARED_FILES] for one in self._top_level(file, name)]
        return _agreed([one for one in found if (one.file, one.line) != (site.file, site.line)])

    def _symbols(self, name: str) -> list[_Named]:
        symbols = self._store.index.symbols("s.name = ?", (name,), 200)
        return [_Named(one.file, one.owner) for one in symbols if kind_of_path(one.file) == "source"]

    def _is_akin(self, file: str, language: str) -> bool:
        one, other = language_named(self.language(file)), language_named(language)
        return one is other or (bool(one.family) and one.family == other.family)

    # Names with a dot

    def _dotted(self, path: tuple[str, ...], site: Site) -> list[Site] | None:
        head, owner, name = path[0], path[-2], path[-1]
        if head in _OWN and len(path) == 2:
            return _agreed([one for one in self._members(site.file, site.around.owner, name) if one != site])
        if site.around.depth and self._local(head, site) is not None:
            return []
        here = self._held(site.file, owner, name)
        if here:
            return _agreed([one for one in here if one != site])
        given = self._imported(site.file, head)
        if given is not None:
            target, original = given
            if target is None:
                return None if name[:1].isupper() else []
            found = self._top_level(target, name) if len(path) == 2 else []
            holder = original if len(path) == 2 and original else owner
            return _agreed(found or self._held(target, holder, name)) or self._given(target, name, 1)
        if head in _BUILT_IN and not self._symbols(head):
            return None
        symbols = [one for one in self._symbols(name) if one.owner.rpartition(".")[2] == owner]
        language = self.language(site.file)
        files = dict.fromkeys(one.file for one in symbols if self._is_akin(one.file, language))
        found = [one for file in list(files)[:MAX_SHARED_FILES] for one in self._held(file, owner, name)]
        if not found and syntax_of(language).sharing in {"include", "folder"}:
            return self._shared(name, site)
        return _agreed(found)

    def _held(self, file: str, owner: str, name: str) -> list[Site]:
        """Return the members of a type, or the entries of a literal, of that name in a file."""
        values = self.values(file)
        found = [one for one in (values.named(name) if values is not None else ()) if one.path[-1] == name]
        return [
            one
            for one in found
            if not one.around.depth
            and (
                (one.around.owner == owner and one.form in {"binding", "member"})
                or (
                    one.form == "entry"
                    and owner in [holder for holder in one.around.holders if holder not in NO_NAMES][:1]
                )
            )
        ]

    def _members(self, file: str, owner: str, name: str) -> list[Site]:
        """Return the places of a file that say what a member of a type is when the object is made."""
        values = self.values(file)
        syntax = syntax_of(self.language(file))
        return [
            one
            for one in (values.named(name) if values is not None and owner else ())
            if one.path[-1] == name
            and one.around.owner == owner
            and (not one.around.depth or one.path[0] in _OWN or len(one.path) == 1)
            and one.form in {"binding", "member"}
            and role_of(one, syntax) != "set"
        ]

    # Imports

    def _imported(self, file: str, name: str) -> tuple[str | None, str] | None:
        """Return the file and the name that an imported name stands for; no file for one from outside."""
        facts = self._store.facts(file)
        held = facts.scopes[0].bindings.get(name, ()) if facts is not None else ()
        for one in held:
            if facts is not None and one.kind == "import" and 0 <= one.ref < len(facts.imports):
                item = facts.imports[one.ref]
                target = self._store.resolve(file, item.module, item.name) or self._store.resolve(file, item.module)
                return target, item.name
        return None

    def _given(self, file: str, name: str, hops: int) -> list[Site]:
        """Return the constant that a module gives under a name, also where it has it from another module."""
        found = self._top_level(file, name)
        if found:
            return _agreed(found)
        if hops >= MAX_IMPORT_HOPS:
            return []
        folder = self._store.in_folder(file)
        if folder:
            return _agreed([one for path in folder[:MAX_SHARED_FILES] for one in self._top_level(path, name)])
        given = self._imported(file, name)
        if given is None or given[0] is None or given[0] == file:
            return []
        return self._given(given[0], given[1] or name, hops + 1)


class _Named(NamedTuple):
    """Holds the file and the owner of a symbol."""

    file: str
    owner: str


def _agreed(sites: Sequence[Site]) -> list[Site]:
    """Return sites that can all be meant: a single one, or several of which each has a condition of its own."""
    if len(sites) <= 1:
        return list(sites)
    conditions = [conditions_of(site) for site in sites]
    return list(sites) if all(conditions) and len(set(conditions)) == len(conditions) else []


def _same_function(one: Site, other: Site) -> bool:
    mine, theirs = one.around, other.around
    return (mine.function, mine.owner) == (theirs.function, theirs.owner)


def _functions_at(facts: FileFacts, line: int) -> list[int]:
    """Return the scopes inside a file that hold a line, except classes, whose names their functions do not see."""
    return [
        place
        for place, scope in enumerate(facts.scopes)
        if place and scope.kind in {"function", "block"} and scope.line <= line <= scope.end_line
    ]
