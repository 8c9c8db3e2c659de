"""Writes the text of a new function and of the call that replaces the block it was made of."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from actors.capabilities.violation_fix.refactoring.annotations.signatures import UNTYPED, Signature
from actors.capabilities.violation_fix.refactoring.block_analysis import Extraction
from actors.capabilities.violation_fix.refactoring.block_exits import Form
from actors.capabilities.violation_fix.refactoring.comments import repeats_name
from actors.capabilities.violation_fix.refactoring.complexity import Function
from actors.capabilities.violation_fix.refactoring.flow.name_scopes import (
    FunctionPlace,
    Scope,
    names_read,
)
from actors.capabilities.violation_fix.refactoring.hazards import is_bare
from actors.capabilities.violation_fix.refactoring.outcomes import RefusedRefactoring
from actors.capabilities.violation_fix.refactoring.source_text import Edit, SourceText, apply_edits, first_line
from actors.capabilities.violation_fix.refactoring.wrapping import wrapped, wraps_in_columns

RESULT_NAMES = ("result", "outcome", "found_result", "early_result")


@dataclass(frozen=True)
class HelperText:
    """Holds the new function and the replacing call, each as whole lines with line ends."""

    definition: str
    call: str


@dataclass
class HelperWriter:
    """Writes one extraction; `first` and `last` are the lines of the block, its leading comment included."""

    source: SourceText
    place: FunctionPlace
    extraction: Extraction
    name: str
    first: int
    last: int
    line_length: int
    signature: Signature = UNTYPED

    def write(self) -> HelperText:
        return HelperText(self._definition(), self.call())

    @property
    def _owner(self) -> Function:
        """The function beside which the new one is put, and whose indentation it gets."""
        host = self.extraction.host
        return host.method if host is not None else self.place.function

    @property
    def _indent(self) -> str:
        if self.extraction.host is not None:
            return self.source.indent(self._owner.lineno)
        return self.source.indent(self.place.top_statement.lineno) if self._is_at_top else ""

    @property
    def _is_at_top(self) -> bool:
        """True where the new function stands beside the old one, at the same indentation."""
        return not self.place.parents

    @property
    def _is_async(self) -> bool:
        return self.extraction.crossings.awaits

    # The call

    def call(self) -> str:
        """Write the call that replaces the block, as whole lines."""
        outer = self.source.indent(self.extraction.first.lineno)
        is_elif = self.source.is_elif(self.extraction.first)
        indent = outer + self.source.indent_unit(self.place.function) if is_elif else outer
        host = self.extraction.host
        callee = f"{host.first_parameter}.{self.name}" if host is not None else self.name
        before, after = self._around_call()
        lines = self._wrapped(indent, f"{before}{callee}(", list(self.extraction.parameters), f"){after}")
        form, jump = self.extraction.form, self.extraction.jump
        unit = self.source.indent_unit(self.place.function)
        if form is Form.IF_JUMP:
            lines.append(f"{indent}{unit}{self._jump_text(jump)}")
        elif form is Form.THEN_JUMP:
            lines.append(f"{indent}{self._jump_text(jump)}")
        elif form is Form.IF_NONE:
            result = self._result_name
            lines += [f"{indent}if {result} is None:", f"{indent}{unit}{self._jump_text(jump)}"]
            if len(self.extraction.outputs) > 1:
                lines.append(f"{indent}{', '.join(self.extraction.outputs)} = {result}")
        elif form is Form.IF_RESULT:
            result = self._result_name
            lines += [f"{indent}if {result} is not None:", f"{indent}{unit}return {result}"]
        if is_elif:
            lines.insert(0, f"{outer}else:")
        return "".join(line + self.source.newline for line in lines)

    def _jump_text(self, jump: ast.stmt | None) -> str:
        if isinstance(jump, ast.Return) and is_bare(jump):
            return "return None" if jump.value is not None else "return"
        return self.source.segment(jump) if jump is not None else "return"

    @property
    def _result_name(self) -> str:
        if self.extraction.form is Form.IF_NONE and len(self.extraction.outputs) == 1:
            return self.extraction.outputs[0]
        taken = self.place.locals | names_read(self.place.function)
        free = [name for name in RESULT_NAMES if name not in taken]
        if not free:
            raise RefusedRefactoring(
                "no_free_name", f"{', '.join(RESULT_NAMES)} are all taken in {self.place.function.name}"
            )
        return free[0]

    def _around_call(self) -> tuple[str, str]:
        waits = "await " if self._is_async else "yield from " if self.extraction.crossings.yields else ""
        closing = ")" if waits.startswith("yield") else ""
        opening = "(" if closing else ""
        match self.extraction.form:
            case Form.RETURN:
                return f"return {opening}{waits}", closing
            case Form.IF_JUMP:
                return f"if {opening}{waits}", f"{closing}:"
            case Form.IF_RESULT | Form.IF_NONE:
                return f"{self._result_name} = {waits}", ""
        targets = ", ".join(self.extraction.outputs)
        return f"{targets} = {waits}" if targets else waits, ""

    # The definition

    def _definition(self) -> str:
        indent = self._indent
        unit = self.source.indent_unit(self._owner)
        newline = self.source.newline
        head = []
        host = self.extraction.host
        parameters = [self._parameter(name) for name in self.extraction.parameters]
        if host is not None:
            parameters.insert(0, host.first_parameter)
            if host.is_class_method:
                head.append(f"{indent}@classmethod")
        keyword = "async def" if self._is_async else "def"
        returns = f" -> {self.signature.returns}" if self.signature.returns else ""
        head += self._wrapped(indent, f"{keyword} {self.name}(", parameters, f"){returns}:")
        body = self._body(indent + unit)
        end = self._ending(indent + unit)
        return "".join(line + newline for line in head) + body + "".join(line + newline for line in end)

    def _wrapped(self, indent: str, before: str, items: Sequence[str], after: str) -> list[str]:
        in_columns = wraps_in_columns(self.source)
        return wrapped(indent, before, items, after, self.line_length, in_columns=in_columns)

    def _body(self, indent: str) -> str:
        old = self.source.indent(self.extraction.first.lineno)
        first = self.first
        # Below the name of the function, a comment that says the same says nothing.
        if self.first + 1 == first_line(self.extraction.first) and repeats_name(
            self.source.line(self.first), self.name
        ):
            first += 1
        base = self.source.starts[first - 1]
        text = self.source.lines(first, self.last)
        if not text.endswith(("\n", "\r")):
            text += self.source.newline
        edits = [Edit(edit.start - base, edit.end - base, edit.text) for edit in self._rewritten_jumps()]
        strings = self.source.lines_inside_strings
        lines = list(enumerate(_lines(apply_edits(text, edits)), first))
        if self.extraction.form is Form.THEN_JUMP and len(self.extraction.statements) > 1:
            # At the end of a function, a return of nothing says nothing.
            while lines[-1][1] in (f"{old}return{self.source.newline}", self.source.newline):
                lines.pop()
        return "".join(
            indent + line[len(old) :] if number not in strings and line.startswith(old) and line.strip() else line
            for number, line in lines
        )

    def _rewritten_jumps(self) -> list[Edit]:
        """Turn jumps out of the block into returns of the new function."""
        crossings = self.extraction.crossings
        form = self.extraction.form
        edits: list[Edit] = []
        jump_type = type(self.extraction.jump)
        for jump in (*crossings.returns, *crossings.breaks, *crossings.continues):
            if form in (Form.RETURN, Form.IF_RESULT):
                text = None if isinstance(jump, ast.Return) else "return"
            elif form is Form.IF_NONE and isinstance(jump, jump_type):
                text = "return None"
            elif form is Form.IF_JUMP:
                text = "return True" if isinstance(jump, jump_type) else "return False"
            else:
                text = self._return_of_outputs()
            if text is not None:
                if jump.end_lineno != jump.lineno:
                    raise RefusedRefactoring("long_jump", "a jump out of the block spans lines", (jump.lineno,))
                edits.append(Edit(self.source.start_of(jump), self.source.end_of(jump), text))
        final = self._final_assignment()
        if final is not None:
            edits.append(final)
        first = self.extraction.first
        if self.source.is_elif(first):
            start = self.source.start_of(first)
            edits.append(Edit(start, start + len("elif"), "if"))
        return edits

    def _return_of_outputs(self) -> str:
        return f"return {', '.join(self.extraction.outputs)}" if self.extraction.outputs else "return"

    def _final_assignment(self) -> Edit | None:
        """Return the value itself where the block ends by assigning its only output."""
        last = self.extraction.statements[-1]
        outputs = self.extraction.outputs
        if len(outputs) != 1 or not isinstance(last, ast.Assign) or last.end_lineno != last.lineno:
            return None
        target = last.targets[0]
        if len(last.targets) > 1 or not isinstance(target, ast.Name) or target.id != outputs[0]:
            return None
        if isinstance(last.value, ast.Yield | ast.YieldFrom) or self._has_closures():
            return None
        start, after = self.source.start_of(last), self.source.end_of(target)
        gap = self.source.text[after : self.source.start_of(last.value)]
        return Edit(start, after + gap.index("=") + 1, "return")

    def _has_closures(self) -> bool:
        """Check for nested functions, which would see the output assigned."""
        parts = (part for statement in self.extraction.statements for part in ast.walk(statement))
        return any(isinstance(part, Scope | ast.Lambda | ast.GeneratorExp) for part in parts)

    def _ending(self, indent: str) -> list[str]:
        extraction = self.extraction
        if not extraction.falls_through:
            return []
        if extraction.form is Form.IF_JUMP:
            return [f"{indent}return False"]
        if extraction.form is Form.IF_RESULT:
            return [f"{indent}return None"]
        if extraction.form is Form.RETURN and any(not is_bare(node) for node in extraction.crossings.returns):
            return [f"{indent}return None"]
        if extraction.outputs and self._final_assignment() is None:
            return [indent + self._return_of_outputs()]
        return []

    def _parameter(self, name: str) -> str:
        annotation = self.signature.parameters.get(name)
        return f"{name}: {annotation}" if annotation else name


def _lines(text: str) -> list[str]:
    source = SourceText(text)
    return [source.line(number) for number in range(1, source.line_count + 1) if source.line(number)]
