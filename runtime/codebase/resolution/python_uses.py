"""Finds every use of a name in a Python file, and resolves it by the file's own scopes.

    for use in PythonFile(source).uses("send"): ...

A name inside a string or a comment is not a use, and neither is a keyword argument. Only the occurrences of the name
itself are examined, so that a file costs little more than its parsing. Files with syntax errors are read as far as the
grammar recovers. Nothing is executed; a type is known only if it is annotated or constructed on the spot.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

from runtime.codebase.language_registry import load_grammar
from runtime.codebase.languages.python import PYTHON
from runtime.codebase.parsing.parse_limit import PARSE_LIMIT, ParseLimit
from runtime.codebase.resolution.python_nodes import (
    BINDING_PARENTS,
    LITERALS,
    SCOPES,
    binding_of,
    declared_global,
    is_keyword,
    scope_of,
    self_name,
    text_of,
)
from runtime.primitives.dotted_names import last_part

if TYPE_CHECKING:
    from tree_sitter import Node

Where = Literal["unbound", "module", "import", "class", "local"]

MAX_HOPS = 4
# A file is kept for many questions, each of which asks for the bindings of a few names.
MAX_KNOWN_NAMES = 200

_WORD_BYTES = frozenset(string.ascii_letters.encode() + string.digits.encode() + b"_")


class Use(NamedTuple):
    """Describes one use. `line` is counted from 1; `binds` is True if the name is bound here.

    `qualifier` is the text before the dot, empty for a bare name. `where` is the binding of the bare name, or of the
    first name of the qualifier: an import, the module, a class body, a local of a function, or unbound in this file.
    `receivers` are the possible classes of the object before the dot, as this file names them; empty: not known.
    `owner` is the qualified name of the class whose method the use is in, empty outside of methods and for a bare name.
    """

    line: int
    qualifier: str
    where: Where
    receivers: frozenset[str]
    owner: str
    is_self: bool
    is_super: bool
    binds: bool


def places_of_word(source: bytes, word: bytes) -> Iterator[int]:
    """Yield the offsets at which a word stands by itself: with no ASCII letter, digit or underscore beside it."""
    at = source.find(word) if word else -1
    while at >= 0:
        end = at + len(word)
        before, after = source[at - 1 : at], source[end : end + 1]
        if not (at and before[0] in _WORD_BYTES) and not (after and after[0] in _WORD_BYTES):
            yield at
            # As a regular expression would, go on behind the word.
            at = source.find(word, end)
        else:
            at = source.find(word, at + 1)


def lines_with(text: str, name: str) -> Iterator[int]:
    """Yield the lines, counted from 1, on which a name stands by itself, in code or elsewhere: once for each place."""
    data, last, line = _bytes_of(text), 0, 1
    for start in places_of_word(data, _bytes_of(name)):
        line += data.count(b"\n", last, start)
        last = start
        yield line


def _bytes_of(text: str) -> bytes:
    return text.encode("utf-8", "replace")


class PythonFile:
    """Holds the syntax tree of one file and resolves the uses of a name in it."""

    def __init__(self, text: str, limit: ParseLimit = PARSE_LIMIT) -> None:
        """Parse a file; SlowSourceError if that takes too long."""
        self._source = _bytes_of(text)
        self._tree = limit.parse(load_grammar(PYTHON.name), self._source).tree
        self._has_globals = b"global" in self._source
        self._bound: dict[str, dict[int, list[Node]]] = {}
        self._attributes: dict[tuple[int, str], frozenset[str]] = {}

    def uses(self, name: str) -> list[Use]:
        """Return the uses of a name by line."""
        return [self._use(node) for node in self._places(name) if not is_keyword(node)]

    def _places(self, name: str) -> Iterator[Node]:
        root = self._tree.root_node
        word = _bytes_of(name)
        for start in places_of_word(self._source, word):
            node = root.descendant_for_byte_range(start, start + len(word))
            if node is not None and node.type == "identifier" and node.start_byte == start:
                yield node

    def _use(self, node: Node) -> Use:
        line = node.start_point[0] + 1
        parent = node.parent
        if parent is None or parent.type != "attribute" or parent.child_by_field_name("attribute") != node:
            name = text_of(node)
            binds = binding_of(node) is not None
            return Use(line, "", self._where(name, node), frozenset(), "", False, False, binds)
        receiver = parent.child_by_field_name("object")
        qualifier = text_of(receiver) if receiver is not None else ""
        holder = self._class_around(node)
        owner = _class_name(holder) if holder is not None else ""
        is_self = holder is not None and receiver is not None and self._is_self(receiver, node)
        is_super = qualifier.startswith("super(")
        head = _head(receiver)
        where = self._where(text_of(head), head) if head is not None else "unbound"
        known = frozenset[str]() if is_self or is_super else self._classes_of(receiver, MAX_HOPS)
        return Use(line, qualifier, where, known, owner, is_self, is_super, False)

    def _where(self, name: str, node: Node) -> Where:
        binder = self._binder(name, node)
        if binder is None:
            return "unbound"
        nodes = self._bindings(name)[binder.id]
        if any(_is_import(one) for one in nodes):
            return "import"
        if binder.type == "module":
            return "module"
        return "class" if binder.type == "class_definition" else "local"

    def _binder(self, name: str, node: Node) -> Node | None:
        """Return the scope whose binding a name at a node refers to; None if no visible scope of the file binds it."""
        bound = self._bindings(name)
        scope: Node | None = scope_of(node)
        first = True
        while scope is not None:
            if self._has_globals and declared_global(scope, name):
                scope = self._tree.root_node
            # The names of a class body are not seen from the functions in it.
            if scope.id in bound and (first or scope.type != "class_definition"):
                return scope
            first = False
            scope = scope_of(scope) if scope.type != "module" else None
        return None

    def _bindings(self, name: str) -> dict[int, list[Node]]:
        """Return the bindings of a name, by scope."""
        known = self._bound.get(name)
        if known is None:
            if len(self._bound) >= MAX_KNOWN_NAMES:
                self._bound.clear()
            known = self._bound[name] = {}
            for node in self._places(name):
                scope = binding_of(node)
                if scope is not None:
                    is_global = self._has_globals and declared_global(scope, name)
                    scope = self._tree.root_node if is_global else scope
                    known.setdefault(scope.id, []).append(node)
        return known

    def _class_around(self, node: Node) -> Node | None:
        """Return the class whose method a node is in."""
        scope: Node | None = scope_of(node)
        inner: Node | None = None
        while scope is not None and scope.type != "module":
            if scope.type == "class_definition":
                return scope if inner is not None else None
            if scope.type == "function_definition":
                inner = scope
            scope = scope_of(scope)
        return None

    def _is_self(self, receiver: Node, node: Node) -> bool:
        """Return True for the first parameter of the enclosing method."""
        if receiver.type != "identifier":
            return False
        binder = self._binder(text_of(receiver), node)
        if binder is None or binder.type != "function_definition":
            return False
        return self_name(binder) == text_of(receiver) and scope_of(binder).type == "class_definition"

    def _classes_of(self, node: Node | None, hops: int) -> frozenset[str]:
        """Return the possible classes of an expression, as the file names them; empty if they are not known."""
        if node is None or hops == 0:
            return frozenset()
        if node.type in LITERALS:
            return frozenset({LITERALS[node.type]})
        if node.type in ("parenthesized_expression", "await"):
            return self._classes_of(node.named_children[0] if node.named_children else None, hops)
        if node.type == "call":
            return _made_by(node)
        if node.type in ("conditional_expression", "boolean_operator"):
            first, *_, last = node.named_children
            return _all_known([self._classes_of(one, hops - 1) for one in (first, last)])
        if node.type == "identifier":
            return self._classes_of_name(node, hops)
        if node.type == "attribute":
            return self._classes_of_attribute(node, hops)
        return frozenset()

    def _classes_of_name(self, node: Node, hops: int) -> frozenset[str]:
        name = text_of(node)
        binder = self._binder(name, node)
        if binder is None:
            return frozenset()
        return _all_known([self._class_given(one, hops) for one in self._bindings(name)[binder.id]])

    def _classes_of_attribute(self, node: Node, hops: int) -> frozenset[str]:
        """Return the possible classes of `self.name`, by its assignments in the class."""
        receiver, name = node.child_by_field_name("object"), node.child_by_field_name("attribute")
        holder = self._class_around(node)
        if receiver is None or name is None or holder is None or not self._is_self(receiver, node):
            return frozenset()
        key = (holder.id, text_of(name))
        if key not in self._attributes:
            # Entered first, so that attributes assigned from each other do not recurse endlessly.
            self._attributes[key] = frozenset()
            self._attributes[key] = _all_known(self._given_in(holder, text_of(name), hops))
        return self._attributes[key]

    def _given_in(self, holder: Node, name: str, hops: int) -> list[frozenset[str]]:
        """Return the possible classes of an attribute for each of its assignments in a class."""
        given = []
        for place in self._places(name):
            if not holder.start_byte <= place.start_byte < holder.end_byte:
                continue
            target = place.parent
            if target is not None and target.type == "attribute" and target.child_by_field_name("attribute") == place:
                if target.parent is not None and target.parent.child_by_field_name("left") == target:
                    given.append(self._class_assigned(target.parent, hops))
            elif binding_of(place) == holder:
                given.append(self._class_given(place, hops))
        return given

    def _class_given(self, binding: Node, hops: int) -> frozenset[str]:
        """Return the possible classes of a name by one binding."""
        parent = binding.parent
        if parent is None:
            return frozenset()
        if parent.type in ("class_definition", "aliased_import", "dotted_name", "function_definition"):
            # The class itself stands for its objects: `Box.put(box)` means a method of Box.
            return frozenset({text_of(binding)}) if parent.type == "class_definition" else frozenset()
        if parent.type in ("typed_parameter", "typed_default_parameter"):
            return _annotated(parent.child_by_field_name("type"))
        if parent.type in ("assignment", "named_expression") and parent.named_children[0] == binding:
            return self._class_assigned(parent, hops)
        if parent.type == "as_pattern_target" and parent.parent is not None:
            return self._classes_of(parent.parent.named_children[0], hops - 1)
        return frozenset()

    def _class_assigned(self, statement: Node, hops: int) -> frozenset[str]:
        if statement.type == "augmented_assignment":
            return frozenset()
        return _annotated(statement.child_by_field_name("type")) or self._classes_of(
            statement.child_by_field_name("right") or statement.child_by_field_name("value"), hops - 1
        )


def _head(receiver: Node | None) -> Node | None:
    """Return the name that a chain of attributes begins with."""
    while receiver is not None and receiver.type == "attribute":
        receiver = receiver.child_by_field_name("object")
    return receiver if receiver is not None and receiver.type == "identifier" else None


def _all_known(given: list[frozenset[str]]) -> frozenset[str]:
    """Return the union, empty if one of them is not known; an assignment of `None` beside a class is ignored."""
    classes = [one for one in given if one != {"None"}]
    return frozenset().union(*classes) if classes and all(classes) else frozenset()


def _made_by(call: Node) -> frozenset[str]:
    """Return the class that `Name(…)` or `module.Name(…)` constructs, if the name is spelt like a class's."""
    function = call.child_by_field_name("function")
    if function is None:
        return frozenset()
    name = last_part(text_of(function))
    is_name = function.type in ("identifier", "attribute")
    return frozenset({name}) if is_name and (_looks_like_class(name) or name in _MAKERS) else frozenset()


