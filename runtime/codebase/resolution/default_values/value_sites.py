"""Finds the places where names get values: bindings, parameters, entries, options, fallbacks.

`FileValues` parses one file; `named` returns the sites of a name, `within` those of a range of lines, `reads` the
places where constants are read. Names are compared without case and separators, so that the option `--max-size` is
found as `max_size` and `MaxSize`.
(Over 400 lines: the class that reads a file and the forms of sites that it knows are changed together.)
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Set
from typing import TYPE_CHECKING, NamedTuple

from runtime.codebase.files.words import index_terms
from runtime.codebase.language_parts.facts_walker import text_of
from runtime.codebase.language_parts.value_syntax import SiteForm, ValueSyntax
from runtime.codebase.language_registry import language_named, load_grammar
from runtime.codebase.parsing.parse_limit import PARSE_LIMIT, ParseLimit
from runtime.codebase.resolution.default_values.option_declarations import (
    declared_option,
    default_in,
    marked_default,
    tagged_default,
)
from runtime.codebase.resolution.default_values.option_records import OptionRecord, is_default_entry, record_of
from runtime.codebase.resolution.default_values.site_surroundings import (
    Surroundings,
    is_of_object,
    surroundings_of,
)
from runtime.codebase.resolution.default_values.value_expressions import (
    Value,
    given_name,
    path_of,
    read_value,
)
from runtime.codebase.resolution.default_values.value_syntax import syntax_of
from runtime.codebase.resolution.default_values.word_sets import words

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Query

MAX_SITES = 60_000
MAX_NAMED, MAX_WITHIN, MAX_RECORDED = 300, 400, 1_000
MAX_LINE_CHARS = 160
# The text of a longer literal is not looked through for the name of an option.
MAX_LITERAL_BYTES = 4_000

_SEPARATORS = re.compile(r"[\W_]+")
_KEYS_OF_DEFAULTS = frozenset({"default", "value", "defaultvalue", "defaulttext", "dflt", "defval"})
# The description of an option, whose own entry tells the default.
_HAS_DEFAULT = re.compile(r"\{[^{}]*?[\"']?default(?:Value)?[\"']?\s*:", re.DOTALL)
_WRAPPING = frozenset({"parenthesized_expression", "parenthesized_statements"})
_NAMING = frozenset({"key", "keys", "name", "names", "dest", "option"})
_LOGICAL = words(
    """
    unary_expression binary_expression boolean_operator not_operator comparison_operator binary unary
    """
)
_CONDITIONALS = words("ternary_expression conditional_expression conditional")
_READ = re.compile(r"[\w.]{1,80}\.(\w{1,80})")
_OPTION_NAME = re.compile(r"[\"']([A-Za-z_][\w\-]{0,80})[\"']")
# Names that code gives to constants, in one of the indexed languages.
CONSTANT = re.compile(r"[A-Z][A-Z\d]*_[A-Z\d_]+|[A-Z]{4,}\d*|k[A-Z]\w{3,}|(?:[Dd]efault|[Mm]ax|[Mm]in)[A-Z]\w+")
_PREFIXED = re.compile(r"([A-Z][A-Z\d]+)_[A-Z\d_]+")
_CLASS_BODIES = frozenset({"block"})
# Leaves that are names and are not called identifiers: of Ruby, and of PHP.
_NAME_NODES = frozenset({"constant", "name"})
_NAME_BESIDE = re.compile(r"\bName:\s*\"([^\"\n]{1,80})\"")


class Site(NamedTuple):
    """Describes a place where a name gets a value.

    `path`: the name as it stands in code, taken apart; `value`: None if it cannot be read; `text`: its line of code;
    `line`: that of the name; `declares`: whether it is the declaration of an option; `value_line`: that of the value,
    where the name stands in another entry of a record, 0 where nobody knows.
    """

    file: str
    form: SiteForm
    path: tuple[str, ...]
    line: int
    start_line: int
    end_line: int
    text: str
    value: Value | None
    around: Surroundings
    declares: bool = False
    joins: bool = False
    value_line: int = 0

    @property
    def name(self) -> str:
        """The last part of the name."""
        return self.path[-1]


class _Match(NamedTuple):
    form: SiteForm
    site: Node
    value: Node
    name: Node | None


def key_of(name: str) -> str:
    """Return a name without case and separators, by which options and fields are compared."""
    return _SEPARATORS.sub("", name).lower()


@functools.cache
def _grammar(language: str) -> tuple[Language, tuple[tuple[SiteForm, Query], ...]]:
    import tree_sitter

    grammar = load_grammar(language)
    queries = tuple((form, tree_sitter.Query(grammar, query)) for form, query in syntax_of(language).queries.items())
    return grammar, queries


class FileValues:
    """Holds the sites of one file, found when they are asked for."""

    def __init__(self, file: str, text: str, language: str, limit: ParseLimit = PARSE_LIMIT) -> None:
        """Parse a file; SlowSourceError if that takes too long."""
        self.file = file
        self.syntax: ValueSyntax = syntax_of(language)
        grammar, queries = _grammar(language)
        data, prepare = text.encode("utf-8", "replace"), language_named(language).before_parsing
        self._tree = limit.parse(grammar, prepare(data) if prepare is not None else data)
        self._matches: list[_Match] = []
        self._terms: dict[str, frozenset[str]] = {}
        self._by_key: dict[str, list[int]] = {}
        self._read_by: dict[str, list[int]] = {}
        self._sites: dict[int, tuple[Site, ...]] = {}
        self._records: dict[int, OptionRecord] = {}
        for form, query in queries:
            for _, captures in self._tree.matches(query, match_limit=4096):
                if len(self._matches) < MAX_SITES and "value" in captures:
                    names = captures.get("name")
                    self._add(_Match(form, captures["site"][0], captures["value"][0], names[0] if names else None))

    @property
    def root(self) -> Node:
        """The syntax tree of the file."""
        return self._tree.root

    def named(self, name: str) -> list[Site]:
        """Return the sites of a name, by line."""
        wanted = key_of(name)
        found = [site for place in self._by_key.get(wanted, ())[:MAX_NAMED] for site in self._sites_at(place)]
        return sorted((site for site in found if key_of(site.name) == wanted), key=lambda site: site.start_line)

    def within(self, first: int, last: int) -> list[Site]:
        """Return the sites that begin in a range of lines, inclusive."""
        places = [at for at, match in enumerate(self._matches) if first <= match.site.start_point[0] + 1 <= last]
        return [site for place in places[:MAX_WITHIN] for site in self._sites_at(place)]

    def reads(self, first: int, last: int) -> list[Site]:
        """Return where constants are read in a range of lines, inclusive: each name once, without a value, by line."""
        found: dict[tuple[str, ...], Site] = {}
        for node in _leaves(self._tree.root, first - 1, last - 1):
            path = _read_path(node)
            if path and path not in found:
                line = node.start_point[0] + 1
                around = surroundings_of(node, path)
                found[path] = Site(self.file, "binding", path, line, line, line, text_of(node), None, around)
        return list(found.values())

    def names_with(self, one: Set[str], other: Set[str]) -> list[str]:
        """Return the names with a word of each of two sets of terms."""
        found: dict[str, None] = {}
        for match in self._matches:
            named = text_of(match.name)[:120] if match.name is not None else ""
            terms = self._terms.setdefault(named, frozenset(index_terms(named).split())) if named else frozenset()
            if not (terms.isdisjoint(one) or terms.isdisjoint(other)):
                path = path_of(named.strip("\"'"))
                found |= {path[-1]: None} if path else {}
        for record in self._records.values():
            terms = frozenset(index_terms(record.name).split())
            if not (terms.isdisjoint(one) or terms.isdisjoint(other)):
                found[record.name] = None
        return list(found)

    def constant_prefixes(self) -> list[str]:
        """Return the first words of the constants that are bound here, each as often as constants have it."""
        names = {
            text_of(match.name)[:120] for match in self._matches if match.form == "binding" and match.name is not None
        }
        return [found.group(1) for name in names if (found := _PREFIXED.fullmatch(name)) is not None]

    def recorded(self) -> list[Site]:
        """Return the sites of the options that records of this file describe, by line."""
        return [site for place in list(self._records)[:MAX_RECORDED] for site in self._sites_at(place)]

    def _add(self, match: _Match) -> None:
        place = len(self._matches)
        self._matches.append(match)
        record = record_of(match.site) if match.form == "entry" and _may_be_default(match) else None
        if record is not None and is_default_entry(record, match.site):
            self._records[place] = record
        own = [key_of(record.name)] if record is not None else []
        for key in (*_keys(match), *own):
            known = self._by_key.setdefault(key, [])
            if not known or known[-1] != place:
                known.append(place)
        read = _READ.fullmatch(text_of(match.value)) if match.form == "binding" else None
        if read is not None:
            self._read_by.setdefault(key_of(read.group(1)), []).append(place)

    def _sites_at(self, place: int) -> tuple[Site, ...]:
        if place not in self._sites:
            record = self._records.get(place)
            made = self._made(self._matches[place]) if record is None else self._recorded(self._matches[place], record)
            self._sites[place] = tuple(made)
        return self._sites[place]

    def _made(self, match: _Match) -> Iterator[Site]:
        form, name = match.form, text_of(match.name)
        if form == "call":
            yield from self._options(match)
        elif form == "mark":
            yield from self._marked(match)
        elif form == "fallback" and not _is_asked(match.site):
            yield from self._fallback(match, self._value(match))
        elif form == "guard":
            yield from self._guarded(match)
        elif form == "member":
            value = read_value(_behind_equals(match), self.syntax.reading) if "=" in text_of(match.site) else None
            if path_of(name):
                yield self._site(match, path_of(name), value)
        elif form != "fallback":
            value = self._value(match)
            own = path_of(name)
            path = _path_of_entry(match, name) if form in {"entry", "keyword", "binding"} else own
            if path and not (form == "entry" and _HAS_DEFAULT.match(text_of(match.value)[:400])):
                declared = default_in(_paired(match), self.syntax.reading)
                yield self._site(match, path, declared or value, declares=declared is not None or path != own)
            if value is not None and value.has_fallback:
                yield from self._fallback(match, value, besides=path)

    def _recorded(self, match: _Match, record: OptionRecord) -> Iterator[Site]:
        """Yield the option that a record describes: its lines are those of the record, its line that of the name."""
        around = surroundings_of(match.site, (record.name,))
        line, value_line = record.name_entry.start_point[0] + 1, match.site.start_point[0] + 1
        start, end = record.record.start_point[0] + 1, record.record.end_point[0] + 1
        named = record.name_entry if line != value_line else match.site
        text = text_of(named).split("\n")[0].strip()[:MAX_LINE_CHARS].rstrip()
        yield Site(
            self.file,
            match.form,
            (record.name,),
            line,
            start,
            end,
            text,
            self._value(match),
            around,
            True,
            False,
            value_line,
        )

    def _value(self, match: _Match) -> Value | None:
        return read_value(_paired(match), self.syntax.reading)

    def _fallback(self, match: _Match, value: Value | None, besides: tuple[str, ...] = ()) -> Iterator[Site]:
        if value is None or not value.has_fallback:
            return
        for path in primary_paths(value.primary):
            if not besides or key_of(path[-1]) != key_of(besides[-1]):
                yield self._site(match._replace(form="fallback"), path, value)

    def _guarded(self, match: _Match) -> Iterator[Site]:
        """Yield what is returned instead of a name that has no value: `if w.size > 0 { return w.size }; return 100`."""
        named = given_name(text_of(match.site.child_by_field_name("condition")))
        value = read_value(text_of(match.value), self.syntax.reading)
        if named is not None and value is not None and named == text_of(match.name) and path_of(named):
            path = path_of(named)
            site = self._site(match._replace(form="fallback", site=match.value, name=None), path, value)
            yield site if is_of_object(match.site, path) else site._replace(around=site.around._replace(owner=""))

    def handed_on(self, name: str) -> Iterator[tuple[tuple[str, ...], Site, bool]]:
        """Yield the variables that only read a name of an object, `n := s.limit`, each with the name as it is read.

        The last is whether the object is the one whose method reads it.
        """
        for place in self._read_by.get(key_of(name), ()):
            match = self._matches[place]
            path = path_of(text_of(match.value))
            for site in self._sites_at(place) if len(path) > 1 and key_of(path[-1]) == key_of(name) else ():
                yield path, site, is_of_object(match.site, path)

    def _options(self, match: _Match) -> Iterator[Site]:
        text = text_of(match.value)
        declared = declared_option(text, self.syntax.reading)
        if declared is not None:
            for name in declared[0]:
                yield self._site(match, (name,), declared[1], declares=True)
            return
        yield from self._fallback(match, read_value(text, self.syntax.reading))

    def _marked(self, match: _Match) -> Iterator[Site]:
        if match.name is not None:
            tagged = tagged_default(text_of(match.value))
            if tagged is not None:
                yield self._site(match, (text_of(match.name),), tagged, declares=True)
            return
        field = match.site.next_named_sibling
        while field is not None and field.type == "attribute_item":
            field = field.next_named_sibling
        value = marked_default(text_of(match.value), self.syntax.reading)
        name = None if field is None else field.child_by_field_name("name")
        if name is not None and value is not None:
            yield self._site(match, (text_of(name),), value, declares=True)

    def _site(self, match: _Match, path: tuple[str, ...], value: Value | None, *, declares: bool = False) -> Site:
        start, end = match.site.start_point[0] + 1, match.site.end_point[0] + 1
        line = start if match.name is None else match.name.start_point[0] + 1
        own = text_of(match.site).split("\n")
        text = own[min(line - start, len(own) - 1)].strip()[:MAX_LINE_CHARS].rstrip()
        around = surroundings_of(match.site, path)
        joins = "||=" in text or "??=" in text
        return Site(self.file, match.form, path, line, start, end, text, value, around, declares, joins)


def _leaves(root: Node, first: int, last: int) -> Iterator[Node]:
    """Yield the names without parts in a range of lines, inclusive and counted from 0, in their order."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.end_point[0] < first or node.start_point[0] > last:
            continue
        if node.named_child_count:
            waiting += reversed(node.named_children)
        elif "identifier" in node.type or node.type in _NAME_NODES:
            yield node


