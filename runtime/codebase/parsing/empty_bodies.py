"""Tells whether lines implement anything.

Bodies that only pass, return nothing or raise «not implemented» do not. Texts are parsed where the language has a
grammar, so that a comment, a docstring or the head of a function is not taken for work; others are judged by lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import tree_sitter

from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.language_registry import language_at, load_grammar

MAX_PARSED_CHARS = 4_000_000
# A longer body than this is taken to do more than logging; bodies can be nested as deep as a file is long.
MAX_LOGGING_BODY_BYTES = 4_000

_COMMENT = re.compile(r"comment", re.IGNORECASE)
_STRING = frozenset(
    {"string", "string_literal", "template_string", "concatenated_string", "interpreted_string_literal"}
)
_STATEMENT = frozenset({"expression_statement", "statement"})
_DEFINITION = re.compile(
    r"function|func_|method|constructor|class|struct|impl|trait|interface|object|module|namespace|lambda"
)
_AROUND = re.compile(r"declarat|export|decorated|assignment|var_spec|expression_list|^expression_statement$")
_BLOCK = re.compile(r"^(?:block|statements|statement_list|compound_statement|body_statement)$")
# Definitions that have no body at all where nothing stands in them.
_BODILESS = frozenset({"method", "singleton_method"})
# The head of a definition in a language that is not parsed here, with a body of one word.
_HEAD = re.compile(
    r"(?:\w+\s+)*(?:func|fun|def|fn|function|sub|proc)\b[^=]*(?:=\s*(?:\?\?\?|null|nil|None|\(\))?)?(?:\bend)?"
    r"|fatalerror\(.*\)",
    re.IGNORECASE,
)
# What a body may say without doing anything, without blanks and closing marks.
_BARE = r"None|Unit|default(?:\([\w.<>]*\))?|Default::default\(\)|Ok\(\(\)\)|Promise\.resolve\(\)|null"
_NOTHING = _BARE + r"|nil|undefined|void\s+0|NULL|nullptr|\(\)|\{\}|\[\]|0|false|False|\"\"|''"
_UNWRITTEN = r"not\s+(?:yet\s+)?implemented|todo"
_EMPTY = re.compile(
    rf"""(?: pass | \.\.\. | return | return\s*\(?(?:{_NOTHING})\)?(?:\s+as\s+\w+)? | {_BARE}
        | return\s+(?:{_NOTHING})(?:\s*,\s*(?:{_NOTHING}))+
        | return\s+(?:errors\.New|fmt\.Errorf)\(\s*["`][^"`]*(?:{_UNWRITTEN})[^"`]*["`].*\)
        | raise\s+["'][^"']*(?:{_UNWRITTEN})[^"']*["'] | _\s*=\s*(?:{_NOTHING}) | \(void\)\s*0
        | <\?php | package\s+[\w.]+ | global\s+\w+ | assert\s+(?:True|true|1)
        | try | finally | except\b[^:]* | catch\b[^:]* | (?:if|while)\s+\(?(?:True|False|true|false|0|1)\)?
        | raise\s+NotImplemented(?:Error)?\b.* | raise\s+(?:Exception|RuntimeError)\(\s*(?:["'](?:{_UNWRITTEN}).*)?\)
        | (?:return\s+)?NotImplemented
        | throw\s+new\s+[\w\\]*(?:NotImplemented|UnsupportedOperation|NotSupported)\w*\b.*
        | throw\s+new\s+[\w\\]*(?:Error|Exception)\(\s*["'`][^"'`]*(?:{_UNWRITTEN})[^"'`]*["'`].*\)
        | (?:unimplemented|todo|unreachable)!\(.*\) | panic!?\(\s*"[^"]*(?:{_UNWRITTEN})[^"]*".*\)
        | todo\(.*\) | abort\(\) | fatalerror\(.*\) | console\.log\(\s*["'`][^"'`]*todo[^"'`]*["'`]\s*\)
        | None | null | nil | undefined | \(\) | else | end | do | begin | then | default: | else:
        | (?:\#|//|--|/\*|<!--|;|%)?\s*(?:todo|fixme|xxx|tbd|not\s+(?:yet\s+)?implemented)\b.*
    )""",
    re.IGNORECASE | re.VERBOSE,
)
# Statements that only tell: a body of nothing else does no work. Calls in what is told may do some.
_LOGS = re.compile(
    r"""(?:[\w$@]+(?:\.|::|->))*[_@$]?(?:log|logger|logging|slog|console|warnings)(?:\.|::|->)\w+!?\s*(?:\((.*)\)|\s(.*))
        | error_log\((.*)\) | (?:trace|debug|info|warn|error)!\((.*)\)""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_CALL = re.compile(r"\w\s*\(")
_MARKS = re.compile(r"[\s{}()\[\];,:]*")
_SPLIT = re.compile(r"[;\n{}]")


def is_empty(text: str, path: str, start: int, end: int) -> bool:
    """Return whether the lines `start` to `end` (from 1, inclusive) of a file implement nothing.

    Lines that hold no more than the head of a definition are judged by its body.
    """
    lines = text.split("\n")
    parser = _parser_of(path)
    if parser is None or len(text) > MAX_PARSED_CHARS:
        return _says_nothing("\n".join(lines[start - 1 : end]), has_heads=kind_of_path(path) == "source")
    data = text.encode("utf-8", "replace")
    tree = parser.parse(data)
    body = _body_of_head(tree.root_node, start - 1, end - 1)
    if body is not None:
        start, end = body.start_point.row + 1, body.end_point.row + 1
    shown = _blanked(data, list(_no_work(tree.root_node)))
    shown = _blanked(shown, list(_only_logged(tree.root_node, shown)))
    return _says_nothing(_between(data, shown, start, end, body))


def code_lines(text: str, path: str) -> list[str]:
    """Return the lines of a text without its comments, where the language of the path has a grammar."""
    parser = _parser_of(path)
    if parser is None or len(text) > MAX_PARSED_CHARS:
        return text.split("\n")
    data = text.encode("utf-8", "replace")
    comments = (node for node in _walk(parser.parse(data).root_node) if _COMMENT.search(node.type))
    shown = _blanked(data, [(node.start_byte, node.end_byte) for node in comments])
    return shown.decode("utf-8", "replace").split("\n")


def _parser_of(path: str) -> tree_sitter.Parser | None:
    """Return a parser for a path's language; None without a grammar, or with one that cannot be loaded."""
    language = language_at(path)
    if language.grammar is None:
        return None
    try:
        return tree_sitter.Parser(load_grammar(language.name))
    except (ImportError, AttributeError, ValueError):
        return None


def _between(data: bytes, shown: bytes, start: int, end: int, body: tree_sitter.Node | None) -> str:
    if body is not None:
        return shown[body.start_byte : body.end_byte].decode("utf-8", "replace")
    rows = shown.split(b"\n")[start - 1 : end]
    return b"\n".join(rows).decode("utf-8", "replace")


def _says_nothing(text: str, *, has_heads: bool = False) -> bool:
    """Return whether no part of a text does anything; `has_heads`: heads of definitions were not blanked out of it."""
    for part in _SPLIT.split(text):
        said = part.strip().removeprefix("=>").removeprefix("=").rstrip(",:").strip()
        if not said or _MARKS.fullmatch(said) or _EMPTY.fullmatch(said):
            continue
        if not (has_heads and _HEAD.fullmatch(said)):
            return False
    return True


class _Within(NamedTuple):
    """Links a node to those around it: to ask a node for its parent costs as much as the tree is deep."""

    node: tree_sitter.Node
    around: _Within | None


def _walk(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    return (each.node for each in _walk_within(node))


def _walk_within(node: tree_sitter.Node) -> Iterator[_Within]:
    waiting = [_Within(node, None)]
    while waiting:
        each = waiting.pop()
        yield each
        waiting += [_Within(child, each) for child in reversed(each.node.children)]


def _no_work(root: tree_sitter.Node) -> Iterator[tuple[int, int]]:
    """Yield the bytes of comments, of strings that stand as statements, and of the heads of definitions."""
    for each in _walk_within(root):
        node = each.node
        if _COMMENT.search(node.type) or _is_bare_string(node):
            yield node.start_byte, node.end_byte
        elif _DEFINITION.search(node.type):
            body = _body_of(node)
            if body is not None:
                yield _statement_of(each).start_byte, body.start_byte
            elif node.type in _BODILESS:
                yield node.start_byte, node.end_byte


def _only_logged(root: tree_sitter.Node, shown: bytes) -> Iterator[tuple[int, int]]:
    """Yield the bytes of logging in bodies that do nothing else; `shown` is the text without what is no work anyhow."""
    for node in _walk(root):
        body = _body_of(node) if _DEFINITION.search(node.type) else None
        if body is None or body.end_byte - body.start_byte > MAX_LOGGING_BODY_BYTES:
            continue
        while body.named_child_count == 1 and _BLOCK.search(body.named_children[0].type):
            body = body.named_children[0]
        logged = [each for each in body.named_children if _is_logging(each)]
        rest = [each for each in body.named_children if each not in logged]
        texts = (shown[each.start_byte : each.end_byte].decode("utf-8", "replace") for each in rest)
        if logged and all(map(_says_nothing, texts)):
            yield from ((each.start_byte, each.end_byte) for each in logged)


def _is_logging(node: tree_sitter.Node) -> bool:
    text = (node.text or b"").decode("utf-8", "replace").strip().rstrip(";")
    found = _LOGS.fullmatch(text)
    return found is not None and not any(_CALL.search(told) for told in found.groups() if told)


def _body_of(node: tree_sitter.Node) -> tree_sitter.Node | None:
    named = node.child_by_field_name("body")
    return named or next((child for child in node.children if child.type == "function_body"), None)


def _is_bare_string(node: tree_sitter.Node) -> bool:
    return node.type in _STATEMENT and node.named_child_count == 1 and node.named_children[0].type in _STRING


def _statement_of(each: _Within) -> tree_sitter.Node:
    """Return the declaration, export or decorated definition that a definition is the value of."""
    node, around = each
    while around is not None and _AROUND.search(around.node.type) and around.node.end_byte - node.end_byte <= 1:
        node, around = around
    return node


def _body_of_head(root: tree_sitter.Node, first: int, last: int) -> tree_sitter.Node | None:
    """Return the body of the definition whose head is all that the rows hold; None where they hold more or none."""
    found: tree_sitter.Node | None = None
    for node in _walk(root):
        if not _DEFINITION.search(node.type) or not first <= node.start_point.row <= last:
            continue
        body = _body_of(node)
        if body is not None and body.end_point.row > last and _is_outside(body, last):
            found = body
    return found


def _is_outside(body: tree_sitter.Node, last: int) -> bool:
    """Return whether a body's own statements all lie behind a row; its opening brace may stand before."""
    statements: Sequence[tree_sitter.Node] = body.named_children
    return all(child.start_point.row > last for child in statements)


def _blanked(data: bytes, ranges: Sequence[tuple[int, int]]) -> bytes:
    shown = bytearray(data)
    for start, end in ranges:
        for place in range(start, end):
            if shown[place] != 0x0A:
                shown[place] = 0x20
    return bytes(shown)
