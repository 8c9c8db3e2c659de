"""Tells whether lines implement anything.

Bodies that only pass, return nothing or raise «not implemented» do not. Texts are parsed where the language has a
grammar, so that a comment, a docstring or the head of a function is not taken for work; others are judged by lines.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import tree_sitter

from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.language_parts.cython_lines import AS_PYTHON, as_python, is_cython
from runtime.codebase.language_parts.idle_statements import (
    BRANCHES,
    CASES,
    FUNCTION_VALUES,
    HANDLERS,
    NEVER_MATCHES,
    PARTS,
    YIELDS_BY_NAME,
    IdleSyntax,
)
from runtime.codebase.language_registry import language_at, load_grammar
from runtime.codebase.parsing.bodies.comment_lines import without_comment_lines
from runtime.codebase.parsing.bodies.constant_bodies import ConstantBody, constant_body, lines_of_body
from runtime.codebase.parsing.bodies.dead_stores import dead_stores
from runtime.codebase.parsing.bodies.definition_heads import (
    body_of_head,
    decorated_body,
    head_of,
    head_text,
    is_told_to_fail,
    name_in,
    statement_of,
)
from runtime.codebase.parsing.bodies.empty_statements import says_nothing
from runtime.codebase.parsing.bodies.idle_bodies import BodyJudge
from runtime.codebase.parsing.bodies.idle_lines import idle_lines
from runtime.codebase.parsing.bodies.logging_bodies import MAX_LOGGING_BODY_BYTES, logging_in, only_logged
from runtime.codebase.parsing.bodies.lost_calls import idle_functions, named_function
from runtime.codebase.parsing.bodies.meant_bodies import Meant
from runtime.codebase.parsing.bodies.unreached import unreached
from runtime.codebase.parsing.bodies.whole_heads import BareType, bare_type, head_is_work
from runtime.codebase.parsing.broken_trees import BrokenTreeError
from runtime.codebase.parsing.parse_limit import PARSE_LIMIT, ParseLimit
from runtime.codebase.parsing.tree_walk import (
    BLOCK,
    DEFINITION,
    Within,
    body_of,
    is_bare_string,
    takes,
    text_in,
    unbroken,
    walk,
    walk_within,
)

BYTE_ORDER_MARK = "\ufeff"
MAX_PARSED_CHARS = 4_000_000
# Each piece of evidence judges its file anew, so the last ones stay parsed, unless they take much memory.
MAX_KEPT_CHARS = 300_000

_COMMENT = re.compile(r"comment", re.IGNORECASE)
# Definitions that have no body at all where nothing stands in them.
_BODILESS = frozenset({"method", "singleton_method"})
_FUNCTION = re.compile(r"function|func_|method|constructor|lambda|accessor|closure")
# What a grammar takes for a function where it does not know the syntax around it.
_MISREAD = re.compile(r"\s*(?:if|for|while|switch|catch|class|struct|union|enum|namespace)\b(?!\s*[=:])")


def is_empty(text: str, path: str, start: int, end: int) -> bool:
    """Return whether the lines `start` to `end` (from 1, inclusive) of a file implement nothing.

    Lines that hold no more than the head of a definition, or decorators of one, are judged by its body.
    """
    return judge_of(text, path).is_empty(start, end)


def judge_of(text: str, path: str, meant: frozenset[Meant] = frozenset()) -> FileJudge:
    """Return what judges lines of a file, which stays parsed for the next pieces of evidence in it.

    Bodies that only log or only fail do something where that is `meant`.
    """
    return _kept_judge(text, path, meant) if len(text) <= MAX_KEPT_CHARS else FileJudge(text, path, meant)


@functools.lru_cache(maxsize=4)
def _kept_judge(text: str, path: str, meant: frozenset[Meant]) -> FileJudge:
    return FileJudge(text, path, meant)


class _Judged(NamedTuple):
    """Holds the bytes of bodies without an effect, and the functions that give back what they were given."""

    idle: Sequence[tuple[int, int]]
    unchanged: Sequence[tree_sitter.Node]


class FileJudge:
    """Judges any lines of one file, which is parsed once."""

    def __init__(
        self, text: str, path: str, meant: frozenset[Meant] = frozenset(), limit: ParseLimit = PARSE_LIMIT
    ) -> None:
        text = text.removeprefix(BYTE_ORDER_MARK)
        if is_cython(path):
            text, path = as_python(text), AS_PYTHON
        self._lines = text.split("\n")
        self._has_heads = kind_of_path(path) == "source"
        language = language_at(path)
        self._line_bodies = language.line_bodies
        self._syntax = syntax = language.idle
        self._says_nothing: Callable[[str], bool] = says_nothing
        if syntax is not None:
            any_case = syntax.keywords_in_any_case
            self._says_nothing = functools.partial(
                says_nothing, names=syntax.names, any_case=any_case, refuses="fails" in meant
            )
        self._unchanged: Sequence[tree_sitter.Node] = ()
        self._data = text.encode("utf-8", "replace")
        root = _root_of(text, self._data, path, limit)
        self._is_parsed = root is not None
        if root is None:
            self._lines = without_comment_lines(self._lines, path)
            return
        nodes = list(walk_within(root))
        self._broken = [each.node for each in nodes if each.node.is_error or each.node.is_missing]
        self._definitions = [each for each in nodes if DEFINITION.search(each.node.type)]
        self._decorated = [each.node for each in nodes if each.node.type == "decorated_definition"]
        self._handlers = [each.node for each in nodes if each.node.type in HANDLERS and each.node.named_child_count > 1]
        shown = _blanked(self._data, [*_no_work(nodes), *unreached(root)])
        if "logs" not in meant:
            definitions = [each.node for each in self._definitions]
            imports = NEVER_MATCHES if syntax is None or kind_of_path(path) == "test" else syntax.imports
            shown = _blanked(shown, list(only_logged(definitions, shown, self._says_nothing, imports)))
        self._shown = shown if syntax is None else self._without_idle(nodes, shown, syntax, path, meant)

    def _without_idle(
        self, nodes: Sequence[Within], shown: bytes, syntax: IdleSyntax, path: str, meant: frozenset[Meant]
    ) -> bytes:
        """Return what is shown without bodies and parts of bodies that have no effect."""
        functions = [each.node for each in self._definitions if _FUNCTION.search(each.node.type)]
        beside = [*dead_stores(functions, shown, syntax), *([] if "logs" in meant else logging_in(functions))]
        is_test = kind_of_path(path) == "test"
        judged = _judged_bodies(
            self._definitions, _blanked(shown, beside), syntax, is_test=is_test, may_fail="fails" in meant
        )
        self._unchanged = judged.unchanged
        shown = _blanked(shown, judged.idle)
        if not is_test:
            shown = _blanked(shown, [*dead_stores(functions, shown, syntax), *idle_lines(nodes, shown, syntax)])
        return _blanked(shown, list(_idle_parts(nodes, shown, syntax)))

    def is_empty(self, start: int, end: int) -> bool:
        """Return whether lines implement nothing."""
        if not self._is_parsed:
            bodies = self._line_bodies
            if bodies is None:
                return says_nothing("\n".join(self._lines[start - 1 : end]), has_heads=self._has_heads)
            said = "\n".join(self._lines[start - 1 : bodies.end_of_body(self._lines, start, end)])
            return says_nothing(bodies.in_common_words(said), has_heads=self._has_heads)
        first, last = start - 1, end - 1
        body = decorated_body(self._decorated, first, last) or body_of_head(self._definitions, first, last)
        if body is not None:
            start, end = body.start_point.row + 1, body.end_point.row + 1
        elif self._changes_handler(first, last):
            return False
        said = _between(self._shown, start, end, body)
        # Where the syntax is broken no body is found, so that its lines are all there is to judge.
        return self._says_nothing(said) or (self._is_broken(start, end) and says_nothing(said, has_heads=True))

    def _is_broken(self, start: int, end: int) -> bool:
        """Return whether lines hold a syntax error."""
        return any(each.start_point.row < end and start - 1 <= each.end_point.row for each in self._broken)

    def constant_body(self, start: int, end: int) -> ConstantBody | None:
        """Return the body of the function on the lines `start` to `end` if it only gives a constant answer."""
        if not self._is_parsed or self._syntax is None:
            return None
        for each in self._definitions:
            if start - 1 <= each.node.start_point.row <= end - 1 and _FUNCTION.search(each.node.type):
                if each.node in self._unchanged:
                    return lines_of_body(each.node)
                return constant_body(each.node, self._shown, self._syntax, self._says_nothing)
        return None

    def constant_values(self, start: int, end: int) -> list[tuple[str, ConstantBody]]:
        """Return the functions on the lines `start` to `end` that are values under a name and only give a constant."""
        if not self._is_parsed or self._syntax is None:
            return []
        found = []
        for each in self._definitions:
            if each.node.type not in FUNCTION_VALUES or not start - 1 <= each.node.start_point.row <= end - 1:
                continue
            name = None if each.around is None else named_function(each.around.node)
            body = constant_body(each.node, self._shown, self._syntax, self._says_nothing) if name else None
            if name is not None and body is not None:
                found.append((name, body))
        return found

    def bare_types(self, start: int, end: int) -> list[BareType]:
        """Return the types with heads on the lines `start` to `end` that hold nothing of their own."""
        if not self._is_parsed:
            return []
        heads = [each for each in self._definitions if start - 1 <= each.node.start_point.row <= end - 1]
        return [found for each in heads if (found := bare_type(each.node, head_text(each))) is not None]

    def _changes_handler(self, first: int, last: int) -> bool:
        """Return whether rows hold the head of a handler that does something: what it is for is decided there."""
        heads = (node for node in self._handlers if first <= node.start_point.row <= last)
        return any(not self._says_nothing(text_in(self._shown, node.named_children[-1])) for node in heads)


def code_lines(text: str, path: str, *, bare_strings: bool = True, limit: ParseLimit = PARSE_LIMIT) -> list[str]:
    """Return the lines of a text without its comments; without a grammar those stay that share a line with code.

    Without `bare_strings` those that stand as statements, as documentation does, are left out too.
    """
    text = text.removeprefix(BYTE_ORDER_MARK)
    data = text.encode("utf-8", "replace")
    root = _root_of(text, data, AS_PYTHON if is_cython(path) else path, limit)
    if root is None:
        return without_comment_lines(text.split("\n"), path)
    nodes = walk(root)
    left_out = (each for each in nodes if _COMMENT.search(each.type) or (not bare_strings and is_bare_string(each)))
    shown = _blanked(data, [(node.start_byte, node.end_byte) for node in left_out])
    return shown.decode("utf-8", "replace").split("\n")


def _root_of(text: str, data: bytes, path: str, limit: ParseLimit) -> tree_sitter.Node | None:
    """Return the tree of a text; None without a grammar that can be loaded, or for a text that is too long or slow."""
    language = language_at(path)
    if language.grammar is None or len(text) > MAX_PARSED_CHARS:
        return None
    try:
        grammar = load_grammar(language.name)
    except (ImportError, AttributeError, ValueError):
        return None
    try:
        return limit.parse(grammar, data).root
    except BrokenTreeError:
        return None


def _between(shown: bytes, start: int, end: int, body: tree_sitter.Node | None) -> str:
    if body is not None:
        return text_in(shown, body)
    rows = shown.split(b"\n")[start - 1 : end]
    return unbroken(b"\n".join(rows).decode("utf-8", "replace"))


def _no_work(nodes: Iterable[Within]) -> Iterator[tuple[int, int]]:
    """Yield the bytes of comments, of strings that stand as statements, and of the heads of definitions."""
    for each in nodes:
        node = each.node
        if _COMMENT.search(node.type) or is_bare_string(node):
            yield node.start_byte, node.end_byte
        elif DEFINITION.search(node.type):
            body = body_of(node)
            if body is not None and not head_is_work(each.node, body, head_of(each, body)):
                yield statement_of(each).start_byte, body.start_byte
            elif body is None and node.type in _BODILESS:
                yield node.start_byte, node.end_byte


def _judged_bodies(
    definitions: Iterable[Within], shown: bytes, syntax: IdleSyntax, *, is_test: bool, may_fail: bool
) -> _Judged:
    """Return which bodies have no effect, and which functions only give back what they were given."""
    idle: list[tuple[int, int]] = []
    unchanged: list[tree_sitter.Node] = []
    definitions = list(definitions)
    empty = set() if is_test else idle_functions(definitions, functools.partial(_says_nothing_in, shown, syntax))
    for each in definitions:
        node = each.node
        body = body_of(node) if _FUNCTION.search(node.type) and not node.has_error else None
        if body is None or body.end_byte - body.start_byte > MAX_LOGGING_BODY_BYTES:
            continue
        while body.named_child_count == 1 and (BLOCK.search(body.named_children[0].type) or _is_arrow(body)):
            body = body.named_children[0]
        is_value = not body.type.endswith(("block", "body", "statement", "statements", "statement_list"))
        if is_value and node.type in FUNCTION_VALUES and not re.match(r"(?:=>?\s*)?throw\b", text_in(shown, body)):
            continue
        head = head_of(each, body)
        if _MISREAD.match(head):
            continue
        judge = BodyJudge(
            syntax=syntax.of_whole_body,
            text_of=functools.partial(text_in, shown),
            says_nothing=functools.partial(
                says_nothing, names=syntax.names, any_case=syntax.keywords_in_any_case, refuses=may_fail
            ),
            head=head,
            whole=head + text_in(shown, body),
            takes=functools.partial(takes, node),
            # In a test, what only fails stands in for something, or is expected to.
            may_fail=is_test or may_fail or is_told_to_fail(node, head, syntax),
            may_give_way=YIELDS_BY_NAME.search(name_in(node, head)) is not None,
            results_count=is_test,
            idle={name for name in empty if not takes(node, name)},
        )
        if not judge.is_idle(body, gives_last=node.type in syntax.value_bodies, is_value=is_value):
            continue
        if judge.gives_taken or judge.looks_up:
            unchanged.append(node)
        else:
            opening = shown[body.start_byte : body.start_byte + 1] == b"{"
            idle.append((body.start_byte + opening, body.end_byte - opening))
    return _Judged(idle, unchanged)


def _says_nothing_in(shown: bytes, syntax: IdleSyntax, body: tree_sitter.Node) -> bool:
    return says_nothing(text_in(shown, body), names=syntax.names, any_case=syntax.keywords_in_any_case)


def _idle_parts(nodes: Iterable[Within], shown: bytes, syntax: IdleSyntax) -> Iterator[tuple[int, int]]:
    """Yield the bytes of branches, loops and choices that do nothing, within bodies that do something."""
    judged_to = 0
    for each in nodes:
        node, around = each
        is_case = around is not None and around.node.type in BRANCHES | CASES
        if not node.is_named or node.type not in PARTS or is_case or node.has_error or node.start_byte < judged_to:
            continue
        if node.end_byte - node.start_byte > MAX_LOGGING_BODY_BYTES:
            continue
        within = _function_around(each)
        judge = BodyJudge(
            syntax=syntax,
            text_of=functools.partial(text_in, shown),
            says_nothing=functools.partial(says_nothing, names=syntax.names, any_case=syntax.keywords_in_any_case),
            head="" if within is None else (within.text or b"").decode("utf-8", "replace"),
            whole="",
            takes=(lambda _name: False) if within is None else functools.partial(takes, within),
            may_fail=True,
        )
        if judge.is_idle_part(node):
            judged_to = node.end_byte
            yield node.start_byte, node.end_byte


def _function_around(each: Within) -> tree_sitter.Node | None:
    around = each.around
    while around is not None and not _FUNCTION.search(around.node.type):
        around = around.around
    return None if around is None else around.node


def _is_arrow(body: tree_sitter.Node) -> bool:
    """Return whether a body is written as the value that it gives."""
    return body.children[0].type in {"=", "=>"}


def _blanked(data: bytes, ranges: Sequence[tuple[int, int]]) -> bytes:
    shown = bytearray(data)
    for start, end in ranges:
        for place in range(start, end):
            if shown[place] != 0x0A:
                shown[place] = 0x20
    return bytes(shown)
