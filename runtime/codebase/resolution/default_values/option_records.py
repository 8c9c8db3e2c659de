"""Reads the records of options in tables of settings: literals with a name and a default.

`{ .name = "width", .description = "…", .default_value = "300" }`, in any language whose literals have keys, and the
same behind a name: `.option("width", { default: 300 })`.
Only a record with a plain name and one entry for the default is read.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from runtime.codebase.language_parts.facts_walker import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_ENTRIES, MAX_RECORD_BYTES = 40, 4_000

_ENTRIES = frozenset(
    {"pair", "keyed_element", "field_initializer", "array_element_initializer", "initializer_pair", "literal_element"}
)
_ARGUMENTS = frozenset({"arguments", "argument_list"})
_TEXTS = frozenset({"string", "simple_symbol", "string_literal", "interpreted_string_literal"})
_NAMES = ("name", "longname", "long", "id", "key", "flag", "option", "dest")
_DEFAULTS = ("default", "defaultvalue", "dflt", "defaulttext", "defval")
# What a record may call the default that has no entry for it, if it has a name and a description.
_VALUES = ("value",)
_DESCRIPTIONS = frozenset(
    {"description", "desc", "help", "helptext", "usage", "doc", "docs", "summary", "about", "info"}
)
_NAME = re.compile(r"[^\"'`]*?[\"'`]-{0,2}([A-Za-z_][\w.\- ]{0,60})[\"'`][^\"'`]*|:([A-Za-z_]\w{0,60})")
_SEPARATORS = re.compile(r"[\W_]+")


class OptionRecord(NamedTuple):
    """Holds the name that a record gives to an option, and the nodes of its entries for the name and the default."""

    name: str
    record: Node
    name_entry: Node
    default_entry: Node


def record_of(entry: Node) -> OptionRecord | None:
    """Return the record that an entry of a literal stands in; None if the literal describes no option."""
    holder = entry.parent
    if holder is None or holder.end_byte - holder.start_byte > MAX_RECORD_BYTES:
        return None
    found: dict[str, Node] = {}
    for other in holder.named_children[:MAX_ENTRIES]:
        if other.type in _ENTRIES:
            found.setdefault(_key(other), other)
    named = next((found[key] for key in _NAMES if key in found), None)
    default = next((found[key] for key in _DEFAULTS if key in found), None)
    if default is None and not _DESCRIPTIONS.isdisjoint(found):
        default = next((found[key] for key in _VALUES if key in found), None)
    given = _given_name(holder) if named is None else None
    named = named if named is not None else given
    written = text_of(given)[:100] if given is not None else _value(named)
    said = _NAME.fullmatch(written) if named is not None else None
    if named is None or default is None or said is None:
        return None
    return OptionRecord(said.group(1) or said.group(2), holder, named, default)


def _given_name(holder: Node) -> Node | None:
    """Return the text ahead of a record in a call, which is the option's name: `.option("port", { default: 80 })`."""
    given = holder if holder.type in _ARGUMENTS else holder.parent
    first = None if given is None or given.type not in _ARGUMENTS else given.named_child(0)
    return first if first is not None and first.type in _TEXTS and first.start_byte < holder.end_byte else None


def is_default_entry(record: OptionRecord, entry: Node) -> bool:
    """Return whether an entry is the one that gives the option of its record its default."""
    return record.default_entry.start_byte == entry.start_byte


def _key(entry: Node) -> str:
    key = next(
        (node for field in ("key", "designator", "field", "name") if (node := entry.child_by_field_name(field))), None
    )
    key = key if key is not None else entry.named_child(0)
    return _SEPARATORS.sub("", text_of(key)[:80]).lower()


def _value(entry: Node | None) -> str:
    if entry is None:
        return ""
    value = entry.child_by_field_name("value") or entry.named_child(entry.named_child_count - 1)
    return text_of(value)[:100]
