"""Reads the members of a collection that code writes out: its keys, or its texts, in each language.

`collection_of` looks through what only wraps a collection, such as `frozenset([…])`, `Object.freeze({…})`,
`[…].freeze`, `&[…]` or `listOf(…)`. A collection with an entry that is neither a text nor a name, and one that is taken
from elsewhere, has more members than it says: it is open.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

from runtime.codebase.resolution.default_values.word_sets import words

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_MEMBERS = 300
MAX_NAME_CHARS = 80
MAX_VALUE_CHARS = 60
MAX_WRAPPERS = 6
# So many children of a node are looked at; a longer list of them is open.
MAX_CHILDREN = 20_000

COMMENTS = frozenset({"comment", "line_comment", "block_comment", "multiline_comment"})
# What stands in a collection and is none of its members: nothing at all.
_NOTHING = frozenset({"nil", "none", "null", "null_literal", "undefined"})
_TEXTS = words(
    """
    string string_literal interpreted_string_literal raw_string_literal bare_string bare_symbol simple_symbol
    encapsed_string verbatim_string_literal line_string_literal
    """
)
_NOT_LITERAL = frozenset({"interpolation", "template_substitution", "interpolated_expression", "string_interpolation"})
_NAMES = words(
    """
    identifier attribute member_expression scoped_identifier field_access selector_expression constant
    scope_resolution property_identifier navigation_expression member_access_expression
    class_constant_access_expression type_identifier scoped_type_identifier qualified_name name
    """
)
_NUMBERS = words(
    "integer float number int_literal integer_literal number_literal decimal_integer_literal hex_integer_literal"
)
_LISTS = words(
    """
    list tuple set array array_expression array_initializer initializer_expression initializer_list string_array
    symbol_array
    """
)
_MAPS = frozenset({"dictionary", "object", "hash"})
_TUPLES = frozenset({"tuple", "list", "tuple_expression", "initializer_list", "array", "literal_value"})
_SPREADS = words(
    """
    list_splat dictionary_splat spread_element splat_argument hash_splat_argument variadic_unpacking spread_expression
    """
)
# Nodes around the one that has a value, and under which field that stands: empty for their only child.
_AROUND = {
    "parenthesized_expression": "",
    "as_expression": "",
    "satisfies_expression": "",
    "type_assertion": "",
    "reference_expression": "value",
    "expression_list": "",
    "implicit_array_creation_expression": "",
    "array_creation_expression": "",
    "initializer_expression": "",
    "cast_expression": "value",
}
_CALLS = words(
    """
    call call_expression method_invocation new_expression invocation_expression object_creation_expression
    implicit_object_creation_expression
    """
)
# Functions that make a collection of one collection, or of their arguments.
_OF_ONE = words(
    """
    frozenset set tuple list sorted dict OrderedDict MappingProxyType freeze seal Set Map new unmodifiableSet
    unmodifiableList unmodifiableMap copyOf from HashSet List
    """
)
_OF_ENTRIES = words("listOf setOf arrayOf mutableListOf mutableSetOf linkedSetOf hashSetOf of asList")
_OF_PAIRS = words("mapOf linkedMapOf hashMapOf mutableMapOf")
_ARGUMENTS = frozenset({"argument_list", "arguments", "value_arguments"})


class Entry(NamedTuple):
    """Names one entry of a collection; `value` is the node of what it stands for, if it has one."""

    name: str
    node: Node
    value: Node | None


class Collection(NamedTuple):
    """Holds the entries of a collection that code writes out, at most `MAX_MEMBERS`, and how many it has."""

    kind: Literal["keys", "list"]
    entries: tuple[Entry, ...]
    total: int
    is_open: bool


def raw(node: Node | None) -> str:
    """Return the text of a node, empty without one."""
    return "" if node is None else (node.text or b"").decode("utf-8", "replace")


def is_text(node: Node) -> bool:
    """Return whether a node is a literal text."""
    return node.type in _TEXTS and not any(child.type in _NOT_LITERAL for child in node.named_children[:8])


def text_value(node: Node) -> str:
    """Return what a literal text says, without its quotes; empty for one that is too long or of several lines."""
    if node.end_byte - node.start_byte > MAX_NAME_CHARS + 8:
        return ""
    parts = [child for child in node.named_children if child.type.endswith(("_content", "_fragment"))]
    said = raw(parts[0]) if len(parts) == 1 else raw(node).lstrip("brufRBUF@:").strip("\"'`")
    return said if said.strip() and "\n" not in said else ""


def name_of(node: Node) -> str:
    """Return how a key or an entry is called: a text without quotes, a name, a number; empty for anything else."""
    if is_text(node):
        return text_value(node)
    if node.type in {"literal_element", "computed_property_name", "argument", "element_binding_expression", "type"}:
        return name_of(node.named_children[0]) if node.named_child_count == 1 else ""
    if node.type in _NAMES | _NUMBERS | {"hash_key_symbol", "shorthand_property_identifier", "pattern"}:
        said = raw(node) if node.end_byte - node.start_byte <= MAX_NAME_CHARS else ""
        return said if said.strip() and "\n" not in said else ""
    return ""


def value_text(node: Node | None) -> str:
    """Return a value as it is written, if that is short."""
    if node is None or node.end_byte - node.start_byte > MAX_VALUE_CHARS:
        return ""
    said = raw(node)
    return "" if "\n" in said else said


def called_name(call: Node) -> str:
    """Return the last name of what a call calls."""
    for field in ("method", "name", "function", "constructor", "type"):
        found = call.child_by_field_name(field)
        if found is not None:
            return _last_name(found)
    return _last_name(call.named_children[0]) if call.named_child_count else ""


def _last_name(node: Node) -> str:
    for _ in range(MAX_WRAPPERS):
        names = [child for child in node.named_children if not child.type.endswith("arguments")]
        if not names or node.type in {"identifier", "name"}:
            break
        node = names[-1] if node.type != "generic_name" else names[0]
    return raw(node)[:MAX_NAME_CHARS]


def arguments_of(call: Node) -> list[Node]:
    """Return the arguments of a call."""
    held = call.child_by_field_name("arguments")
    held = held or next((child for child in call.named_children if child.type in _ARGUMENTS), None)
    found = [] if held is None else list(held.named_children[:MAX_CHILDREN])
    plain = [node.named_children[0] if _is_wrapped(node) else node for node in found]
    return [node for node in plain if node.type not in COMMENTS]


def _is_wrapped(node: Node) -> bool:
    return node.type in {"argument", "value_argument"} and node.named_child_count == 1


def collection_of(node: Node | None, depth: int = 0) -> Collection | None:
    """Return the collection that an expression writes out; None for any other expression."""
    if node is None or depth > MAX_WRAPPERS:
        return None
    if node.type == "array_creation_expression" and any(c.type == "array_element_initializer" for c in _inside(node)):
        return _of_elements(node)
    if node.type in _MAPS:
        return _made("keys", _pairs(node), node.named_child_count)
    if node.type == "composite_literal":
        return _of_go(node)
    if node.type in _LISTS and not _holds_collection(node):
        return _of_list(node)
    if node.type in _CALLS:
        return _of_call(node, depth)
    if node.type in _AROUND:
        field = _AROUND[node.type]
        inner = node.child_by_field_name(field) if field else None
        inner = inner or next((child for child in node.named_children if child.type not in COMMENTS), None)
        return collection_of(inner, depth + 1)
    return None


def _holds_collection(node: Node) -> bool:
    """Return whether a node of C# is no list by itself: the initial values of a dictionary."""
    return node.type == "initializer_expression" and any(
        child.type in {"initializer_expression", "assignment_expression"} for child in _inside(node)[:2]
    )


