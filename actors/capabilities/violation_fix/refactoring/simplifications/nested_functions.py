"""Moves a nested function to the module or its class, where it needs little of the one around it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import get_args

from actors.capabilities.violation_fix.refactoring.comments import first_moved_line
from actors.capabilities.violation_fix.refactoring.complexity import Function, Limits, Loop, measure
from actors.capabilities.violation_fix.refactoring.flow.free_inputs import OuterNames
from actors.capabilities.violation_fix.refactoring.flow.name_scopes import (
    BUILTIN_NAMES,
    FunctionPlace,
    Scope,
    bound_names,
    free_names,
    local_names,
    outer_parts,
    parameters_of,
    scope_nodes,
)
from actors.capabilities.violation_fix.refactoring.hazards import (
    FRAME_NAMES,
    has_examples,
    last_name,
    needs_class,
    refuse_dynamic_function,
)
from actors.capabilities.violation_fix.refactoring.insertion import insertion_of
from actors.capabilities.violation_fix.refactoring.naming.learned.verb_groups import group_of
from actors.capabilities.violation_fix.refactoring.naming.name_words import (
    POOR_NOUNS,
    VAGUE_VERBS,
    VERBS,
    is_good_noun,
    words_in,
    words_of,
)
from actors.capabilities.violation_fix.refactoring.naming.styles import in_style, names_in_camel_case
from actors.capabilities.violation_fix.refactoring.placement import Host, find_host
from actors.capabilities.violation_fix.refactoring.simplifications.spot import Spot
from actors.capabilities.violation_fix.refactoring.source_text import (
    Edit,
    SourceText,
    apply_edits,
    first_line,
    last_line,
)

MAX_CAPTURED = 2
_KEEPS = Limits()
# Functions, classes and modules read badly as arguments.
_NOT_HANDED = (*get_args(Scope), ast.Import, ast.ImportFrom)
# Functions that call what they are given and keep nothing of it.
_CALLERS = frozenset({"map", "filter", "sorted", "min", "max", "sort", "sub", "subn", "reduce"})
_CALLED_BACK = frozenset({"key", "default", "object_hook", "onerror", "onexc"})
# Words that tell what a function is for only inside the function around it.
_LOCAL_WORDS = frozenset(
    {"wrapper", "wrapped", "inner", "helper", "func", "function", "callback", "closure", "decorator", "local", "impl"}
)


# What any function may have to do with, so that a verb with it alone tells nothing outside.
_ANY_OBJECT = POOR_NOUNS | words_in(
    """
    argument arguments data function functions info input inputs item items object objects option options output outputs
    param params parameter parameters result results string text type types value values
    """
)


def is_generic_name(name: str) -> bool:
    """Check for a verb, alone or with an object that any function may have, as `get_param` is."""
    words = words_of(name)
    return words[0] in VERBS | VAGUE_VERBS and all(word in _ANY_OBJECT for word in words[1:])


def _object_of(words: list[str], own: list[str]) -> list[str]:
    """Return the one or two last words of a name that tell what it is about, or none."""
    rest = [word for word in words[words[0] in VERBS | VAGUE_VERBS :] if not word.isdigit()][-2:] if words else []
    tells = bool(rest) and not set(rest) <= set(own) | _ANY_OBJECT and is_good_noun("_".join(rest))
    return rest if tells else []


def move_out(spot: Spot) -> str | None:
    """Move a nested function out of the one around it; what it reads there becomes its first parameters."""
    function = spot.node
    if not isinstance(function, Function):
        return None
    return _Move(spot, function).source()


class _Move:
    def __init__(self, spot: Spot, function: Function) -> None:
        self.spot = spot
        self.text: SourceText = spot.source
        self.function = function
        self.outer: FunctionPlace = spot.around.place
        outer = self.outer
        self.place = FunctionPlace(function, (*outer.parents, outer.function), outer.top_statement, spot.body)
        self.uses = [node for node in ast.walk(outer.function) if isinstance(node, ast.Name) and self._is_it(node)]

    def _is_it(self, node: ast.Name) -> bool:
        return node.id == self.function.name

    def source(self) -> str:
        self._refuse_unmovable()
        captured = self._captured()
        host = self._host(captured)
        passed = [name for name in captured if host is None or name != host.first_parameter]
        calls = self._calls(captured)
        name = self._name()
        self._refuse_too_many(passed)
        header = self._header(name, [host.first_parameter, *passed] if host is not None else passed)
        edits = [*self._rewritten(calls, name, passed, host), self._removed()]
        definition = self._definition(header, edits, host)
        outside = [edit for edit in edits if not self._is_inside(edit)]
        inserted = insertion_of(self.text, self.outer.top_statement, host, definition)
        return apply_edits(self.text.text, [*outside, inserted])

    def _is_inside(self, edit: Edit) -> bool:
        return self.text.start_of(self.function) <= edit.start and edit.end <= self.text.end_of(self.function)

    def _refuse_unmovable(self) -> None:
        function, spot = self.function, self.spot
        refuse_dynamic_function(self.outer.function)
        if function.decorator_list or getattr(function, "type_params", None) or function.type_comment:
            raise spot.refuse("decorated", f"{function.name} is decorated or generic")
        nodes = list(ast.walk(function))
        if any(isinstance(node, ast.Nonlocal | ast.Global) for node in nodes):
            raise spot.refuse("closure", f"{function.name} binds names of other scopes")
        if any(isinstance(node, ast.Attribute | ast.Name) and last_name(node) in FRAME_NAMES for node in nodes):
            raise spot.refuse("frame_inspection", f"{function.name} looks at frames")
        if needs_class([function]):
            raise spot.refuse("needs_class", f"{function.name} means the class around it")
        if has_examples(function.body):
            raise spot.refuse("doctest", f"the examples of {function.name} run nowhere yet, and would outside")
        if any(isinstance(parent, Loop) for parent in spot.parents):
            raise spot.refuse("defined_in_loop", f"{function.name} is defined anew by a loop")
        if self._times_bound() != 1:
            raise spot.refuse("bound_again", f"{function.name} is bound more than once")
        if measure(function).over(_KEEPS):
            raise spot.refuse("not_enough", f"{function.name} exceeds a limit itself")
        if first_line(function) == last_line(function) or function.body[0].lineno == function.lineno:
            raise spot.refuse("shared_line", f"{function.name} shares a line with its body")
        for value in (*function.args.defaults, *(each for each in function.args.kw_defaults if each is not None)):
            if not isinstance(value, ast.Constant):
                raise spot.refuse("default", "a default value is worked out when the function is defined")
        self._refuse_annotations()

    def _times_bound(self) -> int:
        nodes = list(ast.walk(self.outer.function))
        defined = sum(isinstance(node, Scope) and node.name == self.function.name for node in nodes)
        parameters = sum(isinstance(node, ast.arg) and node.arg == self.function.name for node in nodes)
        return defined + parameters + sum(not isinstance(node.ctx, ast.Load) for node in self.uses)

    def _refuse_annotations(self) -> None:
        """Refuse annotations that name what only the function around knows, or what is bound further down."""
        function = self.function
        annotations = [part for part in outer_parts(function) if part not in function.args.defaults]
        names = {node.id for part in annotations for node in ast.walk(part) if isinstance(node, ast.Name)}
        above = frozenset[str]().union(
            *(bound_names(node) for node in self.text.tree.body if last_line(node) < self.outer.top_statement.lineno)
        )
        if names & self.outer.locals or names - above - BUILTIN_NAMES:
            raise self.spot.refuse("annotation", "an annotation names what is not known outside")

    def _captured(self) -> tuple[str, ...]:
        read = free_names(self.function) - {self.function.name}
        found = OuterNames(self.place).among(read)
        for name in found:
            if any(
                isinstance(node, _NOT_HANDED) and name in bound_names(node) for node in scope_nodes(self.outer.function)
            ):
                raise self.spot.refuse("handed_on", f"{name} would be handed over as an argument")
        order = {argument.arg: number for number, argument in enumerate(self.outer.parameters)}
        return tuple(sorted(found, key=lambda name: (order.get(name, len(order)), name)))

    def _host(self, captured: tuple[str, ...]) -> Host | None:
        host = find_host(self.outer)
        parents = [parent for parent in self.outer.parents if isinstance(parent, ast.ClassDef)]
        if host is not None and host.first_parameter in captured:
            if host.method is not self.outer.function or host.is_class_method:
                raise self.spot.refuse("needs_class", f"{self.function.name} needs the object of an outer method")
            return host
        if parents and {"self", "cls"} & set(captured):
            raise self.spot.refuse("needs_class", f"{self.function.name} needs its object")
        return None

    def _calls(self, captured: tuple[str, ...]) -> list[ast.Call]:
        nodes = list(ast.walk(self.outer.function))
        calls = [node for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
        calls = [call for call in calls if isinstance(call.func, ast.Name) and self._is_it(call.func)]
        called = {id(call.func) for call in calls}
        loose = [use for use in self.uses if id(use) not in called]
        if loose and (captured or {id(use) for use in loose} - self._handed_to_callers(nodes)):
            raise self.spot.refuse("handed_on", f"{self.function.name} is not only called")
        if not self.uses:
            raise self.spot.refuse("handed_on", f"{self.function.name} is never used")
        shadows = {*captured, self.function.name}
        for scope in nodes:
            if isinstance(scope, Function) and scope is not self.outer.function:
                bound = local_names(scope)
            elif isinstance(scope, ast.Lambda):
                bound = frozenset(argument.arg for argument in parameters_of(scope.args))
            elif isinstance(scope, ast.comprehension):
                bound = bound_names(scope.target)
            else:
                continue
            if bound & shadows:
                raise self.spot.refuse("shadowed", f"{', '.join(sorted(bound & shadows))} is another name inside")
        return calls

    def _handed_to_callers(self, nodes: list[ast.AST]) -> set[int]:
        """Return the arguments of calls that use a function and forget it, or that are given it to be called back."""
        handed: set[int] = set()
        for call in nodes:
            if not isinstance(call, ast.Call):
                continue
            if last_name(call.func) in _CALLERS:
                handed |= {id(argument) for argument in call.args}
            handed |= {id(keyword.value) for keyword in call.keywords if keyword.arg in _CALLED_BACK}
        return handed

    def _name(self) -> str:
        own = self.function.name
        words = words_of(own)
        # The author's own words are words, if they are more than letters.
        is_told = not set(words) <= POOR_NOUNS and not set(words) & _LOCAL_WORDS
        is_command = len(words) == 1 and words[0] in VERBS - VAGUE_VERBS and len(words[0]) > 4
        if not is_told or not (len(words) > 1 or is_command):
            raise self.spot.refuse("no_name", f"{own} does not tell outside what it does")
        # Beside the other new functions, and as they are named.
        is_camel_case = names_in_camel_case(self.text.tree, self.outer.function.name)
        told = own if own.startswith("_") else f"_{own}"
        if is_generic_name(own):
            told = self._told_by_outer(words)
        name = in_style(told, is_camel_case=is_camel_case)
        inside = {id(node) for node in ast.walk(self.outer.function)}
        taken = {
            getattr(node, field)
            for node in ast.walk(self.text.tree)
            if id(node) not in inside or name != own
            for field in ("id", "attr", "arg", "name", "asname")
            if isinstance(getattr(node, field, None), str)
        }
        strings = (node.value for node in ast.walk(self.text.tree) if isinstance(node, ast.Constant))
        if name in taken | BUILTIN_NAMES or name in set(strings) or own in _strings(self.outer.function):
            raise self.spot.refuse("name_taken", f"{name} is already used in the file")
        return name

    def _told_by_outer(self, words: list[str]) -> str:
        """Return a generic name with what the function around it, or its class, is about."""
        own = words_of(self.outer.function.name) or [""]
        classes = [parent.name for parent in self.outer.parents if isinstance(parent, ast.ClassDef)]
        around = [own, *(words_of(name) for name in reversed(classes))]
        rest = next((found for each in around if (found := _object_of(each, words))), [])
        verb, noun = words[0], [word for word in words[1:] if word not in rest]
        # Nobody can tell `_check_schema` from `validate_schema` around it, and to process it may be anything.
        is_apart = bool(noun) or (verb not in VAGUE_VERBS and group_of(verb) != group_of(own[0]))
        if not rest or not is_apart:
            raise self.spot.refuse("no_name", f"{self.function.name} does not tell outside what it does")
        return "_" + "_".join([verb, *rest, *noun])

    def _refuse_too_many(self, passed: list[str]) -> None:
        count = len(passed) + len(parameters_of(self.function.args))
        if len(passed) > MAX_CAPTURED or (passed and count > (_KEEPS.arguments or count)):
            raise self.spot.refuse("too_many_inputs", f"{self.function.name} reads {', '.join(passed)}")

    def _header(self, name: str, added: list[str]) -> Edit:
        """Return the edit that renames the function and puts parameters before its own."""
        function, source = self.function, self.text
        begin = source.start_of(function)
        opening = source.text.index("(", source.text.index(function.name, begin))
        own = parameters_of(function.args)
        written = [self._parameter(each) for each in added]
        after = source.text[opening + 1 :].lstrip()
        gap = ", " if own else ""
        if function.args.kwarg and added:
            raise self.spot.refuse("keywords", f"a keyword of {function.name} may be called {' or '.join(added)}")
        if function.args.posonlyargs and added:
            raise self.spot.refuse("positional_only", "positional-only parameters come first")
        if added and after.startswith("#"):
            raise self.spot.refuse("comment_lost", "a comment stands in the parameters")
        is_broken = own and not source.text[opening + 1 :].startswith(own[0].arg) and not after.startswith("*")
        if added and is_broken:
            raise self.spot.refuse("long_signature", "the parameters span lines")
        keyword = "async def" if isinstance(function, ast.AsyncFunctionDef) else "def"
        text = f"{keyword} {name}({', '.join(written)}{gap if written else ''}"
        line_end = source.text.find("\n", opening)
        rest = source.text[opening + 1 : line_end if line_end >= 0 else len(source.text)]
        if not self.spot.fits(text + rest):
            raise self.spot.refuse("long_signature", "the signature would be too long")
        return Edit(begin, opening + 1, text)

    def _parameter(self, name: str) -> str:
        if not self.function.returns and not any(each.annotation for each in parameters_of(self.function.args)):
            return name
        host = find_host(self.outer)
        if host is not None and name == host.first_parameter:
            return name
        annotation = next((each.annotation for each in self.outer.parameters if each.arg == name), None)
        is_star = name in {
            each.arg for each in (self.outer.function.args.vararg, self.outer.function.args.kwarg) if each
        }
        text = self.text.segment(annotation) if annotation is not None and not is_star else ""
        # What may be None was told apart by the function around, which a checker does not see here.
        if not text or any(word in text for word in ("None", "Optional", "Union", "|", "Any", "\n")):
            raise self.spot.refuse("unknown_type", f"the type of {name} is not known")
        return f"{name}: {text}"

    def _rewritten(self, calls: list[ast.Call], name: str, passed: list[str], host: Host | None) -> list[Edit]:
        called = {id(call.func) for call in calls}
        callee = f"{host.first_parameter}.{name}" if host is not None else name
        edits = [
            Edit(self.text.start_of(use), self.text.end_of(use), callee)
            for use in self.uses
            if callee != use.id or id(use) in called
        ]
        for call in calls:
            if not passed:
                continue
            opening = self.text.end_of(call.func)
            if not self.text.text[opening:].startswith("("):
                raise self.spot.refuse("shared_line", "a call is written with a gap")
            if any(isinstance(part, ast.GeneratorExp) for part in call.args):
                raise self.spot.refuse("shared_line", "a call is given a bare generator")
            gap = ", " if call.args or call.keywords else ""
            edits.append(Edit(opening + 1, opening + 1, ", ".join(passed) + gap))
            line = self.text.line(call.lineno).rstrip()
            if not self.spot.fits(line + callee[len(self.function.name) :] + ", ".join(passed) + gap):
                raise self.spot.refuse("long_condition", "a call would be too long")
        return edits

    @property
    def _first(self) -> int:
        return first_moved_line(self.text, first_line(self.function), self.outer.function)

    def _removed(self) -> Edit:
        """Return the edit that takes the function away, with the blank lines on one side of it."""
        source, first, last = self.text, self._first, last_line(self.function)
        if len(self.spot.body) == 1:
            raise self.spot.refuse("empty", "nothing would be left of the block")
        if source.is_blank(first - 1) or not self.spot.position:
            while last < source.line_count and source.is_blank(last + 1):
                last += 1
        while not self.spot.position and source.is_blank(first - 1):
            first -= 1
        return Edit(source.starts[first - 1], source.line_end_offset(last), "")

    def _definition(self, header: Edit, edits: list[Edit], host: Host | None) -> str:
        source, first, last = self.text, self._first, last_line(self.function)
        old = source.indent(self.function.lineno)
        new = source.indent(host.method.lineno) if host is not None else ""
        start = source.starts[first - 1]
        shifted = list(self._shifts(first, last, old, new))
        inside = [header, *(edit for edit in edits if self._is_inside(edit)), *shifted]
        moved = [Edit(edit.start - start, edit.end - start, edit.text) for edit in inside]
        text = apply_edits(source.text[start : source.line_end_offset(last)], moved)
        return text if text.endswith(("\n", "\r")) else text + source.newline

    def _shifts(self, first: int, last: int, old: str, new: str) -> Iterator[Edit]:
        # Nobody reads the docstring of what is only called.
        text = self.function.body[0] if ast.get_docstring(self.function) is not None else None
        documentation = range(text.lineno, last_line(text) + 1) if text is not None else range(0)
        strings = self.text.lines_inside_strings - frozenset(documentation)
        for number in range(first, last + 1):
            line = self.text.line(number)
            if number in strings or not line.startswith(old) or not line.strip():
                continue
            begin = self.text.starts[number - 1]
            yield Edit(begin, begin + len(old), new)


def _strings(function: Function) -> frozenset[str]:
    return frozenset(
        node.value for node in ast.walk(function) if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
