"""Measures functions in every language with a grammar: lines, and how deep blocks are nested.

The words of the tables are the node types of tree-sitter's grammars.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from actors.capabilities.violation_fix.checks.options import DEEP_NESTING, LONG_FUNCTION, CheckOptions
from actors.capabilities.violation_fix.checks.violation import Finding, joined_blanks
from runtime.codebase.files.source_text import SourceText
from runtime.codebase.language_registry import language_named, load_grammar
from runtime.codebase.parsing.parse_limit import PARSE_LIMIT, ParseLimit
from runtime.codebase.parsing.syntax import CALLABLE_KINDS, FileSyntax, Symbol
from runtime.processes.call_scope import check_called_off

if TYPE_CHECKING:
    from tree_sitter import Node

_FUNCTIONS = frozenset(
    {
        *("function_definition", "function_declaration", "function_item", "function_expression"),
        *("generator_function", "generator_function_declaration", "arrow_function", "method_definition"),
        *("method_declaration", "constructor_declaration", "method", "singleton_method", "func_literal"),
        *("closure_expression", "lambda_expression", "local_function_statement", "anonymous_function"),
        *("anonymous_method_expression", "lambda_literal"),
    }
)
_BLOCKS = frozenset(
    {
        *("if_statement", "if_expression", "if", "unless", "for_statement", "for_expression"),
        *("for_in_statement", "enhanced_for_statement", "for_range_loop", "foreach_statement"),
        *("c_style_for_statement", "for", "while_statement", "while_expression", "while", "until"),
        *("do_statement", "do_while_statement", "loop_expression", "switch_statement"),
        *("expression_switch_statement", "type_switch_statement", "select_statement", "switch_expression"),
        *("match_statement", "match_expression", "when_expression", "case", "try_statement", "try_expression"),
        *("try_with_resources_statement", "with_statement", "begin"),
    }
)
_CHOICES = frozenset({"if_statement", "if_expression"})
# In other grammars this names one branch of a choice.
_BLOCKS_OF_SHELL = _BLOCKS | {"case_statement"}


class InnermostSymbols:
    """Finds the innermost of some symbols around each line of a file; lines are asked for in ascending order."""

    def __init__(self, symbols: Sequence[Symbol]) -> None:
        # Of two with the same lines, the one that comes later in a file's list lies inside the other.
        ordered = sorted(enumerate(symbols), key=lambda item: (item[1].start_line, -item[1].end_line, item[0]))
        self._waiting = [symbol for _, symbol in reversed(ordered)]
        self._around: list[Symbol] = []

    def at(self, line: int) -> Symbol | None:
        """Return the innermost symbol around a line; None outside of all."""
        while self._waiting and self._waiting[-1].start_line <= line:
            self._around.append(self._waiting.pop())
        while self._around and self._around[-1].end_line < line:
            self._around.pop()
        return self._around[-1] if self._around else None


class Measured(NamedTuple):
    """Holds the functions of a file that are too long or nested too deep; `missed`: why some may not be among them."""

    findings: Sequence[Finding] = ()
    missed: str = ""


NOTHING_MEASURED = Measured()


def structure_findings(
    source: SourceText,
    path: str,
    language: str,
    syntax: FileSyntax,
    options: CheckOptions,
    limit: ParseLimit = PARSE_LIMIT,
) -> Measured:
    """Return the functions of a file that are too long or nested too deep, given what its parser found."""
    functions = [each for each in syntax.symbols if each.kind in CALLABLE_KINDS]
    found: list[Finding | None] = []
    # In a file that has a grammar and was read as text, functions are guessed.
    is_guessed = language_named(language).grammar is not None and syntax.status != "parsed"
    missed = (syntax.note or "read as text") if is_guessed else ""
    if options.has(LONG_FUNCTION):
        found += [_long(source, path, each, options.max_function_lines) for each in functions]
    if options.has(DEEP_NESTING) and functions:
        try:
            depths = _depths(source, language, functions, limit)
        except (ImportError, AttributeError, ValueError) as error:
            # ValueError: it takes too long to parse, or the grammar is incompatible, as for the index.
            missed = missed or str(error)
        else:
            found += [_deep(source, path, each, depths.get(each, 0), options.max_nesting) for each in functions]
    return Measured([each for each in found if each is not None], missed)


def _long(source: SourceText, path: str, function: Symbol, allowed: int) -> Finding | None:
    measured = function.end_line - function.start_line + 1
    told = f"`{function.name}` has too many lines ({measured} > {allowed})"
    return _finding(source, path, function, LONG_FUNCTION, told, measured, allowed)


def _deep(source: SourceText, path: str, function: Symbol, measured: int, allowed: int) -> Finding | None:
    told = f"`{function.name}` has blocks that are nested too deep ({measured} > {allowed})"
    return _finding(source, path, function, DEEP_NESTING, told, measured, allowed)


def _finding(
    source: SourceText, path: str, function: Symbol, check: str, message: str, measured: int, allowed: int
) -> Finding | None:
    if measured <= allowed or function.name_line > len(source.lines):
        return None
    return Finding(
        path=path,
        line=function.name_line,
        column=1,
        check_id=check,
        message=message,
        end_line=function.end_line,
        symbol=function.qualified_name,
        text=joined_blanks(source.lines[function.name_line - 1]),
        measured=measured,
        allowed=allowed,
    )


def _depths(source: SourceText, language: str, functions: Sequence[Symbol], limit: ParseLimit) -> dict[Symbol, int]:
    """Return how deep the blocks of each function are nested; blocks of a function inside it count for that alone."""
    if language_named(language).grammar is None:
        return {}
    tree = limit.parse(load_grammar(language), source.text.encode("utf-8", "replace"))
    blocks = _BLOCKS_OF_SHELL if language == "shell" else _BLOCKS
    depths: dict[Symbol, int] = {}
    innermost = InnermostSymbols(functions)
    for line, depth in sorted(_deepest(tree.root, blocks)):
        owner = innermost.at(line)
        if owner is not None:
            depths[owner] = max(depths.get(owner, 0), depth)
    return depths


def _deepest(root: Node, blocks: frozenset[str]) -> Iterator[tuple[int, int]]:
    """Yield each line where a block begins, with the depth of the block in its function."""
    pending: list[tuple[Node, int]] = [(root, 0)]
    while pending:
        check_called_off()
        node, depth = pending.pop()
        if node.type in _FUNCTIONS:
            depth = 0
        elif node.is_named and node.type in blocks and not _is_else_if(node):
            depth += 1
            yield node.start_point[0] + 1, depth
        pending += [(child, depth) for child in node.named_children if child.child_count]


def _is_else_if(node: Node) -> bool:
    """Return whether a choice goes on the one before it, as a chain of `else if` does."""
    above = node.parent
    if node.type not in _CHOICES or above is None:
        return False
    if above.type == "else_clause":
        return True
    return above.type in _CHOICES and above.child_by_field_name("alternative") == node