def _inside(node: Node) -> list[Node]:
    children = itertools.islice(node.named_children, MAX_CHILDREN)
    return [child for child in children if child.type not in COMMENTS and child.type not in _NOTHING]


def _made(
    kind: Literal["keys", "list"], entries: Iterator[Entry | None], children: int, is_open: bool = False
) -> Collection:
    found = list(entries)
    known: dict[str, Entry] = {}
    for entry in found:
        if entry is not None:
            known.setdefault(entry.name, entry)
    is_open = is_open or None in found or children > MAX_CHILDREN
    return Collection(kind, tuple(known.values())[:MAX_MEMBERS], len(known), is_open)


def _pairs(node: Node) -> Iterator[Entry | None]:
    for child in _inside(node):
        key = child.child_by_field_name("key") or child.child_by_field_name("name")
        if child.type in {"shorthand_property_identifier"}:
            key = child
        name = name_of(key) if key is not None and child.type not in _SPREADS else ""
        yield Entry(name, child, child.child_by_field_name("value")) if name else None


def _listed(node: Node) -> Iterator[Entry | None]:
    for child in _inside(node):
        first = next(iter(_inside(child)), None) if child.type in _TUPLES else child
        name = "" if first is None or child.type in _SPREADS else name_of(first)
        yield Entry(name, child, None) if name and (first is None or first.type not in _NUMBERS) else None


