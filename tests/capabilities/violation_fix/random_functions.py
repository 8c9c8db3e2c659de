"""Writes small random functions and runs them, so that a refactored one can be held against the original."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random

NAMES = ("a", "b", "c", "d")
ARGUMENTS = ((0, 0), (1, 2), (3, -1), (5, 7))


class Stop(Exception):
    """Ends functions that loop for too long."""


RAISED = (ArithmeticError, AttributeError, LookupError, NameError, RuntimeError, Stop, TypeError, ValueError)


@dataclass
class Writer:
    """Writes one function; what it writes parses, but may raise when it runs."""

    random: Random
    lines: list[str] = field(default_factory=list)
    closures: int = 0

    def function(self) -> str:
        kind = self.random.choice(["plain", "plain", "plain", "generator", "method"])
        self.generates = kind == "generator"
        self.receiver = "self." if kind == "method" else ""
        base = 0
        if kind == "method":
            self.lines += ["class Holder:", "    state = 0", ""]
            base = 1
        head = "def target(self, a, b, log):" if kind == "method" else "def target(a, b, log):"
        self.emit(base, head)
        for name in ("c", "d"):
            if self.random.random() < 0.85:
                self.emit(base + 1, f"{name} = {self.random.choice(['a', '0', 'b', 'None'])}")
        self.block(base + 1, 0, in_loop=False, length=self.random.randint(3, 6))
        self.emit(base + 1, f"return {self.expression()}")
        return "\n".join(self.lines) + "\n"

    def emit(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def name(self) -> str:
        return self.random.choice(NAMES)

    def expression(self) -> str:
        name, other = self.name(), self.name()
        return self.random.choice(
            [
                name,
                f"{name} + 1",
                # Nothing may grow with each turn of a loop: products and nested tuples would.
                f"{name} - len(str({other})[:9])",
                str(self.random.randint(-2, 3)),
                "None",
                "True",
                f"({name} := {other})" if self.random.random() < 0.3 else name,
                f"sum({name} + i for i in range(3))",
                f"[{name} for {name} in range(2)]",
                f"(str({name})[:9], str({other})[:9])",
                f"{self.receiver}state" if self.receiver else name,
            ]
        )

    def test(self) -> str:
        name = self.name()
        return self.random.choice([f"{name} == 1", f"not {name}", f"{name} is None", f"{name} != {self.name()}", name])

    def block(self, depth: int, nesting: int, *, in_loop: bool, length: int | None = None) -> None:
        for _ in range(length or self.random.randint(1, 3)):
            self.statement(depth, nesting, in_loop=in_loop)
        if nesting and self.random.random() < 0.3:
            self.jump(depth, in_loop)

    def statement(self, depth: int, nesting: int, *, in_loop: bool) -> None:
        if nesting < 3 and self.random.random() < 0.45:
            compound = self.random.choice(
                [self.if_, self.if_, self.for_, self.while_, self.try_, self.with_, self.match_]
            )
            compound(depth, nesting, in_loop)
            return
        if nesting and self.random.random() < 0.12:
            self.text_or_jump(depth, in_loop)
            return
        self.simple(depth, in_loop)

    def simple(self, depth: int, in_loop: bool) -> None:
        roll = self.random.random()
        name = self.name()
        if roll < 0.34:
            self.emit(depth, f"{name} = {self.expression()}")
        elif roll < 0.5:
            self.emit(depth, f"log.append(('{name}', {self.expression()}))")
        elif roll < 0.58:
            self.emit(depth, f"{name} += 1")
        elif roll < 0.62:
            self.emit(depth, f"del {name}")
        elif roll < 0.67:
            self.emit(depth, f"log.append(lambda: {name})")
        elif roll < 0.72:
            self.nested_function(depth, name)
        elif roll < 0.82 and self.generates:
            self.emit(depth, f"{name} = yield {self.expression()}")
        elif self.receiver:
            self.emit(depth, f"self.state = {name}")
        else:
            self.emit(depth, f"{name}, {self.name()} = {self.expression()}, {self.expression()}")

    def jump(self, depth: int, in_loop: bool) -> None:
        """End a block by leaving it."""
        jumps = ["return", "return None", "return 7", "return 'done'", f"return {self.expression()}"]
        jumps += [f"raise ValueError({self.expression()})", "raise KeyError"] + ["break", "continue"] * 2 * in_loop
        self.emit(depth, self.random.choice(jumps))

    def text_or_jump(self, depth: int, in_loop: bool) -> None:
        """Leave the block early, or bind a text, mostly under a name that nothing else binds, and use it."""
        self.closures += 1
        name = f"text{self.closures}" if self.random.random() < 0.8 else self.name()
        self.emit(depth, f"if {self.test()}:")
        self.jump(depth + 1, in_loop)
        self.emit(depth, f"{name} = {self.random.choice([f'str({self.name()})[:9]', f'str({self.name()})', 'None'])}")
        if self.random.random() < 0.3:
            self.emit(depth, f"if {self.test()}:")
            self.jump(depth + 1, in_loop)
        self.emit(depth, f"log.append({name})")

    def nested_function(self, depth: int, name: str) -> None:
        self.closures += 1
        inner = f"inner{self.closures}"
        self.emit(depth, f"def {inner}():")
        if self.random.random() < 0.4:
            self.emit(depth + 1, f"nonlocal {name}")
            self.emit(depth + 1, f"{name} = {self.random.randint(0, 3)}")
        self.emit(depth + 1, f"return {name}")
        self.emit(depth, self.random.choice([f"log.append({inner})", f"log.append({inner}())"]))

    def if_(self, depth: int, nesting: int, in_loop: bool) -> None:
        self.emit(depth, f"if {self.test()}:")
        self.block(depth + 1, nesting + 1, in_loop=in_loop)
        if self.random.random() < 0.3:
            self.emit(depth, f"elif {self.test()}:")
            self.block(depth + 1, nesting + 1, in_loop=in_loop)
        if self.random.random() < 0.5:
            self.emit(depth, "else:")
            self.block(depth + 1, nesting + 1, in_loop=in_loop)

    def for_(self, depth: int, nesting: int, in_loop: bool) -> None:
        self.emit(depth, f"for {self.name()} in range({self.random.randint(0, 3)}):")
        self.block(depth + 1, nesting + 1, in_loop=True)
        if self.random.random() < 0.2:
            self.emit(depth, "else:")
            self.block(depth + 1, nesting + 1, in_loop=in_loop)

    def while_(self, depth: int, nesting: int, in_loop: bool) -> None:
        self.emit(depth, f"while fuel() and {self.test()}:")
        self.block(depth + 1, nesting + 1, in_loop=True)

    def try_(self, depth: int, nesting: int, in_loop: bool) -> None:
        self.emit(depth, "try:")
        self.block(depth + 1, nesting + 1, in_loop=in_loop)
        has_handler = self.random.random() < 0.8
        if has_handler:
            caught = self.random.choice(["ValueError", "(KeyError, TypeError)", "Exception"])
            self.emit(depth, f"except {caught} as error:" if self.random.random() < 0.4 else f"except {caught}:")
            self.block(depth + 1, nesting + 1, in_loop=in_loop)
            if self.random.random() < 0.3:
                self.emit(depth, "else:")
                self.block(depth + 1, nesting + 1, in_loop=in_loop)
        if not has_handler or self.random.random() < 0.3:
            self.emit(depth, "finally:")
            self.block(depth + 1, nesting + 1, in_loop=in_loop)

    def with_(self, depth: int, nesting: int, in_loop: bool) -> None:
        manager = self.random.choice(["suppress(ValueError)", "lock(log)", "unknown(log)"])
        self.emit(depth, f"with {manager}:")
        self.block(depth + 1, nesting + 1, in_loop=in_loop)

    def match_(self, depth: int, nesting: int, in_loop: bool) -> None:
        self.emit(depth, f"match {self.name()}:")
        self.emit(depth + 1, f"case 1 if {self.test()}:")
        self.block(depth + 2, nesting + 2, in_loop=in_loop)
        self.emit(depth + 1, self.random.choice(["case int() as c:", "case (a, b):", "case _:", "case d:"]))
        self.block(depth + 2, nesting + 2, in_loop=in_loop)


@contextlib.contextmanager
def _lock(log: list[object]) -> Iterator[None]:
    log.append("locked")
    try:
        yield
    finally:
        log.append("unlocked")


@contextlib.contextmanager
def _unknown(log: list[object]) -> Iterator[None]:
    try:
        yield
    except (ValueError, TypeError):
        log.append("swallowed")


def _fuel() -> Callable[[], bool]:
    left = 40

    def fuel() -> bool:
        nonlocal left
        left -= 1
        if left < 0:
            raise Stop
        return True

    return fuel


def observe(source: str) -> list[object]:
    """Run `target` of a source with some arguments and return everything that can be seen from outside."""
    seen: list[object] = []
    for arguments in ARGUMENTS:
        space: dict[str, object] = {
            "suppress": contextlib.suppress,
            "lock": _lock,
            "unknown": _unknown,
            "fuel": _fuel(),
        }
        exec(compile(source, "<function>", "exec"), space)
        log: list[object] = []
        seen.append((_call(space, arguments, log), [_settled(entry) for entry in log]))
    return seen


def _call(space: dict[str, object], arguments: tuple[int, int], log: list[object]) -> object:
    holder = space.get("Holder")
    instance = holder() if callable(holder) else None
    target = getattr(instance, "target", None) or space["target"]
    assert callable(target)
    try:
        result = target(*arguments, log)
        if hasattr(result, "send"):
            result = _drained(result)
    except RAISED as error:
        result = (
            type(error).__name__,
            [repr(_settled(part)) for part in error.args if "local variable" not in str(part)],
        )
    return repr(_settled(result)), repr(_settled(getattr(instance, "state", None)))


def _drained(generator: Iterator[object]) -> list[object]:
    found = []
    for value in generator:
        found.append(value)
        if len(found) > 20:
            break
    return found


def _settled(value: object) -> object:
    """Call what a log holds, so that what closures see is compared as well."""
    if isinstance(value, tuple | list):
        return [_settled(part) for part in value]
    if callable(value):
        try:
            return ("called", repr(_settled(value())))
        except RAISED as error:
            return ("failed", type(error).__name__)
    return value if isinstance(value, int | str | type(None)) else type(value).__name__