def _read_path(node: Node) -> tuple[str, ...]:
    """Return the name of a constant with what it is read from, `Self::LIMIT`; empty for another name."""
    name = text_of(node)
    if CONSTANT.fullmatch(name) is None:
        return ()
    path: tuple[str, ...] = (name,)
    above = node.parent
    while above is not None and above.end_byte == node.end_byte and above.end_byte - above.start_byte <= MAX_LINE_CHARS:
        longer = path_of(text_of(above))
        path = longer if longer[-1:] == (name,) else path
        above = above.parent
    return path


def primary_paths(primary: str) -> list[tuple[str, ...]]:
    """Return the names that a fallback reads first: a name, or the key that is looked up."""
    quoted = re.findall(r"[\"']([\w.\-]{1,80})[\"']", primary)
    if quoted:
        return [path for path in map(path_of, quoted[-1:]) if path]
    path = path_of(primary) if re.fullmatch(r"[\w$@.\->:?!\[\]'\"&*()]{1,200}", primary) else ()
    return [path] if path else []


def _keys(match: _Match) -> Iterator[str]:
    """Yield the keys under which a match may be looked up, without reading its value."""
    if match.name is not None and match.form != "call":
        path = path_of(text_of(match.name)[:200])
        if path:
            yield key_of(path[-1])
            if match.form in {"entry", "keyword", "binding"} and key_of(path[-1]) in _KEYS_OF_DEFAULTS:
                yield from (key_of(part) for part in _path_of_entry(match, path[-1])[-1:])
    if match.form == "mark" and match.name is not None:
        return
    if match.form in {"call", "mark", "fallback"} or match.form in {"binding", "parameter", "entry", "keyword"}:
        text = text_of(match.site if match.form == "mark" else match.value)[:400]
        if match.form == "mark":
            following = match.site.next_named_sibling
            text = text_of(following)[:200] if following is not None else ""
        elif match.form not in {"call", "fallback"} and not re.search(r"\|\||\?\?|\?|\bor\b|\bif\b|[\"']", text):
            return
        yield from {key_of(word) for word in re.findall(r"[A-Za-z_$][\w$\-]*", text)}