def _of_list(node: Node) -> Collection:
    return _made("list", _listed(node), node.named_child_count)


def _of_elements(node: Node) -> Collection:
    """Read an array of PHP: its keys if it has them, else its entries."""
    found: list[Entry | None] = []
    keyed = 0
    for child in _inside(node):
        parts = _inside(child)
        name = name_of(parts[0]) if parts and child.type == "array_element_initializer" else ""
        found.append(Entry(name, child, parts[1] if len(parts) > 1 else None) if name else None)
        keyed += len(parts) > 1
    return _made("keys" if keyed else "list", iter(found), node.named_child_count)


def _of_go(node: Node) -> Collection | None:
    body, declared = node.child_by_field_name("body"), node.child_by_field_name("type")
    if body is None or declared is None or declared.type not in {"map_type", "slice_type", "array_type"}:
        return None
    if declared.type == "map_type":
        keyed = [child for child in _inside(body) if child.type == "keyed_element"]
        pairs = ((child.child_by_field_name("key"), child) for child in keyed)
        found = (
            Entry(name, child, child.child_by_field_name("value"))
            if key is not None and (name := name_of(key))
            else None
            for key, child in pairs
        )
        return _made("keys", found, body.named_child_count)
    elements = (child for child in _inside(body) if child.type == "literal_element")
    inner = ((next(iter(child.named_children), None), child) for child in elements)
    listed = (
        Entry(name, child, None) if first is not None and (name := _first_name(first)) else None
        for first, child in inner
    )
    return _made("list", listed, body.named_child_count)


def _first_name(node: Node) -> str:
    """Return the name of an entry, or of the first part of a struct without names of fields."""
    if node.type != "literal_value":
        return "" if node.type in _NUMBERS else name_of(node)
    first = next(iter(node.named_children), None)
    return name_of(first) if first is not None and first.type == "literal_element" and _is_quoted(first) else ""


def _is_quoted(node: Node) -> bool:
    return node.named_child_count == 1 and is_text(node.named_children[0])


def _of_call(node: Node, depth: int) -> Collection | None:
    called, arguments = called_name(node), arguments_of(node)
    initial = node.child_by_field_name("initializer") or next(
        (child for child in node.named_children if child.type == "initializer_expression"), None
    )
    if initial is not None:
        return _of_initial(initial)
    if called == "freeze" and not arguments:
        return collection_of(node.child_by_field_name("receiver"), depth + 1)
    if called in _OF_PAIRS:
        return _made("keys", map(_pair_of, arguments), len(arguments))
    if called in {"dict", "OrderedDict"} and arguments and all(one.type == "keyword_argument" for one in arguments):
        named = (Entry(raw(a.child_by_field_name("name")), a, a.child_by_field_name("value")) for a in arguments)
        return _made("keys", named, len(arguments))
    if called in _OF_ONE and len(arguments) == 1:
        found = collection_of(arguments[0], depth + 1)
        return _of_entries_of_map(arguments[0]) if called == "Map" and found is not None else found
    if called == "of" and raw(node.child_by_field_name("object")).endswith("Map"):
        keys = arguments[::2]
        return _made("keys", (Entry(name_of(key), key, None) if name_of(key) else None for key in keys), len(keys))
    if called in _OF_ENTRIES:
        names = ((name_of(one), one) for one in arguments)
        return _made("list", (Entry(name, one, None) if name else None for name, one in names), len(arguments))
    return None


def _of_initial(node: Node) -> Collection:
    """Read the initial values of an object of C#: pairs, `["key"] = …`, or entries."""
    if not _holds_collection(node):
        return _of_list(node)
    found: list[Entry | None] = []
    for child in _inside(node):
        key = child.child_by_field_name("left") or next(iter(_inside(child)), None)
        name = name_of(key) if key is not None else ""
        found.append(Entry(name, child, None) if name else None)
    return _made("keys", iter(found), node.named_child_count)


def _of_entries_of_map(node: Node) -> Collection:
    """Read `new Map([["key", …], …])`."""
    return _of_list(node)._replace(kind="keys")


def _pair_of(node: Node) -> Entry | None:
    parts = _inside(node)
    name = name_of(parts[0]) if node.type == "infix_expression" and len(parts) > 1 and raw(parts[1]) == "to" else ""
    return Entry(name, node, parts[-1]) if name else None
