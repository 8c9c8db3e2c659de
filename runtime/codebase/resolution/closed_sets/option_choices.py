"""Finds what the options of a program may be set to, where they are declared.

They are what `choices=`, `click.Choice([…])`, `.choices([…])`, `.choice("a", "b")`, `value_parser([…])` and the like
list, the names that these mention, a type that is an enumeration (`value_enum`, typer), or a list in the words about
the option: «one of (auto|off|max)».
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from runtime.codebase.parsing.tree_walk import Within
from runtime.codebase.resolution.closed_sets.declared_sets import FUNCTIONS
from runtime.codebase.resolution.closed_sets.member_lines import MemberLines
from runtime.codebase.resolution.closed_sets.records import ClosedSet, Member
from runtime.codebase.resolution.closed_sets.written_values import (
    Collection,
    arguments_of,
    called_name,
    collection_of,
    is_text,
    name_of,
    raw,
    text_value,
)
from runtime.codebase.resolution.default_values.word_sets import words

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_ARGUMENTS = 40
MAX_CHAIN = 12
MAX_REFERRED = 6
MAX_LEAVES = 60
MAX_TEXT_CHARS = 1_500
# Texts of files without any of these declare no option whose values are listed.
MAY_LIST = re.compile(r"choice|Choice|value_parser|possible_values|value_enum|one of|typer|Literal\[|\w\|\w", re.ASCII)
_CALLS = frozenset({"call", "call_expression", "method_invocation", "invocation_expression", "member_call_expression"})
_LISTING = words(
    """
    choices choice value_parser possible_values possibleValues enum inEnumeration acceptedValues Choice Choices
    PossibleValuesParser
    """
)
_KEYS = frozenset({"choices", "Choices", "allowed_values", "enum"})
# Calls in a chain that give an option its names.
_NAMING = words(
    """
    new long short alias visible_alias Option option argument addOption createOption with_name Arg add_argument
    positional requiredOption
    """
)
_OPTION = re.compile(r"(?<![\w-])-{1,2}[A-Za-z][\w-]{0,60}")
_PLAIN = re.compile(r"[A-Za-z][\w-]{1,60}")
# «one of (auto|off|max)», «[a|b]», «one of: a, b or c».
_BARRED = re.compile(r"(?<![\w|.+-])[\w.+-]{1,40}(?: ?\| ?[\w.+-]{1,40}){1,40}")
_VALUE = r"[\w.+'\"`-]{1,40}"
_ONE_OF = re.compile(
    r"\b(?:one of|(?:possible|valid|allowed|supported) values(?: are)?|choices(?: are)?):? ?[(\[{<]?"
    rf" ?({_VALUE}(?:,\s(?:or )?{_VALUE}){{1,40}}(?:,?\s(?:or|and) {_VALUE})?)",
    re.IGNORECASE,
)
_NO_REFERENCE = words(
    """
    sorted list tuple set frozenset keys values items str lambda for in map filter range len enumerate Choice choices
    click typer argparse name value lower upper case_sensitive self cls None True False type case insensitive e x v k
    c String Option Vec clap builder Some
    """
)
_ENUM_MARK = re.compile(r"\b(?:value_enum|arg_enum)\b|^#\[(?:arg|clap|structopt)\b")
_OF_TYPER = re.compile(r"^(?:typer\.)?(?:Option|Argument)\b")


class OptionChoices:
    """Finds the options of one file."""

    def __init__(self, file: str, text: str, lines: MemberLines) -> None:
        self._file = file
        self._text = text
        self._lines = lines

    def of(self, within: Within) -> Iterator[ClosedSet]:
        """Yield the option that a node declares, if its values are listed."""
        node = within.node
        if node.type in _CALLS:
            yield from self._called(node)
        elif node.type == "attribute_item":
            yield from self._attributed(node)
        elif node.type == "typed_default_parameter":
            yield from self._typed(node)

    def _called(self, node: Node) -> Iterator[ClosedSet]:
        arguments, called = arguments_of(node)[:MAX_ARGUMENTS], called_name(node)
        if called in _LISTING and (names := self._names_in_chain(node)):
            yield from self._listed(node, names, arguments)
            return
        names = _names_of(arguments) or (self._constant_name(arguments) if _declares(called) else ())
        if not names:
            return
        for argument in arguments:
            for value in _values_given(argument):
                yield from self._listed(node, names, [value])
                return
        if any(name.startswith("-") for name in names) or _declares(called):
            yield from self._told(node, names, arguments)

    def _constant_name(self, arguments: Sequence[Node]) -> tuple[str, ...]:
        """Return the name that an option has by a constant of its file, which stands ahead of its description."""
        for argument in arguments[:4]:
            if argument.type != "identifier":
                continue
            bound = re.search(rf"\b{re.escape(raw(argument)[:80])}\s{{0,4}}:?=\s?\"([\w-]{{1,60}})\"", self._text)
            if bound is not None:
                return (bound[1],)
        return ()

    def _names_in_chain(self, node: Node) -> tuple[str, ...]:
        """Return the names that the calls ahead in a chain give, `Arg::new("mode").long("mode")`."""
        names: list[str] = []
        for _ in range(MAX_CHAIN):
            inner = next(
                (
                    found
                    for field in ("function", "object", "receiver", "constructor")
                    if (found := node.child_by_field_name(field)) is not None
                ),
                node.named_children[0] if node.named_child_count else None,
            )
            if inner is None:
                break
            if inner.type in _CALLS or inner.type == "new_expression":
                called = called_name(inner)
                if called in _NAMING:
                    given = _names_of(arguments_of(inner)[:MAX_ARGUMENTS])
                    names += [f"--{name}" if called == "long" and name[:1] != "-" else name for name in given]
            node = inner
        return tuple(dict.fromkeys(names))

    def _listed(self, node: Node, names: tuple[str, ...], values: Sequence[Node]) -> Iterator[ClosedSet]:
        """Yield the option with the values that are written out, or the names that it takes them from."""
        found = collection_of(values[0]) if len(values) == 1 else None
        if found is None and values and all(is_text(value) for value in values) and len(values) > 1:
            members = tuple(self._lines.member(text_value(value), value) for value in values if text_value(value))
            yield from self._made(node, names, members)
        elif (
            found is None
            and values
            and all(one.type == "value_argument" or "to" in raw(one)[:200] for one in values[:1])
        ):
            yield from self._referring(node, names, values)
        elif found is not None and _is_plain(found):
            members = self._lines.of_entries(found.entries)
            yield from self._made(node, names, members, total=found.total, is_open=found.is_open)
        else:
            yield from self._referring(node, names, values)

    def _referring(self, node: Node, names: tuple[str, ...], values: Sequence[Node]) -> Iterator[ClosedSet]:
        refers = tuple(dict.fromkeys(name for value in values for name in _referred(value)))[:MAX_REFERRED]
        if refers:
            yield from self._made(node, names, (), refers=refers)

    def _told(self, node: Node, names: tuple[str, ...], arguments: Sequence[Node]) -> Iterator[ClosedSet]:
        """Yield an option whose description lists its values."""
        for argument in arguments:
            value = argument.child_by_field_name("value") if argument.type == "keyword_argument" else argument
            if value is None or value.end_byte - value.start_byte > MAX_TEXT_CHARS or "string" not in value.type:
                continue
            said = raw(value)
            listed = listed_in(said)
            if len(listed) > 1:
                first, at = value.start_point[0] + 1, said.find(listed[0])
                places = [first + said.count("\n", 0, max(said.find(name, at), 0)) for name in listed]
                members = tuple(Member(name, line, line) for name, line in zip(listed, places, strict=True))
                yield from self._made(node, names, members)
                return

    def _attributed(self, node: Node) -> Iterator[ClosedSet]:
        """Read what stands above a field of Rust: the values that it may have, or that its type lists them."""
        said = raw(node)[:MAX_TEXT_CHARS]
        field = node.next_named_sibling
        while field is not None and field.type in {"attribute_item", "line_comment"}:
            field = field.next_named_sibling
        if field is None or field.type != "field_declaration" or _ENUM_MARK.search(said) is None:
            return
        own = re.search(r"\blong\s*=\s*\"([\w-]{1,60})\"", said)
        name = own[1] if own is not None else raw(field.child_by_field_name("name")).replace("_", "-")
        values = re.search(r"\b(?:value_parser|possible_values)\s*[=(]", said)
        texts = [
            leaf
            for leaf in _leaves(node)
            if is_text(leaf) and values and leaf.start_byte - node.start_byte > values.end() - 1
        ]
        if len(texts) > 1:
            members = tuple(self._lines.member(text_value(text), text) for text in texts if text_value(text))
            yield from self._made(node, (f"--{name}",), members)
        elif refers := tuple(_referred(field.child_by_field_name("type"))):
            yield from self._made(field, (f"--{name}",), (), refers=refers[:MAX_REFERRED])

    def _typed(self, node: Node) -> Iterator[ClosedSet]:
        """Read a parameter of a command of typer, whose type may be an enumeration."""
        value, declared = node.child_by_field_name("value"), node.child_by_field_name("type")
        if value is None or value.type != "call" or not _OF_TYPER.match(raw(value)[:40]):
            return
        named = raw(node.child_by_field_name("name")).replace("_", "-")
        names = tuple(name for name in _names_of(arguments_of(value)) if name[:1] == "-") or (f"--{named}",)
        if refers := tuple(_referred(declared)):
            yield from self._made(node, names, (), refers=refers[:MAX_REFERRED])

    def _made(
        self,
        node: Node,
        names: tuple[str, ...],
        members: tuple[Member, ...],
        *,
        total: int = 0,
        is_open: bool = False,
        refers: tuple[str, ...] = (),
    ) -> Iterator[ClosedSet]:
        total = total or len(members)
        if total < 2 and not refers:
            return
        start, end = node.start_point[0] + 1, node.end_point[0] + 1
        name = max(names, key=len)
        yield ClosedSet(
            name, "option", self._file, start, start, end, members, total, is_open, names=names, refers=refers
        )


def listed_in(text: str) -> list[str]:
    """Return the values that the words about an option list; empty if they list none."""
    found = max((match.group() for match in _BARRED.finditer(text)), key=len, default="")
    if found and not found.isupper():
        return list(dict.fromkeys(part.strip() for part in found.split("|")))
    told = _ONE_OF.search(text)
    parts = re.split(r",\s?(?:or\s|and\s)?|\s(?:or|and)\s", told[1]) if told is not None else []
    return list(dict.fromkeys(name for part in parts if (name := part.strip("'\"`. "))))


def _is_plain(found: Collection) -> bool:
    return found.total > 1 and all(name_of(entry.node) or entry.value is not None for entry in found.entries[:3])


def _declares(called: str) -> bool:
    return called in {"Var", "VarP", "StringVar", "StringVarP", "String", "StringP", "add_argument", "option", "Option"}


def _names_of(arguments: Sequence[Node]) -> tuple[str, ...]:
    """Return the names that the first texts among the arguments of a call give an option."""
    names: list[str] = []
    for argument in arguments[:5]:
        said = text_value(argument) if is_text(argument) else ""
        if said and (found := _OPTION.findall(said)) and said.lstrip()[:1] == "-":
            names += found
        elif said and _PLAIN.fullmatch(said) and not names:
            names.append(said)
        elif said:
            break
    return tuple(dict.fromkeys(names))


def _values_given(argument: Node) -> Iterator[Node]:
    """Yield the expression that lists the values, where an argument is one that does."""
    if argument.type == "keyword_argument":
        name, value = raw(argument.child_by_field_name("name")), argument.child_by_field_name("value")
        if value is not None and name in _KEYS:
            yield value
        elif value is not None and name == "type":
            yield from _chosen(value)
    elif argument.type in {"object", "dictionary", "hash"}:
        for pair in argument.named_children[:MAX_ARGUMENTS]:
            key, value = pair.child_by_field_name("key"), pair.child_by_field_name("value")
            if key is not None and value is not None and name_of(key) in _KEYS:
                yield value
    elif argument.type == "pair" and (key := argument.child_by_field_name("key")) is not None:
        value = argument.child_by_field_name("value")
        if value is not None and name_of(key) in _KEYS:
            yield value
    else:
        yield from _chosen(argument)


def _chosen(node: Node) -> Iterator[Node]:
    """Yield what `click.Choice(…)` is given."""
    if node.type == "call" and called_name(node) in {"Choice", "EnumChoice"}:
        yield from arguments_of(node)[:1]


def _leaves(node: Node) -> Iterator[Node]:
    waiting, seen = [node], 0
    while waiting and seen < MAX_LEAVES:
        one, seen = waiting.pop(), seen + 1
        if is_text(one) or not one.named_child_count:
            yield one
        else:
            waiting += reversed(one.named_children)


def _referred(node: Node | None) -> Iterator[str]:
    """Yield the names in an expression that may be those of a set."""
    if node is None or node.type in FUNCTIONS:
        return
    for leaf in _leaves(node):
        if leaf.type.endswith("identifier") or leaf.type == "constant":
            name = raw(leaf)[:80]
            if name not in _NO_REFERENCE:
                yield name
