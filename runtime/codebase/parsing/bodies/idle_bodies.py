"""Tells by syntax whether the body of a function has an effect or decides anything.

A body without effect holds nothing but statements without one: empty loops, branches and cases, variables that get a
constant, code that is never reached, and a failure or a result that is the same whatever comes in. What is not known
to do nothing does something. The module is long since its judges of statements, branches, loops and handlers call one
another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import tree_sitter

from runtime.codebase.language_parts import idle_statements as kinds
from runtime.codebase.language_parts.idle_statements import IdleSyntax
from runtime.codebase.parsing.bodies.block_ends import always_leaves, is_alternative, leaves
from runtime.codebase.parsing.bodies.empty_statements import (
    NOTHING,
    gives_unwritten_error,
    is_unwritten_error,
    raised_name,
)
from runtime.codebase.parsing.bodies.fixed_conditions import chosen, holds
from runtime.codebase.parsing.bodies.loop_heads import (
    drains,
    gathers_nothing,
    holds_within,
    leaves_a_name,
    runs_for_nothing,
)
from runtime.codebase.parsing.bodies.lost_calls import lost_call, named_function
from runtime.codebase.parsing.bodies.pure_expressions import TRANSPARENT, compares, only_computes, without_brackets
from runtime.codebase.parsing.tree_walk import is_bare_string

# Statements that are nested deeper are taken to do something.
MAX_DEPTH = 50

# Statements without an effect: a name or a literal alone, a name that is assigned to itself, to nothing or dropped.
_IDLE = re.compile(
    r"""\(*(?:\{\}|\[\]|[\w.$]+)\)*(?:\s+as\s+\w+\)*)? | (?P<self>\$?[\w.]+)\s*=\s*(?P=self)
        | (?:let\s+|var\s+|const\s+)?_\s*:?=\s*&?[\w.]+
        | (?:int|str|float|bool|list|dict|set|tuple|object|bytes|locals|globals)\(\)
        | [\w$]+\s*(?:[-+|^]=\s*0|(?:\*|//?)=\s*1)
        | await\s+(?:null|undefined|0)
        | void\s+[\w.]+ | \(void\)\s*[\w.]+ | del\s+\w+(?:\s*,\s*\w+)* | drop\([\w.]+\)""",
    re.VERBOSE,
)
_ACTS = re.compile(r"(?:break|continue|return|yield|raise|throw|fallthrough|pass|redo|retry|next|abort|debugger)\b")
_EMPTY_VALUE = re.compile(r"\(*\s*(?:\{\s*\}|\[\s*\])\)*(?:\s+as\s+[\w<>\[\], ]+)?\)*")
_FAILS = re.compile(r"(?:raise|throw|fail|panic|bail|todo|unimplemented|unreachable|abort|exit)\b")
# A failure that says the same whatever comes in.
_THROWN = re.compile(rf"(?:raise|throw)\s+(?:new\s+)?(?:\d+|{kinds.TEXT}|\\?[\w.:\\]+(?:\(\s*(?:{kinds.TEXT})?\s*\))?)")
_CONSTANT = re.compile(rf"(?:\w+\s+)*?(\$?\w+)\s*:?=\s*(?:{kinds.TEXT})")
# What gives one name a value, in whichever language: `y = x`, `int y = x`, `let y: T = x`, `y := x`.
_BOUND = re.compile(
    r"(?:[\w<>\[\],.?*&]+\s+)*?[*&]?(?P<name>\$?\w+)(?:\s*:\s*[\w<>\[\]., ?&]+?)?\s*:?=(?!=)\s*(?P<value>.+)", re.DOTALL
)
_JOINED = re.compile(r"\b(?:and|or)\b|&&|\|\|")
_RETURN = re.compile(r"return\b\s*(.*?)\s*;?", re.DOTALL)
_DIVIDES_BY_ZERO = re.compile(r"\d+\s*(?:/|//|%)\s*0")
# A value that is dropped at once: `_ = x`, `_, _ = x, y`.
_DROPS = re.compile(r"_(?:\s*,\s*_)*\s*=(?!=)")
_ABSENT = re.compile(r"(?:None|null|nil|undefined|void\s+0|NULL|nullptr|\(\))?")
# Conditions under which nothing, or always the same, runs, and what holds nothing to run for.
_NEVER = re.compile(r"\(*\s*(?:[Ff]alse|0|None|null|nil|undefined|\"\"|'')\s*\)*")
_ALWAYS = re.compile(r"\(*\s*(?:[Tt]rue|1|:)?\s*\)*")
_BLOCKS = re.compile(r"(?:^|_)(?:block|body|group|do|then|statements?)$|^compound_statement$")


@dataclass(slots=True)
class BodyJudge:
    """Judges the body of one definition; `text_of` gives the text of a node without comments, heads and docstrings."""

    syntax: IdleSyntax
    text_of: Callable[[tree_sitter.Node], str]
    says_nothing: Callable[[str], bool]
    # The text from the start of the definition to its body, the text of both, and the names that it takes.
    head: str
    whole: str
    takes: Callable[[str], bool]
    may_fail: bool
    may_give_way: bool = False
    # What functions compute may be all that they are called for, as in a test that they do not fail.
    results_count: bool = False
    gives_taken: bool = False
    looks_up: bool = False
    returned: set[str] = field(default_factory=set)
    depends: bool = False
    # Names that got another value; those that hold a constant text.
    assigned: set[str] = field(default_factory=set)
    constants: set[str] = field(default_factory=set)
    # Names that hold what was taken, and those that got something else as well.
    copies: set[str] = field(default_factory=set)
    rebound: set[str] = field(default_factory=set)
    # Names that hold an empty value, those of functions that do nothing, and names that hold something else as well.
    empties: set[str] = field(default_factory=set)
    idle: set[str] = field(default_factory=set)
    filled: set[str] = field(default_factory=set)
    # Names that hold an error which says that nothing is written yet.
    unwritten: set[str] = field(default_factory=set)
    depth: int = 0
    # A part of a body is judged, whose returns, exits and variables count for what stands around it.
    is_part: bool = False
    loops: int = 0
    # How many handlers that do nothing stand around.
    caught: int = 0
    choices: int = 0

    def is_idle(self, body: tree_sitter.Node, *, gives_last: bool, is_value: bool) -> bool:
        """Return whether a body does nothing.

        Args:
            body: The block, or the expression of a definition that is one.
            gives_last: Whether the last expression of the block is what it returns.
            is_value: Whether the body is an expression, which is what it returns.
        """
        if is_value:
            return self._value(self._said(body).removeprefix("=>").removeprefix("=").strip(), decided=False)
        if self._only_imports(body) or not self._sequence(body, decided=False, tail=gives_last):
            return False
        if self.depends and not gives_last and not always_leaves(body):
            self.returned.add("")
        return not (self.depends and len(self.returned) > 1)

    def _only_imports(self, body: tree_sitter.Node) -> bool:
        """Return whether a body names what it uses from elsewhere and holds nothing else, as to load it is for."""
        said = [self._said(each) for each in body.named_children if not TRANSPARENT.search(each.type)]
        written = [each for each in said if each]
        imports = [each for each in written if re.fullmatch(self.syntax.imports, each)]
        return bool(imports) and len(imports) == len(written) and not self._is_blanked(body)

    def _is_blanked(self, body: tree_sitter.Node) -> bool:
        """Return whether statements of a body, its documentation aside, were taken out of its text before."""
        return any(
            not self._said(each) and not TRANSPARENT.search(each.type) and not is_bare_string(each)
            for each in body.named_children
        )

    def is_idle_part(self, node: tree_sitter.Node) -> bool:
        """Return whether a branch, loop, choice or handler within a body does nothing."""
        self.is_part = True
        return self._statement(node, decided=True, tail=False)

    def _said(self, node: tree_sitter.Node) -> str:
        return self.text_of(node).strip().rstrip(";").strip()

    def _sequence(self, node: tree_sitter.Node, *, decided: bool, tail: bool) -> bool:
        parts: Sequence[tree_sitter.Node] = [each for each in node.named_children if self._said(each)]
        idle = (each for each in node.named_children if self.says_nothing(self._said(each)))
        self.idle |= {name for each in idle if (name := named_function(each)) is not None}
        for at, part in enumerate(parts):
            if part.type in kinds.LABELS:
                continue
            if part.type in kinds.HANDLERS:
                if not self._handler(part, parts[:at]):
                    return False
                continue
            if not self._statement(part, decided=decided or self.depends, tail=tail and at == len(parts) - 1):
                return False
            if leaves(part):
                break
        return True

    def _statement(self, node: tree_sitter.Node, *, decided: bool, tail: bool) -> bool:
        said = self._said(node)
        if not said:
            return True
        self.depth += 1
        try:
            return self.depth <= MAX_DEPTH and self._judged(node, said, decided=decided, tail=tail)
        finally:
            self.depth -= 1

    def _judged(self, node: tree_sitter.Node, said: str, *, decided: bool, tail: bool) -> bool:
        if self._keeps_unwritten(node, said):
            return True
        node = without_brackets(node)
        for names, judge in _JUDGES:
            if node.type in names:
                return judge(self, node, decided=decided, tail=tail and not self.text_of(node).rstrip().endswith(";"))
        if (given := _RETURN.fullmatch(said)) and node.type in kinds.RETURNS | {"command"}:
            gathers = bool(node.named_children) and gathers_nothing(node.named_children[0], self._said)
            return not self.is_part and self._value("[]" if gathers else given.group(1), decided=decided)
        if self.caught and _THROWN.fullmatch(said):
            return True
        if self._fails(said):
            return not decided and not self.may_fail
        if self._is_nothing(node, said, tail=tail):
            return True
        if node.type in kinds.CALLS and not (self.results_count or self.is_part):
            call = lost_call(node, self._said, self.syntax, (self.empties | self.idle) - self.filled)
            if call is not None and self._is_pure(call.given):
                self.looks_up = self.looks_up or call.checks
                return True
        self.looks_up = self.looks_up or (node.type in kinds.MEMBERS and not self.results_count)
        if self.results_count and _DIVIDES_BY_ZERO.fullmatch(said):
            return False
        # The value of a part may be what the body gives.
        return self._value(said, decided=decided) if tail else not self.is_part and self._is_pure(node)

    def _keeps_unwritten(self, node: tree_sitter.Node, said: str) -> bool:
        """Note the name that a statement gives a value; return whether that is an error of what nobody has written."""
        if constant := _CONSTANT.fullmatch(said):
            self.constants.add(constant.group(1))
        bound = _BOUND.fullmatch(said) if node.type in kinds.LOCALS | kinds.ASSIGNMENTS else None
        if bound is None:
            return False
        (self.copies if self._is_taken(bound["value"]) else self.rebound).add(bound["name"])
        (self.empties if self._is_empty_value(bound["value"].strip()) else self.filled).add(bound["name"])
        if self.is_part or not is_unwritten_error(bound["value"]):
            return False
        self.unwritten.add(bound["name"])
        return True

    def _is_nothing(self, node: tree_sitter.Node, said: str, *, tail: bool) -> bool:
        """Return whether a simple statement has no effect and gives no value."""
        leaves_own = self.loops or (self.choices and said.startswith("break"))
        is_exit = node.type in kinds.EXITS or (node.type == "command" and said in {"break", "continue"})
        if self.is_part and ((is_exit and not leaves_own) or _FAILS.match(said)):
            return False
        if is_exit and node.type == "command":
            return True
        if is_exit:
            named = all(child.type in kinds.LABELS for child in node.named_children)
            return named or self._is_empty_value(said.removeprefix("break").strip())
        if node.type in kinds.DEFINITIONS:
            return not self.is_part
        if re.fullmatch(self.syntax.imports, said):
            # What is imported under a condition or tried decides something, as a test may that it is there.
            return not (self.is_part or self.results_count) and self.depth == 1
        if re.fullmatch(self.syntax.nothing, said) or self._runs_empty_block(node):
            return True
        if re.fullmatch(self.syntax.gives_way, said):
            return not (self.may_give_way or self.is_part or self.loops)
        if node.type in kinds.DROPS and _DROPS.match(said):
            right = node.child_by_field_name("right")
            return right is not None and self._is_pure(right)
        if node.type in kinds.LOCALS:
            return not self.is_part and all(self._is_pure(child) for child in node.named_children)
        if (itself := _IDLE.fullmatch(said)) is not None and itself["self"]:
            return True
        if node.type in kinds.ASSIGNMENTS | kinds.NAMED_VALUES and self.syntax.assigns_locals:
            return not self.is_part and self._assigns_local(node)
        idle = _IDLE.fullmatch(said) is not None and _ACTS.match(said) is None
        is_name = re.fullmatch(r"[\w.$]+", said) is not None
        return (
            self.says_nothing(said)
            or (idle and not tail and not is_name)
            or _EMPTY_VALUE.fullmatch(said) is not None
            or raised_name(said) in self.unwritten
            or (node.type in kinds.COMPARISONS and holds(said) is not None)
            or gathers_nothing(node, self._said)
        )

    def _value(self, said: str, *, decided: bool) -> bool:
        """Return whether a result is the same whatever comes in; notes it, as several of them are a decision."""
        self.depends = self.depends or decided
        said = chosen(said.strip(" ;"))
        while said.startswith("(") and said.endswith(")") and said != "()":
            said = said[1:-1].strip()
        is_name = said in self.syntax.names
        self.returned.add("" if _ABSENT.fullmatch(said) and not is_name else said)
        if gives_unwritten_error(said) or said in self.unwritten:
            return not decided
        if self._fails(said) or re.fullmatch(rf"(?:(?:{NOTHING})\s*,\s*)*(?:{self.syntax.failed_value})", said):
            return not decided and not self.may_fail
        while wrapped := re.fullmatch(self.syntax.wrapped, said):
            said = wrapped[wrapped.lastindex or 0].strip()
        if self._is_taken(said):
            self.gives_taken = True
            return True
        is_falsy = _JOINED.search(said) is not None and holds(said) is False
        return is_falsy or self._is_empty_value(said) or said in self.empties - self.filled

    def _is_taken(self, said: str) -> bool:
        """Return whether a value is a parameter as it came in, by its own name or by that of a variable."""
        while said.startswith("(") and said.endswith(")"):
            said = said[1:-1].strip()
        if re.fullmatch(r"\$?\w+", said) is None or said in self.rebound:
            return False
        return said in self.copies or (said not in self.assigned and self.takes(said))

    def _is_empty_value(self, said: str) -> bool:
        if said in self.syntax.names:
            return False
        plain = rf"(?:(?:{NOTHING})(?:\s*,\s*(?:{NOTHING}))*)?(?:\s+as\s+\w+)?|{self.syntax.nothing_value}"
        return re.fullmatch(plain, said) is not None or _EMPTY_VALUE.fullmatch(said) is not None

    def _fails(self, said: str) -> bool:
        for name in self.constants:
            said = re.sub(rf"(?<![\w.$]){re.escape(name)}(?!\w)", '""', said)
        return re.fullmatch(self.syntax.fails, said, re.DOTALL) is not None

    def _assigns_local(self, node: tree_sitter.Node) -> bool:
        left = node.child_by_field_name("left") or node.child_by_field_name("name")
        right = node.child_by_field_name("right") or node.child_by_field_name("value")
        if left is None or (left.type not in {"identifier", "variable_name"} and not _is_pairwise(left, right)):
            return False
        if re.search(self.syntax.not_local, self.whole):
            return False
        if right is None or self._said(right) != self._said(left):
            self.assigned |= set(re.findall(r"[$\w]+", self._said(left)))
        return right is None or self._is_pure(right)

    def _runs_empty_block(self, node: tree_sitter.Node) -> bool:
        """Return whether a call does no more than to run a block that does nothing."""
        block, name = node.child_by_field_name("block"), node.child_by_field_name("method")
        if block is None or name is None or not re.fullmatch(self.syntax.iterators, self._said(name)):
            return False
        over = node.child_by_field_name("receiver")
        body = block.child_by_field_name("body")
        return (over is None or self._is_pure(over)) and (
            body is None or self._sequence(body, decided=True, tail=False)
        )

    def _branch(self, node: tree_sitter.Node, *, decided: bool, tail: bool) -> bool:
        condition = node.child_by_field_name("condition")
        before = node.child_by_field_name("initializer")
        if condition is None or (before is not None and not self._statement(before, decided=decided, tail=False)):
            return False
        parts = [each for each in node.named_children if each not in (condition, before)]
        others = [each for each in parts if is_alternative(node, each)] or parts[1:2] * (node.type == "if_expression")
        said = self._said(condition)
        never, always = (_ALWAYS, _NEVER) if node.type in kinds.INVERTED else (_NEVER, _ALWAYS)
        fixed = None if kinds.INVERTED & {node.type} else holds_within(said, self.syntax, is_part=self.is_part)
        if never.fullmatch(said) or fixed is False:
            taken, is_decided = others, decided
        elif always.fullmatch(said) or fixed:
            taken, is_decided = [each for each in parts if each not in others], decided
        elif self._is_pure(condition, calls=compares(condition) and not self.loops):
            taken, is_decided = parts, True
        else:
            return False
        return all(self._statement(each, decided=is_decided, tail=tail) for each in taken)

    def _loop(self, node: tree_sitter.Node, *, decided: bool, tail: bool) -> bool:
        body = node.child_by_field_name("body") or next(
            (each for each in node.named_children if _BLOCKS.search(each.type)), None
        )
        rest = [each for each in node.named_children if is_alternative(node, each)]
        if (counted := node.child_by_field_name("left") or node.child_by_field_name("pattern")) is not None:
            names = set(re.findall(r"\$?\w+", self._said(counted)))
            self.rebound |= names
            self.filled |= names
        if drains(self._said(node), self.head, self.syntax) or any(
            each.type in kinds.ACTIVE_MARKS for each in node.children
        ):
            return False
        if not all(self._statement(each, decided=True, tail=False) for each in rest):
            return False
        head = [
            each
            for at, each in enumerate(node.named_children)
            if each != body and each not in rest and node.field_name_for_named_child(at) not in kinds.NAME_FIELDS
        ]
        condition = node.child_by_field_name("condition") or (head[0] if len(head) == 1 else None)
        said = "" if condition is None else self._said(condition)
        if self._never_runs(node, said, head):
            return True
        named = node.child_by_field_name("condition")
        waits = all(each.type == "empty_statement" or each == named for each in head)
        if self.is_part and (waits or leaves_a_name(node, self._said, self.syntax)):
            return False
        makes = kinds.LOCALS | kinds.ASSIGNMENTS if self.syntax.assigns_locals else kinds.LOCALS
        declares = any(each.type in makes for part in head for each in (part, *part.named_children))
        if not all(self._is_pure(each, updates=declares) for each in head):
            return False
        always = _NEVER if node.type in kinds.INVERTED else _ALWAYS
        runs = node.type in kinds.RUN_ONCE or always.fullmatch(said) is not None
        self.loops += 1
        is_idle = body is None or self._statement(body, decided=decided or not runs, tail=False)
        self.loops -= 1
        return is_idle

    def _never_runs(self, node: tree_sitter.Node, condition: str, head: Sequence[tree_sitter.Node]) -> bool:
        if node.type in kinds.RUN_ONCE:
            return False
        is_inverted = node.type in kinds.INVERTED
        stops = condition != "" and (_ALWAYS if is_inverted else _NEVER).fullmatch(condition) is not None
        if stops or (condition != "" and holds(condition) is is_inverted):
            return True
        return runs_for_nothing(node, head, self._said, self._is_empty_value)

    def _switch(self, node: tree_sitter.Node, *, decided: bool, tail: bool) -> bool:
        if node.type == "select_statement" and not node.named_children:
            # It waits for ever.
            return False
        self.choices += node.type in kinds.LEFT_BY_BREAK
        is_idle = all(
            self._section(child, tail=tail)
            if child.type in kinds.SECTIONS or child.type in kinds.SEQUENCES
            else self._is_pure(child)
            for child in node.named_children
        )
        self.choices -= node.type in kinds.LEFT_BY_BREAK
        return is_idle

    def _section(self, node: tree_sitter.Node, *, decided: bool = True, tail: bool) -> bool:
        for at, child in enumerate(node.named_children):
            name = node.field_name_for_named_child(at)
            is_label = name in kinds.LABEL_FIELDS or (name == "value" and node.type != "match_arm")
            if is_label or TRANSPARENT.search(child.type):
                continue
            if child.type in kinds.SECTIONS:
                if not self._section(child, tail=tail):
                    return False
            elif not self._statement(child, decided=decided, tail=tail):
                return False
        return True

    def _try(self, node: tree_sitter.Node, *, decided: bool, tail: bool) -> bool:
        parts = [each for each in node.named_children if each.type not in kinds.HANDLERS]
        if not parts or not _BLOCKS.search(parts[0].type):
            return False
        handlers = [each for each in node.named_children if each.type in kinds.HANDLERS]
        is_caught = bool(handlers) and all(self._handler(each, parts[:1]) for each in handlers)
        # What fails in there is handled.
        self.caught += is_caught
        is_idle = self._statement(parts[0], decided=decided or bool(handlers), tail=tail)
        self.caught -= is_caught
        if not is_idle or (handlers and not is_caught):
            return False
        return all(self._statement(each, decided=decided, tail=tail) for each in parts[1:])

    def _context(self, node: tree_sitter.Node, *, decided: bool, tail: bool) -> bool:
        """Return whether statements in a context that adds nothing do nothing."""
        body = node.child_by_field_name("body")
        held = [each for each in node.named_children if each != body and not TRANSPARENT.search(each.type)]
        is_idle = all(re.fullmatch(self.syntax.idle_contexts, self._said(each)) for each in held)
        return body is not None and is_idle and self._statement(body, decided=True, tail=False)

    def _handler(self, node: tree_sitter.Node, guarded: Sequence[tree_sitter.Node]) -> bool:
        """Return whether a handler does nothing; none is reached from statements that only look like some."""
        if all(self.says_nothing(self._said(each)) for each in guarded):
            return True
        blocks = (each for each in node.named_children if _BLOCKS.search(each.type))
        return all(self._statement(each, decided=True, tail=False) for each in blocks)

    def _is_pure(self, node: tree_sitter.Node, *, updates: bool = False, calls: bool = False) -> bool:
        return only_computes(
            node, self.syntax, self._said, self.takes, updates=updates, calls=calls, results_count=self.results_count
        )


def _is_pairwise(left: tree_sitter.Node, right: tree_sitter.Node | None) -> bool:
    """Return whether an assignment gives each of some names a value of its own."""
    return (
        right is not None
        and left.type in {"pattern_list", "tuple_pattern"}
        and right.type in {"expression_list", "tuple"}
        and left.named_child_count == right.named_child_count
        and all(each.type == "identifier" for each in left.named_children)
    )


_JUDGES: tuple[tuple[frozenset[str], Callable[..., bool]], ...] = (
    (kinds.SWITCHES, BodyJudge._switch),
    (kinds.BRANCHES, BodyJudge._branch),
    (kinds.LOOPS, BodyJudge._loop),
    (kinds.TRIES, BodyJudge._try),
    (kinds.CONTEXTS, BodyJudge._context),
    (kinds.SECTIONS - {"case_statement"}, BodyJudge._section),
    (kinds.SEQUENCES, BodyJudge._sequence),
)