def _may_be_default(match: _Match) -> bool:
    """Return whether an entry may give the default of an option, by its key."""
    return match.name is not None and key_of(text_of(match.name)[:80]) in _KEYS_OF_DEFAULTS


def _path_of_entry(match: _Match, name: str) -> tuple[str, ...]:
    """Return the name of an entry; for the entry `default` of an option, that of the option."""
    path = path_of(name)
    if not path or key_of(path[-1]) not in _KEYS_OF_DEFAULTS:
        return path
    holder = match.site.parent
    if match.form == "binding":
        named = _name_in_class(match.site) if key_of(path[-1]) == "default" else ""
        return (named,) if named else path
    if match.form == "keyword":
        keys = _keys_beside(match.site)
        return (keys[0],) if keys else path
    is_short = holder is not None and holder.end_byte - holder.start_byte <= MAX_LITERAL_BYTES
    beside = _NAME_BESIDE.search(text_of(holder)) if is_short else None
    if beside is not None:
        return (beside.group(1),)
    above = None if holder is None else holder.parent
    if above is not None and above.type == "pair" and key_of(path[-1]).startswith("default"):
        return path_of(text_of(above.child_by_field_name("key"))) or path
    return path


def _name_in_class(assignment: Node) -> str:
    """Return the name of the option that a class declares by its attributes `name` and `default`; empty for others."""
    body = None if assignment.parent is None else assignment.parent.parent
    if body is None or body.type not in _CLASS_BODIES or body.parent is None or body.parent.type != "class_definition":
        return ""
    for statement in body.named_children:
        other = statement.named_child(0) if statement.type == "expression_statement" else None
        if other is not None and other.type == "assignment" and text_of(other.child_by_field_name("left")) in _NAMING:
            found = _OPTION_NAME.fullmatch(text_of(other.child_by_field_name("right"))[:100])
            if found is not None:
                return found.group(1)
    return ""