def _looks_like_class(name: str) -> bool:
    bare = name.lstrip("_")
    return bare[:1].isupper() and not (bare.isupper() and len(bare) > 1)


# Functions of Python whose result is of the class of that name.
_MAKERS = frozenset({"list", "dict", "set", "frozenset", "tuple", "str", "bytes", "bytearray", "sorted", "open"})
_NAMES = re.compile(r"[A-Za-z_][\w.]*")
_WRAPPERS = frozenset({"Optional", "Union", "Annotated", "Final", "ClassVar", "Required", "NotRequired"})


def _annotated(annotation: Node | None) -> frozenset[str]:
    """Return the classes that an annotation names; empty if it allows anything."""
    if annotation is None:
        return frozenset()
    text = text_of(annotation).strip("'\" ")
    outer, bracket, rest = text.partition("[")
    if bracket and last_part(outer) in _WRAPPERS:
        text = rest
    elif bracket:
        text = outer
    names = {last_part(name) for name in _NAMES.findall(text)} - {"None"}
    vague = {"Any", "object", "type", "Type", "Self", "Callable", "TypeVar", "Protocol"}
    # One letter is a type variable.
    return frozenset() if names & vague or any(len(name) < 3 for name in names) else frozenset(names)


def _class_name(holder: Node) -> str:
    """Return the qualified name of a class, as in the index."""
    names: list[str] = []
    node: Node | None = holder
    while node is not None and node.type != "module":
        if node.type in ("class_definition", "function_definition"):
            names.append(text_of(node.child_by_field_name("name")))
        node = scope_of(node)
    return ".".join(reversed(names))


def _is_import(node: Node) -> bool:
    return any(parent.type in BINDING_PARENTS for parent in _above(node, 2))


def _above(node: Node, count: int) -> Iterator[Node]:
    at = node.parent
    while at is not None and count and at.type not in SCOPES:
        yield at
        at, count = at.parent, count - 1
