"""Reads the literals in lines of code, each with what its line says of it.

It is the value of an entry, a fallback, the bound of a loop …
`literals_in` reads the syntax tree by one table: the kinds of nodes, and who reads each. Only a literal, be it one with
a unit, is read, nothing that has to be computed or followed. Of prose, comments and documentation are read for a
default that they state.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

from runtime.codebase.files.words import split_identifier
from runtime.codebase.language_parts.facts_walker import text_of
from runtime.codebase.language_parts.value_syntax import Reading
from runtime.codebase.parsing.tree_walk import Within
from runtime.codebase.resolution.default_values.value_expressions import Value, path_of, read_value
from runtime.codebase.resolution.default_values.word_sets import words
from runtime.codebase.search.values.shown_values import MEASURES

if TYPE_CHECKING:
    from tree_sitter import Node

# What a line says of a literal: it is the value of an entry, of a constant, of what is bound in a function; it is
# given as an argument, with or without a keyword; it holds by default, or where there is nothing else; it is
# returned; something is compared with it, or a loop runs while it is; a loop goes through so many; it is the most or
# the least of what is taken; a comment says that it is the default.
LiteralForm = Literal[
    "entry",
    "constant",
    "binding",
    "argument",
    "keyword",
    "default",
    "fallback",
    "returned",
    "test",
    "loop",
    "repeat",
    "most",
    "least",
    "documented",
]

MAX_NODES, MAX_NESTING = 20_000, 200
MAX_VALUE_CHARS = 40
MAX_SUBJECT_CHARS = 80
# Longer lines are not told, and comments not read further.
MAX_LINE_CHARS = 400
MAX_COMMENT_BYTES = 20_000
MAX_ARGUMENTS = 200
# Of more arguments nobody knows which one the name of the call speaks of; a call may go on for so many lines.
MAX_GIVEN, MAX_CALL_LINES = 3, 20

_UNIT = re.compile(
    r"(?:time\.(?:Nano|Micro|Milli)?[Ss]econd|time\.(?:Minute|Hour)|(?:\w+\.)?(?:NANO|MICRO|MILLI)?SECONDS"
    r"|(?:\w+\.)?(?:MINUTES|HOURS|DAYS))"
)
# A time with its unit, and what makes one of a number.
_TIMED = re.compile(r"(?i)(?:nanos|micros|millis|seconds?|secs|minutes?|mins|hours?|days|duration|timedelta)(?![a-z])")
_COMPARING = words("< <= > >= == ===")
_OF_EQUALITY = words("== ===")
_JOINING = words("&& and")
_JOINED = words("binary_expression boolean_operator binary")
_WRAPPING = words("parenthesized_expression parenthesized_statements")
_LOOPS = words("for_statement while_statement while while_expression while_modifier for_clause")
_ARGUMENT_WRAPPERS = words("argument value_argument")
# Calls that wait or make room, as the last words of what is called.
_WAITING = words(
    """
    reserve with_capacity Semaphore sleep usleep nanosleep delay wait setTimeout setInterval after timeout withTimeout
    with_timeout wait_for Sleep After NewTimer NewTicker Tick Wait Delay setTimer timer msleep schedule settimeout
    set_timeout
    """
)
# Calls that read a value and give their last argument where there is none.
_LOOKING_UP = words("getOrDefault get_or_default getattr getOrElse GetValueOrDefault fetch setdefault")
_OR_ELSE = words("unwrap_or value_or orElse getOrElse GetValueOrDefault")
_SETTING = words("put set entry insert Add setProperty of")
_MOST_OR_LEAST: Mapping[str, LiteralForm] = {"min": "most", "Min": "most", "max": "least", "Max": "least"}
_PLAIN = frozenset({"0", "1", "-1"})
_NO_QUANTITY = frozenset({"", '"', "'", "`", "[", "{", "(", ":"})

# A stated default: in back quotes or quotes, a number with its unit, or a word for a switch.
_STATED = (
    r"(?:`(?P<code>[^`\n]{1,40})`|(?P<text>\"[^\"\n]{1,40}\"|'[^'\n]{1,40}')"
    r"|(?P<plain>-?\d[\d_]*(?:,\d{3})*(?:\.\d+)?(?:[A-Za-z%]{1,12}\b|(?: ?(?:ms|s|sec|seconds?|minutes?|hours?|days?"
    r"|bytes|[KMG]i?B|milliseconds?))\b)?|true|false|True|False)(?![\w.]*\w))"
)
# «default is 5», «@default 5», «(default 5)»; of «default 404 page» nothing is known.
_DOCUMENTED = re.compile(
    r"(?:(?:@default(?:Value)?|\\default)\s+|(?<![\w@`-])[Dd]efaults?(?:\s+values?)?\s*(?:\b(?:is|are|of|to)\b|[:=])\s*"
    rf"|(?<![\w@`-])[Dd]efault(?=\s+\S{{1,42}}\s*(?:[),.;\]]|$))\s+){_STATED}"
)
_DENIED = re.compile(r"\b(?:not|never|no longer|previously|formerly|used to|was|were)\b|n't\b", re.IGNORECASE)


class FoundLiteral(NamedTuple):
    """Holds a literal as it stands in a line, and what it is said of: a name, or the whole comparison.

    `start_line`: the line of the subject, if that stands above.
    """

    form: LiteralForm
    subject: str
    value: str
    line: int
    start_line: int


_Reader = Callable[["Node", Within, Reading], Iterator[FoundLiteral]]


def literals_in(root: Node, first: int, last: int, reading: Reading) -> Iterator[FoundLiteral]:
    """Yield the literals of the table in a range of lines, inclusive, in no order; those of bindings are none of it."""
    waiting = [Within(root, None)]
    seen = 0
    while waiting and seen < MAX_NODES:
        each = waiting.pop()
        node = each.node
        if node.end_point[0] < first - 1 or node.start_point[0] > last - 1:
            continue
        seen += 1
        reader = _READERS.get(node.type)
        if reader is not None:
            yield from reader(node, each, reading)
        waiting += [Within(child, each) for child in node.named_children[:MAX_NODES]]


def is_nested_deeply(root: Node, first: int, last: int) -> bool:
    """Return whether a range of lines has code within more than 200 nodes: to ask for its surroundings takes long."""
    level = [root]
    for _ in range(MAX_NESTING):
        within = [node for node in level if node.end_point[0] >= first - 1 and node.start_point[0] <= last - 1]
        level = [child for node in within[:MAX_NODES] for child in node.named_children]
        if not level:
            return False
    return True


def literal_text(value: Value | None) -> str:
    """Return the text of a value that is a literal, alone or with a unit of time; empty for any other."""
    if value is None or len(value.text) > MAX_VALUE_CHARS or "\n" in value.text:
        return ""
    return value.text if all(map(_UNIT.fullmatch, value.names)) else ""


def _read(node: Node, reading: Reading) -> str:
    if node.end_byte - node.start_byte > 4 * MAX_VALUE_CHARS:
        return ""
    value = read_value(text_of(node), reading)
    return "" if value is None or value.has_fallback else literal_text(value)


def _shown(node: Node) -> str:
    """Return the text of a node that stands in one line and is short enough to be told; else none."""
    if node.start_point[0] != node.end_point[0] or node.end_byte - node.start_byte > MAX_SUBJECT_CHARS:
        return ""
    return text_of(node)


def _found(
    form: LiteralForm, subject: str, value: str, node: Node, argument: Node | None = None
) -> Iterator[FoundLiteral]:
    line = node.start_point[0] + 1
    if value and subject:
        yield FoundLiteral(form, subject, value, line if argument is None else argument.start_point[0] + 1, line)


def _comparison(node: Node, within: Within, reading: Reading) -> Iterator[FoundLiteral]:
    """Read `x > 255`: a name, a member or a measure of it on one side, a number on the other."""
    if node.child_count != 3 or node.children[1].type not in _COMPARING:
        return
    one, mark, other = node.children
    told = [_read(side, reading) for side in (one, other)]
    value = next(filter(None, told), "")
    if all(told) or not is_quantity(value) or value in _PLAIN:
        return
    is_loop = mark.type not in _OF_EQUALITY and _decides_loop(within)
    yield from _found("loop" if is_loop else "test", _shown(node), value, node)


def _decides_loop(within: Within) -> bool:
    """Return whether a loop ends as soon as a comparison fails: it is its condition, or one of all that must hold."""
    child, above = within.node, within.around
    while above is not None:
        node = above.node
        is_joined = node.type in _JOINED and any(each.type in _JOINING for each in node.children)
        if not is_joined and node.type not in _WRAPPING:
            is_condition = node.child_by_field_name("condition") == child
            is_bare = node.type == "for_statement" and node.named_child(0) == child and child.type in _JOINED
            return node.type in _LOOPS and (is_condition or is_bare)
        child, above = node, above.around
    return False


def _range(node: Node, within: Within, reading: Reading) -> Iterator[FoundLiteral]:
    """Read `0..5` of a loop, and in Go `range 5`."""
    around = within.around.node.type if within.around is not None else ""
    if node.type == "range_clause":
        right = node.child_by_field_name("right")
        value = _read(right, reading) if right is not None else ""
        yield from _found("repeat", _shown(node), value if is_quantity(value) else "", node)
    elif around in {"for_expression", "for_statement", "for"} and node.named_child_count == 2:
        ends = [_read(child, reading) for child in node.named_children]
        yield from _found("repeat", _shown(node), ends[1] if all(end[:1].isdigit() for end in ends) else "", node)


def _call(node: Node, within: Within, reading: Reading) -> Iterator[FoundLiteral]:
    given = node.child_by_field_name("arguments") or next(
        (child for child in node.named_children if child.type == "value_arguments"), None
    )
    receiver = node.child_by_field_name("receiver")
    if given is None:
        if receiver is not None and text_of(node.child_by_field_name("method")) == "times":
            # `5.times { … }`
            value = _read(receiver, reading)
            yield from _found("repeat", f"{value}.times", value if value.isdecimal() else "", receiver)
        return
    called = given.start_byte - node.start_byte
    if called > MAX_SUBJECT_CHARS or given.named_child_count > MAX_ARGUMENTS:
        return
    callee = (node.text or b"")[:called].decode("utf-8", "replace").strip()
    last = (path_of(callee[-MAX_SUBJECT_CHARS:]) or (re.split(r"\W+", callee)[-1],))[-1]
    arguments = [child for child in given.named_children if "comment" not in child.type]
    arguments = [
        child.named_children[0] if child.type in _ARGUMENT_WRAPPERS and child.named_child_count == 1 else child
        for child in arguments
    ]
    yield from _of_call(node, within, callee, last, arguments, reading)


def _of_call(
    node: Node, within: Within, callee: str, last: str, arguments: list[Node], reading: Reading
) -> Iterator[FoundLiteral]:
    if _TIMED.search(callee) and _read(node, reading):
        return  # `from_millis(50)` is a value itself
    values = [_read(argument, reading) for argument in arguments]
    numbers = [value for value in values if is_quantity(value)]
    around = within.around.node.type if within.around is not None else ""
    if last == "range" and around in {"for_statement", "for_in_clause"} and values and all(values):
        yield from _found("repeat", _shown(node), values[min(1, len(values) - 1)], node)
    elif last == "repeat" and len(values) == 1:
        yield from _found("repeat", f"{callee}({values[0]})", values[0] if numbers else "", node)
    elif last in _MOST_OR_LEAST and len(numbers) == 1 and (len(values) == 2 or (len(values) == 1 and "." in callee)):
        if numbers[0] not in _PLAIN and len([value for value in values if value]) == 1:
            yield from _found(_MOST_OR_LEAST[last], _shown(node), numbers[0], node)
    elif values and values[-1] and len(values) <= MAX_GIVEN and _is_lookup(last, len(values)):
        yield from _found("fallback", _shown(node), values[-1], node)
    elif len(numbers) == 1 and numbers[0] not in _PLAIN and _is_of_call(last, len(values), numbers[0]):
        at = arguments[values.index(numbers[0])]
        is_near = at.start_point[0] - node.start_point[0] <= MAX_CALL_LINES
        yield from _found("argument", callee if is_near and "\n" not in callee else "", numbers[0], node, at)
    elif last in _SETTING and len(values) % 2 == 0:
        for key, value, at in zip(values[::2], values[1::2], arguments[::2], strict=True):
            yield from _found("entry", key if _is_text(key) else "", value, at)


def _is_lookup(called: str, given: int) -> bool:
    """Return whether the last of so many arguments is what a call gives where it finds nothing."""
    return called in _OR_ELSE if given == 1 else called in _LOOKING_UP


def _is_of_call(called: str, given: int, number: str) -> bool:
    """Return whether one number among so many arguments is what a call is about: `sleep(5)`, `WithExpiry(5)`."""
    if called in _WAITING or _TIMED.search(number):
        return given <= MAX_GIVEN
    return given == 1 and not MEASURES.isdisjoint(split_identifier(called))


def _is_text(value: str) -> bool:
    return len(value) > 2 and value[0] in "\"'" and value[-1] == value[0]


def is_quantity(value: str) -> bool:
    """Return whether a literal is a number, alone or with its unit: `30`, `5 * time.Second`, `from_secs(30)`."""
    return value[:1] not in _NO_QUANTITY and any(letter.isdigit() for letter in value)


def _pair(node: Node, within: Within, reading: Reading) -> Iterator[FoundLiteral]:
    """Read `{"x", 5}`, `("x", 5)`, `["x", 5]` and `"x" to 5`, which stand for an entry."""
    around = within.around.node.type if within.around is not None else ""
    parts = node.named_children
    is_infix = node.type == "infix_expression"
    if is_infix and (len(parts) != 3 or text_of(parts[1]) != "to"):
        return
    if len(parts) == 2 + is_infix and (is_infix or around in _PAIRED):
        key, value = _read(parts[0], reading), _read(parts[-1], reading)
        yield from _found("entry", key if _is_text(key) else "", value if not _is_text(value) else "", node)


_PAIRED = words("initializer_list array array_expression arguments vec")


def _return(node: Node, within: Within, reading: Reading) -> Iterator[FoundLiteral]:
    given = node.named_children[0] if node.named_child_count == 1 else None
    if given is not None and given.type in {"expression_list", "argument_list"} and given.named_child_count == 1:
        given = given.named_children[0]
    value = _read(given, reading) if given is not None else ""
    yield from _found("returned", value, "" if value in _PLAIN else value, node)


def _tail(node: Node, within: Within, reading: Reading) -> Iterator[FoundLiteral]:
    """Read the literal that a function of Rust ends with."""
    around = within.around.node.type if within.around is not None else ""
    last = node.named_children[-1] if node.named_child_count else None
    if around == "function_item" and last is not None and last.type.endswith("literal"):
        value = _read(last, reading)
        yield from _found("returned", value, "" if value in _PLAIN else value, last)


def _documentation(node: Node, within: Within, reading: Reading) -> Iterator[FoundLiteral]:
    """Read the defaults that a comment or a documentation string states, line by line."""
    if node.end_byte - node.start_byte > MAX_COMMENT_BYTES:
        return
    for at, line in enumerate(text_of(node).split("\n")):
        stated = _DOCUMENTED.search(line[:MAX_LINE_CHARS])
        value = next((text for text in stated.groups() if text), "") if stated is not None else ""
        if value and stated is not None and not _DENIED.search(line[: stated.start()]):
            number = node.start_point[0] + 1 + at
            yield FoundLiteral("documented", "", value, number, number)


def _docstring(node: Node, within: Within, reading: Reading) -> Iterator[FoundLiteral]:
    if node.named_child_count == 1 and node.named_children[0].type == "string":
        yield from _documentation(node, within, reading)


_READERS: Mapping[str, _Reader] = {
    **dict.fromkeys(("binary_expression", "comparison_operator", "binary"), _comparison),
    **dict.fromkeys(("range_expression", "range_clause", "range"), _range),
    **dict.fromkeys(
        (
            "call",
            "call_expression",
            "method_invocation",
            "invocation_expression",
            "function_call_expression",
            "member_call_expression",
            "scoped_call_expression",
            "new_expression",
            "object_creation_expression",
        ),
        _call,
    ),
    **dict.fromkeys(("initializer_list", "tuple_expression", "array", "infix_expression"), _pair),
    **dict.fromkeys(("return_statement", "return_expression", "return"), _return),
    "block": _tail,
    **dict.fromkeys(("comment", "line_comment", "block_comment"), _documentation),
    "expression_statement": _docstring,
}