def _keys_beside(keyword: Node) -> list[str]:
    """Return the names that an option gets by other named arguments: `keys=["max_size"], default=3`."""
    found: list[str] = []
    for other in keyword.parent.named_children if keyword.parent is not None else ():
        named = other.child_by_field_name("name")
        if other.type == "keyword_argument" and text_of(named) in _NAMING:
            found += re.findall(r"[\"']([A-Za-z_][\w\-]{0,80})[\"']", text_of(other)[:400])
    return found


def _paired(match: _Match) -> str:
    """Return the text of the value; of several values, that which stands at the place of the name."""
    values = [child for child in match.value.named_children if child.type != "comment"]
    if match.value.type == "expression_list" and match.name is not None:
        names = match.site.children_by_field_name("name") or [match.name]
        if match.name.type == "expression_list":
            names = match.name.named_children
        if len(names) != len(values):
            return ""
        place = names.index(match.name) if match.name in names else 0
        return text_of(values[place]) if len(names) == 1 or match.name in names else ""
    return text_of(match.value)


def _is_asked(node: Node) -> bool:
    """Return True for an expression that decides a branch: what stands there is no value with a fallback."""
    child, above = node, node.parent
    while above is not None and above.type in _WRAPPING:
        child, above = above, above.parent
    if above is None or (node.type in _CONDITIONALS and above.type in _CONDITIONALS):
        # In a chain of conditions the first one decides.
        return above is not None
    return above.type in _LOGICAL or child == above.child_by_field_name("condition")


def _behind_equals(match: _Match) -> str:
    return text_of(match.site).partition("=")[2].strip(" ,;")
