"""Describes the surroundings of a place of code: function, type, literals and conditions.

The conditions are those under which the place is reached within its function or file: branches, cases, handlers and
conditional compilation. A header's own include guard is none.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from runtime.codebase.language_parts.facts_walker import text_of
from runtime.codebase.resolution.default_values.value_expressions import path_of
from runtime.codebase.resolution.default_values.word_sets import words

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_DEPTH = 400
MAX_CONDITION_CHARS = 100
# A longer branch is named by its kind: its text would be copied for each place in it.
MAX_BRANCH_BYTES = 100_000
# The holder of entries that what is spread behind them overrides: `{ port: 80, ...options }`.
OVERRIDDEN = "<defaults>"
# The holder of what a module gives as a whole.
EXPORTS = "module.exports"
NO_NAMES = frozenset({OVERRIDDEN, EXPORTS})
# The condition of what stands in a module of tests.
TESTS = "in tests"

_FUNCTIONS = words(
    """
    function_definition function_declaration method_definition method_declaration constructor_declaration
    function_item arrow_function function_expression function func_literal lambda method singleton_method
    closure_expression lambda_expression local_function_statement anonymous_function secondary_constructor
    generator_function_declaration compact_constructor_declaration lambda_literal primary_constructor
    anonymous_function_creation_expression anonymous_initializer function_signature
    """
)
_TYPES = words(
    """
    class_definition class_declaration class abstract_class_declaration interface_declaration enum_declaration
    record_declaration struct_item impl_item trait_item enum_item struct_specifier class_specifier union_specifier
    enum_specifier module object_declaration struct_declaration trait_declaration annotation_type_declaration
    """
)
_BRANCHES = words(
    """
    if_statement if unless if_expression elif_clause elsif conditional_expression ternary_expression conditional
    if_modifier unless_modifier preproc_if preproc_ifdef preproc_elif while_statement
    """
)
_HANDLERS = words(
    """
    switch_case case_clause expression_case type_case communication_case match_arm when_entry when case_statement
    except_clause catch_clause rescue switch_block_statement_group switch_rule switch_section default_case
    switch_default while_statement for_statement for_in_statement foreach_statement for_expression for_range_loop
    enhanced_for_statement loop_expression while until for do_statement
    """
)
_ELSE = words("else_clause else preproc_else")
_ENTRIES = words("pair keyed_element field_initializer array_element_initializer initializer_pair")
_NAMED = words(
    """
    variable_declarator assignment assignment_expression const_spec var_spec short_var_declaration const_item
    static_item let_declaration init_declarator property_declaration const_element property_element
    assignment_statement public_field_definition field_definition
    """
)
_TYPED = words("composite_literal struct_expression object_creation_expression")
_LITERALS = frozenset({"object", "dictionary", "hash"})
# Calls that fill a thing with what it lacks, and those whose later arguments override the earlier ones.
_FILLS = re.compile(r"(?:^|_)defaults$|Defaults$|^defaults(?:Deep|_deep)?$")
_OVERRIDES = frozenset({"assign", "extend", "merge"})
_SPREADS = frozenset({"spread_element", "dictionary_splat", "hash_splat_argument"})
_OBJECTS = frozenset({"self", "this", "cls"})
_INCLUDE_GUARD = re.compile(r"_H(?:PP|H|XX)?_*$|INCLUDED|_INC$|^__cplusplus$")
_CALLED = re.compile(r"[\w$:~.]+(?=\s*\()")


class Surroundings(NamedTuple):
    """Names what is around a place, innermost first.

    `function`: the nearest function with a name; `owner`: the nearest type; `holders`: keys, variables and types of
    the literals around it; `conditions`: those under which it is reached; `depth`: the number of functions around it.
    """

    function: str
    owner: str
    holders: tuple[str, ...]
    conditions: tuple[str, ...]
    depth: int


def surroundings_of(node: Node, path: tuple[str, ...]) -> Surroundings:
    """Return what surrounds the statement of a place whose name is `path`."""
    function, owner, depth = "", "", 0
    holders: list[str] = []
    conditions: list[str] = []
    child, parent = node, node.parent
    for _ in range(MAX_DEPTH):
        if parent is None:
            break
        kind = parent.type
        if kind in _FUNCTIONS and not (kind == "function" and not parent.named_child_count):
            depth += 1
            function = function or _function_name(parent)
            owner = owner or _receiver(parent)
        elif kind in _TYPES:
            owner = owner or _type_name(parent)
        elif (not function or kind == "mod_item") and (condition := _condition(parent, child)):
            conditions.append(condition)
        if not function:
            holders += _holder(parent, child, node)
        child, parent = parent, parent.parent
    attribute = node.prev_named_sibling
    if attribute is not None and attribute.type == "attribute_item" and text_of(attribute).startswith("#[cfg"):
        conditions.insert(0, _short(text_of(attribute)))
    return Surroundings(function, owner, tuple(holders), tuple(conditions), depth)


def is_of_object(node: Node, path: tuple[str, ...]) -> bool:
    """Return True for a member of the object whose method a place stands in: `self.x`, in Go of the receiver."""
    if len(path) != 2 or path[0] in _OBJECTS:
        return len(path) == 2
    above = node.parent
    while above is not None and above.type != "method_declaration":
        above = above.parent
    receiver = None if above is None else above.child_by_field_name("receiver")
    return receiver is not None and re.findall(r"[A-Za-z_]\w*", text_of(receiver))[:1] == [path[0]]


def _function_name(node: Node) -> str:
    name = node.child_by_field_name("name")
    if name is not None:
        return text_of(name)
    declarator = node.child_by_field_name("declarator")
    if declarator is not None:
        found = _CALLED.search(text_of(declarator))
        return found.group() if found is not None else ""
    if node.type == "secondary_constructor":
        return "constructor"
    if node.type in {"primary_constructor", "anonymous_initializer"}:
        return "init"
    above = node.parent
    while above is not None and above.type in {"parenthesized_expression", "as_expression", "satisfies_expression"}:
        above = above.parent
    if above is not None and above.type in _NAMED | {"pair"}:
        return ".".join((*_name_in(above),)[:1])
    return ""


def _receiver(node: Node) -> str:
    """Return the type of a Go method, or of a C++ function that is defined outside its class."""
    receiver = node.child_by_field_name("receiver")
    if receiver is not None and node.type == "method_declaration":
        words = re.findall(r"[A-Za-z_]\w*", text_of(receiver))
        return words[1] if len(words) > 1 else (words[0] if words else "")
    declarator = node.child_by_field_name("declarator")
    found = _CALLED.search(text_of(declarator)) if declarator is not None else None
    parts = path_of(found.group()) if found is not None else ()
    return parts[-2] if len(parts) > 1 else ""


def _type_name(node: Node) -> str:
    if node.type == "impl_item":
        return re.sub(r"<.*", "", text_of(node.child_by_field_name("type"))).rpartition("::")[2]
    name = node.child_by_field_name("name")
    return text_of(name).rpartition("::")[2] if name is not None else ""


def _condition(node: Node, child: Node) -> str:
    """Return the condition under which a child of a node is reached; empty if there is none."""
    kind = node.type
    if kind == "mod_item" and text_of(node.child_by_field_name("name")) in {"test", "tests"}:
        return TESTS
    if kind in _HANDLERS:
        is_long = node.end_byte - node.start_byte > MAX_BRANCH_BYTES
        return kind.replace("_", " ") if is_long else _short(text_of(node).split("\n", 1)[0])
    if kind in _ELSE:
        above = node.parent
        told = text_of(_test_of(above)) if above is not None else ""
        return _short(f"not ({told})" if told else "else")
    if kind not in _BRANCHES:
        return ""
    if kind == "preproc_ifdef":
        name, mark = text_of(node.child_by_field_name("name")), text_of(node.children[0])
        if mark == "#ifndef" and _INCLUDE_GUARD.search(name):
            return ""
        return "" if child.type in _ELSE or name == "__cplusplus" else f"{mark} {name}"
    test = _test_of(node)
    if test is None or child == test or child.type in _ELSE or child.type in {"elif_clause", "preproc_elif"}:
        return ""
    if child in node.children_by_field_name("initializer"):
        return ""
    told = _short(text_of(test))
    is_other = child in node.children_by_field_name("alternative") or kind in {"unless", "unless_modifier"}
    return f"not ({told})" if is_other else told


def _test_of(node: Node) -> Node | None:
    if node.type == "preproc_ifdef":
        return node.child_by_field_name("name")
    test = node.child_by_field_name("condition")
    if test is None and node.type in {"conditional_expression", "if_modifier", "unless_modifier", "if_expression"}:
        test = node.named_children[1] if node.named_child_count > 1 else None
    return test


def _holder(node: Node, child: Node, site: Node) -> list[str]:
    """Return the names that a literal around a site bears: its key, its variable, its type."""
    if node.type in _LITERALS and _is_overridden(node, child):
        return [OVERRIDDEN]
    if node.type in _ENTRIES or (node.type in _NAMED and node != site):
        return list(_name_in(node))
    if node.type == "export_statement" and node.child_count > 1 and node.children[1].type == "default":
        return [EXPORTS]
    if node.type in {"arguments", "argument_list"}:
        return _given_to(node, child)
    if node.type in _TYPED:
        named = node.child_by_field_name("type") or node.child_by_field_name("name")
        return [".".join(path_of(text_of(named)[:120]))] if named is not None else []
    return []


def _given_to(arguments: Node, literal: Node) -> list[str]:
    """Return what a literal of defaults fills as an argument: `_.defaults(options, {…})`, `assign({…}, options)`."""
    call = arguments.parent
    callee = None if call is None else call.child_by_field_name("function") or call.child_by_field_name("method")
    called = path_of(text_of(callee)[-120:])[-1:] if callee is not None else ()
    others = [one for one in arguments.named_children if one != literal and one.type != "comment"]
    if not called or not others or literal.type not in _LITERALS:
        return []
    paths = (path_of(text_of(one)[:120]) for one in others)
    named = [".".join(path) for path in paths if path][:1]
    if _FILLS.search(called[0]):
        return [*named, OVERRIDDEN]
    is_first = others[-1].start_byte > literal.start_byte and others[-1].type not in _LITERALS
    return [*named, OVERRIDDEN] if called[0] in _OVERRIDES and is_first else []


def _is_overridden(literal: Node, entry: Node) -> bool:
    last = literal.named_child(literal.named_child_count - 1) if literal.named_child_count else None
    if last is None or last == entry or last.type not in _SPREADS:
        return False
    return not text_of(last).lower().endswith("defaults")


def _name_in(node: Node) -> list[str]:
    for field in ("key", "name", "left", "field", "pattern", "declarator", "designator"):
        name = node.child_by_field_name(field)
        if name is not None:
            path = path_of(text_of(name)[:120])
            return [".".join(path)] if path else []
    return []


def _short(text: str) -> str:
    folded = " ".join(text.split())
    while folded.startswith("(") and folded.endswith(")") and ")" not in folded[1:-1]:
        folded = folded[1:-1].strip()
    return folded if len(folded) <= MAX_CONDITION_CHARS else folded[: MAX_CONDITION_CHARS - 1] + "…"
