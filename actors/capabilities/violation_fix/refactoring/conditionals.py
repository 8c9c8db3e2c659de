"""Simplifies one `if` statement without changing what is evaluated, and in which order."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from actors.capabilities.violation_fix.refactoring.block_exits import is_boolean
from actors.capabilities.violation_fix.refactoring.complexity import Loop, elif_of
from actors.capabilities.violation_fix.refactoring.flow.implied_tests import without_implied
from actors.capabilities.violation_fix.refactoring.outcomes import RefusedRefactoring
from actors.capabilities.violation_fix.refactoring.source_text import (
    Edit,
    SourceText,
    apply_edits,
    first_line,
    last_line,
    shifted_lines,
)

_ENDS = (ast.Return, ast.Raise, ast.Continue, ast.Break)


@dataclass(frozen=True)
class Conditional:
    """Holds an `if` with its neighbours: `after` are the statements behind it in the same list."""

    source: SourceText
    node: ast.If
    after: Sequence[ast.stmt]
    around: ast.stmt
    line_length: int

    @property
    def line(self) -> int:
        return self.node.lineno

    @property
    def indent(self) -> str:
        return self.source.indent(self.line)

    def refuse(self, code: str, message: str) -> RefusedRefactoring:
        return RefusedRefactoring(code, message, (self.line,))


Simplify = Callable[[Conditional], str | None]


def _join_nested(this: Conditional) -> str | None:
    """Join `if a:` and the only statement in it, `if b:`, to `if a and b:`."""
    inner = this.node.body[0]
    if len(this.node.body) > 1 or not isinstance(inner, ast.If) or this.node.orelse or inner.orelse:
        return None
    begin = inner.lineno
    while this.source.is_comment(begin - 1):
        begin -= 1
    comments = range(begin, inner.lineno)
    _refuse_comments(this, this.line, begin - 1)
    _refuse_comments(this, inner.lineno, inner.body[0].lineno - 1)
    if any(this.source.indent(number) != this.source.indent(inner.lineno) for number in comments):
        raise this.refuse("comment_lost", "a comment between the conditions stands elsewhere")
    _refuse_comments_of_outer(this, _end_with_comments(this.source, last_line(inner), _indent_of_body(this, inner)))
    above = "".join(this.indent + this.source.line(number).lstrip() for number in comments)
    return _replaced_head(this, inner, "and", ast.And, this.line, above)


def _indent_of_body(this: Conditional, node: ast.If) -> str:
    return this.source.indent(node.body[0].lineno)


def _refuse_comments_of_outer(this: Conditional, end: int) -> None:
    """Refuse where a comment below the inner `if` belongs to the outer one: it would stand behind other code."""
    number = end + 1
    while number <= this.source.line_count and (this.source.is_comment(number) or this.source.is_blank(number)):
        if this.source.is_comment(number) and len(this.source.indent(number)) > len(this.indent):
            raise RefusedRefactoring("comment_lost", "a comment below the inner condition is of the outer", (number,))
        number += 1


def _merge_branches(this: Conditional) -> str | None:
    """Merge `if a: X` and `elif b: X` to `if a or b: X`."""
    other = elif_of(this.node)
    if other is None or not _is_same(this, this.node.body, other.body):
        return None
    _refuse_comments(this, last_line(this.node.body[-1]) + 1, last_line(other.body[-1]))
    _refuse_comments(this, this.line, this.node.body[0].lineno - 1)
    return _without_other(this, other, last_line(other.body[-1]))


def _merge_guards(this: Conditional) -> str | None:
    """Merge `if a: return X` and the next statement, `if b: return X`, to `if a or b: return X`."""
    other = this.after[0] if this.after else None
    if not isinstance(other, ast.If) or other.orelse or this.node.orelse or not isinstance(this.node.body[-1], _ENDS):
        return None
    if not _is_same(this, this.node.body, other.body) or this.source.is_elif(this.node):
        return None
    _refuse_comments(this, this.line, last_line(other))
    return _without_other(this, other, last_line(other))


def _return_condition(this: Conditional) -> str | None:
    """Return the condition itself in place of True and False."""
    node = this.node
    other = node.orelse or list(this.after[:1])
    if len(node.body) != 1 or len(other) != 1 or this.source.is_elif(node):
        return None
    pair = [_returned_bool(part) for part in (node.body[0], other[0])]
    if None in pair or pair[0] == pair[1]:
        return None
    if node.test.lineno != last_line(node.test):
        raise this.refuse("long_condition", "the condition spans lines")
    _refuse_comments(this, this.line, last_line(other[0]))
    is_turned = not pair[0] and isinstance(node.test, ast.UnaryOp) and isinstance(node.test.op, ast.Not)
    asked = node.test.operand if is_turned and isinstance(node.test, ast.UnaryOp) else node.test
    test = this.source.segment(asked)
    # What is true and no boolean would be returned itself.
    value = test if is_boolean(asked) else f"bool({test})"
    value = value if pair[0] or is_turned else negated(this.source, node.test)
    line = f"{this.indent}return {value}{this.source.newline}"
    if len(line.rstrip()) > this.line_length:
        raise this.refuse("long_condition", f"the line would be longer than {this.line_length} characters")
    return _with_lines(this, this.line, last_line(other[0]), line)


def _invert_to_guard(this: Conditional) -> str | None:
    """Leave a function or loop early where the condition fails, and move the body out of the `if`."""
    node = this.node
    if this.after or node.orelse or len(node.body) < 2 or this.source.is_elif(node):
        return None
    if isinstance(this.around, Loop) and node in this.around.body:
        jump = "continue"
    elif isinstance(this.around, ast.FunctionDef | ast.AsyncFunctionDef):
        jump = "return"
    else:
        return None
    if node.test.lineno != last_line(node.test) or node.body[0].lineno == node.lineno:
        raise this.refuse("long_condition", "the condition spans lines or shares its line")
    _refuse_comments(this, this.line, this.line)
    inner = this.source.indent(node.body[0].lineno)
    head = f"{this.indent}if {negated(this.source, node.test)}:{this.source.newline}{inner}{jump}{this.source.newline}"
    end = _end_with_comments(this.source, last_line(node), inner)
    body = shifted_lines(this.source, this.line + 1, end, inner, this.indent)
    return _with_lines(this, this.line, end, head + body)


def _drop_else(this: Conditional) -> str | None:
    """Move the `else` of a branch that always leaves out of the `if`."""
    node = this.node
    if not node.orelse or not isinstance(node.body[-1], _ENDS) or this.source.is_elif(node):
        return None
    first = node.orelse[0]
    if elif_of(node) is not None:
        start = this.source.start_of(first)
        return apply_edits(this.source.text, [Edit(start, start + len("elif"), "if")])
    header = next(n for n in range(first.lineno, 0, -1) if this.source.line(n).lstrip().startswith("else"))
    if first.lineno == header or this.source.line(header).strip() != "else:":
        raise this.refuse("shared_line", "the else clause shares its line with other code")
    inner = this.source.indent(first.lineno)
    end = _end_with_comments(this.source, last_line(node), inner)
    body = shifted_lines(this.source, header + 1, end, inner, this.indent)
    return _with_lines(this, header, end, body)


def _with_lines(this: Conditional, first: int, last: int, text: str) -> str:
    source = this.source
    if not source.lines(last, last).endswith(("\n", "\r")):
        text = text.removesuffix(source.newline)
    return apply_edits(source.text, [Edit(source.starts[first - 1], source.line_end_offset(last), text)])


def _replaced_head(this: Conditional, inner: ast.If, word: str, kind: type[ast.boolop], first: int, above: str) -> str:
    source = this.source
    if inner.body[0].lineno == inner.lineno:
        raise this.refuse("shared_line", "the inner if shares its line with its body")
    head = _joined_head(this, inner, word, kind)
    old = source.indent(inner.body[0].lineno)
    new = source.indent(inner.lineno)
    end = _end_with_comments(source, last_line(inner), old)
    body = shifted_lines(source, _head_end(inner) + 1, end, old, new)
    return _with_lines(this, first, end, above + head + body)


def _without_other(this: Conditional, other: ast.If, end: int) -> str:
    source = this.source
    head = _joined_head(this, other, "or", ast.Or)
    begin = _head_end(this.node) + 1
    if first_line(this.node.body[0]) <= last_line(this.node.test):
        raise this.refuse("shared_line", "the if shares its line with its body")
    return _with_lines(this, this.line, end, head + source.lines(begin, last_line(this.node.body[-1])))


def _head_end(node: ast.If) -> int:
    return first_line(node.body[0]) - 1


def _joined_head(this: Conditional, other: ast.If, word: str, kind: type[ast.boolop]) -> str:
    source = this.source
    tests = [this.node.test, other.test]
    if any(test.lineno != last_line(test) for test in tests):
        raise this.refuse("long_condition", "a condition spans lines")
    needed = without_implied(this.node.test, other.test, kind)
    parts = [_operand(source, test, kind) for test in tests]
    keyword = "elif" if source.is_elif(this.node) else "if"
    text = f" {word} ".join(parts if needed is None else [_operand(source, test, kind) for test in needed])
    line = f"{this.indent}{keyword} {text}:"
    if len(line.expandtabs(8)) <= this.line_length:
        return line + source.newline
    if needed is not None:
        raise this.refuse("long_condition", f"the line would be longer than {this.line_length} characters")
    unit = "\t" if this.indent.endswith("\t") else "    "
    inner = this.indent + unit
    lines = [f"{this.indent}{keyword} (", f"{inner}{parts[0]}", f"{inner}{word} {parts[1]}", f"{this.indent}):"]
    if any(len(part.expandtabs(8)) > this.line_length for part in lines):
        raise this.refuse("long_condition", f"a line would be longer than {this.line_length} characters")
    return "".join(part + source.newline for part in lines)


def _operand(source: SourceText, test: ast.expr, kind: type[ast.boolop]) -> str:
    text = source.segment(test)
    is_loose = isinstance(test, ast.IfExp | ast.Lambda | ast.NamedExpr)
    mixed = isinstance(test, ast.BoolOp) and not isinstance(test.op, kind)
    return f"({text})" if is_loose or mixed else text


def negated(source: SourceText, test: ast.expr) -> str:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return source.segment(test.operand)
    opposites: dict[type[ast.cmpop], str] = {ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in"}
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and type(test.ops[0]) in opposites:
        left, right = source.segment(test.left), source.segment(test.comparators[0])
        return f"{left} {opposites[type(test.ops[0])]} {right}"
    simple = isinstance(test, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
    return f"not {source.segment(test)}" if simple else f"not ({source.segment(test)})"


def negates_well(test: ast.expr) -> bool:
    """Check that the opposite of a condition is written without parentheses."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return not isinstance(test.operand, ast.BoolOp | ast.IfExp | ast.NamedExpr | ast.Lambda)
    if isinstance(test, ast.Compare):
        return len(test.ops) == 1 and isinstance(test.ops[0], ast.Is | ast.IsNot | ast.In | ast.NotIn)
    return isinstance(test, ast.Name | ast.Attribute | ast.Call | ast.Subscript)


def _returned_bool(node: ast.stmt) -> bool | None:
    value = node.value if isinstance(node, ast.Return) else None
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, bool) else None


def _is_same(this: Conditional, first: Sequence[ast.stmt], second: Sequence[ast.stmt]) -> bool:
    return [ast.dump(node) for node in first] == [ast.dump(node) for node in second]


def _refuse_comments(this: Conditional, first: int, last: int) -> None:
    for number in range(first, last + 1):
        # A hash in a string is taken for a comment: one refusal too many does no harm.
        if "#" in this.source.line(number):
            raise RefusedRefactoring("comment_lost", "a comment would be lost or come to mean other code", (number,))


def _end_with_comments(source: SourceText, end: int, indent: str) -> int:
    while end < source.line_count and source.is_comment(end + 1) and source.indent(end + 1) == indent:
        end += 1
    return end


# In the order in which they are tried.
SIMPLIFICATIONS: dict[str, Simplify] = {
    "join_nested": _join_nested,
    "merge_branches": _merge_branches,
    "merge_guards": _merge_guards,
    "return_condition": _return_condition,
    "drop_else": _drop_else,
    "invert_to_guard": _invert_to_guard,
}
