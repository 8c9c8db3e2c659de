"""Finds the closed sets that a syntax tree declares.

They are enumerations, types of literal texts, constants of one type, and collections that are written out.

A table maps the type of a node to what reads it; what stands in a function is no declaration of the program.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from runtime.codebase.parsing.tree_walk import Within
from runtime.codebase.resolution.closed_sets.member_lines import MemberLines
from runtime.codebase.resolution.closed_sets.records import ClosedSet, Member, SetKind
from runtime.codebase.resolution.closed_sets.type_texts import owner_of, texts_of_literal, texts_of_union
from runtime.codebase.resolution.closed_sets.written_values import (
    COMMENTS,
    MAX_CHILDREN,
    MAX_MEMBERS,
    called_name,
    collection_of,
    is_text,
    raw,
    text_value,
)
from runtime.codebase.resolution.default_values.word_sets import words

if TYPE_CHECKING:
    from tree_sitter import Node

LEAST_MEMBERS = 2
MAX_DEPTH = 60
FUNCTIONS = words(
    """
    function_definition function_declaration method_declaration func_literal function_item closure_expression
    constructor_declaration lambda_expression lambda lambda_literal anonymous_function method singleton_method
    arrow_function function_expression method_definition generator_function_declaration local_function_statement
    arrow_function_expression
    """
)
_ENUM_BASE = re.compile(r"(?:Enum|Flag|Choices)\b")
_SEALED = re.compile(r"\bsealed\b")
_ASIDE = COMMENTS | {"modifiers", "modifier", "visibility_modifier", "attribute_list"}
_MEMBERS = {
    "enum_variant": "name",
    "enum_constant": "name",
    "enumerator": "name",
    "enum_member_declaration": "name",
    "enum_case": "name",
    "enum_entry": "",
    "enum_assignment": "name",
    "property_identifier": "",
    "string": "",
}
_BODIES = frozenset({"enum_class_body", "enumerator_list", "enum_declaration_list", "enum_body"})


class DeclaredSets:
    """Finds the sets of one file."""

    def __init__(self, file: str, lines: MemberLines) -> None:
        self._file = file
        self._lines = lines

    def of(self, within: Within) -> Iterator[ClosedSet]:
        """Yield the sets that a node declares."""
        read = _READERS.get(within.node.type)
        if read is not None:
            yield from read(self, within.node, within)

    def _made(
        self,
        node: Node,
        within: Within,
        name: str,
        kind: SetKind,
        members: list[Member] | tuple[Member, ...],
        *,
        total: int = 0,
        is_open: bool = False,
        named: Node | None = None,
        doc: str = "",
    ) -> Iterator[ClosedSet]:
        total = total or len(members)
        if not name or total < LEAST_MEMBERS:
            return
        start = node.start_point[0] + 1
        line = named.start_point[0] + 1 if named is not None else start
        said = doc or self._lines.above(start)
        kept = tuple(members[:MAX_MEMBERS])
        end = node.end_point[0] + 1
        owner = owner_of(within.around)
        yield ClosedSet(name, kind, self._file, line, start, end, kept, total, is_open, owner, said)

    def enum(self, node: Node, within: Within) -> Iterator[ClosedSet]:
        """Read an enumeration of a language that has them."""
        body = node.child_by_field_name("body")
        body = body or next((child for child in node.named_children if child.type in _BODIES), None)
        named = node.child_by_field_name("name")
        if named is None and within.around is not None and within.around.node.type == "type_definition":
            named = within.around.node.child_by_field_name("declarator")
        if body is None or named is None:
            return
        declared = [child for child in body.named_children[:MAX_CHILDREN] if child.type in _MEMBERS]
        members = [self._member(child) for child in declared[:MAX_MEMBERS]]
        yield from self._made(
            node, within, raw(named)[:80], "enum", members, total=len(declared), named=named, doc=self._inner_doc(node)
        )

    def _member(self, node: Node) -> Member:
        field = _MEMBERS[node.type]
        named = node.child_by_field_name(field) if field else None
        if named is None and node.type == "enum_entry":
            named = next((child for child in node.named_children if child.type.endswith("identifier")), None)
        named = named or node
        name = text_value(named) if is_text(named) else raw(named)[:80]
        value = node.child_by_field_name("value")
        return self._lines.member(name, node, value, named)

    def class_(self, node: Node, within: Within) -> Iterator[ClosedSet]:
        """Read a class: one of Python that is an enumeration, one of Kotlin, or a sealed one with its subtypes."""
        bases, body = node.child_by_field_name("superclasses"), node.child_by_field_name("body")
        if bases is not None and body is not None and _ENUM_BASE.search(raw(bases)[:400]):
            yield from self._python_enum(node, body, within)
            return
        children = node.named_children
        if any(child.type == "enum_class_body" for child in children):
            yield from self.enum(node, within)
        elif any(child.type == "modifiers" and _SEALED.search(raw(child)[:200]) for child in children):
            yield from self._sealed(node, within)

    def _python_enum(self, node: Node, body: Node, within: Within) -> Iterator[ClosedSet]:
        assigned = [
            child.named_children[0]
            for child in body.named_children[:MAX_CHILDREN]
            if child.type == "expression_statement"
            and child.named_child_count
            and child.named_children[0].type == "assignment"
        ]
        members = []
        for one in assigned:
            left, value = one.child_by_field_name("left"), one.child_by_field_name("right")
            if left is None or value is None or left.type != "identifier" or raw(left).startswith("_"):
                continue
            members.append(self._lines.member(raw(left)[:80], one, value, left))
        named = node.child_by_field_name("name")
        yield from self._made(node, within, raw(named)[:80], "enum", members, named=named, doc=self._inner_doc(node))

    def _inner_doc(self, node: Node) -> str:
        """Return the documentation string of a class of Python."""
        body = node.child_by_field_name("body")
        first = body.named_children[0] if body is not None and body.named_child_count else None
        if first is None or first.type != "expression_statement" or first.named_child_count != 1:
            return ""
        said = raw(first.named_children[0]) if first.named_children[0].type == "string" else ""
        return " ".join(said.strip("\"' \nrR").split("\n\n")[0].split())[:300]

    def _sealed(self, node: Node, within: Within) -> Iterator[ClosedSet]:
        """Read a sealed type of Kotlin by the subtypes that stand in it, or one of Java by those that it permits."""
        named, permits = node.child_by_field_name("name"), node.child_by_field_name("permits")
        name = raw(named)[:80]
        members: list[Member] = []
        if permits is not None:
            listed = [leaf for child in permits.named_children for leaf in child.named_children]
            members = [self._lines.member(raw(leaf)[:80], leaf) for leaf in listed]
        body = next((child for child in node.named_children if child.type == "class_body"), None)
        for child in body.named_children[:MAX_CHILDREN] if body is not None and permits is None else ():
            own = child.child_by_field_name("name")
            if child.type in {"class_declaration", "object_declaration"} and own is not None:
                head = raw(child)[:2_000].partition("{")[0]
                if re.search(rf":\s*(?:\w+\.)?{re.escape(name)}\b", head):
                    members.append(
                        self._lines.member(raw(own)[:80], child, None, own)._replace(end_line=own.end_point[0] + 1)
                    )
        yield from self._made(node, within, name, "enum", members, named=named, is_open=permits is None)

    def alias(self, node: Node, within: Within) -> Iterator[ClosedSet]:
        """Read a type of literal texts: of TypeScript, or of Python."""
        named = node.child_by_field_name("name") or node.child_by_field_name("left")
        value = node.child_by_field_name("value") or node.child_by_field_name("right")
        if named is None or value is None:
            return
        if value.type == "union_type":
            yield from self._union(node, within, named, value)
        elif (
            raw(value)[:200].rpartition("[")[0].rpartition(".")[2].endswith("Literal") or "Literal[" in raw(value)[:40]
        ):
            yield from self._literal(node, within, named, value)

    def _union(self, node: Node, within: Within, named: Node, value: Node) -> Iterator[ClosedSet]:
        found, is_open = texts_of_union(value)
        members = [self._lines.member(name, one) for one in found if (name := text_value(one))]
        yield from self._made(node, within, raw(named)[:80], "union", members, named=named, is_open=is_open)

    def _literal(self, node: Node, within: Within, named: Node, value: Node) -> Iterator[ClosedSet]:
        members = [self._lines.member(name, one) for one in texts_of_literal(value) if (name := text_value(one))]
        yield from self._made(node, within, raw(named)[:80], "union", members, named=named)

    def constants(self, node: Node, within: Within) -> Iterator[ClosedSet]:
        """Read the constants of Go that are declared together with one type."""
        by_type: dict[str, list[Member]] = {}
        current = ""
        specs = [spec for spec in node.named_children[:MAX_CHILDREN] if spec.type == "const_spec"]
        # `const (A Mode = 0; B = 1)`: who names the type once means it of all.
        goes_on = sum(spec.child_by_field_name("type") is not None for spec in specs) == 1
        for spec in specs:
            declared, value = spec.child_by_field_name("type"), spec.child_by_field_name("value")
            if declared is not None:
                current = raw(declared)[:80]
            elif value is not None:
                current = _converted(value) or (current if goes_on and _is_literal(value) else "")
            name = spec.child_by_field_name("name")
            if current and name is not None and raw(name) != "_":
                own = value.named_children[0] if value is not None and value.named_child_count == 1 else None
                told = own if own is not None and own.type != "iota" and "iota" not in raw(own)[:60] else None
                by_type.setdefault(current, []).append(self._lines.member(raw(name)[:80], spec, told, name))
        for name_of_type, members in by_type.items():
            if name_of_type not in _PLAIN_TYPES:
                yield from self._made(node, within, name_of_type, "constants", members)

    def binding(self, node: Node, within: Within) -> Iterator[ClosedSet]:
        """Read what a name is bound to, if that is a collection which code writes out."""
        named = next(
            (
                found
                for field in ("name", "left", "declarator")
                if (found := node.child_by_field_name(field)) is not None
            ),
            None,
        )
        value = next(
            (found for f in ("value", "right", "default_value") if (found := node.child_by_field_name(f)) is not None),
            None,
        )
        children = [child for child in node.named_children if child.type not in _ASIDE]
        if len(children) >= 2:
            named, value = named or children[0], value or children[-1]
        if named is None or value is None or named == value:
            return
        if node.type == "assignment" and "Literal[" in raw(value)[:60]:
            yield from self.alias(node, within)
            return
        held, name = collection_of(value), _bare(named)
        if held is None or name in _NO_SETS:
            return
        holder = within.around.node if within.around is not None else node
        members = self._lines.of_entries(held.entries)
        doc = self._lines.above(holder.start_point[0] + 1) if holder.type not in {"module", "program"} else ""
        yield from self._made(
            node, within, name, held.kind, members, total=held.total, is_open=held.is_open, named=named, doc=doc
        )


def _is_literal(value: Node) -> bool:
    only = value.named_children[0] if value.named_child_count == 1 else None
    return only is not None and (only.type == "int_literal" or is_text(only))


def _converted(value: Node) -> str:
    """Return the type that the value of a constant is converted to, `Mode` of `Mode("auto")`."""
    only = value.named_children[0] if value.named_child_count == 1 else None
    name = called_name(only) if only is not None and only.type == "call_expression" else ""
    return name if name[:1].isupper() and name.isidentifier() else ""


def _bare(named: Node) -> str:
    """Return the name that is bound: the last part of `exports.levels`, the inner one of `*names[]`."""
    for _ in range(6):
        inner = named.child_by_field_name("declarator") or named.child_by_field_name("property")
        if inner is None and named.type in {"variable_declaration", "variable_name"} and named.named_child_count:
            inner = named.named_children[0]
        if inner is None:
            break
        named = inner
    name = raw(named)[:80]
    return name.lstrip("$@") if name.lstrip("$@#").isidentifier() else ""


# What a module or a class offers is no set of values.
_NO_SETS = frozenset({"__all__", "__slots__", "__match_args__", "exports", "prototype"})
_PLAIN_TYPES = words(
    """
    string int int8 int16 int32 int64 uint uint8 uint16 uint32 uint64 byte rune float32 float64 bool uintptr error
    """
)

_Reader = Callable[[DeclaredSets, "Node", Within], Iterator[ClosedSet]]
_READERS: dict[str, _Reader] = {
    **dict.fromkeys(("enum_item", "enum_declaration", "enum_specifier"), DeclaredSets.enum),
    **dict.fromkeys(("class_definition", "class_declaration", "interface_declaration"), DeclaredSets.class_),
    **dict.fromkeys(("type_alias_declaration", "type_alias_statement"), DeclaredSets.alias),
    "const_declaration": DeclaredSets.constants,
    **dict.fromkeys(
        words("""assignment variable_declarator assignment_expression public_field_definition field_definition var_spec
        const_spec const_item static_item property_declaration const_element property_element init_declarator"""),
        DeclaredSets.binding,
    ),
}
